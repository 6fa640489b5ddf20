/**
 * A key asks what it has spent and may still spend. Chat applications know two pages for this, one of which they also use
 * for what they show as the balance: `hard_limit_usd - total_usage / 100`. So `total_usage` is all that the key has ever
 * spent, whatever dates the query names, and the difference is what is available. The fields say USD; they are CNY unless
 * the config has a rate.
 */
import { type Funds, fundsOf } from '../../access/funds.ts'
import type { KeyEntry } from '../../access/keys.ts'
import { add, formatMicro, type Micro } from '../../base/money.ts'
import type { Target } from '../../terms/target.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { answer, ownHeaders, storeFailed, DONE, type Verdict } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

export const showFunds = stage<'admitted', never>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  const { ledger, store } = services
  const { health } = ledger
  const here = { holder: ledger.holder, held: ledger.held(), nowMs: ledger.wall.now() }
  return health
    .ask(() => fundsOf(store, key, account, here))
    .then(
      funds => show(x, services, funds),
      error => storeFailed(x, services, error),
    )
})

const MILLION = 1_000_000n

/** Millionths of the currency that is shown. What does not divide evenly is cut off. */
const millionths = (amount: Micro, rate: number | null): bigint =>
  rate === null ? BigInt(amount) : (BigInt(amount) * MILLION) / BigInt(rate)

/** A number of six places. `times` is 100 for hundredths. */
const shown = (amount: Micro, rate: number | null, times = 1n): number =>
  Number(formatMicro(millionths(amount, rate) * times))

/** Some gateways count money in units of which 500,000 are 1 of the currency, and applications divide by that. */
const MILLIONTHS_A_UNIT = 2n
const units = (amount: Micro, rate: number | null): number => Number(millionths(amount, rate) / MILLIONTHS_A_UNIT)

function bodyOf(x: Exchange, { used, available }: Funds): object {
  const { key } = x.entry as KeyEntry
  const { usdRate } = x.world.config.billing
  const granted = add(used, available)
  const expiresAt = key.expiresAtMs === null ? 0 : Math.floor(key.expiresAtMs / 1000)
  const { action } = (x.target as Target).endpoint
  if (action === 'funds-used') return { object: 'list', total_usage: shown(used, usdRate, 100n) }
  if (action === 'funds-limit') {
    const limit = shown(granted, usdRate)
    return {
      object: 'billing_subscription',
      has_payment_method: true,
      soft_limit_usd: limit,
      hard_limit_usd: limit,
      system_hard_limit_usd: limit,
      access_until: expiresAt,
    }
  }
  return {
    code: true,
    message: 'ok',
    data: {
      object: 'token_usage',
      name: key.name,
      total_granted: units(granted, usdRate),
      total_used: units(used, usdRate),
      total_available: units(available, usdRate),
      unlimited_quota: false,
      model_limits: Object.fromEntries((key.models ?? []).map(model => [model, true])),
      model_limits_enabled: key.models !== null,
      expires_at: expiresAt,
    },
  }
}

function show(x: Exchange, services: Services, funds: Funds): Verdict {
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  answer(x, services, 200, headers, Buffer.from(JSON.stringify(bodyOf(x, funds))))
  return DONE
}
