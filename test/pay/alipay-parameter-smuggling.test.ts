/**
 * The text of a notification that Alipay signs does not tell where a field ends. Written as a part of the field before it, the
 * amount that was sent back could not be seen, and the notice of a refund was taken for that of a payment.
 */
// The bug behind these rows: a refund hidden in another field.
import t from 'tap'
import { AlipayDouble } from './doubles/alipay.ts'
import { openShop } from './shop.ts'

t.test('a field that hides in the value of another one', async t => {
  const alipay = await AlipayDouble.open(t)
  const shop = await openShop(t, { alipay: alipay.section })
  alipay.ledger.now = () => shop.clock.now()
  const { id } = await shop.begin('100')
  alipay.ledger.scan(id)
  alipay.ledger.pay(id)
  const number = alipay.ledger.refundThere(id, 9_900)
  const notice = alipay.signed(alipay.notice(id, number))
  const fields = [...new URLSearchParams(notice)].filter(([name]) => !name.startsWith('sign'))
  const sorted = fields.map(([name]) => name).sort()
  const before = sorted[sorted.indexOf('refund_fee') - 1] as string
  const form = new URLSearchParams(notice)
  form.set(before, `${form.get(before)}&refund_fee=${form.get('refund_fee')}`)
  form.delete('refund_fee')
  t.equal(form.get('trade_status'), 'TRADE_SUCCESS')
  const answer = await fetch(`${shop.url}/pay/alipay`, { method: 'POST', body: form })
  t.equal(answer.status, 400)
  t.equal(await shop.balance(), 0)
  t.same(shop.verdicts(), { form: 1 })
})
