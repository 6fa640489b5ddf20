/** WeChat Pay's bill of a day: what is read of it, and bills that are not believed. */
import t from 'tap'
import { ProviderAway, ProviderRefuses } from '../../lib/pay/method.ts'
import { passDay } from './support.ts'
import { openWechat, type WechatShop } from './wechat-support.ts'

const CHINA_MS = 8 * 3_600_000
const dayOf = (shop: WechatShop) => new Date(shop.clock.now() + CHINA_MS).toISOString().slice(0, 10)
const read = (shop: WechatShop, day = dayOf(shop)) => Array.fromAsync(shop.method.bill(day))

t.test('payments and refunds, in fen, as they were asked for', async t => {
  const shop = await openWechat(t)
  const [one, two] = [await shop.begin('12.34'), await shop.begin('5')]
  await shop.begin('7') // nobody pays it
  shop.double.pay(one.id, 200)
  shop.double.pay(two.id)
  const ours = shop.double.sendBack(one.id, 1_000, 'R00000000000000000000000001')
  const theirs = shop.double.sendBack(two.id, 500)
  theirs.status = 'SUCCESS'
  const { mchid } = shop.double
  const paidAtMs = Math.floor(shop.clock.now() / 1_000) * 1_000
  const common = { kind: 'paid', currency: 'CNY', merchant: mchid, sandbox: true, providerId: null, paidAtMs }
  const lines = await read(shop)
  t.match(lines, [
    { ...common, orderId: one.id, amount: 1_234, transactionId: shop.double.trades.get(one.id)?.transactionId },
    { ...common, orderId: two.id, amount: 500 },
    { kind: 'refund', refundId: ours.outRefundNo, providerId: ours.refundId, amount: 1_000, state: 'undecided' },
    { kind: 'refund', refundId: null, providerId: theirs.refundId, orderId: two.id, amount: 500, state: 'done' },
  ])
  t.equal(lines.length, 4)
  t.same(await read(shop, '2020-01-31'), [], 'a day without payments has no bill')
})

t.test('what became of a refund that was on its way when the bill was made', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  const refund = shop.double.sendBack(id, 400)
  shop.double.bill = text => text.replace('ORIGINAL,`SUCCESS', 'ORIGINAL,`PROCESSING')
  for (const [status, state] of [
    ['SUCCESS', 'done'],
    ['CLOSED', 'released'],
    ['ABNORMAL', 'undecided'],
  ] as const) {
    refund.status = status
    t.match((await read(shop))[1], { kind: 'refund', state }, status)
  }
})

t.test('a bill finds what nobody told: a payment, and a refund that was made on WeChat Pay’s own pages', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  await shop.deliver(shop.double.paid(id))
  const refund = shop.double.sendBack(id, 400)
  refund.status = 'SUCCESS'
  const { id: lost } = await shop.begin('20')
  shop.double.pay(lost)
  passDay(shop.clock)
  await shop.desk.bills(() => false)
  t.equal(await shop.state(lost), 'credited')
  t.equal(await shop.balance(), 2_600)
  t.equal(shop.double.ledger, 2_600)
  t.same(await shop.exceptions(), [])
})

t.test('what the merchant sells elsewhere, and another application, are told apart', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('5')
  shop.double.pay(id)
  const trade = shop.double.trades.get(id)!
  const other = { ...trade, order: { ...trade.order, out_trade_no: 'SHOP-2030-000001' } }
  shop.double.trades.set('SHOP-2030-000001', other)
  t.match(await read(shop), [{ orderId: id }])
  const { mchid } = shop.double
  Object.assign(shop.double, { appid: 'wx0000000000000000' })
  t.match(await read(shop), [{ merchant: `${mchid} by the application wx0000000000000000` }])
})

t.test('bills that are not believed, or cannot be had', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('5')
  shop.double.pay(id)
  shop.double.spoilBill = text => text.replace('5.00', '9.00')
  await t.rejects(read(shop), ProviderAway, 'the hash is that of another file')
  shop.double.spoilBill = text => text.slice(0, -40)
  await t.rejects(read(shop), ProviderAway, 'a part is missing')
  shop.double.spoilBill = text => text
  for (const fault of ['unsigned', 'foreign key', 'old', '500', '429', 'reset', 'html'] as const) {
    shop.double.faults.push(fault)
    await t.rejects(read(shop), ProviderAway, fault)
  }
  t.match(await read(shop), [{ orderId: id }])
})

t.test('a bill with other columns: more are read over, a missing one is said', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('5')
  shop.double.pay(id)
  shop.double.bill = text => text.replace('费率备注', '费率备注,新的一列')
  t.match(await read(shop), [{ orderId: id, amount: 500 }])
  shop.double.bill = text => text.replace('订单金额,申请', '金额,申请')
  await t.rejects(read(shop), ProviderRefuses)
  shop.double.bill = text => text.replace('`5.00,`0.00,`\r', '`五,`0.00,`\r')
  t.match(await read(shop), [{ orderId: id, amount: -1 }], 'an amount that cannot be read equals none')
})
