/** What the audit of every store must find in money that came in: each way in which payments and orders can disagree. */
import type { NewUrl } from '../support/databases.ts'
import type { Test } from 'tap'
import { micro, ZERO } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { NewOrder } from '../../lib/store/payments/types.ts'
import { transferReference, idOfText, WEI } from '../../lib/terms/chain.ts'
import { fund, openDriver } from '../support/store.ts'
import { confirmTransfers, creditTransfers } from '../support/transfers.ts'
import { ACT, LOOSE, newOrder, newRefund, proofOf } from '../support/orders.ts'

const FEN = 10_000

async function credited(store: Store, order: NewOrder, source: 'callback' | 'operator' = 'callback'): Promise<string> {
  await store.pay.makeOrder(order, LOOSE, ACT)
  const { id, method, asked: amount, currency } = order
  await store.pay.proveOrder(proofOf(id, `tx-${id}`, { method, amount, currency, source }))
  await store.pay.creditOrder(id, order.amount, '', ACT)
  return id
}

const CHAIN = 56
const HOUR_MS = 3_600_000
const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

const ADDRESS = `0x${'2'.repeat(40)}`

/**
 * Transfers of 3 and 2 tokens at 7 CNY each, the second one at a quote of 8 CNY for one token; and the smallest one there is. One
 * token of the first was sent back, and another one is to be.
 */
async function transferred(
  store: Store,
  accountId: number,
): Promise<[plain: string, quoted: string, smallest: string]> {
  const now = Date.now()
  await store.pay.setPayRate({ currency: 'USDT', rate: 7_000_000, fromMs: now - HOUR_MS, untilMs: now + HOUR_MS }, ACT)
  const quote = { accountId, amount: micro(8_000_000), wei: WEI, rate: 8_000_000, fromMs: 2_000, untilMs: 3_000 }
  await store.chain.makeQuote(quote, 1, ACT)
  const transfer = (n: number, value: bigint) => ({
    tx: hash(n),
    logIndex: n,
    from: `0x${'1'.repeat(40)}`,
    to: ADDRESS,
    value,
    block: { no: n, hash: hash(n) },
    accountId,
    blockAtMs: n * 1_000,
    node: 1,
    sandbox: true,
  })
  const found = [transfer(1, 3n * WEI), transfer(2, 2n * WEI), transfer(3, 1n)] as const
  await store.chain.addTransfers(CHAIN, found)
  await confirmTransfers(store, CHAIN)
  await creditTransfers(store, CHAIN, accountId, ZERO, ACT)
  await store.chain.issueAddress({ chainId: CHAIN, wallet: 'w', accountId, fromBlock: 0 }, () => ADDRESS, ACT)
  const [{ id: orderId } = { id: '' }] = await store.chain.transferOrders({ accountId, afterSeq: 0, limit: 1 })
  for (const id of ['sent', 'unsent']) {
    const about = { method: 'usdt', kind: 'refund', orderId, providerId: null, reason: 'asked for' } as const
    const refund = { id, ...about, amount: micro(700 * FEN), receiver: `0x${'3'.repeat(40)}` }
    await store.pay.freeze(refund, false, null, ACT)
  }
  await store.pay.endByHand('usdt', 'sent', { tx: hash(9) }, ACT)
  return found.map(one => transferReference(CHAIN, one)) as [string, string, string]
}

export function payAuditSuite(t: Test, newUrl: NewUrl): void {
  t.test('payments add up, and each thing that is broken shows', async t => {
    const url = await newUrl(t)
    const store = openStore(url, { secret: 'x' })
    const driver = openDriver(url)
    t.teardown(() => Promise.all([store.close(), driver.close()]))
    const { account } = await fund(store, 'payer', 7 * FEN)
    const { account: other } = await fund(store, 'other', 0)
    const first = await credited(store, newOrder(account.id))
    const byHand = await credited(store, newOrder(account.id), 'operator')
    const foreign = { currency: 'USD', rate: 7_000_003, asked: 72, amount: micro(500 * FEN) } as const
    const dollars = await credited(store, newOrder(account.id, { ...foreign, method: 'card' }))
    const refund = newRefund(first, 'back', 200)
    await store.pay.freeze(refund, false, null, ACT)
    await store.pay.endFreeze('alipay', 'back', 'done', ACT)
    await store.pay.freeze(newRefund(first, 'open', 100), false, null, ACT)
    await store.pay.freeze(newRefund(byHand, 'lost', 50, { kind: 'dispute' }), true, null, ACT)
    await store.pay.endFreeze('alipay', 'lost', 'done', ACT)
    const { account: holder } = await fund(store, 'holder', 0)
    const [plain, quoted, smallest] = await transferred(store, holder.id)
    const unpaid = newOrder(other.id)
    await store.pay.makeOrder(unpaid, LOOSE, ACT)
    const sound = await store.audit()
    t.match(sound, {
      ok: true,
      imbalance: 0,
      unfit: [],
      credits: (7 + 1_500 - 200 - 100 - 50 + 2_100 + 1_500 - 1_400) * FEN,
      byHand: (7 + 500) * FEN,
      resolved: 500 * FEN,
      proven: (1_000 + 2_100 + 1_500) * FEN,
    })

    const of = (id: string) => `WHERE id = '${id}'`
    const entry = (id: string) => `WHERE reference = 'topup:${id}'`
    const move = (from: string, to: number) => `UPDATE entries SET account_id = ${to} ${from}`
    const order = `topup:${first}`
    const place = (reference: string) => `WHERE log_index = ${reference.split(':').at(-1)}`
    const transfer = (reference: string) => `WHERE id = '${idOfText('T', reference)}'`
    const paid = (reference: string) => `WHERE reference = '${reference}'`
    /** What is done, what undoes it, the account that shows, and the references that are named. */
    const rows: [name: string, broken: string, mended: string, accounts: number[], unfit: string[]][] = [
      [
        'an order that says more than its entry',
        `UPDATE pay_orders SET credited = credited + 1 ${of(first)}`,
        `UPDATE pay_orders SET credited = credited - 1 ${of(first)}`,
        [account.id],
        [order],
      ],
      [
        'a credited order without an entry',
        `UPDATE pay_orders SET state = 'credited', credited = 1, credited_at_ms = 1 ${of(unpaid.id)}`,
        `UPDATE pay_orders SET state = 'created', credited = 0, credited_at_ms = NULL ${of(unpaid.id)}`,
        [other.id],
        [`topup:${unpaid.id}`],
      ],
      [
        'money of an order that is not credited',
        `UPDATE pay_orders SET credited = 1 ${of(unpaid.id)}`,
        `UPDATE pay_orders SET credited = 0 ${of(unpaid.id)}`,
        [other.id],
        [`topup:${unpaid.id}`],
      ],
      [
        'a payment without an order',
        `UPDATE entries SET payment = 'topup:gone', reference = 'topup:gone' ${entry(first)}`,
        `UPDATE entries SET payment = 'topup:${first}', reference = 'topup:${first}' WHERE reference = 'topup:gone'`,
        [account.id],
        [order, 'topup:gone'],
      ],
      [
        'a payment from nowhere',
        `UPDATE entries SET payment = 'gift', reference = 'gift' ${entry(first)}`,
        `UPDATE entries SET payment = 'topup:${first}', reference = 'topup:${first}' WHERE reference = 'gift'`,
        [account.id],
        ['gift', order],
      ],
      [
        'the payment of another account',
        move(entry(first), other.id),
        move(entry(first), account.id),
        [account.id, other.id],
        [order, order],
      ],
      [
        'a proof of another amount',
        `UPDATE pay_proofs SET amount = amount - 1 WHERE order_id = '${first}'`,
        `UPDATE pay_proofs SET amount = amount + 1 WHERE order_id = '${first}'`,
        [account.id],
        [order],
      ],
      [
        'a proof in another currency',
        `UPDATE pay_proofs SET currency = 'EUR' WHERE order_id = '${dollars}'`,
        `UPDATE pay_proofs SET currency = 'USD' WHERE order_id = '${dollars}'`,
        [account.id],
        [`topup:${dollars}`],
      ],
      [
        'no proof',
        `UPDATE pay_proofs SET order_id = 'x' WHERE order_id = '${dollars}'`,
        `UPDATE pay_proofs SET order_id = '${dollars}' WHERE order_id = 'x'`,
        [account.id],
        [`topup:${dollars}`],
      ],
      [
        'more went back than there was',
        `UPDATE pay_orders SET credited = 299 * ${FEN} ${of(first)}`,
        `UPDATE pay_orders SET credited = 500 * ${FEN} ${of(first)}`,
        [account.id],
        [order],
      ],
      [
        'frozen money that no refund has',
        `UPDATE pay_orders SET frozen = frozen + 1 ${of(first)}`,
        `UPDATE pay_orders SET frozen = frozen - 1 ${of(first)}`,
        [account.id],
        [order],
      ],
      [
        'a refund that the order does not know of',
        `UPDATE pay_refunds SET state = 'frozen' ${of('back')}`,
        `UPDATE pay_refunds SET state = 'done' ${of('back')}`,
        [account.id],
        [order],
      ],
      [
        'a lost dispute booked as a refund',
        `UPDATE pay_refunds SET kind = 'refund' ${of('lost')}`,
        `UPDATE pay_refunds SET kind = 'dispute' ${of('lost')}`,
        [account.id],
        [`topup:${byHand}`],
      ],
      [
        'a freeze without its entry',
        `UPDATE entries SET kind = 'adjustment' WHERE reference = 'freeze:alipay:open'`,
        `UPDATE entries SET kind = 'freeze' WHERE reference = 'freeze:alipay:open'`,
        [account.id],
        [order],
      ],
      [
        'an order that is paid and has its money',
        `UPDATE pay_orders SET state = 'paid' ${of(first)}`,
        `UPDATE pay_orders SET state = 'credited' ${of(first)}`,
        [account.id],
        [order],
      ],
      [
        'an order of more than its payer was asked for',
        `UPDATE pay_orders SET amount = amount * 9, credited = credited * 9 ${of(dollars)}`,
        `UPDATE pay_orders SET amount = amount / 9, credited = credited / 9 ${of(dollars)}`,
        [account.id],
        [`topup:${dollars}`],
      ],
      [
        'tokens that were sent, and are to be sent again',
        `UPDATE pay_refunds SET state = 'frozen', tx = NULL ${of('sent')}`,
        `UPDATE pay_refunds SET state = 'done', tx = '${hash(9)}' ${of('sent')}`,
        [holder.id],
        [plain],
      ],
      [
        'tokens that were not sent, and count as sent',
        `UPDATE pay_refunds SET state = 'done', tx = '${hash(8)}' ${of('unsent')}`,
        `UPDATE pay_refunds SET state = 'frozen', tx = NULL ${of('unsent')}`,
        [holder.id],
        [plain],
      ],
      [
        'tokens that were sent, and the money is in the balance',
        `UPDATE pay_refunds SET state = 'released' ${of('sent')}`,
        `UPDATE pay_refunds SET state = 'done' ${of('sent')}`,
        [holder.id],
        [plain],
      ],
      [
        'tokens that were sent without a transaction',
        `UPDATE pay_refunds SET tx = NULL ${of('sent')}`,
        `UPDATE pay_refunds SET tx = '${hash(9)}' ${of('sent')}`,
        [holder.id],
        [plain],
      ],
      [
        'more tokens to send than were paid for',
        `UPDATE pay_refunds SET asked = asked + 10000 ${of('unsent')}`,
        `UPDATE pay_refunds SET asked = asked - 10000 ${of('unsent')}`,
        [holder.id],
        [plain],
      ],
      [
        'a refund of tokens that says not where they went',
        `UPDATE pay_refunds SET receiver = NULL ${of('sent')}`,
        `UPDATE pay_refunds SET receiver = '0x${'3'.repeat(40)}' ${of('sent')}`,
        [holder.id],
        [plain],
      ],
      [
        'a refund of tokens from another account',
        `UPDATE pay_refunds SET account_id = ${other.id} ${of('unsent')}`,
        `UPDATE pay_refunds SET account_id = ${holder.id} ${of('unsent')}`,
        [other.id],
        [plain],
      ],
      [
        'a refund that takes from one what another one gives',
        `UPDATE pay_refunds SET amount = amount + CASE id WHEN 'sent' THEN 1 ELSE -1 END WHERE method = 'usdt'`,
        `UPDATE pay_refunds SET amount = amount - CASE id WHEN 'sent' THEN 1 ELSE -1 END WHERE method = 'usdt'`,
        [holder.id],
        [plain],
      ],
      [
        'the smallest transfer, of an account whose address it is not',
        `UPDATE pay_orders SET account_id = ${other.id} ${transfer(smallest)}`,
        `UPDATE pay_orders SET account_id = ${holder.id} ${transfer(smallest)}`,
        [other.id],
        [smallest],
      ],
      [
        'a transfer of more tokens',
        `UPDATE pay_orders SET tokens = '${4n * WEI}' ${transfer(plain)}`,
        `UPDATE pay_orders SET tokens = '${3n * WEI}' ${transfer(plain)}`,
        [holder.id],
        [plain],
      ],
      [
        'a transfer at another rate',
        `UPDATE pay_orders SET rate = rate + 1 ${transfer(plain)}`,
        `UPDATE pay_orders SET rate = rate - 1 ${transfer(plain)}`,
        [holder.id],
        [plain],
      ],
      [
        'a transfer at a quote of more tokens',
        `UPDATE chain_transfers SET quoted = '${2n * WEI}' ${place(quoted)}`,
        `UPDATE chain_transfers SET quoted = '${WEI}' ${place(quoted)}`,
        [holder.id],
        [quoted],
      ],
      [
        'a transfer that says more than its entry',
        `UPDATE pay_orders SET credited = credited + 1 ${transfer(plain)}`,
        `UPDATE pay_orders SET credited = credited - 1 ${transfer(plain)}`,
        [holder.id],
        [plain],
      ],
      [
        'a transfer that waits, and is credited',
        `UPDATE pay_orders SET state = 'paid' ${transfer(plain)}`,
        `UPDATE pay_orders SET state = 'credited' ${transfer(plain)}`,
        [holder.id],
        [plain],
      ],
      [
        'a transfer of another account',
        `UPDATE pay_orders SET account_id = ${other.id} ${transfer(plain)}`,
        `UPDATE pay_orders SET account_id = ${holder.id} ${transfer(plain)}`,
        [holder.id, other.id],
        [plain, plain],
      ],
      [
        'an order under the reference of another transfer',
        `UPDATE pay_orders SET reference = 'bsc:56:0x:7' ${transfer(smallest)}`,
        `UPDATE pay_orders SET reference = '${smallest}' ${transfer(smallest)}`,
        [holder.id],
        ['bsc:56:0x:7'],
      ],
      [
        'the entry of a transfer, of more',
        `UPDATE entries SET amount = amount + 1 ${paid(quoted)}`,
        `UPDATE entries SET amount = amount - 1 ${paid(quoted)}`,
        [holder.id],
        [quoted],
      ],
      [
        'the entry of a transfer under another name',
        `UPDATE entries SET payment = 'bsc:56:0x:1', reference = 'bsc:56:0x:1' ${paid(plain)}`,
        `UPDATE entries SET payment = '${plain}', reference = '${plain}' ${paid('bsc:56:0x:1')}`,
        [holder.id],
        [plain, 'bsc:56:0x:1'],
      ],
      [
        'the entry of a transfer for another account',
        move(paid(plain), other.id),
        move(paid(plain), holder.id),
        [holder.id, other.id],
        [plain, plain],
      ],
      [
        'the entry of a transfer as one by hand',
        `UPDATE entries SET kind = 'topup', payment = NULL ${paid(plain)}`,
        `UPDATE entries SET kind = 'payment', payment = '${plain}' ${paid(plain)}`,
        [holder.id],
        [plain],
      ],
    ]
    for (const [name, broken, mended, accounts, unfit] of rows) {
      await driver.run('test', broken, [])
      const audit = await store.audit()
      t.equal(audit.ok, false, name)
      t.same([...audit.broken].sort(), [...accounts].sort(), name)
      t.ok(audit.imbalance > 0, name)
      t.same(audit.unfit.toSorted(), unfit.toSorted(), `${name}: named`)
      await driver.run('test', mended, [])
      t.same(await store.audit(), sound, `${name}: mended`)
    }
  })
}
