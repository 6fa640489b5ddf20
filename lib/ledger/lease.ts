/**
 * This process's lease of one purse: `leased` is money that the store has granted to this process, and `held` is the
 * part of it that open holds have set aside. Taking a hold is a comparison and an addition in memory. A hold that does
 * not fit waits in a queue while one call of the store asks for all that wait. The lease is renewed before it runs out,
 * at a size that follows the recent charges, so that under a steady load no request waits.
 *
 * A purse has one call of the store under way at most, whether for those who wait or ahead of need. Nobody waits beyond
 * his deadline for it; what it brings after that joins the lease, like any grant. While the store is known to be away
 * nobody waits at all, and nothing is asked.
 *
 * A charge that the lease cannot pay closes it: what is still leased may not be there any more. It opens again when the
 * charge is in the books and the store has said what is left, and gives back at once what the purse no longer covers.
 */
import { invariant } from '../base/assert.ts'
import { type Clock, pause } from '../base/clock.ts'
import { type Micro, micro } from '../base/money.ts'
import { ANSWER_MS, type StoreHealth, whenLate } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import type { Grant } from '../store/books/books.ts'
import type { Purse, PurseId } from '../store/books/purses.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Limit } from '../terms/records.ts'
import type { LedgerLog } from './log.ts'

/** A request waits for money no longer than this, all its waits together. */
export const MONEY_WAIT_MS = ANSWER_MS
/**
 * A renewal begins when the charges to come in this many times the time-out of the store's statements would use up what
 * is left: then a call that fails leaves time for another one. Here are the least and the most that this comes to.
 */
const TIMEOUTS_LEFT = 1.2
const LEAST_LEFT_MS = 6_000
const MOST_LEFT_MS = 60_000
/** A renewal asks for as much as the charges of this time beside it. */
const AHEAD_MS = 24_000
/** A call for a request asks for at least this many times its need, for more requests like it. */
const MORE_LIKE_IT = 8
/** The least time between two renewals: a store that has nothing to grant is not asked with every request. */
const RENEW_PAUSE_MS = 1_000
/** After a recall, a hold that does not fit is tried again at this interval, as long as its request can wait. */
const RECALL_WAIT_MS = 100
/** After another process has recalled this purse, this one keeps only what it holds, for this long. */
const CONTESTED_MS = 10_000
export interface LeaseOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  health: StoreHealth
  /** The id of this process in the store, which changes when another process has taken this one for dead. */
  holder: () => string
  /** Sends the settlements that wait to the store, and resolves when it has taken some; false = all are in the books. */
  book: () => Promise<boolean>
  /** A call for a lease has begun, or ended. */
  counts: (what: 'begun' | LeaseResult) => void
}

/** `granted`: some of what was asked for. `nothing`: the purse has none. `failed`: the store did not say. */
export const LEASE_RESULTS = ['granted', 'nothing', 'failed'] as const
export type LeaseResult = (typeof LEASE_RESULTS)[number]

interface QueuedHold {
  amount: number
  /** The store's last grant while it waited; null = none yet. */
  grant: Grant | null
  /** Ends its deadline. */
  cancel: () => void
  resolve: (denial: Denial | null) => void
}

/** A question to the store. */
interface Asked {
  need: number
  want: number
  partial: boolean
}

export class Lease {
  readonly purse: PurseId
  readonly #o: LeaseOptions
  /** The cap or budget of which this is a purse, when it was last used as one; null = it never was. */
  limit: Limit | null = null
  leased = 0
  held = 0
  /** The number of open holds, including holds of 0, which may grow. */
  users = 0
  /** The purse as the store last reported it, and what this process has charged since then. */
  known: Purse | null = null
  chargedSince = 0
  /** Charges that the lease could not pay and that are not in the books yet: the purse has less by so much. */
  debt = 0
  /** The number of such charges. */
  #overcharges = 0
  /** Since the last such charge the store has not said what the purse has. */
  #closed = false
  /** There was such a charge while a call was under way, so that another one has to follow. */
  #mustAsk = false
  readonly #line: QueuedHold[] = []
  /** True while `#serve` runs. */
  #busy = false
  /** The call of the store under way that may add to the lease, if any; the promise never rejects. */
  #call: Promise<Grant | null> | null = null
  /** Something was charged since the settlements were last sent because of a recall. */
  #unbooked = false
  #booking = false
  #used = true
  #renewFromMs = 0
  #contestedUntilMs = Number.NEGATIVE_INFINITY
  readonly #burn: Burn
  /** With less than the charges of this time left, the lease is renewed. */
  readonly #leftMs: number
  #returning: Promise<void> = Promise.resolve()

  constructor(purse: PurseId, options: LeaseOptions) {
    this.purse = purse
    this.#o = options
    this.#burn = new Burn(this.#now)
    this.#leftMs = Math.min(MOST_LEFT_MS, Math.max(LEAST_LEFT_MS, options.store.timeoutMs * TIMEOUTS_LEFT))
  }

  get #now(): number {
    return this.#o.clock.monotonic()
  }

  get #contested(): boolean {
    return this.#now < this.#contestedUntilMs
  }

  get idle(): number {
    return this.leased - this.held - this.debt
  }

  /** True when the lease is unused now and has not been used since the last call. */
  unusedSinceLastAsked(): boolean {
    const used = this.#used
    this.#used = false
    return !used && this.#unused
  }

  get #unused(): boolean {
    return (
      this.users === 0 &&
      this.held === 0 &&
      this.debt === 0 &&
      this.#line.length === 0 &&
      !this.#busy &&
      this.#call === null
    )
  }

  /** Holds `amount` if it is in memory and nothing waits in the queue before it. */
  tryHold(amount: number, nowMs: number): boolean {
    if (this.#line.length > 0) return false
    return this.#holdNow(amount, nowMs)
  }

  /**
   * Holds `amount`, after waiting in the queue when necessary, at most until `untilMs` (monotonic). Resolves with null, or
   * with the reason of a denial.
   */
  hold(amount: number, untilMs: number): Promise<Denial | null> {
    if (this.#o.health.state !== 'ok')
      return Promise.resolve(this.#holdNow(amount, this.#now) ? null : { denied: 'store' })
    return new Promise(resolve => {
      const late = () => this.#giveUp(waiting)
      const cancel = whenLate(this.#o.clock, Math.max(0, untilMs - this.#now), late)
      const waiting: QueuedHold = { amount, grant: null, cancel, resolve }
      this.#line.push(waiting)
      if (!this.#busy) void this.#serve()
    })
  }

  /** Holds `amount` if it is in memory, whoever waits before it. */
  #holdNow(amount: number, nowMs: number): boolean {
    if (this.idle < amount || this.#closed) return false
    this.#take(amount, nowMs)
    return true
  }

  #take(amount: number, nowMs: number): void {
    this.#used = true
    this.held += amount
    this.#burn.hold(this.held)
    this.#renewAhead(nowMs)
  }

  release(amount: number): void {
    this.held -= amount
    invariant(this.held >= 0, `lease ${this.purse}: holds are ${this.held}`)
    if (this.#contested) this.giveBackIdle()
  }

  /** Ends a hold with a charge. Returns how much of the charge the lease pays; the purse pays the rest. */
  charge(held: number, charge: number, now: number): Micro {
    this.held -= held
    invariant(this.held >= 0, `lease ${this.purse}: holds are ${this.held}`)
    const paid = Math.min(charge, Math.max(0, this.leased - this.held))
    this.leased -= paid
    this.chargedSince += charge
    this.#burn.charge(charge, this.held, now)
    if (paid < charge) this.#overcharged(charge - paid)
    if (now < this.#contestedUntilMs) {
      this.giveBackIdle()
      if (charge > 0) this.#bookSoon()
    }
    return micro(paid)
  }

  #overcharged(unpaid: number): void {
    this.debt += unpaid
    this.#overcharges++
    this.#closed = true
    this.#reopen()
  }

  /** Charges that the lease could not pay are in the books now. */
  booked(unpaid: number): void {
    this.debt = Math.max(0, this.debt - unpaid)
  }

  /** Asks the store what the purse has, so that other processes too hear soon of a purse that is empty. */
  #reopen(): void {
    this.#mustAsk = this.#call !== null
    if (!this.#mustAsk && !this.#busy && this.#o.health.takesWrites) void this.#renew(0)
  }

  /** Empties the queue, with one call of the store at a time: each waiting hold is granted or refused. */
  async #serve(): Promise<void> {
    this.#busy = true
    for (this.#admit(); this.#line.length > 0; this.#admit()) {
      if (this.#call !== null) {
        await this.#call // it may bring enough
        continue
      }
      const asked = [...this.#line]
      const grant = await this.#ask(() => this.#needOf(asked))
      this.#admit()
      const short = asked.filter(w => this.#line.includes(w))
      if (grant === null) this.#refuse(short, { denied: 'store' })
      else if (!this.#closed) {
        const first = short.some(w => w.grant === null)
        for (const w of short) w.grant = grant
        const hopeful = short.filter(w => mayCome(grant, this.held, w.amount))
        const denial = this.#denial(grant)
        this.#refuse(
          short.filter(w => !hopeful.includes(w)),
          denial,
        )
        if (hopeful.length > 0) await this.#recall(first)
      }
    }
    this.#busy = false
    if (this.#contested) this.giveBackIdle()
    if (this.#closed) this.#reopen()
  }

  #needOf(asked: readonly QueuedHold[]): Asked {
    const missing = asked.reduce((sum, w) => sum + w.amount, 0) - this.idle
    const need = Math.min(MOST_ASKED, Math.max(0, missing))
    return { need, want: need + this.#ahead((asked[0] as QueuedHold).amount), partial: asked.length > 1 }
  }

  /** The lease as the store will have it when all charges are in the books. */
  get #here(): { leased: number; held: number } {
    return { leased: this.leased - this.debt, held: this.held }
  }

  /** Grants waiting holds in order. A hold that is too large does not block smaller ones behind it. */
  #admit(): void {
    for (let i = 0; i < this.#line.length && !this.#closed; ) {
      const waiting = this.#line[i] as QueuedHold
      if (this.idle < waiting.amount) i++
      else {
        this.#line.splice(i, 1)
        this.#take(waiting.amount, this.#now)
        waiting.cancel()
        waiting.resolve(null)
      }
    }
  }

  #refuse(waiting: readonly QueuedHold[], denial: Denial): void {
    for (const w of waiting) {
      this.#line.splice(this.#line.indexOf(w), 1)
      w.cancel()
      w.resolve(denial)
    }
  }

  #denial(grant: Grant): Denial & { denied: 'money' } {
    const held = micro(this.held + grant.elsewhere.held)
    return { denied: 'money', purse: grant.purse, available: availableIn(grant, this.#here), held }
  }

  /**
   * The deadline of a waiting hold. It is refused for want of money only when the store has said so; when other
   * processes have idle money that they did not give back in time, it may come again.
   */
  #giveUp(waiting: QueuedHold): void {
    const { amount, grant } = waiting
    this.#line.splice(this.#line.indexOf(waiting), 1)
    const denial = grant === null ? null : this.#denial(grant)
    if (this.#holdNow(amount, this.#now)) waiting.resolve(null)
    else if (denial === null || denial.available >= amount) waiting.resolve({ denied: 'store' })
    else waiting.resolve(denial)
    this.#admit() // those behind it need not wait for it any more
  }

  /**
   * Waits for other processes to give back. This process gives its idle part back first: if two processes both kept a
   * part and waited for the other's, both would be refused.
   */
  async #recall(first: boolean): Promise<void> {
    this.#handBack()
    try {
      if (first) await this.#o.health.watch(this.#o.store.books.recall(this.purse))
    } catch (error) {
      this.#failed(error) // without the recall the next try finds as little, and the hold is refused in the end
    }
    await pause(this.#o.clock, RECALL_WAIT_MS)
  }

  /** Asks the store for a grant; null when it does not answer, or when this process was taken for dead meanwhile. */
  #ask(size: () => Asked): Promise<Grant | null> {
    return (this.#call = this.#granted(size).then(grant => {
      this.#call = null
      if (this.#contested) this.giveBackIdle()
      if (this.#mustAsk) this.#reopen()
      return grant
    }))
  }

  async #granted(size: () => Asked): Promise<Grant | null> {
    const { store, health } = this.#o
    try {
      await this.#returning
      while (this.debt > 0 && (await this.#o.book()));
      this.debt = 0
      const overcharges = this.#overcharges
      if (!health.takesWrites) return null
      const holder = this.#o.holder()
      const { need, want, partial } = size()
      const grant = await this.#counted(store.books.lease(this.purse, holder, micro(need), micro(want), partial))
      if (holder !== this.#o.holder()) return null // the recovery of the old id has given the grant back
      this.leased += grant.granted
      this.known = grant.purse
      this.chargedSince = 0
      if (this.#closed && overcharges === this.#overcharges) this.#open(grant)
      return grant
    } catch (error) {
      this.#failed(error)
      return null
    }
  }

  async #counted(call: Promise<Grant>): Promise<Grant> {
    const { counts, health } = this.#o
    let result: LeaseResult = 'failed'
    counts('begun')
    try {
      const grant = await health.watch(call)
      result = grant.granted > 0 ? 'granted' : 'nothing'
      return grant
    } finally {
      counts(result)
    }
  }

  /**
   * The store has said what the purse has after a charge above a lease. What is leased beyond that is nobody's: this
   * process gives back of it what it can, and asks the others to.
   */
  #open({ purse, elsewhere }: Grant): void {
    this.#closed = false
    if (purse.credit === null) return
    const missing = purse.spent + purse.leased - purse.credit
    if (missing <= 0) return
    this.#handBack(Math.min(missing, this.idle))
    if (elsewhere.leased > 0) this.#o.store.books.recall(this.purse).catch(error => this.#failed(error))
  }

  #failed(error: unknown): void {
    if (error instanceof StoreUnavailable) return
    this.#o.log.error({ err: error, purse: this.purse }, 'the store failed at a lease')
  }

  /** Asks the store for money before a request needs it, and so learns what the purse has. Never rejects. */
  async prepare(want: number): Promise<void> {
    if (this.known === null && this.#o.health.state === 'ok') await (this.#call ?? this.#renew(want))
  }

  #renew(want: number): Promise<unknown> {
    return this.#ask(() => ({ need: 0, want, partial: false }))
  }

  /** The amount that a renewal would ask for. */
  get ahead(): number {
    return this.#ahead(0)
  }

  #ahead(amount: number): number {
    const ahead = this.#burn.peakHeld + this.#burn.perMs(this.#now) * (AHEAD_MS + this.#leftMs)
    return Math.min(MOST_ASKED, Math.ceil(Math.max(amount * MORE_LIKE_IT, ahead)))
  }

  #renewAhead(now: number): void {
    if (this.#call !== null || this.#busy) return
    if (now < this.#renewFromMs) return
    if (this.idle >= this.#burn.peakHeld / 2 + this.#burn.perMs(now) * this.#leftMs) return
    this.#renewFromMs = now + RENEW_PAUSE_MS
    if (this.#contested || !this.#o.health.takesWrites) return
    void this.#renew(this.#ahead(0))
  }

  /** Another process has asked the store for more than was free. */
  recalled(): void {
    this.#contestedUntilMs = this.#now + CONTESTED_MS
    if (this.#line.length === 0) this.giveBackIdle()
    this.#bookSoon()
  }

  /**
   * Another process waits for this purse: what was charged is sent to the store at once, so that the other one hears that it
   * is spent before its request has waited too long.
   */
  #bookSoon(): void {
    this.#unbooked = true
    if (this.#booking) return
    this.#booking = true
    void this.#bookAll().finally(() => (this.#booking = false))
  }

  async #bookAll(): Promise<void> {
    try {
      while (this.#unbooked) {
        this.#unbooked = false
        // what was under way already may lack the last charge
        for (let i = 0; i < 2; i++) if (!(await this.#o.book())) break
      }
    } catch (error) {
      this.#failed(error)
    }
  }

  giveBackIdle(): void {
    if (this.#line.length === 0) this.#handBack()
  }

  #handBack(amount = this.idle): void {
    if (amount <= 0) return
    this.leased -= amount
    const holder = this.#o.holder()
    this.#returning = this.#returning.then(() => this.#giveBack(holder, amount))
  }

  async #giveBack(holder: string, amount: number): Promise<void> {
    try {
      await this.#o.store.books.giveBack(this.purse, holder, micro(amount))
    } catch (error) {
      this.#failed(error) // the store completes the give-back when the engine is back
    }
  }

  /** Empties the lease: this process was taken for dead, so the store has given it back to its purse. */
  lost(): void {
    this.leased = 0
  }
}

// --- why a hold does not fit into a purse

/** The most to ask for at once, in micro-CNY: the store multiplies amounts, which must stay safe integers. */
const MOST_ASKED = 500_000_000_000_000

/** The reason why there is no hold: too little money (`available` is what no open request holds, `held` what they hold), or no answer of the store. */
export type Denial = { denied: 'money'; purse: Purse; available: Micro; held: Micro } | { denied: 'store' }

/** True when `amount` would fit if all other processes gave their leases of this purse back. `held`: by this process. */
function mayCome({ elsewhere, purse }: Grant, held: number, amount: number): boolean {
  if (elsewhere.leased === 0) return false
  const { credit, spent } = purse
  return credit !== null && credit - spent - held >= amount
}

/**
 * The purse's credit without charges (also those on their way to the store) and open holds, here and elsewhere. `here`
 * is the lease of this process.
 */
function availableIn({ purse, elsewhere }: Grant, here: { leased: number; held: number }): Micro {
  const { credit, spent, leased } = purse
  if (credit === null) return micro(MOST_ASKED)
  const unsettled = Math.max(0, leased - elsewhere.leased - here.leased)
  return micro(credit - spent - unsettled - here.held - elsewhere.held)
}

// --- how fast a purse is used

/** The time constant of the decay. */
const BURN_MS = 10_000
/** In the first moments after the first charge, the average is taken over this time: one charge is no fast flow yet. */
const SHORTEST_MS = 1_000

/**
 * The rate at which a purse is being used: the charges per ms, as an exponentially decaying average, and the decaying maximum of what was
 * held at once. A lease is sized by these two numbers.
 */
export class Burn {
  /**
   * The decaying average of charges per ms, as it was at the last charge. It is too low at first, because it begins at 0;
   * `perMs` corrects that.
   */
  #average = 0
  #atMs: number
  /** The time of the first charge; null before it. */
  #fromMs: number | null = null
  /** The decaying maximum of the sum of open holds. */
  peakHeld = 0

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  charge(amount: number, held: number, nowMs: number): void {
    this.#fromMs ??= nowMs
    const kept = Math.exp(-(nowMs - this.#atMs) / BURN_MS)
    this.#atMs = nowMs
    this.#average = this.#average * kept + amount / BURN_MS
    this.peakHeld = Math.max(held, this.peakHeld * kept)
  }

  hold(held: number): void {
    if (held > this.peakHeld) this.peakHeld = held
  }

  /** Charges per ms, averaged over the time since the first charge. */
  perMs(nowMs: number): number {
    if (this.#fromMs === null) return 0
    return this.#average / (1 - Math.exp(-Math.max(SHORTEST_MS, nowMs - this.#fromMs) / BURN_MS))
  }
}
