/**
 * The part of the store's interface that is about accounts and keys. The methods that change something throw
 * StoreConflict, and write their line of the log of actions, which names the act, in the same transaction.
 */
import type { Micro } from '../base/money.ts'
import type { Limit } from '../terms/limits.ts'
import type { Act } from '../terms/people.ts'
import type { Account, Key } from '../terms/records.ts'
import type { Mark } from './marks.ts'
import type { Purse } from './purses.ts'

export interface NewAccount {
  name: string
  groups: string[]
  /** The opening balance, if any, and who gives it. */
  opening?: { amount: Micro; actor: string }
  budget?: Limit | null
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
}

/** A page of accounts or keys, in the order in which they were made. */
export interface PageFilter {
  /** Part of a name, in any case of its letters. */
  q?: string
  /** Only rows with a larger id. */
  afterId?: number
  limit: number
}

export interface AccountStore {
  findKey(hash: string): Promise<{ key: Key; account: Account; keyPurse: Purse; accountPurse: Purse } | null>
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
  keyPage(filter: PageFilter, accountId?: number): Promise<Key[]>
  key(id: number): Promise<Key | null>
  /** `id`: the key's `publicId`. */
  keyByPublicId(id: string): Promise<Key | null>
  keyByName(accountId: number, name: string): Promise<Key | null>
  createKey(key: NewKey, act: Act, mark?: Mark): Promise<Key>
  updateKey(id: number, change: KeyChange, act: Act, mark?: Mark): Promise<Key>
  deleteKey(id: number, act: Act): Promise<boolean>
  /** The names of keys by id, deleted keys included, because usage rows refer to them. */
  keyNames(ids: readonly number[]): Promise<Map<number, string>>
}
