/** The store's methods for payments, put together from the files beside this one. */
import type { Micro } from '../../base/money.ts'
import type { OrderMethod, PayWay, Proof, Shown } from '../../terms/pay.ts'
import type { Act } from '../../base/people.ts'
import type { Driver } from '../base/driver.ts'
import type {
  ExceptionFilter,
  NextFreeze,
  FreezeEnd,
  Hold,
  NewException,
  NewOrder,
  NewRefund,
  OrderBounds,
  OrderFilter,
  PayRate,
  PayStore,
} from '../pay-store.ts'
import { makeOrder } from './make-order.ts'
import * as events from './pay-events.ts'
import * as exceptions from './pay-exceptions.ts'
import { disputedOrders, heldOrders, releaseOrder } from './pay-holds.ts'
import * as marks from './pay-marks.ts'
import { creditOrder, endFreeze, freeze, refundable } from './pay-money.ts'
import * as orders from './pay-orders.ts'
import * as proofs from './pay-proofs.ts'
import * as rates from './pay-rates.ts'
import * as refunds from './pay-refunds.ts'

export class Pay implements PayStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  makeOrder = (order: NewOrder, bounds: OrderBounds, act: Act) => makeOrder(this.#driver, order, bounds, act)
  order = (id: string) => orders.orderWhere(this.#driver, 'id = ?', [id])
  orderByProviderId = (method: OrderMethod, providerId: string) =>
    orders.orderWhere(this.#driver, 'method = ? AND provider_id = ?', [method, providerId])
  orders = (filter: OrderFilter) => orders.orders(this.#driver, filter)
  orderCounts = () => orders.orderCounts(this.#driver)
  orderShown = (id: string, providerId: string | null, shown: Shown) =>
    orders.orderShown(this.#driver, id, providerId, shown)
  endOrder = (id: string, state: 'expired' | 'failed', checkAtMs: number | null) =>
    orders.endOrder(this.#driver, id, state, checkAtMs)
  proveOrder = (proof: Proof, hold: Hold | null = null) => proofs.proveOrder(this.#driver, proof, hold)
  keepProof = (proof: Proof) => proofs.keepProof(this.#driver, proof)
  proofs = (orderId: string) => proofs.proofsOf(this.#driver, orderId)
  proof = (method: OrderMethod, transactionId: string) => proofs.proofOf(this.#driver, method, transactionId)
  creditOrder = (id: string, amount: Micro, note: string, act: Act, back?: NextFreeze) =>
    creditOrder(this.#driver, id, amount, note, act, back)
  releaseOrder = (id: string, nowMs: number, reason: string, act: Act) =>
    releaseOrder(this.#driver, id, nowMs, reason, act)
  heldOrders = (nowMs: number) => heldOrders(this.#driver, nowMs)
  disputedOrders = (method: OrderMethod, sandbox: boolean, sinceMs: number) =>
    disputedOrders(
      { query: (sql, params) => this.#driver.query('disputedOrders', sql, params) },
      method,
      sandbox,
      sinceMs,
    )
  uncredited = (beforeMs: number, limit: number) => orders.uncredited(this.#driver, beforeMs, limit)
  takeDueOrders = (nowMs: number, leaseMs: number, limit: number) =>
    orders.takeDueOrders(this.#driver, nowMs, leaseMs, limit)
  orderChecked = (id: string, checkAtMs: number | null) => orders.orderChecked(this.#driver, id, checkAtMs)
  payTotals = () => orders.payTotals(this.#driver)

  freeze = (refund: NewRefund, forced: boolean, checkAtMs: number | null, act: Act) =>
    freeze(this.#driver, refund, forced, checkAtMs, act)
  endFreeze = (method: OrderMethod, id: string, end: FreezeEnd, act: Act, next?: NextFreeze) =>
    endFreeze(this.#driver, method, id, end, act, next)
  refundSent = (method: OrderMethod, id: string, providerId: string | null, checkAtMs: number | null) =>
    refunds.refundSent(this.#driver, method, id, providerId, checkAtMs)
  refund = async (method: OrderMethod, id: string) =>
    (await refunds.refundWhere(this.#driver, 'method = ? AND id = ?', [method, id]))[0] ?? null
  refundByProviderId = async (method: OrderMethod, providerId: string) =>
    (await refunds.refundWhere(this.#driver, 'method = ? AND provider_id = ?', [method, providerId]))[0] ?? null
  refunds = (orderId: string) => refunds.refundWhere(this.#driver, 'order_id = ?', [orderId])
  takeDueRefunds = (nowMs: number, leaseMs: number, limit: number) =>
    refunds.takeDueRefunds(this.#driver, nowMs, leaseMs, limit)
  refundable = (orderId: string) => refundable(this.#driver, orderId)

  raiseException = (exception: NewException) => exceptions.raiseException(this.#driver, exception)
  exception = (id: number) => exceptions.exception(this.#driver, id)
  exceptions = (filter: ExceptionFilter) => exceptions.exceptions(this.#driver, filter)
  openExceptions = () => exceptions.openExceptions(this.#driver)
  resolveException = (id: number, resolution: string, act: Act) =>
    exceptions.resolveException(this.#driver, id, resolution, act)

  seenEvent = (method: OrderMethod, eventId: string) => events.seenEvent(this.#driver, method, eventId)
  rememberEvent = (method: OrderMethod, eventId: string) => events.rememberEvent(this.#driver, method, eventId)
  forgetEvents = (beforeMs: number, limit: number) => events.forgetEvents(this.#driver, beforeMs, limit)
  proofsPaid = (method: OrderMethod, fromMs: number, untilMs: number, after: string, limit: number) =>
    proofs.proofsPaid(this.#driver, method, fromMs, untilMs, after, limit)
  takePayMark = (method: PayWay, what: string, nowMs: number, restMs: number) =>
    marks.takePayMark(this.#driver, method, what, nowMs, restMs)
  payMarks = () => marks.payMarks(this.#driver)
  setPayMark = (method: PayWay, what: string, value: string) => marks.setPayMark(this.#driver, method, what, value)
  countPayMark = (method: PayWay, what: string, more: number) => marks.countPayMark(this.#driver, method, what, more)
  payRate = (currency: string, atMs: number) => rates.payRate(this.#driver, currency, atMs)
  payRates = (currency: string, limit: number) => rates.payRates(this.#driver, currency, limit)
  setPayRate = (rate: Omit<PayRate, 'id' | 'actor'>, act: Act) => rates.setPayRate(this.#driver, rate, act)
}
