/** The price of a request was charged also where the client had left before any answer, although it is one for answered requests. */
import t from 'tap'
import { NOTHING_LEFT, open } from '../exchange/support/gateway.ts'
import { answers, SPEECH } from '../exchange/support/speech.ts'
import type { Call } from '../exchange/support/upstream.ts'
import { until } from '../support/wait.ts'

const PAST_DRAIN_MS = 31_000
const begins = (call: Call) => {
  call.stream()
  call.chunk(SPEECH.messages.keepAlive)
}

const ROWS: [name: string, price: object, before: ((call: Call) => void) | null, fees: string[]][] = [
  ['no answer', { request: 1, input: 2, output: 8 }, null, ['input']],
  ['no answer, and no other price', { request: 1 }, null, []],
  ['an answer that had begun', { request: 1 }, begins, ['request']],
]

for (const [name, price, before, classes] of ROWS)
  t.test(name, async t => {
    const s = await open(t, { model: { price } })
    const client = s.ask(SPEECH.messages.ask)
    const call = await s.at('a').call()
    before?.(call)
    if (before !== null) await client.sees(SPEECH.messages.keepAlive)
    client.leave()
    await until('it is read on', () => s.services.readOns.size === 1)
    s.clock.advance(PAST_DRAIN_MS)
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
