/**
 * The process that `gateway serve` starts in: a supervisor. It serves nothing itself. It holds the listening sockets
 * and starts a child that serves from them. On SIGUSR2 it starts a second child, from the code and the config that are
 * there at that moment. When the second child is ready, the first one takes no new connections and ends after its last
 * answer. Both accept from the same sockets, which never close, so that no connection is refused or lost during a
 * renewal. When the child that serves ends, the supervisor ends in the same way; a restart is left to whatever started
 * it (systemd, say).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import { getSystemErrorName } from 'node:util'

/** What a child sends: it asks for a socket, or says that it serves. */
export type FromChild = { type: 'socket'; name: string; host: string; port: number } | { type: 'ready' }
/** What a child receives. `socket` comes with the handle of the socket, or with the name of the system's error. */
export type ToChild = { type: 'socket'; name: string; error: string | null } | { type: 'retire' }

/** The variable in a child's environment that says it has a supervisor. */
export const SUPERVISED = 'GATEWAY_SUPERVISED'

/** A socket of Node's internals that is bound but does not listen: the children listen on it. */
interface Handle {
  fd: number
  getsockname(out: object): number
  close(): void
}
const bind = (net as unknown as { _createServerHandle(host: string, port: number, type: 4 | 6): Handle | number })
  ._createServerHandle

export function supervise(args: string[]): void {
  new Supervisor(args).start()
}

class Supervisor {
  readonly #args: string[]
  readonly #sockets = new Map<string, Handle>()
  #serving: Child | null = null
  /** The child that is starting; it takes the place of the serving one when it is ready. */
  #joining: Child | null = null
  readonly #leaving = new Set<Child>()
  #stopping = false
  #reloadWanted = false
  /** How the serving child ended; the supervisor then ends in the same way. */
  #end: { code: number | null; signal: NodeJS.Signals | null } = { code: 1, signal: null }

  constructor(args: string[]) {
    this.#args = args
  }

  start(): void {
    process.on('SIGHUP', () => this.#reload())
    process.on('SIGUSR2', () => this.#renew())
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal))
    this.#serving = this.#begin(undefined) // by this very Node, which `bin/gateway` has just chosen
  }

  /** `bin`: what chooses the Node of the child; undefined = that of this process. */
  #begin(bin: string | undefined): Child {
    const child = new Child(this.#args, this.#sockets, bin)
    child.process.on('message', (message: FromChild) => {
      if (message.type === 'ready') this.#ready(child)
    })
    child.process.once('exit', (code, signal) => this.#ended(child, code, signal))
    child.process.on('error', error => {
      if (child.process.pid !== undefined) return // a message was not delivered, because the child is ending; `exit` comes next
      process.stderr.write(`gateway: ${error.message}\n`)
      this.#ended(child, 1, null)
    })
    return child
  }

  #ready(child: Child): void {
    child.ready = true
    if (this.#stopping) return // all children have been told to end
    if (child === this.#joining) {
      const old = this.#serving as Child
      this.#serving = child
      this.#joining = null
      this.#leaving.add(old)
      old.say({ type: 'retire' })
      for (const [key, socket] of this.#sockets)
        if (!child.sockets.has(key)) {
          socket.close()
          this.#sockets.delete(key)
        }
    }
    if (this.#reloadWanted) this.#reload()
  }

  #ended(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    if (child === this.#joining) {
      this.#joining = null
      if (!this.#stopping)
        void report({ code, signal }, 'the new process ended before it was ready: the old one serves on')
      if (this.#reloadWanted) this.#reload()
    } else if (child === this.#serving) {
      this.#serving = null
      this.#end = { code, signal }
    } else this.#leaving.delete(child)
    if (this.#serving !== null || (this.#stopping && (this.#joining !== null || this.#leaving.size > 0))) return
    const { code: exitCode, signal: exitSignal } = this.#end
    if (exitSignal === null) process.exit(exitCode ?? 1)
    process.removeAllListeners(exitSignal)
    process.kill(process.pid, exitSignal)
  }

  #reload(): void {
    const child = this.#serving
    // before it is ready, a child has no handler for SIGHUP and would be ended by it
    this.#reloadWanted = child?.ready !== true || this.#joining !== null
    if (!this.#reloadWanted) child?.process.kill('SIGHUP')
  }

  #renew(): void {
    if (this.#stopping || this.#joining !== null || this.#serving?.ready !== true) return
    try {
      this.#joining = this.#begin(process.env['GATEWAY_BIN'])
    } catch (error) {
      void report({ err: error }, 'no new process can be started: the old one serves on')
    }
  }

  #stop(signal: NodeJS.Signals): void {
    this.#stopping = true
    // new connections must be refused at once, instead of waiting for somebody who accepts them
    for (const socket of this.#sockets.values()) socket.close()
    this.#sockets.clear()
    for (const child of [this.#serving, this.#joining, ...this.#leaving]) child?.process.kill(signal)
  }
}

class Child {
  readonly process: ChildProcess
  /** The keys (listener and address) of the sockets that it has asked for. */
  readonly sockets = new Set<string>()
  ready = false

  constructor(args: string[], sockets: Map<string, Handle>, bin: string | undefined) {
    const [command, ...first] = bin ? [bin] : [process.execPath, ...process.execArgv, process.argv[1] as string]
    this.process = spawn(command as string, [...first, ...args], {
      env: { ...process.env, [SUPERVISED]: '1' },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true, // Ctrl-C in a terminal reaches only the supervisor, which passes it on
    })
    this.process.on('message', (message: FromChild) => {
      if (message.type === 'socket') void this.#giveSocket(message, sockets)
    })
  }

  async #giveSocket(
    { name, host, port }: Extract<FromChild, { type: 'socket' }>,
    all: Map<string, Handle>,
  ): Promise<void> {
    const key = `${name} ${host}:${port}`
    this.sockets.add(key)
    try {
      const socket = all.get(key) ?? (await open(host, port))
      all.set(key, socket)
      this.say({ type: 'socket', name, error: null }, socket)
    } catch (error) {
      this.say({ type: 'socket', name, error: (error as NodeJS.ErrnoException).code ?? String(error) })
    }
  }

  say(message: ToChild, handle?: Handle): void {
    // Node sends bare handles too, though its types do not say so; a net.Server would start to listen here
    if (this.process.connected) this.process.send(message, handle as unknown as net.Server)
  }
}

/**
 * After a supervisor was killed, its child holds the address until it notices: the next supervisor tries again for a
 * while.
 */
const TAKEN_TRIES = 10
const TAKEN_WAIT_MS = 50

async function open(host: string, port: number): Promise<Handle> {
  const { address, family } = await lookup(host)
  for (let tries = 1; ; tries++) {
    const socket = bind(address, port, family === 6 ? 6 : 4)
    // the bind of an address that is taken shows its error only when the name of the socket is asked for
    const error = typeof socket === 'number' ? socket : socket.getsockname({})
    if (error === 0) return socket as Handle
    if (typeof socket !== 'number') socket.close()
    const code = getSystemErrorName(error)
    if (code !== 'EADDRINUSE' || tries === TAKEN_TRIES)
      throw Object.assign(new Error('the address cannot be bound'), { code })
    await new Promise(resolve => setTimeout(resolve, TAKEN_WAIT_MS))
  }
}

async function report(members: object, message: string): Promise<void> {
  const { createLogger } = await import('../base/log.ts')
  createLogger('info').error(members, message)
}
