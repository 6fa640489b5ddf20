/**
 * Alipay's bills of a day. There are two: of trades, and of the movements of the account. Which of them has which payments
 * depends on the merchant's contract, so both are read, and a payment that is in both counts once. Refunds are taken from
 * the bill of trades only: the other one does not name their numbers.
 *
 * A bill is a ZIP archive of tables in GBK: a list, and sums that nobody needs here. Lines beginning with `#` say whose
 * account it is. Fields may end with a tab, so that spreadsheets leave long numbers alone.
 */

import { digestOf, fromChinaTime, linesOf, UNREADABLE } from '../messages.ts'
import { type BillLine, ProviderAway, ProviderRefuses } from '../method.ts'
import { fenOf, isOrderId, ourRefund } from '../numbers.ts'
import { type AlipayClient, textOf } from './client.ts'
import { payment, refundProviderId, type Seller } from './trades.ts'
import { unzip } from './zip.ts'

const PATH = '/v3/alipay/data/dataservice/bill/downloadurl/query'
const TYPES = ['trade', 'signcustomer'] as const
const NO_BILL: ReadonlySet<string> = new Set(['BILL_NOT_EXIST', 'NO_BILL_DATA'])
/** A line of a table, by the names of its columns. */
type Row = (column: string) => string

/** `day`: `2030-01-31`, in China's time. Throws ProviderRefuses when neither bill can be had. */
export async function* billOf(client: AlipayClient, seller: Seller, day: string): AsyncGenerator<BillLine> {
  const paid = new Set<string>()
  const refusals: ProviderRefuses[] = []
  for (const type of TYPES) {
    try {
      for await (const { row, digest } of rowsOf(client, seller, type, day)) {
        const line = type === 'trade' ? tradeLine(seller, row, digest) : movementLine(seller, row, digest)
        if (line === null || (line.kind === 'paid' && paid.has(line.orderId))) continue
        if (line.kind === 'paid') paid.add(line.orderId)
        yield line
      }
    } catch (error) {
      if (!(error instanceof ProviderRefuses)) throw error
      refusals.push(error)
    }
  }
  if (refusals.length === TYPES.length) throw refusals[0] as ProviderRefuses
}

async function* rowsOf(
  client: AlipayClient,
  seller: Seller,
  type: string,
  day: string,
): AsyncGenerator<{ row: Row; digest: string }> {
  const { code, fields } = await client.get(PATH, { bill_type: type, bill_date: day })
  if (code !== null && !NO_BILL.has(code)) throw new ProviderAway(`${code} of a bill`)
  if (code !== null) return // a day without trades has no bill
  const archive = await client.download(textOf(fields, 'bill_download_url'))
  const files = await Array.fromAsync(unzip(archive)).catch(error => {
    throw new ProviderAway(`the bill cannot be read: ${(error as Error).message}`)
  })
  for (const file of files) {
    let columns: readonly string[] | null = null
    for await (const line of linesOf(file, 'gbk')) {
      if (line.startsWith('#')) checkAccount(seller, line)
      else if (columns === null) columns = columnsOf(line)
      else {
        const cells = cellsOf(line)
        const names = columns
        const row = (column: string): string => cells[names.indexOf(column)] ?? ''
        if (isOrderId(row('商户订单号'))) yield { row, digest: digestOf(line) }
      }
    }
  }
}

function checkAccount({ merchant }: Seller, line: string): void {
  const account = /账号[:：]\[(2088\d{12})/.exec(line)?.[1]
  if (account !== undefined && account !== merchant) throw new ProviderRefuses(`the bill of the account ${account}`)
}

/** null = the line is no head of a list. Units stand in brackets after the names: `订单金额（元）`. */
function columnsOf(line: string): readonly string[] | null {
  const columns = cellsOf(line).map(name => name.replace(/[（(].*$/, ''))
  return columns.includes('商户订单号') && columns.includes('业务类型') ? columns : null
}

/** A comma inside of a cell stands in quotation marks. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"[^,]*|([^,]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').replace(/^`/, '').trim(),
  )

function tradeLine(seller: Seller, row: Row, digest: string): BillLine | null {
  const orderId = row('商户订单号')
  const total = row('订单金额').replace(/^-/, '')
  if (row('业务类型') === '退款') {
    const number = row('退款批次号/请求号') || orderId
    const providerId = refundProviderId(orderId, number)
    const amount = fenOf(total) ?? UNREADABLE
    return { kind: 'refund', refundId: ourRefund(number), providerId, orderId, amount, state: 'done' }
  }
  if (row('业务类型') !== '交易') return null
  const paidAtMs = fromChinaTime(row('完成时间'))
  const { merchant } = seller
  return payment(seller, { orderId, transactionId: row('支付宝交易号'), total, merchant, paidAtMs, digest })
}

/** Fees, and fees that come back, name the order too. */
function movementLine(seller: Seller, row: Row, digest: string): BillLine | null {
  if (!['在线支付', '交易付款'].includes(row('业务类型')) || (fenOf(row('收入金额')) ?? 0) === 0) return null
  return payment(seller, {
    orderId: row('商户订单号'),
    transactionId: row('业务流水号'),
    total: row('收入金额'),
    merchant: seller.merchant,
    paidAtMs: fromChinaTime(row('发生时间')),
    digest,
  })
}
