/**
 * WeChat Pay's bill of a day: a table of comma-separated values in UTF-8, where each value has a backtick before it so that
 * spreadsheets leave long numbers alone. Amounts are in yuan. The last two lines are sums. The file is not signed; the
 * answer that names it is, and has its hash.
 */
import { createHash } from 'node:crypto'
import { digestOf, fromChinaTime, linesOf, UNREADABLE } from '../messages.ts'
import { type BillLine, ProviderAway, ProviderRefuses, type RefundSaid } from '../method.ts'
import { fenOf, isOrderId, ourRefund } from '../numbers.ts'
import { ABSENT_BILL, REFUNDS, textOf, type WechatClient } from './client.ts'
import { type Merchant, merchantOf, refundSaid } from './trades.ts'

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
export async function* billOf(client: WechatClient, merchant: Merchant, day: string): AsyncGenerator<BillLine> {
  const { said, fields } = await client.get(PATH, { bill_date: day, bill_type: 'ALL' }, ABSENT_BILL)
  if (said === 'absent') return // a day without payments has no bill
  if (textOf(fields, 'hash_type') !== 'SHA1') throw new ProviderRefuses('a bill with a hash of another kind')
  const file = await client.download(textOf(fields, 'download_url'))
  if (createHash('sha1').update(file).digest('hex') !== textOf(fields, 'hash_value').toLowerCase())
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
  return refundSaid(textOf(fields, 'out_refund_no') === number ? textOf(fields, 'status') : '')
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
