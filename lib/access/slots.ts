/**
 * The slots of one account's rate window that one process has in hand: permissions, taken from the window in the store
 * ahead of need, to admit one request each.
 *
 * Every slot in hand is counted in the store already ("booked"), in the last part of the window in which it may be used
 * (`until`). So the process can use it without asking, and no other process can. Each use is noted with the part in
 * which it really happened. The next write (an `SlotOffer`) takes back what was booked at `until`, and adds the uses in
 * their own parts and the slots then in hand. When it is uncertain whether the store accepted an offer, its slots count
 * twice rather than never: an account may get fewer requests than its limit, but never more.
 */
import { processName } from '../base/ids.ts'
import { PART_MS_PER_MINUTE, RateState, type RateWindow, WINDOW_PARTS } from './window.ts'

/** Slots are taken ahead for the requests of this long. */
const AHEAD_MS = 10_000
/** Slots are renewed after this long, or when a quarter (1 / RENEW_PART) of those taken ahead is left. */
const RENEW_MS = 7_000
const RENEW_PART = 4
/** At most an eighth of the free slots is taken ahead. */
const AHEAD_PART = 8
/**
 * Nothing is taken ahead when less than an eighth of the limit is free: the last slots are for requests that need them.
 */
const LAST_PART = 8
/** Unused slots are given back when less than a quarter of the limit is free. */
const NEAR_PART = 4
/**
 * The most uncertain offers that are remembered. There are many only while the store can be read but not written. If it
 * accepted one that is forgotten here, that one counts twice.
 */
const MOST_DOUBTS = 4

export class Slots {
  readonly minutes: number
  /** Counts all requests, admitted or not. */
  readonly flow = new Flow()
  inHand = 0
  /** The text of the window in the store, as last seen. */
  state = ''
  /** The number of slots that the store counts for this process at part `#until`. */
  #booked = 0
  #until = 0
  /** The limit under which the slots in hand were taken; under a lower limit they must not be used. */
  limit = 0
  #uses = new Uses()
  readonly #writer = processName()
  /** The offer that was sent to the store and is not answered yet. */
  #underWay: SlotOffer | null = null
  /**
   * Offers of which nobody knows whether the store accepted them. All were to replace `#doubtVersion`, so the store
   * accepted at most one, and its text tells which.
   */
  #doubts: SlotOffer[] = []
  #doubtVersion = 0
  /** Slots are renewed when no more than `#low` slots are in hand, or from `#renewMs` on. */
  #low = 0
  #renewMs = 0
  /** The time at which a slot was last used. */
  #usedMs = 0
  /** Slots that nobody had taken when the store was last written or the window was last looked at, and when the next one is free, in ms. */
  #left = 0
  #nextFreeMs = 0
  /** Few slots of the window were left when the store was last written. */
  #near = false

  constructor(minutes: number) {
    this.minutes = minutes
  }

  /** Uses a slot in hand; false = there is none. `now` is in ms and never goes back. */
  use(now: number, limit: number): boolean {
    if (this.inHand === 0 || limit < this.limit) return false
    const part = this.#part(now)
    if (part > this.#until) return false
    this.inHand--
    this.#uses.note(part, 1)
    this.#usedMs = now
    return true
  }

  #part(ms: number): number {
    return Math.floor(ms / (this.minutes * PART_MS_PER_MINUTE))
  }

  wantsRenewal(now: number): boolean {
    return this.inHand <= this.#low || now >= this.#renewMs
  }

  /** True when this process has slots booked that other processes may need. */
  get holds(): boolean {
    return this.inHand > 0 || (this.#near && this.#booked > 0)
  }

  /** True when slots should be given back: none was used for `idleMs`, and few are left for others or they are about to lapse. */
  shouldReturn(now: number, idleMs: number): boolean {
    return this.holds && now - this.#usedMs >= idleMs && (this.#near || now >= this.#renewMs)
  }

  /**
   * Makes a new text for the store, with slots for `need` waiting requests and, with `ahead`, for requests that will
   * come. Without `ahead` the slots in hand are given back. Otherwise they may be used on until the offer is answered,
   * unless they have lapsed.
   */
  offer(now: number, limit: number, need: number, ahead: boolean): SlotOffer {
    const state = new RateState(this.state)
    const window = this.#windowWithUses(state)
    if (!ahead || limit < this.limit || this.#part(now) > this.#until) this.inHand = 0
    const free = limit - window.used(now) - this.inHand
    const granted = Math.max(0, Math.min(need, free))
    const extra = ahead && granted === need ? this.#extra(now, limit, need, free - granted) : 0
    const inHand = this.inHand + granted + extra
    const until = this.#part(now + AHEAD_MS)
    window.add(until, inHand)
    return {
      text: state.toText(now, this.#writer),
      granted,
      inHand,
      until,
      left: Math.max(0, free - granted - extra),
      nextFreeMs: window.nextFreeMs(),
      near: (free - granted - extra) * NEAR_PART < limit,
      limit,
      idle: inHand === 0 && this.#booked === 0 && this.#uses.none,
      freeInMs: granted < need ? window.freeInMs(now, limit) : 0,
      uses: this.#uses,
    }
  }

  /** The window without the slots that are booked for this process, and with its uses instead. */
  #windowWithUses(state: RateState): RateWindow {
    const window = state.of(this.minutes)
    window.add(this.#until, -this.#booked)
    this.#uses.countIn(window)
    return window
  }

  /** The number of slots to take ahead of need; `rest` is how many are still free. */
  #extra(now: number, limit: number, need: number, rest: number): number {
    if (rest < need || rest * LAST_PART < limit) return 0
    const wanted = this.flow.expected(now, AHEAD_MS) - this.inHand
    return Math.max(0, Math.min(wanted, Math.floor(rest / AHEAD_PART)))
  }

  /** The offer has been sent. Later uses are noted apart from those that it counts. */
  sent(offer: SlotOffer): void {
    this.#underWay = offer
    this.#uses = new Uses()
  }

  /** The store accepted the offer. `used` slots were used while it was under way. */
  taken(offer: SlotOffer, now: number, used: number): void {
    this.#underWay = null
    this.#doubts = [] // this version replaced the one they were to replace: the store accepted none of them
    this.state = offer.text
    this.#booked = offer.inHand
    this.inHand = offer.inHand - used
    this.#until = offer.until
    this.limit = offer.limit
    this.#near = offer.near
    this.#left = offer.left
    this.#nextFreeMs = offer.nextFreeMs
    this.flow.restart(now)
    const ahead = this.inHand - offer.granted
    this.#low = ahead > 0 ? Math.floor(ahead / RENEW_PART) : 0
    this.#renewMs = now + RENEW_MS
  }

  /** The store refused the offer: another process had written meanwhile. */
  notTaken(offer: SlotOffer): void {
    this.#underWay = null
    this.#uses.noteAll(offer.uses)
  }

  /** Nobody knows whether the store accepted the offer, which was to replace `version`. */
  inDoubt(offer: SlotOffer, version: number): void {
    this.notTaken(offer)
    this.#doubts = [...this.#doubts, offer].slice(-MOST_DOUBTS)
    this.#doubtVersion = version
  }

  /**
   * Takes note of the text and the version that the store has now. A version after the doubtful one tells which
   * uncertain offer was accepted, if any; while the version is unchanged, an offer may still be accepted, so the doubt
   * remains.
   */
  see(state: string, version: number): void {
    this.state = state
    if (this.#doubts.length === 0 || version === this.#doubtVersion) return
    const isNext = version === this.#doubtVersion + 1
    const taken = this.#doubts.find(offer => isNext && offer.text === state)
    this.#doubts = []
    // whatever the store counts for this process stays there until it leaves the window
    this.#booked = taken?.inHand ?? 0
    if (taken === undefined) return
    this.#uses.takeBack(taken.uses)
    this.#until = taken.until
  }

  /** Admits a request while the store does not answer, by the window as last known. Returns 0, or the ms to wait. */
  useAlone(now: number, limit: number): number {
    const window = this.#windowWithUses(new RateState(this.state))
    this.#underWay?.uses.countIn(window)
    const part = this.#part(now)
    window.add(part, this.#underWay?.inHand ?? this.inHand)
    const waitMs = window.freeInMs(now, limit)
    if (waitMs > 0) return waitMs
    this.#uses.forget(part)
    this.#uses.note(part, 1)
    this.#usedMs = now
    window.add(part, 1)
    this.#left = Math.max(0, limit - window.used(now))
    this.#nextFreeMs = window.nextFreeMs()
    this.limit = limit
    return 0
  }

  /** How many requests more this window has room for under this limit, and in how many ms it has room for another one. */
  standing(now: number, limit: number): { left: number; moreInMs: number } {
    const left = Math.max(0, Math.min(limit, this.#left + this.inHand + limit - this.limit))
    const longestMs = this.minutes * PART_MS_PER_MINUTE * WINDOW_PARTS
    return { left, moreInMs: Math.min(longestMs, Math.max(0, this.#nextFreeMs - now)) }
  }
}

/**
 * The requests that this process has admitted and that the shared rate window in the store does not count yet, by the
 * part of the window in which they were admitted. `Slots` adds them to the window with its next write.
 */
class Uses {
  readonly #counts = new Map<number, number>()

  get none(): boolean {
    return this.#counts.size === 0
  }

  /** `part` is the number of a part since 1970; a negative `count` takes uses back. */
  note(part: number, count: number): void {
    const sum = (this.#counts.get(part) ?? 0) + count
    if (sum > 0) this.#counts.set(part, sum)
    else this.#counts.delete(part)
  }

  noteAll(others: Uses): void {
    for (const [part, count] of others.#counts) this.note(part, count)
  }

  takeBack(others: Uses): void {
    for (const [part, count] of others.#counts) this.note(part, -count)
  }

  countIn(window: RateWindow): void {
    for (const [part, count] of this.#counts) window.add(part, count)
  }

  /** Drops the uses that have left every window. */
  forget(nowPart: number): void {
    for (const part of this.#counts.keys()) if (part < nowPart - WINDOW_PARTS) this.#counts.delete(part)
  }
}

/**
 * An offer is one attempt of a process to write a new version of an account's rate window by compare-and-swap: the
 * new text, and what is true for this process once the store has accepted it.
 */
export interface SlotOffer {
  text: string
  /** The number of waiting requests that get a slot. */
  granted: number
  /** Slots in hand afterwards, granted ones included. */
  inHand: number
  /** Slots that are still free then. */
  left: number
  /** The time in ms at which the oldest request leaves the window; 0 = there is none. */
  nextFreeMs: number
  /** The part in which these slots are counted: the last in which they may be used. */
  until: number
  /** Few slots of the window are left. */
  near: boolean
  /** The limit under which the slots were taken. */
  limit: number
  /** The offer would change nothing, so it need not be written. */
  idle: boolean
  /** ms until a slot is free for a request that got none; 0 = all got one. */
  freeInMs: number
  /** The uses that the new text counts. */
  uses: Uses
}

/** The rate is measured over at least this long. */
const SHORTEST_MS = 1000

/**
 * Estimates how many requests will come in the next seconds from the rate at which they came since the last estimate.
 */
export class Flow {
  #count = 0
  #sinceMs = -1

  add(): void {
    this.#count++
  }

  /**
   * Requests expected in the next `ms`; 0 before the first `restart`, because a first request may stay the only one.
   */
  expected(now: number, ms: number): number {
    if (this.#sinceMs < 0) return 0
    return Math.floor((this.#count * ms) / Math.max(SHORTEST_MS, now - this.#sinceMs))
  }

  restart(now: number): void {
    this.#count = 0
    this.#sinceMs = now
  }
}
