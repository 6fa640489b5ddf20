/** A ledger's surroundings for tests: a store in memory with one funded key, a clock that stands, and what is logged. */
import type { Test } from 'tap'
import { idMaker } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { Journal } from '../../lib/ledger/journal.ts'
import { Hold, Ledger } from '../../lib/ledger/ledger.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import type { Settlement } from '../../lib/store/books/settlement.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { recordOf } from '../support/journal.ts'
import type { Key } from '../../lib/terms/records.ts'
import { TestClock } from '../support/clock.ts'
import { fund, memoryStore, usageRow } from '../support/store.ts'

const nextId = idMaker(() => Date.now())

export const away = () => Promise.reject(new StoreUnavailable('away'))

interface House {
  store: Store
  key: Key
  clock: TestClock
  folder: string
  said: string[]
  open(change?: { store?: Store; holder?: string; limitBytes?: number }): Promise<Ledger>
  /** A journal as a process leaves it that was killed, its leases too. */
  dead(holder: string, settlements: Settlement[]): Promise<void>
  spent(): Promise<number>
  leased(): Promise<number>
}

export async function house(t: Test): Promise<House> {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const { account, key } = await fund(store, 'a', 1_000)
  const clock = new TestClock()
  const folder = t.testdir()
  const said: string[] = []
  const say = (data: object, message: string) => void said.push(`${message} ${JSON.stringify(data)}`)
  const log = { info: say, warn: say, error: say }
  const purse = async () => (await store.books.purses([accountPurse(account.id)]))[0]!
  return {
    store,
    key,
    clock,
    folder,
    said,
    open: change => Ledger.open({ store, clock, log, folder, limitBytes: 1 << 20, ...change }),
    async dead(holder, settlements) {
      const journal = new Journal({ folder, holder, store: await store.id(), limitBytes: 1 << 20, clock, log })
      await store.holders.register({ id: holder, host: 'h', beat: 0 })
      await store.books.lease(accountPurse(account.id), holder, micro(100), micro(100), false)
      for (const one of settlements) journal.append(recordOf([one], journal.store), 1)
      journal.close(false)
    },
    spent: async () => (await purse()).spent,
    leased: async () => (await purse()).leased,
  }
}

export const reserve = async (ledger: Ledger, key: Key, amount: number): Promise<Hold> => {
  const hold = await ledger.reserve({ id: key.accountId, budget: null }, key, micro(amount))
  if (!(hold instanceof Hold)) throw new Error(`refused: ${hold.refused}`)
  return hold
}
export const row = (key: Key, charge: number) => usageRow(nextId(), key, charge)
