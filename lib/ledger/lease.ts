/**
 * This process's lease of one purse: what the store has moved here (`leased`), and what open holds take of it (`held`).
 * A hold is a comparison and an addition. When it does not fit, it waits in line while the store is asked once for all
 * who wait; the lease is renewed ahead of need, so that in a steady flow nobody ever waits.
 */
import { invariant } from '../base/assert.ts'
import { type Clock, pause } from '../base/clock.ts'
import { type Micro, micro, ZERO } from '../base/money.ts'
import { type Grant, type Purse, type PurseId, type Store, StoreUnavailable } from '../store/store.ts'
import { Burn } from './burn.ts'
import type { LedgerLog } from './log.ts'

/** A lease is sized for so long of charges, and renewed when less than that is left. */
const AHEAD_MS = 30_000
const RENEW_MS = 6_000
/** After a first request, money for some more like it. */
const MORE_LIKE_IT = 8
/** When the store gave nothing ahead, it is not asked again at once. */
const RENEW_PAUSE_MS = 1_000
/** Others were asked to give back: what does not fit is tried again this often before it is refused. */
const RECALL_TRIES = 12
const RECALL_WAIT_MS = 120
/** Somebody else asked for this purse: for a while nothing is kept that is not held. */
const CONTESTED_MS = 10_000
/** No request is larger; the store multiplies needs. */
const MOST = 500_000_000_000_000

export type Denial = { denied: 'money'; purse: Purse; available: Micro } | { denied: 'store' }

export interface LeaseOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  /** Under which leases stand in the store; another one after this process was taken for dead. */
  holder: () => string
}

interface Waiting {
  amount: number
  /** How often the store has said no. */
  tries: number
  resolve: (denial: Denial | null) => void
}

export class Lease {
  readonly purse: PurseId
  readonly #o: LeaseOptions
  leased = 0
  held = 0
  /** Open holds, also of nothing: they may grow. */
  users = 0
  /** As the store last said, and charges of ours since. */
  known: Purse | null = null
  chargedSince = 0
  readonly #line: Waiting[] = []
  #busy = false
  /** Calls of the store that may still add to the lease. */
  #asking = 0
  #used = true
  /** A renewal under way; it never rejects. */
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

  /** Nothing of it is in use: it may be forgotten once it is given back. */
  unusedSinceLastAsked(): boolean {
    const used = this.#used
    this.#used = false
    return !used && this.#unused
  }

  get #unused(): boolean {
    return this.users === 0 && this.held === 0 && this.#line.length === 0 && !this.#busy && this.#asking === 0
  }

  /** Takes `amount` if it is here and nobody is in line for it. */
  tryHold(amount: number): boolean {
    if (this.idle < amount || this.#line.length > 0) return false
    this.#take(amount)
    return true
  }

  /** null = held. In line with the others. */
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

  /** Ends a hold with a charge. Returns what of the charge the lease pays. */
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

  /** Everything that waits, with one call of the store at a time. */
  async #serve(): Promise<void> {
    this.#busy = true
    for (this.#admit(); this.#line.length > 0; this.#admit()) {
      if (this.#renewing !== null) {
        await this.#renewing // what it brings is not to be asked for again
        continue
      }
      const asked = [...this.#line]
      const need = Math.min(MOST, asked.reduce((sum, w) => sum + w.amount, 0) - this.idle)
      const grant = await this.#ask(need, need + this.#ahead((asked[0] as Waiting).amount), asked.length > 1)
      this.#admit()
      const short = asked.filter(w => this.#line.includes(w))
      if (grant === null) this.#refuse(short, { denied: 'store' })
      else {
        const hopeful = short.filter(w => w.tries++ < RECALL_TRIES && this.#mayCome(grant, w.amount))
        const denial: Denial = { denied: 'money', purse: grant.purse, available: this.#available(grant) }
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

  /** In order; who does not fit does not keep out who does. */
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

  /** What others have leased would be enough, if they do not need it. */
  #mayCome(grant: Grant, amount: number): boolean {
    if (grant.elsewhere.leased === 0) return false
    const { credit, spent } = grant.purse
    return credit !== null && credit - spent - this.held >= amount
  }

  /**
   * What is here is too little for anybody in line, so it goes back first: two processes that each kept a part while
   * they wait for the other's would both be refused.
   */
  async #recall(first: boolean): Promise<void> {
    this.#handBack()
    try {
      if (first) await this.#o.store.recall(this.purse)
    } catch (error) {
      this.#failed(error) // without it, the next try says so
    }
    await pause(this.#o.clock, RECALL_WAIT_MS)
  }

  /** null when the store does not answer, or not to this holder. */
  async #ask(need: number, want: number, partial: boolean): Promise<Grant | null> {
    this.#asking++
    const holder = this.#o.holder()
    try {
      await this.#returning
      const grant = await this.#o.store.lease(this.purse, holder, micro(need), micro(Math.max(need, want)), partial)
      if (holder !== this.#o.holder()) return null // taken for dead meanwhile: the grant went back with the others
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

  #ahead(amount: number): number {
    const ahead = this.#burn.peakHeld + this.#burn.perMs(this.#now) * AHEAD_MS
    return Math.min(MOST, Math.ceil(Math.max(amount * MORE_LIKE_IT, ahead)))
  }

  #renewAhead(): void {
    const now = this.#now
    if (this.#busy || now < this.#renewFromMs) return
    if (this.idle >= this.#burn.peakHeld / 2 + this.#burn.perMs(now) * RENEW_MS) return
    this.#renewFromMs = now + RENEW_PAUSE_MS
    if (this.#contested) return
    this.#renewing = this.#ask(0, this.#ahead(0), false).finally(() => {
      this.#renewing = null
    })
  }

  /** What no open request holds, here or (as far as is known) elsewhere, without charges that the store does not have yet. */
  #available({ purse, elsewhere }: Grant): Micro {
    const { credit, spent, leased } = purse
    if (credit === null) return micro(MOST)
    const unsettled = Math.max(0, leased - elsewhere.leased - this.leased)
    return micro(credit - spent - unsettled - this.held - elsewhere.held)
  }

  /** Another process wants it. */
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
      this.#failed(error) // the store finishes it when it is back
    }
  }

  /** Resolves when what was given back has arrived. */
  settled(): Promise<void> {
    return this.#returning
  }

  /** The store has taken all leases of this process back: it was taken for dead. */
  lost(): void {
    this.leased = 0
  }

  get heldMicro(): Micro {
    return this.held === 0 ? ZERO : micro(this.held)
  }
}
