/**
 * npm run chaos:pay -- [--minutes 3] [--seed N] [--engine sqlite|mariadb] [--currency CNY]
 *
 * Two gateways on one store, the doubles of all providers with ledgers of their own, payers, operators and cheats, in a time
 * of its own that passes faster. Callbacks get lost, come late, in crowds, in another order and forged; providers fail in the
 * middle of what they do, and decide about refunds and disputes when they like; processes die between any two calls of the
 * store. At the end everything becomes quiet, and what the providers have must be what the accounts were credited, order by
 * order and to the fen; where it is not, an exception must say why. Cards may be charged in another currency (--currency
 * USD); of an order in it, cents may be rounded. Exits 1 when the books are wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CHECKOUT_METHODS } from '../../../lib/terms/pay.ts'
import { startMariadb } from '../../support/mariadb.ts'
import { scriptOptions } from '../../support/script.ts'
import { chaos } from './run.ts'

const MINUTE_MS = 60_000
const TOLD_MS = 10_000
const MICROS = 1_000_000

const values = scriptOptions(import.meta.filename, {
  minutes: { type: 'string', default: '3' },
  seed: { type: 'string' },
  engine: { type: 'string', default: 'sqlite' },
  currency: { type: 'string', default: 'CNY' },
})

const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
const ms = Number(values.minutes) * MINUTE_MS
if (!Number.isSafeInteger(seed) || !(ms > 0) || !['sqlite', 'mariadb'].includes(values.engine)) {
  console.error('--seed is a whole number, --minutes a number above 0, --engine sqlite or mariadb')
  process.exit(2)
}
const folder = mkdtempSync(path.join(tmpdir(), 'gateway-chaos-pay-'))
const server = values.engine === 'mariadb' ? await startMariadb() : null
const url = server?.url ?? `sqlite:${folder}/gateway.db`
const { engine, currency } = values
const again = `--seed ${seed} --engine ${engine} --currency ${currency}`
console.log(`${values.minutes} minutes; again: npm run chaos:pay -- ${again}`)

const untilMs = performance.now() + ms
let toldMs = performance.now()
const ended = await chaos({
  seed,
  url,
  currency,
  more: () => performance.now() < untilMs,
  tell(steps, { orders, done, clock }) {
    if (performance.now() - toldMs < TOLD_MS) return
    toldMs = performance.now()
    const died = done.get('process died') ?? 0
    console.log(
      `${steps} steps, ${orders.length} orders, ${died} processes died; it is ${new Date(clock.now()).toISOString()}`,
    )
  },
}).finally(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

for (const [what, times] of [...ended.done].sort()) console.log(`${String(times).padStart(8)}  ${what}`)
for (const method of CHECKOUT_METHODS) {
  const { there, worth, here, explained } = ended.sums[method]
  const [has, credited, told] = [worth, here, explained].map(sum => (sum / MICROS).toFixed(6))
  const of = method === 'card' ? currency : 'CNY'
  console.log(
    `${method}: the provider has ${there} cents of ${of}, worth ${has} CNY; credited are ${credited}; exceptions explain ${told}`,
  )
}
for (const [kind, times] of [...ended.exceptions].sort()) console.log(`exception ${kind}: ${times}`)
for (const line of ended.explained) console.log(`explained: ${line}`)
for (const fault of ended.faults) console.log(`WRONG ${fault}`)
console.log(
  `${ended.steps} steps, ${ended.orders} orders: ${ended.faults.length === 0 ? 'the books are right' : 'the books are wrong'}`,
)
process.exit(ended.faults.length === 0 ? 0 : 1)
