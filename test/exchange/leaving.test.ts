/** A client that leaves: its answer is read on for its usage, within bounds, and nothing is asked twice. */
import t from 'tap'
import type { Relay } from '../../lib/exchange/relay/relay.ts'
import { until } from '../support/wait.ts'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { answers, document, SPEECH } from './support/speech.ts'

/** Of the buffers of two connections and the kernel, far below what a long answer has. */
const MOST_BYTES = 40_000_000
const { ask, first, rest } = SPEECH.messages

t.test('while the upstream is silent: its answer is charged, and recorded as 499', async t => {
  const s = await open(t)
  const client = s.ask(document())
  const call = await s.at('a').call()
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  answers(100, 10)(call)
  t.match(await s.books(), {
    ok: true,
    left: NOTHING_LEFT,
    rows: [{ end: 'client_gone', status: 499, basis: 'reported', charge: 280 }],
  })
  t.equal(await s.metric('gateway_client_gone_total', { outcome: 'drained' }), 1)
})

t.test('in the middle of a stream: exact usage when it comes in time', async t => {
  const s = await open(t)
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream()
  call.chunk(first)
  await client.sees('Good morning')
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  s.clock.advance(29_000)
  call.chunk(rest)
  call.end()
  t.match(await s.books(), {
    ok: true,
    left: NOTHING_LEFT,
    rows: [{ end: 'client_gone', status: 200, basis: 'reported', charge: 280 }],
  })
})

t.test('past client_gone.drain it is cut, and what was seen is charged', async t => {
  const s = await open(t)
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream()
  call.chunk(first)
  await client.sees('Good morning')
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  s.clock.advance(31_000)
  await call.cut()
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ end: 'client_gone', status: 200, basis: 'counted' }] })
  t.ok(books.rows[0]!.charge > 0 && books.rows[0]!.output > 0)
  t.equal(await s.metric('gateway_client_gone_total', { outcome: 'cut' }), 1)
  t.equal(s.state('a'), 'closed')
})

for (const [concurrent, drained] of [
  [0, 0],
  [1, 1],
] as const) {
  t.test(`of two that leave, ${drained} are read on with client_gone.concurrent ${concurrent}`, async t => {
    const s = await open(t, { config: { client_gone: { concurrent } } })
    for (const nth of [0, 1]) {
      const client = s.ask(ask)
      const call = await s.at('a').call(nth)
      call.stream()
      call.chunk(first)
      await client.sees('Good morning')
      client.leave()
      if (nth < drained) await until('it is read on', () => s.services.readOns.size === 1)
      else await call.cut()
    }
    t.equal(s.services.readOns.size, drained)
    if (drained > 0) {
      s.at('a').calls[0]!.chunk(rest)
      s.at('a').calls[0]!.end()
    }
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT })
    t.same(books.rows.map(row => row.basis).sort(), drained > 0 ? ['counted', 'reported'] : ['counted', 'counted'])
  })
}

t.test('before the hold: nothing is asked and nothing recorded', async t => {
  const s = await open(t)
  const { reserve } = s.services.ledger
  let go = () => {}
  const gate = new Promise<void>(resolve => (go = resolve))
  s.services.ledger.reserve = async (...args) => {
    await gate
    return await reserve.apply(s.services.ledger, args)
  }
  const client = s.ask(document())
  await until('it asks for money', () => s.services.openCount === 1)
  client.leave()
  await s.settled()
  go()
  await s.settled()
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
  t.same([books.rows, s.asked()], [[], { a: 0 }])
})

t.test('a client that takes nothing: the upstream is held up, then cut, and settled as for one that left', async t => {
  const s = await open(t, { config: { timeouts: { slow_client: '20s' } } })
  const client = s.ask(ask)
  const call = await s.at('a').call()
  client.socket.pause()
  call.stream()
  call.chunk(first)
  const piece = first.repeat(2000)
  let taken = 0
  const heldUp = async () => {
    for (let i = 0; i < 5 && call.socket.writableNeedDrain; i++) await s.settled()
    return call.socket.writableNeedDrain
  }
  do {
    call.chunk(piece)
    taken += piece.length
  } while (taken < MOST_BYTES && !(await heldUp()))
  t.ok(taken < MOST_BYTES, `the upstream could send ${taken} bytes`)
  s.clock.advance(19_000)
  await s.settled()
  t.equal(call.closed, false)
  s.clock.advance(3_000)
  await until('it is read on, or done', () => s.services.readOns.size === 1 || s.services.openCount === 0)
  s.clock.advance(31_000)
  client.socket.resume()
  t.equal(await client.end(), 'cut')
  t.match(await s.books(), {
    ok: true,
    left: NOTHING_LEFT,
    rows: [{ end: 'client_gone', status: 200, basis: 'counted' }],
  })
  t.equal(await s.metric('gateway_client_gone_total', { outcome: 'slow' }), 1)
})

t.test('a slow client whose chunks hold many events is waited for once, and gets every byte', async t => {
  const warnings: string[] = []
  const heard = (warning: Error) => warnings.push(warning.message)
  process.on('warning', heard)
  t.teardown(() => process.off('warning', heard))
  const s = await open(t)
  const { ask, first, rest } = SPEECH.chat
  const client = s.ask({ ...ask, body: { ...(ask.body as object), stream_options: undefined } })
  const call = await s.at('a').call()
  client.socket.pause()
  call.stream()
  call.chunk(first.slice(0, 10)) // so that whole chunks are looked at event by event
  await s.settled()
  const many = first.repeat(100_000)
  call.chunk(first.slice(10) + many)
  const held = () => {
    let slow = false
    s.services.sweeper.each(relay => (slow ||= (relay as Relay).slowSinceMs > 0))
    return slow
  }
  await until('the upstream is held up', held)
  client.socket.resume()
  call.chunk(rest)
  call.end()
  t.equal(await client.end(), 'whole')
  t.ok(client.text === `${first}${many}data: [DONE]\n\n`)
  t.same(warnings, [])
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ charge: 280 }] })
})

t.test('with two requests on one connection: both are read on and charged', async t => {
  const s = await open(t)
  const client = s.ask(document())
  client.ask(document())
  const calls = [await s.at('a').call(0), await s.at('a').call(1)]
  client.leave()
  await until('both are read on', () => s.services.readOns.size === 2)
  for (const call of calls) answers(100, 10)(call)
  const row = { end: 'client_gone', status: 499, basis: 'reported', charge: 280 }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [row, row] })
})
