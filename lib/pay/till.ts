/**
 * The till: what becomes of a verified notice. It compares every field with our own order, stores the proof, and credits.
 * What does not fit is written down for a person to look at; nothing is credited then.
 *
 * Every step may be repeated, on any gateway: the store decides which of several is the first.
 */
import type { Micro } from '../base/money.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import { type NextFreeze, type Hold, type NewException, StoreConflict } from '../store/store.ts'
import type { Order, OrderMethod, PayExceptionKind, Proof, ProofSource } from '../terms/pay.ts'
import type { Act } from '../base/people.ts'
import { wentBack } from './by-hand.ts'
import type { Notice, Payment } from './method.ts'
import { MoneyBack } from './money-back.ts'
import { worth } from './numbers.ts'
import { provider, type Taken, type TillDeps } from './till-deps.ts'

/** Why a payment does not fit its order; null = it fits. */
function misfit(order: Order, method: OrderMethod, payment: Payment): PayExceptionKind | null {
  if (order.method !== method) return 'method'
  if (order.sandbox !== payment.sandbox) return 'mode'
  if (order.merchant !== payment.merchant) return 'merchant'
  // The provider's id is stored in a step of its own, so it may be missing here.
  if (order.providerId !== null && payment.providerId !== null && order.providerId !== payment.providerId)
    return 'unknown_order'
  if (order.currency !== payment.currency) return 'currency'
  return order.asked === payment.amount ? null : 'amount'
}

/** How far a provider's clock and the store's may be apart. */
const SKEW_MS = 10 * 60_000

export class Till {
  /** What becomes of money that goes back. */
  readonly back: MoneyBack
  readonly #deps: TillDeps

  constructor(deps: TillDeps) {
    this.#deps = deps
    this.back = new MoneyBack(deps, this)
  }

  async take(method: OrderMethod, notice: Notice, source: ProofSource): Promise<Taken> {
    switch (notice.kind) {
      case 'paid':
        return this.#takePayment(method, notice, source)
      case 'refund':
        return this.back.takeRefund(method, notice, source)
      case 'dispute':
        return this.back.takeDispute(method, notice, source)
      case 'warning':
        return this.back.takeWarning(method, notice)
      case 'ended': {
        const order = await this.#deps.store.pay.order(notice.orderId)
        if (order === null || order.method !== method) return 'none'
        await this.#deps.store.pay.endOrder(order.id, 'expired', order.checkAtMs)
        return 'ended'
      }
      case 'none':
        return 'none'
    }
  }

  async #takePayment(method: OrderMethod, payment: Payment, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { orderId, transactionId, amount, currency, digest, paidAtMs } = payment
    const order = await pay.order(orderId)
    const raise = (kind: PayExceptionKind, detail: string) =>
      this.raise({ method, kind, reference: transactionId, orderId, transactionId, amount, currency, detail })
    if (order === null) return raise('unknown_order', 'a payment for an order that is not here')
    const kind = misfit(order, method, payment)
    if (kind !== null) {
      const known = await pay.proof(method, transactionId)
      if (known?.orderId === orderId) return 'known' // a person has resolved it
      return raise(kind, `asked ${order.asked} ${order.currency} of ${order.method}, got ${amount} ${currency}`)
    }
    if (order.state !== 'paid' && order.creditedAtMs === null && (await wentBack(this.#deps.store, orderId)))
      return raise('refund_unknown', 'a payment of an order of which money went back before: it is not credited')
    const proof = { method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor: '', note: '' }
    const hold = await this.#hold(order, paidAtMs)
    const proven = await pay.proveOrder(proof, hold)
    if (proven === 'elsewhere') return raise('duplicate', 'the payment is stored for another order')
    if (proven === 'second') {
      await raise('duplicate', 'a second payment of the order: refund it at the provider')
      await pay.keepProof(proof)
      return 'open'
    }
    if (proven === 'paid' && source !== 'callback') this.#deps.counts.repaired(method, source)
    return this.credit(orderId)
  }

  /**
   * How a payment is to be held; null = not at all. Time counts from when the payer paid, however late it is known, which
   * is never before the order was begun.
   */
  async #hold({ method, createdAtMs }: Order, paidAtMs: number | null): Promise<Hold | null> {
    const rule = this.#deps.hold(method)
    if (rule === undefined) return null
    const nowMs = await storeNow(this.#deps)
    const untilMs = Math.min(Math.max(paidAtMs ?? nowMs, createdAtMs - SKEW_MS), nowMs) + rule.for
    return untilMs > nowMs ? { disputes: rule.disputes, sinceMs: nowMs - rule.within, untilMs } : null
  }

  /**
   * Credits an order that is paid. It is also called for orders that a crash left there, or whose hold has ended. `act`: of a
   * person who resolved it. `back`: what is frozen of it in the same transaction; then it is credited although it is held.
   */
  async credit(orderId: string, act?: Act, back?: NextFreeze): Promise<Taken> {
    const { store, counts } = this.#deps
    const order = await store.pay.order(orderId)
    if (order === null || order.state !== 'paid') return 'known'
    const { heldUntilMs, method } = order
    if (back === undefined && heldUntilMs !== null && heldUntilMs > (await storeNow(this.#deps))) return 'held'
    const { amount, note } = await this.due(order)
    const by = act ?? provider(method, 'orders.credit')
    const { outcome } = await store.pay.creditOrder(orderId, amount, note, by, back).catch(error => {
      if (!(error instanceof StoreConflict)) throw error
      return { outcome: 'conflict' as const }
    })
    if (outcome === 'conflict') {
      const detail =
        'the ledger has another entry under the reference of this order, or the balance cannot hold its money'
      return this.raise({ method, kind: 'conflict', reference: orderId, orderId, detail })
    }
    if (outcome !== 'credited') return 'known'
    counts.credited(method, Math.max(0, this.#deps.clock.now() - (heldUntilMs ?? order.paidAtMs ?? 0)))
    await inForce(this.#deps)
    return 'credited'
  }

  /** What an order that is paid is credited with, and what a person who resolved it has said. */
  async due({ id, amount, asked, currency, rate }: Order): Promise<{ amount: Micro; note: string }> {
    const proof = (await this.#deps.store.pay.proofs(id))[0] as Proof // the first one made it paid
    const whole = proof.amount === asked && proof.currency === currency
    return { amount: whole ? amount : worth(proof.amount, proof.currency === 'CNY' ? null : rate), note: proof.note }
  }

  /** Stores what a person has to look at, once. */
  async raise(exception: NewException): Promise<'open'> {
    const { store, counts, log } = this.#deps
    if (await store.pay.raiseException(exception)) {
      const { method, kind, orderId, detail } = exception
      counts.exception(method, kind)
      log.error({ method, kind, order: orderId, detail }, 'a payment needs a person to look at it')
    }
    return 'open'
  }
}
