/** A short run of `npm run chaos:pay` on every engine: whatever happens, the books agree with those of the providers. */
import t from 'tap'
import { seeded } from '../support/random.ts'
import { chaos } from './chaos/run.ts'
import { ENGINES } from './engines.ts'

const STEPS = 40
/** What cards are charged in; CNY on the other engine. */
const CURRENCY: Record<string, string> = { SQLite: 'USD' }
const LEAST = 5

t.jobs = ENGINES.length
for (const [engine, address] of ENGINES)
  t.test(engine, { buffered: true }, async t => {
    const { seed } = seeded(t)
    const [url, currency] = [await address(t), CURRENCY[engine] ?? 'CNY']
    const { faults, orders, done } = await chaos({ seed, url, currency, more: steps => steps < STEPS })
    t.same(faults, [], `seed ${seed}`)
    t.ok(orders >= LEAST, `${orders} orders`)
    t.ok((done.get('callback taken') ?? 0) > 0)
  })
