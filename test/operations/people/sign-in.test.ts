import t, { type Test } from 'tap'
import { StoredIdentities } from '../../../lib/console/sign-in/identities.ts'
import { OperationError } from '../../../lib/operations/error.ts'
import { OwnUser } from '../../../lib/operations/people/me.ts'
import { UserSessions, SignIn } from '../../../lib/operations/people/sign-in.ts'
import { fromBase32, hotp, stepAt } from '../../../lib/operations/people/totp.ts'
import type { Person } from '../../../lib/base/people.ts'
import { CLI, newPerson, PASSWORD, type PeopleParts, peopleDeps, signedInAs, stranger } from '../../support/people.ts'

const HOUR_MS = 3_600_000
const EMAIL = 'ann@example.org'

const codeAt = (deps: PeopleParts, secret: string) => hotp(fromBase32(secret), stepAt(deps.clock.now()))
const identities = (deps: PeopleParts) => new StoredIdentities(deps.store, deps.clock)
const identify = (deps: PeopleParts, secret: string) => identities(deps).bySession(secret, '192.0.2.1', 'a browser')

/** What a refusal says; a call that is not refused fails the test. */
async function refusal(t: Test, asked: Promise<unknown>): Promise<OperationError> {
  const error = await asked.then(
    () => t.fail('it was not refused'),
    (error: unknown) => error,
  )
  if (!(error instanceof OperationError)) throw error
  return error
}

async function opened(deps: PeopleParts, person: Person) {
  return new UserSessions(deps).open(stranger(), person, null, 'sign_in.password')
}

/** A person with a second factor. */
async function guarded(deps: PeopleParts) {
  const person = await newPerson(deps, EMAIL)
  const { secret } = await new OwnUser(deps).startFactor(person)
  const { recovery_codes } = await new OwnUser(deps).confirmFactor(signedInAs(person), { code: codeAt(deps, secret) })
  deps.clock.advance(60_000)
  return { person, secret, codes: recovery_codes }
}

t.test('with the password, from a browser that is remembered', async t => {
  const deps = await peopleDeps(t)
  const person = await newPerson(deps, EMAIL)
  const done = await new SignIn(deps).byPassword(stranger(), null, { email: ' Ann@Example.ORG ', password: PASSWORD })
  if (done.state !== 'signed_in') return t.fail('no second factor is asked for')
  const { session, device } = done.opened
  t.match(await identify(deps, session), { user: { id: person.id }, secondFactor: false, tokenId: null })
  const again = await new SignIn(deps).byPassword(stranger(), device, { email: EMAIL, password: PASSWORD })
  t.match(again, { state: 'signed_in', opened: { device: null } }, 'the browser is known')
  t.not(again.state === 'signed_in' && again.opened.session, session, 'each sign-in has a new session')
  const bob = await newPerson(deps, 'bob@example.org')
  const other = await new SignIn(deps).byPassword(stranger(), device, { email: bob.email, password: PASSWORD })
  t.type(other.state === 'signed_in' && other.opened.device, 'string', 'of somebody else it is not')
})

t.test('unknown, wrong and disabled are told the same', async t => {
  const deps = await peopleDeps(t)
  await newPerson(deps, EMAIL)
  const off = await newPerson(deps, 'off@example.org')
  await deps.store.people.users.update(off.id, { status: 'disabled' }, CLI)
  await newPerson(deps, 'none@example.org', { password: null })
  const tries = [
    [EMAIL, 'wrong'],
    ['nobody@example.org', PASSWORD],
    ['no e-mail', PASSWORD],
    ['off@example.org', PASSWORD],
    ['none@example.org', ''],
  ] as const
  const texts = new Set<string>()
  for (const [i, [email, password]] of tries.entries()) {
    const { fault, words } = await refusal(
      t,
      new SignIn(deps).byPassword(stranger(`192.0.2.${i}`), null, { email, password }),
    )
    texts.add(JSON.stringify([fault, words]))
  }
  t.equal(texts.size, 1)
  t.notMatch(deps.logged.join(''), /example\.org|wrong/, 'the log names nobody')
})

t.test('after n wrong ones the right one waits, and another address is not affected', async t => {
  const deps = await peopleDeps(t)
  await newPerson(deps, EMAIL)
  for (let i = 0; i < 5; i++)
    t.equal(
      (await refusal(t, new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: `wrong ${i}` }))).fault,
      'forbidden',
    )
  const right = { email: EMAIL, password: PASSWORD }
  const { fault, details } = await refusal(t, new SignIn(deps).byPassword(stranger(), null, right))
  t.strictSame([fault, details], ['throttled', { retry_after: '2' }])
  t.match(await new SignIn(deps).byPassword(stranger('192.0.2.99'), null, right), { state: 'signed_in' })
  deps.clock.advance(2_000)
  t.match(await new SignIn(deps).byPassword(stranger(), null, right), { state: 'signed_in' })
})

t.test('a second factor, of which each code works once', async t => {
  const deps = await peopleDeps(t)
  const { secret, person } = await guarded(deps)
  const password = () => new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
  const first = await password()
  if (first.state !== 'second_factor') return t.fail('the second factor is asked for')
  t.equal(await identify(deps, first.challenge), null, 'half a sign-in is none')
  const { challenge } = first
  const code = codeAt(deps, secret)
  t.equal(
    (await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, { challenge, code: '000000' }))).fault,
    'forbidden',
  )
  t.equal((await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, { challenge: 'x', code }))).fault, 'gone')
  const { session } = await new SignIn(deps).bySecondFactor(stranger(), null, { challenge, code })
  t.match(await identify(deps, session), { user: { id: person.id }, secondFactor: true })
  t.equal((await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, { challenge, code }))).fault, 'gone')
  const second = await password()
  if (second.state !== 'second_factor') return t.fail('the second factor is asked for')
  const replay = { challenge: second.challenge, code }
  t.equal(
    (await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, replay))).fault,
    'forbidden',
    'a replayed code',
  )
  deps.clock.advance(30_000)
  const next = { challenge: second.challenge, code: codeAt(deps, secret) }
  t.ok(await new SignIn(deps).bySecondFactor(stranger(), null, next))
  const third = await password()
  if (third.state !== 'second_factor') return t.fail('the second factor is asked for')
  deps.clock.advance(10 * 60_000)
  const late = { challenge: third.challenge, code: codeAt(deps, secret) }
  t.equal(
    (await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, late))).fault,
    'gone',
    'ten minutes later',
  )
})

t.test('a recovery code works once, and guesses are slowed down', async t => {
  const deps = await peopleDeps(t)
  const { codes } = await guarded(deps)
  t.equal(new Set(codes).size, 10)
  const half = async () => {
    const done = await new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: PASSWORD })
    return done.state === 'second_factor' ? done.challenge : t.fail('the second factor is asked for')
  }
  const code = codes[3] as string
  const typed = code.toUpperCase().replaceAll('-', ' ')
  t.ok(await new SignIn(deps).bySecondFactor(stranger(), null, { challenge: String(await half()), code: typed }))
  const challenge = String(await half())
  t.equal((await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, { challenge, code }))).fault, 'forbidden')
  const faults: string[] = []
  for (let i = 0; i < 6; i++)
    faults.push(
      (await refusal(t, new SignIn(deps).bySecondFactor(stranger(), null, { challenge, code: `${100_000 + i}` })))
        .fault,
    )
  t.strictSame(faults, ['forbidden', 'forbidden', 'forbidden', 'forbidden', 'throttled', 'throttled'])
})

t.test('sessions end by themselves', async t => {
  const rows = [
    { operator: false, idle: 7 * 24, absolute: 30 * 24 },
    { operator: true, idle: 12, absolute: 24 },
  ]
  for (const { operator, idle, absolute } of rows)
    await t.test(operator ? 'of an operator' : 'of a user', async t => {
      const deps = await peopleDeps(t)
      const person = await newPerson(deps, EMAIL, { operator })
      const unused = await opened(deps, person)
      const used = await opened(deps, person)
      let hours = 0
      for (const step = idle - 1; hours + step < absolute; hours += step) {
        deps.clock.advance(step * HOUR_MS)
        t.ok(await identify(deps, used.session), `used after ${hours + step} hours`)
      }
      t.equal(await identify(deps, unused.session), null, 'idle')
      deps.clock.advance((absolute - hours) * HOUR_MS - 1)
      t.ok(await identify(deps, used.session), 'just before its end')
      deps.clock.advance(1)
      t.equal(await identify(deps, used.session), null, 'in any case')
    })
})

t.test('what ends sessions', async t => {
  const deps = await peopleDeps(t)
  const person = await newPerson(deps, EMAIL)
  const account = await deps.store.accounts.create({ name: 'team', groups: [] }, CLI)
  const member = { userId: person.id, accountId: account.id }
  await deps.store.people.members.add({ ...member, role: 'member' }, deps.clock.now(), CLI)
  const ways: [string, (secret: string, sessionId: number) => Promise<unknown>][] = [
    ['a sign-out', secret => new UserSessions(deps).signOut(stranger(), secret)],
    [
      'a new password',
      (_, id) => new OwnUser(deps).changePassword(signedInAs(person, id), { old: PASSWORD, new: `${PASSWORD}!` }),
    ],
    ['a new role', () => deps.store.people.members.setRole({ ...member, role: 'viewer' }, CLI)],
    ['no role any more', () => deps.store.people.members.setRole({ ...member, role: null }, CLI)],
    [
      'a second factor',
      async () => {
        const { secret } = await new OwnUser(deps).startFactor(person)
        return new OwnUser(deps).confirmFactor(signedInAs(person), { code: codeAt(deps, secret) })
      },
    ],
    ['no second factor any more', () => new OwnUser(deps).removeFactor(signedInAs(person))],
    ['a ban', () => deps.store.people.users.update(person.id, { status: 'disabled' }, CLI)],
  ]
  for (const [name, end] of ways) {
    const { session } = await opened(deps, person)
    const found = await identify(deps, session)
    t.ok(found, `before ${name}`)
    await end(session, found!.sessionId!)
    t.equal(await identify(deps, session), null, name)
  }
})

t.test('the proof of who one is', async t => {
  const deps = await peopleDeps(t)
  const person = await newPerson(deps, EMAIL)
  const { session } = await opened(deps, person)
  const { sessionId } = (await identify(deps, session))!
  deps.clock.advance(HOUR_MS)
  t.match(await identify(deps, session), { provenAtMs: deps.clock.now() - HOUR_MS })
  const by = signedInAs(person, sessionId)
  for (let i = 0; i < 5; i++)
    t.equal((await refusal(t, new SignIn(deps).stepUp(by, { password: 'wrong' }))).fault, 'forbidden')
  t.equal((await refusal(t, new SignIn(deps).stepUp(by, { password: PASSWORD }))).fault, 'throttled')
  deps.clock.advance(60_000)
  t.equal((await refusal(t, new SignIn(deps).stepUp(by, { code: '123456' }))).fault, 'forbidden', 'there is no factor')
  deps.clock.advance(60_000)
  const proven = await new SignIn(deps).stepUp(by, { password: PASSWORD })
  t.equal(await identify(deps, session), null, 'the old secret of the session is dead')
  t.match(await identify(deps, proven.session), { sessionId, provenAtMs: deps.clock.now() })
})

t.test('a list of sessions, and the end of one', async t => {
  const deps = await peopleDeps(t)
  const person = await newPerson(deps, EMAIL)
  const bob = await newPerson(deps, 'bob@example.org')
  const [one, two] = [await opened(deps, person), await opened(deps, person)]
  const { sessionId } = (await identify(deps, two.session))!
  const by = signedInAs(person, sessionId)
  const { data } = await new UserSessions(deps).list(by, person)
  t.match(data, [{ current: true }, { current: false, ip: '192.0.2.1', agent: 'a browser' }])
  const other = data[1]!.id
  t.equal((await refusal(t, new UserSessions(deps).end(signedInAs(bob), other))).fault, 'missing')
  await new UserSessions(deps).end(by, other)
  t.equal(await identify(deps, one.session), null)
  t.ok(await identify(deps, two.session))
})

t.test('a password that nobody guesses', async t => {
  const deps = await peopleDeps(t)
  const person = await newPerson(deps, EMAIL)
  const { sessionId } = (await identify(deps, (await opened(deps, person)).session))!
  const change = (old: string, next: string) =>
    new OwnUser(deps).changePassword(signedInAs(person, sessionId), { old, new: next })
  t.equal((await refusal(t, change('wrong', 'quite another one'))).fault, 'forbidden')
  t.equal((await refusal(t, change(PASSWORD, 'password'))).fault, 'invalid')
  t.equal((await refusal(t, change(PASSWORD, EMAIL))).fault, 'invalid')
  await change(PASSWORD, 'quite another one')
  t.match(await new SignIn(deps).byPassword(stranger(), null, { email: EMAIL, password: 'quite another one' }), {
    state: 'signed_in',
  })
})
