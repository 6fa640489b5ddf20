/**
 * What a unit of another currency is worth. Operators set it, always until a time: an order that is begun keeps the rate of
 * its beginning, and without a rate in force none can be begun. Transfers of USDT wait without one.
 */
import { DAY_MS, iso } from '../base/clock.ts'
import { storeNow } from '../operations/deps.ts'
import { z } from 'zod'
import { formatMicro, micro, parseMillionths } from '../base/money.ts'
import { OperationError } from '../operations/error.ts'
import type { Store } from '../store/store.ts'
import type { PayRate } from '../store/payments/types.ts'
import * as kind from '../config/scalars.ts'
import type { Act } from '../base/people.ts'

const LISTED = 20
const MOST_DAYS = 366

/** `rate`: CNY for one unit. `for`: how long it holds, from now. */
export const rateForm = z.strictObject({
  currency: kind.scalar(
    { zh: '货币代码，例如“USD”', en: 'the code of a currency like "USD"' },
    { type: 'string', pattern: '^[A-Z]{3,4}$' },
    value => (typeof value === 'string' && /^[A-Z]{3,4}$/.test(value) ? value : undefined),
  ),
  rate: kind.scalar(
    { zh: '大于0的人民币金额，最多6位小数', en: 'an amount of CNY above 0 with at most 6 decimal places' },
    { type: ['number', 'string'] },
    value => {
      const rate = parseMillionths(value)
      return rate === null || rate <= 0 ? undefined : rate
    },
  ),
  for: kind.duration({ least: 60_000, most: MOST_DAYS * DAY_MS }),
})

interface RateDeps {
  store: Store
  clock: { now(): number }
}

/** The last rates of each currency, newest first. */
export async function listRates({ store, clock }: RateDeps, currencies: readonly string[]) {
  const nowMs = await storeNow({ store, clock })
  const data = []
  for (const currency of currencies) {
    const [rates, now] = await Promise.all([store.pay.payRates(currency, LISTED), store.pay.payRate(currency, nowMs)])
    data.push(...rates.map(rate => rateRow(rate, now?.id === rate.id)))
  }
  return { data, currencies }
}

const rateRow = ({ currency, rate, fromMs, untilMs, actor }: PayRate, inForce: boolean) => ({
  currency,
  rate: formatMicro(micro(rate)),
  from: iso(fromMs),
  until: iso(untilMs),
  by: actor,
  in_force: inForce,
})

export async function setRate(
  deps: RateDeps,
  currencies: readonly string[],
  form: z.output<typeof rateForm>,
  act: Act,
) {
  const { store } = deps
  const { currency, rate, for: lifeMs } = form
  if (!currencies.includes(currency)) {
    const expected = { en: 'the currency of a way to pay', zh: '某个支付方式的货币' }
    const told = { en: `currency: expected ${expected.en}`, zh: `currency：应为${expected.zh}` }
    throw new OperationError('invalid', told, {}, [{ field: 'currency', expected }])
  }
  const fromMs = await storeNow(deps)
  await store.pay.setPayRate({ currency, rate, fromMs, untilMs: fromMs + lifeMs }, act)
  return listRates(deps, currencies)
}
