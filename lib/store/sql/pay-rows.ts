/** Rows of the tables of payments as the records that the program works with. */
import type { Order, OrderMethod, PayException, PayWay, Proof, Refund } from '../../terms/pay.ts'
import type { Row } from '../base/driver.ts'
import { integer, integerOrNull, jsonOrNull, money, text, textOrNull } from '../base/text.ts'

export const toOrder = (row: Row): Order => ({
  id: text(row, 'id'),
  accountId: integer(row, 'account_id'),
  userId: integerOrNull(row, 'user_id'),
  method: text(row, 'method') as OrderMethod,
  amount: money(row, 'amount'),
  asked: integer(row, 'asked'),
  currency: text(row, 'currency'),
  rate: integerOrNull(row, 'rate'),
  merchant: text(row, 'merchant'),
  providerId: textOrNull(row, 'provider_id'),
  shown: jsonOrNull(row, 'shown'),
  state: text(row, 'state') as Order['state'],
  sandbox: integer(row, 'sandbox') === 1,
  late: integer(row, 'late') === 1,
  credited: money(row, 'credited'),
  refunded: money(row, 'refunded'),
  frozen: money(row, 'frozen'),
  reversed: money(row, 'reversed'),
  createdAtMs: integer(row, 'created_at_ms'),
  expiresAtMs: integer(row, 'expires_at_ms'),
  paidAtMs: integerOrNull(row, 'paid_at_ms'),
  heldUntilMs: integerOrNull(row, 'held_until_ms'),
  creditedAtMs: integerOrNull(row, 'credited_at_ms'),
  checkAtMs: integerOrNull(row, 'check_at_ms'),
  checks: integer(row, 'checks'),
})

export const toProof = (row: Row): Proof & { atMs: number } => ({
  method: text(row, 'method') as OrderMethod,
  transactionId: text(row, 'transaction_id'),
  orderId: text(row, 'order_id'),
  amount: integer(row, 'amount'),
  currency: text(row, 'currency'),
  source: text(row, 'source') as Proof['source'],
  digest: text(row, 'digest'),
  paidAtMs: integerOrNull(row, 'paid_at_ms'),
  atMs: integer(row, 'at_ms'),
  actor: text(row, 'actor'),
  note: text(row, 'note'),
})

export const toRefund = (row: Row): Refund => ({
  id: text(row, 'id'),
  orderId: text(row, 'order_id'),
  accountId: integer(row, 'account_id'),
  method: text(row, 'method') as OrderMethod,
  kind: text(row, 'kind') as Refund['kind'],
  amount: money(row, 'amount'),
  asked: integer(row, 'asked'),
  state: text(row, 'state') as Refund['state'],
  providerId: textOrNull(row, 'provider_id'),
  reason: text(row, 'reason'),
  actor: text(row, 'actor'),
  atMs: integer(row, 'at_ms'),
  endedAtMs: integerOrNull(row, 'ended_at_ms'),
  checkAtMs: integerOrNull(row, 'check_at_ms'),
  checks: integer(row, 'checks'),
})

export const toException = (row: Row): PayException => ({
  id: integer(row, 'id'),
  method: text(row, 'method') as PayWay,
  kind: text(row, 'kind') as PayException['kind'],
  reference: text(row, 'reference'),
  orderId: textOrNull(row, 'order_id'),
  transactionId: textOrNull(row, 'transaction_id'),
  amount: integerOrNull(row, 'amount'),
  currency: textOrNull(row, 'currency'),
  detail: text(row, 'detail'),
  atMs: integer(row, 'at_ms'),
  dueAtMs: integerOrNull(row, 'due_at_ms'),
  resolvedAtMs: integerOrNull(row, 'resolved_at_ms'),
  resolvedBy: textOrNull(row, 'resolved_by'),
  resolution: textOrNull(row, 'resolution'),
})
