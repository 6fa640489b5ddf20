/** The price of a request was charged also where the client had left before any answer, although it is one for answered requests. */
// The bug behind these rows: a fee without an answer.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import type { Ask } from './support/client.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'
import type { Call } from './support/upstream.ts'
import { until } from '../support/wait.ts'

const begins = (call: Call) => {
  call.stream()
  call.chunk(SPEECH.messages.keepAlive)
}

const ROWS: [name: string, price: object, before: ((call: Call) => void) | null, fees: string[]][] = [
  ['no answer', { request: 1, input: 2, output: 8 }, null, ['input']],
  ['no answer, and no other price', { request: 1 }, null, []],
  ['an answer that had begun', { request: 1, input: 2, output: 8 }, begins, ['input', 'request']],
  ['an answer that had begun, and no other price', { request: 1 }, begins, []],
]

for (const [name, price, before, classes] of ROWS)
  t.test(name, async t => {
    const s = await open(t, { model: { price } })
    const client = s.ask(SPEECH.messages.ask)
    const call = await s.at('a').call()
    before?.(call)
    if (before !== null) await client.sees(SPEECH.messages.keepAlive)
    client.leave()
    await s.readOut()
    const { ok, left, rows } = await s.books()
    t.same([ok, left, rows.length], [true, NOTHING_LEFT, 1])
    t.match(rows[0], { end: 'client_gone' })
    const charged = rows[0]!.lines.filter(line => line.price > 0).map(line => line.class)
    t.same(charged, classes)
    t.equal(rows[0]!.charge >= 1_000_000, classes.includes('request'))
  })

t.test('an answered request', async t => {
  const s = await open(t, { model: { price: { request: 1 } } })
  const client = s.ask(SPEECH.messages.ask)
  answers(100, 10)(await s.at('a').call())
  await client.end()
  t.match((await s.books()).rows, [{ charge: 1_000_000 }])
})

/** Where the price does not depend on the answer's length, an answer that came after the drain was free, without end. */
const FEES: [what: string, price: object, ask: Ask, answer: (call: Call) => void, charge: number][] = [
  ['request', { request: 1 }, document(), answers(100, 10), 1_000_000],
  ['image', { image: 0.5 }, SPEECH.images.ask, call => call.whole(200, { data: [{ b64_json: 'AAAA' }] }), 500_000],
]
for (const [what, price, asked, answer, charge] of FEES)
  t.test(`by ${what}: asked and left`, async t => {
    for (const [atMs, said, end] of [
      [500_000, answer, { charge, basis: 'reported' }],
      [500_000, says(500), { charge: 0, basis: 'none' }],
      [601_000, () => {}, { charge: 0, basis: 'none' }],
    ] as const) {
      const s = await open(t, { model: { price }, config: { client_gone: { concurrent: 0 } } })
      const client = s.ask(asked)
      const call = await s.at('a').call()
      client.leave()
      await until('it is read on', () => s.services.readOns.size === 1)
      s.clock.advance(atMs)
      said(call)
      const { rows, left } = await s.books()
      t.same(left, NOTHING_LEFT)
      t.match(rows, [{ end: 'client_gone', ...end }], `${what} at ${atMs}`)
    }
  })
