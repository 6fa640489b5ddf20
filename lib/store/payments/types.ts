/**
 * The part of the store's interface that is about money that comes in: orders, proofs, refunds. Every method that moves
 * money does it in one transaction with the row that is the reason for it, and may be repeated without harm.
 */
import type { Micro } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import type { TransferOrder, Quote, Transfer } from '../../terms/chain.ts'
import type { Order, OrderMethod, OrderState, PayException, PayExceptionKind, Refund } from '../../terms/pay.ts'

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
  /** Most orders of the last hour, whatever became of them. */
  begun: number
  /** Most orders of this method in the last hour; null = no bound. */
  anHour: number | null
  /** Most orders of this method in the last hour in all accounts together; null = no bound. */
  anHourOfAll: number | null
  /** Most money of all orders of the last 24 hours that may still be paid, or are. */
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
 * exists already. `dust`: it is less than the smallest unit of what was paid. `own`: tokens that were sent to the receiver would be
 * credited again. `conflict`: it exists, with another amount or receiver.
 */
export type Frozen =
  | { outcome: 'frozen' | 'same'; refund: Refund }
  | { outcome: 'short'; refundable: Micro }
  | { outcome: 'bound' | 'conflict' | 'dust' | 'own' }

/** How an operator has ended a refund whose tokens people send: the transaction that sent them, or why they are not sent. */
export type RefundEnding = { tx: string } | { reason: string }

/** `done`: the payer has the money. `released`: it was not sent. `returned`: it was not, or it came back after it was. */
export type FreezeEnd = 'done' | 'released' | 'returned'

/**
 * `asked`: what the provider says, of which the first row has all where a dispute has several; without it, the share that the
 * amount is of what was paid.
 */
export type NewRefund = Pick<Refund, 'id' | 'method' | 'orderId' | 'kind' | 'amount' | 'reason' | 'providerId'> &
  Partial<Pick<Refund, 'asked' | 'receiver'>>

/** Money that is frozen in the transaction that puts it into the balance, so that nobody can spend it in between. */
export interface NextFreeze {
  refund: NewRefund
  checkAtMs: number | null
  act: Act
}

/** A payment is held until `untilMs` when at least so many orders were disputed or warned of since `sinceMs`. */
export interface PaymentHold {
  disputes: number
  sinceMs: number
  untilMs: number
}

export interface OrderFilter {
  accountId?: number
  method?: OrderMethod
  states?: readonly OrderState[]
  /** Only orders that were made before this one, or after it where the oldest come first: its time and id. */
  beyond?: { createdAtMs: number; id: string }
  ascending?: boolean
  /** Only orders that were made before this time. */
  beforeMs?: number
  limit: number
}

export type NewException = Pick<PayException, 'method' | 'kind' | 'reference' | 'detail'> &
  Partial<Pick<PayException, 'orderId' | 'transactionId' | 'amount' | 'currency' | 'dueAtMs'>>

export interface ExceptionFilter {
  open?: boolean
  kind?: PayExceptionKind
  method?: OrderMethod
  orderId?: string
  beforeId?: number
  limit: number
}

export interface PayMark {
  method: OrderMethod
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

export interface NewAddress {
  chainId: number
  wallet: string
  accountId: number
  fromBlock: number
}

/**
 * What became of transfers that were read. `clashing`: of a transaction that is stored in another block, which a final block
 * rules out; what is new of them is stored as `failed`, for a person to look at, unless no second node has confirmed any of it where it was.
 */
export interface Recorded {
  added: number
  clashing: Transfer[]
}

export interface TransferFilter {
  accountId?: number
  address?: string
  state?: OrderState
  afterSeq?: number
  limit: number
}

export interface DueTransfers {
  /** Orders that may be credited now, in the order in which their transfers were read. */
  due: string[]
  tooLarge: TransferOrder[]
}

/** A transfer that no final block has yet. */
export type SeenPayment = Transfer & Pick<TransferOrder, 'accountId'>

export type NewQuote = Omit<Quote, 'id' | 'used'>
