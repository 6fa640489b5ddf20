/** Finds the rows that an operation names, and refuses names that do not exist. */
import type { Store } from '../store/store.ts'
import type { Account } from '../terms/records.ts'
import { OperationError } from './error.ts'

/** The group that always exists, also without a row in the catalogue. */
const DEFAULT_GROUP = 'default'

export async function accountNamed(store: Store, name: string): Promise<Account> {
  const account = await store.accounts.byName(name)
  if (account === null) throw new OperationError('missing', `there is no account ${name}`)
  return account
}

/** More accounts than this are read with all others at once. */
const FEW_ACCOUNTS = 50

export async function namesOfAccounts(store: Store, accountIds: readonly number[]): Promise<Map<number, string>> {
  const ids = [...new Set(accountIds)]
  const few = ids.length <= FEW_ACCOUNTS
  const accounts = few ? await Promise.all(ids.map(id => store.accounts.byId(id))) : await store.accounts.list()
  return new Map(accounts.flatMap(account => (account === null ? [] : [[account.id, account.name] as const])))
}

/** Throws OperationError `invalid` when one of the groups does not exist. */
export async function checkGroups(store: Store, field: string, names: readonly string[]): Promise<void> {
  const known = new Set([DEFAULT_GROUP, ...(await store.catalogue.read()).groups.map(group => group.name)])
  const unknown = names.filter(name => !known.has(name))
  if (unknown.length > 0) throw new OperationError('invalid', `${field}: there is no group ${unknown.join(', ')}`)
}
