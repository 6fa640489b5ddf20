/**
 * New passwords for people who lost theirs: by a link that an operator makes, or one that is mailed to the proven
 * address. A reset never switches a second factor off, and opens no session.
 */
import { z } from 'zod'
import { hashOf } from '../../base/secrets.ts'
import type { Person } from '../../base/people.ts'
import { OperationError, both } from '../error.ts'
import { actAs, actBy, type By, type PeopleDeps, type UserDeps, LINK_GONE } from './deps.ts'
import { letter } from './mail.ts'
import { newLink } from './links.ts'
import { checkNew, password } from './passwords.ts'
import { emailForm } from './profile.ts'
import { networkOf, tryMail, tryUnknown } from './throttle.ts'

export const resetRequestForm = emailForm
export const resetForm = z.strictObject({ token: z.string().max(100), password })

/** By an operator. The link is shown once, and the person is told at the next sign-in. */
export async function makeReset({ store, clock, config }: UserDeps, by: By, person: Person) {
  const { row, url } = newLink(config(), 'reset', clock.now(), { userId: person.id })
  await store.people.links.create(row, actBy(by, 'users.reset'))
  return { url, expires_at: new Date(row.expiresAtMs).toISOString() }
}

/** By the person, who has no session. Says the same for every address, also where nothing can be sent. */
export async function askForReset(
  deps: PeopleDeps,
  by: By,
  { email }: z.output<typeof resetRequestForm>,
): Promise<void> {
  const { store, clock, config, mail } = deps
  if (!mail.configured)
    throw new OperationError(
      'conflict',
      both('此网关未配置邮件，请联系运营人员', 'this gateway sends no mail: ask an operator'),
    )
  await tryUnknown(deps, by.ip)
  await tryMail(deps, 'reset', email, by)
  const person = await store.people.users.byEmail(email)
  const known = person?.status === 'active' ? person : null
  const { row, url } = newLink(config(), 'reset', clock.now(), { userId: known?.id ?? null })
  const asked = known === null ? null : actAs(known, by, 'resets.ask')
  await store.people.links.create(known === null ? { ...row, expiresAtMs: row.createdAtMs } : row, asked)
  if (known !== null) mail.send(letter('reset', email, url, by.language))
}

export async function reset(deps: PeopleDeps, by: By, form: z.output<typeof resetForm>): Promise<void> {
  const { store, clock, passwords } = deps
  const counted = await tryUnknown(deps, by.ip)
  const hash = hashOf(form.token)
  const link = await store.people.links.read('reset', hash, clock.now())
  const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
  if (person === null) throw LINK_GONE()
  checkNew(form.password, [person.email, person.name])
  const phc = await passwords.hash(form.password, { network: networkOf(by.ip), known: false })
  const done = await store.people.links.resetPassword(hash, clock.now(), phc, actAs(person, by, 'resets.reset'))
  if (done === null) throw LINK_GONE()
  await counted.succeeded()
}
