/**
 * Opens connections. Whatever one reads goes into the same piece of memory and is copied out at its true length before
 * anything else happens: `net.Socket` would take 64 KiB for each read, and walk through its stream machinery.
 */
import net, { type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import tls, { type SecureContext } from 'node:tls'
import type { buildConnector } from 'undici'

export type Target = buildConnector.Options

/** `onBytes` gets the bytes of each read for good; `done` is called once. Throws what `node:net` does not even try. */
export type Dial = (
  target: Target,
  onBytes: (bytes: Buffer) => void,
  done: (error: Error | null, socket: Socket | null) => void,
) => void

export interface DialOptions {
  /** For name, connection and TLS together. */
  timeoutMs: number
  lookup?: LookupFunction
  /** Default: the authorities that the system knows. */
  secureContext?: SecureContext
}

/** There was no connection in time. */
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

/** Where every socket reads to: between the read and its call nothing else runs. */
const memory = Buffer.allocUnsafeSlow(READ_BYTES)

/** To the target itself. */
export function direct({ timeoutMs, secureContext, lookup }: DialOptions): Dial {
  /** Made once: it holds all of the authorities. */
  let context = secureContext
  /** Of the last connection, so that the next one needs half of a handshake. */
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

/** By way of something else, whose sockets read for themselves. */
export const flowing =
  (connect: buildConnector.connector): Dial =>
  (target, onBytes, done) =>
    connect(target, (error, socket) => {
      socket?.on('data', onBytes)
      done(error, socket)
    })
