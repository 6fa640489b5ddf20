/**
 * Money of orders that goes back to payers. It is frozen before the provider is asked, always under the same number; what is
 * undecided stays frozen and is asked about again, and only the provider's word ends it. Refunds that were made at the provider
 * debit their orders too.
 */
import { HOUR_MS, SECOND_MS, DAY_MS } from '../base/clock.ts'
import { formatMicro, type Micro, parseMicro } from '../base/money.ts'
import { debitWithRecall } from '../operations/billing/entries.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import { accountPurse } from '../store/books/purses.ts'
import type { Frozen, NewRefund, RefundEnding } from '../store/payments/types.ts'
import { StoreConflict } from '../store/base/errors.ts'
import { askedText } from '../terms/chain.ts'
import type { Order, OrderMethod, ProofSource, Refund } from '../terms/pay.ts'
import type { Act } from '../base/people.ts'
import type { PaymentDisputes, Freezes } from './intake.ts'
import { type PayDeps, provider, raise, type Taken, FEN, isWholeFen, newRefundId, refundIdOf } from './exceptions.ts'
import {
  ANOTHER_AMOUNT,
  NO_ORDER,
  NO_REASON,
  NO_RECEIVER,
  notConfigured,
  OWN_RECEIVER,
  RECEIVER_KNOWN,
  SMALLEST,
  sameRefund,
  USED,
  wrong,
} from './faults.ts'
import {
  PaymentDisputed,
  type PayMethod,
  ProviderAway,
  ProviderRefuses,
  type RefundNotice,
  type RefundSaid,
} from './method.ts'

const SENT_BACK_MORE = 'the provider sent back more than was left of the order'
/** Banks take up to three days; what is undecided then may need a person, as where the payer's account is closed. */
const STUCK_MS = 3 * DAY_MS
/** Whoever begins a refund of tokens sends them at once, or asks the payer for an address first. */
const UNSENT_MS = DAY_MS

/** Later and later, at most once an hour: a bank may take days. */
export const nextRefundCheck = ({ checks }: Pick<Refund, 'checks'>, nowMs: number): number =>
  nowMs + Math.min(HOUR_MS, 15 * SECOND_MS * 2 ** Math.min(checks, 20))

/** Whole fen; of tokens, which have more places than CNY, any amount. */
function amountOf(sent: unknown, { checkReceiver }: PayMethod): Micro {
  const amount = parseMicro(sent)
  if (amount !== null && amount > 0 && (checkReceiver !== undefined || isWholeFen(amount))) return amount
  throw checkReceiver === undefined
    ? wrong('amount', { en: 'CNY above 0 in whole fen', zh: '大于0的人民币金额，精确到分' })
    : wrong('amount', { en: 'CNY above 0', zh: '大于0的人民币金额' })
}

/** A provider knows where the money came from; of tokens somebody has to say where they go. */
function checkReceiver(method: PayMethod, receiver: string | null): void {
  if ((method.checkReceiver === undefined) !== (receiver === null))
    throw receiver === null ? NO_RECEIVER() : RECEIVER_KNOWN()
  if (receiver !== null) method.checkReceiver?.(receiver)
}

export class Refunds {
  readonly #deps: PayDeps
  readonly #methods: ReadonlyMap<OrderMethod, PayMethod>
  readonly #freezes: Freezes
  readonly #disputes: PaymentDisputes

  constructor(
    deps: PayDeps,
    methods: ReadonlyMap<OrderMethod, PayMethod>,
    freezes: Freezes,
    disputes: PaymentDisputes,
  ) {
    this.#deps = deps
    this.#methods = methods
    this.#freezes = freezes
    this.#disputes = disputes
  }

  /**
   * Sends money of an order back to the payer. `reference`: the caller's name for this refund; asking again under it is answered
   * with the refund that there is, whatever became of it. `receiver`: an address that the payer of tokens has named. What came from
   * an exchange cannot go back to where it came from.
   */
  async begin(
    id: string,
    sentAmount: unknown,
    reason: string,
    force: boolean,
    act: Act,
    reference: string | null = null,
    receiver: string | null = null,
  ): Promise<Refund> {
    const { store } = this.#deps
    const order = await store.pay.order(id)
    const method = order === null ? undefined : this.#methods.get(order.method)
    if (order === null) throw new OperationError('missing', NO_ORDER)
    if (method === undefined) throw new OperationError('conflict', notConfigured(order.method))
    const amount = amountOf(sentAmount, method)
    checkReceiver(method, receiver)
    if (reason.trim() === '') throw NO_REASON()
    const nowMs = await storeNow(this.#deps)
    const refund: NewRefund = {
      id: reference === null ? newRefundId(nowMs) : refundIdOf(id, reference),
      method: order.method,
      orderId: id,
      kind: 'refund',
      amount,
      reason,
      providerId: null,
      receiver,
    }
    const known = await store.pay.refund(order.method, refund.id)
    if (known !== null) return sameRefund(known, amount, receiver)
    const frozen = await this.#freeze(order, refund, force, nextRefundCheck({ checks: 0 }, nowMs), act)
    if (frozen.outcome === 'same') return frozen.refund // it was begun at the same moment, by whoever sends it
    await inForce(this.#deps)
    return this.send(frozen.refund, order, method)
  }

  async #freeze(order: Order, refund: NewRefund, force: boolean, checkAtMs: number, act: Act) {
    const { store } = this.#deps
    const debit = (): Promise<Frozen> => store.pay.freeze(refund, force, checkAtMs, act)
    const frozen = await debitWithRecall(this.#deps, accountPurse(order.accountId), debit)
    if ('refund' in frozen) return frozen
    if (frozen.outcome === 'conflict') throw ANOTHER_AMOUNT()
    if (frozen.outcome === 'dust') throw wrong('amount', SMALLEST)
    if (frozen.outcome === 'own') throw OWN_RECEIVER()
    const refundable = formatMicro(
      frozen.outcome === 'short' ? frozen.refundable : await store.pay.refundable(order.id),
    )
    throw new OperationError(
      'conflict',
      {
        en: `amount: only ${refundable} CNY of this order can go back now`,
        zh: `amount：该订单目前最多可退 ${refundable} 元`,
      },
      { refundable },
    )
  }

  /** Asks the provider to send a frozen refund, always under the same number; what is undecided stays frozen. */
  async send(refund: Refund, order: Order, method: PayMethod): Promise<Refund> {
    const { store } = this.#deps
    const { id } = refund
    try {
      const { providerId, said } = await method.refund(refund, order, refund.asked)
      if (providerId !== null)
        await store.pay.refundSent(method.name, id, providerId, nextRefundCheck(refund, await storeNow(this.#deps)))
      await this.#end(refund, said)
    } catch (error) {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
      this.#deps.log.warn({ method: method.name, refund: id, reason: error.message }, 'a refund is not decided yet')
      if (error instanceof PaymentDisputed) await this.#disputes.giveWay(refund, error.disputes)
      else if (error instanceof ProviderRefuses) await this.#refuse(refund, error.message)
    }
    await inForce(this.#deps)
    return (await store.pay.refund(method.name, id)) as Refund
  }

  /** A refund that the provider refuses stays frozen and is tried again, and a person has to know why. */
  async #refuse({ id, method, orderId }: Refund, reason: string): Promise<void> {
    const detail = `the provider refuses a refund, and its money stays frozen: ${reason}`
    await raise(this.#deps, { method, kind: 'refund_stuck', reference: id, orderId, detail })
  }

  /** Asks about a refund that is undecided. What stays so for days, for whatever reason, a person has to know of. */
  async check(refund: Refund): Promise<void> {
    const { store, log } = this.#deps
    const { method: name, id, orderId } = refund
    const method = this.#methods.get(name)
    try {
      if (method !== undefined) await this.#ask(refund, method)
    } catch (error) {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
      log.warn({ method: name, refund: id, reason: error.message }, 'a provider cannot be asked about a refund')
      if (error instanceof PaymentDisputed) await this.#disputes.giveWay(refund, error.disputes)
    }
    const now = await store.pay.refund(name, id)
    if (now?.state !== 'frozen') return
    const nowMs = await storeNow(this.#deps)
    if (nowMs - refund.atMs >= (refund.receiver === null ? STUCK_MS : UNSENT_MS)) {
      const detail =
        refund.receiver === null
          ? 'a refund is undecided for days, and its money stays frozen: look at it at the provider'
          : `${askedText(refund.asked)} USDT to ${refund.receiver}: the money is frozen, and nobody has said that the tokens were sent`
      await raise(this.#deps, { method: name, kind: 'refund_stuck', reference: id, orderId, detail })
    }
    await store.pay.refundSent(name, id, now.providerId, nextRefundCheck(refund, nowMs))
  }

  /** A refund that the provider does not know is sent again under the same number. */
  async #ask(refund: Refund, method: PayMethod): Promise<void> {
    const order = (await this.#deps.store.pay.order(refund.orderId)) as Order
    const ageMs = (await storeNow(this.#deps)) - refund.atMs
    const said = await method.queryRefund(refund, order, ageMs)
    if (said !== 'undecided') await this.#end(refund, said)
    else if (refund.providerId === null) await this.send(refund, order, method)
  }

  /** A refund that was begun here ends as the provider says; any other one debits its order, forced. */
  async take(method: OrderMethod, notice: RefundNotice, source: ProofSource): Promise<Taken> {
    const { pay } = this.#deps.store
    const { refundId, providerId, state } = notice
    const known =
      (refundId === null ? null : await pay.refund(method, refundId)) ??
      (await pay.refundByProviderId(method, providerId))
    if (known === null) return state === 'done' ? this.#takeExternal(method, notice, source) : 'none'
    const ended = await this.#end(known, state)
    if (known.kind !== 'external' || ended === 'open') return ended
    return this.#freezes.tellOfMore(known.orderId, known.amount, known.asked, providerId, SENT_BACK_MORE)
  }

  /** A refund that was made at the provider. */
  async #takeExternal(
    method: OrderMethod,
    { providerId, orderId, amount }: RefundNotice,
    source: ProofSource,
  ): Promise<Taken> {
    const { pay } = this.#deps.store
    const order = await pay.order(orderId)
    const currency = order?.currency ?? null
    const tell = (detail: string) =>
      raise(this.#deps, { method, kind: 'refund_unknown', reference: providerId, orderId, amount, currency, detail })
    if (order === null || order.method !== method) return tell('a refund of an order that is not here')
    if (!(await this.#freezes.isCredited(order))) return this.#freezes.takeUncredited(order, source, providerId, amount)
    // A message does not say which of two payments it is about, and only one of them is in the balance.
    const twice = await pay.exceptions({ orderId, kind: 'duplicate', limit: 1 })
    if (twice.length > 0) return tell('a refund of an order that was paid twice: only one payment is in the balance')
    const freeze = { id: providerId, providerId, kind: 'external', reason: 'refunded at the provider' } as const
    const frozen = await this.#freezes.freezeForced(order, freeze, amount)
    await pay.endFreeze(method, providerId, 'done', provider(method, 'refunds.end'))
    return this.#freezes.tellOfMore(orderId, frozen?.amount ?? 0, amount, providerId, SENT_BACK_MORE)
  }

  /** A refund ends as the provider says. Where that contradicts how it has ended here, a person has to look at it. */
  async #end({ method, id, orderId, amount }: Refund, said: RefundSaid): Promise<'known' | 'open'> {
    if (said === 'undecided') return 'known'
    const ended = await this.#deps.store.pay.endFreeze(method, id, said, provider(method, 'refunds.end'))
    await this.#freezes.tellEnd(method, id)
    const cents = { amount: amount / FEN, currency: 'CNY' }
    const tell = (reference: string, detail: string) =>
      raise(this.#deps, { method, kind: 'refund_unknown', reference, orderId, ...cents, detail })
    if (said === 'done' && ended?.state === 'released')
      return tell(id, 'the provider sent back a refund that had ended here as not sent: the balance has this money too')
    if (said === 'released' && ended?.state === 'done')
      return tell(`not sent:${id}`, 'the provider did not send back a refund that had ended here as done')
    return 'known'
  }

  /** What a crash left open of refunds that have ended. */
  async tellEnds(limit: number): Promise<void> {
    const { pay } = this.#deps.store
    for (const { method, reference } of await pay.exceptions({ kind: 'refund_stuck', open: true, limit }))
      await this.#freezes.tellEnd(method, reference)
  }

  /** Ends a refund whose tokens a person sends. */
  async endByHand({ method, id }: Refund, ending: RefundEnding, act: Act): Promise<Refund> {
    const ended = await this.#deps.store.pay.endByHand(method, id, ending, act).catch(error => {
      throw error instanceof StoreConflict ? USED() : error
    })
    await this.#freezes.tellEnd(method, id)
    await inForce(this.#deps)
    return ended as Refund
  }
}
