/** Calls that another site makes with the caller's browser. */
import t from 'tap'
import { z } from 'zod'
import { operation } from '../../lib/api/operation.ts'
import { identity, type Served, serveApi } from './support/api.ts'

const common = { summary: 'A call.', scope: 'read', answer: { status: 200, body: z.unknown() } } as const
const run = async () => ({ done: true })
const body = z.looseObject({})

const ROWS = [
  operation({ ...common, id: 'a.write', call: 'POST /write', who: 'user', effect: 'write', body, run }),
  operation({ ...common, id: 'a.put', call: 'PUT /write', who: 'user', effect: 'write', body, run }),
  operation({ ...common, id: 'a.patch', call: 'PATCH /write', who: 'user', effect: 'write', body, run }),
  operation({ ...common, id: 'a.delete', call: 'DELETE /write', who: 'user', effect: 'write', run }),
  operation({
    ...common,
    id: 'a.sign_in',
    call: 'POST /sign-in',
    who: 'anyone',
    effect: 'write',
    scope: null,
    body,
    run,
  }),
  operation({ ...common, id: 'a.read', call: 'GET /read', who: 'user', effect: 'read', run }),
  operation({ ...common, id: 'a.open', call: 'GET /open', who: 'anyone', effect: 'read', run }),
]

const open = async (test: Parameters<typeof serveApi>[0]): Promise<Served> => {
  const served = await serveApi(test, ROWS)
  served.callers.sessions.set('mine', identity())
  served.callers.tokens.set('gwp_keys', identity({ sessionId: null, tokenId: 1, scope: 'read' }))
  return served
}

const GIVEN = { main: 'https://console.example/', given: true }
const CROSS = '403 cross_origin'

t.test('unsafe calls come from our own pages', async t => {
  const { ask, site, port } = await open(t)
  const host = `127.0.0.1:${port}`
  const rows: [what: string, headers: object, given: string, derived: string][] = [
    ['same-origin', { 'sec-fetch-site': 'same-origin' }, '200', '200'],
    [
      'same-origin, whatever the origin says',
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
      '200',
      '200',
    ],
    ['same-site', { 'sec-fetch-site': 'same-site' }, CROSS, CROSS],
    ['cross-site', { 'sec-fetch-site': 'cross-site' }, CROSS, CROSS],
    ['cross-site with our origin', { 'sec-fetch-site': 'cross-site', origin: 'https://console.example' }, CROSS, CROSS],
    ['none', { 'sec-fetch-site': 'none' }, CROSS, CROSS],
    ['twice', { 'sec-fetch-site': 'same-origin, cross-site' }, CROSS, CROSS],
    ['empty', { 'sec-fetch-site': '' }, CROSS, CROSS],
    ['absent, our origin', { origin: 'https://console.example' }, '200', CROSS],
    ['absent, our origin over http', { origin: 'http://console.example' }, CROSS, CROSS],
    ['absent, a subdomain', { origin: 'https://x.console.example' }, CROSS, CROSS],
    ['absent, our name as a prefix', { origin: 'https://console.example.evil.example' }, CROSS, CROSS],
    ['absent, another port', { origin: 'https://console.example:8443' }, CROSS, CROSS],
    ['absent, the host', { origin: `http://${host}` }, CROSS, '200'],
    ['absent, another port of the host', { origin: 'http://127.0.0.1:1' }, CROSS, CROSS],
    ['absent, null', { origin: 'null' }, CROSS, CROSS],
    ['absent, no origin', { origin: 'x' }, CROSS, CROSS],
    ['absent, two origins', { origin: `http://${host}, https://evil.example` }, CROSS, CROSS],
    ['absent, a forwarded host', { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' }, CROSS, CROSS],
    ['both absent', {}, CROSS, CROSS],
    ['both absent, a referer', { referer: `http://${host}/console` }, CROSS, CROSS],
  ]
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    for (const [what, headers, given, derived] of rows)
      for (const [main, wanted] of [
        [GIVEN, given],
        [{ main: 'http://127.0.0.1:3000', given: false }, derived],
      ] as const) {
        Object.assign(site, main)
        const cookie = main.given ? '__Host-session=mine' : 'session=mine'
        const { status, error } = await ask(method, '/console/api/write', { ...headers, cookie })
        t.equal(`${status}${error ? ` ${error.code}` : ''}`, wanted, `${method} ${what} ${main.main}`)
      }
})

t.test('a foreign host that claims to be ours', async t => {
  const { ask, site } = await open(t)
  const headers = { cookie: 'session=mine', origin: 'http://evil.example', host: 'evil.example' }
  // a name that leads here is as good as any while nobody has said which one is right: no cookie of ours is sent to it
  t.equal((await ask('POST', '/console/api/write', headers)).status, 200)
  Object.assign(site, { main: 'http://console.example', given: true })
  t.equal((await ask('POST', '/console/api/write', headers)).status, 403)
})

t.test('signing in is checked too, so that nobody is signed in as somebody else', async t => {
  const { ask } = await open(t)
  t.match(await ask('POST', '/console/api/sign-in', { 'sec-fetch-site': 'cross-site' }), { status: 403 })
  t.match(await ask('POST', '/console/api/sign-in', {}), { status: 403 })
  t.match(await ask('POST', '/console/api/sign-in', { 'sec-fetch-site': 'same-origin' }), { status: 200 })
})

t.test('programs with a token have no origin, but a cookie beside it makes them browsers', async t => {
  const { ask } = await open(t)
  const authorization = 'Bearer gwp_keys'
  const write = (headers: object) => ask('POST', '/console/api/write', { authorization, ...headers })
  t.equal((await write({})).status, 200)
  t.equal((await write({ cookie: 'a=b' })).status, 403)
  t.equal((await write({ cookie: 'a=b', 'sec-fetch-site': 'same-origin' })).status, 200)
  const forProxy = { authorization: 'Basic YTpi', 'sec-fetch-site': 'cross-site' }
  t.equal((await ask('POST', '/console/api/sign-in', forProxy)).status, 403, 'a browser sends this by itself')
})

t.test('a refusal names both addresses, because a wrong config is the usual cause', async t => {
  const { ask, site } = await open(t)
  Object.assign(site, GIVEN)
  const { error } = await ask('POST', '/console/api/write', {
    origin: 'http://192.0.2.7:3000',
    'accept-language': 'en',
  })
  t.match(error.message, 'comes from http://192.0.2.7:3000, and the address of the console is https://console.example')
  const long = await ask('POST', '/console/api/write', { origin: `http://${'x'.repeat(5_000)}` })
  t.ok(long.text.length < 1_000)
})

t.test('forms cannot be sent here', async t => {
  const { ask } = await open(t)
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
    const headers = { cookie: 'session=mine', 'sec-fetch-site': 'same-origin', 'content-type': type }
    t.match(await ask('POST', '/console/api/write', headers, '{"a":1}'), {
      status: 415,
      error: { code: 'not_json_type' },
    })
  }
})

t.test('reads of a person are not for other sites to cause, and no answer is a page', async t => {
  const { ask } = await open(t)
  for (const [headers, read, anyone] of [
    [{}, '200', '200'],
    [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }, '200', '200'],
    [{ 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' }, '403 not_a_page', '200'],
    [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document' }, '403 not_a_page', '200'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty' }, CROSS, '200'],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'image' }, CROSS, '200'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' }, CROSS, '200'],
  ] as const)
    for (const [path, wanted] of [
      ['read', read],
      ['open', anyone],
    ] as const) {
      const { status, error } = await ask('GET', `/console/api/${path}`, { cookie: 'session=mine', ...headers })
      t.equal(`${status}${error ? ` ${error.code}` : ''}`, wanted, `${path} ${JSON.stringify(headers)}`)
    }
})
