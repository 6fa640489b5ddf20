/**
 * The end of an order whose payment does not fit it was tried again every minute, for as long as the payment waited for a person:
 * each time the provider was asked three times.
 */
// The bug behind these rows: a payment that does not fit asked about every minute.
import t from 'tap'
import { openDesk } from './support.ts'

const MINUTE_MS = 60_000
const MINUTES = 100
/** While the order can be paid it is asked about nine times, and at its end it is closed. */
const MOST = 12

t.test('a payment that does not fit is asked about by the schedule', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  const trade = desk.provider.trades.get(id)!
  trade.asked = 9_000
  desk.provider.pay(id)
  for (let i = 0; i < MINUTES; i++) {
    desk.clock.advance(MINUTE_MS)
    await desk.round()
  }
  t.match(await desk.store.pay.exceptions({ limit: 9 }), [{ kind: 'amount', orderId: id }])
  t.ok(desk.provider.asked <= MOST, `asked ${desk.provider.asked} times`)
})
