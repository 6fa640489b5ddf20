/**
 * The records of money that comes in: orders, the proofs that an order was paid, refunds, and what a person has to look
 * at. They know nothing of SQL, HTTP or any provider.
 *
 * An order is one payment that somebody began on the console's page. A proof is a message of the provider that is
 * verified: signed by it, or its answer to a question of ours. Nothing but a proof makes an order paid.
 */
import type { Micro } from '../base/money.ts'

/** The ways to pay on a page of a provider's. `card` is Stripe Checkout. */
export const CHECKOUT_METHODS = ['alipay', 'wechat', 'card'] as const
export type CheckoutName = (typeof CHECKOUT_METHODS)[number]

/** All ways to pay. Orders of `usdt` are made by the reading of the chain, when a transfer to an account's address is final. */
export const PAY_METHODS = [...CHECKOUT_METHODS, 'usdt'] as const
export type OrderMethod = (typeof PAY_METHODS)[number]

/**
 * `created`: the row exists, and the provider may not know of it. `pending`: the payer can pay, or a second node has not said the same
 * of a transfer. `paid`: a proof is stored. `credited`: the account has the money. `expired`, `failed`: nobody can pay any more, as far as is known; money that comes
 * all the same is taken. `refunded`, `reversed`: all of it went back.
 */
export const ORDER_STATES = [
  'created',
  'pending',
  'paid',
  'credited',
  'expired',
  'failed',
  'refunded',
  'reversed',
] as const
export type OrderState = (typeof ORDER_STATES)[number]

/** What the payer is shown: a page to go to, a text to make a QR code of, or both. */
export interface Shown {
  redirect?: string
  qr?: string
}

/** Until when orders are held that are credited together with others of the account, or when a person decides so. */
export const UNTIL_ENOUGH = 8_640_000_000_000_000

export interface Order {
  /** `T` and 26 digits of Crockford's base 32; it is the provider's name for the order too. */
  id: string
  accountId: number
  userId: number | null
  method: OrderMethod
  /** The entry that credits it. A payment counts once in the whole store. */
  reference: string
  /** What the account gets: whole fen, or what a transfer is worth (0 = nobody knows yet), at most `Number.MAX_SAFE_INTEGER`. */
  amount: Micro
  /** What the provider is asked for, in the smallest unit of `currency`; of tokens in ten-thousandths, rounded down. */
  asked: number
  /** What came, in the token's smallest unit; null where no tokens came. */
  tokens: bigint | null
  /** Upper-case ISO 4217, or USDT. */
  currency: string
  /** CNY in millionths for one unit of `currency`; null when that is CNY, or no rate is needed or set yet. */
  rate: number | null
  /** The merchant's account at the provider at which the order was made, or the address that got the tokens. */
  merchant: string
  /** The provider's own id of the order or session; null = not known yet. */
  providerId: string | null
  shown: Shown | null
  state: OrderState
  /** Made with a provider's test environment; the credit goes to a test account. */
  sandbox: boolean
  /** The money came after the order had expired or failed. */
  late: boolean
  credited: Micro
  refunded: Micro
  /** Taken out of the balance while a refund or a dispute is undecided. */
  frozen: Micro
  /** Taken back by the payer's bank. */
  reversed: Micro
  createdAtMs: number
  expiresAtMs: number
  paidAtMs: number | null
  /** An order that was paid while new money was held is credited only after this moment. */
  heldUntilMs: number | null
  creditedAtMs: number | null
  /** When the provider is asked next; null = no more. */
  checkAtMs: number | null
  /** How often it has been asked. */
  checks: number
}

/** Where a proof came from. `chain`: a second node. `operator`: a person decided, and gave a reason. */
export const PROOF_SOURCES = ['callback', 'query', 'bill', 'chain', 'operator'] as const
export type ProofSource = (typeof PROOF_SOURCES)[number]

export interface Proof {
  method: OrderMethod
  /** The provider's id of the payment. Unique within the method: money counts once. */
  transactionId: string
  orderId: string
  /** In the smallest unit of `currency`. */
  amount: number
  currency: string
  source: ProofSource
  /** SHA-256 of the message in lower-case hexadecimal. */
  digest: string
  /** When the payer paid, as the provider says; null = it does not say. */
  paidAtMs: number | null
  /** The operator and the reason, where the source is `operator`. */
  actor: string
  note: string
}

/**
 * What a person has to look at. Each says why verified money, or a verified message, does not fit its order.
 * `conflict`: the ledger has another entry under the reference. `dispute`: the payer's bank asks for the money back, and waits for
 * an answer. `chain`: nodes of the chain contradict each other, or our books.
 */
export const PAY_EXCEPTIONS = [
  'unknown_order',
  'method',
  'amount',
  'currency',
  'merchant',
  'mode',
  'duplicate',
  'conflict',
  'bill_missing',
  'bill_amount',
  'refund_unknown',
  'refund_amount',
  'refund_stuck',
  'fraud_warning',
  'dispute',
  'chain',
] as const
export type PayExceptionKind = (typeof PAY_EXCEPTIONS)[number]

export interface PayException {
  id: number
  method: OrderMethod
  kind: PayExceptionKind
  /** Names the event, so that one that is reported twice is one exception. */
  reference: string
  orderId: string | null
  transactionId: string | null
  /** In the smallest unit of `currency`; null = it is about no amount. */
  amount: number | null
  currency: string | null
  detail: string
  atMs: number
  /** Until when a person has to act; null = there is no such time. */
  dueAtMs: number | null
  /** null = open. */
  resolvedAtMs: number | null
  resolvedBy: string | null
  resolution: string | null
}

/**
 * `refund`: we send money back. `external`: the provider's own refund, which was not begun here. `dispute`: the payer's
 * bank asks for the money back.
 */
export const REFUND_KINDS = ['refund', 'external', 'dispute'] as const
type RefundKind = (typeof REFUND_KINDS)[number]

/**
 * `frozen`: the money is out of the balance, and the provider is asked, or decides. `done`: it went back to the payer.
 * `released`: it did not, and the balance has it again.
 */
export const REFUND_STATES = ['frozen', 'done', 'released'] as const
type RefundState = (typeof REFUND_STATES)[number]

export interface Refund {
  /** Our number, or the provider's id for the kinds that we did not begin. Unique within the method. */
  id: string
  orderId: string
  accountId: number
  method: OrderMethod
  kind: RefundKind
  amount: Micro
  /** What the provider is asked for, or says, in the smallest unit of what was paid. */
  asked: number
  state: RefundState
  /** The provider's id of it; null = not known yet. */
  providerId: string | null
  /** Where an operator sends tokens, in lower case; null = the provider sends the money. */
  receiver: string | null
  /** The transaction that sent them. It counts for one refund only. */
  tx: string | null
  /** Why an operator sent nothing; empty = no operator has ended it so. */
  ending: string
  reason: string
  actor: string
  atMs: number
  endedAtMs: number | null
  checkAtMs: number | null
  checks: number
}
