/** A purse that two processes want at its end: who has charged it tells the store at once, and nobody waits in vain. */
import t from 'tap'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { until } from '../support/wait.ts'
import { house, reserve, row } from './house.ts'

t.test(
  'after a recall charges are booked at once, also those that come later, without the time of the usual sending',
  async t => {
    const { store, key, open, spent } = await house(t)
    const ledger = await open()
    const [one, two] = [await reserve(ledger, key, 500), await reserve(ledger, key, 500)]
    ledger.settle(one, row(key, 500))
    t.equal(await spent(), 0, 'the clock stands, so that nothing is sent')
    ledger.onChange({ seq: 1, kind: 'recall', ref: accountPurse(key.accountId) })
    await until('the first charge is booked', async () => (await spent()) === 500)
    ledger.settle(two, row(key, 500))
    await until('the second one, too', async () => (await spent()) === 1_000)
    await ledger.stop()
    t.match(await store.audit(), { ok: true, leased: 0 })
  },
)
