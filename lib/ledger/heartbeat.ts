/**
 * The heartbeat of a process, and the watch over the heartbeats of others. Each process raises a counter in the store
 * every 20 s. A process whose counter has not changed for 120 s, by the watcher's own monotonic clock, is taken for
 * dead, and its leases go back to their purses. No wall clock is compared with another.
 *
 * Fencing: a process that could not raise its counter for 90 s refuses new requests, because from 120 s on others may
 * spend the money of its leases. If its leases were given back nevertheless, its next beat tells, and it registers under a new id.
 */
import os from 'node:os'
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { Store } from '../store/store.ts'
import type { PurseId } from '../store/books/purses.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { LedgerLog } from './log.ts'
import { nextName, returnAllLeases } from './recovery.ts'

const BEAT_MS = 20_000
const RETRY_MS = 2_000
const DEAD_MS = 120_000
const FENCED_MS = 90_000
/**
 * A watcher that has not read the counters for this long forgets what it knew and begins to wait anew: the store may
 * have been away, so that the others could not raise their counters either.
 */
const GAP_MS = 2 * BEAT_MS
/** The open holds are reported to the store this often when they have changed. */
const REPORT_MS = 1_000

interface HeartbeatOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  holder: string
  held: () => Map<PurseId, Micro>
  /** Called when this process turns out to have been taken for dead, so that it has no leases any more. */
  onLost: () => void
  /** Gives the leases of a silent process back, unless its counter is no longer `beat`. */
  recover: (holder: string, beat: number) => Promise<void>
}

export class Heartbeat {
  readonly #o: HeartbeatOptions
  holder: string
  /** The time at which the last successful beat was sent (monotonic ms). */
  #beatMs = 0
  /** True when no other process is registered, so that nobody reads the reports and nobody recalls money. */
  alone = true
  /** How many others have registered while this process ran. */
  #joined = 0
  #isReporting = false
  #reported = ''
  #lookedMs = 0
  /** The counter of each other process, and when it was first seen with this value (monotonic ms). */
  readonly #seen = new Map<string, { beat: number; atMs: number }>()
  #cancels: (() => void)[] = []
  #running: Promise<void> = Promise.resolve()
  /**
   * The processes whose leases are being recovered, one after the other. Recoveries do not hold up the heartbeat, because one may
   * take longer than a live process may be silent.
   */
  readonly #dead = new Set<string>()
  #recovering: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: HeartbeatOptions) {
    this.#o = options
    this.holder = options.holder
  }

  async start(): Promise<void> {
    await this.#register()
    this.#repeat(BEAT_MS, () => this.#beat())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const cancel of this.#cancels) cancel()
    await this.#running
    await this.#recovering
  }

  /** Gives all leases of this process back and unregisters it. False when the store does not answer. */
  async leave(): Promise<boolean> {
    try {
      await returnAllLeases(this.#o, this.holder)
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  /**
   * True when the last beat is so old that others may soon take this process for dead: it must not spend its leases.
   */
  isFenced(nowMs: number): boolean {
    return nowMs - this.#beatMs > FENCED_MS
  }

  /** A process has registered, this one or another. */
  registered(id: string): void {
    if (id === this.holder) return
    this.#joined++
    this.alone = false
    this.#reportToOthers()
  }

  async #register(): Promise<void> {
    const { store, clock } = this.#o
    const began = clock.monotonic()
    await store.holders.register({ id: this.holder, host: os.hostname(), beat: 0 })
    this.#beatMs = began
    this.#reported = ''
    await this.#watch()
  }

  /** Calls `act` every `ms` as long as `goesOn`; after a failure sooner, so that a beat arrives soon after the store is back. */
  #repeat(ms: number, act: () => Promise<void>, goesOn: () => boolean = () => true): void {
    const again = (afterMs: number) => {
      this.#cancels = this.#cancels.filter(cancel => cancel !== last)
      if (this.#stopped || !goesOn()) return
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
    if (await store.holders.beat(this.holder)) {
      this.#beatMs = began
      await this.#watch()
      return
    }
    log.warn({ holder: this.holder }, 'this process was taken for dead: its leases are gone, and it begins anew')
    this.#o.onLost()
    this.holder = nextName(this.holder)
    await this.#register()
  }

  /** Reads the counters of all processes, and recovers the leases of those that have been silent for too long. */
  async #watch(): Promise<void> {
    const { store, clock } = this.#o
    const now = clock.monotonic()
    const joined = this.#joined
    const others = (await store.holders.list()).filter(holder => holder.id !== this.holder)
    this.alone = others.length === 0 && joined === this.#joined
    if (!this.alone) this.#reportToOthers()
    if (now - this.#lookedMs > GAP_MS) this.#seen.clear()
    this.#lookedMs = now
    for (const id of [...this.#seen.keys()]) if (!others.some(other => other.id === id)) this.#seen.delete(id)
    for (const { id, beat } of others) {
      const seen = this.#seen.get(id)
      if (seen === undefined || seen.beat !== beat) this.#seen.set(id, { beat, atMs: now })
      else if (now - seen.atMs > (beat < 0 ? 0 : DEAD_MS)) this.#recoverLater(id, beat)
    }
  }

  /**
   * Queues the recovery of a process. One whose counter is negative is queued at once: somebody has begun to give its leases back and
   * may have died in the middle of it.
   */
  #recoverLater(id: string, beat: number): void {
    if (this.#dead.has(id)) return
    this.#dead.add(id)
    this.#recovering = this.#recovering.then(async () => {
      if (this.#stopped) return
      this.#o.log.warn({ holder: id }, 'a process gives no sign of life: its leases go back')
      await this.#o.recover(id, beat).catch(error => this.#failed(error))
      this.#dead.delete(id)
    })
  }

  /** Begins to report, which goes on until this process is alone: then nothing wakes it for it. */
  #reportToOthers(): void {
    if (this.#isReporting) return
    this.#isReporting = true
    this.#repeat(
      REPORT_MS,
      () => this.#report(),
      () => (this.#isReporting = !this.alone),
    )
  }

  async #report(): Promise<void> {
    const held = this.#o.held()
    const now = JSON.stringify([...held])
    if (now === this.#reported) return
    await this.#o.store.holders.reportHeld(this.holder, held)
    this.#reported = now
  }
}
