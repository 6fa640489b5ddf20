/** Tokens of a service account, from an endpoint that checks the assertion as Google does. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import t from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import type { CredentialError } from '../../lib/upstream/attempt.ts'
import { Signers } from '../../lib/upstream/signers.ts'
import { compileRoutes } from '../../lib/world/table.ts'
import { channel } from '../channels/support.ts'
import { TestClock } from '../support/clock.ts'
import { rsaKey, Vertex } from '../support/vertex.ts'
import { connectProxy, listen, pools } from './support.ts'

type Json = Record<string, unknown>

/** Signs for a channel that leads to the double. */
async function scene(t: import('tap').Test, change: Json = {}, file: Json = {}) {
  const double = await Vertex.open(t)
  const clock = new TestClock()
  const service_account = double.file(file)
  const row = {
    name: 'v',
    protocols: ['messages'],
    groups: ['default'],
    models: ['m'],
    ...double.channel(),
    service_account,
    ...change,
  }
  const { channels } = parseCatalog(JSON.stringify({ channels: [row] }), 'cat.yaml', {})
  const compiled = compileRoutes({ channels }).channels
  const signers = new Signers(clock, pools(t), () => {})
  signers.keep(compiled)
  const key = compiled[0]!.keys[0]!
  const sign = async () => await signers.of(key).sign({ origin: '', method: 'POST', path: '/' })
  const failure = async (): Promise<CredentialError> => {
    clock.advance(10_000)
    return await sign().then(
      () => Promise.reject(new Error('there is a token')),
      error => error,
    )
  }
  return { double, clock, key, sign, failure, signers, compiled }
}

t.test('the library is not loaded for plain keys', async t => {
  const isLoaded =
    "Object.keys(createRequire(import.meta.url).cache).some(file => file.includes('google-auth-library'))"
  // in a process of its own: in this one other test files may have loaded it before
  const program = `
    import { createRequire } from 'node:module'
    import { systemClock } from './lib/base/clock.ts'
    import { Signers } from './lib/upstream/signers.ts'
    import { compileRoutes } from './lib/world/table.ts'
    const signers = new Signers(systemClock, null, () => {})
    signers.keep(compileRoutes({ channels: [${JSON.stringify(channel('plain'))}] }).channels)
    console.log(${isLoaded})`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program]
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: new URL('../..', import.meta.url),
    encoding: 'utf8',
  })
  t.equal(stdout, 'false\n', stderr)
  await scene(t)
  const { cache } = createRequire(import.meta.url)
  t.ok(Object.keys(cache).some(file => file.includes('google-auth-library')))
})

t.test('a token that the endpoint has given, which outlives a reload and stays out of sight', async t => {
  const s = await scene(t)
  const [name, value] = await s.sign()
  t.equal(name, 'authorization')
  const token = value?.replace('Bearer ', '') ?? ''
  t.ok(s.double.tokens.has(token))
  t.same(s.key.minted, [token])
  t.same(s.key.secrets, [s.double.secret])
  s.signers.keep(s.compiled)
  t.same(await s.sign(), [name, value])
  t.equal(s.double.tokensAsked, 1)
})

t.test('why there is none', async t => {
  const s = await scene(t)
  s.double.aheadMs = -7_200_000
  t.match(await s.failure(), {
    code: 'CREDENTIAL_CLOCK',
    message: /answered 400 \(invalid_grant: Invalid JWT: .*\): the clock of this machine is 7[12]\d\d s ahead$/,
  })
  s.double.aheadMs = 0
  s.double.tokenFault = 'down'
  t.match(await s.failure(), { code: 'CREDENTIAL_UNREACHABLE', message: /^the token endpoint cannot be reached: / })
  s.double.tokenFault = 'busy'
  t.match(await s.failure(), { code: 'CREDENTIAL_UNREACHABLE', message: /answered 503 \(backend_error\)$/ })
  s.double.tokenFault = 'empty'
  t.match(await s.failure(), { code: 'CREDENTIAL_UNREACHABLE', message: /without a token$/ })
  s.double.tokenFault = 'silent'
  s.clock.advance(10_000)
  const silent = s.sign()
  for (const asked = s.double.tokensAsked; s.double.tokensAsked === asked; ) await new Promise(setImmediate)
  s.clock.advance(10_000)
  await t.rejects(silent, { code: 'CREDENTIAL_UNREACHABLE', message: /no answer within 10000 ms$/ })
  const other = await scene(t, {}, { private_key: rsaKey().privateKey })
  t.match(await other.failure(), { code: 'CREDENTIAL_REFUSED', message: /Invalid JWT Signature/ })
  const nobody = await scene(t, {}, { client_email: 'nobody@project-1.iam.gserviceaccount.com' })
  t.match(await nobody.failure(), { code: 'CREDENTIAL_REFUSED', message: /account not found/ })
})

t.test('the way to the token endpoint is that of the channel', async t => {
  const seen: string[] = []
  const proxy = `http://127.0.0.1:${await listen(t, connectProxy(seen, null))}`
  const s = await scene(t, { proxy })
  await s.sign()
  t.match(seen, [/127\.0\.0\.1/])
  const reserved = await scene(t, {}, { token_uri: 'https://169.254.169.254/token' })
  t.match(await reserved.failure(), { code: 'CREDENTIAL_UNREACHABLE', message: /RESERVED_ADDRESS$/ })
})

t.test('a text that is no credential is never sent', async t => {
  const s = await scene(t)
  const { upstreamCredential } = await import('../../lib/catalog-file/upstreams.ts')
  for (const text of ['', 'up-key', '{}', '{"form":"aws"}'])
    t.match(upstreamCredential('vertex', text), { form: 'service_account', privateKey: '' })
  t.equal(upstreamCredential('anthropic', 'up-key'), null)
  t.notOk(await s.signers.cannotSign(s.key))
})
