/**
 * The part of the store's interface that is about accounts and keys. The methods that change something throw
 * StoreConflict, and write their line of the log of actions, which names the act, in the same transaction.
 */
import type { Micro } from '../base/money.ts'
import type { Limit, Account, Key, Rate } from '../terms/records.ts'
import type { Act } from '../base/people.ts'
import type { Mark } from './marks.ts'
import type { Purse } from './purses.ts'

export interface NewAccount {
  name: string
  groups: string[]
  /** The opening balance, if any, and who gives it. */
  opening?: { amount: Micro; actor: string }
  budget?: Limit | null
  /** null = the rate of its groups. */
  rate?: Rate | null
  /** Default: false. */
  sandbox?: boolean
}

/** A cap or a budget as it is to become, by `changedLimit`. Periods that ended before `atMs` keep their amounts. */
export interface LimitChange {
  limit: Limit | null
  atMs: number
}

/** A field that is absent or undefined stays as it is. */
export type AccountChange = Partial<Pick<Account, 'status' | 'groups' | 'rate'> & { budget: LimitChange }>
export type KeyChange = Partial<Omit<NewKey, 'accountId' | 'cap'> & { cap: LimitChange }>

export interface NewKey {
  accountId: number
  name: string
  hash: string
  hint: string
  group: string
  status: 'enabled' | 'disabled'
  expiresAtMs: number | null
  cap: Limit | null
  allowIps: string[] | null
  models: string[] | null
  modelsOff: string[] | null
  createdBy: number | null
}

/** A secret as the store keeps it. */
export interface HashedSecret {
  hash: string
  hint: string
}

/** What keys are searched by. `working`: enabled and not expired. `capped`: working, with a cap. */
export type KeyCondition = 'disabled' | 'expired' | 'working' | 'capped' | 'ip_bound' | 'model_bound'

/** A page of keys: in the order in which they were made, or with `newestFirst` in the opposite one. */
export interface KeyFilter extends PageFilter {
  newestFirst?: boolean
  /** The public id of the last key of the page before, newest first; it may have been deleted. */
  afterPublicId?: string
  accountId?: number
  createdBy?: number
  group?: string
  condition?: KeyCondition
  /** The moment at which keys count as expired; ms since 1970. */
  nowMs?: number
}

/** When and from which address a key was last used. */
export interface KeyUse {
  keyId: number
  /** ms since 1970. */
  atMs: number
  ip: string
}

/** The most secrets of one key that may still work beside its own. */
export const MOST_OLD_SECRETS = 5

/** A page of accounts or keys, in the order in which they were made. */
export interface PageFilter {
  /** Part of a name, in any case of its letters. */
  q?: string
  /** Only rows with a larger id. */
  afterId?: number
  limit: number
}

export interface FoundKey {
  key: Key
  account: Account
  keyPurse: Purse
  accountPurse: Purse
  endsInMs: number | null
}

export interface AccountStore {
  /**
   * `hash`: of the key's secret, or of an earlier secret of it that still works. `endsInMs`: when that one stops
   * working, from now on by the store's clock; null = it does not.
   */
  findKey(hash: string): Promise<FoundKey | null>
  accounts(): Promise<Account[]>
  accountPage(filter: PageFilter): Promise<Account[]>
  account(id: number): Promise<Account | null>
  /** `id`: the account's `publicId`. */
  accountByPublicId(id: string): Promise<Account | null>
  accountByName(name: string): Promise<Account | null>
  createAccount(account: NewAccount, act: Act, mark?: Mark): Promise<Account>
  updateAccount(id: number, change: AccountChange, act: Act, mark?: Mark): Promise<Account>
  keys(accountId?: number): Promise<Key[]>
  /** `q` is looked for in the names and the hints of keys. */
  keyPage(filter: KeyFilter): Promise<Key[]>
  key(id: number): Promise<Key | null>
  /** `id`: the key's `publicId`. */
  keyByPublicId(id: string): Promise<Key | null>
  keyByName(accountId: number, name: string): Promise<Key | null>
  /** `most`: StoreFull is thrown when the account has so many keys already. */
  createKey(key: NewKey, act: Act, options?: { mark?: Mark | undefined; most?: number }): Promise<Key>
  updateKey(id: number, change: KeyChange, act: Act, mark?: Mark): Promise<Key>
  /**
   * Gives a key another secret. The one that it has works for `graceMs` more; 0 = it stops at once, and so do all
   * earlier ones. `oldSecretEndsAtMs`: by the store's clock; null = none works any more. Throws StoreConflict also when
   * the key has MOST_OLD_SECRETS already.
   */
  rollKey(
    id: number,
    secret: HashedSecret,
    graceMs: number,
    act: Act,
  ): Promise<{ key: Key; oldSecretEndsAtMs: number | null }>
  /** Takes note of uses, a batch of different keys at a time. A use that is older than the one known is dropped. */
  recordKeyUses(batch: readonly KeyUse[]): Promise<void>
  /** The last uses of those keys that were ever used. */
  keyUses(ids: readonly number[]): Promise<Map<number, KeyUse>>
  deleteKey(id: number, act: Act): Promise<boolean>
  /** The names of keys by id, deleted keys included, because usage rows refer to them. */
  keyNames(ids: readonly number[]): Promise<Map<number, string>>
}
