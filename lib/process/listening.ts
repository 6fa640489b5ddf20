/**
 * Opens listeners, on a socket that the supervisor has bound (`supervise.ts`) or, without a supervisor, on one of the
 * process's own. This is the child's side of the messages with the supervisor.
 */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FromChild, SUPERVISED, type ToChild } from './supervise.ts'

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

const say = (message: FromChild): void => void process.send?.(message)

/**
 * Asks the supervisor for the socket of a listener; null without a supervisor. The caller owns what it gets: closing it
 * does not close the supervisor's.
 */
export function socketFor(name: ListenName, at: Address): Promise<Socket | null> {
  if (!supervised) return Promise.resolve(null)
  return new Promise((resolve, reject) => {
    const hear = (message: ToChild, handle: unknown) => {
      if (message.type !== 'socket' || message.name !== name) return
      process.off('message', hear)
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
      const { address, port } = server.address() as AddressInfo
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

/** Tells the supervisor that this process serves, and calls `retire` when the supervisor says that another one does. */
export function underSupervision(retire: () => void): void {
  if (!supervised) return
  process.on('message', (message: ToChild) => {
    if (message.type === 'retire') retire()
  })
  say({ type: 'ready' })
}

// Whoever kills the supervisor means to end the gateway. Its child must not go on alone, out of everyone's sight.
if (supervised) process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
