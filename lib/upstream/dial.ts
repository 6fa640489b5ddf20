/**
 * Opens connections to upstreams. All sockets read into one shared buffer (`onread`), and what a read brought is copied
 * out at its true length. Normally, `net.Socket` allocates 64 KiB for each read and passes the bytes through its stream
 * machinery, which costs more than the copy.
 */
import net, { type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import tls, { type SecureContext } from 'node:tls'
import type { buildConnector } from 'undici'

export type Target = buildConnector.Options

/**
 * Opens a connection. `onBytes` gets the bytes of each read and may keep them. `done` is called once, with an error or
 * with the open socket. It throws when `node:net` rejects the target, an invalid port for instance.
 */
export type Dial = (
  target: Target,
  onBytes: (bytes: Buffer) => void,
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
export class ConnectTimeout extends Error {
  override name = 'ConnectTimeout'
  readonly code = 'CONNECT_TIMEOUT'

  constructor(timeoutMs: number) {
    super(`no connection within ${timeoutMs} ms`)
  }
}

const READ_BYTES = 64 * 1024
const TCP_KEEP_ALIVE_MS = 60_000
const HTTPS_PORT = 443
const HTTP_PORT = 80

/**
 * The buffer that every socket reads into. They can share it because nothing else runs between a read and its callback.
 */
const memory = Buffer.allocUnsafeSlow(READ_BYTES)

/** Connects to the target itself, without a proxy. */
export function direct({ timeoutMs, secureContext, lookup }: DialOptions): Dial {
  /** Made once and shared, because it holds all certificate authorities. */
  let context = secureContext
  /** The TLS session of the last connection. The next one resumes it, which saves half of the handshake. */
  let session: Buffer | undefined
  const secured = (hostname: string) => ({
    secureContext: (context ??= tls.createSecureContext()),
    ALPNProtocols: ['http/1.1'],
    ...(net.isIP(hostname) === 0 ? { servername: hostname } : {}),
    ...(session === undefined ? {} : { session }),
  })
  return ({ hostname, port, protocol }, onBytes, done) => {
    const secure = protocol === 'https:'
    const common = {
      ...(lookup === undefined ? {} : { lookup }),
      host: hostname,
      port: Number(port || (secure ? HTTPS_PORT : HTTP_PORT)),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
      onread: into(onBytes),
    }
    const socket = secure ? tls.connect({ ...common, ...secured(hostname) }) : net.connect(common)
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

/** The `onread` option: copies each read out of the shared buffer. */
function into(onBytes: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: memory,
    callback: size => {
      const bytes = Buffer.allocUnsafe(size)
      memory.copy(bytes, 0, 0, size)
      onBytes(bytes)
      return true
    },
  }
}

/** Connects by a connector of undici (a proxy, for example), whose sockets are ordinary streams. */
export const flowing =
  (connect: buildConnector.connector): Dial =>
  (target, onBytes, done) =>
    connect(target, (error, socket) => {
      socket?.on('data', onBytes)
      done(error, socket)
    })
