/** The wall clock steps an hour either way: keys expire by it, where the store has no other one, and nothing else does. */
import t from 'tap'
import { KEY, NOTHING_LEFT, open } from './support/gateway.ts'
import { until } from '../support/wait.ts'
import { answers, document } from './support/speech.ts'

const HOUR_MS = 3_600_000
/** Where the tests' clock begins. */
const NOW_MS = 1_790_000_000_000
const good = answers(100, 10)

const rows: [name: string, expiresMs: number, stepMs: number, before: number, after: number][] = [
  ['forward over the expiry', HOUR_MS / 2, HOUR_MS, 200, 401],
  ['forward, not so far', HOUR_MS * 2, HOUR_MS, 200, 200],
  ['back over the expiry', -HOUR_MS / 2, -HOUR_MS, 401, 200],
  ['back, not so far', -HOUR_MS * 2, -HOUR_MS, 401, 401],
]

for (const [name, expiresMs, stepMs, before, after] of rows) {
  t.test(`a key's expiry and a step of the clock: ${name}`, async t => {
    const s = await open(t, { key: { expires_at: new Date(NOW_MS + expiresMs).toISOString() } })
    let asked = 0
    for (const [nth, status] of [before, after].entries()) {
      if (nth === 1) s.clock.step(stepMs)
      const client = s.ask(document())
      if (status === 200) good(await s.at('a').call(asked++))
      t.equal(await client.end(), 'whole')
      t.equal(client.status, status)
    }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })
}

t.test("a key that has expired by the store's clock, at a gateway whose clock is set back by an hour", async t => {
  const s = await open(t, { key: { expires_at: new Date(NOW_MS + HOUR_MS / 2).toISOString() } })
  const startMs = s.clock.now() - s.clock.monotonic()
  s.store.now = async () => startMs + s.clock.monotonic()
  s.clock.step(-HOUR_MS)
  s.clock.advance(60_000)
  await until('the clocks were compared', () => s.services.ledger.wall.skewMs === HOUR_MS)
  s.clock.advance(HOUR_MS / 2)
  const client = s.ask(document())
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 401)
})

for (const stepMs of [HOUR_MS, -HOUR_MS]) {
  t.test(
    `a step of ${stepMs / HOUR_MS} h while an answer streams: no time-out notices, holds and charge stay`,
    async t => {
      const s = await open(t, {})
      const client = s.ask(document({}, { authorization: `Bearer ${KEY}` }))
      const call = await s.at('a').call()
      s.clock.step(stepMs)
      s.clock.advance(1000)
      t.equal(s.services.ledger.holdsOpen, 1)
      good(call)
      t.equal(await client.end(), 'whole')
      const books = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
      t.match(books.rows, [{ charge: 280, basis: 'reported' }])
    },
  )
}
