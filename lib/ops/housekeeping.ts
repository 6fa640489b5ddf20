/** What nobody asks for and somebody must do: auditing the books now and then, and deleting usage rows that are too old. */
import { type Clock, pause } from '../base/clock.ts'
import { formatMicro, type Micro, ZERO } from '../base/money.ts'
import { Rounds } from '../base/rounds.ts'
import type { SetAside } from '../ledger/aside.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Logger } from '../terms/log.ts'

const EVERY_MS = 60_000
/** An audit reads all usage: it may take this share of the time at most. */
const AUDIT_SHARE = 0.01
const PRUNE_ROWS = 1000
const PRUNE_PAUSE_MS = 50

export interface HousekeepingOptions {
  store: Store
  clock: Clock
  log: Logger
  /** 0 = rows are kept for ever. */
  retentionMs: () => number
  /** Charges on this machine that are not in the books until people decide. */
  setAside: () => SetAside
}

export class Housekeeping {
  readonly #o: HousekeepingOptions
  readonly #rounds: Rounds
  #auditDueMs = 0
  /** Of the latest audit. */
  imbalance: Micro = ZERO

  constructor(options: HousekeepingOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.run())
  }

  start(): void {
    this.#rounds.start()
  }

  /** Nobody waits for the round under way: an audit reads all usage, and takes minutes of large books. */
  stop(): void {
    void this.#rounds.stop()
  }

  /** One round; failures are logged, and the next round tries again. One that is cut off by the end is none. */
  async run(): Promise<void> {
    try {
      await this.#audit()
      await this.#prune()
    } catch (error) {
      if (!(error instanceof StoreUnavailable || this.#rounds.stopped))
        this.#o.log.error({ err: error }, 'housekeeping failed')
    }
  }

  async #audit(): Promise<void> {
    const { clock, store, log } = this.#o
    const began = clock.monotonic()
    if (began < this.#auditDueMs) return
    const audit = await store.audit()
    this.imbalance = audit.imbalance
    const tookMs = clock.monotonic() - began
    this.#auditDueMs = clock.monotonic() + tookMs / AUDIT_SHARE
    const { settlements, unreadable } = this.#o.setAside()
    if (settlements + unreadable > 0)
      log.error({ settlements, unreadable }, 'charges are set aside beside the journals: they are not in the books')
    if (!audit.ok) {
      log.error({ accounts: audit.broken, imbalance: formatMicro(audit.imbalance) }, 'the books do not add up')
    }
  }

  async #prune(): Promise<void> {
    const { clock, store, log } = this.#o
    const retentionMs = this.#o.retentionMs()
    if (retentionMs === 0) return
    // One machine whose clock is far ahead must not delete what others still need.
    const beforeMs = ((await store.now()) ?? clock.now()) - retentionMs
    let deleted = 0
    while (!this.#rounds.stopped) {
      const count = await store.pruneUsage(beforeMs, PRUNE_ROWS)
      deleted += count
      if (count < PRUNE_ROWS) break
      await pause(clock, PRUNE_PAUSE_MS) // others want the store too
    }
    if (deleted > 0) log.info({ rows: deleted }, 'old usage rows deleted')
  }
}
