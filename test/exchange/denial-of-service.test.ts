/** What one client can do to a connection, or to many: nothing gets past the gateway's reading, nothing is kept for ever. */
// The bug behind these rows: one cheap client against all.
import { once } from 'node:events'
import type { Server } from 'node:http'
import net, { type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open, POOR_KEY, type Scene } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'
import { until } from '../support/wait.ts'

const BODY = JSON.stringify({ model: MODEL, max_tokens: 5 })
const SIZE = BODY.length.toString(16)
const key = `authorization: Bearer ${KEY}\r\n`
const post = `POST /v1/chat/completions HTTP/1.1\r\n${key}`
const chunked = `${post}transfer-encoding: chunked\r\n`
const inChunks = `\r\n${SIZE}\r\n${BODY}\r\n0\r\n\r\n`
const list = (more: string) => `GET /v1/models HTTP/1.1\r\n${key}${more}\r\n`

function connect(t: Test, s: Scene): { socket: Socket; heard: () => string; closed: () => boolean } {
  const socket = net.connect(Number(new URL(s.urls.main).port), '127.0.0.1')
  t.teardown(async () => void socket.destroy())
  let heard = ''
  let closed = false
  socket.on('error', () => {})
  socket.on('data', data => (heard += data.toString('latin1')))
  socket.on('close', () => (closed = true))
  return { socket, heard: () => heard, closed: () => closed }
}

const status = (heard: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(heard)?.[1] ?? 0)

t.test('requests that two readers would take differently: refused, or read in one way', async t => {
  const s = await open(t)
  s.at('a').script = answers(1, 1)
  const rows: [what: string, wire: string, answer: number][] = [
    ['two lengths', `${post}content-length: 4\r\ntransfer-encoding: chunked\r\n${inChunks}`, 400],
    ['chunks that are not the last coding', `${post}transfer-encoding: chunked, identity\r\n${inChunks}`, 400],
    ['another coding', `${post}transfer-encoding: xchunked\r\n${inChunks}`, 400],
    ['a coding before the chunks', `${post}transfer-encoding: gzip, chunked\r\n${inChunks}`, 400],
    ['chunks of chunks', `${post}transfer-encoding: chunked, chunked\r\n${inChunks}`, 400],
    ['chunks in two lines', `${chunked}Transfer-Encoding: chunked\r\n${inChunks}`, 400],
    ['an empty coding before the chunks', `${post}transfer-encoding: , chunked\r\n${inChunks}`, 400],
    ['chunks with a parameter', `${post}transfer-encoding: chunked;a=b\r\n${inChunks}`, 400],
    ['chunks in HTTP/1.0', `${chunked.replace('1.1', '1.0')}${inChunks}`, 400],
    ['chunks and a length', `${chunked}content-length: ${BODY.length}\r\n${inChunks}`, 400],
    ['chunks in capitals and blanks', `${post}Transfer-Encoding:  CHUNKED\r\n${inChunks}`, 200],
    ['a blank between chunks and colon', `${post}transfer-encoding : chunked\r\n${inChunks}`, 400],
    ['chunks behind a vertical tab', `${post}transfer-encoding: \x0bchunked\r\n${inChunks}`, 400],
    ['chunks in a folded line', `${post}transfer-encoding:\r\n chunked\r\n${inChunks}`, 400],
    ['a page, and a coding', `POST /console/api/me HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n${inChunks}`, 400],
    [
      'a preflight, and a coding',
      `OPTIONS / HTTP/1.1\r\norigin: a\r\ntransfer-encoding: gzip, chunked\r\n${inChunks}`,
      400,
    ],
    ['no coding', `${post}transfer-encoding: identity\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`, 400],
    ['a length twice', `${post}content-length: ${BODY.length}\r\ncontent-length: 4\r\n\r\n${BODY}`, 400],
    ['a list of lengths', `${post}content-length: ${BODY.length}, 4\r\n\r\n${BODY}`, 400],
    ['a list of one length', `${post}content-length: ${BODY.length}, ${BODY.length}\r\n\r\n${BODY}`, 400],
    ['a length with a sign', `${post}content-length: +${BODY.length}\r\n\r\n${BODY}`, 400],
    ['a negative length', `${post}content-length: -1\r\n\r\n${BODY}`, 400],
    ['a length beyond all numbers', `${post}content-length: 99999999999999999999\r\n\r\n`, 400],
    ['a length beyond exact numbers', `${post}content-length: 9007199254740993\r\n\r\n`, 413],
    ['a negative chunk', `${chunked}\r\n-1\r\n${BODY}`, 400],
    ['a chunk beyond all numbers', `${chunked}\r\nfffffffffffffffff\r\n${BODY}`, 400],
    ['an extension without end', `${chunked}\r\n${SIZE};${'x'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`, 400],
    ['a length in the trailers', `${chunked}${inChunks.slice(0, -2)}content-length: 1\r\n\r\n`, 400],
    ['trailers without end', `${chunked}${inChunks.slice(0, -2)}${'x: 1\r\n'.repeat(20_000)}\r\n`, 400],
    ['lines that end in LF', list('').replaceAll('\r', ''), 400],
    ['a folded line', list('x: a\r\n b\r\n'), 400],
    ['a blank before the colon', list('x : a\r\n'), 400],
    ['a NUL in a header', list('x: a\0b\r\n'), 400],
    ['headers without end', list(`x: ${'y'.repeat(70_000)}\r\n`), 400],
    ['an address without end', `GET /${'y'.repeat(70_000)} HTTP/1.1\r\n\r\n`, 400],
    ['HTTP/2 in clear', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a tunnel', 'CONNECT up.example:443 HTTP/1.1\r\n\r\n', 0],
    ['TRACE', 'TRACE / HTTP/1.1\r\n\r\n', 404],
    ['HEAD of a list', list('').replace('GET', 'HEAD'), 404],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\n\r\n', 404],
    ['a list and a body', list('content-length: 5\r\n').concat('hello'), 200],
    ['another protocol is offered', `${chunked}upgrade: h2c\r\nconnection: upgrade\r\n${inChunks}`, 200],
    ['HTTP/1.0', `${post.replace('1.1', '1.0')}content-length: ${BODY.length}\r\n\r\n${BODY}`, 200],
    ['a whole address', list('').replace('/v1', 'http://u:hunter2@gw/v1'), 200],
    ['a whole address that leads nowhere', list('').replace('/v1/models', 'https://u:hunter2@gw?x'), 404],
  ]
  for (const [what, wire, want] of rows) {
    const { socket, heard, closed } = connect(t, s)
    socket.write(wire, 'latin1')
    await until(`an answer to ${what}`, () => heard().includes('\r\n\r\n') || closed())
    t.equal(status(heard()), want, what)
    t.notMatch(heard(), 'hunter2')
    if (want === 400) await until('the connection ends', closed)
    socket.destroy()
  }
  await until('nothing is open', () => s.services.openCount === 0)
  for (const call of s.at('a').calls) {
    t.equal(call.header('content-length'), String(BODY.length))
    t.equal(call.header('transfer-encoding'), undefined)
    t.equal(call.body, BODY)
  }
  t.notMatch(JSON.stringify(s.logged), 'hunter2')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test(
  'request smuggling: what stands behind a request that two readers could end differently is not read',
  async t => {
    const s = await open(t)
    s.at('a').script = answers(1, 1)
    const behind = `${post}content-length: ${BODY.length}\r\n\r\n${BODY}`
    for (const line of [
      'transfer-encoding: gzip, chunked',
      'transfer-encoding: chunked\r\ntransfer-encoding: chunked',
    ]) {
      const { socket, heard, closed } = connect(t, s)
      socket.write(`${post}${line}\r\n${inChunks}${behind}`)
      socket.write(behind)
      await until('the connection ends', closed)
      t.equal(
        heard()
          .match(/HTTP\/1\.1 \d+/g)
          ?.join(),
        'HTTP/1.1 400',
        line,
      )
    }
    await until('nothing is open', () => s.services.openCount === 0)
    t.equal(s.at('a').calls.length, 0)
  },
)

t.test('a connection that never says anything is not answered', async t => {
  const s = await open(t)
  const [server] = s.servers
  const accepted = new Promise<Socket>(resolve => server?.once('connection', resolve))
  const { heard, closed } = connect(t, s)
  // what node says of a connection whose first request does not come
  const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  server?.emit('clientError', late, await accepted)
  await until('it is closed', closed)
  t.equal(heard(), '')
})

t.test('a client that asks for much and reads nothing does not keep its connection', async t => {
  const s = await open(t, { config: { timeouts: { slow_client: '20s' } } })
  const accepted = once(s.servers[0] as Server, 'connection') as Promise<[Socket]>
  const { socket, closed } = connect(t, s)
  await until('it is connected', () => !socket.connecting)
  socket.pause()
  const [at] = await accepted
  const page = `GET /${'x'.repeat(60_000)} HTTP/1.1\r\n\r\n`
  await until('an answer waits for it', async () => {
    if (at.writableLength > 0) return true
    const bytes = at.bytesRead
    socket.write(page)
    await until('it is read', () => at.bytesRead >= bytes + page.length)
    return false
  })
  t.equal(s.services.openCount, 1)
  for (let i = 0; i < 40; i++) await s.settled()
  for (let seconds = 0; seconds < 30; seconds++) {
    s.clock.advance(1000)
    await s.settled()
  }
  await until('it is closed', () => s.services.openCount === 0)
  socket.resume()
  await until('the client hears of it', closed)

  const reader = connect(t, s)
  reader.socket.write(list(''))
  await until('an answer', () => status(reader.heard()) === 200)
  s.clock.advance(60_000)
  await s.settled()
  reader.socket.write(list(''))
  await until('another one on the same connection', () => reader.heard().split('HTTP/1.1 200').length === 3)
})

t.test('what is refused first, when everything is wrong', async t => {
  const s = await open(t, {
    rate: 2,
    config: { limits: { body: '64KiB' } },
    channels: { a: { models: [MODEL, 'unpriced'] } },
  })
  s.at('a').script = answers(1, 1)
  const body = { model: MODEL, max_tokens: 5 }
  const poor = { authorization: `Bearer ${POOR_KEY}` }
  const large = 'x'.repeat(100_000)
  const chat = '/v1/chat/completions'
  const rows: [what: string, ask: Parameters<typeof s.ask>[0], status: number, text: string][] = [
    ['a path', { path: '/v1/chat', headers: {}, body: large }, 404, 'Invalid URL'],
    ['no key', { path: chat, headers: {}, body: large }, 401, '无效的令牌'],
    ['a body', { path: chat, headers: poor, body: large }, 413, '请求体超过限制:最大64KiB'],
    ['no JSON', { path: chat, headers: poor, body: '[' }, 400, '请求体不是有效的JSON对象'],
    ['the rate, before the body', { path: chat, headers: poor, body: large }, 429, '您已达到请求数限制'],
  ]
  for (const [what, ask, want, text] of rows) {
    const client = s.ask(ask)
    await client.end()
    t.equal(client.status, want, what)
    t.match(client.text, text, what)
  }
  const t2 = await open(t, { channels: { a: { models: [MODEL, 'unpriced'] } } })
  const LONG = 'm'.repeat(30_000)
  for (const [what, more, want, text] of [
    ['no model', { model: '' }, 400, '未指定模型名称'],
    ['no model, in so many words', { model: null }, 400, '未指定模型名称'],
    ['a number as the model', { model: 7 }, 400, '请求体字段无效:model'],
    ['a list of models', { model: [MODEL] }, 400, '请求体字段无效:model'],
    ['no channel', { model: 'unknown' }, 400, '无可用渠道'],
    ['no channel, however long the name is', { model: LONG }, 400, `分组 default 下模型 ${LONG} 无可用渠道`],
    ['no price', { model: 'unpriced' }, 400, '价格尚未由管理员配置'],
    ['no money', {}, 403, '用户额度不足'],
  ] as const) {
    const client = t2.ask({ path: chat, headers: poor, body: { ...body, ...more } })
    await client.end()
    t.equal(client.status, want, what)
    t.match(client.text, text, what)
  }
  const paid = s.ask(document())
  await paid.end()
  t.equal(paid.status, 200)
})
