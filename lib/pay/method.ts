/**
 * What a way to pay is to the rest of the program. A method knows its provider's protocol: how requests are signed, how
 * messages are verified, what the provider's states mean. It knows nothing of the store and moves no money; what it learns
 * it returns as notices, and `intake.ts` decides what becomes of them.
 */
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { CheckoutName, Order, OrderMethod, Refund, Shown } from '../terms/pay.ts'

/** The provider cannot be reached, or answers with an error of its own. Nobody knows what became of the request. */
export class ProviderAway extends Error {
  override name = 'ProviderAway'
}

/** The provider refuses the request, and will refuse it again. The message is for operators. */
export class ProviderRefuses extends Error {
  override name = 'ProviderRefuses'
}

/** Why a callback is not believed. It labels a metric. */
export const DOUBTS = ['signature', 'age', 'key', 'form', 'probe'] as const
export type Doubt = (typeof DOUBTS)[number]

/** A callback that is not verified. Nothing of it may be used. */
export class NotVerified extends Error {
  override name = 'NotVerified'
  readonly doubt: Doubt

  constructor(doubt: Doubt) {
    super(`not verified: ${doubt}`)
    this.doubt = doubt
  }
}

/** A verified statement that somebody paid. Every field is what the provider says, to be compared with our order. */
export interface Payment {
  kind: 'paid'
  orderId: string
  /** The provider's id of the payment, which never changes. */
  transactionId: string
  /** In the smallest unit of `currency`; what was asked for, not what the payer paid after coupons. */
  amount: number
  currency: string
  /** The merchant's account that got the money. */
  merchant: string
  /** The provider's id of our order, where the provider has one; null = it has none. */
  providerId: string | null
  sandbox: boolean
  /** ms since 1970; null = the provider does not say. */
  paidAtMs: number | null
  /** SHA-256 of the message in lower-case hexadecimal. */
  digest: string
}

/** A verified statement about money that goes back. */
export interface RefundNotice {
  kind: 'refund'
  /** Our number; null = the provider's own refund, which was not begun here. */
  refundId: string | null
  /** The provider's id of it. Unique within the method. */
  providerId: string
  orderId: string
  /** In the smallest unit of the order's currency. */
  amount: number
  state: RefundSaid
}

/** A verified statement that the payer's bank asks for money back, or has decided. */
export interface DisputeNotice {
  kind: 'dispute'
  disputeId: string
  orderId: string
  amount: number
  /** `open`: undecided. `lost`: the payer keeps the money. `won`: we do. */
  state: 'open' | 'lost' | 'won'
  /** Until when the bank waits for our answer. */
  dueAtMs?: number
}

/**
 * The provider refuses a refund, or did not send it after all, because the payer's bank has asked for the money first: the money
 * is the bank's to decide about. `disputes`: those of the payment, as they are now.
 */
export class PaymentDisputed extends ProviderRefuses {
  override name = 'PaymentDisputed'
  readonly disputes: readonly DisputeNotice[]

  constructor(message: string, disputes: readonly DisputeNotice[]) {
    super(message)
    this.disputes = disputes
  }
}

/** The provider suspects a fraud, or has said something that a person has to look at. */
export interface WarningNotice {
  kind: 'warning'
  orderId: string
  reference: string
  detail: string
  dueAtMs?: number
  /** What is left of the payment goes back at once, before it becomes a dispute. */
  refund: boolean
}

/** `none`: nothing that matters here. */
export type Notice =
  | Payment
  | RefundNotice
  | DisputeNotice
  | WarningNotice
  | { kind: 'ended'; orderId: string }
  | { kind: 'none' }

/**
 * What the provider says of an order. `open`: it can still be paid. `ended`: it cannot. `absent`: the provider does not know
 * it, which for some means that nobody has looked at it yet.
 */
export type Said = Payment | { kind: 'open' | 'ended' | 'absent' }

/**
 * `done`: the money went back. `released`: it was not sent and will not be, proven. `returned`: it was not sent, or was and came
 * back from the payer's bank. `undecided`: ask again later, under the same number.
 */
export type RefundSaid = 'done' | 'released' | 'returned' | 'undecided'

/** A request to the callback's address. The body is as it came, and nobody has looked into it. */
export interface RawCallback {
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

/** A response to the provider. */
export interface CallbackAnswer {
  status: number
  type: string
  body: string
}

/** A callback that is verified. `eventId`: the provider's id of the message, by which repeats are told; null = none. */
export interface Verified {
  eventId: string | null
  notices: readonly Notice[]
}

/** An event of the provider's that may not have come as a callback. */
export interface MissedEvent {
  eventId: string
  notices(): Promise<readonly Notice[]>
}

/**
 * A line of the provider's bill of a day. Disputes and warnings are those that there are, as they are now: most have been told, and
 * to take them again changes nothing.
 */
export type BillLine = Payment | RefundNotice | DisputeNotice | WarningNotice

/** The times between which certificates are valid, ms since 1970. */
export interface Validity {
  fromMs: number
  untilMs: number
}

/** What a method is given beside its own section. */
export interface MethodTools {
  clock: Clock
  /** The address to which the provider sends its callbacks. */
  callback: string
  /** What payers read at the provider: it keeps the rules of every provider. */
  title: string
}

/**
 * What every way to pay can do. Where its orders come from is its own: payers begin those of a `CheckoutMethod`, and the reading of the
 * chain makes those of USDT.
 */
export interface PayMethod {
  readonly name: OrderMethod
  readonly sandbox: boolean
  /** Least amount of an order. */
  readonly minimum: Micro
  /** ISO 4217, or USDT. When it is not CNY, an order gets the rate that is in force. */
  readonly currency: string
  /** When the certificates of the config are valid; null or absent = it has none. */
  readonly validity?: Validity | null

  query(order: Order): Promise<Said>
  /** Asks the provider to send money back. `amount`: in the smallest unit of the order's currency. */
  refund(refund: Refund, order: Order, amount: number): Promise<{ providerId: string | null; said: RefundSaid }>
  /** `ageMs`: how long ago the refund was begun, before the provider is asked. */
  queryRefund(refund: Refund, order: Order, ageMs: number): Promise<RefundSaid>
  /** A method whose refunds a person sends throws OperationError where nobody could get what is sent to the receiver. */
  checkReceiver?(receiver: string): void
}

/** A way to pay on a page of a provider's, or by a code that it makes. */
export interface CheckoutMethod extends PayMethod {
  readonly name: CheckoutName
  /** The merchant's account, which the provider's messages must name. */
  readonly merchant: string
  /** Most that the provider takes in one order, in the smallest unit of the currency. */
  readonly mostAsked: number
  /** How long an order can be paid. */
  readonly lifeMs: number
  /** Orders of one account, and of all, that may be begun in an hour; null = no bound. */
  readonly anHour: number | null
  readonly anHourOfAll: number | null

  /** Makes the order at the provider, under our id. A repeat gives the same order. `returnTo`: where the payer comes back. */
  begin(order: Order, returnTo: string): Promise<{ providerId: string | null; shown: Shown }>
  /** The address of the payer's page where making one needs no request: it is signed when it is shown. null = there is no page. */
  page?(order: Order, returnTo: string): (() => string) | null
  /** Sees to it that the order cannot be paid any more. */
  close(order: Order): Promise<Said>
  /** Verifies a callback before it reads it. Throws NotVerified. */
  verify(callback: RawCallback): Promise<Verified>
  /** What the provider takes for "done, do not send again", and for "not done". */
  readonly accepted: CallbackAnswer
  readonly refused: CallbackAnswer
  /** The provider's account of a day (`2030-01-31`, in China's time). */
  bill(day: string): AsyncIterable<BillLine>
  /** The events of a time, of a provider that lists them: callbacks that got lost are found there. */
  missed?(fromMs: number, untilMs: number): AsyncIterable<MissedEvent>
}

export const isCheckout = (method: PayMethod | undefined): method is CheckoutMethod =>
  method !== undefined && 'begin' in method
