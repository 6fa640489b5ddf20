/** Which headers of a client go upstream, by the settings of the channel; and that docs/upstreams.md says the same. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { compileRoutes } from '../../lib/world/table.ts'
import type { Channel } from '../../lib/terms/records.ts'
import { passResponseHeaders, requestHeaders, namedRetryS, translatedHeaders } from '../../lib/upstream/headers.ts'
import { channel } from '../channels/support.ts'

const WIRE = { 'alpha-beta': ['anthropic-beta'], 'x-gamma-api-key': ['x-goog-api-key'] }

/** The headers that every request upstream has. */
const OWN = { 'accept-encoding': 'identity', authorization: 'Bearer up-c' }

/** The headers that go upstream for a client's. */
function sent(change: Partial<Channel>, client: Record<string, string>): Record<string, string> {
  const compiled = compileRoutes({ channels: [channel('c', change)] }).channels[0]!
  const list = requestHeaders({ candidate: { channel: compiled }, key: compiled.keys[0]! }, 'chat', WIRE, client, 7)
  const all = Object.fromEntries(Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]]))
  return all as Record<string, string>
}

t.test('what of a client goes upstream', async t => {
  const rows: [change: Partial<Channel>, client: Record<string, string>, upstream: Record<string, string>][] = [
    [
      {},
      { accept: 'a', cookie: 'c', 'x-own': 'x', authorization: 'Bearer sk-1', 'accept-encoding': 'br' },
      { accept: 'a' },
    ],
    [{}, { 'idempotency-key': 'once' }, { 'idempotency-key': 'gw7-once' }],
    [{}, { 'anthropic-beta': 'b' }, { 'anthropic-beta': 'b' }],
    [{}, { 'alpha-beta': 'b', 'anthropic-beta': 'other' }, { 'alpha-beta': 'b', 'anthropic-beta': 'other' }],
    [{ kind: null, headers: { 'alpha-beta': 'x-beta' } }, { 'anthropic-beta': 'b' }, { 'x-beta': 'b' }],
    [{}, { 'x-goog-api-key': 'sk-1', 'x-gamma-api-key': 'sk-1' }, {}],
    [{ passHeaders: ['X-Own'] }, { 'x-own': 'x' }, { 'x-own': 'x' }],
    [{ headers: { 'x-own': 'x-theirs' } }, { 'x-own': 'x' }, { 'x-theirs': 'x' }],
    [{ headers: { 'x-own': '=always' } }, { 'x-own': 'x' }, { 'x-own': 'always' }],
  ]
  for (const [change, client, upstream] of rows)
    t.same(sent(change, client), { ...OWN, ...upstream }, JSON.stringify([change, client]))
})

const VERSIONS = { 'alpha-version': ['anthropic-version'], ...WIRE }
const [OLD, NEW] = ['2023-06-01', '2026-10-21']

/** The version headers that go upstream on messages. */
function versions(
  change: Partial<Channel>,
  client: Record<string, string>,
  isTranslated: boolean,
): Record<string, string> {
  const compiled = compileRoutes({ channels: [channel('c', change)] }).channels[0]!
  const claim = { candidate: { channel: compiled }, key: compiled.keys[0]! }
  const list = isTranslated
    ? translatedHeaders(claim, 'messages', client, 7)
    : requestHeaders(claim, 'messages', VERSIONS, client, 7)
  const all = Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]] as [string, string])
  return Object.fromEntries(all.filter(([name]) => name.endsWith('-version')))
}

t.test(
  'the version of messages: the client’s natively, the known one by translation, and one that the channel fixes',
  async t => {
    const kind = 'anthropic'
    const [ours, theirs] = [{ 'alpha-version': NEW }, { 'anthropic-version': NEW }]
    const rows: [change: Partial<Channel>, client: Record<string, string>, native: Record<string, string>][] = [
      [{ kind }, theirs, theirs],
      [{ kind }, ours, theirs],
      [{ kind }, {}, { 'anthropic-version': OLD }],
      [{}, ours, ours],
      [{}, theirs, theirs],
    ]
    for (const [change, client, native] of rows) {
      t.same(versions(change, client, false), native, JSON.stringify([change, client]))
      const passing = { ...change, passHeaders: ['anthropic-version'] }
      for (const one of [change, passing]) t.same(versions(one, client, true), { 'anthropic-version': OLD })
    }
    const fixed: [change: Partial<Channel>, upstream: Record<string, string>][] = [
      [{ kind, headers: { 'anthropic-version': `=${OLD}` } }, { 'anthropic-version': OLD }],
      [{ kind, headers: { 'Alpha-Version': `=${OLD}` } }, { 'anthropic-version': OLD }],
      [{ headers: { 'anthropic-version': `=${OLD}` } }, { 'anthropic-version': OLD }],
      [{ headers: { 'alpha-version': `=${OLD}` } }, { 'alpha-version': OLD }],
    ]
    for (const [change, upstream] of fixed)
      for (const client of [{}, ours, theirs, { ...ours, ...theirs }])
        t.same(versions(change, client, false), upstream, JSON.stringify([change, client]))
    const own = { kind, headers: { 'anthropic-version': '=2027-01-01' } } as const
    t.same(versions(own, theirs, true), { 'anthropic-version': '2027-01-01' }, 'also by translation')
  },
)

t.test('the page names the headers that every upstream gets', async t => {
  const page = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')
  const [, cell = ''] = /^\| `pass_headers` \|.* Without it, (.*) and the headers of/m.exec(page) ?? []
  const code = readFileSync(new URL('../../lib/upstream/headers.ts', import.meta.url), 'utf8')
  const [, list = ''] = /^const PASSED = \[(.*)\]/m.exec(code) ?? []
  const named = [...cell.matchAll(/`([\w-]+)`/g)].map(found => found[1] as string)
  t.equal(named.length, list.split(',').length, 'as many as the code lists')
  const values = Object.fromEntries(named.map(name => [name, 'v']))
  t.same(Object.keys(sent({}, values)).sort(), [...Object.keys(OWN), ...named].sort())
})

t.test('what of an upstream goes to the client', async t => {
  const nowMs = Date.parse('2026-11-23T00:00:00Z')
  const passed = (headers: Record<string, string | string[]>) => {
    const into: string[] = []
    passResponseHeaders(headers, nowMs, into)
    return into
  }
  const kept = ['content-type', 'a/b', 'openai-processing-ms', '12', 'x-should-retry', 'true']
  const dropped = { server: 's', 'set-cookie': ['c'], 'x-request-id': 'u', 'x-envoy-upstream-service-time': '1' }
  const limits = { 'x-ratelimit-left': '1', 'anthropic-ratelimit-requests-remaining': '999', ratelimit: 'r' }
  t.same(passed({ ...dropped, ...limits, ...pairs(kept) }), kept)
  // what is longer than SDKs listen to is said as a minute
  for (const [named, told] of [
    ['2', '2'],
    ['60', '60'],
    ['3600', '60'],
    ['0.5', '0.5'],
    ['Mon, 23 Nov 2026 00:00:30 GMT', 'Mon, 23 Nov 2026 00:00:30 GMT'],
    ['Mon, 23 Nov 2026 01:00:00 GMT', '60'],
    ['soon', 'soon'],
  ] as const)
    t.same(passed({ 'retry-after': named }), ['retry-after', told])
  t.same(passed({ 'retry-after-ms': '1500' }), ['retry-after-ms', '1500'])
  t.same(passed({ 'retry-after-ms': '3600000' }), ['retry-after-ms', '60000'])
})

const pairs = (list: string[]) =>
  Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] as string]] : [])))

t.test('how long an upstream wants to be left alone', async t => {
  const nowMs = Date.parse('2026-11-23T00:00:00Z')
  for (const [headers, seconds] of [
    [{}, undefined],
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': '7', 'retry-after-ms': '6500' }, 7],
    [{ 'retry-after-ms': '6500' }, 6.5],
    [{ 'retry-after': 'Mon, 23 Nov 2026 00:00:30 GMT' }, 30],
    [{ 'retry-after': 'Sun, 22 Nov 2026 00:00:30 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after-ms': '-5' }, 0],
    [{ 'retry-after-ms': 'soon' }, undefined],
  ] as const)
    t.equal(namedRetryS(headers, nowMs), seconds, JSON.stringify(headers))
})
