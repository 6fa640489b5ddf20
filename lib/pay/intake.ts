/**
 * How a verified payment gets into a balance. Every field is compared with our own order, the proof is stored, and the order is
 * credited. What does not fit is written down for a person to look at; nothing is credited then.
 *
 * Every step may be repeated, on any gateway: the store decides which of several is the first.
 */
import { type Micro, micro } from '../base/money.ts'
import type { Act } from '../base/people.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import { StoreConflict } from '../store/base/errors.ts'
import type { Frozen, NewRefund, NextFreeze, PaymentHold } from '../store/payments/types.ts'
import type { Order, OrderMethod, PayException, PayExceptionKind, Proof, ProofSource, Refund } from '../terms/pay.ts'
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
  refundIdOf,
  worth,
} from './exceptions.ts'
import { COUNTS_ELSEWHERE, NO_REASON, NOT_CONFIRMED, notConfigured, RESOLVED } from './faults.ts'
import type { DisputeNotice, Payment, PayMethod, WarningNotice } from './method.ts'

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

/** Another gateway may take money of the same order at the same moment. */
const FREEZE_TRIES = 10
/** Exceptions of one order. */
const MOST_LOOKED_AT = 50

/**
 * What the money that a provider names is worth in the balance. All of an order that is credited with another amount than it
 * asked for is what it was credited with.
 */
const wantedOf = ({ asked: whole, credited, rate }: Order, asked: number): Micro =>
  asked === whole ? credited : worth(asked, rate)

/** Whether the provider names more than what was `frozen`; nothing frozen is too little in any case. */
export function isMore(order: Order, asked: number, frozen: number): boolean {
  // In another currency the parts of an order are worth a little more than the order: what is asked for is rounded up.
  const rounding = order.rate === null ? 0 : worth(1, order.rate)
  return frozen === 0 || wantedOf(order, asked) - frozen > rounding
}

export class Freezes {
  readonly #deps: PayDeps
  readonly #intake: Intake

  constructor(deps: PayDeps, intake: Intake) {
    this.#deps = deps
    this.#intake = intake
  }

  /** What a crash left paid is credited first. What is held counts: it is credited with what is frozen of it. */
  async isCredited({ id, state, creditedAtMs }: Order): Promise<boolean> {
    return creditedAtMs !== null || (state === 'paid' && (await this.#intake.credit(id)) !== 'open')
  }

  /** Whether a payment of the order waits for a person. */
  async waits(orderId: string): Promise<boolean> {
    const found = await this.#deps.store.pay.exceptions({ orderId, limit: MOST_LOOKED_AT })
    return found.some(({ transactionId }) => transactionId !== null)
  }

  /**
   * What goes back of an order that is not credited. The payment may be under way, so the message has to come again. A payment
   * that waits for a person may wait for ever, and a bill comes once: then a person has to know of both.
   */
  async takeUncredited(order: Order, source: ProofSource, reference: string, amount: number): Promise<Taken> {
    const { id: orderId, method, currency } = order
    if (source !== 'bill' && !(await this.waits(orderId))) return 'early'
    const detail =
      'money went back at the provider of an order that is not credited: its payment must not be credited now'
    return raise(this.#deps, { method, kind: 'refund_unknown', reference, orderId, amount, currency, detail })
  }

  /**
   * A person is told when the provider names more than could be frozen. What is stored says so, because a crash may come
   * between the freeze and this.
   */
  async tellOfMore(
    orderId: string,
    frozen: number,
    asked: number,
    reference: string,
    detail: string,
  ): Promise<'known' | 'open'> {
    const order = (await this.#deps.store.pay.order(orderId)) as Order
    const { method, currency } = order
    if (!isMore(order, asked, frozen)) return 'known'
    const found = { method, kind: 'refund_amount', reference, orderId, amount: asked, currency, detail } as const
    return raise(this.#deps, found)
  }

  /** Freezes what the provider names, and never more than is left of the order; null = nothing is left. */
  async freezeForced(
    { id: orderId, method }: Order,
    freeze: Pick<NewRefund, 'id' | 'kind' | 'reason' | 'providerId'> & { checkAtMs?: number },
    asked: number,
  ): Promise<Refund | null> {
    const { pay } = this.#deps.store
    for (let tries = 0; tries < FREEZE_TRIES; tries++) {
      const order = (await pay.order(orderId)) as Order
      const held = order.state === 'paid'
      const as = held ? { ...order, credited: (await this.#intake.due(order)).amount } : order
      const left = micro(as.credited - as.refunded - as.frozen - as.reversed)
      const wanted = wantedOf(as, asked)
      const amount = wanted > left ? left : wanted
      // Where nothing is left, another message about the same may just have taken it.
      if (amount <= 0) return pay.refund(method, freeze.id)
      const { checkAtMs = null, ...refund } = freeze
      const by = provider(method, 'refunds.freeze')
      // What is begun here is the share of its amount; of anything else, the provider says how much it is.
      const said = freeze.kind === 'refund' ? {} : { asked }
      const back = { refund: { ...refund, ...said, method, orderId, amount }, checkAtMs, act: by }
      const outcome = held ? await this.#intake.credit(orderId, undefined, back) : await this.#freeze(back)
      // Another gateway may have frozen it at the same moment, and another amount.
      if (outcome !== 'bound' && outcome !== 'known') return pay.refund(method, freeze.id)
    }
    throw new Error(`order ${orderId} changes faster than its money can be frozen`)
  }

  async #freeze({ refund, checkAtMs, act }: NextFreeze): Promise<Frozen['outcome']> {
    const { outcome } = await this.#deps.store.pay.freeze(refund, true, checkAtMs, act)
    if (outcome === 'frozen') await inForce(this.#deps)
    return outcome
  }

  /**
   * What a person was told of a refund that is stuck is over when the refund has ended. One that was not sent has its money in the
   * balance again, which that person must know before sending it back in another way.
   */
  async tellEnd(method: OrderMethod, id: string): Promise<void> {
    const { pay } = this.#deps.store
    const refund = await pay.refund(method, id)
    if (refund === null || refund.state === 'frozen') return
    const { orderId, state } = refund
    const told = await pay.exceptions({ orderId, kind: 'refund_stuck', open: true, limit: MOST_LOOKED_AT })
    const stuck = told.find(({ reference }) => reference === id)
    if (stuck === undefined) return
    const isDisputed = (await pay.refunds(orderId)).some(row => row.kind === 'dispute' && row.state !== 'released')
    if (state === 'released' && !isDisputed && refund.receiver === null) {
      const detail =
        'a refund that was stuck has not been sent, and its money is in the balance again: do not send it back at the provider now, begin another refund here'
      await raise(this.#deps, { method, kind: 'refund_stuck', reference: `released:${id}`, orderId, detail })
    }
    const how =
      state === 'done'
        ? 'done'
        : isDisputed
          ? 'the bank’s to decide now'
          : `released${refund.receiver === null ? ', which another one tells' : ''}`
    await pay.resolveException(stuck.id, `closed: the refund is ${how}`, provider(method, 'refunds.end'))
  }
}

const DISPUTED_MORE = 'more is disputed than is left of the order'

const freezeOf = ({ disputeId: id }: DisputeNotice) =>
  ({ id, providerId: id, kind: 'dispute', reason: 'disputed by the payer' }) as const

/** The refunds that stand for a dispute: one from when it is told, and others from when a refund has made room for the rest. */
const partsOf = (refunds: readonly Refund[], { disputeId }: DisputeNotice): Refund[] =>
  refunds.filter(({ kind, providerId }) => kind === 'dispute' && providerId === disputeId)

/** Tells refunds that were begun here, and of which the provider has not said that it took them. */
const isSending = ({ kind, state, providerId }: Refund): boolean =>
  kind === 'refund' && state === 'frozen' && providerId === null

const sumOf = (parts: readonly Refund[]): number => parts.reduce((sum, { amount }) => sum + amount, 0)

/** The part of a dispute that is still to be frozen of what is `left`; null = it has all of it, or has ended as won. */
function restOf(order: Order, refunds: readonly Refund[], notice: DisputeNotice, left: number): NewRefund | null {
  const parts = partsOf(refunds, notice)
  const frozen = sumOf(parts)
  const amount: Micro = micro(Math.min(wantedOf(order, notice.amount) - frozen, left))
  const isWon = parts.some(({ state }) => state === 'released')
  if (isWon || amount <= 0 || !isMore(order, notice.amount, frozen)) return null
  const { id: orderId, method } = order
  // The first part stands for all that the provider names.
  const named =
    parts.length === 0 ? { asked: notice.amount } : { id: `${notice.disputeId}:${parts.length + 1}`, asked: 0 }
  return { ...freezeOf(notice), ...named, method, orderId, amount }
}

export class PaymentDisputes {
  readonly #deps: PayDeps
  readonly #freezes: Freezes

  constructor(deps: PayDeps, freezes: Freezes) {
    this.#deps = deps
    this.#freezes = freezes
  }

  async take(method: OrderMethod, notice: DisputeNotice, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { disputeId, orderId, amount, state } = notice
    const order = await pay.order(orderId)
    const tell = (detail: string, reference = disputeId) =>
      raise(this.#deps, { method, kind: 'refund_amount', reference, orderId, amount, detail })
    if (order === null || order.method !== method) return tell('a dispute about an order that is not here')
    if (!(await this.#freezes.isCredited(order))) return this.#freezes.takeUncredited(order, source, disputeId, amount)
    // One that is won is written down too: an older message, that it is open, may still be under way.
    const known = await pay.refund(method, disputeId)
    if (known === null) await this.#freezes.freezeForced(order, freezeOf(notice), amount)
    const [now, refunds] = [(await pay.order(orderId)) as Order, await pay.refunds(orderId)]
    const parts = partsOf(refunds, notice)
    const [frozen, asked] = [sumOf(parts), parts.find(({ id }) => id === disputeId)?.asked ?? amount]
    // A refund that was not sent yet may have the rest, and the provider may refuse it now: then `giveWay` makes room. What is won
    // needs no room.
    const isOver = state === 'won' && frozen > 0
    const mayGrow = !isOver && isMore(now, asked, frozen) && refunds.some(isSending)
    const tellOfMore = () =>
      isOver ? 'known' : this.#freezes.tellOfMore(orderId, frozen, asked, disputeId, DISPUTED_MORE)
    const taken = mayGrow ? 'early' : await tellOfMore()
    await this.#note(order, notice)
    if (state === 'open') return taken
    const end = state === 'lost' ? 'done' : 'returned'
    let ended: Refund | null = null
    for (const { id } of parts) ended = await pay.endFreeze(method, id, end, provider(method, 'disputes.end'))
    // A released freeze stays released: what is lost after all is taken from the balance by a person.
    if (end === 'returned' || ended?.state !== 'released') return taken
    return tell('a dispute is lost that had ended as won: the balance has this money', `lost:${disputeId}`)
  }

  /**
   * A refund that the provider does not send because the payment is disputed has ended, and what is disputed is frozen in its
   * place, in the same transaction: it is in the balance at no time, and never frozen twice.
   */
  async giveWay({ id, orderId, method, amount: freed }: Refund, disputes: readonly DisputeNotice[]): Promise<void> {
    const { pay } = this.#deps.store
    const order = (await pay.order(orderId)) as Order
    const known = await pay.refunds(orderId)
    const left = order.credited - order.refunded - order.frozen - order.reversed + freed
    const refund = disputes.map(notice => restOf(order, known, notice, left)).find(rest => rest !== null)
    const act = provider(method, 'refunds.end')
    const next = refund === undefined ? undefined : { refund, checkAtMs: null, act }
    await pay.endFreeze(method, id, 'released', act, next)
    for (const notice of disputes) await this.take(method, notice, 'query')
    await this.#freezes.tellEnd(method, id)
  }

  /** A dispute that waits for an answer stands among the exceptions until the bank has decided. */
  async #note({ id: orderId, method }: Order, { disputeId, state, dueAtMs }: DisputeNotice): Promise<void> {
    const { pay } = this.#deps.store
    if (state === 'open') {
      const detail = 'the payer’s bank asks for the money back: answer at the provider in time, or it is lost'
      if (dueAtMs !== undefined)
        await raise(this.#deps, { method, kind: 'dispute', reference: disputeId, orderId, detail, dueAtMs })
      return
    }
    for (const found of await pay.exceptions({ orderId, kind: 'dispute', open: true, limit: MOST_LOOKED_AT }))
      if (found.reference === disputeId)
        await pay.resolveException(found.id, `closed: the dispute is ${state}`, provider(method, 'disputes.end'))
  }

  /**
   * A person is told. Where the provider warns of a fraud, what is left of the payment is frozen at once, also below zero, as a
   * refund that is sent with the next round of asking back: a payment that goes back is not disputed later, which costs a fee.
   */
  async takeWarning(method: OrderMethod, notice: WarningNotice): Promise<Taken> {
    const { orderId, reference, detail, refund, dueAtMs } = notice
    const { pay } = this.#deps.store
    const due = dueAtMs === undefined ? {} : { dueAtMs }
    const order = refund ? await pay.order(orderId) : null
    if (order !== null && order.method === method) {
      // The payment may be under way. One that waits for a person may wait for ever: the exception says what it is about.
      if (!(await this.#freezes.isCredited(order)) && !(await this.#freezes.waits(orderId))) return 'early'
      const reason = 'the provider warns of fraud'
      const id = refundIdOf(orderId, `warning ${reference}`)
      const checkAtMs = await storeNow(this.#deps)
      const freeze = { id, providerId: null, kind: 'refund', reason, checkAtMs } as const
      if ((await pay.refund(method, id)) === null) await this.#freezes.freezeForced(order, freeze, order.asked)
    }
    return raise(this.#deps, { method, kind: 'fraud_warning', reference, orderId, detail, ...due })
  }
}
