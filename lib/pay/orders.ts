/**
 * What people do with orders: begin one, look at it, and end it. Who may do it is for the caller to check; how much, and whether, is
 * checked here. And when a provider is asked about an order without having said anything.
 */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../base/clock.ts'
import { formatMicro, type Micro, parseMicro } from '../base/money.ts'
import { storeNow } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import type { Order, OrderMethod } from '../terms/pay.ts'
import type { Act } from '../base/people.ts'
import type { NewOrder, OrderBounds } from '../store/payments/types.ts'
import type { Account } from '../terms/records.ts'
import { type PayDeps, askedFor, isWholeFen, newOrderId } from './exceptions.ts'
import { MOST_BEGUN, MOST_FAILED, MOST_OPEN, NO_RATE, NOT_NOW, TOO_MUCH, tooMany, wrong } from './faults.ts'
import type { PayMarks } from './health.ts'
import type { Intake } from './intake.ts'
import { AskedLately, SignedPages } from './lately.ts'
import { type CheckoutMethod, isCheckout, type PayMethod, ProviderAway, ProviderRefuses, type Said } from './method.ts'

/** Often at first, because callbacks get lost. */
const AFTER_START_MS = [15 * SECOND_MS, 30 * SECOND_MS, ...[1, 2, 4, 8, 16].map(minutes => minutes * MINUTE_MS)]
/** Twice after an order's end, because some providers take money then: a QR code of Alipay lives two hours, and its trade may not exist before it is scanned. */
const AFTER_END_MS = [2 * HOUR_MS + 10 * MINUTE_MS, 25 * HOUR_MS]

/** When the provider is asked next about an order that is not paid; null = no more. */
export function nextCheck(order: Pick<Order, 'createdAtMs' | 'expiresAtMs'>, nowMs: number): number | null {
  const { createdAtMs, expiresAtMs } = order
  const times = [
    ...AFTER_START_MS.map(ms => createdAtMs + ms).filter(at => at < expiresAtMs),
    expiresAtMs,
    ...AFTER_END_MS.map(ms => expiresAtMs + ms),
  ]
  return times.find(at => at > nowMs) ?? null
}

export interface PayBounds {
  /** Most money of one order. */
  order: Micro
  /** Most money of an account's orders in a day. */
  day: Micro
}

export class Orders {
  readonly #deps: PayDeps
  readonly #intake: Intake
  readonly #methods: ReadonlyMap<OrderMethod, PayMethod>
  readonly #bounds: () => PayBounds
  readonly #marks: PayMarks
  readonly #asked = new AskedLately()
  readonly #cancelled = new AskedLately()
  readonly #pages = new SignedPages()

  constructor(
    deps: PayDeps,
    intake: Intake,
    methods: ReadonlyMap<OrderMethod, PayMethod>,
    bounds: () => PayBounds,
    marks: PayMarks,
  ) {
    this.#deps = deps
    this.#intake = intake
    this.#methods = methods
    this.#bounds = bounds
    this.#marks = marks
  }

  /**
   * Inserts the order first and asks the provider after it, so that a crash in between leaves nothing that could be paid
   * unseen. When the provider does not answer, the order stays, and looking at it tries again under the same id.
   */
  async begin(account: Account, name: string, sentAmount: unknown, returnTo: string, act: Act): Promise<Order> {
    const method = this.#method(name)
    const amount = this.#amount(method, sentAmount)
    if (account.status === 'banned')
      throw new OperationError('forbidden', {
        en: 'this account is banned, and could not use what it pays for',
        zh: '此账户已被封禁，充值后也无法使用',
      })
    if (method.sandbox !== account.sandbox)
      throw new OperationError('forbidden', {
        en: 'method: this account cannot pay with it',
        zh: 'method：此账户不能使用该支付方式',
      })
    const nowMs = await storeNow(this.#deps)
    const rate = method.currency === 'CNY' ? null : await this.#rate(method.currency, nowMs)
    const asked = askedFor(amount, rate)
    if (asked > method.mostAsked) throw TOO_MUCH()
    const expiresAtMs = nowMs + method.lifeMs
    const order = await this.#make(
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
        begun: MOST_BEGUN,
        anHour: method.anHour,
        anHourOfAll: method.anHourOfAll,
        aDay: this.#bounds().day,
      },
      act,
    )
    return this.shown(await this.#show(order, method, returnTo), returnTo)
  }

  /** Where as many orders are open as may be, the new one takes the place of the oldest that can be ended. */
  async #make(order: NewOrder, bounds: OrderBounds, act: Act): Promise<Order> {
    const { pay } = this.#deps.store
    for (let tries = 0; ; tries++) {
      const made = await pay.makeOrder(order, bounds, act)
      if ('order' in made) return made.order
      if (made.bound !== 'open' || tries >= MOST_OPEN) throw tooMany(made.bound)
      const states = ['created', 'pending'] as const
      const open = await pay.orders({ accountId: order.accountId, states, limit: MOST_OPEN + 1 })
      if (!(await this.#endOldest(open.toReversed(), act))) throw tooMany(made.bound)
    }
  }

  async #endOldest(open: readonly Order[], { actor }: Act): Promise<boolean> {
    for (const order of open) {
      const method = this.#methods.get(order.method)
      if (!isCheckout(method)) continue
      try {
        await this.close(order, method, { actor, operation: 'orders.cancel' })
        return true
      } catch (error) {
        if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
      }
    }
    return false
  }

  /** Ends an order of the account that is not paid, at its provider first: one that was paid meanwhile is credited. */
  async cancel(account: Account, id: string, returnTo: string, act: Act): Promise<Order | null> {
    const { store, clock } = this.#deps
    const order = await store.pay.order(id)
    if (order === null || order.accountId !== account.id) return null
    const method = this.#methods.get(order.method)
    const isOpen = order.state === 'created' || order.state === 'pending'
    if (isOpen && isCheckout(method)) {
      if (!this.#cancelled.take(order, clock.monotonic())) throw NOT_NOW()
      await this.close(order, method, act).catch(error => {
        throw error instanceof ProviderAway || error instanceof ProviderRefuses ? NOT_NOW() : error
      })
    }
    return this.shown((await store.pay.order(id)) as Order, returnTo)
  }

  /**
   * Ends an order that is not paid. The payer may pay between the question and the closing, so the provider is asked again, and what
   * was paid is taken. `act`: who ends it before its time.
   */
  async close(order: Order, method: CheckoutMethod, act?: Act): Promise<void> {
    const { pay } = this.#deps.store
    const next = async () => nextCheck(order, await storeNow(this.#deps))
    for (const said of [await method.close(order), await method.query(order)])
      if (said.kind === 'paid') {
        await this.#intake.take(method.name, said, 'query')
        return pay.orderChecked(order.id, await next()) // it may not fit, and wait for a person
      }
    await pay.endOrder(order.id, 'expired', await next(), act)
  }

  /** The order with what its payer is shown now. */
  shown(order: Order, returnTo: string): Order {
    const method = this.#methods.get(order.method)
    const sign =
      order.state === 'pending' && isCheckout(method) ? method.page?.(order, pageOf(order, returnTo)) : undefined
    if (sign === undefined || sign === null) return order
    const redirect = this.#pages.of(`${order.id} ${returnTo}`, this.#deps.clock.monotonic(), sign)
    return { ...order, shown: { ...order.shown, redirect } }
  }

  /** Asks the provider to take the order, which a repeat does not do twice. */
  async #show(order: Order, method: CheckoutMethod, returnTo: string): Promise<Order> {
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
    if (!isCheckout(method) || settled || !this.#asked.take(order, clock.monotonic())) return order
    if (order.state === 'created') return this.#show(order, method, returnTo)
    await this.ask(order, method).catch(error => {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
    })
    return store.pay.order(id)
  }

  /** Asks the provider once about an order, and takes what it says. Returns it in a word. */
  async ask(order: Order, method: PayMethod): Promise<Said['kind']> {
    const said = await this.#marks.asked(method.name, () => method.query(order))
    if (said.kind === 'paid') await this.#intake.take(method.name, said, 'query')
    else if (said.kind === 'ended') await this.#deps.store.pay.endOrder(order.id, 'expired', order.checkAtMs)
    return said.kind
  }

  #method(name: string): CheckoutMethod {
    const method = this.#methods.get(name as OrderMethod)
    if (isCheckout(method)) return method
    throw wrong('method', { en: 'a way to pay that is offered here', zh: '此处提供的支付方式' })
  }

  #amount(method: PayMethod, sent: unknown): Micro {
    const amount = parseMicro(sent)
    const [least, most] = [method.minimum, this.#bounds().order]
    if (amount !== null && isWholeFen(amount) && amount >= least && amount <= most) return amount
    const [from, to] = [least, most].map(bound => formatMicro(bound).slice(0, -4))
    throw wrong('amount', { en: `CNY in whole fen, from ${from} to ${to}`, zh: `${from} 至 ${to} 元，精确到分` })
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
