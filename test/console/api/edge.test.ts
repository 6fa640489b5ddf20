/** The console's API with real people: signing in, tokens, the document, and what a cheat would try at its edge. */
import t from 'tap'
import { request } from '../../api/support/api.ts'
import { newPerson, PASSWORD } from '../../support/people.ts'
import { openConsole } from '../support/console.ts'

t.test('somebody signs in, looks, and signs out', async t => {
  const house = await openConsole(t)
  await newPerson(house.deps, 'ann@example.com')
  const browser = house.anybody()
  t.equal((await browser.call('me.show')).code, 'signed_out')
  const body = { email: 'ann@example.com', password: PASSWORD }
  t.match(await browser.call('sign_in.password', { body }), { status: 200, json: { state: 'signed_in' } })
  t.match(await browser.call('me.show'), { status: 200, json: { email: 'ann@example.com' } })
  const kept = browser.cookies.get('session') as string
  t.equal((await browser.call('sign_in.sign_out')).status, 204)
  t.notOk(browser.cookies.has('session'))
  browser.cookies.set('session', kept)
  t.equal((await browser.call('me.show')).code, 'signed_out', 'the session has ended, and not only the cookie')
  t.ok(house.counted.includes('sign_in.password 200'))
})

t.test('the document shows the calls of operators to operators', async t => {
  const house = await openConsole(t)
  const ann = await house.person('ann@example.com')
  const operator = await house.person('op@example.com', { operator: true, factor: true })
  const paths = async (client: Pick<typeof ann, 'call'>) =>
    Object.keys((await client.call('document.read')).json['paths'] as object)
  const [everybody, anns, operators] = [await paths(house.anybody()), await paths(ann), await paths(operator)]
  t.same(anns, everybody)
  t.ok(operators.length >= everybody.length)
  t.ok(everybody.includes('/api/me'))
  t.ok(everybody.includes('/openapi.json'))
})

t.test('secrets of others do not open the console', async t => {
  const house = await openConsole(t, 'admin_token: admin-token-for-tests')
  const port = Number(new URL(house.url).port)
  const me = (headers: object) => request(port, 'GET', '/console/api/me', { ...headers })
  const ann = await house.person('ann@example.com')
  const session = ann.cookies.get('session') as string
  for (const [what, headers] of [
    ['the admin token', { authorization: 'Bearer admin-token-for-tests' }],
    ['the admin token as a cookie', { cookie: 'session=admin-token-for-tests' }],
    ['a key', { authorization: 'Bearer sk-test-rich-0123456789' }],
    ['a session as a token', { authorization: `Bearer ${session}` }],
    ['a session as a token of ours', { authorization: `Bearer gwp_${session}` }],
    ['a session in the address', { referer: `/?session=${session}` }],
    ['two sessions', { cookie: `session=${session}; session=${'x'.repeat(43)}` }],
    ['a session under the name for https', { cookie: `__Host-session=${session}` }],
  ] as const)
    t.equal((await me(headers)).status, 401, what)
  t.equal((await me({ cookie: `session=${session}` })).status, 200)
})

t.test('what belongs to the API and what to the pages', async t => {
  const house = await openConsole(t)
  const port = Number(new URL(house.url).port)
  for (const [method, path, status] of [
    ['GET', '/console/api/me', 401],
    ['GET', '/console/api', 404],
    ['GET', '/console/api?x', 404],
    ['GET', '/console/api/../api/me', 404],
    ['GET', '/console/api/%6de', 404],
    ['GET', '/console//api/me', 404],
    ['GET', '/console/nothing.json', 404],
    ['PUT', '/console/openapi.json', 405],
    ['OPTIONS', '/console/api/me', 405],
  ] as const) {
    const reply = await request(port, method, path, { origin: 'https://evil.example' })
    t.equal(reply.status, status, `${method} ${path}`)
    t.equal(reply.headers['access-control-allow-origin'], undefined)
  }
})
