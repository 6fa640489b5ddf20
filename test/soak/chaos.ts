/**
 * The random faults of the soak run: processes are killed, the store is stopped and started, configs are reloaded under
 * load.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MysqlServer } from '../support/mysql-server.ts'
import type { Random } from '../support/random.ts'
import type { Member } from './fleet.ts'

const SHORTEST_MS = 5_000
const LONGEST_MS = 12_000

export class Chaos {
  readonly done = new Map<string, number>()
  readonly #random: Random
  readonly #members: Member[]
  readonly #mariadb: MysqlServer
  #stopped = false
  #running: Promise<void> = Promise.resolve()
  readonly #restarts: Promise<void>[] = []

  constructor(random: Random, members: Member[], mariadb: MysqlServer) {
    this.#random = random
    this.#members = members
    this.#mariadb = mariadb
  }

  start(): void {
    this.#running = this.#loop()
  }

  /** Repairs everything that this file has broken. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
    await Promise.all(this.#restarts)
    await Promise.all(this.#members.map(member => member.heal()))
  }

  get summary(): string {
    return [...this.done].map(([name, count]) => `${name} ${count}`).join(', ')
  }

  async #loop(): Promise<void> {
    const random = this.#random
    while (!this.#stopped) {
      const until = Date.now() + random.int(SHORTEST_MS, LONGEST_MS)
      while (!this.#stopped && Date.now() < until) await sleep(100)
      if (this.#stopped) return
      const [name, act] = this.#pick()
      this.done.set(name, (this.done.get(name) ?? 0) + 1)
      await act()
    }
  }

  #pick(): [name: string, act: () => Promise<void> | void] {
    const random = this.#random
    const member = random.pick(this.#members)
    const chance = random.next()
    if (chance < 0.45) return ['workers killed', () => this.#killWorker(member)]
    if (chance < 0.65) return ['gateways killed', () => this.#killGateway(member)]
    if (chance < 0.75) return ['reloads', () => member.signal('SIGHUP')]
    if (chance < 0.85) return ['store killed', () => this.#storeAway('kill')]
    if (chance < 0.93) return ['store stopped', () => this.#storeAway('halt')]
    return ['store frozen', () => this.#freeze()]
  }

  #killWorker(member: Member): void {
    const workers = member.workers()
    if (workers.length > 0) process.kill(this.#random.pick(workers), 'SIGKILL')
  }

  /** Kills the primary and its workers at once, as a power cut does, and starts the gateway again after a moment. */
  #killGateway(member: Member): void {
    const workers = member.workers()
    member.signal('SIGKILL')
    for (const pid of workers) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {} // the process had ended already
    }
    this.#restarts.push(sleep(this.#random.int(300, 4_000)).then(() => member.heal()))
  }

  async #storeAway(how: 'kill' | 'halt'): Promise<void> {
    await this.#mariadb[how]()
    await sleep(this.#random.int(200, 6_000))
    await this.#mariadb.start()
  }

  async #freeze(): Promise<void> {
    this.#mariadb.pause()
    await sleep(this.#random.int(200, 4_000))
    this.#mariadb.resume()
  }
}
