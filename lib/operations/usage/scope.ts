/** Whose usage a person of an account sees. */
import type { Store } from '../../store/store.ts'
import type { AccountKeys } from '../../store/usage/queries.ts'
import type { Account } from '../../terms/records.ts'
import { NO_KEY } from '../accounts/own-keys.ts'
import { OperationError } from '../error.ts'

/** A person who reads, in one account. */
export interface AccountReader {
  account: Account
  /** The keys whose usage the person may see; null = all of the account. */
  keyIds: readonly number[] | null
}

/** One key, or the keys that a member made. Both are outward ids. */
interface Narrowed {
  key?: string | undefined
  member?: string | undefined
}

/** The keys that are meant. A key that the reader may not see is one that does not exist. */
export async function whoseKeys(store: Store, reader: AccountReader, { key, member }: Narrowed): Promise<AccountKeys> {
  const { account, keyIds } = reader
  const accountId = account.id
  const made = member === undefined ? null : await madeBy(store, accountId, member)
  const seen = inBoth(keyIds, made)
  if (key === undefined) return { accountId, keyIds: seen }
  const label = await store.keys.labelOf(accountId, key)
  if (label === null || (keyIds !== null && !keyIds.includes(label.id))) throw NO_KEY()
  return { accountId, keyIds: inBoth(seen, [label.id]) }
}

/** The ids that are in both lists; null = all. */
function inBoth(one: readonly number[] | null, other: readonly number[] | null): readonly number[] | null {
  if (one === null || other === null) return one ?? other
  const set = new Set(other)
  return one.filter(id => set.has(id))
}

/** The keys of somebody who is or was a member: people who leave have made keys that are still there. */
async function madeBy(store: Store, accountId: number, member: string): Promise<number[]> {
  const person = await store.people.users.byPublicId(member)
  const ids = person === null ? [] : await store.keys.idsOf(accountId, person.id)
  if (ids.length === 0 && (person === null || (await store.people.members.role(person.id, accountId)) === null))
    throw new OperationError('missing', { zh: '没有这个成员', en: 'there is no such member' })
  return ids
}
