/** What clients do to a connection that carries more than one answer, or no HTTP. */
import { once } from 'node:events'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { clientConnections } from '../../../lib/exchange/listener/server.ts'
import { KEY, NOTHING_LEFT, open, type Scene } from '../support/gateway.ts'
import { answers, document, SPEECH } from '../support/speech.ts'
import { until } from '../../support/wait.ts'

const { ask, first, rest } = SPEECH.messages
const BAD = '\0\r\n\r\n'

/** A gateway, a client whose stream has begun, and all that it reads from there on. */
async function streaming(t: Test, config: Record<string, unknown> = {}) {
  const s = await open(t, { config })
  const client = s.ask(ask)
  let heard = ''
  client.socket.on('data', data => (heard += data))
  const call = await s.at('a').call(0)
  call.stream()
  call.chunk(first)
  await client.sees('Good morning')
  return { s, client, call, heard: () => heard }
}

t.test(
  'a flood of requests behind an answer that is under way: none of them begins, and the connection is closed',
  async t => {
    const { s, client, call } = await streaming(t)
    const { pipelined } = clientConnections.refused
    client.socket.write('GET /x HTTP/1.1\r\n\r\n'.repeat(20_000))
    await until('it is closed', () => client.closed)
    t.equal(clientConnections.refused.pipelined, pipelined + 1)
    t.equal(s.services.openCount, 1)
    await until('its answer is read on', () => s.services.readOns.size === 1)
    call.chunk(rest)
    call.end()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'client_gone', basis: 'reported' }] })
  },
)

t.test('100-continue for a request whose turn has not come is not said inside of the answer before', async t => {
  const { s, client, call, heard } = await streaming(t)
  client.ask({ ...ask, headers: { ...ask.headers, expect: '100-continue' } })
  await s.settled()
  call.chunk(rest)
  call.end()
  const second = await s.at('a').call(1)
  second.stream()
  second.chunk(first)
  second.chunk(rest)
  second.end()
  await until('both have ended', () => heard().split('\r\n0\r\n\r\n').length === 3)
  t.match(heard().split('\r\n0\r\n\r\n')[1], /^HTTP\/1\.1 200 OK\r\n/)
  client.leave()
})

t.test('an expectation we do not know is no reason to refuse, and is not passed on', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const client = s.ask(document({}, { expect: '100-conQinue' }))
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 200)
  t.equal((await s.at('a').call()).header('expect'), undefined)
  const nowhere = s.ask({ path: '/nowhere', body: '', headers: { expect: 'more' } })
  t.equal(await nowhere.end(), 'whole')
  t.equal(nowhere.status, 404)
  t.match(nowhere.text, /"error":\{"code":""/)
})

t.test('bytes that are no HTTP behind a request: nothing of ours gets into its answer', async t => {
  for (const when of ['before it', 'in its midst', 'of announced length'] as const) {
    const s = await open(t)
    const client = s.ask(document())
    let heard = ''
    client.socket.on('data', data => (heard += data))
    const call = await s.at('a').call()
    if (when === 'in its midst') {
      call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
      call.chunk('{"half":')
    }
    if (when === 'of announced length') {
      call.start(400, { 'content-type': 'application/json', 'content-length': '200' })
      call.raw('{"half":')
    }
    if (when !== 'before it') await s.goOn()
    if (when !== 'before it') await until('the answer has begun', () => heard.includes('{"half":'))
    client.socket.write(BAD)
    await until('the connection is cut', () => client.closed)
    t.notMatch(heard, /x-should-retry/, when)
    call.reset()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test(
  'a body that breaks behind an answer under way: the connection is cut, and nothing gets into that answer',
  async t => {
    const { s, client, call, heard } = await streaming(t)
    const post = `POST /v1/messages HTTP/1.1\r\nx-api-key: ${KEY}\r\ntransfer-encoding: chunked\r\n\r\n`
    client.socket.write(`${post}zz\r\n`)
    await until('the connection is cut', () => client.closed)
    t.notMatch(heard(), /x-should-retry|HTTP\/1\.1 400/)
    call.chunk(rest)
    call.end()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'client_gone', basis: 'reported' }] })
  },
)

t.test('what stands behind a last request costs it nothing', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const client = s.ask(document({}, { connection: 'close' }))
  client.socket.write('x')
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 200)
})

t.test('a body that breaks while a stage waits takes no place among the open requests', async t => {
  const s = await open(t, { config: { limits: { concurrency: 1 } }, rate: 1000 })
  let admit: (waitS: number) => void = () => {}
  const admitted = t.intercept(s.services.rates, 'admit', { value: () => new Promise(resolve => (admit = resolve)) })
  const post = `POST /v1/messages HTTP/1.1\r\nx-api-key: ${KEY}\r\ntransfer-encoding: chunked\r\n\r\n`
  const port = await portOf(s)
  const socket = net.connect(port, '127.0.0.1')
  socket.write(post)
  await until('the rate is asked', () => admitted().length === 1)
  socket.write('zz\r\n')
  t.match((await buffer(socket)).toString(), /^HTTP\/1\.1 400 /)
  admit(0)
  await until('nothing is under way', () => s.services.openCount === 0)
  admitted.restore()
  s.at('a').script = answers(100, 10)
  const client = s.ask(document())
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 200)
})

t.test('while the process drains, a page and a preflight end their connection too', async t => {
  const s = await open(t, {
    pages: (req, res) => {
      if (req.url !== '/console') return false
      res.end('page')
      return true
    },
  })
  const port = await portOf(s)
  const asked = async (head: string) => {
    const socket = net.connect({ port, host: '127.0.0.1' })
    let heard = ''
    socket.on('data', data => (heard += data))
    socket.write(`${head}host: gateway\r\n\r\n`)
    await until('it is answered', () => heard.includes('\r\n\r\n'))
    socket.destroy()
    return /^connection: (.*)$/im.exec(heard)?.[1]?.trim()
  }
  const heads = [
    'GET /console HTTP/1.1\r\n',
    'OPTIONS /v1/messages HTTP/1.1\r\norigin: https://a.test\r\n',
    'GET /nowhere HTTP/1.1\r\n',
  ]
  for (const head of heads) t.not(await asked(head), 'close', head)
  s.services.draining = true
  for (const head of heads) t.equal(await asked(head), 'close', head)
})

t.test('bytes that are no HTTP with nothing owed, and a body that is none: 400, and the connection ends', async t => {
  const s = await open(t)
  const port = await portOf(s)
  const post = `POST /v1/messages HTTP/1.1\r\nx-api-key: ${KEY}\r\ntransfer-encoding: chunked\r\n\r\n`
  for (const [name, bytes] of [
    ['at first', BAD],
    ['behind an answer', `GET /nowhere HTTP/1.1\r\n\r\n${BAD}`],
    ['in a body', `${post}zz\r\n`],
    ['in a body, later', `${post}3\r\n{"a\r\nzz\r\n`],
  ] as const) {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let heard = ''
    socket.on('data', data => (heard += data))
    for (const part of bytes.split(/(?<=\r\n\r\n)(?=\0)/)) {
      socket.write(part)
      await until('it is heard', () => part.includes('\0') || part.includes('zz') || heard.includes('404'))
    }
    await until(`${name}: an envelope`, () => heard.endsWith('}') && heard.includes('400 Bad Request'))
    t.match(heard, /connection: close\r\n/i, name)
    await until('nothing is under way', () => s.services.openCount === 0)
    await until('it is closed, although the client keeps its side open', () => socket.readableEnded)
    socket.destroy()
  }
})

t.test('a method that the parser does not know is that of an unknown path', async t => {
  const s = await open(t)
  const port = await portOf(s)
  for (const [line, want] of [
    [
      'FOO /v1/chat/completions?key=sk-1 HTTP/1.1',
      /^HTTP\/1\.1 404 [\s\S]*\r\n\r\n{"error":{.*"Invalid URL \(FOO \/v1\/chat\/completions\) \(request id: /,
    ],
    [
      'post /v1/messages HTTP/1.1',
      /^HTTP\/1\.1 404 [\s\S]*\r\n\r\n{"type":"error","error":{.*"Invalid URL \(post \/v1\/messages\) /,
    ],
    [`FOO /${'a'.repeat(50_000)}`, /^HTTP\/1\.1 400 /],
    ['FOO x HTTP/1.1', /^HTTP\/1\.1 400 /],
  ] as const) {
    const socket = net.connect(port, '127.0.0.1')
    socket.write(`${line}\r\nhost: x\r\n\r\n`)
    t.match((await buffer(socket)).toString(), want, line.slice(0, 40))
  }
})

t.test('bytes that are no HTTP, behind a page in the same packet, are none of its path', async t => {
  const s = await open(t, {
    pages: ({ url }, res) => {
      if (url === '/console') res.end('a page')
      return url === '/console'
    },
  })
  const socket = net.connect(await portOf(s), '127.0.0.1')
  socket.write('GET /console HTTP/1.1\r\nhost: x\r\n\r\nFOO\r\n\r\n')
  const heard = (await buffer(socket)).toString()
  t.match(heard, /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 400 /)
  t.notMatch(heard, /404|\/console/)
})

t.test('a client that sends all of a body that is too large before it reads gets its 413', async t => {
  for (const framing of ['content-length: 20000000', 'transfer-encoding: chunked']) {
    const s = await open(t, { config: { limits: { body: '1MiB' } } })
    const port = await portOf(s)
    const socket = net.connect(port, '127.0.0.1')
    socket.write(`POST /v1/messages HTTP/1.1\r\nx-api-key: ${KEY}\r\n${framing}\r\n\r\n`)
    if (framing.includes('chunked')) socket.write(`${(20_000_000).toString(16)}\r\n`)
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.write(Buffer.alloc(20_000_000), error => (error ? reject(error) : resolve()))
    })
    if (framing.includes('chunked')) socket.write('\r\n0\r\n\r\n')
    const heard = (await buffer(socket)).toString()
    t.match(heard, /^HTTP\/1\.1 413 [\s\S]*\r\nConnection: close\r\n/, framing)
    await until('nothing is under way', () => s.services.openCount === 0)
  }
})

t.test('a client that goes on sending behind bytes that are no HTTP, and reads then, gets its 400', async t => {
  const post = `POST /v1/messages HTTP/1.1\r\nx-api-key: ${KEY}\r\ntransfer-encoding: chunked\r\n\r\n`
  const long = Buffer.alloc(1_000_000, 'x')
  for (const begin of [`${post}zz\r\n`, `GET / HTTP/1.1\r\nx-long: `]) {
    const s = await open(t)
    const socket = net.connect(await portOf(s), '127.0.0.1')
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.write(begin)
      for (let i = 0; i < 8; i++) socket.write(long)
      socket.write(long, error => (error ? reject(error) : resolve()))
    })
    t.match((await buffer(socket)).toString(), /^HTTP\/1\.1 400 /, begin.slice(0, 20))
  }
})

t.test('an answer behind another comes whole, however it is framed', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const client = s.ask(document())
  client.ask(ask)
  client.ask(document())
  let heard = ''
  client.socket.on('data', data => (heard += data))
  await until('three answers', () => heard.split('HTTP/1.1 200 OK').length === 4 && s.services.openCount === 0)
  client.leave()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

/** Of its main listener. */
async function portOf(s: Scene): Promise<number> {
  const { socket } = s.ask({ path: '/nowhere', body: '' })
  if (socket.connecting) await once(socket, 'connect')
  return socket.remotePort as number
}
