/**
 * What WeChat Pay says of payments and refunds: as the answer to a question, and in a notification. What counts is
 * `amount.total`: the payer pays less where there are coupons.
 */
import type { ProviderFields } from '../provider-http.ts'
import { UNREADABLE, digestOf, fromChinaTime, linesOf } from '../messages.ts'
import {
  type BillLine,
  NotVerified,
  type Notice,
  type Payment,
  ProviderAway,
  ProviderRefuses,
  type RefundNotice,
  type RefundSaid,
  type Said,
} from '../method.ts'
import { fenOf, isCents, isOrderId, ourRefund } from '../exceptions.ts'
import { ABSENT_BILL, REFUNDS, type WechatClient, partOf, wechatText } from './client.ts'
import { createHash } from 'node:crypto'

/** The merchant whose payments are read. */
export interface Merchant {
  mchid: string
  appid: string
  sandbox: boolean
}

/** What a payment names as the merchant. Another application of ours is another merchant. */
const merchantOf = ({ appid }: Merchant, mchid: string, application: string): string =>
  application === appid ? mchid : `${mchid} by the application ${application}`

const wholeOf = (fields: ProviderFields, name: string): number => {
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
function paymentOf(merchant: Merchant, fields: ProviderFields, body: Buffer): Payment | null {
  const [orderId, transactionId] = [wechatText(fields, 'out_trade_no'), wechatText(fields, 'transaction_id')]
  if (!isNumber(orderId) || !isNumber(transactionId)) return null
  const amount = partOf(fields, 'amount')
  return {
    kind: 'paid',
    orderId,
    transactionId,
    amount: wholeOf(amount, 'total'),
    currency: wechatText(amount, 'currency').slice(0, 8),
    merchant: merchantOf(merchant, wechatText(fields, 'mchid').slice(0, 64), wechatText(fields, 'appid').slice(0, 64)),
    providerId: null,
    sandbox: merchant.sandbox,
    paidAtMs: timeOf(wechatText(fields, 'success_time')),
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
export function wechatSaid(merchant: Merchant, orderId: string, fields: ProviderFields, body: Buffer): Said {
  if (wechatText(fields, 'out_trade_no') !== orderId) throw new ProviderAway('an answer about another order')
  const state = wechatText(fields, 'trade_state')
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
export function noticesOf(merchant: Merchant, event: string, fields: ProviderFields, body: Buffer): Notice[] {
  if (event === 'TRANSACTION.SUCCESS') {
    const payment = paymentOf(merchant, fields, body)
    if (payment === null || wechatText(fields, 'trade_state') !== 'SUCCESS') throw new NotVerified('form')
    return [payment]
  }
  const status = /^REFUND\.(SUCCESS|ABNORMAL|CLOSED)$/.exec(event)?.[1]
  if (status === undefined) return []
  if (wechatText(fields, 'refund_status') !== status || wechatText(fields, 'mchid') !== merchant.mchid)
    throw new NotVerified('form')
  return [refundNotice(fields, status)]
}

function refundNotice(fields: ProviderFields, status: string): RefundNotice {
  const [refundId, providerId, orderId] = ['out_refund_no', 'refund_id', 'out_trade_no'].map(name =>
    wechatText(fields, name),
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

const PATH = '/v3/bill/tradebill'
const SUMS = '总交易单数'
const COLUMNS = {
  at: '交易时间',
  appid: '公众账号ID',
  mchid: '商户号',
  transactionId: '微信订单号',
  orderId: '商户订单号',
  state: '交易状态',
  currency: '货币种类',
  providerId: '微信退款单号',
  refundId: '商户退款单号',
  refundState: '退款状态',
  total: '订单金额',
  refunded: '申请退款金额',
}
type Column = keyof typeof COLUMNS
type Row = Record<Column, string>

/** `day`: `2030-01-31`, in China's time. */
export async function* wechatBillOf(client: WechatClient, merchant: Merchant, day: string): AsyncGenerator<BillLine> {
  const { said, fields } = await client.get(PATH, { bill_date: day, bill_type: 'ALL' }, ABSENT_BILL)
  if (said === 'absent') return // a day without payments has no bill
  if (wechatText(fields, 'hash_type') !== 'SHA1') throw new ProviderRefuses('a bill with a hash of another kind')
  const file = await client.download(wechatText(fields, 'download_url'))
  if (createHash('sha1').update(file).digest('hex') !== wechatText(fields, 'hash_value').toLowerCase())
    throw new ProviderAway('a bill that is not the one that was named')
  let read: ((line: string) => Row) | null = null
  for await (const line of linesOf(file, 'utf-8')) {
    if (line.startsWith(SUMS)) return
    if (read === null) read = reader(line)
    else {
      const row = read(line)
      const billed = isOrderId(row.orderId) ? lineOf(merchant, row, digestOf(line)) : null
      if (billed?.kind === 'refund' && billed.state === 'undecided')
        yield { ...billed, state: await refundNow(client, row.refundId) }
      else if (billed !== null) yield billed
    }
  }
}

/** A refund that was on its way when the bill was made is in no later one, so WeChat Pay is asked what became of it. */
async function refundNow(client: WechatClient, number: string): Promise<RefundSaid> {
  const { fields } = await client.get(`${REFUNDS}/${encodeURIComponent(number)}`)
  return refundSaid(wechatText(fields, 'out_refund_no') === number ? wechatText(fields, 'status') : '')
}

/** Columns are found by their names, because WeChat Pay adds some now and then. */
function reader(head: string): (line: string) => Row {
  const names = head.split(',').map(name => name.trim())
  const places = Object.entries(COLUMNS).map(([column, name]) => [column, names.indexOf(name)] as const)
  const missing = places.find(([, place]) => place < 0)
  if (missing !== undefined) throw new ProviderRefuses(`a bill without the column ${COLUMNS[missing[0] as Column]}`)
  return line => {
    // A comma in a value has no backtick after it.
    const cells = line.replace(/^`/, '').split(',`')
    return Object.fromEntries(places.map(([column, place]) => [column, (cells[place] ?? '').trim()])) as Row
  }
}

function lineOf(merchant: Merchant, row: Row, digest: string): BillLine | null {
  const { orderId, transactionId, providerId, refundId, currency } = row
  if (row.state === 'REFUND') {
    const amount = fenOf(row.refunded) ?? UNREADABLE
    return {
      kind: 'refund',
      refundId: ourRefund(refundId),
      providerId,
      orderId,
      amount,
      state: refundSaid(row.refundState),
    }
  }
  if (row.state !== 'SUCCESS') return null
  return {
    kind: 'paid',
    orderId,
    transactionId,
    amount: fenOf(row.total) ?? UNREADABLE,
    currency,
    merchant: merchantOf(merchant, row.mchid, row.appid),
    providerId: null,
    sandbox: merchant.sandbox,
    paidAtMs: fromChinaTime(row.at),
    digest,
  }
}
