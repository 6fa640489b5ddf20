/**
 * Registration, where the config lets everybody in: the address is proven by a letter before there is a user. Asking
 * with an address that is known, unknown or not let in says the same, after the same time.
 */
import { z } from 'zod'
import { publicId } from '../../base/ids.ts'
import type { Identified } from '../../store/people/records.ts'
import * as kind from '../../config/scalars.ts'
import { hashOf } from '../../base/secrets.ts'
import type { Person } from '../../base/people.ts'
import { OperationError, both } from '../error.ts'
import { actBy, type By, type PeopleDeps, LINK_GONE } from './deps.ts'
import { letter } from './mail.ts'
import { newLink } from './links.ts'
import { checkNew, password } from './passwords.ts'
import { emailForm } from './profile.ts'
import { networkOf, tryMail, tryUnknown } from './throttle.ts'

export const registrationForm = emailForm
export const registerForm = z.strictObject({ token: z.string().max(100), name: kind.name, password })

const CLOSED = () => new OperationError('forbidden', both('此网关不开放注册', 'nobody can register at this gateway'))

function checkOpen({ config }: PeopleDeps): void {
  if (config().registration.mode !== 'open') throw CLOSED()
}

/** Sends a letter: with a link to somebody new, and without one to somebody who is a user already. */
export async function askToRegister(
  deps: PeopleDeps,
  by: By,
  { email }: z.output<typeof registrationForm>,
): Promise<void> {
  const { store, clock, config, mail } = deps
  checkOpen(deps)
  await tryUnknown(deps, by.ip)
  await tryMail(deps, 'registration', email, by)
  const known = (await store.people.users.byEmail(email)) !== null
  const { row, url } = newLink(config(), 'registration', clock.now(), { email })
  await store.people.links.create(known ? { ...row, expiresAtMs: row.createdAtMs } : row, null)
  if (known) mail.send(letter('known', email, `${config().public.main}/console/sign-in`, by.language))
  else mail.send(letter('registration', email, url, by.language))
}

/** An account of its own goes with the user: the name tells nobody who it is. */
const newAccount = ({ config }: PeopleDeps) => {
  const { groups, rate } = config().registration
  return { name: `u-${publicId()}`, groups, rate }
}

export async function register(deps: PeopleDeps, by: By, form: z.output<typeof registerForm>): Promise<Person> {
  const { store, clock, passwords } = deps
  checkOpen(deps)
  const counted = await tryUnknown(deps, by.ip)
  const hash = hashOf(form.token)
  const link = await store.people.links.read('registration', hash, clock.now())
  if (link === null) throw LINK_GONE()
  const email = link.email ?? ''
  checkNew(form.password, [email, form.name])
  const phc = await passwords.hash(form.password, { network: networkOf(by.ip), known: false })
  const atMs = clock.now()
  const user = { email, name: form.name, password: phc, operator: false, language: by.language, atMs }
  const person = await store.people.links.register(
    hash,
    atMs,
    user,
    newAccount(deps),
    actBy(by, 'registration.register'),
  )
  if (person === null) throw LINK_GONE()
  await counted.succeeded()
  return person
}

/** Somebody whom a provider has vouched for, e-mail included, becomes a user where everybody may. */
export async function registerVouched(
  deps: PeopleDeps,
  by: By,
  { email, name, ...identity }: Identified & { email: string; name: string },
): Promise<Person | null> {
  checkOpen(deps)
  const { store, clock } = deps
  const atMs = clock.now()
  const user = { email, name, password: null, operator: false, language: by.language, atMs }
  const act = actBy(by, 'registration.register')
  return store.people.links.register(null, atMs, user, newAccount(deps), act, identity)
}
