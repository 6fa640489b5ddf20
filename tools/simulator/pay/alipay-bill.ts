/** The bills of the double of Alipay, laid out as merchants get them. */
import { type AlipayLedger, china, type Trade, yuan } from './alipay-ledger.ts'
import { gbk, zip } from './archive.ts'

const TRADE =
  '支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注'
const MOVEMENT =
  '账务流水号,业务流水号,商户订单号,商品名称,发生时间,对方账号,收入金额（+元）,支出金额（-元）,账户余额（元）,交易渠道,业务类型,备注'

/** A trade of another shop of the merchant, which is no order of ours. */
const FOREIGN =
  '2030010122001400000000000000\t,SHOP-77\t,交易,雨伞,2030-01-01 10:00:00,2030-01-01 10:00:05,,,,,a***@b.cn,9.90,9.90,0,0,0,0,0,,0,0,,-0.06,0,'

/** A trade as it is in the bill of a day: paid on it or before, with what went back on it. */
const on = (trade: Trade, day: string): Trade & { paidToday: boolean } => ({
  ...trade,
  paidToday: trade.paidAtMs !== null && china(trade.paidAtMs).startsWith(day),
  refunds: new Map([...trade.refunds].filter(([id]) => china(trade.refundedAtMs.get(id) as number).startsWith(day))),
})

export const isIn = (trade: Trade, day: string): boolean => {
  const { paidToday, refunds } = on(trade, day)
  return paidToday || refunds.size > 0
}

type Billed = ReturnType<typeof on>

function tradeLines({
  order,
  tradeNo,
  subject,
  madeAtMs,
  paidAtMs,
  total,
  coupon,
  refunds,
  paidToday,
}: Billed): string[] {
  const line = (type: string, fen: number, received: number, number: string) =>
    [
      `${tradeNo}\t`,
      `${order}\t`,
      type,
      subject,
      china(madeAtMs),
      china(paidAtMs as number),
      ...['', '', '', '', '测试*(abc***@sandbox.com)'],
      yuan(fen),
      yuan(received),
      ...['0.00', '0.00', yuan(coupon), '0.00', '0.00', '', '0.00', '0.00'],
      number === '' ? '' : `${number}\t`,
      ...['-0.06', '0.00', ''],
    ].join(',')
  const back = [...refunds].map(([number, fen]) => line('退款', -fen, -fen, number))
  return [...(paidToday ? [line('交易', total, total - coupon, '')] : []), ...back]
}

function movementLines({ order, tradeNo, paidAtMs, total, refunds, paidToday }: Billed): string[] {
  const line = (type: string, income: string, expense: string) =>
    `9${tradeNo}\t,${tradeNo}\t,${order}\t,API 充值\t,${china(paidAtMs as number)},abc***@sandbox.com\t,${income},${expense},999.00,支付宝,${type},`
  const back = [...refunds.values()].flatMap(fen => [line('退款', '', `-${yuan(fen)}`), line('退费', '0.06', '')])
  // The newest first.
  return [...back, ...(paidToday ? [line('收费', '', '-0.06'), line('在线支付', yuan(total), '')] : [])]
}

export function billArchive(ledger: AlipayLedger, sellerId: string, type: string, day: string): Buffer {
  const trades = [...ledger.trades.values()].filter(trade => isIn(trade, day)).map(trade => on(trade, day))
  const name = type === 'trade' ? '业务' : '账务'
  const head = [
    `#支付宝${name}明细查询`,
    `#账号：[${sellerId}0156]`,
    `#起始日期：[${day} 00:00:00]   终止日期：[${day} 24:00:00]`,
    `#-----------------------------------------${name}明细列表----------------------------------------`,
  ]
  const lines =
    type === 'trade' ? [TRADE, FOREIGN, ...trades.flatMap(tradeLines)] : [MOVEMENT, ...trades.flatMap(movementLines)]
  const tail = [
    `#-----------------------------------------${name}明细列表结束------------------------------------`,
    `#导出时间：[${day} 09:12:01]`,
  ]
  const sums = [
    '#支付宝汇总',
    '门店编号,门店名称,交易订单总笔数,退款订单总笔数,订单金额（元）',
    `合计,,${trades.length},0,1.00`,
  ]
  return zip([
    [gbk(`${sellerId}0156_${day}_${name}明细(汇总).csv`), gbk(sums.join('\r\n'))],
    [gbk(`${sellerId}0156_${day}_${name}明细.csv`), gbk([...head, ...lines, ...tail].join('\r\n'))],
  ])
}
