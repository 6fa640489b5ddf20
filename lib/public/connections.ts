/**
 * Connections cost a file each, and so do those to upstreams, the store's and the journal's: clients who open as many as
 * there are would stop all of them. So clients have a part of the files, and when that is taken the connections go first
 * on which nothing was ever asked, the oldest before the others, and then those that are idle.
 */
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** For everything that is no connection. */
const OTHER_FILES = 64
/** A request takes one of its client's and one to an upstream. */
const PART_OF_CLIENTS = 1 / 2

/** As the kernel says it, where it does. */
export function mostConnections(limits: string): number {
  const files = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return files === undefined ? Number.POSITIVE_INFINITY : Math.max(1, (Number(files) - OTHER_FILES) * PART_OF_CLIENTS)
}

function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return '' // another system
  }
}

/** Of all listeners of a process. */
export class Connections {
  readonly most: number
  open = 0
  /** In the order they came, with how to ask whether they are silent still; those that are not are taken out when they are met. */
  readonly silent = new Map<Socket, (socket: Socket) => boolean>()

  constructor(most: number) {
    this.most = most
  }
}

const ofProcess = new Connections(mostConnections(limitsOfProcess()))

/** `hasAsked`: a request came on it. */
export function boundConnections(server: Server, hasAsked: (socket: Socket) => boolean, all = ofProcess): void {
  server.on('connection', (socket: Socket) => {
    all.open++
    all.silent.set(socket, hasAsked)
    socket.once('close', () => {
      all.open--
      all.silent.delete(socket)
    })
    if (all.open <= all.most) return
    const oldest = oldestSilent(all.silent)
    if (oldest === socket) server.closeIdleConnections() // they close a moment later, so this one goes too
    oldest?.destroy()
  })
}

function oldestSilent(silent: Connections['silent']): Socket | undefined {
  for (const [socket, hasAsked] of silent) {
    if (!hasAsked(socket)) return socket
    silent.delete(socket)
  }
  return undefined
}
