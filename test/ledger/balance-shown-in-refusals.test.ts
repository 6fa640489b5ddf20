/**
 * A refusal for money showed what this process could get at, and not what the account has: what another process had leased
 * and nobody held was missing, and an account with money read "quota used up".
 */
// The bug behind these rows: a refusal that shows too little.
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { house } from './house.ts'

t.test('the balance that is shown is what no open request holds', async t => {
  const { store, key, open } = await house(t)
  const purse = accountPurse(key.accountId)
  const ledger = await open()
  t.teardown(() => ledger.stop())
  await store.holders.register({ id: 'other', host: 'h', beat: 0 })
  await store.books.lease(purse, 'other', micro(1_000), micro(1_000), false)
  const refused = () => ledger.reserve({ id: key.accountId, budget: null }, key, micro(1_001))
  t.match(await refused(), { refused: 'estimate', available: 1_000, need: 1_001 })
  await store.holders.reportHeld('other', new Map([[purse, micro(200)]]))
  t.match(await refused(), { refused: 'estimate', available: 800 })
  await store.holders.reportHeld('other', new Map([[purse, micro(1_000)]]))
  t.match(await refused(), { refused: 'quota', available: 0 })
  await store.books.giveBack(purse, 'other', micro(600))
  await store.holders.reportHeld('other', new Map([[purse, micro(300)]]))
  const hold = await ledger.reserve({ id: key.accountId, budget: null }, key, micro(100))
  t.match(await refused(), { refused: 'estimate', available: 600 })
  ledger.void(hold as Parameters<typeof ledger.void>[0])
})
