/** Tokens of Microsoft Entra ID for Azure: client secret, workload identity, managed identity; scopes, failures, and what nobody may see. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { writtenCredential } from '../../lib/catalog-file/channel-schema.ts'
import type { EntraCredential } from '../../lib/catalog-file/upstreams.ts'
import type { CredentialError } from '../../lib/upstream/attempt.ts'
import { entraSigner, usualScope } from '../../lib/upstream/entra.ts'
import { compileRoutes } from '../../lib/world/table.ts'
import { TestClock } from '../support/clock.ts'
import { CLIENT, COGNITIVE, Entra, TENANT } from '../support/entra.ts'
import { pools } from './support.ts'

type Json = Record<string, unknown>
const BASE = { name: 'a', protocols: ['chat'], groups: ['default'], models: ['m'] }
const read = (channel: Json) => parseCatalog(JSON.stringify({ channels: [channel] }), 'cat.yaml', {}).channels

/** Signs for a channel that leads to the double. */
async function scene(t: Test, entra: Json = {}, envOf: (double: Entra) => Record<string, string> = () => ({})) {
  const double = await Entra.open(t)
  const clock = new TestClock()
  const channels = read({ ...BASE, ...double.channel(entra) })
  const [compiled] = compileRoutes({ channels }).channels
  const failures: CredentialError[] = []
  const deps = {
    clock,
    pools: pools(t),
    connection: compiled!.connection,
    service: '',
    onFailure: (error: CredentialError) => failures.push(error),
  }
  const signer = entraSigner(compiled!.keys[0]!.credential as EntraCredential, deps, envOf(double))
  const sign = async () => await signer.sign({ origin: '', method: 'POST', path: '/' })
  const failure = async (): Promise<CredentialError> => {
    clock.advance(10_000)
    return await sign().then(
      () => Promise.reject(new Error('there is a token')),
      error => error,
    )
  }
  const tokenIn = ([name, value]: readonly string[]) => {
    t.equal(name, 'authorization')
    return value?.replace('Bearer ', '') ?? ''
  }
  return { double, clock, signer, sign, failure, failures, tokenIn, deps }
}

t.test('a client secret: one question for many, kept, and asked anew five minutes before its end', async t => {
  const s = await scene(t)
  const all = await Promise.all([s.sign(), s.sign(), s.sign()])
  t.equal(new Set(all.map(one => s.tokenIn(one))).size, 1)
  t.strictSame(s.double.questions, [
    {
      path: `/${TENANT}/oauth2/v2.0/token`,
      said: {
        grant_type: 'client_credentials',
        client_id: CLIENT,
        scope: `${COGNITIVE}/.default`,
        client_secret: s.double.secret,
      },
    },
  ])
  t.equal(s.double.tokens.get(s.tokenIn(all[0]!)), COGNITIVE)
  s.clock.advance((3599 - 301) * 1000)
  t.equal(s.tokenIn(await s.sign()), s.tokenIn(all[0]!))
  t.equal(s.double.questions.length, 1)
  s.clock.advance(2_000)
  t.equal(s.tokenIn(await s.sign()), s.tokenIn(all[0]!), 'requests go on with the old one')
  t.equal(s.signer.minted.length, 1)
  while (s.signer.minted.length < 2) await new Promise(resolve => setImmediate(resolve))
  t.not(s.tokenIn(await s.sign()), s.tokenIn(all[0]!))
  t.equal(s.double.questions.length, 2)
})

t.test('a workload identity: the file is read each time, tenant and client may come from the environment', async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'entra-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'token')
  const env = { AZURE_FEDERATED_TOKEN_FILE: file, AZURE_TENANT_ID: TENANT, AZURE_CLIENT_ID: CLIENT }
  const s = await scene(
    t,
    { tenant: undefined, client_id: undefined, client_secret: undefined, workload_identity: true },
    () => env,
  )
  t.match(await s.failure(), {
    code: 'CREDENTIAL_UNREADABLE',
    message: /AZURE_FEDERATED_TOKEN_FILE names cannot be read: ENOENT/,
  })
  writeFileSync(file, 'two\nlines\n')
  t.match(await s.failure(), { code: 'CREDENTIAL_UNREADABLE', message: /has no token in it/ })
  writeFileSync(file, `${s.double.assertion}\n`)
  s.clock.advance(10_000)
  t.ok(s.double.tokens.has(s.tokenIn(await s.sign())))
  t.match(s.double.questions.at(-1)?.said, {
    client_assertion: s.double.assertion,
    client_id: CLIENT,
    client_secret: undefined,
  })
  s.double.assertion = 'eyJhbGciOiJSUzI1NiJ9.second.signature'
  writeFileSync(file, s.double.assertion)
  s.clock.advance(3_600_000)
  t.ok(s.double.tokens.has(s.tokenIn(await s.sign())))
  t.equal(s.double.questions.at(-1)?.said['client_assertion'], s.double.assertion)
})

t.test('a managed identity: the metadata address, and that of App Service', async t => {
  const machine = { tenant: undefined, client_id: undefined, client_secret: undefined, managed_identity: true }
  const vm = await scene(t, machine, double => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: double.origin }))
  vm.double.lifeS = 100
  t.equal(vm.double.tokens.get(vm.tokenIn(await vm.sign())), COGNITIVE)
  t.strictSame(vm.double.questions, [
    { path: '/metadata/identity/oauth2/token', said: { 'api-version': '2018-02-01', resource: COGNITIVE } },
  ])
  vm.clock.advance(99_000)
  await vm.sign()
  t.equal(vm.double.questions.length, 2, 'its life is told as a text')
  const app = await scene(t, { ...machine, client_id: CLIENT, scope: 'https://ai.azure.com/.default' }, double => ({
    IDENTITY_ENDPOINT: `${double.origin}/msi/token`,
    IDENTITY_HEADER: double.header,
  }))
  t.equal(app.double.tokens.get(app.tokenIn(await app.sign())), 'https://ai.azure.com')
  t.strictSame(app.double.questions[0]?.said, {
    'api-version': '2019-08-01',
    resource: 'https://ai.azure.com',
    client_id: CLIENT,
  })
})

t.test('what tokens are for, by the host', async t => {
  for (const [host, scope] of [
    ['my.openai.azure.com', COGNITIVE],
    ['my.cognitiveservices.azure.com', COGNITIVE],
    ['my.services.ai.azure.com', 'https://ai.azure.com'],
    ['services.ai.azure.com.evil.test', COGNITIVE],
  ] as const)
    t.equal(usualScope(host), `${scope}/.default`, host)
})

t.test('no token: why, in words, and never the secret', async t => {
  const rows: [entra: Json, change: (double: Entra) => void, code: string, message: RegExp][] = [
    [
      { client_secret: 'wrong~secret~0123456789' },
      () => {},
      'CREDENTIAL_REFUSED',
      /401 \(invalid_client: AADSTS7000215/,
    ],
    [{ tenant: 'other' }, () => {}, 'CREDENTIAL_REFUSED', /AADSTS90002/],
    [{}, double => (double.tokenFault = 'down'), 'CREDENTIAL_UNREACHABLE', /cannot be reached/],
    [{}, double => (double.tokenFault = 'busy'), 'CREDENTIAL_UNREACHABLE', /answered 429 \(temporarily_unavailable\)/],
    [{}, double => (double.tokenFault = 'empty'), 'CREDENTIAL_UNREACHABLE', /without a token/],
  ]
  for (const [entra, change, code, message] of rows) {
    const s = await scene(t, entra)
    change(s.double)
    const error = await s.failure()
    t.match(error, { code, message }, code)
    t.notMatch(`${error.message} ${error.stack}`, /~/, 'no secret')
    const asked = s.double.questions.length
    await t.rejects(s.sign())
    t.equal(s.double.questions.length, asked, 'for a moment nobody asks again')
  }
  const s = await scene(t)
  s.double.tokenFault = 'silent'
  const waits = s.failure()
  while (s.double.questions.length === 0) await new Promise(resolve => setImmediate(resolve))
  s.clock.advance(10_000)
  t.match(await waits, { code: 'CREDENTIAL_UNREACHABLE', message: /no answer within 10000 ms/ })
})

t.test('the catalogue: whole credentials are kept, half ones refused, and none is quoted', async t => {
  const usual = { tenant: TENANT, client_id: CLIENT, client_secret: 'Xyz8Q~secret', scope: 'api://x/.default' }
  const channel = (entra: Json, more: Json = {}) => ({
    ...BASE,
    kind: 'azure-entra',
    base_url: 'https://a.openai.azure.com',
    entra,
    ...more,
  })
  const authority = 'https://login.microsoftonline.com'
  for (const entra of [
    usual,
    { tenant: TENANT, client_id: CLIENT, client_secret: 'Xyz8Q~secret' },
    { workload_identity: true },
    { workload_identity: true, tenant: TENANT, client_id: CLIENT },
    { managed_identity: true },
    { managed_identity: true, client_id: CLIENT, authority: 'https://login.microsoftonline.us' },
  ] as Json[]) {
    const [row] = read(channel(entra))
    t.strictSame(writtenCredential('azure-entra', row!.keys[0]!.key), {
      entra: { ...entra, authority: entra['authority'] ?? authority },
    })
  }
  for (const [bad, expected] of [
    [channel({ tenant: TENANT, client_id: CLIENT }), /expected entra with tenant, client_id and client_secret/],
    [channel({ ...usual, workload_identity: true }), /expected entra with tenant/],
    [channel({ managed_identity: true, tenant: TENANT }), /and no tenant/],
    [channel({ ...usual, authority: 'http://login.test' }), /authority: expected an https address/],
    [channel({ ...usual, scope: 'ai.azure.com' }), /scope: expected a scope like/],
    [channel(usual, { kind: 'azure' }), /expected an upstream key, and no entra/],
    [
      channel(usual, { entra: undefined, key: 'k' }),
      /expected entra \(the kind azure-entra takes no plain key\), and no key/,
    ],
  ] as const) {
    let said = ''
    try {
      read(bad)
    } catch (error) {
      said = (error as Error).message
    }
    t.match(said, expected)
    t.notMatch(said, /Xyz8Q/)
  }
})
