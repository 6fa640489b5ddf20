/**
 * What usage can be filtered by: the keys, models, groups and protocols that were used in a period, largest charge first, and
 * the members of the account. Pages offer these where a reader chooses.
 */
import type { Store } from '../../store/store.ts'
import type { SummaryBy } from '../../store/usage/queries.ts'
import { ERRORS, type ErrorName } from '../../base/errors.ts'
import { type Account, PROTOCOLS, type Protocol } from '../../terms/records.ts'
import { type ChoicesQuery, present } from './filters.ts'
import { type Reader, shownKey, whoseKeys } from './whose.ts'
import { REASONS } from './words.ts'
import { byCharge, periodOf, refused, stacksOf, type UsageDeps } from './own-usage.ts'

export { choicesQuery } from './filters.ts'

/** Lists longer than that are no choice. */
export const MOST_CHOICES = 200

const reasons = (Object.keys(ERRORS) as ErrorName[]).map(name => ({ name, why: REASONS[name].why }))

/** `seesMembers`: whether the reader may know who is a member. */
export async function ownChoices(
  { store, clock, fleet }: UsageDeps,
  reader: Reader,
  sent: ChoicesQuery,
  seesMembers: boolean,
) {
  await fleet.settled()
  const { accountId, keyIds } = await whoseKeys(store, reader, {})
  const { zone } = store
  const period = periodOf({ ...sent, by: 'day' }, zone, clock.now())
  const asked = {
    ...present({ accountId, keyIds: keyIds ?? undefined }),
    ...period,
    zone,
    attempts: 'without',
  } as const
  const used = async (by: SummaryBy) => {
    const rows = await store.usage.summary({ ...asked, by: [by], brief: true }).catch(refused)
    return stacksOf(rows.sort(byCharge))
  }
  const keys = (await used('key')) as number[]
  const [models, groups, protocols] = (await Promise.all([
    used('model'),
    used('group'),
    used('protocol'),
  ])) as string[][]
  const first = <T>(all: readonly T[]) => all.slice(0, MOST_CHOICES)
  return {
    keys: await keysOf(store, reader, first(keys), sent.key),
    /** Whether more keys were used than are listed. */
    more_keys: keys.length > MOST_CHOICES,
    models: first(models as string[]),
    groups: first(groups as string[]),
    protocols: PROTOCOLS.filter(name => protocols?.includes(name)) as Protocol[],
    members: seesMembers ? await membersOf(store, reader.account) : null,
    reasons,
  }
}

/** `chosen`: the key that is filtered by already, which may not have been used in the period. */
async function keysOf(store: Store, reader: Reader, ids: readonly number[], chosen: string | undefined) {
  const own = chosen === undefined ? [] : ((await whoseKeys(store, reader, { key: chosen })).keyIds ?? [])
  const all = [...new Set([...own, ...ids])]
  const labels = await store.keys.labels(reader.account.id, all)
  return all.flatMap(id => shownKey(labels.get(id)) ?? [])
}

const membersOf = async (store: Store, account: Account) =>
  (await store.people.members.page(account.id, { limit: MOST_CHOICES })).map(({ person }) => ({
    id: person.publicId,
    name: person.name,
  }))
