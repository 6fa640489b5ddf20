/**
 * The address to which Alipay sends a payer back carries signed fields, in the same form as a notification. Sent to the address of
 * callbacks it credits nothing, but it made the health of the way to pay say that callbacks come, and wrote to the store each time.
 */
// The bug behind these rows: a payers way back taken for a callback.
import t from 'tap'
import { AlipayDouble } from './doubles/alipay.ts'
import { openShop } from './shop.ts'

t.test('signed fields that are no notification leave no trace', async t => {
  const alipay = await AlipayDouble.open(t)
  const shop = await openShop(t, { alipay: alipay.section })
  alipay.ledger.now = () => shop.clock.now()
  const { id } = await shop.begin('100')
  alipay.ledger.scan(id)
  alipay.ledger.pay(id)
  const { notify_type: _, notify_id: __, trade_status: ___, ...fields } = alipay.notice(id)
  const body = alipay.signed({ ...fields, method: 'alipay.trade.page.pay.return' })
  const answer = await fetch(`${shop.url}/pay/alipay`, { method: 'POST', body: new URLSearchParams(body) })
  t.equal(answer.status, 200)
  t.same(shop.verdicts(), { taken: 1 })
  t.same(await shop.store.pay.payMarks(), [])
  t.equal(await shop.balance(), 0)
  t.same(await alipay.notify(id), ['200 success'])
  t.match(await shop.store.pay.payMarks(), [{ what: 'callback' }])
})
