/**
 * Opens listeners, on a socket that the supervisor (`supervise.ts`) has bound in this process or in the one that started it. This is
 * the child's side of the messages with the supervisor.
 */
import type { Server } from 'node:http'
import type net from 'node:net'
import { type FromChild, type Own, SUPERVISED, supervisor, type ToChild } from './supervise.ts'

export type ListenName = 'main' | 'direct' | 'ops'

export interface Address {
  host: string
  port: number
}

/** A bound socket that another process holds open too; `fd` is its descriptor in this process. */
export interface Socket {
  fd: number
}

/** How many new connections the kernel keeps for a process that is too busy to accept them. */
const BACKLOG = 4096

const supervised = process.env[SUPERVISED] === '1' && process.send !== undefined
delete process.env[SUPERVISED] // so that processes which this one starts do not take themselves for supervised

const say = (message: FromChild, handle?: Socket): void =>
  void process.send?.(message, handle as net.Server | undefined)

/** The socket of a listener, from the supervisor; null without one. The caller closes it. */
export async function socketFor(name: ListenName, at: Address): Promise<Socket | null> {
  if (supervised) return askForSocket(name, at)
  if (supervisor === null) return null
  try {
    return await supervisor.ownSocket(name, at.host, at.port)
  } catch (error) {
    throw unavailable((error as NodeJS.ErrnoException).code ?? String(error), name, at)
  }
}

function askForSocket(name: ListenName, at: Address): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const hear = (message: ToChild, handle: unknown) => {
      if (message.type !== 'socket' || message.name !== name) return
      process.off('message', hear)
      if (message.copy !== null) say({ type: 'copy', key: message.copy }, handle as Socket)
      if (message.error === null) resolve(handle as Socket)
      else reject(unavailable(message.error, name, at))
    }
    process.on('message', hear)
    say({ type: 'socket', name, ...at })
  })
}

/**
 * Resolves with the address, in which the port is the real one also when the config says 0. `name`: the setting under
 * `listen`.
 */
export async function listenOn(server: Server, name: ListenName, at: Address, given?: Socket): Promise<string> {
  const socket = given ?? (await socketFor(name, at))
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => reject(unavailable(error.code ?? error.message, name, at))
    server.once('error', failed)
    const listening = () => {
      server.off('error', failed)
      const { address, port } = server.address() as net.AddressInfo
      resolve(`http://${address.includes(':') ? `[${address}]` : address}:${port}`)
    }
    if (socket === null) server.listen({ ...at, backlog: BACKLOG }, listening)
    else server.listen(socket, BACKLOG, listening)
  })
}

const CAUSES: Record<string, string> = {
  EADDRINUSE: 'another process listens there (is the gateway running already?)',
  EACCES: 'ports below 1024 need the right to bind them',
  EADDRNOTAVAIL: 'this host has no such address',
  ENOTFOUND: 'no host has this name',
}

const unavailable = (code: string, name: string, { host, port }: Address): Error =>
  new Error(`listen.${name}: cannot listen on ${host}:${port}: ${CAUSES[code] ?? 'the system refuses'} (${code})`)

/** Hears signals and what the supervisor says. A process of its own, as that of `demo`, ends itself. */
export function actOnSignals(own: Own): void {
  if (supervisor !== null) {
    supervisor.serveHere(own)
    return
  }
  const end = (ended: Promise<number>) => void ended.then(code => process.exit(code))
  process.on('SIGHUP', () => own.reload())
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(own.stop(signal)))
  if (!supervised) return
  process.on('message', (message: ToChild) => {
    if (message.type === 'retire') end(own.retire())
  })
  say({ type: 'ready' })
}

// Whoever kills the supervisor means to end the gateway. Its child must not go on alone, out of everyone's sight.
if (supervised) process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
