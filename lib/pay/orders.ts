/**
 * What people do with orders: begin one, look at it, and, for operators, send money back and resolve what does not fit.
 * Who may do it is for the caller to check; how much, and whether, is checked here.
 */
import { formatMicro, type Micro, parseMicro } from '../base/money.ts'
import { inForce, storeNow } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import { accountPurse, type Frozen, type NewRefund } from '../store/store.ts'
import type { Order, OrderMethod, PayException, Refund } from '../terms/pay.ts'
import type { Act } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { AskedLately } from './asked.ts'
import { checkNotSentBack, creditable, NOT_BOOKED, PAID_OTHERWISE } from './by-hand.ts'
import { PayMarks } from './marks.ts'
import { PaymentDisputed, type PayMethod, ProviderAway, ProviderRefuses } from './method.ts'
import { askedFor, isWholeFen, newOrderId, newRefundId, refundIdOf } from './numbers.ts'
import {
  ANOTHER_AMOUNT,
  MOST_FAILED,
  MOST_OPEN,
  NO_ORDER,
  NO_RATE,
  NO_REASON,
  notConfigured,
  RESOLVED,
  SMALLEST,
  sameRefund,
  TOO_MUCH,
  tooMany,
  wrong,
} from './order-faults.ts'
import { afterRecall } from './recall.ts'
import { nextCheck, nextRefundCheck } from './schedule.ts'
import { SignedPages } from './signed-pages.ts'
import type { Till } from './till.ts'
import type { TillDeps } from './till-deps.ts'

export interface PayBounds {
  /** Most money of one order. */
  order: Micro
  /** Most money of an account's orders in a day. */
  day: Micro
}

export class Orders {
  readonly #deps: TillDeps
  readonly #till: Till
  readonly #methods: ReadonlyMap<OrderMethod, PayMethod>
  readonly #bounds: () => PayBounds
  readonly marks: PayMarks
  readonly #asked = new AskedLately()
  readonly #pages = new SignedPages()

  constructor(deps: TillDeps, till: Till, methods: ReadonlyMap<OrderMethod, PayMethod>, bounds: () => PayBounds) {
    this.#deps = deps
    this.#till = till
    this.#methods = methods
    this.#bounds = bounds
    this.marks = new PayMarks(deps)
  }

  /**
   * Inserts the order first and asks the provider after it, so that a crash in between leaves nothing that could be paid
   * unseen. When the provider does not answer, the order stays, and looking at it tries again under the same id.
   */
  async begin(account: Account, name: string, sentAmount: unknown, returnTo: string, act: Act): Promise<Order> {
    const { store } = this.#deps
    const method = this.#method(name)
    const amount = this.#amount(method, sentAmount)
    if (account.status === 'banned')
      throw new OperationError('forbidden', {
        en: 'this account is banned, and could not use what it pays for',
        zh: '此账户已被封禁,充值后也无法使用',
      })
    if (method.sandbox !== account.sandbox)
      throw new OperationError('forbidden', {
        en: 'method: this account cannot pay with it',
        zh: 'method:此账户不能使用该支付方式',
      })
    const nowMs = await storeNow(this.#deps)
    const rate = method.currency === 'CNY' ? null : await this.#rate(method.currency, nowMs)
    const asked = askedFor(amount, rate)
    if (asked > method.mostAsked) throw TOO_MUCH()
    const expiresAtMs = nowMs + method.lifeMs
    const made = await store.pay.makeOrder(
      {
        id: newOrderId(nowMs),
        accountId: account.id,
        userId: act.actor.userId,
        method: method.name,
        amount,
        asked,
        currency: method.currency,
        rate,
        merchant: method.merchant,
        sandbox: method.sandbox,
        expiresAtMs,
        checkAtMs: nextCheck({ createdAtMs: nowMs, expiresAtMs }, nowMs),
      },
      {
        open: MOST_OPEN,
        failed: MOST_FAILED,
        anHour: method.anHour,
        anHourOfAll: method.anHourOfAll,
        aDay: this.#bounds().day,
      },
      act,
    )
    if (!('order' in made)) throw tooMany(made.bound)
    return this.shown(await this.#show(made.order, method, returnTo), returnTo)
  }

  /** The order with what its payer is shown now. */
  shown(order: Order, returnTo: string): Order {
    const sign =
      order.state === 'pending' ? this.#methods.get(order.method)?.page?.(order, pageOf(order, returnTo)) : undefined
    if (sign === undefined || sign === null) return order
    const redirect = this.#pages.of(`${order.id} ${returnTo}`, this.#deps.clock.monotonic(), sign)
    return { ...order, shown: { ...order.shown, redirect } }
  }

  /** Asks the provider to take the order, which a repeat does not do twice. */
  async #show(order: Order, method: PayMethod, returnTo: string): Promise<Order> {
    const { store, log } = this.#deps
    try {
      const { providerId, shown } = await method.begin(order, pageOf(order, returnTo))
      return (await store.pay.orderShown(order.id, providerId, shown)) as Order
    } catch (error) {
      if (error instanceof ProviderRefuses) {
        log.error({ method: method.name, order: order.id, reason: error.message }, 'the provider refuses an order')
        return (await store.pay.endOrder(order.id, 'failed', order.checkAtMs)) as Order
      }
      if (error instanceof ProviderAway) return order
      throw error
    }
  }

  /** An order of the account, after the provider was asked about it; null = the account has no such order. */
  async look(account: Account, id: string, returnTo: string): Promise<Order | null> {
    const order = await this.#lookedAt(account, id, returnTo)
    return order === null ? null : this.shown(order, returnTo)
  }

  async #lookedAt(account: Account, id: string, returnTo: string): Promise<Order | null> {
    const { store, clock } = this.#deps
    const order = await store.pay.order(id)
    if (order === null || order.accountId !== account.id) return null
    const method = this.#methods.get(order.method)
    const settled = order.creditedAtMs !== null || order.state === 'paid'
    if (method === undefined || settled || !this.#asked.take(order, clock.monotonic())) return order
    if (order.state === 'created') return this.#show(order, method, returnTo)
    await this.ask(order, method).catch(error => {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
    })
    return store.pay.order(id)
  }

  /** Asks the provider once about an order, and takes what it says. */
  async ask(order: Order, method: PayMethod): Promise<void> {
    const said = await this.marks.asked(method.name, () => method.query(order))
    if (said.kind === 'paid') await this.#till.take(method.name, said, 'query')
    else if (said.kind === 'ended') await this.#deps.store.pay.endOrder(order.id, 'expired', order.checkAtMs)
  }

  /**
   * Sends money of an order back to the payer. It is frozen before the provider is asked. `reference`: the caller's name for
   * this refund; asking again under it is answered with the refund that there is, whatever became of it.
   */
  async refund(
    id: string,
    sentAmount: unknown,
    reason: string,
    force: boolean,
    act: Act,
    reference: string | null = null,
  ): Promise<Refund> {
    const { store } = this.#deps
    const order = await store.pay.order(id)
    const method = order === null ? undefined : this.#methods.get(order.method)
    if (order === null) throw new OperationError('missing', NO_ORDER)
    if (method === undefined) throw new OperationError('conflict', notConfigured(order.method))
    const amount = parseMicro(sentAmount)
    if (amount === null || amount <= 0 || !isWholeFen(amount))
      throw wrong('amount', { en: 'CNY above 0 in whole fen', zh: '大于0的人民币金额,精确到分' })
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
    }
    const known = await store.pay.refund(order.method, refund.id)
    if (known !== null) return sameRefund(known, amount)
    const frozen = await this.#freeze(order, refund, force, nextRefundCheck({ checks: 0 }, nowMs), act)
    if (frozen.outcome === 'same') return frozen.refund // it was begun at the same moment, by whoever sends it
    await inForce(this.#deps)
    return this.sendRefund(frozen.refund, order, method)
  }

  async #freeze(order: Order, refund: NewRefund, force: boolean, checkAtMs: number, act: Act) {
    const { store } = this.#deps
    const debit = (): Promise<Frozen> => store.pay.freeze(refund, force, checkAtMs, act)
    const frozen = await afterRecall(this.#deps, accountPurse(order.accountId), debit)
    if ('refund' in frozen) return frozen
    if (frozen.outcome === 'conflict') throw ANOTHER_AMOUNT()
    if (frozen.outcome === 'dust') throw wrong('amount', SMALLEST)
    const refundable = formatMicro(
      frozen.outcome === 'short' ? frozen.refundable : await store.pay.refundable(order.id),
    )
    throw new OperationError(
      'conflict',
      {
        en: `amount: only ${refundable} CNY of this order can go back now`,
        zh: `amount:该订单目前最多可退 ${refundable} 元`,
      },
      { refundable },
    )
  }

  /** Asks the provider to send a frozen refund, always under the same number; what is undecided stays frozen. */
  async sendRefund(refund: Refund, order: Order, method: PayMethod): Promise<Refund> {
    const { store } = this.#deps
    const { id } = refund
    try {
      const { providerId, said } = await method.refund(refund, order, refund.asked)
      if (providerId !== null)
        await store.pay.refundSent(method.name, id, providerId, nextRefundCheck(refund, await storeNow(this.#deps)))
      await this.#till.back.endRefund(refund, said)
    } catch (error) {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
      this.#deps.log.warn({ method: method.name, refund: id, reason: error.message }, 'a refund is not decided yet')
      if (error instanceof PaymentDisputed) await this.#till.back.giveWay(refund, error.disputes)
      else if (error instanceof ProviderRefuses) await this.#till.back.refuse(refund, error.message)
    }
    await inForce(this.#deps)
    return (await store.pay.refund(method.name, id)) as Refund
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
    if ((await this.#till.credit(can.order.id, act)) === 'open') throw new OperationError('conflict', NOT_BOOKED)
  }

  #method(name: string): PayMethod {
    const method = this.#methods.get(name as OrderMethod)
    if (method !== undefined) return method
    throw wrong('method', { en: 'a way to pay that is offered here', zh: '此处提供的支付方式' })
  }

  #amount(method: PayMethod, sent: unknown): Micro {
    const amount = parseMicro(sent)
    const [least, most] = [method.minimum, this.#bounds().order]
    if (amount !== null && isWholeFen(amount) && amount >= least && amount <= most) return amount
    const [from, to] = [least, most].map(bound => formatMicro(bound).slice(0, -4))
    throw wrong('amount', { en: `CNY in whole fen, from ${from} to ${to}`, zh: `${from} 至 ${to} 元,精确到分` })
  }

  async #rate(currency: string, nowMs: number): Promise<number> {
    const rate = await this.#deps.store.pay.payRate(currency, nowMs)
    if (rate !== null) return rate.rate
    throw NO_RATE()
  }
}

/** Where the payer comes back to: the page that shows this order. `returnTo`: the page of all; empty = none. */
export const pageOf = ({ id }: Order, returnTo: string): string =>
  returnTo === '' ? '' : `${returnTo}${returnTo.includes('?') ? '&' : '?'}order=${id}`
