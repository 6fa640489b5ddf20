/** Requests that come on one connection before the answers of earlier ones have left. */
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Reply } from '../../lib/base/reply.ts'
import { Pipelines } from '../../lib/base/pipelines.ts'
import { until } from '../support/wait.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const MOST_WAITING = 100
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${more}\r\n`
const post = (path: string, bytes: number) => `${get(path, `content-length: ${bytes}\r\n`)}${'x'.repeat(bytes)}`
/** The last request of a connection. */
const LAST = get('/last', 'connection: close\r\n')

type Request = [url: string | undefined, reply: Reply]

/** A server whose requests are noted when they begin, and a client of it. `act`: what is done with each then. */
async function connect(t: Test, act: (reply: Reply, url: string | undefined) => void = () => {}) {
  const begun: Request[] = []
  const counts = { refused: 0, came: 0 }
  const pipelines = new Pipelines(() => counts.refused++)
  const server = http.createServer({ requireHostHeader: false }, (req, res) => {
    counts.came++
    pipelines.take(req, res, () => {
      const reply = new Reply(req, res)
      begun.push([req.url, reply])
      act(reply, req.url)
    })
  })
  const sockets: net.Socket[] = []
  server.on('connection', socket => sockets.push(socket))
  server.on('clientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  t.teardown(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { begun, counts, client, sockets, urls: () => begun.map(([url]) => url) }
}

function say(reply: Reply, text: string): void {
  reply.begin(200, ['content-length', String(text.length)], NOW_MS)
  reply.end(Buffer.from(text))
}

const heard = async (client: net.Socket): Promise<string> => (await buffer(client)).toString('latin1')

t.test('each begins when the answer before it has left, in the order in which they came', async t => {
  const { begun, counts, client, urls } = await connect(t)
  client.write(get('/1') + post('/2', 5) + LAST)
  await until('all have come', () => counts.came === 3)
  const said = heard(client)
  for (const [i, text] of ['one;', 'two;', 'three;'].entries()) {
    await until('its turn', () => begun.length === i + 1)
    say((begun[i] as Request)[1], text)
  }
  t.same((await said).match(/one;|two;|three;/g), ['one;', 'two;', 'three;'])
  t.same(urls(), ['/1', '/2', '/last'])
})

t.test('where the first answer is not read, no other request begins', async t => {
  const long = 'long '.repeat(4_000_000)
  const { begun, counts, client, sockets } = await connect(t, (reply, url) => say(reply, url === '/long' ? long : 'hi'))
  client.pause()
  client.write(get('/long') + get('/').repeat(MOST_WAITING - 1) + LAST)
  await until('all have come', () => counts.came === MOST_WAITING + 1)
  await until('the connection is full', () => (sockets[0]?.writableLength ?? 0) > 0)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  t.equal(begun.length, 1)
  await heard(client)
  t.equal(begun.length, MOST_WAITING + 1)
})

t.test('very many short answers, each behind another, do not call one another', async t => {
  let deepest = 0
  const { client, counts } = await connect(t, reply => {
    deepest = Math.max(deepest, (new Error().stack ?? '').split('\n').length)
    say(reply, 'hi')
  })
  Error.stackTraceLimit = 1000
  t.teardown(() => (Error.stackTraceLimit = 10))
  client.write(get('/').repeat(MOST_WAITING) + LAST)
  t.equal((await heard(client)).split('hi').length - 1, MOST_WAITING + 1)
  t.equal(counts.refused, 0)
  t.ok(deepest < 60, `${deepest} calls`)
})

t.test('more than may wait: the connection is cut, once', async t => {
  const rows: [what: string, wire: string, isCut: boolean][] = [
    ['as many as may wait', get('/').repeat(1 + MOST_WAITING), false],
    ['one more', get('/').repeat(2 + MOST_WAITING), true],
    ['very many', get('/').repeat(20_000), true],
    ['few with bodies', get('/') + post('/', 60_000).repeat(3), false],
    ['more bytes of bodies', get('/') + post('/', 60_000).repeat(8), true],
    ['a body that is longer than all that may wait', get('/') + post('/', 1_000_000), false],
  ]
  for (const [what, wire, isCut] of rows) {
    const { begun, counts, client, sockets } = await connect(t)
    client.write(wire)
    if (isCut) await until(`${what}: it is closed`, () => client.destroyed)
    else {
      await until(what, () => counts.came === wire.split('HTTP').length - 1)
      await new Promise(setImmediate)
      t.equal(sockets[0]?.destroyed, false, what)
    }
    t.equal(counts.refused, Number(isCut), what)
    t.equal(begun.length, 1, what)
  }
})

t.test('what may wait is what waits, not what has ever waited', async t => {
  const { client, counts } = await connect(t, reply => say(reply, 'hi'))
  let said = 0
  client.on('data', data => (said += data.toString().split('hi').length - 1))
  for (let i = 1; i <= 10; i++) {
    client.write(post('/', 1000).repeat(MOST_WAITING / 2))
    await until('they are answered', () => said === (i * MOST_WAITING) / 2)
  }
  t.equal(counts.refused, 0)
})

t.test('behind an answer with which the connection ends nothing begins', async t => {
  const rows: [what: string, first: string, act: (reply: Reply) => void][] = [
    ['cut', get('/first'), reply => reply.destroy()],
    [
      'broken off',
      get('/first'),
      reply => {
        reply.begin(200, [], NOW_MS)
        reply.breakOff(Buffer.from('so far'))
      },
    ],
    [
      'the last one',
      get('/first'),
      reply => {
        reply.closeAfter()
        say(reply, 'last')
      },
    ],
    [
      'the last one, without its body',
      `${get('/first', 'content-length: 5\r\n')}`,
      reply => {
        reply.closeAfter()
        say(reply, 'last')
        setImmediate(() => clientOf?.write(`hello${get('/next')}`))
      },
    ],
  ]
  let clientOf: net.Socket | undefined
  for (const [what, first, act] of rows) {
    const { begun, client, urls } = await connect(t)
    clientOf = client
    client.write(first + (first.includes('length') ? '' : get('/next').repeat(3)))
    const said = heard(client).catch(() => '')
    await until('the first', () => begun.length === 1)
    act((begun[0] as Request)[1])
    await said
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    t.same(urls(), ['/first'], what)
  }
})

t.test('a client that leaves takes what waits with it', async t => {
  const { begun, counts, client, sockets, urls } = await connect(t)
  client.write(get('/1') + get('/2'))
  await until('both have come', () => counts.came === 2)
  client.destroy()
  await until('it has gone', () => sockets[0]?.destroyed === true)
  say((begun[0] as Request)[1], 'one')
  await new Promise(setImmediate)
  t.same(urls(), ['/1'])
})
