/** The store goes away while an account is made: the account is there with its money, or not there. */
// The bug behind these rows: an opening balance that is lost.
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { applyCatalog } from '../../lib/operations/catalogue/apply.ts'
import type { Store } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { changed, memoryStore, SETUP } from '../support/store.ts'
import { openOps } from '../admin/support.ts'

const away = () => Promise.reject(new StoreUnavailable('away'))
/** It answers until the account is there. */
const leaving = (store: Store): Store => changed(store, { entries: { add: away } })

t.test('by the catalogue file', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const file = parseCatalog(
    JSON.stringify({ accounts: [{ name: 'rich', balance: 100 }, { name: 'poor' }] }),
    'c.yaml',
    {},
  )
  await applyCatalog(leaving(store), file, systemClock).catch(() => {})
  await applyCatalog(store, file, systemClock)
  t.match(await store.audit(), { ok: true, accounts: 2, credits: 100_000_000, balances: 100_000_000 })
  const rich = await store.accounts.byName('rich')
  const opening = { kind: 'opening', reference: 'opening', amount: 100_000_000 as never, actor: '', note: '' } as const
  t.match(
    await store.entries.add(rich!.id, opening, SETUP),
    { outcome: 'same', entry: { actor: 'catalogue' } },
    'under its reference',
  )
})

t.test('by the admin API', async t => {
  const { admin, store } = await openOps(t, leaving)
  t.match(await admin('POST', '/admin/accounts', { name: 'rich', balance: '7.5' }), { status: 201 })
  t.match(await admin('GET', '/admin/accounts/rich'), { status: 200, json: { balance: '7.500000' } })
  t.match(await store.audit(), { ok: true, credits: 7_500_000 })
})
