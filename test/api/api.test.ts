import http from 'node:http'
import net from 'node:net'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { ApiError } from '../../lib/api/errors.ts'
import { type AnswerPieces, type Operation, operation } from '../../lib/api/operation.ts'
import { OperationError } from '../../lib/operations/error.ts'
import { StoreConflict, StoreFull, StoreUnavailable } from '../../lib/store/base/errors.ts'
import * as kind from '../../lib/config/scalars.ts'
import { until } from '../support/wait.ts'
import { identity, type Reply, type Served, serveApi } from './support/api.ts'

const COOKIE = { cookie: 'session=mine' }
const OWN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }

const any = z.unknown()
const common = { summary: 'A call.', scope: 'read', effect: 'read', answer: { status: 200, body: any } } as const

/** What a call was given, told back. */
const echo = (change: Partial<Operation<object>> & Pick<Operation, 'id' | 'call'>) =>
  operation<object, unknown, unknown, unknown>({
    ...common,
    who: 'user',
    run: async (_, { caller, account, path, query, body }) => ({
      caller: { ...caller, user: caller.user?.publicId ?? null },
      account: (account as { name: string } | null)?.name ?? null,
      path,
      query,
      body: body ?? null,
    }),
    ...change,
  } as Operation<object>)

let shared: object = { prices: [1, 2] }
let thrown: () => unknown = () => new Error('nothing')

const ROWS = [
  echo({ id: 'open.read', call: 'GET /open', who: 'anyone' }),
  echo({
    id: 'me.read',
    call: 'GET /me',
    query: z.strictObject({ q: kind.name.optional(), n: kind.whole(1, 5).optional() }),
  }),
  echo({
    id: 'me.change',
    call: 'POST /me',
    effect: 'write',
    body: z.strictObject({ name: kind.name, tags: z.array(z.string()).optional() }),
  }),
  echo({
    id: 'me.remove',
    call: 'DELETE /me/{thing}',
    effect: 'write',
    path: z.object({ thing: z.string().regex(/^[a-z/]+$/) }),
  }),
  echo({ id: 'keys.list', call: 'GET /accounts/{account}/keys', who: ['owner', 'viewer'] }),
  echo({
    id: 'keys.show',
    call: 'GET /accounts/{account}/keys/{key}',
    who: ['owner'],
    viewAs: false,
    path: z.object({ key: z.string() }),
  }),
  echo({ id: 'keys.create', call: 'POST /accounts/{account}/keys', who: ['owner'], effect: 'write', scope: 'keys' }),
  echo({
    id: 'factor.remove',
    call: 'DELETE /me/factor/{thing}',
    effect: 'danger',
    scope: null,
    stepUp: true,
    path: z.object({ thing: z.string() }),
  }),
  echo({ id: 'users.list', call: 'GET /users', who: 'operator', scope: 'operator' }),
  echo({ id: 'users.ban', call: 'POST /users', who: 'operator', effect: 'danger', scope: 'operator' }),
  echo({ id: 'document.read', call: 'GET /document.json', who: 'anyone', at: 'root' }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'shared.read',
    call: 'GET /shared',
    who: 'anyone',
    cacheS: 7,
    run: async () => shared,
  }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'report.read',
    call: 'GET /report',
    who: 'user',
    limit: 'heavy',
    run: () => gate(),
  }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'rows.export',
    call: 'GET /rows.csv',
    who: 'user',
    limit: 'heavy',
    answer: { status: 200, body: 'stream', types: ['text/csv; charset=utf-8'] },
    run: async () => ({ type: 'text/csv; charset=utf-8', file: '用量 "1".csv', pieces: pieces() }),
  }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'rows.endless',
    call: 'GET /endless.csv',
    who: 'user',
    answer: { status: 200, body: 'stream', types: ['text/csv; charset=utf-8'] },
    run: async () => ({ type: 'text/csv; charset=utf-8', file: 'all.csv', pieces: endless() }),
  }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'fails',
    call: 'GET /fails',
    who: 'anyone',
    run: async () => {
      throw thrown()
    },
  }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'signs',
    call: 'POST /signs',
    who: 'anyone',
    effect: 'write',
    scope: null,
    answer: { status: 204, body: null },
    run: async (_, { cookies }) => {
      cookies.set(`session=${cookies.get('device') ?? 'none'}; HttpOnly`)
      return null
    },
  }),
  operation<object, unknown, unknown, unknown>({
    ...common,
    id: 'goes',
    call: 'GET /goes',
    who: 'anyone',
    page: true,
    answer: { status: 303, body: null },
    query: z.strictObject({ to: z.string() }),
    run: async (_, { query }) => ({ location: (query as { to: string }).to }),
  }),
]

/** One piece, and then none until it is ended. */
function endless(): AnswerPieces {
  const { promise: ended, resolve } = Promise.withResolvers<IteratorReturnResult<undefined>>()
  let taken = 0
  return {
    next: async () => (taken++ === 0 ? { done: false, value: 'a,b\r\n' } : ended),
    return: async () => {
      resolve({ done: true, value: undefined })
      return ended
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

let gate: () => Promise<object> = async () => ({})
let made = 0
async function* pieces() {
  for (const piece of ['a,b\r\n', '1,2\r\n']) {
    made++
    yield piece
  }
}

async function serve(t: Test): Promise<Served> {
  const served = await serveApi(t, ROWS)
  const { sessions, tokens } = served.callers
  sessions.set('mine', identity())
  sessions.set('gone', identity({}, { id: 2, status: 'disabled' }))
  sessions.set('operator', identity({ secondFactor: true }, { id: 3, operator: true }))
  sessions.set('bare-operator', identity({}, { id: 4, operator: true }))
  const token = (id: number, scope: 'read' | 'keys' | 'operator', operator = false) =>
    identity({ sessionId: null, tokenId: id, scope, secondFactor: operator }, { id: 10 + id, operator })
  tokens.set('gwp_read', token(1, 'read'))
  tokens.set('gwp_keys', token(2, 'keys'))
  tokens.set('gwp_operator', token(3, 'operator', true))
  tokens.set('gwp_operator_reads', token(4, 'read', true))
  for (const id of [1, 11, 12]) served.callers.roles.set(id, 'owner')
  return served
}

const codeOf = ({ status, error }: Reply): string => `${status} ${error?.code ?? ''}`.trim()

t.test('which call a method and a path mean', async t => {
  const { ask, counted } = await serve(t)
  for (const [method, path, wanted] of [
    ['GET', '/console/api/open', '200'],
    ['HEAD', '/console/api/open', '200'],
    ['GET', '/console/document.json', '200'],
    ['GET', '/console/api/document.json', '404 no_such_call'],
    ['GET', '/console/open', '404 no_such_call'],
    ['GET', '/console/api', '404 no_such_call'],
    ['GET', '/console/api/', '404 no_such_call'],
    ['GET', '/console/api/open/', '404 no_such_call'],
    ['GET', '/console/api//open', '404 no_such_call'],
    ['GET', '/console/api/./open', '404 no_such_call'],
    ['GET', '/console/api/x/../open', '404 no_such_call'],
    ['GET', '/console/api/%6fpen', '404 no_such_call'],
    ['GET', '/console/api%2fopen', '404 no_such_call'],
    ['GET', '/console/api/OPEN', '404 no_such_call'],
    ['GET', '/console/api/open;x=1', '404 no_such_call'],
    ['POST', '/console/api/open', '405 method_not_allowed'],
    ['OPTIONS', '/console/api/open', '405 method_not_allowed'],
    ['TRACE', '/console/api/open', '405 method_not_allowed'],
    ['DELETE', '/console/api/me/', '404 no_such_call'],
    ['DELETE', '/console/api/me/%zz', '404 no_such_call'],
  ] as const)
    t.equal(codeOf(await ask(method, path)), method === 'HEAD' ? '200' : wanted, `${method} ${path}`)
  t.equal((await ask('POST', '/console/api/open')).headers.allow, 'GET')
  t.equal((await ask('HEAD', '/console/api/open')).text, '')
  t.ok(counted.includes('none 404'))
  t.ok(counted.includes('open.read 200'))
  t.ok(counted.includes('none 405'))
})

t.test('a step is decoded by itself, so a name may have a slash; what has no form of an id is nobody’s', async t => {
  const { ask } = await serve(t)
  const remove = (thing: string) => ask('DELETE', `/console/api/me/${thing}`, { ...OWN, ...COOKIE })
  t.same((await remove('a%2Fb')).json['path'], { thing: 'a/b' })
  t.equal(codeOf(await remove('..%2F..')), '404 missing')
  t.equal(codeOf(await remove('%00')), '404 missing')
})

t.test('no other way to name a method is heard', async t => {
  const { ask } = await serve(t)
  const headers = {
    ...COOKIE,
    'x-http-method-override': 'POST',
    'x-method-override': 'DELETE',
    'x-http-method': 'POST',
  }
  t.equal((await ask('GET', '/console/api/me?_method=POST', headers)).status, 400)
  t.equal((await ask('GET', '/console/api/me', headers)).json['body'], null)
})

t.test('who may call', async t => {
  const { ask, callers } = await serve(t)
  const A = '/console/api/accounts/account-seven'
  const cookie = (secret: string) => ({ ...OWN, cookie: `session=${secret}` })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  callers.sessions.set('viewer', identity({}, { id: 5 }))
  callers.roles.set(5, 'viewer')
  callers.sessions.set('stranger', identity({}, { id: 6 }))
  const rows: [headers: object, call: string, wanted: string][] = [
    [{}, 'GET /console/api/me', '401 signed_out'],
    [cookie('unknown'), 'GET /console/api/me', '401 signed_out'],
    [cookie('gone'), 'GET /console/api/me', '401 signed_out'],
    [cookie('mine'), 'GET /console/api/me', '200'],
    [{ cookie: '__Host-session=mine' }, 'GET /console/api/me', '401 signed_out'],
    [{ cookie: 'session=mine; session=mine' }, 'GET /console/api/me', '200'],
    [{ cookie: 'session=other; session=mine' }, 'GET /console/api/me', '401 signed_out'],
    [{ cookie: 'a=session=mine' }, 'GET /console/api/me', '401 signed_out'],
    [{ cookie: 'Session=mine' }, 'GET /console/api/me', '401 signed_out'],
    [{ authorization: 'Basic b25lOnR3bw==', ...cookie('mine') }, 'GET /console/api/me', '200'],
    [bearer('gwp_read'), 'GET /console/api/me', '200'],
    [bearer('gwp_unknown'), 'GET /console/api/me', '401 token_refused'],
    [bearer('sk-test'), 'GET /console/api/me', '401 token_refused'],
    [bearer('mine'), 'GET /console/api/me', '401 token_refused'],
    [{ ...bearer('sk-test'), ...cookie('mine') }, 'GET /console/api/me', '401 token_refused'],
    [{ 'x-api-key': 'gwp_read' }, 'GET /console/api/me', '401 signed_out'],
    [bearer('gwp_unknown'), 'GET /console/api/open', '200'],
    [cookie('mine'), `GET ${A}/keys`, '200'],
    [cookie('viewer'), `GET ${A}/keys`, '200'],
    [cookie('viewer'), `GET ${A}/keys/x`, '403 role'],
    [cookie('viewer'), `POST ${A}/keys`, '403 role'],
    [cookie('stranger'), `GET ${A}/keys`, '404 missing'],
    [cookie('stranger'), `POST ${A}/keys`, '404 missing'],
    [cookie('mine'), 'GET /console/api/accounts/unknown/keys', '404 missing'],
    [cookie('mine'), `GET /console/api/accounts/${'x'.repeat(200)}/keys`, '404 missing'],
    [cookie('mine'), `POST ${A}/keys`, '200'],
    [cookie('operator'), `GET ${A}/keys`, '200'],
    [cookie('operator'), `GET ${A}/keys/x`, '403 view_as'],
    [cookie('operator'), `POST ${A}/keys`, '403 view_as'],
    [cookie('operator'), 'GET /console/api/accounts/unknown/keys', '404 missing'],
    [bearer('gwp_operator'), `GET ${A}/keys`, '200'],
    [bearer('gwp_operator_reads'), `GET ${A}/keys`, '403 scope'],
    [bearer('gwp_read'), `GET ${A}/keys`, '200'],
    [bearer('gwp_read'), `POST ${A}/keys`, '403 scope'],
    [bearer('gwp_keys'), `POST ${A}/keys`, '200'],
    [bearer('gwp_keys'), 'DELETE /console/api/me/factor/x', '403 session_only'],
    [cookie('mine'), 'GET /console/api/users', '403 operators_only'],
    [cookie('operator'), 'GET /console/api/users', '200'],
    [cookie('bare-operator'), 'GET /console/api/users', '200'],
    [cookie('bare-operator'), 'POST /console/api/users', '403 second_factor'],
    [cookie('operator'), 'POST /console/api/users', '200'],
    [bearer('gwp_operator_reads'), 'GET /console/api/users', '403 scope'],
    [bearer('gwp_keys'), 'GET /console/api/users', '403 scope'],
    [bearer('gwp_operator'), 'POST /console/api/users', '200'],
  ]
  for (const [headers, call, wanted] of rows) {
    const [method, path] = call.split(' ') as [string, string]
    const given = method === 'GET' ? headers : { ...OWN, ...headers }
    t.equal(codeOf(await ask(method, path, { ...given })), wanted, `${JSON.stringify(headers)} ${call}`)
  }
})

t.test('an operator on this machine alone needs no second factor', async t => {
  const { ask, site } = await serve(t)
  const headers = { ...OWN, cookie: 'session=bare-operator' }
  for (const [main, wanted] of [
    ['http://127.0.0.1:3000', '200'],
    ['http://localhost:3000', '200'],
    ['http://[::1]:3000', '200'],
    ['http://localhost.example', '403 second_factor'],
    ['http://127.0.0.1.example', '403 second_factor'],
    ['http://192.168.0.1', '403 second_factor'],
  ] as const) {
    site.main = main
    t.equal(codeOf(await ask('POST', '/console/api/users', headers)), wanted, main)
  }
})

t.test('what is dangerous asks for the password of the last ten minutes', async t => {
  const { ask, clock, callers } = await serve(t)
  const remove = () => ask('DELETE', '/console/api/me/factor/x', { ...OWN, ...COOKIE })
  t.equal(codeOf(await remove()), '403 step_up')
  callers.sessions.set('mine', identity({ provenAtMs: clock.now() }))
  t.equal(codeOf(await remove()), '200')
  clock.advance(10 * 60_000 - 1)
  t.equal(codeOf(await remove()), '200')
  clock.advance(1)
  t.equal(codeOf(await remove()), '403 step_up')
})

t.test('an account of others is refused with the same bytes as none', async t => {
  const { ask, callers } = await serve(t)
  callers.sessions.set('stranger', identity({}, { id: 6 }))
  const show = async (account: string) => {
    const { status, text, headers } = await ask('GET', `/console/api/accounts/${account}/keys`, {
      cookie: 'session=stranger',
    })
    const { date, 'x-request-id': id, 'request-id': _, ...rest } = headers
    return { status, text: text.replaceAll(id as string, 'ID'), rest }
  }
  t.same(await show('account-seven'), await show('account-ether'))
})

t.test('https has a cookie that neighbours cannot set, and says that it stays https', async t => {
  const { ask, site } = await serve(t)
  site.main = 'https://console.example'
  t.equal(codeOf(await ask('GET', '/console/api/me', COOKIE)), '401 signed_out')
  const reply = await ask('GET', '/console/api/me', { cookie: '__Host-session=mine; session=tossed' })
  t.equal(reply.status, 200)
  t.equal(reply.headers['strict-transport-security'], 'max-age=31536000; includeSubDomains')
})

t.test('every answer has the headers that keep it from being a page', async t => {
  const { ask } = await serve(t)
  for (const [method, path, headers] of [
    ['GET', '/console/api/open', {}],
    ['GET', '/console/api/nothing', {}],
    ['GET', '/console/api/me', {}],
    ['POST', '/console/api/me', { ...OWN, ...COOKIE }],
    ['POST', '/console/api/signs', OWN],
    ['GET', '/console/api/goes?to=/console', {}],
  ] as const) {
    const reply = await ask(method, path, headers)
    t.match(
      reply.headers,
      {
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'x-request-id': /^id\d+$/,
        'strict-transport-security': undefined,
        'access-control-allow-origin': undefined,
      },
      path,
    )
    if (reply.text !== '') t.equal(reply.headers['content-type'], 'application/json; charset=utf-8')
  }
})

t.test('a redirect stays on this origin', async t => {
  const { ask } = await serve(t)
  const go = (to: string) => ask('GET', `/console/api/goes?to=${encodeURIComponent(to)}`)
  const reply = await go('/console/keys?x=1')
  t.match(reply, { status: 303, text: '', headers: { location: '/console/keys?x=1' } })
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example', 'console', '/a\r\nx: y'])
    t.equal((await go(to)).status, 500, to)
})

t.test('a download is saved, and shows nothing when it is opened', async t => {
  const { ask } = await serve(t)
  const reply = await ask('GET', '/console/api/rows.csv', { ...COOKIE, 'sec-fetch-dest': 'document' })
  t.match(reply, {
    status: 200,
    text: 'a,b\r\n1,2\r\n',
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="____1_.csv"; filename*=UTF-8''%E7%94%A8%E9%87%8F%20%221%22.csv`,
      'content-security-policy': /sandbox/,
    },
  })
  made = 0
  t.match(await ask('HEAD', '/console/api/rows.csv', COOKIE), { status: 200, text: '' })
  t.equal(made, 0)
})

t.test('a long answer ends when its caller signs out, and not because the store is away for a while', async t => {
  const { port, clock, callers, logged } = await serve(t)
  const begin = () => {
    const { promise: head, resolve } = Promise.withResolvers<http.IncomingMessage>()
    http.get({ port, host: '127.0.0.1', path: '/console/api/endless.csv', headers: COOKIE, agent: false }, resolve)
    return head
  }
  const res = await begin()
  const { promise: cut, resolve, reject } = Promise.withResolvers<string>()
  res.on('error', (error: NodeJS.ErrnoException) => resolve(error.code as string))
  res.on('end', () => reject(new Error('it looks whole')))
  res.resume()
  const { again } = callers
  let asked = 0
  callers.again = async identity => {
    if (++asked <= 3) throw new StoreUnavailable('away')
    return again(identity)
  }
  await until('it was asked for some times', () => {
    clock.advance(1_000)
    return asked > 6
  })
  t.notOk(res.destroyed)
  callers.sessions.clear()
  await until('it is cut off', () => {
    clock.advance(1_000)
    return res.destroyed
  })
  t.equal(await cut, 'ECONNRESET')
  t.equal(logged.length, 1)
  t.match(logged[0], /"end":"signed_out".*a download ended early/)
})

t.test('bodies', async t => {
  const { ask, port, clock } = await serve(t)
  const send = (body: string | Buffer, headers: object = {}) =>
    ask('POST', '/console/api/me', { ...OWN, ...COOKIE, ...headers }, body)
  t.same((await send('{"name":"x"}')).json['body'], { name: 'x' })
  for (const [body, wanted] of [
    ['', '400 invalid'],
    ['{}', '400 invalid'],
    ['[]', '400 not_json'],
    ['"x"', '400 not_json'],
    ['null', '400 not_json'],
    ['{"name":"x"', '400 not_json'],
    ['{"name":"x"}{"name":"y"}', '400 not_json'],
    ['{"name":1e999}', '400 invalid'],
    ['{"name":"x","tags":[{"a":[1e999]}]}', '400 invalid'],
    ['{"name":"x","__proto__":{"tags":[]}}', '400 invalid'],
    ['{"name":"x","constructor":{}}', '400 invalid'],
    [`{"tags":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, '400 not_json'],
    [Buffer.from('{"name":"\xff"}', 'latin1'), '400 not_json'],
    [`{"name":"${'x'.repeat(64 * 1024)}"}`, '413 too_large'],
  ] as const)
    t.equal(codeOf(await send(body)), wanted, body.slice(0, 60).toString())
  for (const [type, wanted] of [
    ['application/json', '200'],
    ['application/json; charset=utf-8', '200'],
    ['Application/JSON;charset="UTF-8"', '200'],
    ['text/plain', '415 not_json_type'],
    ['application/x-www-form-urlencoded', '415 not_json_type'],
    ['multipart/form-data; boundary=application/json', '415 not_json_type'],
    ['text/plain; application/json', '415 not_json_type'],
    ['application/json, text/plain', '415 not_json_type'],
    ['application/json; charset=utf-16', '415 not_json_type'],
    ['application/jsonp', '415 not_json_type'],
    ['', '415 not_json_type'],
  ] as const)
    t.equal(codeOf(await send('{"name":"x"}', { 'content-type': type })), wanted, type)
  t.equal(codeOf(await send('{"name":"x"}', { expect: '100-continue' })), '200')

  const slow = net.connect(port, '127.0.0.1')
  const heard: string[] = []
  slow.on('data', data => heard.push(String(data)))
  slow.write(
    'POST /console/api/me HTTP/1.1\r\nhost: x\r\ncookie: session=mine\r\nsec-fetch-site: same-origin\r\n' +
      'content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n',
  )
  while (!heard.join('').includes('100 Continue')) await new Promise(resolve => setImmediate(resolve))
  clock.advance(10_000)
  await new Promise(resolve => slow.on('close', resolve))
  t.match(heard.join(''), /HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*too_slow/i)
})

t.test('queries', async t => {
  const { ask } = await serve(t)
  const list = (query: string) => ask('GET', `/console/api/me${query}`, { ...COOKIE, 'accept-language': 'en' })
  t.same((await list('?q=a%20b&n=')).json['query'], { q: 'a b' })
  for (const [query, field] of [
    ['?q=a&q=b', 'q'],
    ['?x=1', 'x'],
    ['?n=9', 'n'],
    ['?__proto__=1', '__proto__'],
    [`?q=${'x'.repeat(8_000)}`, 'q'],
  ] as const) {
    const { status, error } = await list(query)
    t.equal(status, 400)
    t.equal(error.fields?.[0]?.field, field, query.slice(0, 20))
  }
  const many = await list(`?${Array.from({ length: 2_000 }, (_, i) => `f${i}=1`).join('&')}`)
  t.equal(many.status, 400)
  t.ok(many.text.length < 5_000)
})

t.test('an error is told in the language that the person has chosen', async t => {
  const { ask } = await serve(t)
  const tell = (headers: object) => ask('GET', '/console/api/me?n=9', { ...headers })
  const zh = { cookie: 'session=mine; language=zh', 'accept-language': 'en' }
  t.match(await tell(zh), {
    status: 400,
    error: {
      code: 'invalid',
      message: /^n: 应为从1到5的整数。 \(request id: id\d+\)$/,
      type: 'gateway_api_error',
      fields: [{ field: 'n', expected: '从1到5的整数' }],
    },
  })
  const english = /^Field n: expected a whole[^.]*\. \(/
  t.match((await tell({ ...COOKIE, 'accept-language': 'en-GB,zh;q=0.5' })).error.message, english)
  t.match((await tell({ cookie: 'session=mine; language=en' })).error.message, english)
  t.match((await tell(COOKIE)).error.message, /^n: 应为.*。 \(/)
  t.match((await tell({})).error.message, /^请先登录。 \(/)
})

t.test('what goes wrong in an operation', async t => {
  const { ask, logged } = await serve(t)
  const words = { zh: '不行', en: 'no' }
  for (const [error, wanted, retryAfter] of [
    [new OperationError('missing', words), '404 missing', undefined],
    [new OperationError('conflict', words), '409 conflict', undefined],
    [new OperationError('forbidden', words), '403 forbidden', undefined],
    [new OperationError('gone', words), '410 gone', undefined],
    [new OperationError('throttled', words, { retry_after: '30' }), '429 throttled', '30'],
    [new StoreConflict('the name is taken'), '409 conflict', undefined],
    [new StoreFull(words), '409 full', undefined],
    [new StoreUnavailable('away'), '503 unavailable', '2'],
    [new ApiError('step_up'), '403 step_up', undefined],
    [new Error('a secret: sk-123'), '500 internal', undefined],
    ['a text', '500 internal', undefined],
  ] as const) {
    thrown = () => error
    const reply = await ask('GET', '/console/api/fails')
    t.equal(codeOf(reply), wanted)
    t.equal(reply.headers['retry-after'], retryAfter)
    t.notMatch(reply.text, 'sk-123')
  }
  t.equal(logged.filter(line => line.includes('a console request failed')).length, 2)
})

t.test('a call sets cookies', async t => {
  const { ask, logged } = await serve(t)
  const reply = await ask('POST', '/console/api/signs', { ...OWN, cookie: 'device=d1' }, '{}')
  t.match(reply, {
    status: 204,
    text: '',
    headers: { 'set-cookie': ['session=d1; HttpOnly'], 'content-length': undefined },
  })
  t.notMatch(logged.join(''), 'd1')
})

t.test('calls of one address and of one user are bounded', async t => {
  const { ask, clock, callers } = await serve(t)
  callers.sessions.set('other', identity({}, { id: 9 }))
  const read = (cookie: string, ip: string) =>
    ask('GET', '/console/api/me', { cookie: `session=${cookie}`, 'x-test-ip': ip })
  let refused: Reply | null = null
  let count = 0
  for (; refused === null && count < 2_000; count++) {
    const reply = await read('mine', '192.0.2.1')
    if (reply.status !== 200) refused = reply
  }
  t.match(refused, { status: 429, error: { code: 'too_many_calls' }, headers: { 'retry-after': '1' } })
  t.equal(count, 1_201)
  t.equal((await read('mine', '192.0.2.9')).status, 429, 'a user is one from wherever')
  t.equal((await read('other', '192.0.2.1')).status, 200, 'neighbours at the same address are not')
  clock.advance(1_000)
  t.equal((await read('mine', '192.0.2.1')).status, 200)
})

t.test('a user makes one report at a time, and two are made at once', async t => {
  const { ask, callers, clock } = await serve(t)
  for (const id of [21, 22, 23]) callers.sessions.set(`u${id}`, identity({}, { id }))
  const open: (() => void)[] = []
  gate = () => new Promise(resolve => open.push(() => resolve({})))
  const report = (id: number) => ask('GET', '/console/api/report', { cookie: `session=u${id}` })
  const begun = async (count: number) => {
    while (open.length < count) await new Promise(resolve => setImmediate(resolve))
  }
  const first = report(21)
  await begun(1)
  const second = report(21)
  const third = report(22)
  await begun(2)
  const fourth = report(23)
  await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(open.length, 2, 'the second of the same user and the third user wait')
  open[1]?.()
  t.equal((await third).status, 200)
  await begun(3)
  open[2]?.()
  t.equal((await fourth).status, 200)
  clock.advance(10_000)
  t.equal(codeOf(await second), '429 busy')
  open[0]?.()
  t.equal((await first).status, 200)
})

t.test('what is the same for everybody may be kept, and is asked for again by its tag', async t => {
  const api = await serveApi(t, ROWS)
  const first = await api.ask('GET', '/console/api/shared')
  t.same([first.status, first.json], [200, { prices: [1, 2] }])
  t.match(first.headers, { 'cache-control': 'public, max-age=7', etag: /^"[\w-]{22}"$/ })
  const tag = String(first.headers.etag)
  const rows: [known: string, status: number][] = [
    [tag, 304],
    [`"other", W/${tag}`, 304],
    ['*', 304],
    ['"other"', 200],
    [tag.slice(1, -1), 200],
    ['', 200],
  ]
  for (const [known, status] of rows) {
    const again = await api.ask('GET', '/console/api/shared', { 'if-none-match': known })
    t.same([again.status, again.text === '', again.headers.etag], [status, status === 304, tag], known)
  }
  const head = await api.ask('HEAD', '/console/api/shared')
  t.same([head.status, head.text, head.headers['content-length']], [200, '', first.headers['content-length']])
  shared = { prices: [1, 3] }
  const changed = await api.ask('GET', '/console/api/shared', { 'if-none-match': tag })
  t.same([changed.status, changed.json], [200, shared])
})

t.test('a caller that leaves before the answer is counted as such', async t => {
  const { port, counted } = await serve(t)
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  gate = async () => {
    begin()
    await left
    return {}
  }
  const socket = net.connect(port, '127.0.0.1')
  socket.write('GET /console/api/report HTTP/1.1\r\nhost: x\r\ncookie: session=mine\r\n\r\n')
  await begun
  socket.destroy()
  while (counted.length === 0) await new Promise(resolve => setImmediate(resolve))
  leave()
  t.same(counted, ['report.read 499'])
})
