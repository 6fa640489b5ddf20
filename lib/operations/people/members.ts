/** The members of an account, as its owners see and change them. */
import { z } from 'zod'
import * as kind from '../../config/scalars.ts'
import { type Member, type Person, ROLES } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { inForce } from '../deps.ts'
import { OperationError, both } from '../error.ts'
import { pageFields, publicId } from '../fields.ts'
import { actBy, type By, type PeopleDeps } from './deps.ts'

const PAGE = 50

export const membersFilter = z.strictObject({
  q: pageFields.q,
  /** The member with whom the page before has ended. */
  after: publicId.optional(),
  limit: kind.whole(1, 1_000).prefault(PAGE),
})
/** What becomes of the keys that a member made who may have none any more: they are disabled, or go to the owner who acts. */
const whatOfKeys = z.enum(['disable', 'hand_over']).prefault('disable')
export const roleForm = z.strictObject({ role: z.enum(ROLES), keys: whatOfKeys })

const NO_MEMBER = () => new OperationError('missing', both('没有此成员', 'there is no such member'))

const row = ({ role, person }: Member & { person: Person }) => ({
  id: person.publicId,
  email: person.email,
  name: person.name,
  role,
  status: person.status,
  second_factor: person.secondFactor,
})

/** `after` of somebody who is no member is nobody's. */
export async function listMembers(deps: PeopleDeps, account: Account, filter: z.output<typeof membersFilter>) {
  const { q, after, limit } = filter
  const members = await deps.store.people.members.page(account.id, {
    limit,
    ...(q === undefined ? {} : { q }),
    ...(after === undefined ? {} : { afterId: (await memberOf(deps, account, after)).userId }),
  })
  const next = members.length === limit ? members.at(-1)!.person.publicId : null
  return { data: members.map(row), next }
}

/** The member of this account with this outward id. */
async function memberOf({ store }: PeopleDeps, account: Account, id: string) {
  const person = await store.people.users.byPublicId(id)
  const role = person === null ? null : await store.people.members.role(person.id, account.id)
  if (person === null || role === null) throw NO_MEMBER()
  return { userId: person.id, accountId: account.id, role, person }
}

/** Whose the keys of somebody else become; null = nobody's, they are disabled. */
const heirOf = (by: By, userId: number, keys: z.output<typeof whatOfKeys>): number | null =>
  keys === 'hand_over' && by.user!.id !== userId ? by.user!.id : null

/** Ends the member's sessions. A role that makes no keys leaves none behind. */
export async function changeRole(
  deps: PeopleDeps,
  by: By,
  account: Account,
  id: string,
  { role, keys }: z.output<typeof roleForm>,
) {
  const member = await memberOf(deps, account, id)
  const { userId, accountId } = member
  const keysTo = heirOf(by, userId, keys)
  await deps.store.people.members.setRole({ userId, accountId, role, keysTo }, actBy(by, 'members.change'))
  await inForce(deps)
  return row({ ...member, role })
}

export const removalForm = z.strictObject({ keys: whatOfKeys })

/** The most keys that are listed before a removal. */
const MOST_KEYS = 1_000

export async function showMember({ store, ...deps }: PeopleDeps, account: Account, id: string) {
  const member = await memberOf({ store, ...deps }, account, id)
  const keys = await store.keys.page({ accountId: account.id, createdBy: member.userId, limit: MOST_KEYS })
  return { ...row(member), keys: keys.map(({ publicId, name, status }) => ({ id: publicId, name, status })) }
}

export async function removeMember(
  deps: PeopleDeps,
  by: By,
  account: Account,
  id: string,
  { keys }: z.output<typeof removalForm>,
): Promise<void> {
  const { userId, accountId } = await memberOf(deps, account, id)
  const removal = { userId, accountId, role: null, keysTo: heirOf(by, userId, keys) }
  await deps.store.people.members.setRole(removal, actBy(by, 'members.remove'))
  await inForce(deps)
}

export async function leave(deps: PeopleDeps, by: By, account: Account): Promise<void> {
  const leaving = { userId: by.user!.id, accountId: account.id, role: null }
  await deps.store.people.members.setRole(leaving, actBy(by, 'members.leave'))
  await inForce(deps)
}
