/**
 * Refunds of USDT whose money has been frozen for long while nobody says that the tokens were sent. They stand among the
 * exceptions, and leave them when they have ended. Whatever a crash leaves is made up for by the next round.
 */
import { raise } from '../exceptions.ts'
import { storeNow } from '../../operations/deps.ts'
import { type DepositRefund, tokenText } from '../../terms/deposits.ts'
import { type PayDeps, provider } from '../exceptions.ts'

const HOUR_MS = 3_600_000
/** Whoever begins a refund sends its tokens at once, or asks the payer for an address first. */
const UNSENT_MS = 24 * HOUR_MS
/** Refunds that wait are few. */
const MOST = 1_000

const detailOf = ({ value, receiver }: DepositRefund): string =>
  `${tokenText(value)} USDT to ${receiver}: the money is frozen, and nobody has said that the tokens were sent`

/** Tells of refunds that have waited for long, each once, and closes what was told of those that have ended. */
export async function tellUnsent(deps: PayDeps): Promise<void> {
  const { chain, pay } = deps.store
  const about = { method: 'usdt', kind: 'refund_stuck' } as const
  const [frozen, told] = await Promise.all([
    chain.frozenDepositRefunds(MOST),
    pay.exceptions({ ...about, limit: MOST }),
  ])
  if (frozen.length === 0 && told.length === 0) return
  const known = new Set(told.map(({ reference }) => reference))
  const since = (await storeNow(deps)) - UNSENT_MS
  for (const refund of frozen)
    if (refund.atMs <= since && !known.has(refund.id))
      await raise(deps, { ...about, reference: refund.id, detail: detailOf(refund) })
  const waiting = new Set(frozen.map(({ id }) => id))
  for (const { id, reference, resolvedAtMs } of told) {
    if (resolvedAtMs !== null || waiting.has(reference)) continue
    const refund = await chain.depositRefund(reference)
    if (refund !== null && refund.state !== 'frozen')
      await pay.resolveException(id, `closed: the refund is ${refund.state}`, provider('usdt', 'refunds.end'))
  }
}
