/**
 * Cuts connections whose client does not read what was written to it. Relayed answers have a time-out of their own.
 * Answers that the gateway makes itself are written in one piece and not watched further, so a client that never reads
 * them would keep its connection for ever.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'

/** How many times a connection is checked within the time that a client may take nothing. */
const CHECKS = 4

interface Progress {
  /** Bytes that the client had taken at the last check. */
  taken: number
  /** Checks since the client took some. */
  checks: number
}

/**
 * `patienceMs` says how long a client may take nothing. It is called at every check, because a reload may change it.
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
