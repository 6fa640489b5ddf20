/**
 * How a verified payment gets into a balance. Every field is compared with our own order, the proof is stored, and the order is
 * credited. What does not fit is written down for a person to look at; nothing is credited then.
 *
 * Every step may be repeated, on any gateway: the store decides which of several is the first.
 */
import type { Micro } from '../base/money.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import type { PaymentHold, NextFreeze } from '../store/payments/types.ts'
import { StoreConflict } from '../store/base/errors.ts'
import { OperationError } from '../operations/error.ts'
import type { Order, OrderMethod, PayException, PayExceptionKind, Proof, ProofSource } from '../terms/pay.ts'
import type { Act } from '../base/people.ts'
import {
  checkNotSentBack,
  creditable,
  NOT_BOOKED,
  PAID_OTHERWISE,
  type PayDeps,
  provider,
  raise,
  type Taken,
  wentBack,
} from './exceptions.ts'
import { COUNTS_ELSEWHERE, NO_REASON, NOT_CONFIRMED, notConfigured, RESOLVED } from './faults.ts'
import type { Payment, PayMethod } from './method.ts'
import { worth } from './numbers.ts'

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

export class Intake {
  readonly #deps: PayDeps
  readonly #methods: ReadonlyMap<OrderMethod, PayMethod>

  constructor(deps: PayDeps, methods: ReadonlyMap<OrderMethod, PayMethod>) {
    this.#deps = deps
    this.#methods = methods
  }

  async take(method: OrderMethod, payment: Payment, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { orderId, transactionId, amount, currency, digest, paidAtMs } = payment
    const order = await pay.order(orderId)
    const tell = (kind: PayExceptionKind, detail: string) =>
      raise(this.#deps, { method, kind, reference: transactionId, orderId, transactionId, amount, currency, detail })
    if (order === null) return tell('unknown_order', 'a payment for an order that is not here')
    const kind = misfit(order, method, payment)
    if (kind !== null) {
      const known = await pay.proof(method, transactionId)
      if (known?.orderId === orderId) return 'known' // a person has resolved it
      return tell(kind, `asked ${order.asked} ${order.currency} of ${order.method}, got ${amount} ${currency}`)
    }
    if (order.state !== 'paid' && order.creditedAtMs === null && (await wentBack(this.#deps.store, orderId)))
      return tell('refund_unknown', 'a payment of an order of which money went back before: it is not credited')
    const proof = { method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor: '', note: '' }
    const hold = await this.#hold(order, paidAtMs)
    const proven = await pay.proveOrder(proof, hold)
    if (proven === 'elsewhere') return tell('duplicate', 'the payment is stored for another order')
    if (proven === 'second') {
      await tell('duplicate', 'a second payment of the order: refund it at the provider')
      await pay.keepProof(proof)
      return 'open'
    }
    if (proven === 'paid' && source !== 'callback' && source !== 'chain') this.#deps.counts.repaired(method, source)
    return this.credit(orderId)
  }

  /**
   * How a payment is to be held; null = not at all. Time counts from when the payer paid, however late it is known, which
   * is never before the order was begun.
   */
  async #hold({ method, createdAtMs }: Order, paidAtMs: number | null): Promise<PaymentHold | null> {
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
      return raise(this.#deps, { method, kind: 'conflict', reference: orderId, orderId, detail })
    }
    if (outcome !== 'credited') return 'known'
    counts.credited(method, Math.max(0, this.#deps.clock.now() - (heldUntilMs ?? order.paidAtMs ?? 0)))
    await inForce(this.#deps)
    return 'credited'
  }

  /** What an order that is paid is credited with, and what a person who resolved it has said. */
  async due({ id, amount, asked, currency, rate, tokens }: Order): Promise<{ amount: Micro; note: string }> {
    const proof = (await this.#deps.store.pay.proofs(id))[0] as Proof // the first one made it paid
    const whole = tokens !== null || (proof.amount === asked && proof.currency === currency)
    return { amount: whole ? amount : worth(proof.amount, proof.currency === 'CNY' ? null : rate), note: proof.note }
  }

  /**
   * Credits verified money that did not fit its order: what was received, never more, under the order's own reference. The
   * proof says who decided, and why.
   */
  async resolve(id: number, credit: boolean, reason: string, act: Act): Promise<PayException> {
    const { store } = this.#deps
    const found = await store.pay.exception(id)
    if (found === null) throw new OperationError('missing', { en: 'there is no such exception', zh: '没有这个异常' })
    if (found.resolvedAtMs !== null) throw RESOLVED()
    if (reason.trim() === '') throw NO_REASON()
    if (credit) await this.#creditByHand(found, reason, act)
    const first = await store.pay.resolveException(id, `${credit ? 'credited' : 'closed'}: ${reason}`, act)
    if (!first && !credit) throw RESOLVED()
    return (await store.pay.exception(id)) as PayException
  }

  async #creditByHand(found: PayException, reason: string, act: Act): Promise<void> {
    const { pay } = this.#deps.store
    const order = found.orderId === null ? null : await pay.order(found.orderId)
    const can = creditable(found, order)
    if ('why' in can) throw new OperationError('conflict', can.why)
    await checkNotSentBack(this.#deps.store, can.order.id)
    if (found.kind === 'chain') await this.#checkConfirmed(can.order)
    const { transactionId, received, currency } = can
    const proven = await pay.proveOrder({
      method: can.order.method,
      transactionId,
      orderId: can.order.id,
      amount: received,
      currency,
      source: 'operator',
      digest: '',
      paidAtMs: null,
      actor: act.actor.name,
      note: reason,
    })
    if (proven === 'second' || proven === 'elsewhere') throw new OperationError('conflict', PAID_OTHERWISE)
    if (can.order.heldUntilMs !== null) await pay.releaseOrder(can.order.id, await storeNow(this.#deps), reason, act)
    if ((await this.credit(can.order.id, act)) === 'open') throw new OperationError('conflict', NOT_BOOKED)
  }

  /** A transfer is credited by hand only while the other node says that it stands where it was found. */
  async #checkConfirmed(order: Order): Promise<void> {
    const method = this.#methods.get(order.method)
    if (method === undefined) throw new OperationError('conflict', notConfigured(order.method))
    if (await this.#deps.store.chain.countsElsewhere(order.id)) throw COUNTS_ELSEWHERE()
    if ((await method.query(order)).kind !== 'paid') throw NOT_CONFIRMED()
  }
}
