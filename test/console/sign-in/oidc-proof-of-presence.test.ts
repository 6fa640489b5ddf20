/**
 * A session that was opened by an OpenID provider counted as just proven, although the provider may have recognised the
 * browser by a cookie of hours ago. So did the session of an operator-to-be who followed a link while signed in.
 */
// The bug behind these rows: a proof that nobody gave.
import t, { type Test } from 'tap'
import { openConsole } from '../support/console.ts'
import { serveConsole } from '../support/cookie-browser.ts'
import { CLIENT, startOpenidProvider } from '../../support/openid-provider.ts'
import { newPerson } from '../../support/people.ts'
import { codeOf } from '../support/totp.ts'

const EMAIL = 'ann@example.org'

async function open(t: Test) {
  const provider = await startOpenidProvider(t, () => Date.now())
  const oidc = { issuer: provider.issuer, name: 'Company', client_id: CLIENT.id, client_secret: CLIENT.secret }
  const { deps, browser } = await serveConsole(t, JSON.stringify({ oidc }))
  const ann = await newPerson(deps, EMAIL, { password: null })
  const act = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' } as const
  await deps.store.people.identities.add({ issuer: provider.issuer, subject: 's1', userId: ann.id, atMs: 1 }, act)
  const signIn = async (claims: object) => {
    provider.claims = { sub: 's1', ...claims }
    const one = browser()
    const { json } = await one.ask('POST', '/sign-in/oidc', {})
    const url = await provider.visit(String(json['url']))
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
    const path = url.pathname.slice('/console/api'.length) + url.search
    t.equal((await one.ask('GET', path, undefined, headers)).status, 303)
    return one
  }
  return { deps, signIn }
}

t.test('a sign-in proves what the provider says of its age', async t => {
  const { deps, signIn } = await open(t)
  const nowS = Math.floor(deps.clock.now() / 1000)
  const rows: [what: string, claims: object, leftS: number | null][] = [
    ['says nothing', {}, null],
    ['an hour ago', { auth_time: nowS - 3_600 }, 0],
    ['four minutes ago', { auth_time: nowS - 240 }, 360],
    ['now', { auth_time: nowS }, 600],
    ['in the future', { auth_time: nowS + 86_400 }, 600],
  ]
  for (const [what, claims, leftS] of rows) {
    const one = await signIn(claims)
    const { json } = await one.ask('GET', '/me')
    if (leftS === null) t.equal(json['proven_until'], null, what)
    const danger = await one.ask('POST', '/me/second-factor')
    t.equal(danger.status, leftS === null || leftS === 0 ? 403 : 201, what)
    if (leftS !== null && leftS > 0) t.equal(json['proven_until'], new Date((nowS + leftS) * 1000).toISOString(), what)
  }
})

t.test('a second factor that is given here is a proof', async t => {
  const { deps, signIn } = await open(t)
  const first = await signIn({ auth_time: Math.floor(deps.clock.now() / 1000) })
  const { json } = await first.ask('POST', '/me/second-factor')
  const secret = String(json['secret'])
  t.equal(
    (await first.ask('POST', '/me/second-factor/confirm', { code: codeOf(secret, deps.clock.now()) })).status,
    200,
  )
  t.equal((await first.ask('GET', '/me')).status, 200, 'the session goes on')
})

t.test('a link is no proof of somebody who is signed in', async t => {
  const house = await openConsole(t)
  const root = await house.person('root@example.com', { operator: true, factor: true })
  const eve = await house.person('eve@example.com', { factor: true })
  const { json } = await root.call('users.invite', { body: { email: 'eve@example.com', role: 'operator' } })
  house.clock.advance(11 * 60_000)
  const body = { token: String(json['url']).split('#')[1] }
  t.equal((await eve.call('invitations.accept', { body })).status, 204)
  t.match((await eve.call('me.show')).json, { operator: true })
  t.match(await eve.call('me.delete'), { status: 403, code: 'step_up' })
})
