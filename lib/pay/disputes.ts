/**
 * What becomes of the word of payers' banks: a dispute freezes what is disputed until the bank has decided, and a warning of fraud
 * sends the payment back before it becomes one. A dispute has several parts where a refund that was not sent stood in its way.
 */
import { type Micro, micro } from '../base/money.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import type { Frozen, NewRefund, NextFreeze } from '../store/payments/types.ts'
import type { Order, OrderMethod, ProofSource, Refund } from '../terms/pay.ts'
import { type PayDeps, type Taken, provider, raise } from './exceptions.ts'
import type { Intake } from './intake.ts'
import type { DisputeNotice, WarningNotice } from './method.ts'
import { refundIdOf, worth } from './numbers.ts'

/** Another gateway may take money of the same order at the same moment. */
const FREEZE_TRIES = 10
/** Exceptions of one order. */
export const MOST_LOOKED_AT = 50

/**
 * What the money that a provider names is worth in the balance. All of an order that is credited with another amount than it
 * asked for is what it was credited with.
 */
export const wantedOf = ({ asked: whole, credited, rate }: Order, asked: number): Micro =>
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
