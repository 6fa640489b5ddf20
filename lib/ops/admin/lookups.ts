/** Finding what a call names, or refusing it. */
import type { Store } from '../../store/store.ts'
import type { Account } from '../../terms/records.ts'
import { AdminError } from '../answer.ts'

/** The group that exists without being described. */
const DEFAULT_GROUP = 'default'

export async function accountNamed(store: Store, name: string): Promise<Account> {
  const account = await store.accountByName(name)
  if (account === null) throw new AdminError(404, `there is no account ${name}`)
  return account
}

/** Throws AdminError 400 when one of them is not in the catalogue. */
export async function checkGroups(store: Store, field: string, names: readonly string[]): Promise<void> {
  const known = new Set([DEFAULT_GROUP, ...(await store.catalog()).groups.map(group => group.name)])
  const unknown = names.filter(name => !known.has(name))
  if (unknown.length > 0) throw new AdminError(400, `${field}: there is no group ${unknown.join(', ')}`)
}

/** Without empty ones, so that `?account=&model=x` asks for the model only. */
export const parameters = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...query].filter(([, value]) => value !== ''))
