/**
 * Invitations: into an account with a role, or among the operators. An invitation is bound to an e-mail, works once, and
 * its secret is shown once or mailed. Whether there is a user with that e-mail is told to nobody but its owner.
 */
import { z } from 'zod'
import type { Link } from '../../store/people/records.ts'
import * as kind from '../../config/scalars.ts'
import { hashOf } from '../../base/secrets.ts'
import { ROLES, type Role } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { OperationError, both } from '../error.ts'
import { actBy, type By, type PeopleDeps, type UserDeps, LINK_GONE } from './deps.ts'
import { letter } from './mail.ts'
import { newLink } from './links.ts'
import { checkNew, password } from './passwords.ts'
import { email } from './profile.ts'
import { networkOf, tryMail, tryUnknown } from './throttle.ts'

/** The most invitations into an account that can be used at one time. */
const MOST_OPEN = 100

export const invitationForm = z.strictObject({ email, role: z.enum(ROLES) })
export const acceptForm = z.strictObject({
  token: z.string().max(100),
  /** Of somebody who has no user yet. */
  name: kind.name.optional(),
  password: password.optional(),
})

const time = (ms: number): string => new Date(ms).toISOString()

const shown = (link: Link) => ({
  id: link.publicId,
  email: link.email ?? '',
  role: link.role,
  created_at: time(link.createdAtMs),
  expires_at: time(link.expiresAtMs),
})

export async function listInvitations({ store, clock }: UserDeps, account: Account | null) {
  const links = await store.people.links.invitations(account?.id ?? null, clock.now())
  return { data: links.map(shown), next: null }
}

/** Into whose account, and as what; or among the operators; or (both null) as a user of no account yet. */
export interface Into {
  account: Account | null
  role: Role | null
  operator: boolean
}

/**
 * The answer is the same whether or not there is a user with this e-mail. Where there is mail, only operators see the
 * link: then whoever uses it has read the letter.
 */
export async function invite(deps: UserDeps, by: By, to: string, { account, role, operator }: Into) {
  const { store, clock, config, mail } = deps
  const nowMs = clock.now()
  if (mail.configured) await tryMail(deps, 'invitation', to, by)
  const byOperator = by.user === null || by.user.operator
  const { row, url } = newLink(config(), 'invitation', nowMs, {
    email: to,
    accountId: account?.id ?? null,
    role,
    operator,
    doc: { by_operator: byOperator, by: by.user?.id ?? null },
  })
  const link = await store.people.links.createInvitation(row, MOST_OPEN, actBy(by, 'invitations.create'))
  mail.send(letter('invitation', to, url, by.language))
  return { ...shown(link), url: mail.configured && !byOperator ? null : url }
}

export async function revokeInvitation(
  { store, clock }: UserDeps,
  by: By,
  account: Account | null,
  id: string,
): Promise<void> {
  const act = actBy(by, 'invitations.revoke')
  if (!(await store.people.links.revokeInvitation(account?.id ?? null, id, clock.now(), act)))
    throw new OperationError('missing', both('没有此邀请', 'there is no such invitation'))
}

async function found(deps: PeopleDeps, by: By, token: string): Promise<Link> {
  const counted = await tryUnknown(deps, by.ip)
  const link = await deps.store.people.links.read('invitation', hashOf(token), deps.clock.now())
  if (link === null || !(await stillStands(deps, link))) throw LINK_GONE()
  await counted.succeeded()
  return link
}

/** Whoever has lost the right to invite leaves no way back in: an invitation works as long as its maker could make it. */
async function stillStands({ store }: PeopleDeps, { doc, accountId }: Link): Promise<boolean> {
  const by = doc?.['by']
  if (typeof by !== 'number') return true // the admin token, or a command on the machine
  const maker = await store.people.users.byId(by)
  if (maker?.status !== 'active') return false
  return maker.operator || (accountId !== null && (await store.people.members.role(by, accountId)) === 'owner')
}

/** What the page shows before the person decides. It uses nothing up. */
export async function lookAt(deps: PeopleDeps, by: By, token: string) {
  const { store } = deps
  const link = await found(deps, by, token)
  const account = link.accountId === null ? null : await store.accounts.byId(link.accountId)
  return {
    email: link.email ?? '',
    account: account?.name ?? null,
    role: link.role,
    operator: link.operator,
    expires_at: time(link.expiresAtMs),
    /** Whether the caller is signed in as whom the invitation is for. Whether there is such a user is not said. */
    signed_in: by.user !== null && by.user.email === link.email,
  }
}

/** Somebody who has a user must be signed in as that user; anybody else gets one, with the e-mail of the invitation. */
export async function acceptInvitation(
  deps: PeopleDeps,
  by: By,
  form: z.output<typeof acceptForm>,
): Promise<{ userId: number; isNew: boolean }> {
  const { store, clock, config } = deps
  const most = config().limits.members
  const link = await found(deps, by, form.token)
  const person = await store.people.users.byEmail(link.email ?? '')
  const hash = hashOf(form.token)
  const act = actBy(by, 'invitations.accept')
  if (person !== null) {
    if (by.user?.id !== person.id)
      throw new OperationError(
        'forbidden',
        both('请先以被邀请的邮箱登录', 'sign in with the e-mail that is invited first'),
      )
    const done = await store.people.links.acceptInvitation(hash, clock.now(), { userId: person.id, most }, act)
    if (done === null) throw LINK_GONE()
    return { ...done, isNew: false }
  }
  const user = await newUser(deps, by, link, form)
  const done = await store.people.links.acceptInvitation(hash, clock.now(), { user, most }, act)
  if (done === null) throw LINK_GONE()
  return { ...done, isNew: true }
}

async function newUser(deps: PeopleDeps, by: By, link: Link, form: z.output<typeof acceptForm>) {
  const { clock, config, passwords } = deps
  if (link.doc?.['by_operator'] !== true && config().registration.mode === 'closed')
    throw new OperationError(
      'forbidden',
      both('此网关不接受新用户，请联系运营人员', 'this gateway takes no new users: ask an operator'),
    )
  const { name, password: plain } = form
  if (name === undefined || plain === undefined)
    throw new OperationError('invalid', both('请填写姓名和密码', 'a name and a password are needed'))
  const address = link.email ?? ''
  checkNew(plain, [address, name])
  const phc = await passwords.hash(plain, { network: networkOf(by.ip), known: false })
  return { email: address, name, password: phc, operator: false, language: by.language, atMs: clock.now() }
}
