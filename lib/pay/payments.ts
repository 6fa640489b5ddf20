/**
 * What operators do with payments. The console, the admin API and the commands lead here; who may do it is for them to
 * check. Every change is logged in the transaction that makes it.
 */
import { storeNow } from '../operations/deps.ts'
import type { z } from 'zod'
import { formatMicro } from '../base/money.ts'
import { OperationError, type Words } from '../operations/error.ts'
import type { Store } from '../store/store.ts'
import type { Act, Actor } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { allOrders, type OrdersFilter, oneOrder, refundRow } from './all-orders.ts'
import { NOT_BOOKED } from './by-hand.ts'
import type { Desk } from './desk.ts'
import {
  type ExceptionsFilter,
  exceptionPage,
  oneException,
  type refundForm,
  type releaseForm,
  type resolution,
} from './exceptions.ts'
import { payHealth } from './health.ts'
import { isOrderId, refundIdOf } from './numbers.ts'
import { NO_ORDER, NOT_HELD } from './order-faults.ts'
import { listRates, type rateForm, setRate } from './rates.ts'

export { ordersFilter } from './all-orders.ts'
export { exceptionsFilter, refundForm, releaseForm, resolution } from './exceptions.ts'
export { DOUBTS } from './method.ts'
export { rateForm } from './rates.ts'

export interface PaymentsDeps {
  store: Store
  clock: { now(): number }
  pay: () => Promise<Desk>
}

export const NO_ACCOUNT: Words = { en: 'There is no such account', zh: '没有此账户' }

const act = (actor: Actor, operation: string): Act => ({ actor, operation })

export class Payments {
  readonly #deps: PaymentsDeps

  constructor(deps: PaymentsDeps) {
    this.#deps = deps
  }

  async health() {
    const desk = await this.#deps.pay()
    return payHealth(this.#deps, await desk.methods(), desk.usdtConfig, desk.hold)
  }

  /** `account`: only orders of this one; undefined = of all, null = the caller named one that does not exist. */
  async orders(filter: OrdersFilter, account: Account | null | undefined) {
    if (account === null) throw new OperationError('missing', NO_ACCOUNT)
    return allOrders(this.#deps, filter, account?.id ?? null)
  }

  order(id: string) {
    return oneOrder(this.#deps, id)
  }

  /** Money is frozen first; then the provider is asked. Asking again under the same reference changes nothing. */
  async refund(id: string, form: z.output<typeof refundForm>, actor: Actor) {
    const { store } = this.#deps
    const order = isOrderId(id) ? await store.pay.order(id) : null
    if (order === null) throw new OperationError('missing', NO_ORDER)
    const { amount, reference, reason, force } = form
    const created = (await store.pay.refund(order.method, refundIdOf(id, reference))) === null
    const desk = await this.#desk()
    const sent = formatMicro(amount)
    const done = await desk.orders.refund(id, sent, reason, force, act(actor, 'payments.refund'), reference)
    return { created, row: refundRow(done) }
  }

  /** Credits an order now that is held. Its proof stays the provider's; the log of actions has who decided, and why. */
  async release(id: string, { reason }: z.output<typeof releaseForm>, actor: Actor) {
    const { store } = this.#deps
    await this.order(id)
    const nowMs = await storeNow(this.#deps)
    if (!(await store.pay.releaseOrder(id, nowMs, reason, act(actor, 'payments.release')))) throw NOT_HELD()
    if ((await (await this.#desk()).till.credit(id)) === 'open') throw new OperationError('conflict', NOT_BOOKED)
    return this.order(id)
  }

  exceptions(filter: ExceptionsFilter) {
    return exceptionPage(this.#deps, filter)
  }

  async resolve(id: string, { action, reason }: z.output<typeof resolution>, actor: Actor) {
    const desk = await this.#desk()
    const number = /^\d{1,15}$/.test(id) ? Number(id) : 0
    const done = await desk.orders.resolve(number, action === 'credit', reason, act(actor, 'payments.resolve'))
    return oneException(this.#deps.store, done)
  }

  async rates() {
    return listRates(this.#deps, await (await this.#deps.pay()).currencies())
  }

  async setRate(form: z.output<typeof rateForm>, actor: Actor) {
    const currencies = await (await this.#deps.pay()).currencies()
    return setRate(this.#deps, currencies, form, act(actor, 'payments.set_rate'))
  }

  /** With the methods of the config in force. */
  async #desk(): Promise<Desk> {
    const desk = await this.#deps.pay()
    await desk.methods()
    return desk
  }
}
