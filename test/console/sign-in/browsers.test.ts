/** People with browsers, over HTTP: cookies, step-up, invitations, resets, tokens, members, and what is told to whom. */
import t from 'tap'
import { fromBase32, hotp, stepAt } from '../../../lib/operations/people/totp.ts'
import { startMailServer } from '../../../tools/simulator/mail-server.ts'
import { CLI, newPerson, PASSWORD } from '../../support/people.ts'
import { newKey } from '../../support/store.ts'
import { until } from '../../support/wait.ts'
import { type Browser, serveConsole } from '../support/cookie-browser.ts'

const HTTPS = 'public: { main: "https://gateway.example" }'
const EMAIL = 'ann@example.org'

const signIn = (browser: Browser, email = EMAIL, password = PASSWORD) =>
  browser.ask('POST', '/sign-in', { email, password })

/** What stands behind the # of a link. */
const secretOf = (url: unknown): string => String(url).split('#')[1] as string

t.test('cookies over https, and elsewhere', async t => {
  for (const [settings, name, secure] of [
    [HTTPS, '__Host-session', true],
    ['public: { main: "http://gateway.example" }', 'session', false],
    ['', 'session', false],
  ] as const) {
    const { deps, browser } = await serveConsole(t, settings)
    await newPerson(deps, EMAIL)
    const one = browser()
    t.match(await signIn(one), { status: 200, json: { state: 'signed_in', challenge: null } })
    const line = one.lines.find(text => text.startsWith(`${name}=`)) ?? ''
    t.match(line, /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+/)
    t.equal(/; Secure/.test(line), secure, line)
    t.notMatch(line, /Domain/i)
    t.match(await one.ask('GET', '/me'), { status: 200, json: { email: EMAIL, second_factor: false, accounts: [] } })
    t.equal((await browser().ask('GET', '/me')).status, 401)
  }
})

t.test('the cookie from before a sign-in is not the one after, and old ones are dead', async t => {
  const { deps, browser } = await serveConsole(t)
  await newPerson(deps, EMAIL)
  const one = browser()
  const planted = 'A'.repeat(43)
  one.cookies.set('session', planted)
  await signIn(one)
  const first = one.cookies.get('session') as string
  t.not(first, planted)
  await signIn(one)
  t.not(one.cookies.get('session'), first)
  const other = browser()
  await signIn(other)
  const old = other.cookies.get('session') as string
  t.equal((await other.ask('POST', '/me/password', { old: PASSWORD, new: `${PASSWORD}!` })).status, 204)
  t.match(await other.ask('GET', '/me'), { status: 200 }, 'who changes the password stays signed in')
  t.equal((await one.ask('GET', '/me')).status, 401, 'and nobody else does')
  const stale = browser()
  stale.cookies.set('session', old)
  t.equal((await stale.ask('GET', '/me')).status, 401)
  stale.cookies.set('session', other.cookies.get('session') as string)
  t.equal((await other.ask('POST', '/sign-out')).status, 204)
  t.equal(other.cookies.has('session'), false)
  t.equal((await stale.ask('GET', '/me')).status, 401, 'a kept copy is dead after the sign-out')
})

t.test('what is dangerous asks again who it is', async t => {
  const { deps, browser } = await serveConsole(t)
  await newPerson(deps, EMAIL)
  const one = browser()
  await signIn(one)
  deps.clock.advance(11 * 60_000)
  t.match(await one.ask('POST', '/me/second-factor'), { status: 403, error: { code: 'step_up' } })
  t.equal((await one.ask('POST', '/sign-in/step-up', { password: 'wrong' })).status, 403)
  const before = one.cookies.get('session')
  t.match(await one.ask('POST', '/sign-in/step-up', { password: PASSWORD }), { status: 200 })
  t.not(one.cookies.get('session'), before)
  const started = await one.ask('POST', '/me/second-factor')
  t.match(started, { status: 201, json: { qr: /^<svg /, uri: /^otpauth:/ } })
  const secret = String(started.json['secret'])
  const code = () => hotp(fromBase32(secret), stepAt(deps.clock.now()))
  t.equal((await one.ask('POST', '/me/second-factor/confirm', { code: '12345' })).status, 403)
  const confirmed = await one.ask('POST', '/me/second-factor/confirm', { code: code() })
  const codes = confirmed.json['recovery_codes'] as string[]
  t.equal(codes.length, 10)
  t.match(await one.ask('GET', '/me'), { json: { second_factor: true } }, 'the caller stays signed in')

  const two = browser('192.0.2.2')
  const half = await signIn(two)
  t.match(half, { status: 200, json: { state: 'second_factor', challenge: /^[\w-]{43}$/ } })
  t.equal(two.cookies.size, 0, 'half a sign-in has no cookie')
  const { challenge } = half.json
  t.equal((await two.ask('POST', '/sign-in/second-factor', { challenge, code: code() })).status, 403, 'used to confirm')
  deps.clock.advance(30_000)
  t.match(await two.ask('POST', '/sign-in/second-factor', { challenge, code: code() }), { status: 200 })
  t.match(await two.ask('GET', '/me/sessions'), {
    status: 200,
    json: { data: [{ current: true }, { current: false }] },
  })
  t.match(await two.ask('DELETE', '/me/sessions'), { status: 200, json: { ended: 1 } })
  t.equal((await one.ask('GET', '/me')).status, 401)
  t.equal((await two.ask('DELETE', '/me/second-factor')).status, 204)
  t.match(await two.ask('GET', '/me'), { status: 200, json: { second_factor: false } })
})

t.test('an operator invites somebody, who makes an account useful to others', async t => {
  const { deps, browser } = await serveConsole(t)
  const { store } = deps
  const account = await store.accounts.create({ name: 'team', groups: ['default'] }, CLI)
  await newPerson(deps, 'op@example.org', { operator: true })
  const op = browser()
  await signIn(op, 'op@example.org')
  for (const form of [{ role: 'owner' }, { account: 'team' }, { role: 'operator', account: 'team' }])
    t.equal((await op.ask('POST', '/users/invitations', { email: EMAIL, ...form })).status, 400)
  const invited = await op.ask('POST', '/users/invitations', { email: EMAIL, role: 'owner', account: 'team' })
  t.match(invited, { status: 201, json: { email: EMAIL, role: 'owner', url: /^http:.*\/console\/invitation#/ } })
  const token = secretOf(invited.json['url'])

  const ann = browser('192.0.2.9')
  t.match(await ann.ask('POST', '/invitations/look', { token }), {
    status: 200,
    json: { email: EMAIL, account: 'team', role: 'owner', operator: false, signed_in: false },
  })
  t.equal((await ann.ask('POST', '/invitations/look', { token: 'x' })).status, 410)
  t.equal((await ann.ask('POST', '/invitations/accept', { token })).status, 400, 'a password is needed')
  const mine = { token, name: 'Ann', password: 'password' }
  t.equal((await ann.ask('POST', '/invitations/accept', mine)).status, 400, 'not one that everybody guesses')
  t.equal((await ann.ask('POST', '/invitations/accept', { ...mine, password: PASSWORD })).status, 204)
  const id = account.publicId
  t.match(await ann.ask('GET', '/me'), { json: { accounts: [{ id, name: 'team', role: 'owner', status: 'active' }] } })
  t.equal((await ann.ask('POST', '/invitations/accept', mine)).status, 410, 'it works once')

  const team = (path: string) => `/accounts/${id}${path}`
  const made = await ann.ask('POST', team('/invitations'), { email: 'bob@example.org', role: 'member' })
  t.equal(made.status, 201)
  t.match(await ann.ask('GET', team('/invitations')), {
    json: { data: [{ email: 'bob@example.org', role: 'member' }] },
  })
  const bobs = { token: secretOf(made.json['url']), name: 'Bob', password: PASSWORD }
  t.equal((await browser('192.0.2.5').ask('POST', '/invitations/accept', bobs)).status, 403, 'closed: no new users')
  const bob = await newPerson(deps, 'bob@example.org')
  t.equal((await browser('192.0.2.5').ask('POST', '/invitations/accept', bobs)).status, 403, 'sign in first')
  const bobBrowser = browser('192.0.2.5')
  await signIn(bobBrowser, bob.email)
  t.equal((await bobBrowser.ask('POST', '/invitations/accept', { token: bobs.token })).status, 204)
  t.match(await bobBrowser.ask('GET', '/me'), { status: 200, json: { accounts: [{ role: 'member' }] } })

  t.equal((await bobBrowser.ask('GET', team('/members'))).status, 403)
  const listed = await ann.ask('GET', team('/members'))
  t.match(listed, {
    json: {
      data: [
        { email: EMAIL, role: 'owner' },
        { email: bob.email, role: 'member' },
      ],
      next: null,
    },
  })
  t.equal((await ann.ask('POST', team('/leave'))).status, 409, 'the last owner stays')
  t.equal((await ann.ask('PATCH', team(`/members/${bob.publicId}`), { role: 'viewer' })).status, 200)
  t.equal((await bobBrowser.ask('GET', '/me')).status, 401, 'a new role needs a new sign-in')
  const keyOf = async (name: string) =>
    (await store.keys.create(newKey(account.id, { name, hash: `hash of ${name}`, createdBy: bob.id }), CLI)).id
  const handed = await keyOf('to be handed over')
  const shown = await ann.ask('GET', team(`/members/${bob.publicId}`))
  t.match(shown, { json: { keys: [{ name: 'to be handed over', status: 'enabled' }] } })
  t.equal((await ann.ask('DELETE', team(`/members/${bob.publicId}?keys=hand_over`))).status, 204)
  const owner = await store.people.users.byEmail(EMAIL)
  t.match(await store.keys.byId(handed), { status: 'enabled', createdBy: owner?.id })
  await store.people.members.add({ userId: bob.id, accountId: account.id, role: 'member' }, 1, CLI)
  const left = await keyOf('to be disabled')
  t.equal((await ann.ask('DELETE', team(`/members/${bob.publicId}`))).status, 204)
  t.match(await store.keys.byId(left), { status: 'disabled', createdBy: bob.id })
  t.match(await store.actions.page({ accountId: account.id, limit: 1 }), [
    { operation: 'members.remove', subject: { kind: 'key' }, after: { status: 'disabled' } },
  ])
  t.equal((await ann.ask('DELETE', team(`/members/${bob.publicId}`))).status, 404)
  await signIn(bobBrowser, bob.email)
  t.equal((await bobBrowser.ask('GET', team('/members'))).status, 404, 'strangers learn nothing')
  t.equal((await bobBrowser.ask('GET', '/accounts/unknown/members')).status, 404)
})

t.test('what operators do with users', async t => {
  const { deps, browser } = await serveConsole(t)
  const ann = await newPerson(deps, EMAIL)
  await newPerson(deps, 'op@example.org', { operator: true })
  const [op, user] = [browser(), browser('192.0.2.9')]
  await signIn(op, 'op@example.org')
  await signIn(user)
  for (const path of ['/users', `/users/${ann.publicId}`]) t.equal((await user.ask('GET', path)).status, 403)
  t.match(await op.ask('GET', '/users?q=ANN'), { status: 200, json: { data: [{ id: ann.publicId, email: EMAIL }] } })
  t.match(await op.ask('GET', `/users/${ann.publicId}`), { status: 200, json: { sessions: 1, accounts: [] } })
  t.match(await op.ask('DELETE', `/users/${ann.publicId}/sessions`), { json: { ended: 1 } })
  t.equal((await user.ask('GET', '/me')).status, 401)
  const reset = await op.ask('POST', `/users/${ann.publicId}/reset`)
  t.match(reset, { status: 201, json: { url: /\/console\/reset#/ } })
  const next = { token: secretOf(reset.json['url']), password: 'entirely different' }
  t.equal((await user.ask('POST', '/resets/confirm', next)).status, 204)
  t.equal((await user.ask('POST', '/resets/confirm', next)).status, 410)
  t.equal((await signIn(user)).status, 403)
  await signIn(user, EMAIL, 'entirely different')
  t.match(await user.ask('GET', '/me'), { json: { notices: [{ kind: 'reset_link' }] } }, 'the person is told')
  t.equal((await user.ask('DELETE', '/me/notices')).status, 204)
  t.strictSame((await user.ask('GET', '/me')).json['notices'], [])
  t.match(await op.ask('PATCH', `/users/${ann.publicId}`, { status: 'disabled' }), { json: { status: 'disabled' } })
  t.equal((await user.ask('GET', '/me')).status, 401)
  t.equal((await signIn(user, EMAIL, 'entirely different')).status, 403)
  deps.clock.advance(11 * 60_000)
  t.match(await op.ask('PATCH', `/users/${ann.publicId}`, { status: 'active' }), { error: { code: 'step_up' } })
  const lines = await deps.store.actions.page({ subject: { kind: 'user', id: ann.publicId }, limit: 20 })
  const told = lines.map(({ operation, actor }) => `${operation} by ${actor.name}`)
  for (const line of ['users.disable by op@example.org', 'users.reset by op@example.org', `resets.reset by ${EMAIL}`])
    t.ok(told.includes(line), line)
})

t.test('personal tokens', async t => {
  const { deps, browser } = await serveConsole(t)
  await newPerson(deps, EMAIL)
  const one = browser()
  await signIn(one)
  const day = new Date(deps.clock.now() + 86_400_000).toISOString()
  const form = { name: 'ci', scope: 'read', expires_at: day, allow_ips: ['192.0.2.0/24'] }
  t.equal((await one.ask('POST', '/me/tokens', { ...form, scope: 'operator' })).status, 403)
  t.equal((await one.ask('POST', '/me/tokens', { ...form, expires_at: '2020-01-01T00:00:00Z' })).status, 400)
  const made = await one.ask('POST', '/me/tokens', form)
  t.match(made, { status: 201, json: { secret: /^gwp_[\w-]{43}$/, hint: /^gwp_…/, used_at: null } })
  const authorization = `Bearer ${made.json['secret']}`
  const program = (ip: string) => browser(ip).ask('GET', '/me', undefined, { authorization })
  t.equal((await program('192.0.2.77')).status, 200)
  t.equal((await program('198.51.100.1')).status, 401, 'from elsewhere')
  t.equal((await browser().ask('GET', '/me/tokens', undefined, { authorization })).status, 403, 'tokens make no tokens')
  t.match(await one.ask('GET', '/me/tokens'), { json: { data: [{ name: 'ci', used_at: /Z$/ }] } })
  t.notMatch(JSON.stringify((await one.ask('GET', '/me/tokens')).json), String(made.json['secret']))
  deps.clock.advance(86_400_001)
  t.equal((await program('192.0.2.77')).status, 401, 'it has ended')
  await signIn(one)
  t.equal((await one.ask('DELETE', `/me/tokens/${made.json['id']}`)).status, 204)
  t.equal((await one.ask('DELETE', `/me/tokens/${made.json['id']}`)).status, 404)
})

const OPEN = (port: number) => `
registration: { mode: open, groups: [default, vip], rate: { requests: 5, minutes: 1 } }
smtp: { host: 127.0.0.1, port: ${port}, security: none, from: "Gateway <gateway@example.org>" }
`

t.test('registration by mail, and what it says of addresses', async t => {
  const mail = await startMailServer(t)
  const { deps, browser } = await serveConsole(t, OPEN(mail.port))
  await newPerson(deps, EMAIL)
  const answers: unknown[] = []
  for (const email of [EMAIL, 'new@example.org']) {
    const { status, json } = await browser().ask('POST', '/registration', { email })
    answers.push({ status, json })
  }
  t.strictSame(answers[0], answers[1], 'known and unknown are told the same')
  t.match(answers[0], { status: 202 })
  await until('both letters', () => mail.letters.length === 2)
  const letter = (to: string) => mail.letters.filter(one => one.to === to).at(-1)?.text ?? ''
  t.notMatch(letter(EMAIL), /#/, 'who is known gets no link that makes a user')
  t.match(letter('new@example.org'), /24 小时[\s\S]*24 hours|24 hours[\s\S]*24 小时/)
  const token = secretOf(/http\S+#\S+/.exec(letter('new@example.org'))?.[0])
  const one = browser()
  t.equal((await one.ask('POST', '/registration/confirm', { token, name: 'New', password: '12345678' })).status, 400)
  t.equal((await one.ask('POST', '/registration/confirm', { token, name: 'New', password: PASSWORD })).status, 204)
  const me = await one.ask('GET', '/me')
  t.match(me.json, { email: 'new@example.org', accounts: [{ role: 'owner', name: /^u-[0-9a-z]{20}$/ }] })
  const [{ account }] = (await deps.store.people.members.ofUser(
    (await deps.store.people.users.byEmail('new@example.org'))!.id,
  )) as [Awaited<ReturnType<typeof deps.store.people.members.ofUser>>[0]]
  t.match(account, { groups: ['default', 'vip'], rate: { requests: 5, minutes: 1 }, sandbox: false })
  t.equal((await one.ask('POST', '/registration/confirm', { token, name: 'New', password: PASSWORD })).status, 410)
})

t.test('a reset by mail keeps the second factor, and says the same of every address', async t => {
  const mail = await startMailServer(t)
  const { deps, browser } = await serveConsole(t, OPEN(mail.port))
  const ann = await newPerson(deps, EMAIL)
  await deps.store.people.credentials.startTotp(ann.id, 'JBSWY3DPEHPK3PXP')
  await deps.store.people.credentials.set(ann.id, { totp: { confirmedStep: 1 }, recoveryCodes: [] }, CLI)
  mail.refuseNext('451 try later')
  for (const email of ['nobody@example.org', EMAIL])
    t.strictSame([(await browser().ask('POST', '/resets', { email })).status], [202])
  await until('the letter, at the second try', () => {
    deps.clock.advance(20)
    return mail.letters.length === 1
  })
  t.equal(mail.letters[0]?.to, EMAIL)
  const token = secretOf(/http\S+#\S+/.exec(mail.letters[0]?.text ?? '')?.[0])
  t.equal((await browser().ask('POST', '/resets/confirm', { token, password: 'entirely different' })).status, 204)
  t.match((await signIn(browser(), EMAIL, 'entirely different')).json, { state: 'second_factor' })
  const statuses: number[] = []
  for (let i = 0; i < 4; i++)
    statuses.push((await browser('198.51.100.7').ask('POST', '/resets', { email: EMAIL })).status)
  t.strictSame(statuses, [202, 202, 429, 429], 'nobody is flooded with letters')
})

t.test('another e-mail is proven', async t => {
  const mail = await startMailServer(t)
  const { deps, browser } = await serveConsole(t, OPEN(mail.port))
  await newPerson(deps, EMAIL)
  await newPerson(deps, 'bob@example.org')
  const one = browser()
  await signIn(one)
  t.equal((await one.ask('POST', '/me/email', { email: 'bob@example.org' })).status, 202, 'not said that it is taken')
  t.equal((await one.ask('POST', '/me/email', { email: 'ann@example.net' })).status, 202)
  await until('the letter', () => mail.letters.length === 1)
  t.match(mail.letters[0], { to: 'ann@example.net' })
  t.match((await one.ask('GET', '/me')).json, { email: EMAIL })
  const token = secretOf(/http\S+#\S+/.exec(mail.letters[0]?.text ?? '')?.[0])
  t.equal((await browser().ask('POST', '/email', { token })).status, 204)
  t.equal((await one.ask('GET', '/me')).status, 401)
  t.equal((await signIn(browser(), 'ann@example.net')).status, 200)
})

t.test('no mail server: registration is closed, resets are said to be impossible', async t => {
  const { browser } = await serveConsole(t)
  t.equal((await browser().ask('POST', '/registration', { email: EMAIL })).status, 403)
  t.equal((await browser().ask('POST', '/resets', { email: EMAIL })).status, 409)
})

t.test('a user deletes itself', async t => {
  const { deps, browser } = await serveConsole(t)
  await newPerson(deps, EMAIL)
  const one = browser()
  await signIn(one)
  t.equal((await one.ask('DELETE', '/me')).status, 204)
  t.equal((await one.ask('GET', '/me')).status, 401)
  t.equal((await signIn(one)).status, 403)
  t.notMatch(JSON.stringify(await deps.store.actions.page({ limit: 50 })), /ann@example/)
})

t.test('passwords are hashed one at a time, and who finds no seat comes back later', async t => {
  const { deps, browser } = await serveConsole(t)
  await newPerson(deps, EMAIL)
  const asked = Array.from({ length: 40 }, (_, i) => signIn(browser(`192.0.2.${i}`), `p${i}@example.org`))
  const statuses = (await Promise.all(asked)).map(({ status, headers }) => [
    status,
    headers['retry-after'] !== undefined,
  ])
  const full = statuses.filter(([status]) => status === 429)
  t.ok(full.length >= 20 && full.length <= 24, `${full.length} of 40 found no seat`)
  t.ok(
    full.every(([, retry]) => retry),
    'and were told when to come back',
  )
  t.equal(statuses.filter(([status]) => status === 403).length, 40 - full.length)
})
