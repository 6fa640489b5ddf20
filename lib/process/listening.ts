/** Listening sockets: from the supervisor where there is one (`supervise.ts`), else a process's own. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FromChild, SUPERVISED, type ToChild } from './supervise.ts'

export type ListenName = 'main' | 'direct' | 'ops'

export interface Address {
  host: string
  port: number
}

/** A socket that another process holds open too; `fd` is its descriptor in this process. */
export interface Socket {
  fd: number
}

/** Connections that the kernel keeps while the process is at something else. */
const BACKLOG = 4096

const supervised = process.env[SUPERVISED] === '1' && process.send !== undefined
delete process.env[SUPERVISED] // processes that this one starts are not supervised

const say = (message: FromChild): void => void process.send?.(message)

/** null: nobody holds any for us. The caller owns it: closing it leaves the supervisor's. */
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

/** Resolves with the address it has, also where the port was left open. `name`: of the setting. */
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

/** What the supervisor waits for, and what it wants: `retire` when another process serves. */
export function underSupervision(retire: () => void): void {
  if (!supervised) return
  process.on('message', (message: ToChild) => {
    if (message.type === 'retire') retire()
  })
  say({ type: 'ready' })
}

// killing the supervisor is meant to end the gateway
if (supervised) process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
