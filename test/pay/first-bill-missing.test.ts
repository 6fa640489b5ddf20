/**
 * As long as no bill of a method could be read, as where a permission was missing at the provider, only the newest was asked for:
 * the days before it, from the first order on, were compared by nobody.
 */
// The bug behind these rows: the first bill that could not be had.
import t from 'tap'
import type { RefundNotice } from '../../lib/pay/method.ts'
import { openDesk, passDay } from './support.ts'

t.test('all days since the first are made up for', async t => {
  const desk = await openDesk(t)
  const { provider } = desk
  provider.lines = []
  passDay(desk.clock) // whatever time of the day it is now
  provider.away = true
  await desk.bills()
  provider.away = false
  const { id: orderId } = await desk.begin('100')
  await desk.notices.take('alipay', provider.payment(orderId), 'callback')
  const amount = 10_000
  const back: RefundNotice = { kind: 'refund', refundId: null, providerId: 're', orderId, amount, state: 'done' }
  provider.away = true
  for (let day = 0; day < 3; day++) {
    passDay(desk.clock)
    await desk.bills()
  }
  provider.away = false
  provider.lines = [provider.payment(orderId), back]
  passDay(desk.clock)
  await desk.bills()
  t.equal(provider.billed.length, 5, 'the newest at the beginning, and one for each day that passed')
  t.same([...provider.billed].sort(), provider.billed)
  t.equal(await desk.balance(), 0)
})
