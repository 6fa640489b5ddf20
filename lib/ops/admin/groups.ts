/** A group whose row may go. */
import type { Store } from '../../store/store.ts'
import { AdminError } from '../answer.ts'

/** Throws AdminError 409 while something names the group: without its row its prices and limits would silently change. */
export async function checkUnused(store: Store, group: string): Promise<void> {
  const [{ channels }, accounts, keys] = await Promise.all([store.catalog(), store.accounts(), store.keys()])
  const user =
    channels.find(row => row.groups.includes(group)) ??
    accounts.find(row => row.groups.includes(group)) ??
    keys.find(row => row.group === group)
  if (user !== undefined) throw new AdminError(409, `group ${group} is still named by ${user.name}`)
}
