/** Books with one large account: thousands of keys, and half of all rows. The other half is of many small accounts. */
import type { Store } from '../../lib/store/store.ts'
import { COMMAND } from '../../lib/base/people.ts'
import type { Account, Key } from '../../lib/terms/records.ts'
import { newKey } from '../../test/support/store.ts'
import { type Books, openBooks } from './store-rows.ts'

const ACT = { actor: COMMAND, operation: 'bench' }
/** Keys that are made at once. */
const AT_ONCE = 16

export interface LargeBooks extends Books {
  account: Account
  /** Those of the large account. */
  own: Key[]
}

async function makeKeys(store: Store, account: Account, count: number): Promise<Key[]> {
  const keys: Key[] = []
  const make = (i: number) =>
    store.keys.create(newKey(account.id, { name: `key ${i}`, hash: `large${String(i).padStart(59, '0')}` }), ACT)
  for (let i = 0; i < count; i += AT_ONCE)
    keys.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, n) => make(i + n)))))
  return keys
}

/** `keys` of the result are in an order of which `rows` takes the first half of the rows from the large account. */
export async function openLargeBooks(url: string, keyCount: number): Promise<LargeBooks> {
  const books = await openBooks(url)
  const account = await books.store.accounts.create({ name: 'large', groups: ['default'] }, ACT)
  const own = await makeKeys(books.store, account, keyCount)
  return { ...books, account, own }
}
