/** Caps and budgets as the admin API sets and shows them. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { periodAt, periodName } from '../../lib/base/periods.ts'
import { limitPurse } from '../../lib/store/books/purses.ts'
import { settlement, usageRow } from '../support/store.ts'
import { openOps, type Row } from './support.ts'

for (const [what, field, kind] of [
  ['keys', 'cap', 'k'],
  ['accounts', 'budget', 'b'],
] as const)
  t.test(`the ${field} of ${what}`, async t => {
    const { admin, store, clock } = await openOps(t)
    const made = await admin('POST', '/admin/accounts', { name: 'acme', balance: 10 })
    const key = await admin('POST', '/admin/keys', { account: 'acme', name: 'laptop' })
    t.match([made.status, key.status], [201, 201])
    const { id } = key.json as { id: number }
    const path = what === 'keys' ? `/admin/keys/${id}` : '/admin/accounts/acme'
    const set = async (value: unknown) => {
      const { status, json } = await admin('PATCH', path, { [field]: value })
      t.equal(status, 200, JSON.stringify(value))
      const { used_period, renews_at, [field]: shown } = json as Row
      return [shown, used_period, renews_at]
    }
    const endOf = (every: 'day' | 'week' | 'month') => {
      const { endMs } = periodAt(every, clock.now(), 'Asia/Shanghai')
      return new Date(endMs).toISOString()
    }
    const zero = '0.000000'
    t.strictSame(await set(5), ['5.000000', null, null])
    for (const every of ['month', 'week', 'day'] as const) {
      t.strictSame(await set({ amount: '2.5', every }), [{ amount: '2.500000', every }, zero, endOf(every)])
      t.strictSame(await set(5), ['5.000000', null, null], 'at once, and back')
    }
    await set({ amount: 3, every: 'day' })
    t.strictSame(
      await set({ amount: 4, every: 'month' }),
      [{ amount: '4.000000', every: 'month' }, zero, endOf('day')],
      'as it was set; the running day ends first',
    )
    const stored = (await store.keys.byId(id))!
    const owner = what === 'keys' ? id : stored.accountId
    const running = limitPurse(kind, owner, periodName(periodAt('day', clock.now(), 'Asia/Shanghai')))
    await store.holders.register({ id: 'h', host: 'h', beat: 0 })
    t.match(await store.books.lease(running, 'h', micro(4_000_000), micro(4_000_000), false), { granted: 4_000_000 })
    const charge = settlement(usageRow('r1', stored, 7), 'h', 0)
    await store.books.settle([{ ...charge, limits: [{ purse: running, fromLease: micro(7) }] }])
    t.match((await admin('GET', `/admin/${what}`)).json, {
      data: [{ used_period: '0.000007', renews_at: endOf('day') }],
    })
    clock.step(86_400_000)
    t.match((await admin('GET', `/admin/${what}`)).json, { data: [{ used_period: zero, renews_at: endOf('month') }] })
    t.strictSame(await set(null), [null, null, null])
    t.equal((await admin('PATCH', path, { [field]: { amount: 1, every: 'hour' } })).status, 400)
    const fresh = { amount: 1, every: 'week' }
    const body = what === 'keys' ? { account: 'acme', name: 'new', cap: fresh } : { name: 'new', budget: fresh }
    t.match((await admin('POST', `/admin/${what}`, body)).json, { [field]: { amount: '1.000000', every: 'week' } })
  })
