/**
 * What Alipay says of a trade: as the answer to a question, and in a notification. What counts is `total_amount`: what the
 * buyer pays and what we receive are less where there are coupons.
 */
import { UNREADABLE, digestOf, fromChinaTime, linesOf } from '../messages.ts'
import {
  type BillLine,
  NotVerified,
  type Notice,
  type Payment,
  ProviderAway,
  ProviderRefuses,
  type RefundSaid,
  type Said,
} from '../method.ts'
import { fenOf, isOrderId, ourRefund } from '../exceptions.ts'
import { type AlipayAnswer, type AlipayClient, alipayText } from './client.ts'
import { promisify } from 'node:util'
import { crc32, inflateRaw } from 'node:zlib'

/** The merchant whose trades are read. */
export interface Seller {
  appId: string
  merchant: string
  sandbox: boolean
}

const PAID: readonly string[] = ['TRADE_SUCCESS', 'TRADE_FINISHED']
/** What our orders and Alipay's own numbers have at most. */
const LONGEST_NUMBER = 64

/** The parts of a payment that every message of Alipay has alike. */
const alipayPayment = (
  seller: Seller,
  given: Pick<Payment, 'orderId' | 'transactionId' | 'merchant' | 'paidAtMs' | 'digest'> & { total: string },
): Payment => {
  const { total, ...rest } = given
  const { sandbox } = seller
  return { kind: 'paid', ...rest, amount: fenOf(total) ?? UNREADABLE, currency: 'CNY', providerId: null, sandbox }
}

/** A refund has no number at Alipay but the one that it was asked for with, which is unique within its order. */
const refundProviderId = (orderId: string, number: string): string => `${orderId}:${number}`

/** A code that nobody has scanned is no trade yet, so a trade that does not exist has not failed. */
export function alipaySaid(seller: Seller, orderId: string, { code, fields, body }: AlipayAnswer): Said {
  if (code === 'TRADE_NOT_EXIST') return { kind: 'absent' }
  if (code !== null) throw new ProviderRefuses(code)
  if (alipayText(fields, 'out_trade_no') !== orderId) throw new ProviderAway('an answer about another order')
  const state = alipayText(fields, 'trade_status')
  if (!PAID.includes(state)) return { kind: state === 'TRADE_CLOSED' ? 'ended' : 'open' }
  const transactionId = alipayText(fields, 'trade_no')
  if (transactionId === '') throw new ProviderAway('an answer without the number of the trade')
  return alipayPayment(seller, {
    orderId,
    transactionId,
    total: alipayText(fields, 'total_amount'),
    merchant: seller.merchant, // the answer is signed for our application, and names no seller
    paidAtMs: fromChinaTime(alipayText(fields, 'send_pay_date')),
    digest: digestOf(body),
  })
}

/** The notices of a notification whose signature is proven. */
export async function alipayNoticesOf(
  seller: Seller,
  client: AlipayClient,
  fields: ReadonlyMap<string, string>,
  body: Buffer,
): Promise<Notice[]> {
  const get = (name: string): string => fields.get(name) ?? ''
  const orderId = get('out_trade_no')
  if (get('notify_type') !== 'trade_status_sync') return []
  if (orderId === '' || orderId.length > LONGEST_NUMBER || get('trade_no') === '') throw new NotVerified('form')
  const ours = get('app_id') === seller.appId
  const state = get('trade_status')
  // A notice of a refund repeats the state of the payment, so it must not be taken for one.
  const sentBack = get('refund_fee') === '' ? 0 : fenOf(get('refund_fee'))
  if (sentBack === null) throw new NotVerified('form')
  if (sentBack > 0) return ours ? refundNotices(client, orderId, get('out_biz_no'), state) : []
  if (state === 'TRADE_CLOSED' && ours) return [{ kind: 'ended', orderId }]
  if (!PAID.includes(state)) return []
  return [
    alipayPayment(seller, {
      orderId,
      transactionId: get('trade_no'),
      total: get('total_amount'),
      merchant: ours ? get('seller_id') : `${get('seller_id')} by the application ${get('app_id')}`,
      paidAtMs: fromChinaTime(get('gmt_payment')),
      digest: digestOf(body),
    }),
  ]
}

/** The notice names the sum of all refunds of the order, so Alipay is asked about the one that it is about. */
async function refundNotices(client: AlipayClient, orderId: string, named: string, state: string): Promise<Notice[]> {
  // A trade that becomes final repeats what was sent back long ago.
  if (named === '' && state === 'TRADE_FINISHED') return []
  // A full refund that was asked for without a number has the order's.
  const number = named === '' ? orderId : named
  const { said, amount } = await askRefund(client, orderId, number)
  const refundId = ourRefund(number)
  // A refund that was not begun here is learned from this notice only, so the notice has to come again.
  if (refundId === null && said !== 'done') throw new ProviderAway('a refund that Alipay has not finished')
  return [
    { kind: 'refund', refundId, providerId: refundProviderId(orderId, number), orderId, amount, state: done(said) },
  ]
}

const done = (said: 'done' | 'none' | 'undecided'): RefundSaid => (said === 'done' ? 'done' : 'undecided')

/** `none`: Alipay says, signed, that there is no such refund, or that it failed. */
export async function askRefund(
  client: AlipayClient,
  orderId: string,
  number: string,
): Promise<{ said: 'done' | 'none' | 'undecided'; amount: number }> {
  const asked = { out_trade_no: orderId, out_request_no: number }
  const { code, fields } = await client.post('/v3/alipay/trade/fastpay/refund/query', asked)
  if (code !== null) return { said: 'undecided', amount: UNREADABLE }
  for (const [name, value] of Object.entries(asked))
    if (alipayText(fields, name) !== value && (name in fields || alipayText(fields, 'refund_status') !== ''))
      throw new ProviderAway('an answer about another refund')
  const state = alipayText(fields, 'refund_status')
  if (state !== 'REFUND_SUCCESS') return { said: state === '' ? 'none' : 'undecided', amount: UNREADABLE }
  const amount = fenOf(alipayText(fields, 'refund_amount'))
  if (amount === null) throw new ProviderAway('an answer without the amount of the refund')
  return { said: 'done', amount }
}

const PATH = '/v3/alipay/data/dataservice/bill/downloadurl/query'
const TYPES = ['trade', 'signcustomer'] as const
const NO_BILL: ReadonlySet<string> = new Set(['BILL_NOT_EXIST', 'NO_BILL_DATA'])
/** A line of a table, by the names of its columns. */
type Row = (column: string) => string

/** `day`: `2030-01-31`, in China's time. Throws ProviderRefuses when neither bill can be had. */
export async function* alipayBillOf(client: AlipayClient, seller: Seller, day: string): AsyncGenerator<BillLine> {
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
  const archive = await client.download(alipayText(fields, 'bill_download_url'))
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
  return alipayPayment(seller, { orderId, transactionId: row('支付宝交易号'), total, merchant, paidAtMs, digest })
}

/** Fees, and fees that come back, name the order too. */
function movementLine(seller: Seller, row: Row, digest: string): BillLine | null {
  if (!['在线支付', '交易付款'].includes(row('业务类型')) || (fenOf(row('收入金额')) ?? 0) === 0) return null
  return alipayPayment(seller, {
    orderId: row('商户订单号'),
    transactionId: row('业务流水号'),
    total: row('收入金额'),
    merchant: seller.merchant,
    paidAtMs: fromChinaTime(row('发生时间')),
    digest,
  })
}

const END = 0x06054b50
const END_BYTES = 22
const LONGEST_COMMENT = 0xffff
const ENTRY = 0x02014b50
const ENTRY_BYTES = 46
const FILE = 0x04034b50
const FILE_BYTES = 30
const STORED = 0
const DEFLATED = 8
const ENCRYPTED = 1
const MOST_FILES = 64
const MOST_BYTES = 128 * 2 ** 20

const inflate = promisify(inflateRaw)

/** Throws when the bytes are no such archive. Their contents together have at most 128 MiB. */
export async function* unzip(archive: Buffer): AsyncGenerator<Buffer> {
  let left = MOST_BYTES
  for (const entry of entries(archive)) {
    if (entry.size > left) throw new Error('the files of an archive are too large')
    const file = await contents(archive, entry)
    left -= file.length
    yield file
  }
}

interface Entry {
  method: number
  crc: number
  packed: number
  size: number
  at: number
}

function entries(archive: Buffer): Entry[] {
  const end = endOf(archive)
  const count = archive.readUInt16LE(end + 10)
  if (count > MOST_FILES) throw new Error('an archive has too many files')
  const list: Entry[] = []
  let at = archive.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (archive.readUInt32LE(at) !== ENTRY) throw new Error('the directory of an archive is broken')
    if ((archive.readUInt16LE(at + 8) & ENCRYPTED) !== 0) throw new Error('a file of an archive is encrypted')
    list.push({
      method: archive.readUInt16LE(at + 10),
      crc: archive.readUInt32LE(at + 16),
      packed: archive.readUInt32LE(at + 20),
      size: archive.readUInt32LE(at + 24),
      at: archive.readUInt32LE(at + 42),
    })
    const [name, extra, comment] = [28, 30, 32].map(offset => archive.readUInt16LE(at + offset))
    at += ENTRY_BYTES + name! + extra! + comment!
  }
  return list
}

/** Where the directory's end stands: a comment of any length may follow it. */
function endOf(archive: Buffer): number {
  const first = Math.max(0, archive.length - END_BYTES - LONGEST_COMMENT)
  for (let at = archive.length - END_BYTES; at >= first; at--) if (archive.readUInt32LE(at) === END) return at
  throw new Error('no archive')
}

async function contents(archive: Buffer, { method, crc, packed, size, at }: Entry): Promise<Buffer> {
  if (archive.readUInt32LE(at) !== FILE) throw new Error('a file of an archive is broken')
  const start = at + FILE_BYTES + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28)
  const bytes = archive.subarray(start, start + packed)
  if (method !== STORED && method !== DEFLATED) throw new Error(`an archive is packed by method ${method}`)
  const file = method === STORED ? bytes : await inflate(bytes, { maxOutputLength: Math.max(1, size) })
  if (file.length !== size || crc32(file) !== crc) throw new Error('a file of an archive is damaged')
  return file
}
