/**
 * What WeChat Pay says of payments and refunds: as the answer to a question, and in a notification. What counts is
 * `amount.total`: the payer pays less where there are coupons.
 */

import { digestOf, UNREADABLE } from '../messages.ts'
import type { Notice, Payment, RefundNotice, RefundSaid, Said } from '../method.ts'
import { NotVerified, ProviderAway } from '../method.ts'
import { isCents, ourRefund } from '../numbers.ts'
import type { Fields } from '../answers.ts'
import { partOf, textOf } from './client.ts'

/** Whose payments they are. */
export interface Merchant {
  mchid: string
  appid: string
  sandbox: boolean
}

/** What a payment names as the merchant. Another application of ours is another merchant. */
export const merchantOf = ({ appid }: Merchant, mchid: string, application: string): string =>
  application === appid ? mchid : `${mchid} by the application ${application}`

const wholeOf = (fields: Fields, name: string): number => {
  const value = fields[name]
  return isCents(value) ? value : UNREADABLE
}

/** ms since 1970 of a time with its zone; null when it is none. */
function timeOf(text: string): number | null {
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

const isNumber = (text: string): boolean => /^[\w|*-]{1,64}$/.test(text)

/** null = it lacks the numbers of the order or of the payment. */
function paymentOf(merchant: Merchant, fields: Fields, body: Buffer): Payment | null {
  const [orderId, transactionId] = [textOf(fields, 'out_trade_no'), textOf(fields, 'transaction_id')]
  if (!isNumber(orderId) || !isNumber(transactionId)) return null
  const amount = partOf(fields, 'amount')
  return {
    kind: 'paid',
    orderId,
    transactionId,
    amount: wholeOf(amount, 'total'),
    currency: textOf(amount, 'currency').slice(0, 8),
    merchant: merchantOf(merchant, textOf(fields, 'mchid').slice(0, 64), textOf(fields, 'appid').slice(0, 64)),
    providerId: null,
    sandbox: merchant.sandbox,
    paidAtMs: timeOf(textOf(fields, 'success_time')),
    digest: digestOf(body),
  }
}

/** Nobody can pay an order that is in one of these states. */
const ENDED: readonly string[] = ['CLOSED', 'REVOKED', 'REFUND']

/**
 * `REFUND` says that an order was paid, and that some of it was sent back already. When that was done before the payment
 * was known here, to credit the order would give away money that is gone; so it is not taken for a payment, and the bill of
 * the day shows both.
 */
export function saidOf(merchant: Merchant, orderId: string, fields: Fields, body: Buffer): Said {
  if (textOf(fields, 'out_trade_no') !== orderId) throw new ProviderAway('an answer about another order')
  const state = textOf(fields, 'trade_state')
  if (state !== 'SUCCESS') return { kind: ENDED.includes(state) ? 'ended' : 'open' }
  const payment = paymentOf(merchant, fields, body)
  if (payment === null) throw new ProviderAway('an answer without the number of the payment')
  return payment
}

/**
 * Only `CLOSED` proves that the money stays. `ABNORMAL` says that the payer's account does not take it: a person has to
 * decide, at WeChat Pay, where it goes.
 */
export function refundSaid(status: string): RefundSaid {
  if (status === 'SUCCESS') return 'done'
  return status === 'CLOSED' ? 'released' : 'undecided'
}

/** What a notification says whose signature is proven. `fields`: its decrypted part. Throws NotVerified. */
export function noticesOf(merchant: Merchant, event: string, fields: Fields, body: Buffer): Notice[] {
  if (event === 'TRANSACTION.SUCCESS') {
    const payment = paymentOf(merchant, fields, body)
    if (payment === null || textOf(fields, 'trade_state') !== 'SUCCESS') throw new NotVerified('form')
    return [payment]
  }
  const status = /^REFUND\.(SUCCESS|ABNORMAL|CLOSED)$/.exec(event)?.[1]
  if (status === undefined) return []
  if (textOf(fields, 'refund_status') !== status || textOf(fields, 'mchid') !== merchant.mchid)
    throw new NotVerified('form')
  return [refundNotice(fields, status)]
}

function refundNotice(fields: Fields, status: string): RefundNotice {
  const [refundId, providerId, orderId] = ['out_refund_no', 'refund_id', 'out_trade_no'].map(name =>
    textOf(fields, name),
  ) as [string, string, string]
  if (!isNumber(providerId) || !isNumber(orderId)) throw new NotVerified('form')
  return {
    kind: 'refund',
    refundId: ourRefund(refundId),
    providerId,
    orderId,
    amount: wholeOf(partOf(fields, 'amount'), 'refund'),
    state: refundSaid(status),
  }
}
