/** Whose usage a person of an account sees, and what the account's keys are called. */
import type { Store } from '../../store/store.ts'
import type { AccountKeys } from '../../store/usage/queries.ts'
import type { KeyLabel } from '../../store/accounts/keys.ts'
import type { Account } from '../../terms/records.ts'
import { OperationError } from '../error.ts'
import { NO_KEY } from '../accounts/own-keys.ts'

/** A person who reads, in one account. */
export interface Reader {
  account: Account
  /** The keys whose usage the person may see; null = all of the account. */
  keyIds: readonly number[] | null
}

/** What is asked for of an account: one key, or the keys that a member made. Both are outward ids. */
export interface Asked {
  key?: string | undefined
  member?: string | undefined
}

/** The keys that are meant. A key that the reader may not see is one that does not exist. */
export async function whoseKeys(store: Store, { account, keyIds }: Reader, asked: Asked): Promise<AccountKeys> {
  const { key, member } = asked
  const accountId = account.id
  const made = member === undefined ? null : await keysOf(store, accountId, member)
  const seen = both(keyIds, made)
  if (key === undefined) return { accountId, keyIds: seen }
  const label = await store.keys.labelOf(accountId, key)
  if (label === null || (keyIds !== null && !keyIds.includes(label.id))) throw NO_KEY()
  return { accountId, keyIds: both(seen, [label.id]) }
}

/** What is in both lists; null = all. */
function both(one: readonly number[] | null, other: readonly number[] | null): readonly number[] | null {
  if (one === null || other === null) return one ?? other
  const set = new Set(other)
  return one.filter(id => set.has(id))
}

/** Of somebody who is or was a member: people who leave have made keys that are still there. */
async function keysOf(store: Store, accountId: number, member: string): Promise<number[]> {
  const person = await store.people.users.byPublicId(member)
  const ids = person === null ? [] : await store.keys.idsOf(accountId, person.id)
  if (ids.length === 0 && (person === null || (await store.people.members.role(person.id, accountId)) === null))
    throw new OperationError('missing', { zh: '没有这个成员', en: 'there is no such member' })
  return ids
}

export const shownKey = (label: KeyLabel | undefined) =>
  label === undefined ? null : { id: label.publicId, name: label.name, deleted: label.deleted }
