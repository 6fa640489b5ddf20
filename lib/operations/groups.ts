/** Turns groups from the form that people write into the form that the store keeps; says whether one is in use. */
import type { Store } from '../store/store.ts'
import { toGroup } from '../config/catalog-rows.ts'
import { catalogSchema } from '../config/catalog-schema.ts'
import type { Group } from '../terms/records.ts'
import { OperationError } from './error.ts'
import { read } from './read.ts'

const groupRow = catalogSchema.shape.groups.unwrap().element

export const readGroup = (sent: object): Group => toGroup(read(groupRow, sent))

/**
 * Throws OperationError `conflict` when a channel, a model, an account or a key names the group. Without the group's
 * row, the prices and limits of these would silently become others.
 */
export async function checkUnused(store: Store, group: string): Promise<void> {
  const [{ channels, models }, accounts, keys] = await Promise.all([store.catalog(), store.accounts(), store.keys()])
  const user =
    channels.find(row => row.groups.includes(group)) ??
    models.find(row => row.offline !== true && row.offline.includes(group)) ??
    accounts.find(row => row.groups.includes(group)) ??
    keys.find(row => row.group === group)
  if (user !== undefined) throw new OperationError('conflict', `group ${group} is still named by ${user.name}`)
}
