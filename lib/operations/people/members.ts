/** The members of an account, as its owners see and change them. */
import { z } from 'zod'
import { StoreConflict } from '../../store/store.ts'
import * as kind from '../../terms/config-scalars.ts'
import { type Member, type Person, ROLES } from '../../terms/people.ts'
import type { Account } from '../../terms/records.ts'
import { inForce } from '../deps.ts'
import { OperationError } from '../error.ts'
import { pageFields, toPage } from '../paging.ts'
import { actBy, type By, type PeopleDeps } from './deps.ts'
import { both } from './words.ts'

const PAGE = 50

export const membersFilter = z.strictObject({
  q: pageFields.q,
  after: pageFields.after,
  limit: kind.whole(1, 1_000).prefault(PAGE),
})
export const roleForm = z.strictObject({ role: z.enum(ROLES) })

const NO_MEMBER = () => new OperationError('missing', both('没有此成员', 'there is no such member'))

const LAST_OWNER = () =>
  new OperationError(
    'conflict',
    both(
      '账户至少需要一名所有者，请先指定其他所有者',
      'an account keeps at least one owner: make somebody else an owner first',
    ),
  )

const row = ({ role, person }: Member & { person: Person }) => ({
  id: person.publicId,
  email: person.email,
  name: person.name,
  role,
  status: person.status,
  second_factor: person.secondFactor,
})

export async function listMembers({ store }: PeopleDeps, account: Account, filter: z.output<typeof membersFilter>) {
  const members = await store.people.members(account.id, toPage(filter))
  const next = members.length === filter.limit ? String(members.at(-1)!.userId) : null
  return { data: members.map(row), next }
}

/** The member of this account with this outward id. */
export async function memberOf({ store }: PeopleDeps, account: Account, id: string) {
  const person = await store.people.byPublicId(id)
  const role = person === null ? null : await store.people.role(person.id, account.id)
  if (person === null || role === null) throw NO_MEMBER()
  return { userId: person.id, accountId: account.id, role, person }
}

/** The store knows who the last owner is, because it looks in the transaction. */
async function unlessLastOwner<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof StoreConflict) throw LAST_OWNER()
    throw error
  }
}

/** Ends the member's sessions. */
export async function changeRole(
  deps: PeopleDeps,
  by: By,
  account: Account,
  id: string,
  { role }: z.output<typeof roleForm>,
) {
  const member = await memberOf(deps, account, id)
  const { userId, accountId } = member
  await unlessLastOwner(deps.store.people.setRole({ userId, accountId, role }, actBy(by, 'members.change')))
  return row({ ...member, role })
}

/** What becomes of the keys that the member made: they are disabled, or handed to the owner who removes the member. */
export const removalForm = z.strictObject({ keys: z.enum(['disable', 'hand_over']).prefault('disable') })

/** The most keys that are listed before a removal. */
const MOST_KEYS = 1_000

export async function showMember({ store, ...deps }: PeopleDeps, account: Account, id: string) {
  const member = await memberOf({ store, ...deps }, account, id)
  const keys = await store.keyPage({ accountId: account.id, createdBy: member.userId, limit: MOST_KEYS })
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
  const keysTo = keys === 'hand_over' && by.user!.id !== userId ? by.user!.id : null
  const removal = { userId, accountId, role: null, keysTo }
  await unlessLastOwner(deps.store.people.setRole(removal, actBy(by, 'members.remove')))
  await inForce(deps)
}

export async function leave(deps: PeopleDeps, by: By, account: Account): Promise<void> {
  const leaving = { userId: by.user!.id, accountId: account.id, role: null }
  await unlessLastOwner(deps.store.people.setRole(leaving, actBy(by, 'members.leave')))
  await inForce(deps)
}
