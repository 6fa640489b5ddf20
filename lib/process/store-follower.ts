/**
 * Brings a serving process up to what others wrote to the store: other gateways, `gateway apply`, the admin API. The
 * store numbers its changes; the follower asks again and again for those after the last one it has seen. While the
 * store is away, the process serves from memory. When its last heartbeat is 90 s old it is fenced (`lib/ledger/heartbeat.ts`): it
 * refuses new requests that are charged until the store takes a heartbeat again.
 */
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import type { Store } from '../store/store.ts'
import type { Change } from '../store/base/changes.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Logger } from '../base/log.ts'

/**
 * How often changes of other processes are asked for: a recall must be heard and answered while the request waits that
 * caused it (`MONEY_WAIT_MS` in `lib/ledger/lease.ts`). Those of the own admin API are followed at once.
 */
const FOLLOW_MS = 290
/**
 * How often a process asks from which nobody can recall money, because it leases none or no other process is there: seldom, because each
 * question wakes it.
 */
const CALM_FOLLOW_MS = 800

interface FollowerOptions {
  store: Pick<Store, 'changes'>
  clock: Clock
  log: Logger
  /** True when a recall may ask something of this process. */
  mayBeRecalled: () => boolean
  /** A key, an account or the like was changed. */
  onChange: (change: Change) => void
  /** Nothing in memory is to be trusted: so much was changed that the store no longer knows what. */
  onUnknownChanges: () => void
  /** Channels, models or groups may have changed: reads them anew. */
  readCatalog: () => Promise<void>
}

export class StoreFollower {
  readonly #o: FollowerOptions
  readonly #rounds: Rounds
  /** The number of the last change that was followed. */
  #seq: number
  #running: Promise<void> = Promise.resolve()
  #storeAnswers = true

  /** `seq`: the number of the last change that the process knows already. */
  constructor(options: FollowerOptions, seq: number) {
    this.#o = options
    this.#seq = seq
    this.#rounds = new Rounds(
      options.clock,
      () => (options.mayBeRecalled() ? FOLLOW_MS : CALM_FOLLOW_MS),
      () => this.follow(),
    )
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.#running
  }

  /** Resolves when this process knows the latest change of the store, or cannot learn it. Never rejects. */
  follow(): Promise<void> {
    this.#running = this.#running.then(() => this.#catchUp()).catch(error => this.#failed(error))
    return this.#running
  }

  async #catchUp(): Promise<void> {
    const { store, log, onChange, onUnknownChanges, readCatalog } = this.#o
    const changes = await store.changes.since(this.#seq)
    if (!this.#storeAnswers) log.info('the store answers again')
    this.#storeAnswers = true
    if (changes === null) {
      this.#seq = await store.changes.seq()
      onUnknownChanges()
      await readCatalog()
      return
    }
    for (const change of changes) onChange(change)
    if (changes.some(change => change.kind === 'catalog')) await readCatalog()
    const last = changes.at(-1)
    if (last !== undefined) this.#seq = last.seq
  }

  #failed(error: unknown): void {
    const { log } = this.#o
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'following the store failed')
    else if (this.#storeAnswers) log.warn({ err: error.message }, 'the store does not answer: serving from memory')
    this.#storeAnswers = false
  }
}
