/**
 * Work that one process of a gateway does in the background, once a minute: it audits the books, so that a metric and
 * the log tell of an imbalance, and it deletes usage rows that are older than `usage_retention`, refusals and counts of them that
 * are older than a week, sessions and links that have ended, and addresses that are older than `address_retention`.
 */
import { freeBytes, lastBackupMs } from './data-paths.ts'
import { PayRounds } from './payments.ts'
import type { ServeParts } from './prepare.ts'
import { type Clock, pause, systemClock, HOUR_MS, DAY_MS } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { type Micro, ZERO, formatMicro } from '../base/money.ts'
import { Rounds } from '../base/rounds.ts'
import type { Config } from '../config/config.ts'
import { PictureSweep } from '../exchange/pictures/sweep.ts'
import { type DeadLetters, countDeadLetters } from '../ledger/dead-letters.ts'
import { BalanceRounds } from '../operations/catalogue/catalogue.ts'
import { storeNow } from '../operations/deps.ts'
import type { Fleet } from '../admin/server.ts'
import type { Store } from '../store/store.ts'
import { StoreUnavailable } from '../store/base/errors.ts'

const EVERY_MS = 60_000
/** An audit reads all usage, so the next one waits until audits take at most this share of the time. */
const AUDIT_SHARE = 0.01
const PRUNE_ROWS = 1000
/** How long refusals are kept. */
const REFUSALS_MS = 7 * DAY_MS
const PRUNE_PAUSE_MS = 50
/** Looking for old addresses reads all keys, so it is done less often. */
const FORGET_EVERY_MS = HOUR_MS

interface HousekeepingOptions {
  store: Store
  clock: Clock
  log: Logger
  /** How long usage rows are kept; 0 = for ever. A function, because a reload may change it. */
  retentionMs: () => number
  /** How long addresses of people are kept; 0 = for ever. */
  addressesMs: () => number
  /** Counts the charges on this machine that could not be booked and wait for a person to decide. */
  setAside: () => DeadLetters
  /** Takes the payments that people credited without a provider's proof. */
  pay: { byHand: number }
}

export class Housekeeping {
  readonly #o: HousekeepingOptions
  readonly #rounds: Rounds
  #auditDueMs = 0
  #forgetDueMs = 0
  /** What the latest audit found: 0 when the books add up. */
  imbalance: Micro = ZERO

  constructor(options: HousekeepingOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.run())
  }

  start(): void {
    this.#rounds.start()
  }

  /** The round under way is not waited for, because the audit of large books takes minutes. */
  stop(): void {
    void this.#rounds.stop()
  }

  /**
   * One round. A failure is logged, and the next round tries again; a failure because the process ends is not logged.
   */
  async run(): Promise<void> {
    try {
      await this.#audit()
      await this.#prune()
      await this.#pruneRefusals()
      await this.#prunePeople()
      await this.#forgetAddresses()
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
    this.#o.pay.byHand = audit.resolved
    const tookMs = clock.monotonic() - began
    this.#auditDueMs = clock.monotonic() + tookMs / AUDIT_SHARE
    const { settlements, unreadable } = this.#o.setAside()
    if (settlements + unreadable > 0)
      log.error({ settlements, unreadable }, 'charges are set aside in the journal folder: they are not in the books')
    if (!audit.ok) {
      const { broken: accounts, unfit: payments } = audit
      log.error({ accounts, payments, imbalance: formatMicro(audit.imbalance) }, 'the books do not add up')
    }
  }

  async #prune(): Promise<void> {
    const { clock, store, log } = this.#o
    const retentionMs = this.#o.retentionMs()
    if (retentionMs === 0) return
    // By the clock of the store: a machine whose own clock is far ahead must not delete rows that others still need.
    const beforeMs = (await storeNow(this.#o)) - retentionMs
    let deleted = 0
    while (!this.#rounds.stopped) {
      const count = await store.usage.prune(beforeMs, PRUNE_ROWS)
      deleted += count
      if (count < PRUNE_ROWS) break
      await pause(clock, PRUNE_PAUSE_MS) // lets others use the store in between
    }
    if (deleted > 0) log.info({ rows: deleted }, 'old usage rows deleted')
  }

  async #pruneRefusals(): Promise<void> {
    const { clock, store } = this.#o
    const beforeMs = (await storeNow(this.#o)) - REFUSALS_MS
    while (!this.#rounds.stopped && (await store.refusals.prune(beforeMs, PRUNE_ROWS)) >= PRUNE_ROWS)
      await pause(clock, PRUNE_PAUSE_MS)
    await store.traffic.prune(Math.floor(beforeMs / HOUR_MS))
  }

  /** Sessions, links and counters that have ended. */
  async #prunePeople(): Promise<void> {
    const { clock, store } = this.#o
    const nowMs = await storeNow(this.#o)
    while (!this.#rounds.stopped && (await store.people.prune(nowMs, PRUNE_ROWS)) > 0)
      await pause(clock, PRUNE_PAUSE_MS)
  }

  async #forgetAddresses(): Promise<void> {
    const { clock, store } = this.#o
    const keptMs = this.#o.addressesMs()
    if (keptMs === 0 || clock.monotonic() < this.#forgetDueMs) return
    const beforeMs = (await storeNow(this.#o)) - keptMs
    while (!this.#rounds.stopped && (await store.people.forgetAddresses(beforeMs, PRUNE_ROWS)) > 0)
      await pause(clock, PRUNE_PAUSE_MS)
    this.#forgetDueMs = clock.monotonic() + FORGET_EVERY_MS
  }
}

/** `current`: the config, which a reload may change. The metrics show what is found. Returns what ends it. */
export function startUpkeep(
  { config, log, metrics, store }: ServeParts,
  fleet: Fleet,
  current: () => Config,
): { stop(): void } {
  const parts = { store, clock: systemClock, log, setAside: () => countDeadLetters(config.journal) }
  const housekeeping = new Housekeeping({
    ...parts,
    retentionMs: () => current().usageRetentionMs,
    addressesMs: () => current().addressRetentionMs,
    pay: metrics.pay,
  })
  const payRounds = new PayRounds({ ...parts, fleet, config: current, counts: metrics.pay })
  const balances = new BalanceRounds({ ...parts, channels: fleet.channels })
  const sweep = new PictureSweep({ clock: systemClock, log, metrics, settings: () => current().images })
  metrics.observe({
    imbalanceMicro: () => housekeeping.imbalance,
    balances: () => balances.states,
    whole: async () => ({
      isReady: (await fleet.ready()).ready,
      nowMs: systemClock.now(),
      freeBytes: await freeBytes(config),
      backupMs: await lastBackupMs(config),
    }),
  })
  for (const work of [housekeeping, payRounds, balances, sweep]) work.start()
  return {
    stop() {
      housekeeping.stop()
      payRounds.stop()
      balances.stop()
      void sweep.stop() // a sweep under way may go on: what is deleted is deleted
    },
  }
}
