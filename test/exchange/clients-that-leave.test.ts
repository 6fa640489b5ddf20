/** A request that an upstream has whole costs the operator all of it: it is never free for a client that leaves. */
// The bug behind these rows: asked and left.
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { ReadOns } from '../../lib/exchange/record/read-ons.ts'
import { NOTHING_LEFT, type Options, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'
import type { Call } from './support/upstream.ts'
import { until } from '../support/wait.ts'

const PAST_DRAIN_MS = 31_000
const silent = () => {}
const pastDrain = (s: Scene) => s.clock.advance(PAST_DRAIN_MS)
/** Everything is read on for at least two seconds. */
const pastLeast = (_: Call, s: Scene) => s.clock.advance(3_000)
/** An answer that may go on for long, so that it takes a place. */
const LONG = { ...SPEECH.messages.ask, body: { ...(SPEECH.messages.ask.body as object), max_tokens: 5_000 } }
/** Reasoning that nobody is shown: the answer has begun, and has no content yet. */
const begins = (call: Call) => {
  call.stream()
  call.chunk(SPEECH.messages.keepAlive)
}

const wholeAnswer = (call: Call) => {
  begins(call)
  call.chunk(SPEECH.messages.first + SPEECH.messages.rest)
  call.end()
}

interface Row {
  options?: Options
  /** What the upstream says before its client leaves, and after. */
  before?: (call: Call) => void
  after?: (call: Call, s: Scene) => void
  row: object
}

const estimated = { end: 'client_gone', basis: 'counted', output: 0 }
const free = { end: 'client_gone', basis: 'none', charge: 0 }
const noPlace = { config: { client_gone: { concurrent: 0 } } }

const ROWS: Record<string, Row> = {
  'no answer by the end of the drain': { after: (_, s) => pastDrain(s), row: { ...estimated, status: 499 } },
  'no answer, and no place to wait for one': { options: noPlace, after: pastLeast, row: { ...estimated, status: 499 } },
  'no answer by the end of the process': {
    after: (_, s) => s.services.sweeper.each(relay => relay.stop('unavailable')),
    row: estimated,
  },
  'reasoning that nobody sees, past the drain': { before: begins, after: (_, s) => pastDrain(s), row: estimated },
  'reasoning that nobody sees, and no place': { before: begins, options: noPlace, after: pastLeast, row: estimated },
  'a head after it left, and no more': { after: begins, row: estimated },
  'an answer within the drain': { after: wholeAnswer, row: { basis: 'reported', charge: 280 } },
  'a refusal within the drain': { after: says(500), row: free },
  'a reset within the drain': { after: call => call.reset(), row: free },
}

for (const [name, { options = {}, before = silent, after = silent, row }] of Object.entries(ROWS)) {
  t.test(name, async t => {
    const s = await open(t, options)
    const client = s.ask(LONG)
    const call = await s.at('a').call()
    before(call)
    if (before !== silent) await client.sees(SPEECH.messages.keepAlive)
    client.leave()
    await until('the client is gone', () => s.services.readOns.size === 1 || s.services.openCount === 0)
    after(call, s)
    await s.settled()
    if (name.startsWith('a head')) pastDrain(s)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [], rows: [row] })
    t.equal(books.rows.length, 1)
    if (row === free) return
    t.ok(books.rows[0]!.input > 0 && books.rows[0]!.charge > 0)
  })
}

t.test('after an early head, too', async t => {
  const s = await open(t, { config: { keepalive: { early: '80s' } } })
  const client = s.ask(SPEECH.messages.ask)
  await s.at('a').call()
  s.clock.advance(81_000)
  await client.sees('\n')
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  pastDrain(s)
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ ...estimated, status: 200 }] })
  t.ok(books.rows[0]!.charge > 0)
})

t.test('what the upstream does not have yet is cut at once, and free', async t => {
  const server = net.createServer(socket => socket.pause()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted: Socket[] = []
  server.on('connection', socket => accepted.push(socket.on('error', () => {})))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const s = await open(t, { channels: { a: { base_url: `http://127.0.0.1:${port}` } } })
  const client = s.ask(document({ messages: [{ role: 'user', content: 'x'.repeat(30_000_000) }] }))
  await until('the upstream is asked', () => accepted.length === 1)
  client.leave()
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, rows: [free] })
  for (const socket of accepted) socket.destroy()
})

t.test('what costs nothing takes no place', async t => {
  const s = await open(t)
  const { ask } = SPEECH.messages
  const client = s.ask({ ...ask, path: '/v1/messages/count_tokens' })
  const call = await s.at('a').call()
  client.leave()
  await call.cut()
  t.equal(s.services.readOns.size, 0)
  t.match(await s.books(), { left: NOTHING_LEFT, rows: [] })
})

t.test('places: so many of an account, and of all accounts the oldest of the one with most goes', async t => {
  const readOns = new ReadOns()
  const dropped: string[] = []
  const one = (accountId: number, name: string) => ({ accountId, dropped: () => void dropped.push(name) })
  const enter = (readOn: ReturnType<typeof one>, total = 4) => {
    readOns.add(readOn)
    return readOns.takePlace(readOn, 3, total)
  }
  const [a1, a2, a3, a4] = [one(1, 'a1'), one(1, 'a2'), one(1, 'a3'), one(1, 'a4')]
  t.same([enter(a1), enter(a2)], [true, true])
  t.equal(readOns.isFull(1, 3, 4), false)
  t.same([enter(a3), enter(a4)], [true, false], 'the account has three')
  t.equal(readOns.isFull(1, 3, 4), true)
  t.equal(readOns.isFull(2, 3, 4), false, 'another account has its own')
  const [b1, b2] = [one(2, 'b1'), one(2, 'b2')]
  t.equal(enter(b1), true)
  t.same(dropped, [])
  t.equal(enter(b2), true, 'nobody is refused')
  t.same(dropped, ['a1'], 'and the oldest of the account with most goes')
  t.equal(readOns.isFull(1, 3, 4), false)
  readOns.freePlace(b1)
  t.same([readOns.size, readOns.taken], [6, 3], 'what needs no place is read on all the same')
  for (const readOn of [a1, a2, a3, a4, b1, b2]) readOns.remove(readOn)
  t.same([readOns.size, readOns.taken], [0, 0])
  const none = one(3, 'none')
  t.equal(enter(none, 0), false)
  t.equal(readOns.isFull(3, 3, 0), false, 'without any places nobody is refused')
  for (let i = 0; i < 255; i++) readOns.add(one(3, `${i}`))
  t.equal(readOns.isFull(3, 3, 0), true, 'but for those who have left 256 requests behind')
})

const onMain = { config: { client_gone: { concurrent: 0 } } }

t.test('after a 524 the upstream is read on as long as `first_byte` allows, and charged as it ends', async t => {
  for (const [atMs, answer, row] of [
    [590_000, answers(100, 10), { basis: 'reported', charge: 280 }],
    [590_000, says(500), { basis: 'none', charge: 0 }],
    [601_000, silent, { basis: 'counted', output: 0 }],
  ] as const) {
    const s = await open(t, onMain)
    const client = s.ask(document())
    const call = await s.at('a').call()
    s.clock.advance(101_000)
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 524)
    client.leave()
    await s.settled()
    s.clock.advance(atMs - 101_000)
    t.equal(call.closed, false)
    answer(call)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ ...row, end: 'client_gone', status: 524 }] })
    if (answer === silent) {
      t.ok(books.rows[0]!.charge > 0)
      t.equal(await s.metric('gateway_upstream_attempts_total', { channel: 'a', result: 'failed' }), 1)
    }
  }
})
