/**
 * Quotes, which cost nobody anything, were bounded by the rate of calls only: a member could write some hundred thousand lines
 * a day into the log of actions. And whoever began to pay took a seat of the reports: two orders at a provider that did not
 * answer kept everybody's pages waiting.
 */
// The bug behind these rows: quotes without end.
import t from 'tap'
import { USDT_CALLS } from '../../lib/console/api/usdt.ts'
import { ORDERS } from '../../lib/console/api/orders.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { ACT, faultOf } from './support.ts'
import { openUsdt } from './usdt-support.ts'

t.test('quotes of an hour have a bound', { skip: ANVIL_MISSING ?? false }, async t => {
  const shop = await openUsdt(t)
  await shop.rate(7)
  for (let i = 0; i < 20; i++) await shop.usdt.quote(shop.account, '40', ACT)
  t.equal(await faultOf(shop.usdt.quote(shop.account, '40', ACT)), 'throttled')
})

t.test('who waits for a provider or for a node takes no seat of a report', async t => {
  const paying = [...ORDERS, ...USDT_CALLS].filter(({ effect, who }) => effect === 'write' && who !== 'operator')
  t.same(paying.map(({ id }) => id).sort(), ['orders.cancel', 'orders.create', 'usdt.address', 'usdt.quote'])
  for (const { id, limit } of paying) t.not(limit, 'heavy', id)
})
