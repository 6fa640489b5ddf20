/** Real servers for the ways to an upstream: TLS with a certificate of our own making, a CONNECT proxy, a SOCKS5 proxy. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import type http2 from 'node:http2'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import type { UpstreamConnection } from '../../lib/world/compiled-channel.ts'
import { type PoolHooks, Pools, type Upstream } from '../../lib/upstream/pools.ts'

type Server = http.Server | https.Server | http2.Http2SecureServer | net.Server

export async function listen(t: Test, server: Server): Promise<number> {
  const open = new Set<net.Socket>()
  server.on('connection', (socket: net.Socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

/** A certificate that nobody knows, for 127.0.0.1 and localhost or for other names. */
export function certificate(t: Test, names = 'DNS:localhost,IP:127.0.0.1'): { key: string; cert: string } {
  const dir = mkdtempSync(path.join(tmpdir(), 'gateway-tls-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${names}`]
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  try {
    execFileSync('openssl', [...args, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  } catch (cause) {
    throw new Error('openssl is needed to make a certificate: install it', { cause })
  }
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

/** Answers with what it saw: path, HTTP version. */
export const answerer = (seen: string[] = []) =>
  function answer(req: { url?: string | undefined; httpVersion: string }, res: { end(text: string): void }): void {
    seen.push(`${req.url} over ${req.httpVersion}`)
    res.end(`hello over ${req.httpVersion}`)
  }

/** Who loses one end of a tunnel closes the other. */
function bind(one: net.Socket, other: net.Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const)
    from.on('error', () => {}).on('close', () => to.destroy())
}

/** A CONNECT proxy that wants these credentials. */
export function connectProxy(seen: string[], credentials: string | null): http.Server {
  const wanted = credentials === null ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`
  const server = http.createServer((req, res) => {
    // plain http upstreams: the whole address in the request line
    seen.push(`${req.method} ${req.url}`)
    const up = http.request(req.url as string, { method: req.method, headers: req.headers }, from => from.pipe(res))
    up.on('error', () => res.destroy())
    res.on('close', () => up.destroy())
    req.pipe(up)
  })
  server.on('connect', (req, socket: net.Socket, head: Buffer) => {
    seen.push(`CONNECT ${req.url}`)
    if (req.headers['proxy-authorization'] !== wanted) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const [host, port] = (req.url as string).split(':')
    const up = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      up.write(head)
      up.pipe(socket).pipe(up)
    })
    bind(up, socket)
  })
  return server
}

/** SOCKS5 with user and password, CONNECT only. */
export function socksProxy(seen: string[], user: string, password: string): net.Server {
  return net.createServer(socket => {
    socket.on('error', () => socket.destroy())
    let step = 0
    const take = (data: Buffer) => {
      if (step === 0) socket.write(Buffer.from([5, 2]))
      else if (step === 1) {
        const length = data[1] as number
        const sent = [data.toString('utf8', 2, 2 + length), data.toString('utf8', 3 + length)]
        socket.write(Buffer.from([1, sent[0] === user && sent[1] === password ? 0 : 1]))
      } else {
        const named = data[3] === 3
        const end = named ? 5 + (data[4] as number) : 8
        const host = named ? data.toString('utf8', 5, end) : [...data.subarray(4, 8)].join('.')
        const port = data.readUInt16BE(end)
        seen.push(`socks ${host}:${port}`)
        socket.off('data', take)
        const up = net.connect(port, host, () => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
          up.pipe(socket).pipe(up)
        })
        bind(up, socket)
      }
      step++
    }
    socket.on('data', take)
  })
}

/** Proxies on the way, by name; the one over TLS has the certificate. */
export async function proxies(t: Test, own: { key: string; cert: string }): Promise<Record<string, string | null>> {
  const secure = https.createServer(own)
  const tunnels = connectProxy([], 'user:pass')
  for (const event of ['request', 'connect'])
    for (const listener of tunnels.listeners(event)) secure.on(event, listener as never)
  return {
    direct: null,
    http: `http://user:pass@127.0.0.1:${await listen(t, tunnels)}`,
    https: `https://user:pass@localhost:${await listen(t, secure)}`,
    socks5: `socks5://user:pass@127.0.0.1:${await listen(t, socksProxy([], 'user', 'pass'))}`,
  }
}

export const way = (origin: string, change: Partial<UpstreamConnection> = {}): UpstreamConnection => {
  const rest = { proxy: null, ca: null, http2: false, reserved: false, ...change }
  return { id: JSON.stringify([origin, rest]), origin, ...rest }
}

/** `connectMs`: by default far longer than a connection takes on a busy machine. */
export function pools(t: Test, hooks?: PoolHooks, connectMs = 60_000): Pools {
  const made = new Pools({ connectMs, connections: 16 }, hooks)
  t.teardown(() => made.destroy())
  return made
}

export interface Heard {
  status: number
  text: string
  error: Error | null
  location?: string
}

/** One request, by the handler protocol that the relay uses. */
export function ask(
  pool: Pick<Upstream, 'dispatch'>,
  origin: string,
  requestPath = '/v1/x',
  headers: string[] = [],
): Promise<Heard> {
  return new Promise(resolve => {
    const heard: Heard = { status: 0, text: '', error: null }
    pool.dispatch(
      { origin, method: 'POST', path: requestPath, headers, body: Buffer.from('{"a":1}') },
      {
        onRequestStart() {},
        onResponseStart(_controller, status, head) {
          heard.status = status
          if (typeof head['location'] === 'string') heard.location = head['location']
        },
        onResponseData(_controller, chunk) {
          heard.text += chunk.toString()
        },
        onResponseEnd: () => resolve(heard),
        onResponseError: (_controller, error) => resolve({ ...heard, error }),
      },
    )
  })
}

/** Looks again every `everyMs`; the time-out is the test's. */
export async function until(holds: () => boolean, everyMs = 5): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, everyMs))
}
