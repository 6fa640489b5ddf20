import net from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Store } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { changed } from '../support/store.ts'
import { openOps, TOKEN } from './support.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('health, readiness, metrics', async t => {
  const ops = await openOps(t)
  const rows: [method: string, path: string, status: number, text: RegExp][] = [
    ['GET', '/healthz', 200, /^\{"alive":true\}$/],
    ['HEAD', '/healthz', 200, /^$/],
    ['GET', '/readyz', 200, /^\{"ready":true,"store":"ok"\}$/],
    ['GET', '/readyz?verbose=1', 200, /"ready":true/],
    ['GET', '/metrics', 200, /^# TYPE one counter\none 1\n$/],
    ['POST', '/healthz', 404, /Invalid URL \(POST \/healthz\)/],
    ['GET', '/', 404, /Invalid URL \(GET \/\)/],
    ['GET', '/console', 404, /Invalid URL/],
    ['GET', '/v1/models', 404, /Invalid URL/],
    ['GET', '/admin', 404, /Invalid URL/],
  ]
  for (const [method, path, status, text] of rows) {
    const reply = await ops.call(method, path)
    t.equal(reply.status, status, `${method} ${path}`)
    t.match(reply.text, text, `${method} ${path}`)
    t.match(reply.headers['x-request-id'], /^[0-9a-z]{21}$/)
    t.equal(reply.headers['request-id'], reply.headers['x-request-id'])
  }
  t.match((await ops.call('GET', '/metrics')).headers['content-type'], /^text\/plain; version=0\.0\.4/)
})

t.test('request smuggling: a body that two readers could end differently', async t => {
  const ops = await openOps(t)
  const refused = /^HTTP\/1\.1 400 [\s\S]*connection: close[\s\S]*"error":\{"code":""/i
  for (const [what, lines, answer] of [
    ['HTTP/1.1', 'transfer-encoding: gzip, chunked', refused],
    ['HTTP/1.1', 'transfer-encoding: chunked\r\ntransfer-encoding: chunked', /^HTTP\/1\.1 400 /],
    ['HTTP/1.0', 'transfer-encoding: chunked', refused],
  ] as const) {
    const socket = net.connect(ops.port, '127.0.0.1')
    socket.write(
      `POST /admin/accounts ${what}\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n${lines}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    )
    t.match(await text(socket), answer, lines)
  }
  const told = ops.logged.filter(line => /"path":"\/admin\/accounts"/.test(line) && /"status":400/.test(line))
  t.equal(told.length, 2, 'those that the parser lets through are logged as other calls are')
})

t.test('not ready: said so, failed, or silent for too long', async t => {
  const ops = await openOps(t)
  ops.fleet.isReady = async () => ({ ready: false, store: 'ok', reason: 'draining' })
  const draining = await ops.call('GET', '/readyz')
  t.same([draining.status, draining.json], [503, { ready: false, store: 'ok', reason: 'draining' }])
  ops.fleet.isReady = async () => ({ ready: true, store: 'away' })
  const away = await ops.call('GET', '/readyz')
  t.same([away.status, away.json], [200, { ready: true, store: 'away' }], 'served from memory')
  ops.fleet.isReady = async () => {
    throw new Error('no')
  }
  t.equal((await ops.call('GET', '/readyz')).status, 503)
  ops.fleet.isReady = () => new Promise(() => ops.clock.advance(2001))
  const silent = await ops.call('GET', '/readyz')
  t.equal(silent.status, 503)
  t.match(silent.json, { ready: false, reason: 'no answer' })
  t.equal((await ops.call('GET', '/healthz')).status, 200, 'alive all the same')
})

t.test('the admin API wants its token', async t => {
  const ops = await openOps(t)
  const rows: [headers: Record<string, string>, status: number][] = [
    [{}, 401],
    [bearer(''), 401],
    [bearer('wrong'), 401],
    [bearer(TOKEN.slice(0, -1)), 401],
    [bearer(`${TOKEN}x`), 401],
    [bearer(`${TOKEN} x`), 401],
    [{ authorization: TOKEN }, 401],
    [{ authorization: `Basic ${TOKEN}` }, 401],
    [{ 'x-api-key': TOKEN }, 401],
    [bearer(TOKEN), 200],
    [{ authorization: `bearer ${TOKEN}` }, 200],
  ]
  for (const [headers, status] of rows) {
    t.equal((await ops.call('GET', '/admin/accounts', headers)).status, status, JSON.stringify(headers))
  }
  const refused = await ops.call('GET', '/admin/no-such-thing', bearer('wrong'))
  t.equal(refused.status, 401, 'what exists is not told')
  t.same(refused.json, {
    error: {
      code: '',
      message: `无效的令牌 (request id: ${refused.headers['x-request-id']})`,
      type: 'gateway_api_error',
    },
  })
  ops.clock.advance(60_000) // who sends ten wrong ones waits
  const english = await ops.call('GET', '/admin/accounts', { 'accept-language': 'en-GB,en;q=0.8' })
  t.match(english.error.message, /^Invalid token \(/)
})

t.test('bodies: JSON objects up to a mebibyte', async t => {
  const ops = await openOps(t)
  const large = JSON.stringify({ name: 'x'.repeat(1024 * 1024) })
  const rows: [body: string, status: number, text: RegExp][] = [
    ['', 400, /name: expected a name/],
    ['{', 400, /请求体不是有效的JSON对象 \(request id: /],
    ['[]', 400, /请求体不是有效的JSON对象/],
    ['null', 400, /请求体不是有效的JSON对象/],
    ['"x"', 400, /请求体不是有效的JSON对象/],
    ['{"name":1.5e400}', 400, /name: expected a name/],
    ['{"__proto__":{"name":"x"}}', 400, /__proto__/],
    [large, 413, /请求体超过限制:最大1MiB/],
    [large.replace('name', 'n'.repeat(20)).repeat(3), 413, /请求体超过限制/],
  ]
  for (const [body, status, text] of rows) {
    const reply = await ops.admin('POST', '/admin/accounts', body)
    t.equal(reply.status, status, body.slice(0, 40))
    t.match(reply.text, text, body.slice(0, 40))
    t.equal(reply.error.type, 'gateway_api_error')
  }
  t.equal(
    (await ops.call('POST', '/admin/accounts', bearer(TOKEN), Buffer.from('{"name":"\xff"}', 'latin1'))).status,
    400,
  )
  t.same(await ops.store.accounts.list(), [])
})

t.test('a row that was read may be written back: its name and state are not taken from it', async t => {
  const ops = await openOps(t)
  for (const [path, row] of [
    ['/admin/groups/g', { multiplier: 2 }],
    ['/admin/models/m', { price: { input: 1 } }],
  ] as const) {
    const put = await ops.admin('PUT', path, { ...row, name: 'other', state: 'closed' })
    t.match(put, { status: 200, json: { name: path.slice(-1) } }, put.text)
    t.equal((await ops.admin('PUT', path, put.json)).text, put.text)
  }
})

t.test('wrong paths and methods', async t => {
  const ops = await openOps(t)
  for (const [method, path] of [
    ['GET', '/admin/nothing'],
    ['DELETE', '/admin/accounts/a'],
    ['PUT', '/admin/keys/1'],
    ['POST', '/admin/groups/a'],
    ['GET', '/admin/accounts/'],
    ['GET', '/admin/accounts/a/topups'],
    ['GET', '/admin/accounts/%zz'],
    ['GET', '/admin/usage/1'],
  ] as const) {
    const reply = await ops.admin(method, path)
    t.equal(reply.status, 404, `${method} ${path}`)
    t.match(reply.error, {
      type: 'invalid_request_error',
      param: '',
      message: `Invalid URL (${method} ${path})`,
    })
  }
})

t.test('a store that fails', async t => {
  let failure: Error = new StoreUnavailable('connect ECONNREFUSED 10.0.0.5:3306')
  const failing = (store: Store): Store => changed(store, { accounts: { page: () => Promise.reject(failure) } })
  const ops = await openOps(t, failing)
  const away = await ops.admin('GET', '/admin/accounts')
  t.equal(away.status, 503)
  t.match(away.error.message, /^服务暂时不可用,请稍后再试 \(request id: /)
  t.ok(Number(away.headers['retry-after']) >= 1)
  failure = new Error('secret detail')
  const broken = await ops.admin('GET', '/admin/accounts')
  t.equal(broken.status, 500)
  t.match(broken.error.message, /^网关内部错误 \(request id: /)
  t.notMatch(broken.text, /secret detail/)
  t.match(ops.logged.join(''), /secret detail/, 'but the log has it')
  t.notMatch(away.text + ops.logged[0], /10\.0\.0\.5.*10\.0\.0\.5/)
})

t.test('changes are logged, without what was sent; a fleet that does not follow is no failure', async t => {
  const ops = await openOps(t)
  ops.fleet.changed = () => Promise.reject(new Error('slow'))
  t.equal((await ops.admin('POST', '/admin/accounts', { name: 'someone' })).status, 201)
  await ops.admin('GET', '/admin/accounts')
  const lines = ops.logged.map(line => JSON.parse(line))
  t.match(
    lines.map(line => line.msg),
    ['a change is in the store, but not in force yet', 'admin request'],
  )
  t.match(lines[1], { method: 'POST', path: '/admin/accounts', status: 201 })
  t.notMatch(JSON.stringify(lines[1]), /someone|a-token/)
})
