/**
 * The process that `gateway serve` starts in has a supervisor. With one worker this process serves by itself, because a second Node
 * would take memory and the time of its start; with several it only supervises, and a child serves. On SIGUSR2 the supervisor
 * starts a child, from the code and the config that are there at that moment. When the child is ready, what served until then
 * takes no new connections and ends after its last answer; this process stays, for it has the id by which it is known. Old and new
 * accept from the same sockets, which never close, so that no connection is refused or lost during a renewal. When what serves ends,
 * the supervisor ends in the same way; a restart is left to whatever started it (systemd, say).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import { getSystemErrorName } from 'node:util'
import { collectGarbage } from './leftovers.ts'

/** What a child sends: it asks for a socket, gives a copy of one back (the handle comes with it), or says that it serves. */
export type FromChild =
  | { type: 'socket'; name: string; host: string; port: number }
  | { type: 'copy'; key: string }
  | { type: 'ready' }
/**
 * What a child receives. `socket` comes with the handle of the socket, or with the name of the system's error; `copy`: the key under
 * which a copy of it is asked for, because the supervisor's process listens on its own and will close it.
 */
export type ToChild = { type: 'socket'; name: string; error: string | null; copy: string | null } | { type: 'retire' }

/** The variable in a child's environment that says it has a supervisor. */
export const SUPERVISED = 'GATEWAY_SUPERVISED'

/** What serves: a child, or the supervisor's own process. */
interface Serving {
  /** Whether it hears what the supervisor tells it. */
  ready: boolean
  reload(): void
  /** Ends it at once when it is called again. */
  stop(signal: NodeJS.Signals): void
  /** Ends it after its last answer. */
  retire(): void
}

/** What this process does as long as it serves by itself. Both endings resolve with the code that it would end with. */
export interface Own {
  reload(): void
  stop(signal: NodeJS.Signals): Promise<number>
  retire(): Promise<number>
}

/** A socket of Node's internals that is bound but does not listen: whoever serves listens on it. */
interface Handle {
  fd: number
  getsockname(out: object): number
  close(): void
}
const bind = (net as unknown as { _createServerHandle(host: string, port: number, type: 4 | 6): Handle | number })
  ._createServerHandle

/** The supervisor of this process; null where it has none, as every command but `serve` and everything that is supervised itself. */
export let supervisor: Supervisor | null = null

export function supervise(args: string[]): void {
  supervisor = new Supervisor(args)
}

class Supervisor {
  readonly #args: string[]
  readonly #sockets = new Map<string, Handle>()
  /** The sockets that this process listens on: its servers close them. */
  readonly #own = new Set<Handle>()
  #serving: Serving | null = null
  /** The child that is starting; it takes the place of what serves when it is ready. */
  #joining: Child | null = null
  readonly #leaving = new Set<Serving>()
  #stopping = false
  #reloadWanted = false
  /** How the serving child ended; the supervisor then ends in the same way. */
  #end: { code: number | null; signal: NodeJS.Signals | null } = { code: 1, signal: null }

  /** Until something serves, signals to end the process do so as ever. */
  constructor(args: string[]) {
    this.#args = args
    process.on('SIGHUP', () => this.#reload())
    process.on('SIGUSR2', () => this.#renew())
  }

  /** Lets a child serve. */
  serveByChild(): void {
    this.#supervise(this.#begin(undefined)) // by this very Node, which `bin/gateway` has just chosen
  }

  /** Hears signals for this process, which serves by itself. */
  serveHere(own: Own): void {
    const end = (ended: Promise<number>) => void ended.then(code => this.#ended(serving, code, null))
    const serving: Serving = {
      ready: true,
      reload: () => own.reload(),
      stop: signal => end(own.stop(signal)),
      retire: () => end(own.retire().finally(collectGarbage)), // what it served with it needs no more
    }
    this.#supervise(serving)
    if (this.#reloadWanted) this.#reload()
  }

  /** A socket for a server of this process, which closes it. Throws with the system's error. */
  async ownSocket(name: string, host: string, port: number): Promise<Handle> {
    const socket = await open(host, port)
    this.#sockets.set(keyOf(name, host, port), socket)
    this.#own.add(socket)
    return socket
  }

  #supervise(serving: Serving): void {
    this.#serving = serving
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal))
  }

  /** `bin`: what chooses the Node of the child; undefined = that of this process. */
  #begin(bin: string | undefined): Child {
    const child = new Child(this.#args, bin)
    child.process.on('message', (message: FromChild, handle: unknown) => {
      if (message.type === 'ready') this.#ready(child)
      else if (message.type === 'socket') void this.#giveSocket(child, message)
      else this.#sockets.set(message.key, handle as Handle)
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
      const old = this.#serving as Serving
      this.#serving = child
      this.#joining = null
      this.#leaving.add(old)
      old.retire()
      // what this process will close, of which a child of an earlier build gives no copy back, is of no use to the next child
      for (const [key, socket] of this.#sockets)
        if (!child.sockets.has(key) || this.#own.has(socket)) {
          this.#close(socket)
          this.#sockets.delete(key)
        }
    }
    if (this.#reloadWanted) this.#reload()
  }

  #ended(child: Serving, code: number | null, signal: NodeJS.Signals | null): void {
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
    // before it is ready, a child has no handler for SIGHUP and would be ended by it
    this.#reloadWanted = this.#serving?.ready !== true || this.#joining !== null
    if (!this.#reloadWanted) this.#serving?.reload()
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
    for (const socket of this.#sockets.values()) this.#close(socket)
    this.#sockets.clear()
    for (const child of [this.#serving, this.#joining, ...this.#leaving]) child?.stop(signal)
  }

  #close(socket: Handle): void {
    if (!this.#own.delete(socket)) socket.close()
  }

  async #giveSocket(child: Child, { name, host, port }: Extract<FromChild, { type: 'socket' }>): Promise<void> {
    const key = keyOf(name, host, port)
    child.sockets.add(key)
    try {
      const socket = this.#sockets.get(key) ?? (await open(host, port))
      this.#sockets.set(key, socket)
      child.say({ type: 'socket', name, error: null, copy: this.#own.has(socket) ? key : null }, socket)
    } catch (error) {
      child.say({ type: 'socket', name, error: (error as NodeJS.ErrnoException).code ?? String(error), copy: null })
    }
  }
}

/** Sockets are known by their listener and address. */
const keyOf = (name: string, host: string, port: number): string => `${name} ${host}:${port}`

class Child implements Serving {
  readonly process: ChildProcess
  /** The keys of the sockets that it has asked for. */
  readonly sockets = new Set<string>()
  ready = false

  constructor(args: string[], bin: string | undefined) {
    const [command, ...first] = bin ? [bin] : [process.execPath, ...process.execArgv, process.argv[1] as string]
    this.process = spawn(command as string, [...first, ...args], {
      env: { ...process.env, [SUPERVISED]: '1' },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true, // Ctrl-C in a terminal reaches only the supervisor, which passes it on
    })
  }

  reload(): void {
    this.process.kill('SIGHUP')
  }

  stop(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  retire(): void {
    this.say({ type: 'retire' })
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
