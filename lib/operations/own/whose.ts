/** Whose usage a person of an account sees, and what the account's keys are called. */
import type { AccountKeys, KeyLabel, Store } from '../../store/store.ts'
import type { Account } from '../../terms/records.ts'
import { OperationError } from '../error.ts'

/** A person who reads, in one account. */
export interface Reader {
  account: Account
  /** The keys whose usage the person may see; null = all of the account. */
  keyIds: readonly number[] | null
}

/** The keys that are meant when one is asked for; a key that the reader may not see is one that does not exist. */
export async function whoseKeys(
  store: Store,
  { account, keyIds }: Reader,
  key: string | undefined,
): Promise<AccountKeys> {
  const accountId = account.id
  if (key === undefined) return { accountId, keyIds }
  const label = await store.keyLabelOf(accountId, key)
  if (label === null || (keyIds !== null && !keyIds.includes(label.id)))
    throw new OperationError('missing', { zh: '没有这个密钥', en: 'there is no such key' })
  return { accountId, keyIds: [label.id] }
}

export type ShownKey = ReturnType<typeof shownKey>

export const shownKey = (label: KeyLabel | undefined) =>
  label === undefined ? null : { id: label.publicId, name: label.name, deleted: label.deleted }
