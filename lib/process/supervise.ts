/**
 * `gateway serve`, the process that was started. It serves nothing: it holds the listening sockets, and has a child that
 * serves. On SIGUSR2 it starts another child beside the first one, from the code and the config that are there then; once
 * that one is ready the old one takes nothing new and ends when its last answer has. Both accept from the same sockets,
 * which never close, so that no connection is refused or lost on the way. When the serving child ends, so does this process:
 * restarting is left to whatever started it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import { getSystemErrorName } from 'node:util'

/** What the child asks for and says. */
export type FromChild = { type: 'socket'; name: string; host: string; port: number } | { type: 'ready' }
/** What it hears; a `socket` comes with its handle, or with the name of the system's error. */
export type ToChild = { type: 'socket'; name: string; error: string | null } | { type: 'retire' }

/** In the environment of the child. */
export const SUPERVISED = 'GATEWAY_SUPERVISED'

/** A socket that is bound and on which nobody here listens. */
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
  /** It takes the place of the one that serves once it is ready. */
  #joining: Child | null = null
  readonly #leaving = new Set<Child>()
  #stopping = false
  #reloadWanted = false
  /** How the child that served ended. */
  #end: { code: number | null; signal: NodeJS.Signals | null } = { code: 1, signal: null }

  constructor(args: string[]) {
    this.#args = args
  }

  start(): void {
    process.on('SIGHUP', () => this.#reload())
    process.on('SIGUSR2', () => this.#renew())
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal))
    this.#serving = this.#begin()
  }

  #begin(): Child {
    const child = new Child(this.#args, this.#sockets)
    child.process.on('message', (message: FromChild) => {
      if (message.type === 'ready') this.#ready(child)
    })
    child.process.once('exit', (code, signal) => this.#ended(child, code, signal))
    child.process.on('error', error => {
      if (child.process.pid !== undefined) return // a message did not reach it: it is ending, and `exit` will say so
      process.stderr.write(`gateway: ${error.message}\n`)
      this.#ended(child, 1, null)
    })
    return child
  }

  #ready(child: Child): void {
    child.ready = true
    if (this.#stopping) return // all of them were told to end
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
    // a process without its handler would end by the signal
    this.#reloadWanted = child?.ready !== true || this.#joining !== null
    if (!this.#reloadWanted) child?.process.kill('SIGHUP')
  }

  #renew(): void {
    if (this.#stopping || this.#joining !== null || this.#serving?.ready !== true) return
    try {
      this.#joining = this.#begin()
    } catch (error) {
      void report({ err: error }, 'no new process can be started: the old one serves on')
    }
  }

  #stop(signal: NodeJS.Signals): void {
    this.#stopping = true
    // nobody will accept any more: new connections are to be refused at once
    for (const socket of this.#sockets.values()) socket.close()
    this.#sockets.clear()
    for (const child of [this.#serving, this.#joining, ...this.#leaving]) child?.process.kill(signal)
  }
}

class Child {
  readonly process: ChildProcess
  /** The keys of those it has asked for. */
  readonly sockets = new Set<string>()
  ready = false

  constructor(args: string[], sockets: Map<string, Handle>) {
    const bin = process.env['GATEWAY_BIN']
    const [command, ...first] = bin ? [bin] : [process.execPath, ...process.execArgv, process.argv[1] as string]
    this.process = spawn(command as string, [...first, ...args], {
      env: { ...process.env, [SUPERVISED]: '1' },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true, // a terminal's Ctrl-C is for the parent, which hands it on
    })
    this.process.on('message', (message: FromChild) => {
      if (message.type === 'socket') void this.#hand(message, sockets)
    })
  }

  async #hand({ name, host, port }: Extract<FromChild, { type: 'socket' }>, all: Map<string, Handle>): Promise<void> {
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
    // the type of what may be sent leaves out the bare handle, which is what is wanted: it is not listened on here
    if (this.process.connected) this.process.send(message, handle as unknown as net.Server)
  }
}

/** Where a supervisor was killed, its child needs a moment to notice. */
const TAKEN_TRIES = 10
const TAKEN_WAIT_MS = 50

async function open(host: string, port: number): Promise<Handle> {
  const { address, family } = await lookup(host)
  for (let tries = 1; ; tries++) {
    const socket = bind(address, port, family === 6 ? 6 : 4)
    // that an address is taken comes out only when it is asked for
    const error = typeof socket === 'number' ? socket : socket.getsockname({})
    if (error === 0) return socket as Handle
    if (typeof socket !== 'number') socket.close()
    const code = getSystemErrorName(error)
    if (code !== 'EADDRINUSE' || tries === TAKEN_TRIES)
      throw Object.assign(new Error('the address cannot be had'), { code })
    await new Promise(resolve => setTimeout(resolve, TAKEN_WAIT_MS))
  }
}

async function report(members: object, message: string): Promise<void> {
  const { createLogger } = await import('../terms/log.ts')
  createLogger('info').error(members, message)
}
