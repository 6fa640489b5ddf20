/** What the audit of every store must find in money that came in: each way in which payments and orders can disagree. */
import type { Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { openStore } from '../../lib/store/open.ts'
import type { NewOrder, Store } from '../../lib/store/store.ts'
import { fund } from '../support/store.ts'
import { openDriver } from './old-log.ts'
import { ACT, LOOSE, newOrder, newRefund, proofOf } from './pay-suite.ts'

const FEN = 10_000

async function credited(store: Store, order: NewOrder, source: 'callback' | 'operator' = 'callback'): Promise<string> {
  await store.pay.makeOrder(order, LOOSE, ACT)
  const { id, method, asked: amount, currency } = order
  await store.pay.proveOrder(proofOf(id, `tx-${id}`, { method, amount, currency, source }))
  await store.pay.creditOrder(id, order.amount, '', ACT)
  return id
}

export function payAuditSuite(t: Test, newUrl: () => Promise<string>): void {
  t.test('payments add up, and each thing that is broken shows', async t => {
    const url = await newUrl()
    const store = openStore(url, { secret: 'x' })
    const driver = openDriver(url)
    t.teardown(() => Promise.all([store.close(), driver.close()]))
    await store.migrate()
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
    const unpaid = newOrder(other.id)
    await store.pay.makeOrder(unpaid, LOOSE, ACT)
    const sound = await store.audit()
    t.match(sound, {
      ok: true,
      imbalance: 0,
      credits: (7 + 1_500 - 200 - 100 - 50) * FEN,
      byHand: (7 + 500) * FEN,
      resolved: 500 * FEN,
      proven: 1_000 * FEN,
    })

    const of = (id: string) => `WHERE id = '${id}'`
    const entry = (id: string) => `WHERE reference = 'topup:${id}'`
    const move = (from: string, to: number) => `UPDATE entries SET account_id = ${to} ${from}`
    /** What is done, what undoes it, and the account that shows. */
    const rows: [name: string, broken: string, mended: string, accounts: number[]][] = [
      [
        'an order that says more than its entry',
        `UPDATE pay_orders SET credited = credited + 1 ${of(first)}`,
        `UPDATE pay_orders SET credited = credited - 1 ${of(first)}`,
        [account.id],
      ],
      [
        'a credited order without an entry',
        `UPDATE pay_orders SET state = 'credited', credited = 1, credited_at_ms = 1 ${of(unpaid.id)}`,
        `UPDATE pay_orders SET state = 'created', credited = 0, credited_at_ms = NULL ${of(unpaid.id)}`,
        [other.id],
      ],
      [
        'money of an order that is not credited',
        `UPDATE pay_orders SET credited = 1 ${of(unpaid.id)}`,
        `UPDATE pay_orders SET credited = 0 ${of(unpaid.id)}`,
        [other.id],
      ],
      [
        'a payment without an order',
        `UPDATE entries SET payment = 'topup:gone', reference = 'topup:gone' ${entry(first)}`,
        `UPDATE entries SET payment = 'topup:${first}', reference = 'topup:${first}' WHERE reference = 'topup:gone'`,
        [account.id],
      ],
      [
        'a payment from nowhere',
        `UPDATE entries SET payment = 'gift', reference = 'gift' ${entry(first)}`,
        `UPDATE entries SET payment = 'topup:${first}', reference = 'topup:${first}' WHERE reference = 'gift'`,
        [account.id],
      ],
      [
        'the payment of another account',
        move(entry(first), other.id),
        move(entry(first), account.id),
        [account.id, other.id],
      ],
      [
        'a proof of another amount',
        `UPDATE pay_proofs SET amount = amount - 1 WHERE order_id = '${first}'`,
        `UPDATE pay_proofs SET amount = amount + 1 WHERE order_id = '${first}'`,
        [account.id],
      ],
      [
        'a proof in another currency',
        `UPDATE pay_proofs SET currency = 'EUR' WHERE order_id = '${dollars}'`,
        `UPDATE pay_proofs SET currency = 'USD' WHERE order_id = '${dollars}'`,
        [account.id],
      ],
      [
        'no proof',
        `UPDATE pay_proofs SET order_id = 'x' WHERE order_id = '${dollars}'`,
        `UPDATE pay_proofs SET order_id = '${dollars}' WHERE order_id = 'x'`,
        [account.id],
      ],
      [
        'more went back than there was',
        `UPDATE pay_orders SET credited = 299 * ${FEN} ${of(first)}`,
        `UPDATE pay_orders SET credited = 500 * ${FEN} ${of(first)}`,
        [account.id],
      ],
      [
        'frozen money that no refund has',
        `UPDATE pay_orders SET frozen = frozen + 1 ${of(first)}`,
        `UPDATE pay_orders SET frozen = frozen - 1 ${of(first)}`,
        [account.id],
      ],
      [
        'a refund that the order does not know of',
        `UPDATE pay_refunds SET state = 'frozen' ${of('back')}`,
        `UPDATE pay_refunds SET state = 'done' ${of('back')}`,
        [account.id],
      ],
      [
        'a lost dispute booked as a refund',
        `UPDATE pay_refunds SET kind = 'refund' ${of('lost')}`,
        `UPDATE pay_refunds SET kind = 'dispute' ${of('lost')}`,
        [account.id],
      ],
      [
        'a freeze without its entry',
        `UPDATE entries SET kind = 'adjustment' WHERE reference = 'freeze:alipay:open'`,
        `UPDATE entries SET kind = 'freeze' WHERE reference = 'freeze:alipay:open'`,
        [account.id],
      ],
    ]
    for (const [name, broken, mended, accounts] of rows) {
      await driver.run('test', broken, [])
      const audit = await store.audit()
      t.equal(audit.ok, false, name)
      t.same([...audit.broken].sort(), [...accounts].sort(), name)
      t.ok(audit.imbalance > 0, name)
      await driver.run('test', mended, [])
      t.same(await store.audit(), sound, `${name}: mended`)
    }
  })
}
