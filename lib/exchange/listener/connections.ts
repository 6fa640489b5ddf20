/**
 * Limits the connections of clients, so that they cannot use up the file descriptors of the process: connections to
 * upstreams, the store and the journal need some too. At the limit, a new connection pushes out an old one: first the
 * oldest connection on which no request has ever come, then the idle ones.
 */
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'

/** Descriptors for everything that is not a connection. */
const OTHER_FILES = 64
/** Half, because a request takes one connection to its client and one to an upstream. */
const PART_OF_CLIENTS = 1 / 2

/** The limit, from the text of `/proc/self/limits`; no limit where the system does not say. */
export function mostConnections(limits: string): number {
  const files = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return files === undefined ? Number.POSITIVE_INFINITY : Math.max(1, (Number(files) - OTHER_FILES) * PART_OF_CLIENTS)
}

function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return '' // not Linux
  }
}

/** The connections of all listeners of a process. */
export class Connections {
  readonly most: number
  open = 0
  /** How many were closed without an answer to all that was asked on them, by cause. */
  readonly refused = { limit: 0, system: 0, pipelined: 0 }
  /**
   * Connections on which perhaps no request has come yet, the oldest first, each with a function that tells. Those that
   * have had a request are taken out when they are found at the limit.
   */
  readonly silent = new Map<Socket, (socket: Socket) => boolean>()

  constructor(most: number) {
    this.most = most
  }
}

export const clientConnections = new Connections(mostConnections(limitsOfProcess()))

/** `hasAsked` says whether a request has come on a connection; `onRefused` hears of each that is closed. */
export function boundConnections(
  server: Server,
  hasAsked: (socket: Socket) => boolean,
  onRefused: () => void,
  all = clientConnections,
): void {
  server.on('connection', (socket: Socket) => {
    all.open++
    all.silent.set(socket, hasAsked)
    socket.once('close', () => {
      all.open--
      all.silent.delete(socket)
    })
    if (all.open <= all.most) return
    const oldest = oldestSilent(all.silent)
    if (oldest === socket) server.closeIdleConnections() // idle connections close a moment later, and until then there are too many, so the new one is closed too
    if (oldest === undefined) return
    all.refused.limit++
    onRefused()
    oldest.destroy()
  })
}

function oldestSilent(silent: Connections['silent']): Socket | undefined {
  for (const [socket, hasAsked] of silent) {
    if (!hasAsked(socket)) return socket
    silent.delete(socket)
  }
  return undefined
}

// --- clients that do not read

/** A connection is checked so many times within the time that a client may take nothing. */
const CHECKS = 4

interface Progress {
  /** Bytes that the client had taken at the last check. */
  taken: number
  /** Checks since the client took some. */
  checks: number
}

/**
 * Cuts connections whose client does not read what was written to it. Relayed answers have a time-out of their own. Answers that the
 * gateway makes itself are written in one piece and not watched further, so a client that never reads them would keep its connection for
 * ever. `patienceMs` says how long a client may take nothing. It is called at every check, because a reload may change it.
 */
export function cutStuck(server: Server, clock: Clock, patienceMs: () => number): void {
  const connections = new Map<Socket, Progress>()
  let cancel: (() => void) | null = null
  const check = (): void => {
    for (const [socket, progress] of connections) judge(socket, progress)
    cancel = clock.after(patienceMs() / CHECKS, check)
  }
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, checks: 0 })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('listening', check)
  server.on('close', () => cancel?.())
}

function judge(socket: Socket, progress: Progress): void {
  const taken = socket.bytesWritten - socket.writableLength
  if (socket.writableLength === 0 || taken > progress.taken) progress.checks = 0
  else if (++progress.checks > CHECKS) socket.destroy()
  progress.taken = taken
}
