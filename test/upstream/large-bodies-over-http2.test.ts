/**
 * While more than 10 MB of one request waited to be written on an HTTP/2 connection, every answer on it was refused
 * (`NGHTTP2_ENHANCE_YOUR_CALM`): one client with a body of 11 MB made the requests of others fail, and their channel rest. Bodies that
 * were then written piece by piece were not sent again when the upstream had not processed their request, as HTTP/2 allows.
 */
// The bugs behind these rows: one large body breaks the answers of everybody on its connection, and fails where it could be sent again.
import http2 from 'node:http2'
import t, { type Test } from 'tap'
import type { Dispatcher } from 'undici'
import type { Upstream } from '../../lib/upstream/pools.ts'
import { certificate, connectProxy, listen, pools, way } from './support.ts'

const MB = 1024 * 1024
const SMALL = Buffer.from('{}')

interface Answered {
  status: number
  text: string
}

function post(pool: Upstream, origin: string, path: string, body: Buffer | Buffer[]): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const heard: Answered = { status: 0, text: '' }
    const length = Array.isArray(body) ? ['content-length', String(body.reduce((sum, one) => sum + one.length, 0))] : []
    pool.dispatch({ origin, path, method: 'POST', headers: ['content-type', 'a/b', ...length], body: body as Buffer }, {
      onRequestStart() {},
      onResponseStart: (_: unknown, status: number) => void (heard.status = status),
      onResponseData: (_: unknown, chunk: Buffer) => void (heard.text += chunk),
      onResponseEnd: () => resolve(heard),
      onResponseError: (_: unknown, error: Error) => reject(error),
    } as Dispatcher.DispatchHandler)
  })
}

/** Reads nothing at `/held` until it is told to, answers `/early` at once, and everything else with what it has read. */
async function upstream(t: Test, refuse?: (stream: http2.ServerHttp2Stream) => void) {
  let refused = 0
  const own = certificate(t)
  const held: http2.ServerHttp2Stream[] = []
  const server = http2.createSecureServer(own)
  server.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    const path = headers[':path']
    if (path === '/refused' && refused++ === 0) return refuse?.(stream)
    let bytes = 0
    stream.on('end', () => {
      if (path === '/early' || stream.destroyed) return
      stream.respond({ ':status': 200 })
      stream.end(`${bytes} of ${headers['content-length']}`)
    })
    const read = () => stream.on('data', (chunk: Buffer) => void (bytes += chunk.length))
    if (path === '/held') held.push(stream.once('release', read))
    else if (path !== '/early') read()
    else {
      stream.respond({ ':status': 413 })
      stream.end('too large', () => stream.close(http2.constants.NGHTTP2_NO_ERROR))
    }
  })
  const origin = `https://127.0.0.1:${await listen(t, server)}`
  const release = () => {
    for (const stream of held.splice(0)) stream.emit('release')
  }
  return { origin, ca: own.cert, held, release }
}

for (const through of ['', 'a proxy'])
  t.test(`a large body that is not read holds up nobody else ${through}`, async t => {
    const up = await upstream(t)
    const proxy = through === '' ? null : `http://127.0.0.1:${await listen(t, connectProxy([], null))}`
    const pool = pools(t).of(way(up.origin, { ca: up.ca, http2: true, proxy }))
    t.same(await post(pool, up.origin, '/', SMALL), { status: 200, text: '2 of 2' })
    const bodies = [Buffer.alloc(12 * MB), [Buffer.alloc(7 * MB), Buffer.alloc(7 * MB)]]
    const large = bodies.map(body => post(pool, up.origin, '/held', body))
    while (up.held.length < large.length) await new Promise(resolve => setTimeout(resolve, 5))
    for (let i = 0; i < 5; i++) t.same(await post(pool, up.origin, '/', SMALL), { status: 200, text: '2 of 2' })
    up.release()
    t.same(await Promise.all(large), [
      { status: 200, text: `${12 * MB} of ${12 * MB}` },
      { status: 200, text: `${14 * MB} of ${14 * MB}` },
    ])
  })

t.test('an upstream that answers before it has read a large body is heard, and others go on', async t => {
  const up = await upstream(t)
  const pool = pools(t).of(way(up.origin, { ca: up.ca, http2: true }))
  for (let i = 0; i < 3; i++) {
    t.same(await post(pool, up.origin, '/early', Buffer.alloc(12 * MB)), { status: 413, text: 'too large' })
    t.same(await post(pool, up.origin, '/', SMALL), { status: 200, text: '2 of 2' })
  }
})

const { NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = http2.constants
const goAway = ({ id, session }: http2.ServerHttp2Stream) => session?.goaway(NGHTTP2_NO_ERROR, id! - 2)

const REFUSALS: [what: string, refuse: (stream: http2.ServerHttp2Stream) => void][] = [
  ['refuses its stream', stream => stream.close(NGHTTP2_REFUSED_STREAM)],
  ['retires the connection', goAway],
  [
    'retires the connection and closes it',
    stream => {
      goAway(stream)
      setImmediate(() => stream.session?.destroy())
    },
  ],
]

for (const [what, refuse] of REFUSALS)
  for (const body of [Buffer.alloc(100_000), [Buffer.alloc(50_000), Buffer.alloc(50_000)], [SMALL, SMALL]])
    t.test(`${Array.isArray(body) ? body.length : 1} chunks are sent again when the upstream ${what}`, async t => {
      const up = await upstream(t, refuse)
      const pool = pools(t).of(way(up.origin, { ca: up.ca, http2: true }))
      const bytes = Array.isArray(body) ? body.reduce((sum, one) => sum + one.length, 0) : body.length
      await post(pool, up.origin, '/', SMALL)
      t.same(await post(pool, up.origin, '/refused', body), { status: 200, text: `${bytes} of ${bytes}` })
    })
