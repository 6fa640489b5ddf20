/**
 * Connections whose client takes nothing of what waits for it. Answers that are relayed have a time-out of their own; those that
 * we make are handed over whole and forgotten, and a client that never reads them would keep its connection for ever.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'

/** How often a connection is looked at within its client's patience. */
const LOOKS = 4

interface Progress {
  /** Bytes that the connection has taken. */
  taken: number
  /** Looks since it took the last. */
  looks: number
}

/** `patienceMs`: how long a client may take nothing; asked again at every look. */
export function cutStuck(server: Server, clock: Clock, patienceMs: () => number): void {
  const connections = new Map<Socket, Progress>()
  let cancel: (() => void) | null = null
  const look = (): void => {
    for (const [socket, progress] of connections) judge(socket, progress)
    cancel = clock.after(patienceMs() / LOOKS, look)
  }
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, looks: 0 })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('listening', look)
  server.on('close', () => cancel?.())
}

function judge(socket: Socket, progress: Progress): void {
  const taken = socket.bytesWritten - socket.writableLength
  if (socket.writableLength === 0 || taken > progress.taken) progress.looks = 0
  else if (++progress.looks > LOOKS) socket.destroy()
  progress.taken = taken
}
