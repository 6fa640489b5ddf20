/**
 * Opens connections to upstreams: to the upstream itself, or through a SOCKS5 proxy (RFC 1928, with passwords of RFC 1929).
 * undici has an agent for SOCKS5 too, but that one keeps none of a pool's limits, speaks no HTTP/2, and waits for its time-out
 * when the proxy hangs up.
 */
import net, { isIPv4, isIPv6, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { buildConnector } from 'undici'
import { groupsOf } from '../base/reserved-addresses.ts'

/** Loaded when it is needed, because Node reads all of its certificates with it, in a thread of their own, which takes memory too. */
export const tls = () => process.getBuiltinModule('node:tls')

export type DialTarget = buildConnector.Options

/**
 * Opens a connection. `onread` gets what is read, as the option of `net.Socket` with this name does. `done` is called once, with
 * an error or with the open socket. It throws when `node:net` rejects the target, an invalid port for instance.
 */
export type Dial = (
  target: DialTarget,
  onread: OnReadOpts,
  done: (error: Error | null, socket: Socket | null) => void,
) => void

export interface DialOptions {
  /** The limit for resolving the name, connecting and the TLS handshake together. */
  timeoutMs: number
  lookup?: LookupFunction
  /** TLS settings. Default: the certificate authorities that Node trusts. */
  secureContext?: SecureContext
}

/** No connection was open within the time-out. */
class ConnectTimeout extends Error {
  override name = 'ConnectTimeout'
  readonly code = 'CONNECT_TIMEOUT'

  constructor(timeoutMs: number) {
    super(`no connection within ${timeoutMs} ms`)
  }
}

const TCP_KEEP_ALIVE_MS = 60_000
const HTTPS_PORT = 443
const HTTP_PORT = 80

/** Connects to the target itself, without a proxy. */
export function direct({ timeoutMs, secureContext, lookup }: DialOptions): Dial {
  /** Made once and shared, because it holds all certificate authorities. */
  let context = secureContext
  /** The TLS session of the last connection. The next one resumes it, which saves half of the handshake. */
  let session: Buffer | undefined
  const secured = (hostname: string) => ({
    secureContext: (context ??= tls().createSecureContext()),
    ALPNProtocols: ['http/1.1'],
    ...(net.isIP(hostname) === 0 ? { servername: hostname } : {}),
    ...(session === undefined ? {} : { session }),
  })
  return ({ hostname, port, protocol }, onread, done) => {
    const secure = protocol === 'https:'
    const common = {
      ...(lookup === undefined ? {} : { lookup }),
      host: hostname,
      port: Number(port || (secure ? HTTPS_PORT : HTTP_PORT)),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
      onread,
    }
    const socket = secure ? tls().connect({ ...common, ...secured(hostname) }) : net.connect(common)
    if (secure) socket.on('session', (latest: Buffer) => (session = latest))
    let pending = true
    const settle = (error: Error | null): void => {
      clearTimeout(late)
      if (!pending) return
      pending = false
      done(error, error === null ? socket : null)
    }
    const late = setTimeout(() => socket.destroy(new ConnectTimeout(timeoutMs)), timeoutMs)
    socket.on('error', settle).once(secure ? 'secureConnect' : 'connect', () => settle(null))
  }
}

/** Connects by a connector of undici (a proxy, for example), whose sockets are ordinary streams. */
export const flowing =
  (connect: buildConnector.connector): Dial =>
  (target, onread, done) =>
    connect(target, (error, socket) => {
      socket?.on('data', (bytes: Buffer) => onread.callback(bytes.length, bytes))
      done(error, socket)
    })

/** The proxy does not open the connection. The message never contains the credentials. */
class SocksError extends Error {
  override name = 'SocksError'
  readonly code = 'SOCKS'
}

const NO_AUTH = 0
const PASSWORD = 2
const DEFAULT_PORT = '1080'
const REPLIES = [
  'opened',
  'general failure',
  'not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'time to live expired',
  'command not supported',
  'address type not supported',
]

/**
 * Returns a connector for undici. `dial` connects to the proxy; `secure` starts TLS on the open tunnel; `timeoutMs`
 * limits the conversation with the proxy in between.
 */
export function throughSocks(
  proxy: URL,
  dial: buildConnector.connector,
  secure: buildConnector.connector,
  timeoutMs: number,
): buildConnector.connector {
  const at = { protocol: 'http:', hostname: proxy.hostname.replace(/^\[|\]$/g, ''), port: proxy.port || DEFAULT_PORT }
  return (target, done) =>
    dial(at, (error, socket) => {
      if (error !== null) return done(error, null)
      const late = setTimeout(() => socket.destroy(new SocksError('the proxy is silent')), timeoutMs)
      const { port, protocol } = target
      open(socket, proxy, target.hostname, Number(port || (protocol === 'https:' ? 443 : 80)))
        .finally(() => clearTimeout(late))
        .then(
          () => (protocol === 'https:' ? secure({ ...target, httpSocket: socket }, done) : done(null, socket)),
          (failure: Error) => {
            socket.on('error', () => {}).destroy()
            done(failure, null)
          },
        )
    })
}

/** Asks the proxy to connect to `host`. Throws SocksError. */
async function open(socket: Socket, proxy: URL, host: string, port: number): Promise<void> {
  const known = proxy.username !== ''
  socket.write(Buffer.from(known ? [5, 2, NO_AUTH, PASSWORD] : [5, 1, NO_AUTH]))
  const [version, method] = await take(socket, 2)
  if (version !== 5) throw new SocksError('the proxy does not speak SOCKS5')
  if (method === PASSWORD && known) {
    const [user, password] = [proxy.username, proxy.password].map(text => sized(decodeURIComponent(text)))
    socket.write(Buffer.concat([Buffer.from([1]), user as Buffer, password as Buffer]))
    if ((await take(socket, 2))[1] !== 0) throw new SocksError('the proxy refuses the credentials')
  } else if (method !== NO_AUTH) throw new SocksError('the proxy wants credentials of another kind')
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), address(host), Buffer.from([port >> 8, port & 255])]))
  const [, reply = 0, , type] = await take(socket, 4)
  if (reply !== 0) throw new SocksError(`the proxy says: ${REPLIES[reply] ?? `error ${reply}`}`)
  const size = type === 1 ? 4 : type === 4 ? 16 : ((await take(socket, 1))[0] as number)
  await take(socket, size + 2) // the address and port from which the proxy connects, which nobody needs
}

/** The bytes of a text, with their length in one byte before them. */
function sized(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > 255) throw new SocksError('a name or password of more than 255 bytes')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

/** An address as SOCKS5 writes it. A name is sent as a name, and the proxy resolves it. */
function address(host: string): Buffer {
  const plain = host.replace(/^\[|\]$/g, '')
  if (isIPv4(plain)) return Buffer.from([1, ...plain.split('.').map(Number)])
  if (isIPv6(plain)) return Buffer.from([4, ...groupsOf(plain).flatMap(group => [group >> 8, group & 255])])
  return Buffer.concat([Buffer.from([3]), sized(plain)])
}

/** Reads exactly `size` bytes. Bytes after them stay in the socket: they belong to the tunnel. */
function take(socket: Socket, size: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const data: Buffer | null = socket.read(size)
      if (data?.length === size) leave(() => resolve(data))
      else if (data !== null || socket.destroyed) gone()
    }
    const gone = () => leave(() => reject(new SocksError('the proxy hangs up')))
    const failed = (error: Error) => leave(() => reject(error))
    const leave = (then: () => void) => {
      socket.off('readable', look).off('end', gone).off('close', gone).off('error', failed)
      then()
    }
    socket.on('readable', look).on('end', gone).on('close', gone).on('error', failed)
    look()
  })
}
