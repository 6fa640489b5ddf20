/** Bodies of requests as their takers get them, through a real `node:http` server. */
// The bugs behind these rows: request smuggling by pipelining, a body that fills the memory, uploads that hang, connections that stay open.
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { type BodyTaker, Incoming, takeBody } from '../../lib/base/incoming.ts'
import { until } from '../support/wait.ts'

class Taken implements BodyTaker {
  readonly pieces: Buffer[] = []
  readonly events: string[] = []
  /** What the next piece waits for. */
  wait: Promise<void> | null = null

  onData(piece: Buffer): Promise<void> | null {
    this.pieces.push(piece)
    if (this.events.at(-1) !== 'data') this.events.push('data')
    return this.wait
  }

  onEnd(): void {
    this.events.push('end')
  }

  onBroken(): void {
    this.events.push('broken')
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString()
  }

  get bytes(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0)
  }
}

type Serve = (req: http.IncomingMessage, res: http.ServerResponse) => void

async function serve(t: Test, onRequest: Serve, options: http.ServerOptions = {}) {
  const sockets: net.Socket[] = []
  const server = http.createServer({ IncomingMessage: Incoming, requireHostHeader: false, ...options }, onRequest)
  server.on('connection', socket => sockets.push(socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const connect = () => {
    const client = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1').setNoDelay(true)
    client.on('error', () => {})
    return client
  }
  return { server, sockets, connect }
}

const sized = (body: string, more = '') => `POST / HTTP/1.1\r\n${more}content-length: ${body.length}\r\n\r\n${body}`
const chunked = (pieces: readonly string[]) =>
  `POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n${pieces
    .map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join('')}0\r\n\r\n`

/** Two turns of the loop: what was written to a connection here has been read there, or will be seen by `until`. */
const turns = async () => {
  for (let i = 0; i < 4; i++) await new Promise(resolve => setImmediate(resolve))
}

t.test('each body goes to its own taker, whole and once, and passes no stream', async t => {
  const bodies = ['hello', '', 'x'.repeat(100_000), 'last']
  for (const [name, wire, want] of [
    ['with their heads, behind one another', bodies.map(body => sized(body)), bodies],
    ['in chunks', [chunked(['he', 'llo']), chunked([]), chunked([...'bytes'])], ['hello', '', 'bytes']],
    ['without a body', ['GET / HTTP/1.1\r\n\r\n', sized('then')], ['', 'then']],
  ] as const)
    for (const step of [1_000_000, 7, 1]) {
      const text = wire.join('')
      if (step < 7 && text.length > 1000) continue
      const takers: Taken[] = []
      const requests: http.IncomingMessage[] = []
      const { sockets, connect } = await serve(t, (req, res) => {
        const taken = new Taken()
        takers.push(taken)
        requests.push(req)
        takeBody(req, taken)
        req.on('end', () => res.end(`${takers.indexOf(taken)};`))
      })
      const client = connect()
      let heard = ''
      client.on('data', data => (heard += data))
      for (let at = 0; at < text.length; at += step) {
        client.write(text.slice(at, at + step), 'latin1')
        if (text.length < 1000) await turns()
      }
      const answers = () => heard.match(/\d;/g) ?? []
      await until(`${name}, ${step} at a time: all are answered`, () => answers().length === want.length)
      t.same(
        answers(),
        want.map((_, i) => `${i};`),
        'in their order',
      )
      t.same(
        takers.map(({ text }) => text),
        want,
        `${name}, ${step} at a time`,
      )
      for (const { events } of takers) t.equal(events.filter(one => one === 'end').length, 1)
      for (const req of requests) t.equal(req.readableFlowing, null, 'no stream flows')
      await until('nobody keeps the last request', () => parserOf(sockets[0]).incoming === null)
      client.destroy()
      await once(client, 'close')
      t.notOk(
        takers.some(({ events }) => events.includes('broken')),
        'an end is no break',
      )
    }
})

/** What `node:http` keeps for a connection. */
const parserOf = (socket: net.Socket | undefined) =>
  (socket as unknown as { parser: { incoming: http.IncomingMessage | null } }).parser

t.test('a taker that waits gets nothing more meanwhile, and its client is held up', async t => {
  const most = 64 * 1024 * 1024
  for (const head of [`content-length: ${most}`, 'transfer-encoding: chunked']) {
    const taken = new Taken()
    let goOn = () => {}
    taken.wait = new Promise(resolve => (goOn = resolve))
    const { sockets, connect } = await serve(t, (req, res) => {
      takeBody(req, taken)
      req.on('end', () => res.end('ok'))
    })
    const client = connect()
    const isChunked = head.startsWith('transfer')
    client.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n`)
    const sent = Buffer.alloc(most, '0123456789')
    if (isChunked) client.write(`${most.toString(16)}\r\n`)
    client.write(sent)
    if (isChunked) client.write('\r\n0\r\n\r\n')
    await until('the first piece', () => taken.pieces.length > 0)
    let read = -1
    await until('nothing more is read', async () => {
      const before = read
      read = sockets[0]!.bytesRead
      await turns()
      return before === read
    })
    t.equal(taken.pieces.length, 1, head)
    t.ok(sockets[0]!.bytesRead < most / 8, `${sockets[0]!.bytesRead} bytes were read`)
    taken.wait = null
    goOn()
    t.match((await once(client, 'data'))[0].toString(), /^HTTP\/1\.1 200 /)
    t.ok(Buffer.concat(taken.pieces).equals(sent), 'all of it, in its order')
    t.same(taken.events, ['data', 'end'])
    client.write(sized('next'))
    await until('the connection goes on', () => taken.text.length === most + 4)
    client.destroy()
  }
})

t.test('what has come before somebody takes it, and what a plain request has', async t => {
  for (const IncomingMessage of [Incoming, http.IncomingMessage])
    for (const pieces of [['hello world'], ['hello', ' world']]) {
      const taken = new Taken()
      let request: http.IncomingMessage | null = null
      const { connect } = await serve(t, req => (request = req), { IncomingMessage })
      const client = connect()
      client.write(`POST / HTTP/1.1\r\ncontent-length: 11\r\n\r\n${pieces[0]}`)
      await until('some of it is there', () => (request?.readableLength ?? 0) > 0)
      takeBody(request!, taken)
      if (pieces[1] !== undefined) client.write(pieces[1])
      await until('the end', () => taken.events.includes('end'))
      t.equal(taken.text, 'hello world')
      t.same(taken.events, ['data', 'end'])
      client.destroy()
    }
})

t.test('another taker gets what comes from then on, and the first one nothing', async t => {
  for (const isLate of [false, true]) {
    const [first, second] = [new Taken(), new Taken()]
    let request: http.IncomingMessage | null = null
    const { connect } = await serve(t, req => {
      request = req
      takeBody(req, first)
    })
    const client = connect()
    client.write(`POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\nfirst`)
    await until('the first part', () => first.text === 'first')
    takeBody(request!, second)
    client.write(isLate ? 'seco' : 'second'.slice(0, 5))
    if (isLate) client.destroy()
    await until('the end', () => second.events.includes(isLate ? 'broken' : 'end'))
    t.same([first.events, second.events], [['data'], ['data', isLate ? 'broken' : 'end']])
    client.destroy()
  }
})

t.test('a connection that breaks is told once, and not behind the end', async t => {
  for (const [name, wire, want] of [
    ['before the body', 'POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\n', ['broken']],
    ['within it', 'POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\nhello', ['data', 'broken']],
    ['within a chunk', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n8\r\nhello', ['data', 'broken']],
    ['behind it', sized('hello'), ['data', 'end']],
  ] as const)
    for (const isReset of [false, true]) {
      const taken = new Taken()
      const closed: string[] = []
      const { connect, sockets } = await serve(t, (req, res) => {
        takeBody(req, taken)
        res.on('close', () => closed.push('response'))
      })
      const client = connect()
      client.write(wire)
      await until(
        'it has come',
        () => closed.length > 0 || taken.events.length === want.length - (want.at(-1) === 'broken' ? 1 : 0),
      )
      await until('it is read', () => sockets[0] !== undefined && sockets[0].bytesRead === wire.length)
      if (isReset) client.resetAndDestroy()
      else client.destroy()
      await until('the response hears of it', () => closed.length > 0)
      await turns()
      t.same(taken.events, want, `${name}, ${isReset ? 'reset' : 'closed'}`)
    }
})

t.test('a client that closes its side within a body, and one that is silent for too long', async t => {
  for (const isSilent of [false, true]) {
    const taken = new Taken()
    const faults: string[] = []
    const options = isSilent ? { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 } : {}
    const { server, connect } = await serve(t, req => takeBody(req, taken), options)
    server.on('clientError', (error: NodeJS.ErrnoException, socket: net.Socket) => {
      faults.push(error.code ?? '')
      socket.destroy()
    })
    const client = connect()
    client.write('POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\nhello')
    if (!isSilent) client.end()
    await until('it is told', () => taken.events.includes('broken'))
    t.same(faults, [isSilent ? 'ERR_HTTP_REQUEST_TIMEOUT' : 'HPE_INVALID_EOF_STATE'])
    t.same(taken.events, ['data', 'broken'])
  }
})

t.test(
  'a request that is answered before its end is read to its end, and the next one behind it is served',
  async t => {
    const takers: Taken[] = []
    const { connect } = await serve(t, (req, res) => {
      const taken = new Taken()
      takers.push(taken)
      takeBody(req, taken)
      res.end('early')
    })
    const client = connect()
    client.write('POST / HTTP/1.1\r\ncontent-length: 200000\r\n\r\n')
    await once(client, 'data')
    client.write('x'.repeat(200_000) + sized('next', 'connection: close\r\n'))
    const heard = (await buffer(client)).toString()
    t.equal(takers[0]!.bytes, 200_000)
    t.same(
      takers.map(({ events }) => events.at(-1)),
      ['end', 'end'],
    )
    t.equal(takers[1]!.text, 'next')
    t.match(heard, /^HTTP\/1\.1 200 OK[\s\S]*early$/)
  },
)

t.test('who reads the stream gets the body there, and who reads nothing does not stop the connection', async t => {
  const texts: string[] = []
  const { connect } = await serve(t, async (req, res) => {
    if (req.url === '/unread') res.end('unread;')
    else {
      texts.push((await buffer(req)).toString())
      res.end('read;')
    }
  })
  const client = connect()
  const long = 'y'.repeat(300_000)
  client.write(sized(long).replace('/', '/unread') + sized('hello') + sized(long, 'connection: close\r\n'))
  const heard = (await buffer(client)).toString()
  t.same(heard.match(/\w+;/g), ['unread;', 'read;', 'read;'])
  t.same(texts, ['hello', long])
})

t.test('a request that is destroyed ends its connection, and its taker hears of it', async t => {
  const taken = new Taken()
  const { connect } = await serve(t, req => {
    takeBody(req, taken)
    req.on('close', () => taken.events.push('close'))
    if (taken.events.length === 0) setImmediate(() => req.destroy())
  })
  const client = connect()
  client.write('POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\n')
  await once(client, 'close')
  await until('it is told', () => taken.events.includes('close'))
  t.same(taken.events, ['broken', 'close'])
})
