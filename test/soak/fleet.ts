/**
 * The gateways of the soak run: several on one store, each with its own workers and journal folder, as on different
 * machines.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_TOKEN } from '../support/gateway.ts'
import { freePorts } from '../support/ports.ts'
import { childrenOf, servingOf } from '../support/processes.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const READY_MS = 120_000
const STOP_MS = 60_000
const WORKERS = 2

export class Member {
  readonly main: string
  readonly direct: string
  readonly ops: string
  readonly journal: string
  readonly #config: string
  readonly #log: string
  child: ChildProcess | null = null

  private constructor(folder: string, name: string, store: string, catalog: string, ports: number[]) {
    const [main, direct, ops] = ports.map(port => `127.0.0.1:${port}`)
    this.main = `http://${main}`
    this.direct = `http://${direct}`
    this.ops = `http://${ops}`
    this.journal = path.join(folder, `${name}-journal`)
    this.#config = path.join(folder, `${name}.yaml`)
    this.#log = path.join(folder, `${name}.log`)
    const config = {
      listen: { main, direct, ops },
      store,
      journal: this.journal,
      catalog,
      admin_token: ADMIN_TOKEN,
      workers: WORKERS,
      limits: { rate: { requests: 0, minutes: 1 } },
      client_gone: { drain: '5s', concurrent: 256 },
      log: { level: 'warn' },
    }
    writeFileSync(this.#config, JSON.stringify(config))
  }

  static async create(folder: string, name: string, store: string, catalog: string): Promise<Member> {
    return new Member(folder, name, store, catalog, await freePorts(3))
  }

  /** Starts the gateway; resolves when it is ready, or when it has ended because the store is away. */
  async start(): Promise<boolean> {
    const out = openSync(this.#log, 'a')
    const child = spawn(path.join(ROOT, 'bin/gateway'), ['serve', '--config', this.#config], {
      stdio: ['ignore', out, out],
    })
    this.child = child
    child.once('exit', () => {
      if (this.child === child) this.child = null
    })
    for (const until = Date.now() + READY_MS; this.child === child && Date.now() < until; await sleep(100)) {
      if (await this.ready()) return true
    }
    return false
  }

  /** Starts the gateway as often as needed until it is ready. */
  async heal(): Promise<void> {
    while (this.child === null) if (!(await this.start())) await sleep(500)
    while (!(await this.ready())) await sleep(200)
  }

  ready(): Promise<boolean> {
    return fetch(`${this.ops}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      answer => answer.status === 200,
      () => false,
    )
  }

  /** The process ids of the workers that are alive. */
  workers(): number[] {
    const pid = this.child?.pid
    return pid === undefined ? [] : childrenOf(servingOf(pid))
  }

  signal(signal: 'SIGKILL' | 'SIGHUP'): void {
    this.child?.kill(signal)
  }

  /** The value of one of its metrics. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.ops}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN)
  }

  async stop(): Promise<void> {
    const { child } = this
    if (child === null) return
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    child.kill('SIGTERM')
    while (child.exitCode === null && child.signalCode === null) await sleep(50)
    clearTimeout(late)
    if (child.signalCode === 'SIGKILL') throw new Error('a gateway did not stop by itself')
  }
}
