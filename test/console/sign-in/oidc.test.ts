/** Sign-in by a real OpenID provider of our own, with its own keys. */
import t, { type Test } from 'tap'
import { hrefTo, START } from '../../../web/shared/sitemap.ts'
import { CLIENT, startOpenidProvider } from '../../support/openid-provider.ts'
import { CLI, newPerson, PASSWORD } from '../../support/people.ts'
import { type Browser, serveConsole } from '../support/cookie-browser.ts'

const EMAIL = 'ann@example.org'

async function open(t: Test, mode = 'closed') {
  // the library compares with the time of this machine
  const provider = await startOpenidProvider(t, () => Date.now())
  const oidc = { issuer: provider.issuer, name: 'Company', client_id: CLIENT.id, client_secret: CLIENT.secret }
  const smtp = { host: '127.0.0.1', security: 'none', from: 'gateway@example.org' }
  const settings = JSON.stringify({ oidc, smtp, registration: { mode } })
  const { deps, browser } = await serveConsole(t, settings)
  provider.claims = { sub: 'subject-1', email: EMAIL, email_verified: true, name: 'Ann' }
  /** The whole way; returns where the browser is in the end. */
  const go = async (one: Browser, path: string, body = {}): Promise<string> => {
    const { json } = await one.ask('POST', path, body)
    return back(one, await provider.visit(String(json['url'])))
  }
  const back = async (one: Browser, url: URL): Promise<string> => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
    const { status, headers: got } = await one.ask(
      'GET',
      url.pathname.slice('/console/api'.length) + url.search,
      undefined,
      headers,
    )
    t.equal(status, 303)
    return String(got.location)
  }
  return { provider, deps, browser, go, back }
}

t.test('nobody is joined by an equal e-mail; who links signs in', async t => {
  const { deps, browser, go, provider } = await open(t)
  await newPerson(deps, EMAIL)
  t.equal(await go(browser(), '/sign-in/oidc'), '/console/sign-in?oidc=unknown')
  const one = browser()
  await one.ask('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  t.equal(await go(one, '/me/identities'), '/console/security?oidc=linked')
  t.match((await one.ask('GET', '/me/identities')).json, { data: [{ issuer: provider.issuer }] })
  const two = browser()
  t.equal(await go(two, '/sign-in/oidc'), hrefTo(START))
  t.match(await two.ask('GET', '/me'), { status: 200, json: { email: EMAIL } })
  t.equal(two.cookies.has('oidc'), false)
  const bob = browser()
  await newPerson(deps, 'bob@example.org')
  await bob.ask('POST', '/sign-in', { email: 'bob@example.org', password: PASSWORD })
  t.equal(await go(bob, '/me/identities'), '/console/security?oidc=taken')
  provider.claims = { ...provider.claims, sub: 'subject-2' }
  t.equal(await go(browser(), '/sign-in/oidc'), '/console/sign-in?oidc=unknown', 'somebody else of the provider')
})

t.test('a step-up is a new sign-in at the provider', async t => {
  const { deps, browser, go, provider } = await open(t)
  await newPerson(deps, EMAIL)
  const one = browser()
  await one.ask('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  await go(one, '/me/identities')
  deps.clock.advance(11 * 60_000)
  t.equal((await one.ask('POST', '/me/second-factor')).status, 403)
  const long = Math.floor(Date.now() / 1000) - 3_600
  for (const auth_time of [undefined, long]) {
    provider.claims = { ...provider.claims, auth_time }
    t.equal(await go(one, '/sign-in/step-up/oidc'), '/console/security?oidc=failed', `signed in there at ${auth_time}`)
  }
  t.equal((await one.ask('POST', '/me/second-factor')).status, 403)
  provider.claims = { ...provider.claims, auth_time: Math.floor(Date.now() / 1000) }
  t.equal(await go(one, '/sign-in/step-up/oidc'), '/console/security?oidc=proven')
  t.equal((await one.ask('POST', '/me/second-factor')).status, 201)
})

t.test('the way leads back to the page that asked for it, and to no page of somebody else', async t => {
  const { deps, browser, go } = await open(t, 'open')
  const first = browser()
  await go(first, '/sign-in/oidc')
  const rows: [next: string, end: string][] = [
    ['/console/keys?account=a', '/console/keys?account=a'],
    ['https://evil.example/', hrefTo(START)],
    ['//evil.example/', hrefTo(START)],
    ['/console/../v1/files', hrefTo(START)],
    ['/console/api/sign-out', hrefTo(START)],
  ]
  for (const [next, end] of rows) t.equal(await go(browser(), '/sign-in/oidc', { next }), end, next)
  const person = await deps.store.people.users.byEmail(EMAIL)
  await deps.store.people.credentials.startTotp(person!.id, 'JBSWY3DPEHPK3PXP')
  await deps.store.people.credentials.set(person!.id, { totp: { confirmedStep: 1 } }, CLI)
  const challenged = await go(browser(), '/sign-in/oidc', { next: '/console/keys' })
  t.match(challenged, /^\/console\/sign-in\?next=%2Fconsole%2Fkeys#[\w-]{20,}$/)
})

t.test('what is not the answer to our question is refused', async t => {
  const { deps, browser, back, provider } = await open(t)
  await newPerson(deps, EMAIL)
  const begin = async (one: Browser) => provider.visit(String((await one.ask('POST', '/sign-in/oidc', {})).json['url']))
  const [mine, victim] = [browser(), browser()]
  const stolen = await begin(mine)
  t.equal(await back(victim, stolen), '/console/sign-in?oidc=again', 'a browser that has not asked')
  await begin(victim)
  t.equal(await back(victim, stolen), '/console/sign-in?oidc=failed', 'the state of another browser')
  const cookie = mine.cookies.get('oidc') as string
  t.equal(await back(mine, stolen), '/console/sign-in?oidc=unknown')
  mine.cookies.set('oidc', cookie)
  t.equal(await back(mine, stolen), '/console/sign-in?oidc=again', 'it works once')
  const late = await begin(mine)
  deps.clock.advance(600_000)
  t.equal(await back(mine, late), '/console/sign-in?oidc=again', 'ten minutes later')
  const otherNonce = await begin(mine)
  provider.claims = { ...provider.claims, nonce: 'another' }
  t.equal(await back(mine, otherNonce), '/console/sign-in?oidc=failed', 'another nonce')
  provider.claims = { sub: 'subject-1', aud: 'somebody else' }
  t.equal(await back(mine, await begin(mine)), '/console/sign-in?oidc=failed', 'a token for somebody else')
})

t.test('unknown people become users where everybody may, with a proven e-mail of their own', async t => {
  const { deps, browser, go, provider } = await open(t, 'open')
  await newPerson(deps, 'bob@example.org')
  const base = provider.claims
  for (const claims of [{ email: 'bob@example.org' }, { email_verified: false }, { email: 'none' }]) {
    provider.claims = { ...base, ...claims }
    t.equal(await go(browser(), '/sign-in/oidc'), '/console/sign-in?oidc=unknown', JSON.stringify(claims))
  }
  provider.claims = { ...base, auth_time: Math.floor(deps.clock.now() / 1000) }
  const one = browser()
  t.equal(await go(one, '/sign-in/oidc'), hrefTo(START))
  t.match((await one.ask('GET', '/me')).json, {
    email: EMAIL,
    name: 'Ann',
    has_password: false,
    accounts: [{ role: 'owner' }],
  })
  const [identity] = (await one.ask('GET', '/me/identities')).json['data'] as { id: string }[]
  t.equal((await one.ask('DELETE', `/me/identities/${identity?.id}`)).status, 409, 'the only way in stays')
  t.equal((await one.ask('POST', '/me/password', { new: PASSWORD })).status, 204)
  t.equal((await one.ask('DELETE', `/me/identities/${identity?.id}`)).status, 204)
  t.match(await browser().ask('GET', '/sign-in'), { json: { registration: 'open', mail: true, oidc: 'Company' } })
})
