/**
 * The till: what becomes of a verified notice. It compares every field with our own order, stores the proof, and credits.
 * What does not fit is written down for a person to look at; nothing is credited then.
 *
 * Every step may be repeated, on any gateway: the store decides which of several is the first.
 */
import { micro } from '../base/money.ts'
import { inForce, type OperationDeps } from '../operations/deps.ts'
import { type NewException, StoreConflict } from '../store/store.ts'
import type { Order, OrderMethod, PayExceptionKind, PayWay, Proof, ProofSource, Refund } from '../terms/pay.ts'
import { type Act, GATEWAY } from '../terms/people.ts'
import type { DisputeNotice, Notice, Payment, RefundNotice, RefundSaid } from './method.ts'
import { FEN, worth } from './numbers.ts'

/** What the till counts. */
export interface PayCounts {
  /** An order was credited this long after the proof was stored. */
  credited(method: PayWay, ms: number): void
  /** A proof came by asking: the callback was lost, or is late. */
  repaired(method: PayWay, source: ProofSource | 'chain'): void
  exception(method: PayWay, kind: PayExceptionKind): void
}

export type TillDeps = OperationDeps & { counts: PayCounts }

/**
 * `open`: an exception was written. `early`: the notice is about money that is not credited yet, so it must come again.
 */
export type Taken = 'credited' | 'known' | 'open' | 'early' | 'ended' | 'none'

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

/** What a provider proved, the gateway books in its name. */
export const provider = (method: PayWay, operation: string): Act => ({
  actor: { ...GATEWAY, name: method },
  operation,
})

/** Another gateway may take money of the same order at the same moment. */
const FREEZE_TRIES = 10
/** Exceptions of one order. */
const MOST_LOOKED_AT = 50

export class Till {
  readonly #deps: TillDeps

  constructor(deps: TillDeps) {
    this.#deps = deps
  }

  async take(method: OrderMethod, notice: Notice, source: ProofSource): Promise<Taken> {
    switch (notice.kind) {
      case 'paid':
        return this.#takePayment(method, notice, source)
      case 'refund':
        return this.#takeRefund(method, notice, source)
      case 'dispute':
        return this.#takeDispute(method, notice, source)
      case 'warning': {
        const { orderId, reference, detail } = notice
        return this.raise({ method, kind: 'fraud_warning', reference, orderId, detail })
      }
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
    const proof = { method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor: '', note: '' }
    const proven = await pay.proveOrder(proof)
    if (proven === 'elsewhere') return raise('duplicate', 'the payment is stored for another order')
    if (proven === 'second') return raise('duplicate', 'a second payment of the order: refund it at the provider')
    if (proven === 'paid' && source !== 'callback') this.#deps.counts.repaired(method, source)
    return this.credit(orderId)
  }

  /** Credits an order that is paid. It is also called for orders that a crash left there. `act`: of a person who resolved it. */
  async credit(orderId: string, act?: Act): Promise<Taken> {
    const { store, counts } = this.#deps
    const [order, proofs] = await Promise.all([store.pay.order(orderId), store.pay.proofs(orderId)])
    if (order === null || order.state !== 'paid') return 'known'
    const proof = proofs[0] as Proof // the first one made it paid
    const whole = proof.amount === order.asked && proof.currency === order.currency
    const amount = whole ? order.amount : worth(proof.amount, proof.currency === 'CNY' ? null : order.rate)
    const by = act ?? provider(order.method, 'orders.credit')
    const { outcome } = await store.pay.creditOrder(orderId, amount, proof.note, by).catch(error => {
      if (!(error instanceof StoreConflict)) throw error
      return { outcome: 'conflict' as const }
    })
    if (outcome === 'conflict') {
      const detail =
        'the ledger has another entry under the reference of this order, or the balance cannot hold its money'
      return this.raise({ method: order.method, kind: 'conflict', reference: orderId, orderId, detail })
    }
    if (outcome !== 'credited') return 'known'
    counts.credited(order.method, Math.max(0, this.#deps.clock.now() - (order.paidAtMs ?? 0)))
    await inForce(this.#deps)
    return 'credited'
  }

  /** A refund that was begun here ends as the provider says; any other one debits its order, forced. */
  async #takeRefund(method: OrderMethod, notice: RefundNotice, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { refundId, providerId, orderId, amount, state } = notice
    const known =
      (refundId === null ? null : await pay.refund(method, refundId)) ??
      (await pay.refundByProviderId(method, providerId))
    if (known !== null) return this.endRefund(known, state)
    if (state !== 'done') return 'none'
    const order = await pay.order(orderId)
    const raise = (kind: PayExceptionKind, detail: string) =>
      this.raise({ method, kind, reference: providerId, orderId, amount, currency: order?.currency ?? null, detail })
    if (order === null || order.method !== method)
      return raise('refund_unknown', 'a refund of an order that is not here')
    if (!(await this.#isCredited(order))) return this.#uncredited(order, source, providerId, amount)
    // A message does not say which of two payments it is about, and only one of them is in the balance.
    const twice = await pay.exceptions({ orderId, kind: 'duplicate', limit: 1 })
    if (twice.length > 0)
      return raise('refund_unknown', 'a refund of an order that was paid twice: only one payment is in the balance')
    const whole = await this.#freezeForced(method, order, providerId, 'external', amount, 'refunded at the provider')
    await pay.endFreeze(method, providerId, 'done', provider(method, 'refunds.end'))
    return whole ? 'known' : raise('refund_amount', 'the provider sent back more than was left of the order')
  }

  /** What a crash left paid is credited first. */
  async #isCredited({ id, state, creditedAtMs }: Order): Promise<boolean> {
    return creditedAtMs !== null || (state === 'paid' && (await this.credit(id)) !== 'open')
  }

  /**
   * What goes back of an order that is not credited. The payment may be under way, so the message has to come again. A payment
   * that waits for a person may wait for ever, and a bill comes once: then a person has to know of both.
   */
  async #uncredited(order: Order, source: ProofSource, reference: string, amount: number): Promise<Taken> {
    const { id: orderId, method, currency } = order
    const found = await this.#deps.store.pay.exceptions({ orderId, limit: MOST_LOOKED_AT })
    if (source !== 'bill' && !found.some(({ transactionId }) => transactionId !== null)) return 'early'
    const detail =
      'money went back at the provider of an order that is not credited: its payment must not be credited now'
    return this.raise({ method, kind: 'refund_unknown', reference, orderId, amount, currency, detail })
  }

  /** A refund ends as the provider says. What has ended as not sent cannot end as sent: a person has to look at it. */
  async endRefund({ method, id, orderId, amount }: Refund, said: RefundSaid): Promise<'known' | 'open'> {
    if (said === 'undecided') return 'known'
    const ended = await this.#deps.store.pay.endFreeze(method, id, said, provider(method, 'refunds.end'))
    if (said !== 'done' || ended?.state !== 'released') return 'known'
    const detail = 'the provider sent back a refund that had ended here as not sent: the balance has this money too'
    return this.raise({
      method,
      kind: 'refund_unknown',
      reference: id,
      orderId,
      amount: amount / FEN,
      currency: 'CNY',
      detail,
    })
  }

  async #takeDispute(method: OrderMethod, notice: DisputeNotice, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { disputeId, orderId, amount, state } = notice
    const order = await pay.order(orderId)
    const raise = (detail: string, reference = disputeId) =>
      this.raise({ method, kind: 'refund_amount', reference, orderId, amount, detail })
    if (order === null || order.method !== method) return raise('a dispute about an order that is not here')
    if (!(await this.#isCredited(order))) return this.#uncredited(order, source, disputeId, amount)
    let taken: Taken = 'known'
    // One that is won is written down too: an older message, that it is open, may still be under way.
    if ((await pay.refund(method, disputeId)) === null) {
      const frozen = await this.#freezeForced(method, order, disputeId, 'dispute', amount, 'disputed by the payer')
      if (!frozen) taken = await raise('more is disputed than is left of the order')
    }
    if (state === 'open') return taken
    const end = state === 'lost' ? 'done' : 'released'
    const ended = await pay.endFreeze(method, disputeId, end, provider(method, 'disputes.end'))
    // A released freeze stays released: what is lost after all is taken from the balance by a person.
    if (end === 'released' || ended?.state !== 'released') return taken
    return raise('a dispute is lost that had ended as won: the balance has this money', `lost:${disputeId}`)
  }

  /**
   * Freezes what the provider names, and never more than is left of the order. False = it was more. In another currency the
   * parts of an order are worth a little more than the order, because what is asked for is rounded up.
   */
  async #freezeForced(
    method: OrderMethod,
    { id: orderId, asked: whole, rate }: Order,
    id: string,
    kind: 'external' | 'dispute',
    asked: number,
    reason: string,
  ): Promise<boolean> {
    const { pay } = this.#deps.store
    for (let tries = 0; tries < FREEZE_TRIES; tries++) {
      const order = (await pay.order(orderId)) as Order
      const left = micro(order.credited - order.refunded - order.frozen - order.reversed)
      // All of an order that is credited with another amount than it asked for is what it was credited with.
      const wanted = asked === whole ? left : worth(asked, rate)
      const fits = wanted - left <= (rate === null ? 0 : worth(1, rate))
      const amount = wanted > left ? left : wanted
      if (amount <= 0) return false
      const refund = { id, method, orderId, kind, amount, reason, providerId: id }
      const { outcome } = await pay.freeze(refund, true, null, provider(method, 'refunds.freeze'))
      if (outcome === 'frozen') await inForce(this.#deps)
      if (outcome !== 'bound') return fits
    }
    throw new Error(`order ${orderId} changes faster than its money can be frozen`)
  }

  /** A refund that the provider refuses: it stays frozen and is tried again, and a person has to know why. */
  async refuse({ id, method, orderId }: Refund, reason: string): Promise<void> {
    const detail = `the provider refuses a refund, and its money stays frozen: ${reason}`
    await this.raise({ method, kind: 'refund_stuck', reference: id, orderId, detail })
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
