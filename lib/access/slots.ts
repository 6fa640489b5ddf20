/**
 * The slots of one account's rate window that one process has in hand: permissions, taken from the window in the store
 * ahead of need, to admit one request each.
 *
 * Every slot in hand is counted in the store already ("booked"), in the last part of the window in which it may be used
 * (`until`). So the process can use it without asking, and no other process can. Each use is noted with the part in
 * which it really happened. The next write (an `Offer`) takes back what was booked at `until`, and adds the uses in
 * their own parts and the slots then in hand. When it is uncertain whether the store accepted an offer, its slots count
 * twice rather than never: an account may get fewer requests than its limit, but never more.
 */
import { processName } from '../base/ids.ts'
import { Flow } from './flow.ts'
import type { Offer } from './offer.ts'
import { Uses } from './uses.ts'
import { PART_MS_PER_MINUTE, RateState, type RateWindow } from './window.ts'

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
  /** How many slots the store counts for this process at part `#until`. */
  #booked = 0
  #until = 0
  /** The limit under which the slots in hand were taken; under a lower limit they must not be used. */
  limit = 0
  #uses = new Uses()
  readonly #mark = processName()
  /** The offer that was sent to the store and is not answered yet. */
  #underWay: Offer | null = null
  /**
   * Offers of which nobody knows whether the store accepted them. All were to replace `#doubtVersion`, so the store
   * accepted at most one, and its text tells which.
   */
  #doubts: Offer[] = []
  #doubtVersion = 0
  /** It is time to renew when no more than `#low` slots are in hand, or from `#renewMs` on. */
  #low = 0
  #renewMs = 0
  /** When a slot was last used. */
  #usedMs = 0
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

  /** Whether this process has slots booked that other processes may need. */
  get holds(): boolean {
    return this.inHand > 0 || (this.#near && this.#booked > 0)
  }

  /** Whether to give slots back: none was used for `idleMs`, and few are left for others or they are about to lapse. */
  shouldReturn(now: number, idleMs: number): boolean {
    return this.holds && now - this.#usedMs >= idleMs && (this.#near || now >= this.#renewMs)
  }

  /**
   * Makes a new text for the store, with slots for `need` waiting requests and, with `ahead`, for requests that will
   * come. Without `ahead` the slots in hand are given back. Otherwise they may be used on until the offer is answered,
   * unless they have lapsed.
   */
  offer(now: number, limit: number, need: number, ahead: boolean): Offer {
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
      text: state.toText(now, this.#mark),
      granted,
      inHand,
      until,
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

  /** How many slots to take ahead of need; `rest` is how many are still free. */
  #extra(now: number, limit: number, need: number, rest: number): number {
    if (rest < need || rest * LAST_PART < limit) return 0
    const wanted = this.flow.expected(now, AHEAD_MS) - this.inHand
    return Math.max(0, Math.min(wanted, Math.floor(rest / AHEAD_PART)))
  }

  /** The offer has been sent. Later uses are noted apart from those that it counts. */
  sent(offer: Offer): void {
    this.#underWay = offer
    this.#uses = new Uses()
  }

  /** The store accepted the offer. `used` slots were used while it was under way. */
  taken(offer: Offer, now: number, used: number): void {
    this.#underWay = null
    this.#doubts = [] // this version replaced the one they were to replace: the store accepted none of them
    this.state = offer.text
    this.#booked = offer.inHand
    this.inHand = offer.inHand - used
    this.#until = offer.until
    this.limit = offer.limit
    this.#near = offer.near
    this.flow.restart(now)
    const ahead = this.inHand - offer.granted
    this.#low = ahead > 0 ? Math.floor(ahead / RENEW_PART) : 0
    this.#renewMs = now + RENEW_MS
  }

  /** The store refused the offer: another process had written meanwhile. */
  notTaken(offer: Offer): void {
    this.#underWay = null
    this.#uses.noteAll(offer.uses)
  }

  /** Nobody knows whether the store accepted the offer, which was to replace `version`. */
  inDoubt(offer: Offer, version: number): void {
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
    return 0
  }
}
