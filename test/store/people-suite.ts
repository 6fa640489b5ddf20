/** What every store must do with people: keep them apart, let secrets work once, and end sessions when it matters. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { NewKey } from '../../lib/store/accounts/key-rows.ts'
import type { NewLink, NewPasskey, NewUser } from '../../lib/store/people/records.ts'
import { SignedOut, StoreConflict } from '../../lib/store/base/errors.ts'
import type { Act, Person } from '../../lib/base/people.ts'
import { fund, newKey } from '../support/store.ts'

const NOW = 1_790_000_000_000
const HOUR_MS = 3_600_000

const ACT: Act = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'users.test' }
const by = (person: Person): Act => ({
  actor: { kind: 'user', userId: person.id, name: person.email, ip: '192.0.2.7' },
  operation: 'users.test',
})

const user = (email: string, change: Partial<NewUser> = {}): NewUser => ({
  email,
  name: 'Somebody 某人',
  password: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$a2V5',
  operator: false,
  language: null,
  atMs: NOW,
  ...change,
})

const link = (hash: string, change: Partial<NewLink> = {}): NewLink => ({
  kind: 'invitation',
  hash,
  email: null,
  userId: null,
  accountId: null,
  role: null,
  operator: false,
  doc: null,
  createdAtMs: NOW,
  expiresAtMs: NOW + HOUR_MS,
  ...change,
})

const session = (hash: string, person: Person, atMs = NOW) => ({
  hash,
  userId: person.id,
  atMs,
  provenAtMs: atMs,
  mark: null,
  ip: '192.0.2.7',
  agent: 'a browser',
})

const passkey = (credential: string, change: Partial<NewPasskey> = {}): NewPasskey => ({
  credential,
  publicKey: 'a key',
  counter: 7,
  transports: ['internal'],
  name: 'a device',
  synced: true,
  atMs: NOW,
  ...change,
})

const answered = (hash: string) => ({ hash, untilMs: NOW + HOUR_MS })

export function peopleSuite(t: Test, { pair }: Databases): void {
  /** Statements of all checks that did not go through, a deadlock among them. */
  const failed: string[] = []
  const check = (name: string, fn: (t: Test, one: Store, two: Store, url: string) => Promise<void>) =>
    t.test(name, async t => {
      const onStatement = (op: string, ok: boolean) => ok || failed.push(op)
      const { one, two, url } = await pair(t, { secret: 'the first secret', onStatement })
      await fn(t, one, two, url)
    })

  check('users', async (t, one, two) => {
    t.equal(await one.people.users.any(), false)
    const ann = await one.people.users.create(user('ann@example.org', { language: 'zh' }), ACT)
    t.match(ann, { email: 'ann@example.org', status: 'active', operator: false, language: 'zh', hasPassword: true })
    t.match(ann, { secondFactor: false, notices: [], createdAtMs: NOW, name: 'Somebody 某人' })
    await t.rejects(two.people.users.create(user('ann@example.org'), ACT), StoreConflict)
    const bob = await two.people.users.create(user('bob@example.org', { password: null, operator: true }), ACT)
    t.match([bob.operator, bob.hasPassword], [true, false])
    t.equal(await two.people.users.any(), true)
    for (const found of [
      await two.people.users.byId(ann.id),
      await two.people.users.byPublicId(ann.publicId),
      await two.people.users.byEmail('ann@example.org'),
    ])
      t.strictSame(found, ann)
    t.equal(await one.people.users.byEmail('nobody@example.org'), null)
    const emails = async (filter: object) =>
      (await one.people.users.page({ limit: 9, ...filter })).map(({ email }) => email)
    t.strictSame(await emails({}), ['ann@example.org', 'bob@example.org'])
    t.strictSame(await emails({ q: 'BOB' }), ['bob@example.org'])
    t.strictSame(await emails({ operators: true }), ['bob@example.org'])
    t.strictSame(await emails({ afterId: ann.id }), ['bob@example.org'])
    t.strictSame(await emails({ limit: 1 }), ['ann@example.org'])

    await one.people.sessions.create(session('s1', ann), by(ann))
    t.match(await one.people.users.update(ann.id, { theme: 'dark', name: 'Ann' }, by(ann)), {
      theme: 'dark',
      name: 'Ann',
    })
    t.ok(await one.people.sessions.read('s1'), 'a look is no reason to sign in again')
    await one.people.users.update(ann.id, { status: 'disabled' }, ACT)
    t.equal(await one.people.sessions.read('s1'), null, 'whoever is disabled is signed out')
    await t.rejects(one.people.users.update(99, { name: 'x' }, ACT), StoreConflict)

    const [last] = await one.actions.page({ subject: { kind: 'user', id: ann.publicId }, limit: 1 })
    t.match(last, { before: { status: 'active' }, after: { status: 'disabled' }, actor: { kind: 'cli', name: 'cli' } })
    const all = await one.actions.page({ limit: 50 })
    t.equal(all.length, 5)
    t.notMatch(JSON.stringify(all.map(({ before, after }) => [before, after])), /example\.org|argon2|Somebody/)
    t.match(
      all.find(({ actor }) => actor.userId === ann.id),
      { actor: { name: 'ann@example.org' } },
    )
  })

  check('what is asked for while its right ends, at two gateways, is not there afterwards', async (t, one, two) => {
    const { account } = await fund(one, 'a', 1)
    for (let round = 0; round < 12; round++) {
      const ann = await one.people.users.create(user(`ann${round}@example.org`), ACT)
      await one.people.members.add({ userId: ann.id, accountId: account.id, role: 'member' }, NOW, ACT)
      const { id: sessionId } = await one.people.sessions.create(session(`s${round}`, ann), by(ann))
      const token = (hash: string) => ({
        ...{ userId: ann.id, name: hash, hash, hint: 'h', scope: 'keys' as const, allowIps: null },
        ...{ createdAtMs: NOW, expiresAtMs: NOW + HOUR_MS },
      })
      const { id: tokenId } = await one.people.tokens.create(token(`t${round}`), by(ann))
      const mark = await one.people.credentials.mark(ann.id)
      const acts = [
        { sessionId, tokenId: null },
        { sessionId: null, tokenId },
      ].map(seat => ({
        ...by(ann),
        actor: { ...by(ann).actor, by: seat },
      }))
      const isReset = round % 2 === 0
      const end = () =>
        isReset
          ? two.people.credentials.set(ann.id, { password: 'another', endTokens: true }, ACT)
          : two.people.members.setRole({ userId: ann.id, accountId: account.id, role: null }, ACT)
      const asked = (store: Store, name: string) =>
        acts.flatMap((act, i) => [
          store.people.tokens.create(token(`${name} ${i}`), act),
          store.keys.create(
            newKey(account.id, { name: `${name} ${i}`, hash: `${name} ${i}`, createdBy: ann.id }),
            act,
            {
              most: 1000,
            },
          ),
        ])
      const name = (when: string) => `${when} ${round}`
      const all = [
        ...asked(one, name('before')),
        end(),
        ...asked(one, name('after')),
        ...asked(two, name('beside')),
        one.people.sessions.create({ ...session(name('late'), ann), mark }, by(ann)),
      ]
      const [done, failures] = [await Promise.allSettled(all), [] as unknown[]]
      for (const one of done)
        if (one.status === 'rejected' && !(one.reason instanceof StoreConflict)) failures.push(one.reason)
      t.same(failures, [])
      t.equal(done[4]?.status, 'fulfilled')
      if (isReset) {
        t.same(await one.people.tokens.list(ann.id), [])
        t.same(await one.people.sessions.list(ann.id), [])
      } else {
        const keys = await one.keys.page({ accountId: account.id, limit: 1000 })
        t.same(
          keys.filter(({ createdBy, status }) => createdBy === ann.id && status === 'enabled').map(key => key.name),
          [],
        )
      }
    }
  })

  check('who is deleted leaves no name in the log', async (t, one) => {
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    await one.people.sessions.create(session('s1', ann), by(ann))
    await one.people.users.delete(ann.id, by(ann))
    t.equal(await one.people.users.byId(ann.id), null)
    t.equal(await one.people.sessions.read('s1'), null)
    const lines = await one.actions.page({ limit: 9 })
    t.equal(lines.length, 3)
    t.notMatch(JSON.stringify(lines), /ann@/)
    t.equal(lines[0]?.actor.userId, ann.id)
    const again = await one.people.users.create(user('ann@example.org'), ACT)
    t.not(again.id, ann.id, 'nobody gets the id of somebody else')
  })

  check('passkeys', async (t, one, two, url) => {
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    const { passkeys, users, sessions, credentials, links } = one.people
    await sessions.create(session('s1', ann), by(ann))
    await links.create(link('l1', { kind: 'reset', userId: ann.id }), ACT)
    const long = 'x'.repeat(1_364)
    const made = await passkeys.add(ann.id, passkey(long), answered('c1'), ['r1', 'r2'], by(ann))
    t.match(made, { isFirst: true, passkey: { userId: ann.id, counter: 7, synced: true, usedAtMs: null } })
    t.equal(made?.mark, await credentials.mark(ann.id))
    t.equal(await sessions.read('s1'), null, 'a new factor ends the sessions')
    t.equal(await links.read('reset', 'l1', NOW), null)
    t.match(await users.byId(ann.id), { secondFactor: true, authenticator: false, passkeys: 1 })
    t.match(await credentials.of(ann.id), { recoveryCodes: 2 })
    t.equal(await two.people.passkeys.add(ann.id, passkey('k2'), answered('c1'), [], by(ann)), null, 'answered before')
    await t.rejects(two.people.passkeys.add(ann.id, passkey(long), answered('c2'), [], by(ann)), StoreConflict)
    const second = await two.people.passkeys.add(ann.id, passkey('k2'), answered('c2'), ['r3'], by(ann))
    t.match(second, { isFirst: false }, 'a conflict has not used the challenge up')
    t.match(await credentials.of(ann.id), { recoveryCodes: 2 })
    t.strictSame(
      (await passkeys.list(ann.id)).map(({ credential }) => credential),
      [long, 'k2'],
    )
    t.match(await two.people.passkeys.byCredential(long), { person: { id: ann.id }, passkey: made!.passkey })
    t.equal(await passkeys.byCredential('K2'), null)

    const use = (store: Store, hash: string, counter: number, which = made!.passkey) =>
      store.people.passkeys.use(which, { counter, synced: false }, answered(hash), NOW + 5)
    const raced = await Promise.all([one, two].map(store => use(store, 'c3', 8)))
    t.strictSame(raced.sort(), ['answered before', 'used'], 'a race for one challenge, of two gateways')
    t.match(await passkeys.list(ann.id), [{ counter: 8, synced: false, usedAtMs: NOW + 5 }, { usedAtMs: null }])
    t.equal(await use(two, 'c4', 8), 'counter')
    t.equal(await use(two, 'c5', 7), 'counter')
    t.equal(await use(two, 'c6', 0), 'counter')
    t.equal(await use(one, 'c6', 9), 'answered before', 'what is refused for its counter has used the challenge up')
    const counters = await Promise.all([one, two].map((store, i) => use(store, `race ${i}`, 9)))
    t.strictSame(counters.sort(), ['counter', 'used'], 'a race of two copies')

    const cid = await users.create(user('cid@example.org', { password: null }), ACT)
    const only = (await passkeys.add(cid.id, passkey('k3', { counter: 0 }), answered('c8'), [], by(cid)))!.passkey
    t.ok(only.alone)
    await t.rejects(passkeys.remove(cid.id, only.publicId, by(cid)), StoreConflict, 'the only way in')
    await links.create(link('l2', { kind: 'reset', userId: cid.id }), ACT)
    await links.resetPassword('l2', NOW, 'another', by(cid))
    t.match(await passkeys.list(cid.id), [{ publicId: only.publicId, alone: false }])
    t.equal(await use(two, 'c9', 0, only), 'gone', 'it was read before the reset')
    t.equal(await use(two, 'c10', 0, { ...only, alone: false }), 'used')
    t.match(await passkeys.list(cid.id), [{ alone: true }])

    const bob = await one.people.users.create(user('bob@example.org'), ACT)
    const { publicId } = made!.passkey
    t.equal(await passkeys.rename(bob.id, publicId, 'mine', by(bob)), false)
    t.equal(await passkeys.remove(bob.id, publicId, by(bob)), null)
    t.equal(await passkeys.rename(ann.id, publicId, '手机', by(ann)), true)
    t.equal(await passkeys.remove(ann.id, publicId, by(ann)), await credentials.mark(ann.id))
    t.equal(await use(one, 'c7', 99), 'gone')
    t.match(await users.byId(ann.id), { secondFactor: true, passkeys: 1 })
    t.match(await credentials.of(ann.id), { recoveryCodes: 2 })
    t.match(await one.actions.page({ subject: { kind: 'user', id: ann.publicId }, limit: 2 }), [
      { before: { second_factor: true, passkey: '手机' }, after: { second_factor: true } },
      { before: { passkey: 'a device' }, after: { passkey: '手机' } },
    ])
    await credentials.set(ann.id, { passkeys: null }, ACT)
    t.match(await users.byId(ann.id), { secondFactor: false, passkeys: 0 })
    t.match(await credentials.of(ann.id), { recoveryCodes: 0 })

    const zero = (await passkeys.add(bob.id, passkey('k0', { counter: 0 }), answered('z0'), [], by(bob)))!.passkey
    t.strictSame([await use(one, 'z1', 0, zero), await use(two, 'z2', 0, zero)], ['used', 'used'], 'none is counted')
    await users.delete(bob.id, by(bob))
    t.equal(await passkeys.byCredential('k0'), null)
    t.equal((await one.people.prune(NOW + 100 * 24 * HOUR_MS, 1_000)) > 0, true, 'answered challenges are forgotten')
    t.equal(await use(one, 'c3', 10), 'gone')

    const challenge = passkeys.challenge('sign in x', NOW + 10)
    t.match(two.people.passkeys.answered(challenge, 'sign in x', NOW), { untilMs: NOW + 10 }, 'of another gateway')
    t.equal(passkeys.answered(challenge, 'sign in x', NOW + 10), null, 'its time is over')
    t.equal(passkeys.answered(challenge, 'sign in y', NOW), null, 'of another browser')
    const changed = Buffer.from(challenge, 'base64url')
    changed[20]! ^= 1
    t.equal(passkeys.answered(changed.toString('base64url'), 'sign in x', NOW), null, 'changed')
    t.not(passkeys.challenge('sign in x', NOW + 10), challenge)
    const rotated = openStore(url, { secret: 'a new secret', secretPrevious: 'the first secret' })
    t.teardown(() => rotated.close())
    t.ok(rotated.people.passkeys.answered(challenge, 'sign in x', NOW), 'of before a new secret')
  })

  check('credentials', async (t, one, two, url) => {
    const ann = await one.people.users.create(user('ann@example.org', { password: 'p1' }), ACT)
    const { people } = one
    t.strictSame(await people.credentials.of(ann.id), { password: 'p1', totp: null, totpNext: null, recoveryCodes: 0 })
    t.equal(await people.credentials.of(99), null)
    await people.credentials.rehash(ann.id, 'other', 'p2', '')
    t.match(await people.credentials.of(ann.id), { password: 'p1' })
    await people.credentials.rehash(ann.id, 'p1', 'p2', '')
    t.match(await people.credentials.of(ann.id), { password: 'p2' })

    await people.credentials.startTotp(ann.id, 'SECRET')
    t.match(await two.people.credentials.of(ann.id), { totp: null, totpNext: 'SECRET' })
    t.match(await people.users.byId(ann.id), { secondFactor: false }, 'it counts after a code')
    await people.sessions.create(session('s1', ann), by(ann))
    await people.links.create(link('l1', { kind: 'reset', userId: ann.id }), ACT)
    await people.credentials.set(ann.id, { totp: { confirmedStep: 50 }, recoveryCodes: ['r1', 'r2'] }, by(ann))
    t.match(await people.credentials.of(ann.id), { totp: 'SECRET', totpNext: null, recoveryCodes: 2 })
    t.match(await people.users.byId(ann.id), { secondFactor: true })
    t.equal(await people.sessions.read('s1'), null, 'all sessions end')
    t.equal(await people.links.read('reset', 'l1', NOW), null, 'and so do links that were made before')

    t.strictSame(
      [
        await people.credentials.useStep(ann.id, 50),
        await people.credentials.useStep(ann.id, 49),
        await people.credentials.useStep(ann.id, 51),
      ],
      [false, false, true],
    )
    const steps = await Promise.all([one, two, one, two].map(store => store.people.credentials.useStep(ann.id, 60)))
    t.equal(steps.filter(Boolean).length, 1, 'one of several gets a step')
    const codes = await Promise.all([one, two].map(store => store.people.credentials.useRecoveryCode(ann.id, 'r1')))
    t.strictSame(codes.sort(), [false, true], 'a recovery code works once')
    t.equal(await people.credentials.useRecoveryCode(ann.id, 'unknown'), false)

    const next = openStore(url, { secret: 'the second secret', secretPrevious: 'the first secret' })
    t.match(await next.people.credentials.of(ann.id), { totp: 'SECRET' })
    await next.people.credentials.reseal()
    await next.close()
    const last = openStore(url, { secret: 'the second secret' })
    t.match(await last.people.credentials.of(ann.id), { totp: 'SECRET' }, 'it is sealed anew')
    await last.close()
    t.match(await one.people.credentials.of(ann.id), { totp: null }, 'and under the old secret it cannot be opened')
    t.match(await one.people.users.byId(ann.id), { secondFactor: true }, 'which does not switch it off')

    await people.credentials.set(ann.id, { totp: null, notice: { kind: 'factor_reset', atMs: NOW } }, ACT)
    t.match(await people.credentials.of(ann.id), { totp: null, recoveryCodes: 0 })
    t.strictSame(
      (await people.users.byId(ann.id))?.notices.map(({ kind }) => kind),
      ['reset_link', 'factor_reset'],
    )
    await people.users.clearNotices(ann.id)
    t.strictSame((await people.users.byId(ann.id))?.notices, [])
  })

  check('members, and the last owner', async (t, one, two) => {
    const { account } = await fund(one, 'team', 0)
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    const bob = await one.people.users.create(user('bob@example.org'), ACT)
    const own = { userId: ann.id, accountId: account.id }
    await one.people.members.add({ ...own, role: 'owner' }, NOW, ACT)
    await t.rejects(two.people.members.add({ ...own, role: 'viewer' }, NOW, ACT), StoreConflict)
    t.strictSame(
      [await two.people.members.role(ann.id, account.id), await two.people.members.role(bob.id, account.id)],
      ['owner', null],
    )
    t.match(await one.people.members.ofUser(ann.id), [{ role: 'owner', account: { name: 'team' } }])
    for (const role of [null, 'member'] as const)
      await t.rejects(one.people.members.setRole({ ...own, role }, by(ann)), /at least one owner/)
    await t.rejects(one.people.users.delete(ann.id, by(ann)), /at least one owner/)
    t.ok(await one.people.users.byId(ann.id))
    const other = { userId: bob.id, accountId: account.id }
    await t.rejects(one.people.members.setRole({ ...other, role: 'owner' }, ACT), /no member/)
    await one.people.members.add({ ...other, role: 'owner' }, NOW, ACT)
    await one.people.sessions.create(session('s1', ann), by(ann))
    await one.people.members.setRole({ ...own, role: 'owner' }, by(bob))
    t.ok(await one.people.sessions.read('s1'), 'nothing changed')

    const leaving = [ann, bob].map((person, i) =>
      [one, two][i]!.people.members.setRole({ userId: person.id, accountId: account.id, role: null }, by(person)),
    )
    const left = await Promise.allSettled(leaving)
    t.strictSame(left.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'two cannot leave at once')
    const members = await one.people.members.page(account.id, { limit: 9 })
    t.match(members, [{ role: 'owner' }])
    t.equal(members.length, 1)
    if (left[0]?.status === 'fulfilled') t.equal(await one.people.sessions.read('s1'), null)
    t.match(await one.actions.page({ accountId: account.id, limit: 1 }), [
      { subject: { kind: 'member' }, before: { role: 'owner' }, after: null },
    ])
  })

  check('links work once, and for what they were made', async (t, one, two) => {
    const { account } = await fund(one, 'team', 0)
    const { people } = one
    const into = { email: 'ann@example.org', accountId: account.id, role: 'member' } as const
    const made = await people.links.create(link('i1', into), ACT)
    t.match(made, { email: 'ann@example.org', accountId: account.id, role: 'member', operator: false })
    t.strictSame(await two.people.links.read('invitation', 'i1', NOW), made)
    t.equal(await people.links.read('reset', 'i1', NOW), null, 'of another kind there is none')
    t.equal(await people.links.read('invitation', 'i1', NOW + HOUR_MS), null, 'it has ended')
    t.match(await people.links.invitations(account.id, NOW), [made])
    t.strictSame(await people.links.invitations(null, NOW), [])

    const joins = [one, two].map(store =>
      store.people.links.acceptInvitation('i1', NOW, { user: user('ann@example.org') }, by({ id: 0 } as Person)),
    )
    const joined = await Promise.all(joins)
    t.equal(joined.filter(done => done !== null).length, 1, 'one of two gets in')
    const ann = (await people.users.byEmail('ann@example.org'))!
    t.equal(await people.members.role(ann.id, account.id), 'member')
    t.strictSame(await people.links.invitations(account.id, NOW), [])
    t.equal(await people.links.acceptInvitation('i1', NOW, { userId: ann.id }, ACT), null)

    await people.links.create(link('i2', { email: 'ann@example.org', operator: true }), ACT)
    const bob = await people.users.create(user('bob@example.org'), ACT)
    await t.rejects(people.links.acceptInvitation('i2', NOW, { userId: bob.id }, ACT), /another e-mail/)
    await t.rejects(people.links.acceptInvitation('i2', NOW, { user: user('ann@example.org') }, ACT), StoreConflict)
    t.equal((await people.links.invitations(null, NOW)).length, 1, 'a refusal uses nothing up')
    await people.sessions.create(session('s1', ann), by(ann))
    await people.links.acceptInvitation('i2', NOW, { userId: ann.id }, ACT)
    t.match(await people.users.byId(ann.id), { operator: true })
    t.equal(await people.sessions.read('s1'), null, 'a new privilege needs a new sign-in')

    const { publicId } = await people.links.create(link('i3', into), ACT)
    t.equal(await people.links.revokeInvitation(null, publicId, NOW, ACT), false, 'not by somebody of another account')
    t.equal(await people.links.revokeInvitation(account.id, publicId, NOW, ACT), true)
    t.equal(await people.links.revokeInvitation(account.id, publicId, NOW, ACT), false)
    t.equal(await people.links.read('invitation', 'i3', NOW), null)

    await people.links.create(link('r1', { kind: 'reset', userId: bob.id }), by(ann))
    t.match(await people.users.byId(bob.id), { notices: [{ kind: 'reset_link', atMs: NOW }] })
    await people.sessions.create(session('s2', bob), by(bob))
    t.equal(await people.links.resetPassword('i1', NOW, 'p9', ACT), null)
    t.match(await people.links.resetPassword('r1', NOW, 'p9', ACT), { userId: bob.id })
    t.match(await people.credentials.of(bob.id), { password: 'p9' })
    t.equal(await people.sessions.read('s2'), null)
    t.equal(await people.links.resetPassword('r1', NOW, 'p10', ACT), null)

    await people.links.create(link('e1', { kind: 'email', userId: bob.id, email: 'robert@example.org' }), by(bob))
    await people.links.create(link('r2', { kind: 'reset', userId: bob.id }), by(bob))
    t.match(await people.links.changeEmail('e1', NOW, by(bob)), { userId: bob.id })
    t.match(await people.users.byId(bob.id), { email: 'robert@example.org' })
    t.equal(await people.links.read('reset', 'r2', NOW), null, 'a link that was mailed to the address before is dead')
    await people.links.create(link('e2', { kind: 'email', userId: bob.id, email: 'ann@example.org' }), by(bob))
    await t.rejects(people.links.changeEmail('e2', NOW, by(bob)), StoreConflict)

    await people.links.create(link('f1', { kind: 'factor', userId: bob.id, doc: { a: '1' } }), null)
    t.match(await people.links.use('factor', 'f1', NOW), { userId: bob.id, doc: { a: '1' } })
    t.equal(await people.links.use('factor', 'f1', NOW), null)
    const log = JSON.stringify((await one.actions.page({ limit: 200 })).map(({ before, after }) => [before, after]))
    t.notMatch(log, /example\.org|"p9"/)
  })

  check('who has been a member comes back by a new invitation only', async (t, one, two) => {
    const { account } = await fund(one, 'team', 0)
    const [ann, bob] = [
      await one.people.users.create(user('ann@x.org'), ACT),
      await one.people.users.create(user('bob@x.org'), ACT),
    ]
    await one.people.members.add({ userId: ann.id, accountId: account.id, role: 'owner' }, NOW, ACT)
    const invited = (hash: string, email = bob.email) =>
      one.people.links.createInvitation(link(hash, { email, accountId: account.id, role: 'owner' }), 9, by(ann))
    const accept = (hash: string) => two.people.links.acceptInvitation(hash, NOW, { userId: bob.id }, by(bob))
    for (const hash of ['i1', 'i2']) await invited(hash)
    await invited('i3', 'carl@x.org')
    t.ok(await accept('i1'))
    await invited('i4')
    await one.people.members.setRole({ userId: bob.id, accountId: account.id, role: null }, by(ann))
    for (const hash of ['i2', 'i4']) t.equal(await accept(hash), null, hash)
    t.equal((await one.people.links.invitations(account.id, NOW)).length, 1, 'somebody else is still invited')
    await invited('i5')
    t.ok(await accept('i5'))
  })

  check('who registers gets an account, by a link or by a provider', async (t, one, two) => {
    const { people } = one
    const account = (name: string) => ({ name, groups: ['default'], rate: { requests: 5, minutes: 1 } })
    await people.links.create(link('g1', { kind: 'registration', email: 'ann@example.org' }), null)
    const asked = [one, two].map((store, i) =>
      store.people.links.register('g1', NOW, user('another@example.org'), account(`u-${i}`), by({ id: 0 } as Person)),
    )
    const [ann] = (await Promise.all(asked)).filter(person => person !== null)
    t.equal((await one.accounts.list()).length, 1, 'one of two')
    t.match(ann, { email: 'ann@example.org' }, 'with the e-mail that was proven')
    t.match(await people.members.ofUser(ann!.id), [
      { role: 'owner', account: account((await one.accounts.list())[0]!.name) },
    ])
    const identity = { issuer: 'https://id.example', subject: 'sub-1' }
    const bob = await people.links.register(null, NOW, user('bob@example.org'), account('u-b'), by(ann!), identity)
    t.equal(await two.people.identities.userOf(identity.issuer, identity.subject), bob?.id)
    await t.rejects(
      people.links.register(null, NOW, user('eve@example.org'), account('u-e'), by(ann!), identity),
      StoreConflict,
    )
    t.equal(await people.users.byEmail('eve@example.org'), null, 'nothing of it is left')
    t.equal(await one.accounts.byName('u-e'), null)
  })

  check('the keys of somebody who leaves', async (t, one, two) => {
    const { account } = await fund(one, 'team', 0)
    const [ann, bob] = [
      await one.people.users.create(user('ann@example.org'), ACT),
      await one.people.users.create(user('b@c.de'), ACT),
    ]
    const made = (name: string, change: Partial<NewKey> = {}) =>
      one.keys.create(newKey(account.id, { name, hash: `hash ${name}`, createdBy: bob.id, ...change }), ACT)
    const leave = async (keysTo: number | null) => {
      const member = { userId: bob.id, accountId: account.id }
      await one.people.members.add({ ...member, role: 'member' }, NOW, ACT)
      const seq = await one.changes.seq()
      await two.people.members.setRole({ ...member, role: null, keysTo }, by(ann))
      return (await one.changes.since(seq))?.map(({ ref }) => ref)
    }
    const others = await made('of another', { createdBy: ann.id })
    const [on, off] = [await made('on'), await made('off', { status: 'disabled' })]
    t.strictSame(await leave(ann.id), ['hash on', 'hash off'])
    for (const { id } of [on, off, others]) t.match(await one.keys.byId(id), { createdBy: ann.id })
    t.match(await one.keys.byId(on.id), { status: 'enabled' })
    const last = await made('last')
    t.strictSame(await leave(null), ['hash last'], 'every process hears of it')
    t.match(await one.keys.byId(last.id), { status: 'disabled', createdBy: bob.id })
    t.match(await one.keys.byId(others.id), { status: 'enabled' })

    const rolled = await made('rolled')
    await one.keys.roll(rolled.id, { hash: 'hash of today', hint: 'sk-…t' }, HOUR_MS, ACT)
    t.strictSame((await leave(null))?.sort(), ['hash of today', 'hash rolled'], 'also of secrets that work for a while')

    const kept = await made('kept')
    const seq = await one.changes.seq()
    await two.people.users.delete(bob.id, by(bob))
    t.match(await one.keys.byId(kept.id), { status: 'disabled' }, 'who deletes the own user leaves too')
    t.strictSame(
      (await one.changes.since(seq))?.map(({ ref }) => ref),
      ['hash kept'],
    )
    t.match(await one.actions.page({ accountId: account.id, limit: 1 }), [
      { subject: { kind: 'key', id: kept.publicId }, after: { status: 'disabled' } },
    ])
  })

  check('the keys of somebody who may have none any more', async (t, one, two) => {
    const { account } = await fund(one, 'team', 0)
    const { account: other } = await fund(one, 'other', 0)
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    const rows: [what: string, change: (bob: Person) => Promise<unknown>, status: string, elsewhere: string][] = [
      ['owner', bob => two.people.members.setRole({ ...at(bob), role: 'owner' }, by(ann)), 'enabled', 'enabled'],
      ['viewer', bob => two.people.members.setRole({ ...at(bob), role: 'viewer' }, by(ann)), 'disabled', 'enabled'],
      ['billing', bob => two.people.members.setRole({ ...at(bob), role: 'billing' }, by(ann)), 'disabled', 'enabled'],
      ['disabled', bob => two.people.users.update(bob.id, { status: 'disabled' }, by(ann)), 'disabled', 'disabled'],
      ['renamed', bob => two.people.users.update(bob.id, { name: 'Robert' }, by(bob)), 'enabled', 'enabled'],
    ]
    const at = (bob: Person) => ({ userId: bob.id, accountId: account.id })
    for (const [what, change, status, elsewhere] of rows) {
      const bob = await one.people.users.create(user(`${what}@example.org`), ACT)
      for (const { id } of [account, other])
        await one.people.members.add({ userId: bob.id, accountId: id, role: 'member' }, NOW, ACT)
      const make = ({ id }: { id: number }, name: string) =>
        one.keys.create(newKey(id, { name: `${what} ${name}`, hash: `${what} ${name}`, createdBy: bob.id }), ACT)
      const [key, away] = [await make(account, 'here'), await make(other, 'away')]
      const seq = await one.changes.seq()
      await change(bob)
      t.match(await one.keys.byId(key.id), { status, createdBy: bob.id }, what)
      t.match(await one.keys.byId(away.id), { status: elsewhere }, what)
      const heard = (await one.changes.since(seq))?.map(({ ref }) => ref) ?? []
      t.equal(heard.includes(`${what} here`), status === 'disabled', 'every process hears of it')
      const [line] = await one.actions.page({ subject: { kind: 'key', id: key.publicId }, limit: 1 })
      if (status === 'disabled') t.match(line, { actor: { userId: ann.id }, after: { status: 'disabled' } })
      await one.people.users.update(bob.id, { status: 'active' }, by(ann))
      t.match(await one.keys.byId(key.id), { status }, 'who is let in again enables keys one by one')
    }
    const eve = await one.people.users.create(user('eve@example.org'), ACT)
    await one.people.members.add({ ...at(eve), role: 'member' }, NOW, ACT)
    const key = await one.keys.create(newKey(account.id, { name: 'e', hash: 'e', createdBy: eve.id }), ACT)
    await two.people.members.setRole({ ...at(eve), role: 'billing', keysTo: ann.id }, by(ann))
    t.match(await one.keys.byId(key.id), { status: 'enabled', createdBy: ann.id }, 'handed over')
  })

  check('nothing that people make is without end', async (t, one, two) => {
    const { account } = await fund(one, 'team', 0)
    const { account: other } = await fund(one, 'other', 0)
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    const full = { name: 'StoreFull', words: { zh: /./, en: /./ } }
    const count = (made: PromiseSettledResult<unknown>[]) => {
      for (const one of made) if (one.status === 'rejected') t.match(one.reason, full)
      return made.filter(({ status }) => status === 'fulfilled').length
    }
    const invite = (store: Store, hash: string, accountId: number | null) =>
      store.people.links.createInvitation(
        link(hash, { email: `${hash}@example.org`, accountId, role: 'viewer' }),
        2,
        ACT,
      )
    t.equal(count(await Promise.allSettled([one, two, one].map((store, i) => invite(store, `i${i}`, account.id)))), 2)
    t.ok(await invite(one, 'j', other.id), 'of another account')
    t.equal(count(await Promise.allSettled(['k0', 'k1', 'k2'].map(hash => invite(one, hash, null)))) <= 3, true)
    await t.rejects(invite(one, 'k3', null), full)

    for (const [i, store] of [one, two, one].entries())
      await store.people.links.create(link(`m${i}`, { email: `m${i}@example.org`, accountId: other.id }), ACT)
    const join = (store: Store, hash: string) =>
      store.people.links.acceptInvitation(hash, NOW, { user: user(`${hash}@example.org`), most: 2 }, ACT)
    t.equal(count(await Promise.allSettled([join(one, 'm0'), join(two, 'm1'), join(one, 'm2')])), 2)
    t.equal((await one.people.members.page(other.id, { limit: 9 })).length, 2)

    const identity = (subject: string) => ({ issuer: 'https://id.example', subject, userId: ann.id, atMs: NOW })
    for (let i = 0; i < 20; i++) await one.people.identities.add(identity(`s${i}`), by(ann))
    await t.rejects(one.people.identities.add(identity('one more'), by(ann)), full)
    const made = { userId: ann.id, name: 'ci', hint: '…', scope: 'read' as const, allowIps: null, createdAtMs: NOW }
    for (let i = 0; i < 100; i++)
      await one.people.tokens.create({ ...made, hash: `t${i}`, expiresAtMs: NOW + HOUR_MS }, by(ann))
    await t.rejects(one.people.tokens.create({ ...made, hash: 'more', expiresAtMs: NOW + HOUR_MS }, by(ann)), full)
  })

  check('what a change of the password ends, and what a reset', async (t, one) => {
    const { people } = one
    const token = { name: 'ci', hint: '…', scope: 'read' as const, allowIps: null, createdAtMs: NOW }
    const rows: [what: string, change: (eve: Person) => Promise<unknown>, tokenStays: boolean][] = [
      ['password', eve => people.credentials.set(eve.id, { password: 'p2' }, by(eve)), true],
      ['factor', eve => people.credentials.set(eve.id, { totp: null }, by(eve)), true],
      ['factor-reset', eve => people.credentials.set(eve.id, { totp: null, endTokens: true }, ACT), false],
      ['reset', eve => people.links.resetPassword('reset', NOW, 'p2', by(eve)), false],
    ]
    for (const [what, change, tokenStays] of rows) {
      const [eve, bob] = [
        await people.users.create(user(`${what}@a.de`), ACT),
        await people.users.create(user(`${what}@b.de`), ACT),
      ]
      for (const person of [eve, bob]) {
        await people.sessions.create(session(`s ${person.email}`, person), by(person))
        await people.sessions.addDevice(`d ${person.email}`, person.id, NOW)
        const hash = `t ${person.email}`
        await people.tokens.create({ ...token, hash, userId: person.id, expiresAtMs: NOW + HOUR_MS }, by(person))
      }
      if (what === 'reset') await people.links.create(link('reset', { kind: 'reset', userId: eve.id }), by(eve))
      await change(eve)
      t.equal(await people.sessions.read(`s ${eve.email}`), null, what)
      t.equal(await people.sessions.deviceUser(`d ${eve.email}`), null, what)
      t.equal((await people.tokens.read(`t ${eve.email}`)) !== null, tokenStays, what)
      const [line] = await one.actions.page({ subject: { kind: 'user', id: eve.publicId }, limit: 1 })
      t.equal(line?.after?.['ended_tokens'], tokenStays ? undefined : 1)
      t.ok(await people.sessions.read(`s ${bob.email}`), 'of others nothing ends')
      t.equal(await people.sessions.deviceUser(`d ${bob.email}`), bob.id)
      t.ok(await people.tokens.read(`t ${bob.email}`))
    }
  })

  check('who was signed out enables nobody, and who is disabled gets no session', async (t, one) => {
    const { users, sessions } = one.people
    const [ann, bob] = [
      await users.create(user('ann@example.org'), ACT),
      await users.create(user('bob@example.org'), ACT),
    ]
    const { id: sessionId } = await sessions.create(session('s1', ann), by(ann))
    const act = { ...by(ann), actor: { ...by(ann).actor, by: { sessionId, tokenId: null } } }
    await users.update(bob.id, { status: 'disabled' }, act)
    await t.rejects(sessions.create(session('s2', bob), by(bob)), SignedOut)
    t.strictSame(await sessions.list(bob.id), [])
    await sessions.endAll(ann.id, null, ACT)
    await t.rejects(users.update(bob.id, { status: 'active' }, act), SignedOut)
    t.match(await users.byId(bob.id), { status: 'disabled' })
  })

  check('addresses are forgotten in time, and nothing else', async (t, one, two) => {
    const { account, key } = await fund(one, 'team', 0)
    const other = await one.keys.create(newKey(account.id, { name: 'b', hash: 'b' }), ACT)
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    for (let i = 0; i < 5; i++)
      await one.people.users.update(ann.id, { theme: i % 2 === 0 ? 'dark' : 'light' }, by(ann))
    await one.keys.recordUses([
      { keyId: key.id, atMs: NOW, ip: '192.0.2.1' },
      { keyId: other.id, atMs: NOW + 1, ip: '192.0.2.2' },
    ])
    const lines = async () => one.actions.page({ limit: 200 })
    const addresses = async () => [
      (await lines()).filter(({ actor }) => actor.ip !== null).length,
      [...(await one.keys.uses([key.id, other.id])).values()].map(({ ip }) => ip),
    ]
    const before = await lines()
    const all = [5, ['192.0.2.1', '192.0.2.2']]
    t.same(await addresses(), all)
    t.equal(await one.people.forgetAddresses(1_000, 100), 0, 'nothing is as old')
    t.same(await addresses(), all)
    t.equal(await one.people.forgetAddresses(NOW + 1, 100), 1, 'the use, because the lines are of this day')
    t.same(await addresses(), [5, ['', '192.0.2.2']])
    const future = Date.now() + 86_400_000
    const forgotten = await Promise.all([one, two].map(store => store.people.forgetAddresses(future, 3)))
    for (const count of forgotten) t.ok(count === 3 || count === 4, `so many lines at a time, beside a use: ${count}`)
    for (let count = 1; count > 0; ) count = await two.people.forgetAddresses(future, 3)
    t.same(await addresses(), [0, ['', '']])
    const without = (line: (typeof before)[number]) => ({ ...line, actor: { ...line.actor, ip: null } })
    t.same(await lines(), before.map(without), 'the lines are as they were')
    await one.people.users.update(ann.id, { theme: 'light' }, by(ann))
    t.equal((await addresses())[0], (await lines())[0]?.actor.ip === null ? 0 : 1)
  })

  check('a user has so many sessions, and the oldest end', async (t, one) => {
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    const bob = await one.people.users.create(user('bob@example.org'), ACT)
    await one.people.sessions.create(session('of bob', bob), by(bob))
    for (let i = 0; i < 202; i++) await one.people.sessions.create(session(`s${i}`, ann, NOW + i), by(ann))
    t.equal((await one.people.sessions.list(ann.id)).length, 200)
    for (const [hash, isThere] of [
      ['s1', false],
      ['s2', true],
      ['s201', true],
      ['of bob', true],
    ] as const)
      t.equal((await one.people.sessions.read(hash)) !== null, isThere, hash)
  })

  check('sessions, devices and tokens', async (t, one, two) => {
    const { people } = one
    const ann = await people.users.create(user('ann@example.org'), ACT)
    const first = await people.sessions.create(session('s1', ann), by(ann))
    const second = await people.sessions.create(session('s2', ann, NOW + 1), by(ann))
    t.match(await two.people.sessions.read('s1'), { session: first, person: ann })
    t.match(first, { userId: ann.id, createdAtMs: NOW, seenAtMs: NOW, provenAtMs: NOW, agent: 'a browser' })
    await people.sessions.seen(first.id, NOW + 5, '192.0.2.8', 'another')
    t.match(await people.sessions.read('s1'), { session: { seenAtMs: NOW + 5, ip: '192.0.2.8', agent: 'another' } })
    t.equal(await people.sessions.prove(first.id, 's1b', NOW + 6), true)
    t.equal(await people.sessions.read('s1'), null, 'the old secret is dead')
    t.match(await people.sessions.read('s1b'), { session: { provenAtMs: NOW + 6, createdAtMs: NOW } })
    t.equal(await people.sessions.prove(99, 'x', NOW), false)
    t.strictSame(
      (await people.sessions.list(ann.id)).map(({ id }) => id),
      [second.id, first.id],
    )
    const bob = await people.users.create(user('bob@example.org'), ACT)
    t.equal(await people.sessions.end(bob.id, first.publicId, by(bob)), false, 'nobody ends those of others')
    t.equal(await people.sessions.end(ann.id, first.publicId, by(ann)), true)
    await people.sessions.create(session('s3', ann), by(ann))
    t.equal(await people.sessions.endAll(ann.id, second.id, by(ann)), 1)
    t.ok(await people.sessions.read('s2'))
    t.equal(await people.sessions.endAll(ann.id, null, ACT), 1)

    for (let i = 0; i < 22; i++) await people.sessions.addDevice(`d${i}`, ann.id, NOW + i)
    t.strictSame(
      [
        await people.sessions.deviceUser('d21'),
        await people.sessions.deviceUser('d0'),
        await people.sessions.deviceUser('x'),
      ],
      [ann.id, null, null],
    )

    const token = {
      userId: ann.id,
      name: 'ci',
      hash: 't1',
      hint: 'gwp_…abcd',
      scope: 'read' as const,
      allowIps: ['192.0.2.0/24'],
      createdAtMs: NOW,
      expiresAtMs: NOW + HOUR_MS,
    }
    const made = await people.tokens.create(token, by(ann))
    const { hash: _, ...shown } = token
    t.match(made, { ...shown, usedAtMs: null })
    t.match(await two.people.tokens.read('t1'), { token: made, person: ann })
    await people.tokens.used(made.id, NOW + 3)
    t.match(await people.tokens.list(ann.id), [{ usedAtMs: NOW + 3 }])
    t.equal(await people.tokens.end(bob.id, made.publicId, by(bob)), false)
    t.equal(await people.tokens.end(ann.id, made.publicId, by(ann)), true)
    t.equal(await people.tokens.read('t1'), null)

    const identity = { issuer: 'https://id.example', subject: 'sub-1', userId: ann.id, atMs: NOW }
    await people.identities.add(identity, by(ann))
    await t.rejects(people.identities.add({ ...identity, userId: bob.id }, by(bob)), StoreConflict)
    t.equal(await people.identities.userOf('https://id.example', 'sub-1'), ann.id)
    t.equal(await people.identities.userOf('https://other.example', 'sub-1'), null)
    const [kept] = await people.identities.list(ann.id)
    t.equal(await people.identities.end(bob.id, kept!.id, by(bob)), false)
    t.equal(await people.identities.end(ann.id, kept!.id, by(ann)), true)
  })

  check('counters, and what is pruned', async (t, one, two) => {
    const raise = (store: Store, ids: string[]) =>
      store.people.throttles.count(ids, rows => ({
        result: rows.map(({ failures }) => failures),
        counters: rows.map(({ failures }) => ({ failures: failures + 1, lastMs: NOW, untilMs: NOW + 7 })),
      }))
    t.strictSame(await raise(one, ['a', 'b']), [0, 0])
    const many = await Promise.all(Array.from({ length: 10 }, (_, i) => raise(i % 2 ? one : two, ['b', 'a', 'c'])))
    t.strictSame(
      many.map(row => row[0]).sort((a, b) => a! - b!),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      'none is lost',
    )
    t.notOk(failed.includes('throttle'), 'a try that counts waits for the other, and is in no deadlock with it')
    const seen = await one.people.throttles.count(['c', 'd'], rows => ({ result: rows, counters: null }))
    t.strictSame(seen, [
      { failures: 10, lastMs: NOW, untilMs: NOW + 7 },
      { failures: 0, lastMs: 0, untilMs: 0 },
    ])
    const ann = await one.people.users.create(user('ann@example.org'), ACT)
    await one.people.sessions.create(session('s1', ann), by(ann))
    await one.people.links.create(link('l1'), ACT)
    const later = NOW + 40 * 24 * HOUR_MS
    let deleted = 0
    for (let some = 1; some > 0; deleted += some) some = await one.people.prune(later, 2)
    t.equal(deleted, 6, 'four counters, a session, a link')
    t.equal(await one.people.sessions.read('s1'), null)
    t.equal(await one.people.prune(later, 2), 0)
    t.ok(await one.people.users.byId(ann.id))
  })
}
