/** What a signed-in person sees and changes of the own user. */
import { z } from 'zod'
import * as kind from '../../config/scalars.ts'
import { canonicalEmail, LANGUAGES, type Person, THEMES } from '../../base/people.ts'
import { hashOf } from '../../base/secrets.ts'
import { inForce } from '../deps.ts'
import { OperationError, both } from '../error.ts'
import { actAs, actBy, type By, type PeopleDeps, LINK_GONE } from './deps.ts'
import { letter } from './mail.ts'
import { newLink } from './links.ts'
import { checkNew, password, typedPassword } from './passwords.ts'
import { PROOF_MS } from './sessions.ts'
import { tryMail, tryStepUp, tryUnknown } from './throttle.ts'

export const profileForm = z.strictObject({
  name: kind.name.optional(),
  language: z.enum(LANGUAGES).nullable().optional(),
  theme: z.enum(THEMES).nullable().optional(),
})
export const passwordForm = z.strictObject({ old: typedPassword.optional(), new: password })
export const email = kind.scalar(
  both('邮箱地址', 'an e-mail address'),
  { type: 'string', format: 'email' },
  canonicalEmail,
)
export const emailForm = z.strictObject({ email })
export const secretForm = z.strictObject({ token: z.string().max(100) })

/** `provenAtMs`: of the session; null where there is none. */
export async function me({ store }: PeopleDeps, person: Person, provenAtMs: number | null) {
  const memberships = await store.people.members.ofUser(person.id)
  return {
    id: person.publicId,
    email: person.email,
    name: person.name,
    operator: person.operator,
    has_password: person.hasPassword,
    second_factor: person.secondFactor,
    language: person.language,
    theme: person.theme,
    proven_until: provenAtMs === null ? null : new Date(provenAtMs + PROOF_MS).toISOString(),
    accounts: memberships.map(({ account, role }) => ({
      id: account.publicId,
      name: account.name,
      status: account.status,
      role,
    })),
    notices: person.notices.map(({ kind, atMs }) => ({ kind, at: new Date(atMs).toISOString() })),
  }
}

export const changeProfile = ({ store }: PeopleDeps, by: By, form: z.output<typeof profileForm>): Promise<Person> => {
  const change = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined))
  return store.people.users.update(by.user!.id, change, actBy(by, 'me.change'))
}

/** The old password is asked for, unless there is none. Ends all sessions. */
export async function changePassword(deps: PeopleDeps, by: By, form: z.output<typeof passwordForm>): Promise<void> {
  const { store, passwords } = deps
  const { id, email, name } = by.user!
  const credentials = await store.people.credentials.of(id)
  const seat = { network: `user ${id}`, known: true }
  if (credentials?.password != null) {
    const counted = await tryStepUp(deps, by.sessionId!)
    const { right } = await passwords.verify(form.old ?? '', credentials.password, seat)
    if (!right) throw new OperationError('forbidden', both('当前密码不正确', 'the old password is not right'))
    await counted.succeeded()
  }
  checkNew(form.new, [email, name])
  const phc = await passwords.hash(form.new, seat)
  await store.people.credentials.set(id, { password: phc }, actBy(by, 'me.password'))
}

const NO_MAIL = () =>
  new OperationError('conflict', both('此网关未配置邮件', 'this gateway sends no mail: ask an operator'))

/** A letter goes to the new address. Whether somebody else has it is not said. */
export async function askForEmail(deps: PeopleDeps, by: By, form: z.output<typeof emailForm>): Promise<void> {
  const { store, clock, mail, config } = deps
  if (!mail.configured) throw NO_MAIL()
  const asker = by.user!
  await tryMail(deps, 'email', form.email, by)
  if ((await store.people.users.byEmail(form.email)) !== null) return
  const { row, url } = newLink(config(), 'email', clock.now(), { email: form.email, userId: asker.id })
  await store.people.links.create(row, actBy(by, 'me.email'))
  mail.send(letter('email', form.email, url, by.language))
}

/** Whoever has the link has the new address. Ends all sessions. */
export async function confirmEmail(deps: PeopleDeps, by: By, form: z.output<typeof secretForm>): Promise<void> {
  const { store, clock } = deps
  const counted = await tryUnknown(deps, by.ip)
  const hash = hashOf(form.token)
  const link = await store.people.links.read('email', hash, clock.now())
  const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
  if (person === null) throw LINK_GONE()
  const changed = await store.people.links.changeEmail(hash, clock.now(), actAs(person, by, 'me.email_confirmed'))
  if (changed === null) throw LINK_GONE()
  await counted.succeeded()
}

/** The keys that the person made are disabled. */
export async function deleteMe(deps: PeopleDeps, by: By): Promise<void> {
  await deps.store.people.users.delete(by.user!.id, actBy(by, 'me.delete'))
  await inForce(deps)
}

export const clearNotices = ({ store }: PeopleDeps, by: By): Promise<void> =>
  store.people.users.clearNotices(by.user!.id)
