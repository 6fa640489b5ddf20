/**
 * Sign-in by an OpenID provider. A person is who the provider's issuer and subject say; an equal e-mail joins nobody with
 * anybody. Linking a provider to a user is done by that user, after a step-up. `lib/console/sign-in/oidc.ts` talks to the
 * provider.
 */

import { asName } from '../../config/scalars.ts'
import { canonicalEmail, type Person } from '../../base/people.ts'
import { OperationError, both } from '../error.ts'
import { actBy, type By, type PeopleDeps } from './deps.ts'
import { registerVouched } from './registration.ts'
import { renewProof, type SignedIn, signedIn } from './sign-in.ts'

/** What the provider has said, checked. */
export interface Vouched {
  issuer: string
  subject: string
  email: string | null
  emailVerified: boolean
  name: string | null
  /** When the person has proven to the provider who it is; null = it does not say. */
  authAtMs: number | null
}

/** A provider may know somebody from hours ago: its word proves what it says, and no clock of it reaches into the future. */
const provenBy = ({ authAtMs }: Vouched, nowMs: number): number | null =>
  authAtMs === null ? null : Math.min(authAtMs, nowMs)

/** null = the provider's person is nobody here, and cannot become somebody. */
export async function signInVouched(deps: PeopleDeps, by: By, vouched: Vouched): Promise<SignedIn | null> {
  const { store, config, clock } = deps
  const { issuer, subject } = vouched
  const signIn = (person: Person) => signedIn(deps, by, person, null, 'sign_in.oidc', provenBy(vouched, clock.now()))
  const userId = await store.people.identities.userOf(issuer, subject)
  if (userId !== null) {
    const person = await store.people.users.byId(userId)
    return person?.status === 'active' ? signIn(person) : null
  }
  const email = canonicalEmail(vouched.email)
  if (config().registration.mode !== 'open' || email === undefined || !vouched.emailVerified) return null
  if ((await store.people.users.byEmail(email)) !== null) return null
  const person = await registerVouched(deps, by, { issuer, subject, email, name: asName(vouched.name) ?? email })
  return person === null ? null : signIn(person)
}

/** False = the identity belongs to a user already. */
export async function linkVouched({ store, clock }: PeopleDeps, by: By, vouched: Vouched): Promise<boolean> {
  const { issuer, subject } = vouched
  if ((await store.people.identities.userOf(issuer, subject)) !== null) return false
  const identity = { issuer, subject, userId: by.user!.id, atMs: clock.now() }
  await store.people.identities.add(identity, actBy(by, 'identities.link'))
  return true
}

/** The new secret of the session; null = the provider vouches for somebody else. */
export async function proveVouched(deps: PeopleDeps, by: By, vouched: Vouched): Promise<string | null> {
  const userId = await deps.store.people.identities.userOf(vouched.issuer, vouched.subject)
  if (userId === null || userId !== by.user?.id || by.sessionId === null) return null
  return (await renewProof(deps, by.sessionId, deps.clock.now())).session
}

export async function listIdentities({ store }: PeopleDeps, by: By) {
  const identities = await store.people.identities.list(by.user!.id)
  const data = identities.map(({ id, issuer, createdAtMs }) => ({
    id,
    issuer,
    created_at: new Date(createdAtMs).toISOString(),
  }))
  return { data, next: null }
}

/** Who has no password keeps one way in. */
export async function endIdentity({ store }: PeopleDeps, by: By, id: string): Promise<void> {
  const [person, identities] = await Promise.all([
    store.people.users.byId(by.user!.id),
    store.people.identities.list(by.user!.id),
  ])
  if (!identities.some(one => one.id === id))
    throw new OperationError('missing', both('没有此关联', 'there is no such identity'))
  if (person?.hasPassword !== true && identities.length === 1)
    throw new OperationError('conflict', both('请先设置密码', 'choose a password first: this is your only way in'))
  await store.people.identities.end(by.user!.id, id, actBy(by, 'identities.end'))
}
