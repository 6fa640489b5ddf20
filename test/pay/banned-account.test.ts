/** A banned account could begin orders, and pay for what it could not use. Money that was on its way is credited all the same. */
// The bug behind these rows: money of a banned account.
import t from 'tap'
import { ACT, faultOf, openDesk } from './support.ts'

t.test('who is banned begins no order, and gets what was paid before', async t => {
  const desk = await openDesk(t)
  const { store, account, provider, notices } = desk
  const { id } = await desk.begin('100')
  provider.pay(id)
  await store.accounts.update(account.id, { status: 'banned' }, ACT)
  const banned = (await store.accounts.byName(account.name)) as typeof account
  t.equal(await faultOf(desk.orders.begin(banned, 'alipay', '100', '', ACT)), 'forbidden')
  t.equal(await notices.take('alipay', provider.payment(id), 'callback'), 'credited')
  t.equal(await desk.balance(), 10_000)
})
