/** What operators do with users: look at them, invite, disable, end sessions, help them back in. */
import { z } from 'zod'
import * as kind from '../../config/scalars.ts'
import { canonicalEmail, type Person, ROLES } from '../../base/people.ts'
import { inForce } from '../deps.ts'
import { OperationError, both } from '../error.ts'
import { nextOf, pageFields, toPage } from '../fields.ts'
import { actBy, type By, type UserDeps, NO_SUCH_USER } from './deps.ts'
import { invite } from './invitations.ts'
import { email } from './profile.ts'
import { endOf } from './sessions.ts'

const PAGE = 50
const MOST = 1_000

export const usersFilter = z.strictObject({
  ...pageFields,
  limit: kind.whole(1, MOST).prefault(PAGE),
  role: z.literal('operator').optional(),
})

/** Into an account with a role, or among the operators (`role: operator`), or as a user of no account yet. */
export const inviteForm = z.strictObject({
  email,
  role: z.enum([...ROLES, 'operator']).optional(),
  account: kind.name.optional(),
})

export const statusForm = z.strictObject({ status: z.enum(['active', 'disabled']) })

const row = (person: Person) => ({
  id: person.publicId,
  email: person.email,
  name: person.name,
  status: person.status,
  operator: person.operator,
  second_factor: person.secondFactor,
  created_at: new Date(person.createdAtMs).toISOString(),
})

/** `id`: the outward id, or the e-mail. */
export async function userNamed({ store }: Pick<UserDeps, 'store'>, id: string): Promise<Person> {
  const address = canonicalEmail(id)
  const person =
    address === undefined ? await store.people.users.byPublicId(id) : await store.people.users.byEmail(address)
  if (person === null) throw NO_SUCH_USER()
  return person
}

export async function listUsers({ store }: UserDeps, filter: z.output<typeof usersFilter>) {
  const operators = filter.role === 'operator' ? { operators: true } : {}
  const people = await store.people.users.page({ ...toPage(filter), ...operators })
  return { data: people.map(row), next: nextOf(people, filter.limit) }
}

export async function showUser({ store, clock }: UserDeps, person: Person) {
  const [memberships, sessions] = await Promise.all([
    store.people.members.ofUser(person.id),
    store.people.sessions.list(person.id),
  ])
  const nowMs = clock.now()
  const open = sessions.filter(session => endOf(session, person) > nowMs)
  return {
    ...row(person),
    accounts: memberships.map(({ account, role }) => ({ id: account.publicId, name: account.name, role })),
    sessions: open.length,
    seen_at: open[0] === undefined ? null : new Date(Math.max(...open.map(one => one.seenAtMs))).toISOString(),
  }
}

export async function inviteUser(deps: UserDeps, by: By, form: z.output<typeof inviteForm>) {
  const { role, account: name } = form
  if ((name !== undefined) !== (role !== undefined && role !== 'operator'))
    throw new OperationError(
      'invalid',
      both('账户与其中的角色必须一起填写', 'role: an account and a role in it go together; an operator has neither'),
    )
  const account = name === undefined ? null : await deps.store.accounts.byName(name)
  if (name !== undefined && account === null)
    throw new OperationError('missing', both('没有此账户', `there is no account ${name}`))
  const operator = role === 'operator'
  return invite(deps, by, form.email, { account, role: operator ? null : (role ?? null), operator })
}

/** The keys that a disabled user made are disabled, and stay so when the user is enabled again. */
export async function setStatus(deps: UserDeps, by: By, person: Person, status: Person['status']) {
  if (person.id === by.user?.id)
    throw new OperationError('conflict', both('不能停用自己', 'nobody disables the own user'))
  const act = actBy(by, status === 'active' ? 'users.enable' : 'users.disable')
  const changed = await deps.store.people.users.update(person.id, { status }, act)
  await inForce(deps)
  return showUser(deps, changed)
}

export async function endUserSessions({ store }: UserDeps, by: By, person: Person): Promise<{ ended: number }> {
  return { ended: await store.people.sessions.endAll(person.id, null, actBy(by, 'users.end_sessions')) }
}

/** For somebody whose app and recovery codes are lost. The person is told at the next sign-in. */
export const resetFactor = ({ store, clock }: UserDeps, by: By, person: Person): Promise<void> =>
  store.people.credentials.set(
    person.id,
    { totp: null, notice: { kind: 'factor_reset', atMs: clock.now() }, endTokens: true },
    actBy(by, 'users.factor_reset'),
  )
