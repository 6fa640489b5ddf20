/**
 * This process's lease of one purse: what the store has moved here (`leased`), and what open holds take of it (`held`).
 * A hold is a comparison and an addition. When it does not fit, it waits in line while the store is asked once for all
 * who wait; the lease is renewed ahead of need, so that in a steady flow nobody ever waits.
 */
import { invariant } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { type Micro, micro, ZERO } from '../base/money.ts'
import { type Grant, type Purse, type PurseId, type Store, StoreUnavailable } from '../store/store.ts'

/** A lease is sized for so long of charges, and renewed when less than that is left. */
const AHEAD_MS = 30_000
const RENEW_MS = 6_000
/** Over which the flow of charges is averaged. */
const BURN_MS = 10_000
const SHORTEST_MS = 1_000
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

interface Waiting {
  amount: number
  /** How often the store has said no. */
  tries: number
  resolve: (denial: Denial | null) => void
}

export class Lease {
  readonly purse: PurseId
  readonly #store: Store
  readonly #clock: Clock
  readonly #holder: () => string
  leased = 0
  held = 0
  /** As the store last said, and charges of ours since. */
  known: Purse | null = null
  chargedSince = 0
  readonly #line: Waiting[] = []
  #busy = false
  #used = true
  #renewFromMs = 0
  #contestedUntilMs = Number.NEGATIVE_INFINITY
  #peakHeld = 0
  /** Charged per ms, smoothed over about BURN_MS. */
  #burn = 0
  #burnMs: number
  /** The first charge; what came before it is no quiet time. */
  #burnFromMs: number | null = null
  #returning: Promise<void> = Promise.resolve()

  constructor(purse: PurseId, store: Store, clock: Clock, holder: () => string) {
    this.purse = purse
    this.#store = store
    this.#clock = clock
    this.#holder = holder
    this.#burnMs = clock.monotonic()
  }

  get idle(): number {
    return this.leased - this.held
  }

  /** It may be forgotten once it is given back. */
  unusedSinceLastAsked(): boolean {
    const used = this.#used
    this.#used = false
    return !used && this.held === 0 && this.#line.length === 0 && !this.#busy
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
    this.held += amount
    this.#used = true
    if (this.held > this.#peakHeld) this.#peakHeld = this.held
    this.#renewAhead()
  }

  release(amount: number): void {
    this.held -= amount
    invariant(this.held >= 0, `lease ${this.purse}: holds are ${this.held}`)
    if (this.#clock.monotonic() < this.#contestedUntilMs) this.giveBackIdle()
  }

  /** Ends a hold with a charge. Returns what of the charge the lease pays. */
  charge(held: number, charge: number): Micro {
    this.held -= held
    invariant(this.held >= 0, `lease ${this.purse}: holds are ${this.held}`)
    const paid = Math.min(charge, Math.max(0, this.idle))
    this.leased -= paid
    this.chargedSince += charge
    this.#burned(charge)
    if (this.#clock.monotonic() < this.#contestedUntilMs) this.giveBackIdle()
    return micro(paid)
  }

  #burned(charge: number): void {
    const now = this.#clock.monotonic()
    this.#burnFromMs ??= now
    const passedMs = now - this.#burnMs
    this.#burnMs = now
    this.#burn = (this.#burn + charge / BURN_MS) * Math.exp(-passedMs / BURN_MS)
    this.#peakHeld = Math.max(this.held, this.#peakHeld * Math.exp(-passedMs / BURN_MS))
  }

  /** Charged per ms: an average that began with the first charge. */
  #burnPerMs(now: number): number {
    if (this.#burnFromMs === null) return 0
    return this.#burn / (1 - Math.exp(-Math.max(SHORTEST_MS, now - this.#burnFromMs) / BURN_MS))
  }

  /** Everything that waits, with one call of the store at a time. */
  async #serve(): Promise<void> {
    this.#busy = true
    for (this.#admit(); this.#line.length > 0; this.#admit()) {
      const asked = [...this.#line]
      const need = Math.min(MOST, asked.reduce((sum, w) => sum + w.amount, 0) - this.idle)
      const grant = await this.#ask(need, need + this.#ahead((asked[0] as Waiting).amount), asked.length > 1)
      this.#admit()
      const short = asked.filter(w => this.#line.includes(w))
      if (grant === null) this.#refuse(short, { denied: 'store' })
      else {
        const hopeful = short.filter(w => w.tries++ < RECALL_TRIES && this.#mayCome(grant, w.amount))
        const denial: Denial = { denied: 'money', purse: grant.purse, available: this.#available(grant.purse) }
        this.#refuse(
          short.filter(w => !hopeful.includes(w)),
          denial,
        )
        if (hopeful.length > 0) await this.#recall(hopeful.some(w => w.tries === 1))
      }
    }
    this.#busy = false
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
    if (!grant.heldElsewhere) return false
    const { credit, spent } = grant.purse
    return credit !== null && credit - spent - this.held >= amount
  }

  async #recall(first: boolean): Promise<void> {
    try {
      if (first) await this.#store.recall(this.purse)
      await new Promise<void>(resolve => this.#clock.after(RECALL_WAIT_MS, resolve))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error // without it, the next try says so
    }
  }

  /** null when the store does not answer. */
  async #ask(need: number, want: number, partial: boolean): Promise<Grant | null> {
    await this.#returning
    try {
      const grant = await this.#store.lease(
        this.purse,
        this.#holder(),
        micro(need),
        micro(Math.max(need, want)),
        partial,
      )
      this.leased += grant.granted
      this.known = grant.purse
      this.chargedSince = 0
      return grant
    } catch (error) {
      if (error instanceof StoreUnavailable) return null
      throw error
    }
  }

  #ahead(amount: number): number {
    const ahead = this.#peakHeld + this.#burnPerMs(this.#clock.monotonic()) * AHEAD_MS
    return Math.min(MOST, Math.ceil(Math.max(amount * MORE_LIKE_IT, ahead)))
  }

  #renewAhead(): void {
    const now = this.#clock.monotonic()
    if (this.#busy || now < this.#renewFromMs) return
    if (this.idle >= this.#peakHeld / 2 + this.#burnPerMs(now) * RENEW_MS) return
    this.#renewFromMs = now + RENEW_PAUSE_MS
    if (now < this.#contestedUntilMs) return
    void this.#ask(0, this.#ahead(0), false).catch(() => {}) // who needs it will ask again, and hear why
  }

  /** What nobody holds, here or (as far as is known) elsewhere. */
  #available({ credit, spent, leased }: Purse): Micro {
    return credit === null ? micro(MOST) : micro(credit - spent - leased + Math.max(0, this.idle))
  }

  /** Another process wants it. */
  recalled(): void {
    this.#contestedUntilMs = this.#clock.monotonic() + CONTESTED_MS
    if (this.#line.length === 0) this.giveBackIdle()
  }

  giveBackIdle(): void {
    const amount = this.idle
    if (amount <= 0 || this.#line.length > 0) return
    this.leased -= amount
    this.#returning = this.#returning.then(() => this.#giveBack(amount))
  }

  async #giveBack(amount: number): Promise<void> {
    try {
      await this.#store.giveBack(this.purse, this.#holder(), micro(amount))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error // the store finishes it when it is back
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
