/**
 * The part of the store's interface that is about money that comes in: orders, proofs, refunds. Every method that moves
 * money does it in one transaction with the row that is the reason for it, and may be repeated without harm.
 */
import type { Micro } from '../base/money.ts'
import type {
  Order,
  OrderMethod,
  OrderState,
  PayException,
  PayExceptionKind,
  PayWay,
  Proof,
  Refund,
  Shown,
} from '../terms/pay.ts'
import type { Act } from '../base/people.ts'

export type NewOrder = Pick<
  Order,
  | 'id'
  | 'accountId'
  | 'userId'
  | 'method'
  | 'amount'
  | 'asked'
  | 'currency'
  | 'rate'
  | 'merchant'
  | 'sandbox'
  | 'expiresAtMs'
  | 'checkAtMs'
>

/** Bounds on the orders of one account, checked in the transaction that inserts an order. */
export interface OrderBounds {
  /** Most orders that can still be paid. */
  open: number
  /** Most orders of the last hour that the provider has refused: each was a question to it. */
  failed: number
  /** Most orders of this method in the last hour; null = no bound. */
  anHour: number | null
  /** Most orders of this method in the last hour in all accounts together; null = no bound. */
  anHourOfAll: number | null
  /** Most money of all orders of the last 24 hours that are not expired or failed. */
  aDay: Micro
}

/** `bound`: which bound of `OrderBounds` stands against the order. */
export type OrderMade = { order: Order } | { bound: keyof OrderBounds }

/**
 * What became of a proof. `paid`: the order is paid now. `known`: this payment was known. `second`: the order has another
 * payment; nothing is stored of this one. `elsewhere`: the payment is stored for another order.
 */
export type Proven = 'paid' | 'known' | 'second' | 'elsewhere'

/** `conflict`: the ledger has another entry under the reference. `unpaid`: the order is in a state in which nothing is credited. */
export type Credited = { outcome: 'credited' | 'known'; order: Order } | { outcome: 'conflict' | 'unpaid' }

/**
 * `short`: no more than `refundable` can go back. `bound`: the order has not been credited that much. `same`: the refund
 * exists already. `dust`: it is less than the smallest unit of what was paid.
 */
export type Frozen =
  | { outcome: 'frozen' | 'same'; refund: Refund }
  | { outcome: 'short'; refundable: Micro }
  | { outcome: 'bound' | 'conflict' | 'dust' }

/** `done`: the payer has the money. `released`: it was not sent. `returned`: it was not, or it came back after it was. */
export type FreezeEnd = 'done' | 'released' | 'returned'

/**
 * `asked`: what the provider says, of which the first row has all where a dispute has several; without it, the share that the
 * amount is of what was paid.
 */
export type NewRefund = Pick<Refund, 'id' | 'method' | 'orderId' | 'kind' | 'amount' | 'reason' | 'providerId'> &
  Partial<Pick<Refund, 'asked'>>

/** Money that is frozen in the transaction that puts it into the balance, so that nobody can spend it in between. */
export interface NextFreeze {
  refund: NewRefund
  checkAtMs: number | null
  act: Act
}

/** A payment is held until `untilMs` when at least so many orders were disputed or warned of since `sinceMs`. */
export interface Hold {
  disputes: number
  sinceMs: number
  untilMs: number
}

export interface OrderFilter {
  accountId?: number
  method?: OrderMethod
  states?: readonly OrderState[]
  /** Only orders that were made before this one: its time and id. */
  before?: { createdAtMs: number; id: string }
  limit: number
}

export type NewException = Pick<PayException, 'method' | 'kind' | 'reference' | 'detail'> &
  Partial<Pick<PayException, 'orderId' | 'transactionId' | 'amount' | 'currency' | 'dueAtMs'>>

export interface ExceptionFilter {
  open?: boolean
  kind?: PayExceptionKind
  method?: PayWay
  orderId?: string
  beforeId?: number
  limit: number
}

export interface PayMark {
  method: PayWay
  what: string
  atMs: number
  value: string
}

export interface PayRate {
  id: number
  currency: string
  /** CNY in millionths for one unit. */
  rate: number
  fromMs: number
  untilMs: number
  actor: string
}

/** Sums by which the books of one method are compared with the provider's. */
export interface PayTotals {
  method: OrderMethod
  credited: Micro
  refunded: Micro
  frozen: Micro
  reversed: Micro
  orders: number
}

export interface PayStore {
  makeOrder(order: NewOrder, bounds: OrderBounds, act: Act): Promise<OrderMade>
  order(id: string): Promise<Order | null>
  orderByProviderId(method: OrderMethod, providerId: string): Promise<Order | null>
  orders(filter: OrderFilter): Promise<Order[]>
  /** How many orders are in each state, and since when the oldest of each is. */
  orderCounts(): Promise<{ state: OrderState; count: number; oldestAtMs: number }[]>
  /** Moves `created` to `pending` and stores what the provider said. In any other state it stores only a missing id. */
  orderShown(id: string, providerId: string | null, shown: Shown): Promise<Order | null>
  /** Moves an order that is not paid to `expired` or `failed`. Returns it as it is now. */
  endOrder(id: string, state: 'expired' | 'failed', checkAtMs: number | null): Promise<Order | null>
  /**
   * Stores the proof of an order's first payment and moves the order to `paid`, in one transaction. `hold`: when the money is
   * to be held; null, the default = never.
   */
  proveOrder(proof: Proof, hold?: Hold | null): Promise<Proven>
  /** Stores the proof of a payment that proves no order, once a person knows of it. */
  keepProof(proof: Proof): Promise<void>
  proofs(orderId: string): Promise<(Proof & { atMs: number })[]>
  proof(method: OrderMethod, transactionId: string): Promise<(Proof & { atMs: number }) | null>
  /**
   * The only way in which an order's money gets into a balance: books the entry `topup:ID` of the kind `payment`, and moves
   * the order from `paid` to `credited`, in one transaction. `amount`: the order's own, or what an operator resolved. `back`:
   * what is frozen of it in the same transaction, forced.
   */
  creditOrder(id: string, amount: Micro, note: string, act: Act, back?: NextFreeze): Promise<Credited>
  /** Ends the hold of an order, because somebody has decided so. False when it is not held. */
  releaseOrder(id: string, nowMs: number, reason: string, act: Act): Promise<boolean>
  /** How many orders are held, and their money. */
  heldOrders(nowMs: number): Promise<{ count: number; amount: Micro }>
  /** How many orders of a method were disputed, or warned of, since a moment. */
  disputedOrders(method: OrderMethod, sandbox: boolean, sinceMs: number): Promise<number>
  /** Orders that are `paid` since before this moment, or whose hold ended before it: a crash came before the credit. */
  uncredited(beforeMs: number, limit: number): Promise<Order[]>
  /**
   * Orders whose provider is to be asked by now; each is taken by one gateway only, because its next time is moved by
   * `leaseMs` first.
   */
  takeDueOrders(nowMs: number, leaseMs: number, limit: number): Promise<Order[]>
  orderChecked(id: string, checkAtMs: number | null): Promise<void>

  /**
   * Freezes money of an order: inserts the refund's row and an entry of −amount in one transaction. Without `forced` only
   * money that can go back and is free; with it in any case, and the leases are recalled in the same transaction.
   */
  freeze(refund: NewRefund, forced: boolean, checkAtMs: number | null, act: Act): Promise<Frozen>
  /**
   * The proven end of a freeze: the entries that belong to it, in one transaction. `next`: what is frozen in its place, forced,
   * if this call ends it. Returns the refund as it is now.
   */
  endFreeze(method: OrderMethod, id: string, end: FreezeEnd, act: Act, next?: NextFreeze): Promise<Refund | null>
  refundSent(method: OrderMethod, id: string, providerId: string | null, checkAtMs: number | null): Promise<void>
  refund(method: OrderMethod, id: string): Promise<Refund | null>
  refundByProviderId(method: OrderMethod, providerId: string): Promise<Refund | null>
  refunds(orderId: string): Promise<Refund[]>
  takeDueRefunds(nowMs: number, leaseMs: number, limit: number): Promise<Refund[]>
  /** What of an order could go back to the payer now. */
  refundable(orderId: string): Promise<Micro>

  /** Stores an exception once for each method, kind and reference. True when it is new. */
  raiseException(exception: NewException): Promise<boolean>
  exception(id: number): Promise<PayException | null>
  exceptions(filter: ExceptionFilter): Promise<PayException[]>
  openExceptions(): Promise<number>
  /** False when it is resolved already. */
  resolveException(id: number, resolution: string, act: Act): Promise<boolean>

  /** True when the event is new. */
  seenEvent(method: OrderMethod, eventId: string): Promise<boolean>
  rememberEvent(method: OrderMethod, eventId: string): Promise<void>
  forgetEvents(beforeMs: number, limit: number): Promise<number>

  /** Proofs of payments in a time, as the provider says, or else as they were stored; by their ids, after one. */
  proofsPaid(
    method: OrderMethod,
    fromMs: number,
    untilMs: number,
    after: string,
    limit: number,
  ): Promise<(Proof & { atMs: number })[]>

  payMarks(): Promise<PayMark[]>
  /** Sets a mark's time to `nowMs`. False when another did so less than `restMs` ago, and has what it stands for. */
  takePayMark(method: PayWay, what: string, nowMs: number, restMs: number): Promise<boolean>
  setPayMark(method: PayWay, what: string, value: string): Promise<void>
  /** Adds to a mark whose value is a count, and sets its time to now. */
  countPayMark(method: PayWay, what: string, more: number): Promise<void>
  /** The rate in force at a moment; null = none. */
  payRate(currency: string, atMs: number): Promise<PayRate | null>
  payRates(currency: string, limit: number): Promise<PayRate[]>
  setPayRate(rate: Omit<PayRate, 'id' | 'actor'>, act: Act): Promise<void>
  payTotals(): Promise<PayTotals[]>
}
