/** What operators do with users: look at them, invite, disable, end sessions, help them back in; and owners with the members of their account. */
import { iso } from '../../base/clock.ts'
import { z } from 'zod'
import { type Member, type Person, ROLES, canonicalEmail } from '../../base/people.ts'
import * as kind from '../../config/scalars.ts'
import type { Account } from '../../terms/records.ts'
import { inForce } from '../deps.ts'
import { OperationError, both } from '../error.ts'
import { nextOf, pageFields, publicIdField, toPage } from '../fields.ts'
import { type By, NO_SUCH_USER, type PeopleDeps, type UserDeps, actBy, email } from './deps.ts'
import { Invitations } from './joining.ts'
import { newLink } from './links.ts'
import { endOf } from './sign-in.ts'

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
  created_at: iso(person.createdAtMs),
})

export const membersFilter = z.strictObject({
  q: pageFields.q,
  /** The member with whom the page before has ended. */
  after: publicIdField.optional(),
  limit: kind.whole(1, 1_000).prefault(PAGE),
})
/** What becomes of the keys that a member made who may have none any more: they are disabled, or go to the owner who acts. */
const whatOfKeys = z.enum(['disable', 'hand_over']).prefault('disable')
export const roleForm = z.strictObject({ role: z.enum(ROLES), keys: whatOfKeys })

const NO_MEMBER = () => new OperationError('missing', both('没有此成员', 'there is no such member'))

const memberRow = ({ role, person }: Member & { person: Person }) => ({
  id: person.publicId,
  email: person.email,
  name: person.name,
  role,
  status: person.status,
  second_factor: person.secondFactor,
})

/** The user to whom the keys of somebody else go; null = to nobody: they are disabled. */
const heirOf = (by: By, userId: number, keys: z.output<typeof whatOfKeys>): number | null =>
  keys === 'hand_over' && by.user!.id !== userId ? by.user!.id : null

export const removalForm = z.strictObject({ keys: whatOfKeys })

/** The most keys that are listed before a removal. */
const MOST_KEYS = 1_000

export class UserAdmin {
  readonly #deps: UserDeps

  constructor(deps: UserDeps) {
    this.#deps = deps
  }

  /** By an operator. The link is shown once, and the person is told at the next sign-in. */
  async makeReset(by: By, person: Person) {
    const { store, clock, config } = this.#deps
    const { row, url } = newLink(config(), 'reset', clock.now(), { userId: person.id })
    await store.people.links.create(row, actBy(by, 'users.reset'))
    return { url, expires_at: iso(row.expiresAtMs) }
  }

  /** `id`: the outward id, or the e-mail. */
  async named(id: string): Promise<Person> {
    const { store } = this.#deps
    const address = canonicalEmail(id)
    const person =
      address === undefined ? await store.people.users.byPublicId(id) : await store.people.users.byEmail(address)
    if (person === null) throw NO_SUCH_USER()
    return person
  }

  async list(filter: z.output<typeof usersFilter>) {
    const { store } = this.#deps
    const operators = filter.role === 'operator' ? { operators: true } : {}
    const people = await store.people.users.page({ ...toPage(filter), ...operators })
    return { data: people.map(row), next: nextOf(people, filter.limit) }
  }

  async show(person: Person) {
    const { store, clock } = this.#deps
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
      seen_at: open[0] === undefined ? null : iso(Math.max(...open.map(one => one.seenAtMs))),
    }
  }

  async invite(by: By, form: z.output<typeof inviteForm>) {
    const { role, account: name } = form
    if ((name !== undefined) !== (role !== undefined && role !== 'operator'))
      throw new OperationError(
        'invalid',
        both('账户与其中的角色必须一起填写', 'role: an account and a role in it go together; an operator has neither'),
      )
    const account = name === undefined ? null : await this.#deps.store.accounts.byName(name)
    if (name !== undefined && account === null)
      throw new OperationError('missing', both('没有此账户', `there is no account ${name}`))
    const operator = role === 'operator'
    return new Invitations(this.#deps).make(by, form.email, {
      account,
      role: operator ? null : (role ?? null),
      operator,
    })
  }

  /** The keys that a disabled user made are disabled, and stay so when the user is enabled again. */
  async setStatus(by: By, person: Person, status: Person['status']) {
    if (person.id === by.user?.id)
      throw new OperationError('conflict', both('不能停用自己', 'nobody disables the own user'))
    const act = actBy(by, status === 'active' ? 'users.enable' : 'users.disable')
    const changed = await this.#deps.store.people.users.update(person.id, { status }, act)
    await inForce(this.#deps)
    return this.show(changed)
  }

  async endSessions(by: By, person: Person): Promise<{ ended: number }> {
    const { store } = this.#deps
    return { ended: await store.people.sessions.endAll(person.id, null, actBy(by, 'users.end_sessions')) }
  }

  /** For somebody whose app, passkeys and recovery codes are lost: none of them counts any more. The person is told at the next sign-in. */
  async resetFactor(by: By, person: Person): Promise<void> {
    const { store, clock } = this.#deps
    await store.people.credentials.set(
      person.id,
      { totp: null, passkeys: null, notice: { kind: 'factor_reset', atMs: clock.now() }, endTokens: true },
      actBy(by, 'users.factor_reset'),
    )
  }
}

export class AccountMembers {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  /** `after` of somebody who is no member is nobody's. */
  async list(account: Account, filter: z.output<typeof membersFilter>) {
    const { q, after, limit } = filter
    const members = await this.#deps.store.people.members.page(account.id, {
      limit,
      ...(q === undefined ? {} : { q }),
      ...(after === undefined ? {} : { afterId: (await this.#memberOf(account, after)).userId }),
    })
    const next = members.length === limit ? members.at(-1)!.person.publicId : null
    return { data: members.map(memberRow), next }
  }

  /** The member of this account with this outward id. */
  async #memberOf(account: Account, id: string) {
    const { store } = this.#deps
    const person = await store.people.users.byPublicId(id)
    const role = person === null ? null : await store.people.members.role(person.id, account.id)
    if (person === null || role === null) throw NO_MEMBER()
    return { userId: person.id, accountId: account.id, role, person }
  }

  /** Ends the member's sessions. A role that makes no keys leaves none behind. */
  async changeRole(by: By, account: Account, id: string, { role, keys }: z.output<typeof roleForm>) {
    const member = await this.#memberOf(account, id)
    const { userId, accountId } = member
    const keysTo = heirOf(by, userId, keys)
    await this.#deps.store.people.members.setRole({ userId, accountId, role, keysTo }, actBy(by, 'members.change'))
    await inForce(this.#deps)
    return memberRow({ ...member, role })
  }

  async show(account: Account, id: string) {
    const { store } = this.#deps
    const member = await this.#memberOf(account, id)
    const keys = await store.keys.page({ accountId: account.id, createdBy: member.userId, limit: MOST_KEYS })
    return { ...memberRow(member), keys: keys.map(({ publicId, name, status }) => ({ id: publicId, name, status })) }
  }

  async remove(by: By, account: Account, id: string, { keys }: z.output<typeof removalForm>): Promise<void> {
    const { userId, accountId } = await this.#memberOf(account, id)
    const removal = { userId, accountId, role: null, keysTo: heirOf(by, userId, keys) }
    await this.#deps.store.people.members.setRole(removal, actBy(by, 'members.remove'))
    await inForce(this.#deps)
  }

  async leave(by: By, account: Account): Promise<void> {
    const leaving = { userId: by.user!.id, accountId: account.id, role: null }
    await this.#deps.store.people.members.setRole(leaving, actBy(by, 'members.leave'))
    await inForce(this.#deps)
  }
}
