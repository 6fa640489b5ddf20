/**
 * What becomes of a notice that money goes back: a refund, a dispute, a warning of fraud. What leaves a balance is frozen by an
 * entry first, and only the provider's word ends a freeze.
 */
import { type Micro, micro } from '../base/money.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import type { NextFreeze, Frozen, NewException, NewRefund } from '../store/store.ts'
import type { Order, OrderMethod, ProofSource, Refund } from '../terms/pay.ts'
import { freezeOf, isMore, isSending, partsOf, restOf, sumOf, wantedOf } from './disputed-parts.ts'
import type { DisputeNotice, RefundNotice, RefundSaid, WarningNotice } from './method.ts'
import { FEN, refundIdOf } from './numbers.ts'
import { provider, type Taken, type TillDeps } from './till-deps.ts'

/** Another gateway may take money of the same order at the same moment. */
const FREEZE_TRIES = 10
/** Exceptions of one order. */
const MOST_LOOKED_AT = 50

const SENT_BACK_MORE = 'the provider sent back more than was left of the order'
const DISPUTED_MORE = 'more is disputed than is left of the order'

/** What it needs of the till. */
interface Counter {
  credit(orderId: string, act?: undefined, back?: NextFreeze): Promise<Taken>
  due(order: Order): Promise<{ amount: Micro }>
  raise(exception: NewException): Promise<'open'>
}

export class MoneyBack {
  readonly #deps: TillDeps
  readonly #till: Counter

  constructor(deps: TillDeps, till: Counter) {
    this.#deps = deps
    this.#till = till
  }

  /** A refund that was begun here ends as the provider says; any other one debits its order, forced. */
  async takeRefund(method: OrderMethod, notice: RefundNotice, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { refundId, providerId, state } = notice
    const known =
      (refundId === null ? null : await pay.refund(method, refundId)) ??
      (await pay.refundByProviderId(method, providerId))
    if (known === null) return state === 'done' ? this.#takeExternal(method, notice, source) : 'none'
    const ended = await this.endRefund(known, state)
    if (known.kind !== 'external' || ended === 'open') return ended
    return this.#tellOfMore(known.orderId, known.amount, known.asked, providerId, SENT_BACK_MORE)
  }

  /** A refund that was made at the provider. */
  async #takeExternal(
    method: OrderMethod,
    { providerId, orderId, amount }: RefundNotice,
    source: ProofSource,
  ): Promise<Taken> {
    const { pay } = this.#deps.store
    const order = await pay.order(orderId)
    const raise = (detail: string) => {
      const currency = order?.currency ?? null
      return this.#till.raise({
        method,
        kind: 'refund_unknown',
        reference: providerId,
        orderId,
        amount,
        currency,
        detail,
      })
    }
    if (order === null || order.method !== method) return raise('a refund of an order that is not here')
    if (!(await this.#isCredited(order))) return this.#uncredited(order, source, providerId, amount)
    // A message does not say which of two payments it is about, and only one of them is in the balance.
    const twice = await pay.exceptions({ orderId, kind: 'duplicate', limit: 1 })
    if (twice.length > 0) return raise('a refund of an order that was paid twice: only one payment is in the balance')
    const freeze = { id: providerId, providerId, kind: 'external', reason: 'refunded at the provider' } as const
    const frozen = await this.#freezeForced(order, freeze, amount)
    await pay.endFreeze(method, providerId, 'done', provider(method, 'refunds.end'))
    return this.#tellOfMore(orderId, frozen?.amount ?? 0, amount, providerId, SENT_BACK_MORE)
  }

  /**
   * A person is told when the provider names more than could be frozen. What is stored says so, because a crash may come
   * between the freeze and this.
   */
  async #tellOfMore(
    orderId: string,
    frozen: number,
    asked: number,
    reference: string,
    detail: string,
  ): Promise<'known' | 'open'> {
    const order = (await this.#deps.store.pay.order(orderId)) as Order
    const { method, currency } = order
    if (!isMore(order, asked, frozen)) return 'known'
    return this.#till.raise({ method, kind: 'refund_amount', reference, orderId, amount: asked, currency, detail })
  }

  /** What a crash left paid is credited first. What is held counts: it is credited with what is frozen of it. */
  async #isCredited({ id, state, creditedAtMs }: Order): Promise<boolean> {
    return creditedAtMs !== null || (state === 'paid' && (await this.#till.credit(id)) !== 'open')
  }

  /**
   * What goes back of an order that is not credited. The payment may be under way, so the message has to come again. A payment
   * that waits for a person may wait for ever, and a bill comes once: then a person has to know of both.
   */
  async #uncredited(order: Order, source: ProofSource, reference: string, amount: number): Promise<Taken> {
    const { id: orderId, method, currency } = order
    if (source !== 'bill' && !(await this.#waits(orderId))) return 'early'
    const detail =
      'money went back at the provider of an order that is not credited: its payment must not be credited now'
    return this.#till.raise({ method, kind: 'refund_unknown', reference, orderId, amount, currency, detail })
  }

  /** A refund ends as the provider says. Where that contradicts how it has ended here, a person has to look at it. */
  async endRefund({ method, id, orderId, amount }: Refund, said: RefundSaid): Promise<'known' | 'open'> {
    if (said === 'undecided') return 'known'
    const ended = await this.#deps.store.pay.endFreeze(method, id, said, provider(method, 'refunds.end'))
    await this.tellEnd(method, id)
    const raise = (reference: string, detail: string) =>
      this.#till.raise({
        method,
        kind: 'refund_unknown',
        reference,
        orderId,
        amount: amount / FEN,
        currency: 'CNY',
        detail,
      })
    if (said === 'done' && ended?.state === 'released')
      return raise(
        id,
        'the provider sent back a refund that had ended here as not sent: the balance has this money too',
      )
    if (said === 'released' && ended?.state === 'done')
      return raise(`not sent:${id}`, 'the provider did not send back a refund that had ended here as done')
    return 'known'
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
    if (state === 'released' && !isDisputed) {
      const detail =
        'a refund that was stuck has not been sent, and its money is in the balance again: do not send it back at the provider now, begin another refund here'
      await this.#till.raise({ method, kind: 'refund_stuck', reference: `released:${id}`, orderId, detail })
    }
    const how =
      state === 'done' ? 'done' : isDisputed ? 'the bank’s to decide now' : 'released, which another one tells'
    await pay.resolveException(stuck.id, `closed: the refund is ${how}`, provider(method, 'refunds.end'))
  }

  async takeDispute(method: OrderMethod, notice: DisputeNotice, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { disputeId, orderId, amount, state } = notice
    const order = await pay.order(orderId)
    const raise = (detail: string, reference = disputeId) =>
      this.#till.raise({ method, kind: 'refund_amount', reference, orderId, amount, detail })
    if (order === null || order.method !== method) return raise('a dispute about an order that is not here')
    if (!(await this.#isCredited(order))) return this.#uncredited(order, source, disputeId, amount)
    // One that is won is written down too: an older message, that it is open, may still be under way.
    const known = await pay.refund(method, disputeId)
    if (known === null) await this.#freezeForced(order, freezeOf(notice), amount)
    const [now, refunds] = [(await pay.order(orderId)) as Order, await pay.refunds(orderId)]
    const parts = partsOf(refunds, notice)
    const [frozen, asked] = [sumOf(parts), parts.find(({ id }) => id === disputeId)?.asked ?? amount]
    // A refund that was not sent yet may have the rest, and the provider may refuse it now: then `giveWay` makes room. What is won
    // needs no room.
    const isOver = state === 'won' && frozen > 0
    const mayGrow = !isOver && isMore(now, asked, frozen) && refunds.some(isSending)
    const tell = () => (isOver ? 'known' : this.#tellOfMore(orderId, frozen, asked, disputeId, DISPUTED_MORE))
    const taken = mayGrow ? 'early' : await tell()
    await this.#noteDispute(order, notice)
    if (state === 'open') return taken
    const end = state === 'lost' ? 'done' : 'returned'
    let ended: Refund | null = null
    for (const { id } of parts) ended = await pay.endFreeze(method, id, end, provider(method, 'disputes.end'))
    // A released freeze stays released: what is lost after all is taken from the balance by a person.
    if (end === 'returned' || ended?.state !== 'released') return taken
    return raise('a dispute is lost that had ended as won: the balance has this money', `lost:${disputeId}`)
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
    for (const notice of disputes) await this.takeDispute(method, notice, 'query')
    await this.tellEnd(method, id)
  }

  /** A dispute that waits for an answer stands among the exceptions until the bank has decided. */
  async #noteDispute({ id: orderId, method }: Order, { disputeId, state, dueAtMs }: DisputeNotice): Promise<void> {
    const { pay } = this.#deps.store
    if (state === 'open') {
      const detail = 'the payer’s bank asks for the money back: answer at the provider in time, or it is lost'
      if (dueAtMs !== undefined)
        await this.#till.raise({ method, kind: 'dispute', reference: disputeId, orderId, detail, dueAtMs })
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
    const due = dueAtMs === undefined ? {} : { dueAtMs }
    const order = refund ? await this.#deps.store.pay.order(orderId) : null
    if (order !== null && order.method === method) {
      // The payment may be under way. One that waits for a person may wait for ever: the exception says what it is about.
      if (!(await this.#isCredited(order)) && !(await this.#waits(orderId))) return 'early'
      const reason = 'the provider warns of fraud'
      const id = refundIdOf(orderId, `warning ${reference}`)
      const checkAtMs = await storeNow(this.#deps)
      const freeze = { id, providerId: null, kind: 'refund', reason, checkAtMs } as const
      if ((await this.#deps.store.pay.refund(method, id)) === null) await this.#freezeForced(order, freeze, order.asked)
    }
    return this.#till.raise({ method, kind: 'fraud_warning', reference, orderId, detail, ...due })
  }

  /** Whether a payment of the order waits for a person. */
  async #waits(orderId: string): Promise<boolean> {
    const found = await this.#deps.store.pay.exceptions({ orderId, limit: MOST_LOOKED_AT })
    return found.some(({ transactionId }) => transactionId !== null)
  }

  /** Freezes what the provider names, and never more than is left of the order; null = nothing is left. */
  async #freezeForced(
    { id: orderId, method }: Order,
    freeze: Pick<NewRefund, 'id' | 'kind' | 'reason' | 'providerId'> & { checkAtMs?: number },
    asked: number,
  ): Promise<Refund | null> {
    const { pay } = this.#deps.store
    for (let tries = 0; tries < FREEZE_TRIES; tries++) {
      const order = (await pay.order(orderId)) as Order
      const held = order.state === 'paid'
      const as = held ? { ...order, credited: (await this.#till.due(order)).amount } : order
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
      const outcome = held ? await this.#till.credit(orderId, undefined, back) : await this.#freeze(back)
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

  /** A refund that the provider refuses: it stays frozen and is tried again, and a person has to know why. */
  async refuse({ id, method, orderId }: Refund, reason: string): Promise<void> {
    const detail = `the provider refuses a refund, and its money stays frozen: ${reason}`
    await this.#till.raise({ method, kind: 'refund_stuck', reference: id, orderId, detail })
  }
}
