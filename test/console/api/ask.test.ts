/** A request of the models' API that a person makes in the console with a key by its id: an ordinary one of that key, and of nobody else's. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { stallAfter, testCatalog } from '../../support/gateway.ts'
import { openGateway } from '../../support/open-gateway.ts'
import { until } from '../../support/wait.ts'
import { type Live, liveIn } from '../support/live.ts'

/** An upstream that keeps the headers with which it is asked. */
const heard: http.IncomingHttpHeaders[] = []
const echo = http.createServer((req, res) => {
  heard.push(req.headers)
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end(
    JSON.stringify({
      id: 'e',
      choices: [{ message: { content: 'a' } }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }),
  )
})
await new Promise<void>(resolve => echo.listen(0, '127.0.0.1', resolve))
t.teardown(() => {
  echo.closeAllConnections()
  echo.close()
})

const gateway = await openGateway({
  catalog: upstream => {
    const catalog = testCatalog(upstream) as { channels: object[]; models: object[] }
    const channel = {
      name: 'echo',
      base_url: `http://127.0.0.1:${(echo.address() as AddressInfo).port}`,
      protocols: ['chat'],
      key: 'up',
      groups: ['default'],
      models: ['echo'],
      pass_headers: ['origin', 'referer', 'x-note'],
    }
    const models = [...catalog.models, { name: 'echo', price: { input: 1, output: 1 } }]
    return { ...catalog, models, channels: [...catalog.channels, channel] }
  },
})
t.teardown(() => gateway.stop())
const owner = await liveIn(t, gateway, 'rich', 'owner')

interface Reply {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
}

interface Way {
  path?: string
  headers?: http.OutgoingHttpHeaders
  by?: Live
  method?: string
}

const HELLO = { model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }

function begin(key: string, body: object, { path = '/v1/chat/completions', headers = {}, by = owner }: Way = {}) {
  const url = `${gateway.main}/console/api/accounts/${owner.account}/keys/${key}/ask?path=${encodeURIComponent(path)}`
  const req = http.request(url, {
    method: 'POST',
    headers: { cookie: by.cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', ...headers },
  })
  req.end(JSON.stringify(body))
  return req
}

async function ask(key: string, body: object, way: Way = {}): Promise<Reply> {
  const [res] = (await once(begin(key, body, way), 'response')) as [http.IncomingMessage]
  const text = (await res.setEncoding('utf8').toArray()).join('')
  return { status: res.statusCode ?? 0, headers: res.headers, text }
}

async function call(method: string, path: string, body?: object, by = owner): Promise<Record<string, unknown>> {
  const answer = await fetch(`${gateway.main}/console/api/accounts/${owner.account}${path}`, {
    method,
    headers: { cookie: by.cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await answer.json()) as Record<string, unknown>
}

let made = 0
async function newKey(more: object = {}, by = owner): Promise<string> {
  const body = { name: `key ${++made}`, group: 'default', ...more }
  const said = (await call('POST', '/keys', body, by)) as { key?: { id: string } }
  if (said.key === undefined) throw new Error(JSON.stringify(said))
  return said.key.id
}

t.test('an answer of each protocol, streamed and whole, is charged to the key as any other', async t => {
  const key = await newKey()
  const events = await ask(key, { ...HELLO, stream: true })
  t.match(events, { status: 200, text: /^data: [\s\S]*data: \[DONE\]\n\n$/ })
  t.match(events.headers['content-type'], /^text\/event-stream/)
  const path = '/v1beta/models/gamma-3.8-flash:streamGenerateContent?alt=sse'
  t.match(await ask(key, { contents: [{ parts: [{ text: 'Hi' }] }] }, { path }), { status: 200, text: /^data: \{/ })
  const whole = await ask(key, { ...HELLO, max_tokens: 10 })
  t.match(JSON.parse(whole.text), { choices: [{}] })
  const id = whole.headers['x-request-id'] as string
  const row = await gateway.usageRow({ request_id: id })
  t.match(row, { model: 'beta-4.7', status: 200, protocol: 'chat' })
  t.ok(Number(row['charge']) > 0)
  t.equal(whole.headers['x-frame-options'], undefined, 'its headers are those of the API of models')
  t.match(whole.headers['content-security-policy'], /sandbox/)
  const shown = (await call('GET', `/requests/${id}`)) as { request: { key: { id: string } } }
  t.match(shown.request, { charge: /^0\.\d{6}$/ })
})

t.test('a body with pictures may be larger than any other call of the console', async t => {
  const url = `data:image/png;base64,${'A'.repeat(300_000)}`
  const content = [
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: { url } },
  ]
  const { status } = await ask(await newKey(), { ...HELLO, messages: [{ role: 'user', content }] })
  t.equal(status, 200)
})

t.test('limits and refusals are those of the key', async t => {
  const disabled = await newKey()
  await call('PATCH', `/keys/${disabled}`, { status: 'disabled' })
  const rows: [name: string, key: string, body: object, way: Way, status: number][] = [
    ['disabled', disabled, HELLO, {}, 401],
    ['another address', await newKey({ allow_ips: ['192.0.2.1'] }), HELLO, {}, 403],
    ['another model', await newKey({ models: ['gamma-3.8-flash'] }), HELLO, {}, 403],
    ['no cap left', await newKey({ cap: '0.000001' }), HELLO, {}, 403],
    ['no such model', await newKey(), { ...HELLO, model: 'none' }, {}, 400],
    ['no such path', await newKey(), HELLO, { path: '/v1/nothing' }, 404],
    ['no JSON object', await newKey(), [], {}, 400],
  ]
  for (const [name, key, body, way, status] of rows) {
    const reply = await ask(key, body, way)
    t.equal(reply.status, status, `${name} ${reply.text}`)
    t.match(JSON.parse(reply.text), { error: { message: /request id: / } }, name)
  }
})

t.test('csrf, tokens, and keys of others', async t => {
  const key = await newKey()
  const member = await liveIn(t, gateway, 'rich', 'member')
  const operator = await liveIn(t, gateway, 'poor', 'owner', true)
  const rows: [name: string, way: Way, told: RegExp][] = [
    ['another site', { headers: { 'sec-fetch-site': 'cross-site' } }, /^403 cross_origin$/],
    [
      'a neighbour',
      { headers: { 'sec-fetch-site': 'same-site', origin: 'https://evil.example' } },
      /^403 cross_origin$/,
    ],
    ['a form', { headers: { 'content-type': 'text/plain' } }, /^415 not_json_type$/],
    ['a token', { headers: { cookie: '', authorization: owner.authorization } }, /^403 session_only$/],
    ['nobody', { headers: { cookie: '' } }, /^401 signed_out$/],
    ['a member with the key of the owner', { by: member }, /^404 missing$/],
    ['an operator who is no member', { by: operator }, /^403 view_as$/],
    ['the console itself', { path: '/console/api/me' }, /^400 invalid$/],
    ['another host', { path: '//evil.example/v1/chat/completions' }, /^400 invalid$/],
    ['the admin API', { path: '/admin/accounts' }, /^400 invalid$/],
  ]
  for (const [name, way, told] of rows) {
    const { status, text } = await ask(key, HELLO, way)
    t.match(`${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`, told, name)
  }
  t.equal((await ask(await newKey({}, member), HELLO, { by: member })).status, 200, 'a member with an own key')
})

t.test('nothing of the session goes upstream, whatever a channel passes on', async t => {
  const headers = { origin: gateway.main, referer: `${gateway.main}/console/playground`, 'x-note': 'n' }
  t.equal((await ask(await newKey(), { ...HELLO, model: 'echo' }, { headers })).status, 200)
  const [upstream] = heard
  t.match(upstream, { 'x-note': 'n', authorization: 'Bearer up' })
  t.same([upstream?.cookie, upstream?.origin, upstream?.referer], [undefined, undefined, undefined])
})

t.test('a sign-out ends an answer that is under way, and what was answered is charged', async t => {
  const leaver = await liveIn(t, gateway, 'rich', 'owner')
  const key = await newKey({}, leaver)
  const content = `[[sim tokens=100 ${stallAfter(3)}]]`
  const req = begin(key, { ...HELLO, messages: [{ role: 'user', content }], stream: true }, { by: leaver })
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  const id = res.headers['x-request-id'] as string
  await once(res, 'data')
  const broken = new Promise<string>(resolve =>
    res.once('error', () => resolve('cut')).once('end', () => resolve('whole')),
  )
  res.resume()
  await fetch(`${gateway.main}/console/api/sign-out`, {
    method: 'POST',
    headers: { cookie: leaver.cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    body: '{}',
  })
  t.equal(await broken, 'cut')
  gateway.letGoOn()
  const row = await gateway.usageRow({ request_id: id })
  t.match(row, { end: 'client_gone' })
  t.ok(Number(row['charge']) > 0)
})

t.test('calls are counted by the status that was answered', async t => {
  const counted = async () =>
    /gateway_console_requests_total\{[^}]*keys\.ask[^}]*status="200"[^}]*\} (\d+)/.exec(
      await (await fetch(`${gateway.ops}/metrics`)).text(),
    )?.[1]
  const before = Number((await counted()) ?? 0)
  await ask(await newKey(), HELLO)
  await until('it is counted', async () => Number(await counted()) > before)
  t.pass('counted')
})
