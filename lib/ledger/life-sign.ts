/**
 * A process with leases shows that it lives: a counter in the store that it raises. Who has not been seen to raise it for
 * a while, by the watcher's own monotonic clock, is dead, and its leases go back. So nobody's wall clock matters; and a
 * process that cannot raise its counter stops spending before anybody may take it for dead.
 */
import os from 'node:os'
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import { type PurseId, type Store, StoreUnavailable } from '../store/store.ts'
import { buryWhole } from './bury.ts'
import type { LedgerLog } from './log.ts'
import { nextName } from './names.ts'

const BEAT_MS = 20_000
const RETRY_MS = 2_000
const DEAD_MS = 120_000
const FENCED_MS = 90_000
/**
 * Who has not looked for so long has no opinion about others: they may have raised their counters, or been kept from it
 * too.
 */
const GAP_MS = 2 * BEAT_MS
/** Where others ask what is held: how often it is told, when it has changed. */
const REPORT_MS = 1_000

export interface LifeSignOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  holder: string
  held: () => Map<PurseId, Micro>
  /** The leases are gone: this process was taken for dead. */
  onLost: () => void
  /** Takes the leases of a silent process back, unless its counter has been raised since it was `beat`. */
  bury: (holder: string, beat: number) => Promise<void>
}

export class LifeSign {
  readonly #o: LifeSignOptions
  holder: string
  #beatMs = 0
  #alone = true
  #reported = ''
  #lookedMs = 0
  readonly #seen = new Map<string, { beat: number; atMs: number }>()
  #cancels: (() => void)[] = []
  #running: Promise<void> = Promise.resolve()
  /**
   * Who is being buried, one after the other. That goes on beside the life sign, because it may last longer than a live
   * process may be silent.
   */
  readonly #dead = new Set<string>()
  #burying: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: LifeSignOptions) {
    this.#o = options
    this.holder = options.holder
  }

  async start(): Promise<void> {
    await this.#register()
    this.#repeat(BEAT_MS, () => this.#beat())
    this.#repeat(REPORT_MS, () => this.#report())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const cancel of this.#cancels) cancel()
    await this.#running
    await this.#burying
  }

  /** Gives back what is leased. False: the store does not answer. */
  async leave(): Promise<boolean> {
    try {
      await buryWhole(this.#o, this.holder)
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  /** Others may take this process for dead soon: its leases are not surely its own. */
  get fenced(): boolean {
    return this.#o.clock.monotonic() - this.#beatMs > FENCED_MS
  }

  async #register(): Promise<void> {
    const { store, clock } = this.#o
    const began = clock.monotonic()
    await store.register({ id: this.holder, host: os.hostname(), beat: 0 })
    this.#beatMs = began
    this.#reported = ''
    await this.#watch()
  }

  /** Sooner again after a failure: a store that is back must hear from us before others lose patience. */
  #repeat(ms: number, act: () => Promise<void>): void {
    const again = (afterMs: number) => {
      if (this.#stopped) return
      this.#cancels = this.#cancels.filter(cancel => cancel !== last)
      last = this.#o.clock.after(afterMs, () => {
        this.#running = this.#running.then(act).then(
          () => again(ms),
          error => {
            this.#failed(error)
            again(Math.min(ms, RETRY_MS))
          },
        )
      })
      this.#cancels.push(last)
    }
    let last: () => void = () => {}
    again(ms)
  }

  #failed(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#o.log.error({ err: error }, 'the life sign failed')
  }

  async #beat(): Promise<void> {
    const { store, clock, log } = this.#o
    const began = clock.monotonic()
    if (await store.beat(this.holder)) {
      this.#beatMs = began
      await this.#watch()
      return
    }
    log.warn({ holder: this.holder }, 'this process was taken for dead: its leases are gone, and it begins anew')
    this.#o.onLost()
    this.holder = nextName(this.holder)
    await this.#register()
  }

  /** Looks at the others' counters. */
  async #watch(): Promise<void> {
    const { store, clock } = this.#o
    const now = clock.monotonic()
    const others = (await store.holders()).filter(holder => holder.id !== this.holder)
    this.#alone = others.length === 0
    if (now - this.#lookedMs > GAP_MS) this.#seen.clear()
    this.#lookedMs = now
    for (const id of [...this.#seen.keys()]) if (!others.some(other => other.id === id)) this.#seen.delete(id)
    for (const { id, beat } of others) {
      const seen = this.#seen.get(id)
      if (seen === undefined || seen.beat !== beat) this.#seen.set(id, { beat, atMs: now })
      else if (now - seen.atMs > (beat < 0 ? 0 : DEAD_MS)) this.#taken(id, beat)
    }
  }

  /** Taken for dead. A counter below zero says that a burial has begun; whoever began it may have died, too. */
  #taken(id: string, beat: number): void {
    if (this.#dead.has(id)) return
    this.#dead.add(id)
    this.#burying = this.#burying.then(async () => {
      if (this.#stopped) return
      this.#o.log.warn({ holder: id }, 'a process gives no sign of life: its leases go back')
      await this.#o.bury(id, beat).catch(error => this.#failed(error))
      this.#dead.delete(id)
    })
  }

  async #report(): Promise<void> {
    if (this.#alone) return
    const held = this.#o.held()
    const now = JSON.stringify([...held])
    if (now === this.#reported) return
    await this.#o.store.reportHeld(this.holder, held)
    this.#reported = now
  }
}
