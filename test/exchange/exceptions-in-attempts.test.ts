/** Whatever an attempt throws, its exchange goes on to the next candidate or ends in a 502, and nobody else hears of it. */
// The bug behind these rows: an attempt that throws.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { Candidate } from '../../lib/world/table.ts'
import type { Relay } from '../../lib/exchange/relay/relay.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { KEY, MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH } from './support/speech.ts'
import { listen, socksProxy } from '../upstream/support.ts'

const generate = { ...SPEECH.generate.ask, headers: { 'x-gamma-api-key': KEY } }
type Change = (candidate: Candidate) => void
const set = (object: object, change: object): void => void Object.assign(object, change)
const proxied =
  (proxy: string): Change =>
  ({ channel }) =>
    set(channel.connection, { id: proxy, proxy })

const ROWS: Record<string, Change> = {
  'a proxy whose password is no text': proxied('http://user:%zz@127.0.0.1:1'),
  'a proxy that is no address': proxied('http://['),
  'an origin that is no address': ({ channel }) => set(channel.connection, { id: 'x', origin: 'http://[' }),
  'a header that cannot be sent': ({ channel }) => set(channel, { headers: { 'x-a': '=one\ntwo' } }),
  'the same over undici': ({ channel }) => {
    set(channel, { headers: { 'x-a': '=one\ntwo' } })
    set(channel.connection, { id: 'x', http2: true })
  },
  'a model whose name is half a character': candidate => set(candidate, { upstreamModel: '\ud800' }),
}

const candidate = (s: Scene): Candidate =>
  s.services.world.routes.find('default', MODEL, 'generate')?.tiers[0]?.[0] as Candidate

for (const [name, change] of Object.entries(ROWS)) {
  t.test(name, async t => {
    for (const behind of [true, false]) {
      const s = await open(t, { channels: behind ? { a: {}, b: {} } : { a: {} } })
      change(candidate(s))
      if (behind)
        s.at('b').script = call => {
          call.stream()
          call.chunk(SPEECH.generate.rest)
          call.end()
        }
      const client = s.ask(generate)
      t.equal(await client.end(), 'whole')
      t.equal(client.status, behind ? 200 : 502)
      const books = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
      t.same(
        books.rows.map(row => row.channel),
        [behind ? 'b' : 'a'],
      )
    }
  })
}

t.test('a SOCKS proxy that is told a password which is no text', async t => {
  const s = await open(t)
  proxied(`socks5://user:%zz@127.0.0.1:${await listen(t, socksProxy([], 'user', 'x'))}`)(candidate(s))
  const client = s.ask(generate)
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 502)
  t.match(await s.books(), { left: NOTHING_LEFT, failures: [] })
})

t.test('what is thrown where an answer is looked at ends this exchange and no other', async t => {
  for (const where of ['head', 'body', 'end', 'error', 'sweep'] as const) {
    const s = await open(t)
    const client = s.ask(document())
    const call = await s.at('a').call()
    const other = s.ask(document())
    const otherCall = await s.at('a').call(1)
    const broken = () => {
      throw new Error('broken')
    }
    const relays: Relay[] = []
    s.services.sweeper.each(relay => relays.push(relay as Relay))
    const relay = relays.at(-1) as Relay
    if (where === 'head') relay.onHead = broken
    else if (where === 'body') relay.onData = broken
    else if (where === 'end') relay.onEnd = broken
    else if (where === 'error') relay.onError = broken
    else relay.asking.abortSilent = broken
    if (where === 'sweep') s.clock.advance(1000)
    else if (where === 'error') call.reset()
    else answers(100, 10)(call)
    t.equal(await client.end(), 'whole', where)
    t.equal(client.status, 500)
    answers(100, 10)(otherCall)
    t.equal(await other.end(), 'whole')
    t.equal(other.status, 200)
    const books = await s.books()
    t.match(books, { left: NOTHING_LEFT })
    t.equal(books.failures.length, 1)
  }
})

t.test(
  'what is thrown where an answer is charged, also one that must be decoded first, ends this exchange only',
  async t => {
    for (const packed of [false, true]) {
      const s = await open(t)
      const { settle } = s.services.ledger
      s.services.ledger.settle = () => {
        throw new Error('broken')
      }
      const client = s.ask(document())
      const call = await s.at('a').call()
      const text = JSON.stringify({ choices: [{ message: { content: 'hello' } }], usage: { prompt_tokens: 1 } })
      const body = packed ? gzipSync(text) : Buffer.from(text)
      const headers: Record<string, string> = packed ? { 'content-encoding': 'gzip' } : {}
      call.start(200, { 'content-type': 'application/json', 'content-length': String(body.length), ...headers })
      call.raw(body)
      const end = await client.end()
      t.ok(end === 'cut' || client.status === 500, 'never a clean 200')
      s.services.ledger.settle = settle
      const other = s.ask(document())
      answers(100, 10)(await s.at('a').call(1))
      t.equal(await other.end(), 'whole')
      t.equal(other.status, 200)
      t.ok(s.logged.some(line => line['msg'] === 'exchange failed'))
    }
  },
)

t.test('a proxy that can never be used is refused in the catalogue, and its password not shown', t => {
  const read = (proxy: string) => {
    const channel = {
      name: 'a',
      base_url: 'https://a.example',
      protocols: ['chat'],
      key: 'k',
      groups: ['default'],
      models: ['m'],
      proxy,
    }
    return () => parseCatalog(JSON.stringify({ channels: [channel] }), 'catalog', {})
  }
  for (const proxy of ['http://user:hunter%zz@x', 'socks5://hunter%zz:x@x', `socks5://u:hunter${'x'.repeat(250)}@x`])
    t.throws(read(proxy), { message: /^(?!.*hunter).*channels\[0\]\.proxy: expected a proxy as http/s })
  t.doesNotThrow(read('http://user:hunter%25zz@x'))
  t.end()
})

t.test('what is thrown while a body arrives, or when an exchange is over, ends this exchange only', async t => {
  const s = await open(t)
  const { ledger, metrics } = s.services
  const { reserve } = ledger
  const broken = () => {
    throw new Error('broken')
  }
  ledger.reserve = broken
  const body = new ReadableStream({
    start(pieces) {
      for (let i = 0; i < 3; i++) pieces.enqueue(Buffer.alloc(1024 * 1024, ' '))
      pieces.close()
    },
  })
  const { path, headers } = document()
  const answer = await fetch(s.urls.main + path, { method: 'POST', headers: headers ?? {}, body, duplex: 'half' })
  t.equal(answer.status, 500)
  ledger.reserve = reserve
  const { overhead } = metrics
  metrics.overhead = broken
  const failed = s.ask(document())
  answers(100, 10)(await s.at('a').call())
  t.equal(await failed.end(), 'whole')
  metrics.overhead = overhead
  const other = s.ask(document())
  answers(100, 10)(await s.at('a').call(1))
  t.equal(await other.end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  t.ok(s.logged.some(line => line['msg'] === 'exchange failed to finish'))
})
