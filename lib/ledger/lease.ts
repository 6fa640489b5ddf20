/**
 * This process's lease of one purse: `leased` is money that the store has granted to this process, and `held` is the
 * part of it that open holds have set aside. Taking a hold is a comparison and an addition in memory. A hold that does
 * not fit waits in a queue while one call of the store asks for all that wait. The lease is renewed before it runs out,
 * at a size that follows the recent charges, so that under a steady load no request waits.
 */
import { invariant } from '../base/assert.ts'
import { type Clock, pause } from '../base/clock.ts'
import { type Micro, micro, ZERO } from '../base/money.ts'
import { type Grant, type Purse, type PurseId, type Store, StoreUnavailable } from '../store/store.ts'
import type { Limit } from '../terms/limits.ts'
import { Burn } from './burn.ts'
import { availableIn, type Denial, MOST_ASKED, mayCome } from './denial.ts'
import type { LedgerLog } from './log.ts'

/** A renewal asks for as much as this time's charges; it begins when less than RENEW_MS' charges are left. */
const AHEAD_MS = 30_000
const RENEW_MS = 6_000
/** A call for a request asks for at least this many times its need, for more requests like it. */
const MORE_LIKE_IT = 8
/** The least time between two renewals: a store that has nothing to grant is not asked with every request. */
const RENEW_PAUSE_MS = 1_000
/** After a recall, a hold that does not fit is tried again this often, at this interval, before it is refused. */
const RECALL_TRIES = 12
const RECALL_WAIT_MS = 120
/** After another process has recalled this purse, this one keeps only what it holds, for this long. */
const CONTESTED_MS = 10_000
export interface LeaseOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  /** The id of this process in the store, which changes when another process has taken this one for dead. */
  holder: () => string
}

interface Waiting {
  amount: number
  /** How often the store has granted too little for it. */
  tries: number
  resolve: (denial: Denial | null) => void
}

export class Lease {
  readonly purse: PurseId
  readonly #o: LeaseOptions
  /** The cap or budget of which this is a purse, when it was last used as one; null = it never was. */
  limit: Limit | null = null
  leased = 0
  held = 0
  /** How many holds are open, including holds of 0, which may grow. */
  users = 0
  /** The purse as the store last reported it, and what this process has charged since then. */
  known: Purse | null = null
  chargedSince = 0
  readonly #line: Waiting[] = []
  /** True while `#serve` runs. */
  #busy = false
  /** How many calls of the store are under way that may add to the lease. */
  #asking = 0
  #used = true
  /** The renewal under way, if any; the promise never rejects. */
  #renewing: Promise<unknown> | null = null
  #renewFromMs = 0
  #contestedUntilMs = Number.NEGATIVE_INFINITY
  readonly #burn: Burn
  #returning: Promise<void> = Promise.resolve()

  constructor(purse: PurseId, options: LeaseOptions) {
    this.purse = purse
    this.#o = options
    this.#burn = new Burn(this.#now)
  }

  get #now(): number {
    return this.#o.clock.monotonic()
  }

  get #contested(): boolean {
    return this.#now < this.#contestedUntilMs
  }

  get idle(): number {
    return this.leased - this.held
  }

  /** True when the lease is unused now and has not been used since the last call. */
  unusedSinceLastAsked(): boolean {
    const used = this.#used
    this.#used = false
    return !used && this.#unused
  }

  get #unused(): boolean {
    return this.users === 0 && this.held === 0 && this.#line.length === 0 && !this.#busy && this.#asking === 0
  }

  /** Holds `amount` if it is in memory and nothing waits in the queue before it. */
  tryHold(amount: number): boolean {
    if (this.idle < amount || this.#line.length > 0) return false
    this.#take(amount)
    return true
  }

  /** Holds `amount`, after waiting in the queue when necessary. Resolves with null, or with the reason of a denial. */
  hold(amount: number): Promise<Denial | null> {
    return new Promise(resolve => {
      this.#line.push({ amount, tries: 0, resolve })
      if (!this.#busy) void this.#serve()
    })
  }

  #take(amount: number): void {
    this.#used = true
    this.held += amount
    this.#burn.hold(this.held)
    this.#renewAhead()
  }

  release(amount: number): void {
    this.held -= amount
    invariant(this.held >= 0, `lease ${this.purse}: holds are ${this.held}`)
    if (this.#contested) this.giveBackIdle()
  }

  /** Ends a hold with a charge. Returns how much of the charge the lease pays; the purse pays the rest. */
  charge(held: number, charge: number): Micro {
    this.held -= held
    invariant(this.held >= 0, `lease ${this.purse}: holds are ${this.held}`)
    const paid = Math.min(charge, Math.max(0, this.idle))
    this.leased -= paid
    this.chargedSince += charge
    this.#burn.charge(charge, this.held, this.#now)
    if (this.#contested) this.giveBackIdle()
    return micro(paid)
  }

  /** Empties the queue, with one call of the store at a time: each waiting hold is granted or refused. */
  async #serve(): Promise<void> {
    this.#busy = true
    for (this.#admit(); this.#line.length > 0; this.#admit()) {
      if (this.#renewing !== null) {
        await this.#renewing // it may bring enough
        continue
      }
      const asked = [...this.#line]
      const need = Math.min(MOST_ASKED, asked.reduce((sum, w) => sum + w.amount, 0) - this.idle)
      const grant = await this.#ask(need, need + this.#ahead((asked[0] as Waiting).amount), asked.length > 1)
      this.#admit()
      const short = asked.filter(w => this.#line.includes(w))
      if (grant === null) this.#refuse(short, { denied: 'store' })
      else {
        const hopeful = short.filter(w => w.tries++ < RECALL_TRIES && mayCome(grant, this.held, w.amount))
        const denial: Denial = {
          denied: 'money',
          purse: grant.purse,
          available: availableIn(grant, this),
          held: micro(this.held + grant.elsewhere.held),
        }
        this.#refuse(
          short.filter(w => !hopeful.includes(w)),
          denial,
        )
        if (hopeful.length > 0) await this.#recall(hopeful.some(w => w.tries === 1))
      }
    }
    this.#busy = false
    if (this.#contested) this.giveBackIdle()
  }

  /** Grants waiting holds in order. A hold that is too large does not block smaller ones behind it. */
  #admit(): void {
    for (let i = 0; i < this.#line.length; ) {
      const { amount, resolve } = this.#line[i] as Waiting
      if (this.idle < amount) i++
      else {
        this.#line.splice(i, 1)
        this.#take(amount)
        resolve(null)
      }
    }
  }

  #refuse(waiting: readonly Waiting[], denial: Denial): void {
    for (const w of waiting) {
      this.#line.splice(this.#line.indexOf(w), 1)
      w.resolve(denial)
    }
  }

  /**
   * Waits for other processes to give back. This process gives its idle part back first: if two processes both kept a
   * part and waited for the other's, both would be refused.
   */
  async #recall(first: boolean): Promise<void> {
    this.#handBack()
    try {
      if (first) await this.#o.store.recall(this.purse)
    } catch (error) {
      this.#failed(error) // without the recall the next try finds as little, and the hold is refused in the end
    }
    await pause(this.#o.clock, RECALL_WAIT_MS)
  }

  /** Asks the store for a grant; null when it does not answer, or when this process was taken for dead meanwhile. */
  async #ask(need: number, want: number, partial: boolean): Promise<Grant | null> {
    this.#asking++
    const holder = this.#o.holder()
    try {
      await this.#returning
      const grant = await this.#o.store.lease(this.purse, holder, micro(need), micro(Math.max(need, want)), partial)
      if (holder !== this.#o.holder()) return null // the burial of the old id has given the grant back
      this.leased += grant.granted
      this.known = grant.purse
      this.chargedSince = 0
      return grant
    } catch (error) {
      this.#failed(error)
      return null
    } finally {
      this.#asking--
      if (this.#contested) this.giveBackIdle()
    }
  }

  #failed(error: unknown): void {
    if (error instanceof StoreUnavailable) return
    this.#o.log.error({ err: error, purse: this.purse }, 'the store failed at a lease')
  }

  /** Asks the store for money before a request needs it, and so learns what the purse has. Never rejects. */
  async prepare(want: number): Promise<void> {
    if (this.known === null) await (this.#renewing ?? this.#renew(want))
  }

  #renew(want: number): Promise<unknown> {
    return (this.#renewing = this.#ask(0, want, false).finally(() => {
      this.#renewing = null
    }))
  }

  /** What a renewal would ask for. */
  get ahead(): number {
    return this.#ahead(0)
  }

  #ahead(amount: number): number {
    const ahead = this.#burn.peakHeld + this.#burn.perMs(this.#now) * AHEAD_MS
    return Math.min(MOST_ASKED, Math.ceil(Math.max(amount * MORE_LIKE_IT, ahead)))
  }

  #renewAhead(): void {
    const now = this.#now
    if (this.#busy || now < this.#renewFromMs) return
    if (this.idle >= this.#burn.peakHeld / 2 + this.#burn.perMs(now) * RENEW_MS) return
    this.#renewFromMs = now + RENEW_PAUSE_MS
    if (this.#contested) return
    void this.#renew(this.#ahead(0))
  }

  /** Another process has asked the store for more than was free. */
  recalled(): void {
    this.#contestedUntilMs = this.#now + CONTESTED_MS
    if (this.#line.length === 0) this.giveBackIdle()
  }

  giveBackIdle(): void {
    if (this.#line.length === 0) this.#handBack()
  }

  #handBack(): void {
    const amount = this.idle
    if (amount <= 0) return
    this.leased -= amount
    const holder = this.#o.holder()
    this.#returning = this.#returning.then(() => this.#giveBack(holder, amount))
  }

  async #giveBack(holder: string, amount: number): Promise<void> {
    try {
      await this.#o.store.giveBack(this.purse, holder, micro(amount))
    } catch (error) {
      this.#failed(error) // the store completes the give-back when the engine is back
    }
  }

  /** Resolves when the store has everything that was given back. */
  settled(): Promise<void> {
    return this.#returning
  }

  /** This process was taken for dead, so the store has given the lease back to its purse. */
  lost(): void {
    this.leased = 0
  }

  get heldMicro(): Micro {
    return this.held === 0 ? ZERO : micro(this.held)
  }
}
