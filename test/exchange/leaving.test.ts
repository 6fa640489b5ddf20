/** A client that leaves: its answer is read on for its usage, within bounds, and nothing is asked twice. */
import t from 'tap'
import type { Relay } from '../../lib/exchange/relay/relay.ts'
import { until } from '../support/wait.ts'
import { SETUP } from '../support/store.ts'
import type { Ask } from './support/client.ts'
import { KEY, MODEL, NOTHING_LEFT, type Options, OTHER_KEY, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH } from './support/speech.ts'

/** Of the buffers of two connections and the kernel, far below what a long answer has. */
const MOST_BYTES = 40_000_000
const { ask, first, rest } = SPEECH.messages
const sse = (event: { type?: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

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

t.test(
  'of what is drawn or spoken for tokens, previews and half of the sound are not cheaper than the whole',
  async t => {
    const rows: [path: string, body: object, preview: object, end: object][] = [
      [
        '/v1/images/generations',
        { prompt: 'a cat', partial_images: 3 },
        { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: 'iVBORw0KGgo=' },
        {
          type: 'image_generation.completed',
          b64_json: 'iVBORw0KGgo=',
          usage: { input_tokens: 100, output_tokens: 1000, total_tokens: 1100 },
        },
      ],
      [
        '/v1/responses',
        { input: 'a cat', tools: [{ type: 'image_generation', partial_images: 3 }] },
        { type: 'response.image_generation_call.partial_image', item_id: 'ig_1', partial_image_b64: 'iVBORw0KGgo=' },
        {
          type: 'response.completed',
          response: {
            id: 'resp_1',
            object: 'response',
            status: 'completed',
            output: [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgo=' }],
            usage: { input_tokens: 100, output_tokens: 1000, total_tokens: 1100 },
          },
        },
      ],
      [
        '/v1/audio/speech',
        { input: 'good morning', voice: 'a', stream_format: 'sse' },
        { type: 'speech.audio.delta', audio: Buffer.alloc(3000).toString('base64') },
        { type: 'speech.audio.done', usage: { input_tokens: 100, output_tokens: 1000, total_tokens: 1100 } },
      ],
    ]
    for (const [path, body, preview, end] of rows) {
      const s = await open(t, {
        channels: { a: { protocols: ['images', 'responses', 'speech'] } },
        prices: { [MODEL]: { input: 2, output: 8, image: 0.5, character: 1 } },
        credit: 100_000_000,
      })
      const client = s.ask({
        path,
        headers: { authorization: `Bearer ${KEY}` },
        body: { model: MODEL, stream: true, ...body },
      })
      const call = await s.at('a').call()
      call.stream()
      call.chunk(sse(preview))
      await client.sees((preview as { type: string }).type)
      client.leave()
      await until('it is read on', () => s.services.readOns.size === 1)
      t.equal(s.services.readOns.taken, 0)
      s.clock.advance(60_000)
      await s.settled()
      t.notOk(call.closed, path)
      call.chunk(sse(end))
      call.end()
      const { rows: booked, ...books } = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT })
      t.match(booked, [{ end: 'client_gone', basis: 'reported', input: 100 }], path)
      t.ok((booked[0]?.charge ?? 0) >= 8_200, `${path}: ${booked[0]?.charge}`)
    }
  },
)

/** An answer that may go on for long, so that it takes a place. */
const LONG = { ...ask, body: { ...(ask.body as object), max_tokens: 5_000 } }

/** Leaves in the midst of an answer. */
async function leave(s: Scene, key = KEY, asked: Ask = LONG) {
  const nth = s.at('a').calls.length
  const client = s.ask({ ...asked, headers: { 'x-api-key': key } })
  const call = await s.at('a').call(nth)
  call.stream()
  call.chunk(first)
  await client.sees('Good morning')
  const { size } = s.services.readOns
  client.leave()
  await until('it is read on', () => s.services.readOns.size === size + 1)
  return call
}

t.test(
  'above client_gone.concurrent the oldest one of the account with most is closed, and not before two seconds',
  async t => {
    const s = await open(t, { config: { client_gone: { concurrent: 2 } }, credit: 10_000_000 })
    const [one, two] = [await leave(s), await leave(s, OTHER_KEY)]
    t.equal(s.services.readOns.taken, 2)
    s.clock.advance(1_000)
    const three = await leave(s, OTHER_KEY)
    t.equal(s.services.readOns.taken, 2)
    await s.settled()
    t.same([one.closed, two.closed, three.closed], [false, false, false])
    s.clock.advance(2_000)
    await two.cut()
    t.same([one.closed, three.closed], [false, false])
    t.equal(await s.metric('gateway_read_ons_closed_total', { reason: 'room' }), 1)
    for (const call of [one, three]) {
      call.chunk(rest)
      call.end()
    }
    const { rows, left } = await s.books()
    t.same(left, NOTHING_LEFT)
    t.same(rows.map(row => row.basis).sort(), ['counted', 'reported', 'reported'])
  },
)

t.test('an account whose places are taken is refused, and nobody else', async t => {
  const s = await open(t)
  const { groups } = await s.store.catalogue.read()
  await s.store.catalogue.putGroup({ ...groups[0]!, readOns: 2 }, SETUP)
  await s.follow()
  const calls = [await leave(s), await leave(s)]
  const refused = s.ask(LONG)
  await refused.end()
  t.equal(refused.status, 429)
  t.match(refused.text, /并发数限制:最多同时进行2个请求/)
  t.equal(refused.answer.headers.get('retry-after'), '1')
  await leave(s, OTHER_KEY)
  for (const call of calls) call.chunk(rest)
  await s.settled()
  s.clock.advance(1_000)
  t.equal(s.services.readOns.taken, 1, 'those with their usage need no place')
  const again = s.ask(LONG)
  await s.at('a').call(3)
  again.leave()
  await s.readOut()
  t.match(await s.books(), { left: NOTHING_LEFT })
})

t.test('what ends soon, and what is waited for anyway, takes no place', async t => {
  const rows: [what: string, body: object, options: Options, taken: number][] = [
    ['a stream', { max_tokens: 5_000 }, {}, 1],
    ['few tokens to its maximum', { max_tokens: 512 }, {}, 0],
    ['thoughts that nobody sees', { max_tokens: 5_000, output_config: { effort: 'low' } }, {}, 0],
    ['a model that thinks', { max_tokens: 5_000 }, { model: { thinking: 'adaptive' } }, 0],
    ['a price that does not depend on its length', { max_tokens: 5_000 }, { model: { price: { request: 1 } } }, 0],
  ]
  for (const [what, body, options, taken] of rows) {
    const s = await open(t, options)
    const call = await leave(s, KEY, { ...ask, body: { ...(ask.body as object), ...body } })
    t.equal(s.services.readOns.taken, taken, what)
    s.clock.advance(500_000)
    await s.settled()
    t.equal(call.closed, taken === 1 || what.startsWith('few'), `${what}: closed after the drain`)
    if (!call.closed) await s.readOut()
    t.match(await s.books(), { left: NOTHING_LEFT })
  }
  const s = await open(t)
  const client = s.ask(document())
  const call = await s.at('a').call()
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  s.clock.advance(500_000)
  t.equal(s.services.readOns.taken, 0)
  answers(100, 10)(call)
  t.match(
    await s.books(),
    { left: NOTHING_LEFT, rows: [{ basis: 'reported', charge: 280 }] },
    'a whole answer is waited for',
  )
})

t.test('what is given up is charged for what its model does not show', async t => {
  const rows: [ratio: number, most: number, output: number, hidden: number | null][] = [
    [1000, 5_000, 5, null],
    [3334, 5_000, 17, 3334],
    [20_000, 5_000, 100, 20_000],
    [20_000, 50, 50, 20_000],
  ]
  for (const [ratio, most, output, hiddenRatio] of rows) {
    const s = await open(t)
    s.services.stats.hiddenRatio = () => ratio
    await leave(s, KEY, { ...ask, body: { ...(ask.body as object), max_tokens: most } })
    await s.readOut()
    const { rows, ok, left } = await s.books()
    t.match([ok, left], [true, NOTHING_LEFT])
    t.match(rows, [{ end: 'client_gone', basis: 'counted', output, hiddenRatio }], `${ratio}`)
    t.equal(rows[0]!.charge, rows[0]!.input * 2 + output * 8)
  }
  const s = await open(t)
  s.services.stats.hiddenRatio = () => 20_000
  const call = await leave(s)
  call.reset()
  t.match(
    (await s.books()).rows,
    [{ basis: 'counted', output: 5, hiddenRatio: null }],
    'an upstream that breaks off is not',
  )
})

t.test('cheap streams left behind give no answer of a thinking model away', async t => {
  const s = await open(t, {
    prices: { [MODEL]: { input: 2, output: 105 }, cheap: { input: 0.01, output: 0.01 } },
    channels: { a: { models: [MODEL, 'cheap'] } },
    model: { thinking: 'adaptive', max_output: 64_000 },
  })
  const cheap: Ask = { ...LONG, body: { ...(LONG.body as object), model: 'cheap', max_tokens: 100_000 } }
  for (let i = 0; i < 60; i++) await leave(s, KEY, cheap)
  for (let i = 0; i < 3; i++) {
    const call = await leave(s)
    s.clock.advance(150)
    await s.settled()
    t.equal(call.closed, false)
    call.chunk(rest.replace('"output_tokens":10', '"output_tokens":30000'))
    call.end()
    await until('it is charged', () => s.services.readOns.size === 60)
  }
  await s.readOut()
  const { rows, left } = await s.books()
  t.same(left, NOTHING_LEFT)
  const dear = rows.filter(({ model }) => model === MODEL)
  t.same(
    dear.map(({ basis, output, charge }) => [basis, output, charge]),
    Array(3).fill(['reported', 30_000, 3_150_200]),
  )
})

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
    s.services.sweeper.each(relay => (slow ||= (relay as Relay).flow.slowSinceMs > 0))
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

t.test(
  'with two requests on one connection: what was asked upstream is read on and charged, the other is not asked',
  async t => {
    const s = await open(t)
    const client = s.ask(document())
    client.ask(document())
    const call = await s.at('a').call(0)
    await s.settled()
    t.equal(s.services.openCount, 1)
    client.leave()
    await until('it is read on', () => s.services.readOns.size === 1)
    answers(100, 10)(call)
    const row = { end: 'client_gone', status: 499, basis: 'reported', charge: 280 }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [row] })
    t.equal(s.at('a').calls.length, 1)
  },
)

t.test('between two requests of one connection: both are charged', async t => {
  const s = await open(t)
  const client = s.ask(document())
  client.ask(document())
  answers(100, 10)(await s.at('a').call(0))
  const second = await s.at('a').call(1)
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  answers(100, 10)(second)
  const row = { basis: 'reported', charge: 280 }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [row, row] })
})
