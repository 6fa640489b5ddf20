/** Answers as a client's socket sees them, through a real `node:http` server. */
import http from 'node:http'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Reply } from '../../lib/base/reply.ts'
import { Pipelines } from '../../lib/base/pipelines.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const LONG = Buffer.alloc(100_000, 'long ')
const bytes = (text: string) => Buffer.from(text)

type Answer = (reply: Reply, req: http.IncomingMessage, res: http.ServerResponse) => void

/** Of the server that was made last. */
let connections: net.Socket[] = []

async function serve(t: Test, answer: Answer): Promise<number> {
  connections = []
  const pipelines = new Pipelines(() => {})
  const begin = (req: http.IncomingMessage, res: http.ServerResponse) => answer(new Reply(req, res), req, res)
  const server = http.createServer({ requireHostHeader: false }, (req, res) => pipelines.take(req, res, begin))
  server.on('connection', (socket: net.Socket) => connections.push(socket))
  server.on('clientError', () => {}) // what comes behind a last request is none of its answer's business
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as net.AddressInfo).port
}

/** All that comes back for these bytes, until the connection ends. */
async function read(port: number, request: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(request, 'latin1')
  return (await buffer(socket)).toString('latin1')
}

const HEAD = 'Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n'
const KEPT = `${HEAD}Connection: keep-alive\r\nKeep-Alive: timeout=125\r\n`
/** A request that ends the connection, and its answer: seen only where the answer before has left the connection open. */
const NEXT = 'GET /next HTTP/1.1\r\nconnection: close\r\n\r\n'
const CLOSED = `${HEAD}Connection: close\r\n`

t.test('what a client reads', async t => {
  const sized: Answer = reply => {
    reply.begin(200, ['x-a', 'b\xe9', 'content-length', '5'], NOW_MS)
    reply.end(bytes('hello'))
  }
  const unsized: Answer = reply => {
    reply.begin(200, [], NOW_MS)
    reply.write(bytes('hello'))
    reply.write(LONG)
    reply.end(bytes('end'))
  }
  /** One frame of two pieces, and an end that is not copied. */
  const pieces: Answer = reply => {
    reply.begin(200, [], NOW_MS)
    reply.write(bytes('hel'), bytes('lo'))
    reply.end(bytes('so '), LONG, bytes('far'))
  }
  const sizedPieces: Answer = reply => {
    reply.begin(200, ['content-length', String(LONG.length + 3)], NOW_MS)
    reply.end(LONG, bytes('end'))
  }
  const empty: Answer = reply => {
    reply.begin(200, [], NOW_MS)
    reply.end()
  }
  const status =
    (code: number, headers: string[] = []): Answer =>
    reply => {
      reply.begin(code, headers, NOW_MS)
      reply.end(bytes('nobody may read this'))
    }
  const last: Answer = reply => {
    reply.closeAfter()
    sized(reply, null as never, null as never)
  }
  const broken: Answer = reply => {
    reply.begin(200, [], NOW_MS)
    reply.breakOff(bytes('so far'))
  }
  const next = (reply: Reply) => {
    reply.begin(200, ['content-length', '4'], NOW_MS)
    reply.end(bytes('next'))
  }
  const framed = `5\r\nhello\r\n${LONG.length.toString(16)}\r\n${LONG}\r\n3\r\nend\r\n0\r\n\r\n`
  const pieced = `5\r\nhello\r\n${(LONG.length + 6).toString(16)}\r\nso ${LONG}far\r\n0\r\n\r\n`
  const rows: [name: string, answer: Answer, request: string, said: string, closed: boolean][] = [
    ['sized', sized, 'GET / HTTP/1.1', `200 OK\r\nx-a: b\xe9\r\ncontent-length: 5\r\n${KEPT}\r\nhello`, false],
    ['framed', unsized, 'GET / HTTP/1.1', `200 OK\r\n${KEPT}Transfer-Encoding: chunked\r\n\r\n${framed}`, false],
    ['pieces', pieces, 'GET / HTTP/1.1', `200 OK\r\n${KEPT}Transfer-Encoding: chunked\r\n\r\n${pieced}`, false],
    [
      'sized pieces',
      sizedPieces,
      'GET / HTTP/1.1',
      `200 OK\r\ncontent-length: ${LONG.length + 3}\r\n${KEPT}\r\n${LONG}end`,
      false,
    ],
    ['HEAD, pieces', pieces, 'HEAD / HTTP/1.1', `200 OK\r\n${KEPT}\r\n`, false],
    ['empty', empty, 'GET / HTTP/1.1', `200 OK\r\n${KEPT}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, false],
    [
      'asked to close',
      empty,
      'GET / HTTP/1.1\r\nconnection: close',
      `200 OK\r\n${CLOSED}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      true,
    ],
    ['wants to close', last, 'GET / HTTP/1.1', `200 OK\r\nx-a: b\xe9\r\ncontent-length: 5\r\n${CLOSED}\r\nhello`, true],
    [
      'broken off',
      broken,
      'GET / HTTP/1.1',
      `200 OK\r\n${KEPT}Transfer-Encoding: chunked\r\n\r\n6\r\nso far\r\n`,
      true,
    ],
    ['HEAD', sized, 'HEAD / HTTP/1.1', `200 OK\r\nx-a: b\xe9\r\ncontent-length: 5\r\n${KEPT}\r\n`, false],
    ['HEAD, framed', unsized, 'HEAD / HTTP/1.1', `200 OK\r\n${KEPT}\r\n`, false],
    ['204', status(204), 'GET / HTTP/1.1', `204 No Content\r\n${KEPT}\r\n`, false],
    [
      '304',
      status(304, ['content-length', '9']),
      'GET / HTTP/1.1',
      `304 Not Modified\r\ncontent-length: 9\r\n${KEPT}\r\n`,
      false,
    ],
    [
      'a strange status',
      status(299, ['content-length', '0']),
      'HEAD / HTTP/1.1',
      `299 Unknown\r\ncontent-length: 0\r\n${KEPT}\r\n`,
      false,
    ],
    ['HTTP/1.0', sized, 'GET / HTTP/1.0', `200 OK\r\nx-a: b\xe9\r\ncontent-length: 5\r\n${CLOSED}\r\nhello`, true],
    [
      'HTTP/1.0, kept',
      sized,
      'GET / HTTP/1.0\r\nconnection: keep-alive',
      `200 OK\r\nx-a: b\xe9\r\ncontent-length: 5\r\n${KEPT}\r\nhello`,
      false,
    ],
    ['HTTP/0.9', unsized, 'GET / HTTP/0.9', `200 OK\r\n${CLOSED}\r\nhello${LONG}end`, true],
    [
      'HTTP/1.0 without length',
      unsized,
      'GET / HTTP/1.0\r\nconnection: keep-alive',
      `200 OK\r\n${CLOSED}\r\nhello${LONG}end`,
      true,
    ],
  ]
  for (const [name, answer, request, said, closed] of rows) {
    const port = await serve(t, (reply, req, res) => (req.url === '/next' ? next(reply) : answer(reply, req, res)))
    const heard = await read(port, `${request}\r\n\r\n${NEXT}`)
    const want = `HTTP/1.1 ${said}`
    t.equal(heard.slice(0, want.length), want, name)
    t.match(heard.slice(want.length), closed ? /^$/ : /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nnext$/, `${name}: the next`)
  }
})

t.test('a client that neither sends the rest of its request nor closes is cut after a while', async t => {
  const port = await serve(t, reply => {
    reply.closeAfter()
    reply.begin(413, ['content-length', '4'], NOW_MS)
    reply.end(bytes('much'))
  })
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.write('POST / HTTP/1.1\r\ncontent-length: 100\r\n\r\nsome')
  t.match((await buffer(socket)).toString(), /much$/)
  const ended = await new Promise<boolean>(resolve => {
    const look = () => (connections.every(one => one.destroyed) ? resolve(true) : setTimeout(look, 50))
    look()
  })
  t.ok(ended)
  socket.destroy()
})

t.test('a slow client', async t => {
  const port = await serve(t, reply => {
    reply.begin(200, [], NOW_MS)
    let sent = 0
    const more = () => {
      while (sent < 200) {
        sent++
        if (!reply.write(LONG)) {
          reply.whenDrained(more)
          return
        }
      }
      reply.end()
    }
    more()
  })
  const said = await read(port, NEXT)
  t.equal(said.split('long ').length - 1, 200 * (LONG.length / 5))
  t.ok(said.endsWith('\r\n0\r\n\r\n'))
})

t.test('a client that has gone, or said its last', async t => {
  for (const leave of ['destroy', 'end'] as const) {
    const closed = new Promise<boolean>((resolve, reject) => {
      void serve(t, (reply, _req, res) => {
        let wasTold = false
        res.on('finish', () => (wasTold = true))
        res.on('close', () => resolve(wasTold))
        reply.begin(200, ['content-length', '6'], NOW_MS)
        reply.write(bytes('one'))
        socketOf(res).once('end', () => reply.end(bytes('two')))
      }).then(port => {
        const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        socket.on('error', reject)
        socket.once('data', () => socket[leave]())
        socket.write('GET / HTTP/1.1\r\n\r\n')
      }, reject)
    })
    t.equal(await closed, false, `${leave}: the response closes, and was not out`)
  }
})

t.test('no header becomes two', async t => {
  let error: unknown
  const port = await serve(t, (reply, _req, res) => {
    for (const [name, value] of [
      ['x-a', 'b\r\nx-c: d'],
      ['x-a', 'b\nc'],
      ['x-a', 'b\0'],
      ['x-a', '\u4e2d'],
      ['x a', 'b'],
      ['', 'b'],
    ] as const)
      t.throws(
        () => reply.begin(200, [name, value], NOW_MS),
        { message: /cannot be sent/ },
        JSON.stringify([name, value]),
      )
    error = null
    res.destroy()
  })
  await read(port, NEXT)
  t.equal(error, null)
})

const socketOf = (res: http.ServerResponse): net.Socket => res.socket as net.Socket

t.test('lines that were made before stand in the head', async t => {
  const port = await serve(t, reply => {
    reply.begin(200, ['content-length', '2'], NOW_MS, '\r\nx-own: a: b\r\nx-other: c')
    reply.end(bytes('ok'))
  })
  t.match(await read(port, NEXT), /^HTTP\/1\.1 200 OK\r\nx-own: a: b\r\nx-other: c\r\ncontent-length: 2\r\n/)
})
