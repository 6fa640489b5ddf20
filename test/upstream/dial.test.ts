/** Connections that read into shared memory: to real servers, plain and by TLS. */
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import tls, { createSecureContext, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { type DialOptions, direct } from '../../lib/upstream/dial.ts'
import { copiedOut } from '../../lib/upstream/http1-connection.ts'
import { seeded } from '../support/random.ts'
import { certificate, listen, until } from './support.ts'

const own = certificate(t)
const KINDS = ['http:', 'https:'] as const
type Kind = (typeof KINDS)[number]
const known = { timeoutMs: 2000, secureContext: createSecureContext({ ca: own.cert }) }

/** A server that hands out its sockets in the order they come. */
async function server(t: Test, kind: Kind, protocols = ['h2', 'http/1.1']) {
  const sockets: Socket[] = []
  const add = (socket: Socket) => sockets.push(socket.on('error', () => {}))
  const made = kind === 'https:' ? tls.createServer({ ...own, ALPNProtocols: protocols }, add) : net.createServer(add)
  const port = await listen(t, made)
  const accepted = async (i: number): Promise<Socket> => {
    await until(() => sockets.length > i)
    return sockets[i] as Socket
  }
  return { port: String(port), accepted, sockets }
}

/** A connection, and what it has read. */
function open(t: Test, dial: ReturnType<typeof direct>, protocol: Kind, port: string, hostname = 'localhost') {
  const heard: Buffer[] = []
  const socket = new Promise<Socket>((resolve, reject) =>
    dial(
      { hostname, protocol, port },
      copiedOut(bytes => heard.push(bytes)),
      (error, socket) => {
        if (socket === null) return reject(error)
        t.teardown(() => socket.destroy())
        resolve(socket)
      },
    ),
  )
  return { socket, heard, text: () => Buffer.concat(heard).toString() }
}

for (const kind of KINDS) {
  t.test(`${kind} what many connections read at once stays apart, whole, and theirs`, async t => {
    const random = seeded(t)
    const { port, accepted } = await server(t, kind)
    const dial = direct(known)
    const all: (ReturnType<typeof open> & { far: Socket; sent: string })[] = []
    for (let i = 0; i < 8; i++) {
      const one = open(t, dial, kind, port)
      await one.socket
      all.push({ ...one, far: await accepted(i), sent: '' })
    }
    for (let round = 0; round < 200; round++) {
      const at = random.int(0, all.length - 1)
      const one = all[at] as (typeof all)[number]
      const text = `${at} `.repeat(random.pick([1, 10, 1000, 100_000]))
      one.sent += text
      one.far.write(text)
      if (random.next() < 0.1) await new Promise(resolve => setImmediate(resolve))
    }
    await until(() => all.every(one => one.text().length === one.sent.length))
    t.ok(all.every(one => one.text() === one.sent))
  })

  t.test(`${kind} a paused one reads no more than what is under way, and everything after`, async t => {
    const { port, accepted } = await server(t, kind)
    const one = open(t, direct(known), kind, port)
    const socket = await one.socket
    const far = await accepted(0)
    far.write('a')
    await until(() => one.text() === 'a')
    socket.pause()
    let taken = false
    far.write(Buffer.alloc(64 * 1024 * 1024, 'b'), () => (taken = true))
    await until(() => far.writableLength > 0)
    t.equal(one.text(), 'a')
    socket.resume()
    await until(() => one.heard.reduce((sum, bytes) => sum + bytes.length, 0) === 1 + 64 * 1024 * 1024)
    await until(() => taken)
  })

  t.test(`${kind} the other side's end is told after its bytes, also to who was paused meanwhile`, async t => {
    const { port, accepted } = await server(t, kind)
    for (const paused of [false, true]) {
      const one = open(t, direct(known), kind, port)
      const socket = await one.socket
      const far = await accepted(paused ? 1 : 0)
      const closed = once(socket, 'close')
      let text = ''
      socket.on('end', () => (text = one.text()))
      if (paused) socket.pause()
      far.end('last words')
      if (paused) {
        await once(far, 'finish')
        t.equal(one.text(), '')
        socket.resume()
      }
      await closed
      t.equal(text, 'last words')
    }
  })
}

t.test('a second connection goes on with the session of the first', async t => {
  const { port, accepted } = await server(t, 'https:')
  const dial = direct(known)
  const first = (await open(t, dial, 'https:', port).socket) as TLSSocket
  const session = once(first, 'session')
  ;(await accepted(0)).write('x') // its tickets come with the first bytes
  await session
  const second = (await open(t, dial, 'https:', port).socket) as TLSSocket
  t.equal(first.isSessionReused(), false)
  t.equal(second.isSessionReused(), true)
})

t.test('the name is asked for, an address is not; HTTP/1.1 in any case', async t => {
  const { port, accepted } = await server(t, 'https:')
  for (const [i, [hostname, name]] of [['localhost', 'localhost'] as const, ['127.0.0.1', false] as const].entries()) {
    await open(t, direct(known), 'https:', port, hostname).socket
    const far = (await accepted(i)) as TLSSocket
    t.match(far, { servername: name, alpnProtocol: 'http/1.1' }, hostname)
  }
})

t.test('an address that does not answer costs nothing where the name has another', async t => {
  const { port } = await server(t, 'http:')
  const both = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ]
  const lookup: DialOptions['lookup'] = (_name, _options, done) => done(null, both)
  const socket = await open(t, direct({ ...known, lookup }), 'http:', port, 'two.example').socket
  t.equal(socket.remoteAddress, '127.0.0.1')
})

t.test('what goes wrong is told once', async t => {
  const { port } = await server(t, 'https:')
  const plain = await server(t, 'http:') // takes a connection, and never answers a handshake
  const newer = await server(t, 'https:', ['h2'])
  const unused = net.createServer()
  const nowhere = String(await listen(t, unused))
  await new Promise(resolve => unused.close(resolve))
  const silent: DialOptions['lookup'] = () => {}
  for (const [name, options, kind, to, error] of [
    ['nobody listens', known, 'http:', nowhere, { code: 'ECONNREFUSED' }],
    ['an unknown authority', { timeoutMs: 2000 }, 'https:', port, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }],
    ['only HTTP/2', known, 'https:', newer.port, { code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' }],
    ['no TLS there', { ...known, timeoutMs: 50 }, 'https:', plain.port, { code: 'CONNECT_TIMEOUT' }],
    ['no address', { timeoutMs: 50, lookup: silent }, 'http:', plain.port, { code: 'CONNECT_TIMEOUT' }],
  ] as const) {
    const told: unknown[] = []
    direct(options)(
      { hostname: 'localhost', protocol: kind, port: to },
      copiedOut(() => t.fail('nothing is read')),
      (error, socket) => told.push(socket ?? error),
    )
    await until(() => told.length > 0)
    await new Promise(resolve => setImmediate(resolve))
    t.equal(told.length, 1, name)
    t.match(told[0], error, name)
  }
})

t.test('an error behind the connection goes to whom it was handed', async t => {
  const { port, accepted } = await server(t, 'http:')
  const socket = await open(t, direct(known), 'http:', port).socket
  const failed = once(socket, 'error')
  ;(await accepted(0)).resetAndDestroy()
  t.match((await failed)[0], { code: 'ECONNRESET' })
})
