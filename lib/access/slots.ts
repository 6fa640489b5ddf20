/**
 * What one process holds of one account's rate window: slots in hand, taken from the window in the store ahead of need.
 *
 * Every slot in hand is counted in the store already, in the last part in which it may be used (`until`); so it can be
 * used without asking, and nobody else can use it. Each use is noted with the part it really fell into. With the next
 * offer to the store the process takes its count at `until` back and puts there instead: its uses, each in its own part,
 * and the slots that it has in hand then. Whatever is uncertain (did the store take the last offer?) counts twice
 * rather than never.
 */
import { processName } from '../base/ids.ts'
import { Flow } from './flow.ts'
import type { Offer } from './offer.ts'
import { Uses } from './uses.ts'
import { PART_MS_PER_MINUTE, RateState, type RateWindow } from './window.ts'

/** Slots are taken for so long of the flow … */
const AHEAD_MS = 10_000
/** … and renewed before they end. */
const RENEW_MS = 7_000
const RENEW_PART = 4
/** What is ahead of need is at most this part of what is free … */
const AHEAD_PART = 8
/** … and there is nothing ahead when less than this part of the limit is free: the last slots are for who needs them. */
const LAST_PART = 8
/** Nor does anything stay in hand unused when less than this part is free. */
const NEAR_PART = 4
/** Many are in doubt only while the store can be read and takes nothing. If it took one that is forgotten, that counts twice. */
const MOST_DOUBTS = 4

export class Slots {
  readonly minutes: number
  /** Of all who ask, served or not. */
  readonly flow = new Flow()
  inHand = 0
  /** The store's text as last seen. */
  state = ''
  /** Counted in the store at part `#until` for this process. */
  #booked = 0
  #until = 0
  /** The slots in hand were free under this limit; under a lower one they may not be. */
  limit = 0
  #uses = new Uses()
  readonly #mark = processName()
  /** Offered to the store, which has not answered yet. */
  #underWay: Offer | null = null
  /** All in place of one version, so the store took one of them at most, and what it holds tells which. */
  #doubts: Offer[] = []
  #doubtVersion = 0
  /** Below this many, or from this moment on, it is time to renew. */
  #low = 0
  #renewMs = 0
  #usedMs = 0
  /** Little was left when the store was last asked. */
  #near = false

  constructor(minutes: number) {
    this.minutes = minutes
  }

  /** `now`: ms of the account's own time line, which never goes back. */
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

  /** Something is counted for this process that others may need. */
  get holds(): boolean {
    return this.inHand > 0 || (this.#near && this.#booked > 0)
  }

  /** Nothing was used for `idleMs`, and others may need it now, or it is about to lapse. */
  shouldReturn(now: number, idleMs: number): boolean {
    return this.holds && now - this.#usedMs >= idleMs && (this.#near || now >= this.#renewMs)
  }

  /**
   * A new text for the store, with slots for `need` who wait and, if `ahead`, for those who will come. Until it is told
   * what became of it, what is in hand may go on being used, unless it has lapsed or is given back here.
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

  /** Without what was counted ahead for this process, and with what it really used. */
  #windowWithUses(state: RateState): RateWindow {
    const window = state.of(this.minutes)
    window.add(this.#until, -this.#booked)
    this.#uses.countIn(window)
    return window
  }

  #extra(now: number, limit: number, need: number, rest: number): number {
    if (rest < need || rest * LAST_PART < limit) return 0
    const wanted = this.flow.expected(now, AHEAD_MS) - this.inHand
    return Math.max(0, Math.min(wanted, Math.floor(rest / AHEAD_PART)))
  }

  /** From here on uses are noted apart from those that the offer counts. */
  sent(offer: Offer): void {
    this.#underWay = offer
    this.#uses = new Uses()
  }

  /** `used` of what was in hand at the offer went while it was under way. */
  taken(offer: Offer, now: number, used: number): void {
    this.#underWay = null
    this.#doubts = [] // whatever was offered before came too late
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

  notTaken(offer: Offer): void {
    this.#underWay = null
    this.#uses.noteAll(offer.uses)
  }

  /** The store was offered a text in place of that `version`, and nobody knows whether it took it. */
  inDoubt(offer: Offer, version: number): void {
    this.notTaken(offer)
    this.#doubts = [...this.#doubts, offer].slice(-MOST_DOUBTS)
    this.#doubtVersion = version
  }

  /** What the store holds now, which may tell how a doubt came out. As long as it may still be taken, it stays one. */
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

  /** Without the store: by what was last known of the window, and what was used here since. 0, or ms to wait. */
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
