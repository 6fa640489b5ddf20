/** Where providers really are: paths, headers and query, seen by an upstream behind a whole gateway. */
// The bug behind these rows: upstreams that could not be reached.
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { PROVIDERS, type Provider } from '../../lib/catalog-file/upstreams.ts'
import { KIND_NAMES, type KindName } from '../../lib/catalog-file/upstreams.ts'
import { KEY, open } from './support/gateway.ts'
import { Upstream } from './support/upstream.ts'
import { openOps } from '../admin/support.ts'
import type { Talking } from '../support/talking.ts'

type Json = Record<string, unknown>

const BEARER = { authorization: `Bearer ${KEY}` }
interface Sent {
  path: string
  headers: Record<string, string>
  body: Json
}

const TALKS: Record<Talking, Sent> = {
  messages: { path: '/v1/messages', headers: { 'x-api-key': KEY }, body: { max_tokens: 9, messages: [] } },
  chat: { path: '/v1/chat/completions', headers: BEARER, body: { messages: [] } },
  responses: { path: '/v1/responses', headers: BEARER, body: { input: 'x' } },
  images: { path: '/v1/images/generations', headers: BEARER, body: { prompt: 'x' } },
  generate: {
    path: '/v1beta/models/MODEL:streamGenerateContent?alt=sse',
    headers: { 'x-gamma-api-key': KEY, 'x-gamma-api-client': 'sdk/1' },
    body: { contents: [] },
  },
}

/** Protocols that do not talk are asked at their first path, with any body that names a model. */
function sentOf(protocol: Protocol): Sent {
  if (Object.hasOwn(TALKS, protocol)) return TALKS[protocol as Talking]
  if (protocol === 'nativeEmbeddings') return { ...TALKS.generate, path: '/v1beta/models/MODEL:embedContent' }
  const { client, body } = protocolRow(protocol)
  const headers = body.reads('application/json') ? BEARER : { ...BEARER, 'content-type': FORM }
  return { path: `${client.versions[0]}${client.paths[0]?.path}`, headers, body: {} }
}

const FORM = 'multipart/form-data; boundary=b'
const partOf = (name: string, content: string, more = '') =>
  `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`
const formOf = (model: string) => `${partOf('model', model)}${partOf('file', 'x', '; filename="x"')}--b--\r\n`

interface Case {
  /** Path of the channel's address. */
  base: string
  protocol: Protocol
  channel: Json
  /** In the place of the protocol's. */
  path?: string
  /** The model's name upstream, when it is another one. */
  upstream?: string | undefined
  headers?: Record<string, string>
}

/** What an upstream sees of each: one gateway, with a channel and a model of its own for every case. */
async function ask(t: Test, cases: Case[]) {
  const upstream = await Upstream.open()
  t.teardown(() => upstream.close())
  upstream.script = call => call.whole(400, {})
  const models = cases.map((_, i) => `m${i}`)
  const channels = cases.map(({ base, protocol, channel, upstream: name }, i) => [
    models[i],
    {
      base_url: upstream.url + base,
      protocols: [protocolRow(protocol).formOf ?? protocol],
      models: { [models[i] as string]: name ?? models[i] },
      ...channel,
    },
  ])
  const prices = Object.fromEntries(models.map(model => [model, { request: 0.01 }])) // covers each protocol
  const scene = await open(t, { channels: Object.fromEntries(channels), prices })
  const seen = []
  for (const [i, { protocol, ...change }] of cases.entries()) {
    const model = models[i] as string
    const { path, headers, body } = { ...sentOf(protocol), ...change }
    const isForm = headers['content-type'] === FORM
    await scene
      .ask({ path: path.replace('MODEL', model), headers, body: isForm ? formOf(model) : { model, ...body } })
      .end()
    const call = upstream.calls.at(-1)
    const line = call?.head.split(' ')[1]?.replace(new RegExp(`/${model}(?=[:/]|$)`), '/MODEL')
    seen.push({ line, key: `up-${model}`, header: (name: string) => call?.header(name) })
  }
  t.equal(upstream.calls.length, cases.length)
  return seen
}

t.test('a version that ends the address is not doubled; own paths; what the query adds', async t => {
  const rows: [base: string, protocol: Protocol, channel: Json, line: string, upstream?: string][] = [
    ['', 'chat', {}, '/v1/chat/completions'],
    ['/v1', 'chat', {}, '/v1/chat/completions'],
    ['/v1/', 'messages', {}, '/v1/messages'],
    ['/proxy/v1', 'responses', {}, '/proxy/v1/responses'],
    ['/api/paas/v4', 'chat', {}, '/api/paas/v4/chat/completions'],
    ['/api/v3', 'images', {}, '/api/v3/images/generations'],
    ['/v1beta', 'generate', {}, '/v1beta/models/MODEL:streamGenerateContent?alt=sse'],
    ['/v1', 'generate', {}, '/v1beta/models/MODEL:streamGenerateContent?alt=sse'],
    ['', 'chat', { paths: { chat: '/api/paas/v4/chat/completions' } }, '/api/paas/v4/chat/completions'],
    ['/v1', 'chat', { paths: { chat: '/v1/chat/completions' } }, '/v1/chat/completions'],
    ['/v4', 'chat', { paths: { chat: '/chat' } }, '/v4/chat'],
    ['/sub', 'chat', { paths: { chat: '/ask/{model}' } }, '/sub/ask/up/%C3%A9%20n', 'up/é n'],
    ['', 'generate', { paths: { generate: '/p/{model}:{verb}' } }, '/p/$&:streamGenerateContent?alt=sse', '$&'],
    ['', 'chat', { query: { v: '2026-10-01', x: 'a b&c' } }, '/v1/chat/completions?v=2026-10-01&x=a+b%26c'],
    ['', 'generate', { query: { alt: 'json' } }, '/v1beta/models/MODEL:streamGenerateContent?alt=json'],
  ]
  const cases: Case[] = rows.map(([base, protocol, channel, _, upstream]) => ({ base, protocol, channel, upstream }))
  const paths = { messages: '/api/anthropic/v1/messages' }
  cases.push({ base: '', protocol: 'messages', channel: { paths }, path: '/v1/messages/count_tokens' })
  const seen = await ask(t, cases)
  t.equal(seen.pop()?.line, '/api/anthropic/v1/messages/count_tokens')
  for (const [i, [base, protocol, channel, line]] of rows.entries())
    t.equal(seen[i]?.line, line.replace('$&', '%24%26'), `${base} ${protocol} ${JSON.stringify(channel)}`)
})

t.test('each kind: the provider’s own path, key header, version header and query', async t => {
  // kinds that sign or that answer in their own way have tests of their own: test/exchange/signed.test.ts, bedrock.test.ts
  const isPlain = ({ credential, special }: Provider): boolean =>
    credential === null && !Object.values(special).some(({ answers }) => answers !== undefined)
  const cases = KIND_NAMES.filter(kind => isPlain(PROVIDERS[kind])).flatMap(kind =>
    Object.keys(PROVIDERS[kind].paths).map(protocol => ({
      base: '',
      protocol: protocol as Protocol,
      channel: { kind },
    })),
  )
  const seen = await ask(t, cases)
  for (const [i, { protocol, channel }] of cases.entries()) {
    const { paths, auth, query } = PROVIDERS[channel.kind] as Provider
    const { line, header, key } = seen[i]!
    const verb = protocol === 'generate' ? 'streamGenerateContent' : 'embedContent'
    const path = paths[protocol]!.replace('{model}', 'MODEL').replace('{verb}', verb)
    const more = protocol === 'generate' ? 'alt=sse' : new URLSearchParams(query).toString()
    t.equal(line, `${path}${more === '' ? '' : `?${more}`}`, `${channel.kind} ${protocol}`)
    const usual: Partial<Record<Protocol, string>> = {
      messages: 'x-api-key',
      generate: 'x-goog-api-key',
      nativeEmbeddings: 'x-goog-api-key',
    }
    const name = auth[protocol] ?? usual[protocol] ?? 'authorization'
    t.equal(header(name), name === 'authorization' ? `Bearer ${key}` : key, `${channel.kind} ${protocol} ${name}`)
    if (protocol === 'messages') t.equal(header('anthropic-version'), '2023-06-01', channel.kind)
    if (protocol === 'generate') t.equal(header('x-goog-api-client'), 'sdk/1')
  }
})

t.test('kinds of provider that have no path for native embeddings are not asked for them', async t => {
  const native = protocolRow('nativeEmbeddings').upstream.kinds
  const isAsked = (kind: KindName) => PROVIDERS[kind].credential === null && 'embeddings' in PROVIDERS[kind].paths
  const kinds = KIND_NAMES.filter(kind => isAsked(kind) && !(kind in native))
  t.ok(kinds.includes('openai'))
  const channels = kinds.map(kind => [
    kind,
    { kind, protocols: ['embeddings'], models: [kind], base_url: 'http://127.0.0.1:9' },
  ])
  const prices = Object.fromEntries(kinds.map(kind => [kind, { request: 0.01 }]))
  const scene = await open(t, { channels: Object.fromEntries(channels), prices })
  const { headers, body } = TALKS.generate
  for (const kind of kinds) {
    const asked = scene.ask({ path: `/v1beta/models/${kind}:embedContent`, headers, body })
    await asked.end()
    t.equal(asked.status, 400, kind)
  }
})

t.test('addresses as clients are given them lead to the same place', async t => {
  const rows: [kind: KindName, base: string, protocol: Talking, line: string][] = [
    ['zhipu', '/api/paas/v4', 'chat', '/api/paas/v4/chat/completions'],
    ['zhipu', '/api/paas/v4', 'messages', '/api/anthropic/v1/messages'],
    ['deepseek', '/v1', 'messages', '/anthropic/v1/messages'],
    ['deepseek', '/anthropic', 'chat', '/v1/chat/completions'],
    ['openrouter', '/api', 'chat', '/api/v1/chat/completions'],
    ['openrouter', '/api/v1', 'messages', '/api/v1/messages'],
    ['dashscope', '/compatible-mode/v1', 'chat', '/compatible-mode/v1/chat/completions'],
    ['groq', '/openai/v1', 'chat', '/openai/v1/chat/completions'],
    ['anthropic', '/relay/v1', 'messages', '/relay/v1/messages'],
    ['gemini', '/v1beta', 'chat', '/v1beta/openai/chat/completions'],
  ]
  const seen = await ask(
    t,
    rows.map(([kind, base, protocol]) => ({ base, protocol, channel: { kind } })),
  )
  for (const [i, [kind, base, , line]] of rows.entries()) t.equal(seen[i]?.line, line, `${kind} ${base}`)
})

t.test('a client’s own version goes under the provider’s name; a channel’s settings win over its kind', async t => {
  const headers = { 'x-api-key': KEY, 'alpha-version': '2024-01-01', 'alpha-beta': 'b' }
  const own = {
    kind: 'anthropic',
    auth: { header: 'x-key' },
    headers: { 'anthropic-version': '=2025-01-01', 'alpha-beta': 'x-beta' },
    paths: { messages: '/mine' },
    query: { q: 1 },
  }
  const [plain, changed, azure] = await ask(t, [
    { base: '', protocol: 'messages', channel: { kind: 'anthropic' }, headers },
    { base: '', protocol: 'messages', channel: own, headers },
    { base: '', protocol: 'chat', channel: { kind: 'azure-deployments', query: { 'api-version': '2025-01-01' } } },
  ])
  t.equal(plain?.header('anthropic-version'), '2024-01-01')
  t.equal(plain?.header('anthropic-beta'), 'b')
  t.equal(plain?.header('alpha-version'), undefined)
  t.equal(changed?.line, '/mine?q=1')
  t.equal(changed?.header('x-key'), changed?.key)
  t.equal(changed?.header('x-api-key'), undefined)
  t.equal(changed?.header('anthropic-version'), '2025-01-01')
  t.equal(changed?.header('x-beta'), 'b')
  t.match(azure?.line, /\?api-version=2025-01-01$/)
})

t.test('what cannot work is refused, and no credential goes into an address', async t => {
  const channel = {
    name: 'c',
    base_url: 'http://127.0.0.1:9',
    protocols: ['chat'],
    key: 'k',
    groups: ['default'],
    models: ['m'],
  }
  const problem = (change: Json) => {
    try {
      parseCatalog(JSON.stringify({ channels: [{ ...channel, ...change }] }), 'cat.yaml', {})
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const rows: [change: Json, expected: RegExp][] = [
    [
      { kind: 'antropic' },
      /channels\[0\]\.kind: expected one of anthropic, .*\(did you mean anthropic\?\), found "antropic"$/,
    ],
    [
      { kind: 'gemini', protocols: ['responses'] },
      /kind: expected a kind that speaks responses, or its path under paths/,
    ],
    [{ paths: { chat: 'v1/chat' } }, /paths\.chat: expected a path/],
    [{ paths: { chat: '/v1/chat?x=1' } }, /paths\.chat: expected a path/],
    [{ paths: { chat: '/{nope}' } }, /paths\.chat: expected a path/],
    [{ paths: { generate: '/models/{model}' } }, /paths\.generate: expected a path .*\{verb\}/],
    [{ paths: { smoke: '/x' } }, /paths\.smoke: expected one of messages/],
    [{ query: { 'api-key': 'up-secret' } }, /^(?!.*up-secret)cat\.yaml:1:\d+: channels\[0\]\.query: expected a map/],
    [{ query: { key: 'up-secret' } }, /^(?!.*up-secret).*query: expected a map/],
    [{ query: { access_token: 'up-secret' } }, /^(?!.*up-secret).*query: expected a map/],
    [{ query: { 'x\ny': '1' } }, /query: expected a map/],
  ]
  for (const [change, expected] of rows) t.match(problem(change), expected, JSON.stringify(change))
  t.equal(problem({ kind: 'gemini', protocols: ['responses'], paths: { responses: '/r' } }), '')
})

t.test('the admin API takes and shows them', async t => {
  const ops = await openOps(t)
  const sent = {
    base_url: 'https://up.example',
    protocols: ['chat'],
    groups: ['default'],
    models: ['m'],
    key: 'up',
    kind: 'azure-deployments',
    paths: { chat: '/x/{model}' },
    query: { 'api-version': '2026-10-01' },
  }
  const { json } = await ops.admin('PUT', '/admin/channels/c', sent)
  t.match(json, { kind: 'azure-deployments', paths: { chat: '/x/{model}' }, query: { 'api-version': '2026-10-01' } })
  t.same((await ops.admin('PUT', '/admin/channels/c', json)).json, json)
  t.match((await ops.admin('PUT', '/admin/channels/c', { ...sent, kind: null, paths: null, query: null })).json, {
    kind: null,
    paths: {},
    query: {},
  })
  const wrong = await ops.admin('PUT', '/admin/channels/c', { ...sent, paths: {}, protocols: ['responses'] })
  t.equal(wrong.status, 400)
  t.match(wrong.error.message, /^kind: expected a kind that speaks responses/)
})

t.test('the table of kinds in the docs is the one in the code', async t => {
  const text = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')
  for (const kind of KIND_NAMES) {
    const row = text.split('\n').find(line => line.startsWith(`| \`${kind}\` |`)) ?? ''
    t.not(row, '', kind)
    for (const path of Object.values(PROVIDERS[kind].paths)) t.ok(row.includes(`\`${path}\``), `${kind} ${path}`)
  }
})
