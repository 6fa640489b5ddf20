/**
 * Who knew a password that was being changed kept a way in: a sign-in that was comparing it got its session after all sessions had
 * ended, and what a session or a token had asked for a moment before was made after it had ended: keys, tokens, invitations, another
 * password. So did somebody who was removed from an account. Hashes take long enough for anybody to hit the moment. And whoever changed the
 * password or a factor just before the owner did got the session that goes on with such a change.
 */
// The bug behind these rows: ways back for who has been signed out.
import t, { type Test } from 'tap'
import type { Person } from '../../../lib/base/people.ts'
import { hashOf } from '../../../lib/base/secrets.ts'
import type { OperationError } from '../../../lib/operations/error.ts'
import { OwnUser } from '../../../lib/operations/people/me.ts'
import { Passkeys, passkeyForm } from '../../../lib/operations/people/passkeys.ts'
import { type SignedIn, SignIn } from '../../../lib/operations/people/sign-in.ts'
import { fromBase32, hotp, stepAt } from '../../../lib/operations/people/totp.ts'
import { type House, openConsole, type PersonClient } from '../../console/support/console.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { CLI, newPerson, PASSWORD, type PeopleParts, peopleDeps, signedInAs, stranger } from '../../support/people.ts'

const EMAIL = 'ann@example.org'
const ORIGIN = 'https://console.example.org'
const SETTINGS = `public: { main: "${ORIGIN}" }`
const NEXT = 'another winding password'

/** Something happens once, before a method is called, or (`after`) before its result is given back. */
function once<T extends object, K extends keyof T>(of: T, name: K, act: () => Promise<unknown>, after = false): void {
  const method = of[name] as (...args: unknown[]) => Promise<unknown>
  of[name] = (async (...args: unknown[]) => {
    of[name] = method as T[K]
    if (!after) await act()
    const result = await method.apply(of, args)
    if (after) await act()
    return result
  }) as T[K]
}

async function newPassword({ store, passwords }: PeopleParts, { id }: Person): Promise<void> {
  const password = await passwords.hash(NEXT, { network: 'test', known: true })
  await store.people.credentials.set(id, { password, endTokens: true }, CLI)
}

async function newEmail({ store, clock }: PeopleParts, { id }: Person): Promise<void> {
  const hash = hashOf('a mailed link')
  const [createdAtMs, expiresAtMs] = [clock.now(), clock.now() + 60_000]
  const link = { kind: 'email', hash, email: 'ann@example.net', userId: id, accountId: null, role: null } as const
  await store.people.links.create({ ...link, operator: false, doc: null, createdAtMs, expiresAtMs }, null)
  await store.people.links.changeEmail(hash, createdAtMs, CLI)
}

const sessionsOf = async ({ store }: PeopleParts, { id }: Person) => (await store.people.sessions.list(id)).length

async function withCodes(deps: PeopleParts, person: Person): Promise<string> {
  const { secret } = await new OwnUser(deps).startFactor(person)
  const code = hotp(fromBase32(secret), stepAt(deps.clock.now()))
  await new OwnUser(deps).confirmFactor(signedInAs(person), { code })
  deps.clock.advance(60_000)
  return secret
}

const SIGN_INS: [what: string, cross: (deps: PeopleParts, person: Person) => Promise<unknown>][] = [
  [
    'by a password that changes while it is compared',
    async (deps, person) => {
      once(deps.passwords, 'verify', () => newPassword(deps, person), true)
      return new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
    },
  ],
  [
    'by a password alone, while a second factor is added',
    async (deps, person) => {
      once(deps.passwords, 'verify', () => withCodes(deps, person), true)
      return new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
    },
  ],
  [
    'by a password, while the e-mail that it names is changed',
    async (deps, person) => {
      once(deps.passwords, 'verify', () => newEmail(deps, person), true)
      return new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
    },
  ],
  [
    'by a second factor, while the password changes',
    async (deps, person) => {
      const secret = await withCodes(deps, person)
      const half = await new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
      if (half.state !== 'second_factor') throw new Error('no second factor is asked for')
      once(deps.store.people.links, 'use', () => newPassword(deps, person), true)
      const code = hotp(fromBase32(secret), stepAt(deps.clock.now()))
      return new SignIn(deps).bySecondFactor(stranger(), null, { challenge: half.challenge, code })
    },
  ],
  [
    'by a second factor that a password began which was changing',
    async (deps, person) => {
      const secret = await withCodes(deps, person)
      once(deps.passwords, 'verify', () => newPassword(deps, person), true)
      const half = await new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
      if (half.state !== 'second_factor') throw new Error('no second factor is asked for')
      const code = hotp(fromBase32(secret), stepAt(deps.clock.now()))
      return new SignIn(deps).bySecondFactor(stranger(), null, { challenge: half.challenge, code })
    },
  ],
  [
    'by a passkey that is deleted',
    async (deps, person) => {
      const { id, send } = await withPasskey(deps, person)
      once(deps.store.people.passkeys, 'use', () => deps.store.people.passkeys.remove(person.id, id, CLI), true)
      return send()
    },
  ],
]

async function withPasskey(deps: PeopleParts, person: Person) {
  const by = signedInAs(person, 1)
  const device = new Authenticator(ORIGIN, 'ES256')
  const passkey = device.make(await new Passkeys(deps).startAdding(by, person), {})
  const { id } = await new Passkeys(deps).add(by, passkeyForm.parse({ name: 'laptop', passkey }))
  const browser = 'a browser'
  const send = async () => {
    const answer = device.answer(await new SignIn(deps).askForPasskey(stranger(), browser, {}))
    return new SignIn(deps).byPasskey(stranger(), null, browser, { passkey: answer as never })
  }
  return { id, send }
}

for (const [what, cross] of SIGN_INS)
  t.test(`no session opens: a sign-in ${what}`, async t => {
    const deps = await peopleDeps(t, SETTINGS)
    const person = await newPerson(deps, EMAIL)
    const done = await cross(deps, person).catch((error: unknown) => error)
    t.ok((done as OperationError).fault === 'forbidden' || (done as SignedIn).state === 'second_factor', String(done))
    t.equal(await sessionsOf(deps, person), 0)
  })

t.test('a passkey that signs in while the password is reset signs in alone no more', async t => {
  const deps = await peopleDeps(t, SETTINGS)
  const person = await newPerson(deps, EMAIL)
  const { send } = await withPasskey(deps, person)
  await send()
  const hash = hashOf('a link')
  const atMs = deps.clock.now()
  const link = { hash, email: null, userId: person.id, accountId: null, role: null, operator: false, doc: null }
  await deps.store.people.links.create({ ...link, kind: 'reset', createdAtMs: atMs, expiresAtMs: atMs + 60_000 }, null)
  const phc = await deps.passwords.hash(NEXT, { network: 'test', known: true })
  once(deps.store.people.passkeys, 'use', () => deps.store.people.links.resetPassword(hash, atMs, phc, CLI))
  await t.rejects(send())
  await t.rejects(send(), 'nor later')
  t.equal(await sessionsOf(deps, person), 0)
})

t.test('a password that goes on under newer parameters signs in as ever', async t => {
  const deps = await peopleDeps(t)
  const person = await newPerson(deps, EMAIL)
  const verify = deps.passwords.verify.bind(deps.passwords)
  deps.passwords.verify = async (...args) => ({ ...(await verify(...args)), stale: true })
  const form = { email: EMAIL, password: PASSWORD }
  t.match(await new SignIn(deps).byPassword(stranger(), null, form), { state: 'signed_in' })
  const secret = await withCodes(deps, person)
  const half = await new SignIn(deps).byPassword(stranger(), null, form)
  if (half.state !== 'second_factor') return t.fail('no second factor is asked for')
  const code = hotp(fromBase32(secret), stepAt(deps.clock.now()))
  t.ok(await new SignIn(deps).bySecondFactor(stranger(), null, { challenge: half.challenge, code }))
})

// --- what a session or a token asks for

type Loss = (house: House, eve: PersonClient) => Promise<unknown>
const signedOut: Loss = ({ deps }, { person }) => newPassword(deps, person)
const removed: Loss = ({ store }, { person }) =>
  store.people.members
    .ofUser(person.id)
    .then(([member]) =>
      store.people.members.setRole({ userId: person.id, accountId: member!.account.id, role: null }, CLI),
    )

interface Asked {
  what: string
  /** Where the loss comes in between. */
  before: (house: House) => [of: object, name: string]
  call: (eve: PersonClient, by: Pick<PersonClient, 'call'>, house: House) => Promise<{ status: number }>
  /** What must not be there afterwards. */
  there: (house: House, eve: PersonClient) => Promise<unknown[]>
  loss?: Loss
  byToken?: true
}

const accountOf = async ({ store }: House) => (await store.accounts.list())[0]!
const keysOf = async (house: House) =>
  (await house.store.keys.page({ accountId: (await accountOf(house)).id, limit: 9 })).filter(
    ({ status, name }) => status === 'enabled' && name === 'mine',
  )
const makesKey: Pick<Asked, 'before' | 'call' | 'there'> = {
  before: ({ store }) => [store.keys, 'create'],
  call: async (_, by, house) =>
    by.call('keys.create', { account: await accountOf(house), body: { name: 'mine', group: 'default' } }),
  there: keysOf,
}
const enablesKey: Pick<Asked, 'before' | 'call' | 'there'> = {
  before: ({ store }) => [store.keys, 'update'],
  call: async (eve, by, house) => {
    const account = await accountOf(house)
    const [key] = await house.store.keys.page({ accountId: account.id, limit: 9 })
    if (key === undefined) await eve.call('keys.create', { account, body: { name: 'mine', group: 'default' } })
    const [mine] = await house.store.keys.page({ accountId: account.id, limit: 9 })
    return by.call('keys.change', { account, path: { id: mine!.publicId }, body: { status: 'enabled' } })
  },
  there: keysOf,
}

const ASKED: Asked[] = [
  { what: 'a key', ...makesKey },
  { what: 'a key, by somebody who is removed', ...makesKey, loss: removed },
  { what: 'a key, by a token of somebody who is removed', ...makesKey, loss: removed, byToken: true },
  { what: 'a key, by a token that ends', ...makesKey, byToken: true },
  { what: 'a key that is enabled, by somebody who is removed', ...enablesKey, loss: removed },
  { what: 'a key that is enabled, by a token of somebody who is removed', ...enablesKey, loss: removed, byToken: true },
  {
    what: 'a personal token',
    before: ({ store }) => [store.people.tokens, 'create'],
    call: (eve, _, { clock }) =>
      eve.call('tokens.create', {
        body: { name: 'mine', scope: 'keys', expires_at: new Date(clock.now() + 3_600_000).toISOString() },
      }),
    there: ({ store }, { person }) => store.people.tokens.list(person.id),
  },
  {
    what: 'an invitation',
    before: ({ store }) => [store.people.links, 'createInvitation'],
    call: async (eve, _, house) =>
      eve.call('invitations.create', {
        account: await accountOf(house),
        body: { email: 'm@example.org', role: 'owner' },
      }),
    there: async house => house.store.people.links.invitations((await accountOf(house)).id, house.clock.now()),
  },
  {
    what: 'another password',
    before: ({ store }) => [store.people.credentials, 'set'],
    call: eve => eve.call('me.password', { body: { old: PASSWORD, new: 'a password of the thief' } }),
    there: async ({ deps, store }, { person }) => {
      const { password = null } = (await store.people.credentials.of(person.id)) ?? {}
      const { right } = await deps.passwords.verify(NEXT, password, { network: 'test', known: true })
      return right ? [] : ['the password of the owner is gone']
    },
  },
]

for (const { what, before, call, there, loss = signedOut, byToken } of ASKED)
  t.test(`nothing is made: ${what}`, async (t: Test) => {
    const house = await openConsole(t, 'registration: { mode: invite }')
    const account = await house.account('acme')
    await house.person('ann@example.org', { in: { account, role: 'owner' } })
    const eve = await house.person('eve@example.org', { in: { account, role: 'owner' } })
    const by = byToken ? await eve.token('keys') : eve
    const [of, name] = before(house)
    once(of, name as never, () => loss(house, eve))
    t.match((await call(eve, by, house)).status, /401|409/)
    t.same(await there(house, eve), [])
  })

// --- the session that goes on with a change

const RENEWED: [id: string, sent: object][] = [
  ['me.password', { body: { old: PASSWORD, new: 'a password of the thief' } }],
  ['factor.remove', {}],
  ['factor.recovery_codes', {}],
]
const OWNERS: [what: string, act: (deps: PeopleParts, person: Person) => Promise<unknown>][] = [
  ['the password is reset', newPassword],
  ['the e-mail is changed', newEmail],
  ['the user is disabled', ({ store }, { id }) => store.people.users.update(id, { status: 'disabled' }, CLI)],
]

for (const [id, sent] of RENEWED)
  for (const [what, act] of OWNERS)
    t.test(`no session goes on: ${id}, and just after it ${what}`, async t => {
      const house = await openConsole(t)
      const eve = await house.person('eve@example.org', { factor: true })
      once(house.store.people.credentials, 'set', () => act(house.deps, eve.person), true)
      t.equal((await eve.call(id, sent)).status, 403)
      t.equal(await sessionsOf(house.deps, eve.person), 0)
    })
