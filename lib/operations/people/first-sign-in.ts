/**
 * Links by which one signs in without a password, once, within minutes and from this machine only. `npm start` prints
 * them for its demo operator and its demo user; nothing else makes one.
 */
import { BlockList, isIPv6 } from 'node:net'
import { hashOf } from '../../base/secrets.ts'
import { type Act, GATEWAY } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { type By, type PeopleDeps, LINK_GONE } from './deps.ts'
import { newLink } from './links.ts'
import { type SignedIn, signedIn } from './sign-in.ts'
import { tryUnknown } from './throttle.ts'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether a host or an address is this machine. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || LOOPBACK.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')

const ACT: Act = { actor: GATEWAY, operation: 'sign_in.make_link' }

interface FirstPerson {
  email: string
  operator: boolean
  /** Of which the person is the owner. */
  account: Account | null
}

/** Makes the user where there is none yet. */
export async function firstSignInLink(
  { store, clock, config }: Pick<PeopleDeps, 'store' | 'clock' | 'config'>,
  { email, operator, account }: FirstPerson,
): Promise<string> {
  const atMs = clock.now()
  const name = email.slice(0, email.indexOf('@'))
  const known = await store.people.users.byEmail(email)
  const person =
    known ?? (await store.people.users.create({ email, name, password: null, operator, language: null, atMs }, ACT))
  if (account !== null && (await store.people.members.role(person.id, account.id)) === null)
    await store.people.members.add({ userId: person.id, accountId: account.id, role: 'owner' }, atMs, ACT)
  const { row, url } = newLink(config(), 'sign-in', atMs, { userId: person.id })
  await store.people.links.create(row, ACT)
  return url
}

/** A second factor is asked for all the same. */
export async function signInByLink(deps: PeopleDeps, by: By, token: string): Promise<SignedIn> {
  const { store, clock } = deps
  const counted = await tryUnknown(deps, by.ip)
  const link = isLoopback(by.ip) ? await store.people.links.use('sign-in', hashOf(token), clock.now()) : null
  const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
  if (person === null || person.status !== 'active') throw LINK_GONE()
  await counted.succeeded()
  return signedIn(deps, by, person, null, 'sign_in.link')
}
