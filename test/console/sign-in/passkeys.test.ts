import t from 'tap'
import { Authenticator } from '../../support/authenticator.ts'
import { newPerson, PASSWORD } from '../../support/people.ts'
import { type Browser, serveConsole } from '../support/cookie-browser.ts'

const ORIGIN = 'https://console.example.org'
const SETTINGS = `public: { main: "${ORIGIN}" }`
const EMAIL = 'ann@example.org'
const SESSION = '__Host-session'

type Asked = Parameters<Authenticator['answer']>[0]

const signIn = (one: Browser) => one.ask('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
const asked = async (one: Browser, path: string, body = {}) =>
  (await one.ask('POST', path, body)).json as unknown as Asked

async function add(one: Browser, name = 'laptop') {
  const device = new Authenticator(ORIGIN)
  const passkey = device.make(await asked(one, '/me/passkeys/challenge'))
  return { device, answer: await one.ask('POST', '/me/passkeys', { name, passkey }) }
}

t.test('a stolen session adds, renames and deletes no passkey without a fresh proof', async t => {
  const { deps, browser } = await serveConsole(t, SETTINGS)
  const person = await newPerson(deps, EMAIL)
  const [one, thief] = [browser(), browser('192.0.2.66')]
  await signIn(one)
  const { device, answer } = await add(one)
  t.match(answer, { status: 201, json: { name: 'laptop', synced: false } })
  const id = String(answer.json['id'])
  thief.cookies.set(SESSION, one.cookies.get(SESSION)!)
  const ready = new Authenticator(ORIGIN).make(await asked(thief, '/me/passkeys/challenge'))
  deps.clock.advance(10 * 60_000)
  const refused = [
    await thief.ask('POST', '/me/passkeys/challenge', {}),
    await thief.ask('POST', '/me/passkeys', { name: 'mine', passkey: ready }),
    await thief.ask('PATCH', `/me/passkeys/${id}`, { name: 'mine' }),
    await thief.ask('DELETE', `/me/passkeys/${id}`),
  ]
  for (const one of refused) t.match(one, { status: 403, error: { code: 'step_up' } })
  t.equal((await deps.store.people.passkeys.list(person.id)).length, 1)

  const proof = device.answer(await asked(one, '/sign-in/step-up/passkey/challenge'))
  const before = one.cookies.get(SESSION)
  t.match(await one.ask('POST', '/sign-in/step-up', { passkey: proof }), { status: 200 })
  t.not(one.cookies.get(SESSION), before, 'a proof renews the secret')
  t.equal((await thief.ask('GET', '/me')).status, 401, 'with which the thief is out')
  t.equal((await one.ask('PATCH', `/me/passkeys/${id}`, { name: '笔记本' })).status, 204)
  t.match(await one.ask('GET', '/me/passkeys'), { json: { data: [{ id, name: '笔记本' }] } })
  t.equal((await one.ask('PATCH', '/me/passkeys/nobodys', { name: 'x' })).status, 404)
  t.equal((await one.ask('DELETE', `/me/passkeys/${id}`)).status, 204)
  t.match(await one.ask('GET', '/me'), { status: 200, json: { second_factor: false, passkeys: 0 } })
})

t.test('a new passkey ends every other session; its sign-in opens a new one', async t => {
  const { deps, browser } = await serveConsole(t, SETTINGS)
  await newPerson(deps, EMAIL)
  const [one, two] = [browser(), browser('192.0.2.2')]
  await signIn(one)
  await signIn(two)
  const { device, answer } = await add(one)
  t.equal((answer.json['recovery_codes'] as string[]).length, 10)
  t.equal((await two.ask('GET', '/me')).status, 401)
  t.match(await one.ask('GET', '/me'), {
    status: 200,
    json: { second_factor: true, authenticator: false, passkeys: 1 },
  })
  t.match((await add(one, 'phone')).answer, { status: 201, json: { recovery_codes: null } })

  const planted = 'x'.repeat(43)
  two.cookies.set(SESSION, planted)
  const challenge = await asked(two, '/sign-in/passkey/challenge')
  t.match(two.lines.at(-1), /^__Host-passkey=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=300; Secure$/)
  const passkey = device.answer(challenge)
  t.match(await browser('192.0.2.3').ask('POST', '/sign-in/passkey', { passkey }), { status: 410 }, 'another browser')
  t.match(await two.ask('POST', '/sign-in/passkey', { passkey }), { status: 200, json: { state: 'signed_in' } })
  t.not(two.cookies.get(SESSION), planted, 'the session from before a sign-in is not the one after')
  t.match(await two.ask('GET', '/me'), { status: 200 })
  t.equal((await two.ask('POST', '/me/recovery-codes')).status, 201, 'a sign-in by a passkey is a fresh proof')

  const half = await signIn(one)
  t.match(half.json, { state: 'second_factor', passkey: true })
  const begun = { challenge: half.json['challenge'] as string }
  const second = device.answer(await asked(one, '/sign-in/passkey/challenge', begun))
  t.match(await one.ask('POST', '/sign-in/second-factor', { ...begun, passkey: second }), { status: 200 })
})

t.test('the address of the config counts, and not that of the request; bodies are bounded', async t => {
  const { deps, browser } = await serveConsole(t, SETTINGS)
  await newPerson(deps, EMAIL)
  const one = browser()
  await signIn(one)
  const evil = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  t.match(await one.ask('POST', '/me/passkeys/challenge', {}, evil), { json: { rp: { id: 'console.example.org' } } })
  t.match(await one.ask('POST', '/sign-in/passkey/challenge', {}, evil), { json: { rpId: 'console.example.org' } })
  const device = new Authenticator('https://evil.example')
  const passkey = device.make(await asked(one, '/me/passkeys/challenge'))
  t.equal((await one.ask('POST', '/me/passkeys', { name: 'x', passkey })).status, 403)
  const long = (field: object) => ({ ...passkey, response: { ...passkey.response, ...field } })
  const rows: [body: object, status: number][] = [
    [{ name: 'x', passkey: long({ attestationObject: 'A'.repeat(20_000) }) }, 400],
    [{ name: 'x', passkey: long({ clientDataJSON: '{}' }) }, 400],
    [{ name: 'x'.repeat(500), passkey }, 400],
    [{ name: 'x' }, 400],
  ]
  for (const [body, status] of rows) t.equal((await one.ask('POST', '/me/passkeys', body)).status, status)
})

t.test('a passkey is the second factor that operators need', async t => {
  const { deps, browser } = await serveConsole(t, SETTINGS)
  await newPerson(deps, EMAIL, { operator: true })
  const one = browser()
  await signIn(one)
  const invite = () => one.ask('POST', '/users/invitations', { email: 'x@example.org' })
  t.match(await invite(), { status: 403, error: { code: 'second_factor' } })
  await add(one)
  t.equal((await invite()).status, 201)
})

t.test('a console at an address of numbers says why it has none', async t => {
  const { deps, browser } = await serveConsole(t, 'public: { main: "https://192.0.2.1" }')
  await newPerson(deps, EMAIL)
  const one = browser()
  await signIn(one)
  for (const path of ['/me/passkeys/challenge', '/sign-in/passkey/challenge'])
    t.match(await one.ask('POST', path, {}), { status: 409, error: { message: /Passkeys need a console at an https/ } })
})
