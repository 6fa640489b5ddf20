/** Alipay's bills: archives, tables in GBK, and what of them is a payment or a refund of ours. */
import t, { type Test } from 'tap'
import { unzip } from '../../lib/pay/alipay/trades.ts'
import type { BillLine } from '../../lib/pay/method.ts'
import { AlipayDouble, type Fault } from './doubles/alipay.ts'
import { china } from '../../tools/simulator/pay/alipay-ledger.ts'
import { gbk, zip } from '../../tools/simulator/pay/archive.ts'
import { openShop } from './shop.ts'

const all = async (archive: Buffer): Promise<string[]> =>
  (await Array.fromAsync(unzip(archive))).map(file => file.toString('utf8'))

// Written by another program (Python's zipfile): packed, stored, empty and with a comment; and as a stream.
const PACKED =
  'UEsDBBQAAAAIANlhdl3jUT2NCgAAABcAAAAFAAAAYS50eHTLSM3JyVfIQCcBUEsDBBQAAAAAANlhdl0L+UNWBgAAAAYAAAAFAAAAYi50eHRzdG9yZWRQSwMEFAAAAAAA2WF2XQAAAAAAAAAAAAAAAAUAAABlbXB0eVBLAQIUAxQAAAAIANlhdl3jUT2NCgAAABcAAAAFAAAAAAAAAAAAAACAAQAAAABhLnR4dFBLAQIUAxQAAAAAANlhdl0L+UNWBgAAAAYAAAAFAAAAAAAAAAAAAACAAS0AAABiLnR4dFBLAQIUAxQAAAAAANlhdl0AAAAAAAAAAAAAAAAFAAAAAAAAAAAAAACAAVYAAABlbXB0eVBLBQYAAAAAAwADAJkAAAB5AAAACQBhIGNvbW1lbnQ='
const STREAMED =
  'UEsDBBQACAgIANlhdl0AAAAAAAAAAAAAAAAQAAAA5Lia5Yqh5piO57uGLmNzdisuKUpNzE1NUSgmggEAUEsHCAyNUqUOAAAALQAAAFBLAQIUAxQACAgIANlhdl0MjVKlDgAAAC0AAAAQAAAAAAAAAAAAAACAAQAAAADkuJrliqHmmI7nu4YuY3N2UEsFBgAAAAABAAEAPgAAAEwAAAAAAA=='

t.test('archives', async t => {
  t.same(await all(Buffer.from(PACKED, 'base64')), ['hello hello hello hello', 'stored', ''])
  t.same(await all(Buffer.from(STREAMED, 'base64')), ['streamed '.repeat(5)])
  const ours = zip([[gbk('业务.csv'), gbk('交易')]])
  t.same(
    (await Array.fromAsync(unzip(ours))).map(file => new TextDecoder('gbk').decode(file)),
    ['交易'],
  )
})

t.test('archives that are broken', async t => {
  const good = zip([[Buffer.from('a'), Buffer.alloc(1_000, 'abc')]])
  const at = (bytes: Buffer, offset: number, value: number) => {
    const changed = Buffer.from(bytes)
    changed[offset < 0 ? changed.length + offset : offset] = value
    return changed
  }
  const directory = good.indexOf(Buffer.from([0x50, 0x4b, 1, 2]))
  const rows: [name: string, archive: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['no archive', Buffer.from('<html>'.repeat(100))],
    ['cut', good.subarray(0, good.length - 30)],
    ['without its beginning', good.subarray(20)],
    ['with other contents', at(good, 40, 0xff)],
    ['with another checksum', at(good, directory + 16, good[directory + 16]! ^ 1)],
    ['with another size', at(good, directory + 24, 1)],
    ['that says it is larger than is allowed', at(good, directory + 27, 0x7f)],
    ['encrypted', at(good, directory + 8, 0x09)],
    ['packed in another way', at(good, directory + 10, 12)],
    ['with too many files', at(good, -12, 200)],
  ]
  for (const [name, archive] of rows) await t.rejects(all(archive), Error, name)
})

async function open(t: Test) {
  const alipay = await AlipayDouble.open(t)
  const shop = await openShop(t, { alipay: alipay.section })
  alipay.ledger.now = () => shop.clock.now()
  const paid = async () => {
    const { id, shown } = await shop.begin()
    await fetch(shown?.redirect as string)
    alipay.ledger.pay(id, 1_200)
    return id
  }
  const today = china(shop.clock.now()).slice(0, 10)
  const bill = (day = today): Promise<BillLine[]> => Array.fromAsync(shop.method.bill(day))
  return { alipay, shop, paid, bill }
}

t.test('a day', async t => {
  const { alipay, shop, paid, bill } = await open(t)
  const [first, second] = [await paid(), await paid()]
  const number = alipay.ledger.refundThere(second, 3_000)
  const lines = await bill()
  const [payment, other, refund] = lines
  t.equal(lines.length, 3, 'no trades of others, no fees, and no payment twice')
  t.match(payment, {
    kind: 'paid',
    orderId: first,
    transactionId: alipay.ledger.trade(first).tradeNo,
    amount: 10_000,
    currency: 'CNY',
    merchant: alipay.sellerId,
    sandbox: true,
    paidAtMs: Math.floor((alipay.ledger.trade(first).paidAtMs as number) / 1000) * 1000,
  })
  t.match(other, { kind: 'paid', orderId: second, amount: 10_000 })
  t.match(refund, { kind: 'refund', orderId: second, amount: 3_000, refundId: null, state: 'done' })

  await shop.desk.notices.take('alipay', payment as BillLine, 'bill')
  t.match(await shop.order(first), { state: 'credited' }, 'a line is as good as a notice')
  await alipay.notify(second)
  await shop.desk.notices.take('alipay', refund as BillLine, 'bill')
  await alipay.notify(second, number)
  t.equal(await shop.balance(), 17_000, 'the refund is the same one in the bill and in its notice')
  t.same(await bill('2030-01-01'), [], 'another day')
})

t.test('merchants that have one of the two bills only', async t => {
  const { alipay, paid, bill } = await open(t)
  const id = await paid()
  alipay.bills = ['trade']
  t.match(await bill(), [{ orderId: id, amount: 10_000 }])
  alipay.bills = ['signcustomer']
  alipay.ledger.refundThere(id, 3_000) // and a part of the fee comes back
  const { tradeNo } = alipay.ledger.trade(id)
  t.match(await bill(), [{ kind: 'paid', orderId: id, amount: 10_000, transactionId: tradeNo }])
  alipay.bills = []
  await t.rejects(bill(), { name: 'ProviderRefuses', message: /NO_PERMISSION/ })
})

t.test('bills that are not to be believed, or not to be had', async t => {
  const { alipay, shop, paid, bill } = await open(t)
  await paid()
  for (const fault of ['unsigned', 'stranger', 'drop', 'busy'] satisfies Fault[]) {
    alipay.faults.push(fault)
    await t.rejects(bill(), { name: 'ProviderAway' }, fault)
  }
  Object.assign(alipay, { sellerId: '2088000000000002' })
  await t.rejects(bill(), { name: 'ProviderRefuses', message: /2088000000000002/ }, 'of another account')
  alipay.ledger.now = () => 0
  await t.rejects(bill(), { name: 'ProviderRefuses' }, 'our clock is wrong')
  alipay.ledger.now = () => shop.clock.now()
})
