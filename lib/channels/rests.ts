/**
 * Rests of a channel and model: times in which they are not asked, for one account or for all. They outlive reloads, as
 * the breakers do, and all workers of a gateway know of them.
 *
 * An upstream that says it is too busy (429, 529) may say so because of the request: a prompt above a limit of tokens, a
 * feature that was not granted. So whoever caused it rests, and others nearly not at all:
 *   own     The account that was told so does not ask the channel for the model, for the time that the upstream named,
 *           at most ten minutes; without one for 5 s, each further time twice as long, up to a minute. The first time
 *           that names none, or a second at most, is a guess: where the account has no other channel, one request
 *           finds out, and its answer ends the rest.
 *   brief   Where the upstream named a time, all others wait too, for at most 2 s, and once in ten minutes for a channel and
 *           model, whoever caused it.
 *   long    When three accounts were told so and nobody was answered in between, all rest. One request a second is let
 *           through then, of the accounts in turn and first of those that were not told so. The first answer to one of
 *           these ends the rest for all but the accounts that were told to wait.
 * Other parts of the gateway may order a rest too (`rest`).
 *
 * A channel with several keys has such rests for each of its keys, because a limit is the key's. While nothing rests, a
 * request pays one comparison with `untilMs`.
 */
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'

/** The thing that rests. `key`: fingerprint of one of a channel's several keys; empty = the channel. `model`: the upstream's name. */
export interface RestPlace {
  readonly channel: string
  readonly key: string
  readonly model: string
}

/**
 * `busy`: the upstream said that it is too busy. `disputed`: it reported more than can be. `unpaid`: it wrote too much for the account
 * that the account did not pay.
 */
type RestReason = 'busy' | 'disputed' | 'unpaid'

/** An account was told to wait. */
interface Told {
  readonly account: number
  readonly ms: number
  /** The number of times in a row before. */
  readonly times: number
  /** The upstream named a time. */
  readonly isNamed: boolean
  /** A request may find out whether the time is right. */
  readonly isGuess: boolean
}

/** A message of one process to the other ones of the same gateway. Times are durations, because clocks of processes differ. */
export type RestEvent = { readonly at: RestPlace } & (
  | ({ readonly what: 'busy' } & Told)
  | { readonly what: 'rest'; readonly account: number | null; readonly ms: number; readonly why: RestReason }
  | { readonly what: 'passed' | 'answered'; readonly account: number }
)

/** A rest has begun. `scope`: for whom. */
export interface RestNote {
  readonly at: RestPlace
  readonly scope: 'account' | 'others' | 'all'
  readonly ms: number
  readonly why: RestReason
}

export interface RestsOptions {
  clock: Clock
  /** Tells the other processes of this gateway. */
  tell?: (event: RestEvent) => void
  /** A rest began by what this process learnt. */
  onRest?: (note: RestNote) => void
  /** The memory for rests of accounts is full, and the one that was needed least lately is forgotten. */
  onForgotten?: () => void
  mostAccounts?: number
}

/** The longest `retry-after` that is believed. */
const LONGEST_NAMED_MS = 600_000
const FIRST_MS = 5_000
const LONGEST_MS = 60_000
const BRIEF_MS = 2_000
const BRIEF_AGAIN_MS = 600_000
/** The number of accounts that must be told to wait, within this time, before all rest. */
const FEWEST_ACCOUNTS = 3
const COUNTED_MS = 60_000
/** While all rest, one request in this time is let through. */
const TURN_MS = 1_000
/** Who has no turn yet is told to come back after this time, */
const TOLD_MS = 2_000
/** and counts as waiting for this long. */
const WAITS_MS = 3_000
/** A first rest of at most this is a guess. */
const SHORT_MS = 1_000
/** How long after its end a rest is remembered, so that the next one is twice as long. */
const REMEMBERED_MS = 60_000
/** A rest that would grow by less is not told to others. */
const WORTH_TELLING_MS = 500

const MOST_PLACES = 10_000
const MOST_ACCOUNTS = 100_000
const MOST_TURNS = 64

/** The rest of one account at one place; monotonic ms. */
interface Own {
  busyUntilMs: number
  /** When it was last told that the upstream is too busy. */
  toldMs: number
  /** How often in a row. */
  times: number
  /** How long it rests was not said, or is nearly nothing: a request may find out. */
  isGuess: boolean
  /** One does, or did. */
  isTried: boolean
  orderedUntilMs: number
}

/** When an account last wanted to pass, and when it was last let through. */
interface Turn {
  askedMs: number
  passedMs: number
}

const NEVER = Number.NEGATIVE_INFINITY

class Place {
  /** Sets the accounts of this place apart from those of others. */
  readonly id: number
  briefUntilMs = NEVER
  longUntilMs = NEVER
  orderedUntilMs = NEVER
  /** Accounts that were told to wait since anybody was answered, with the time; at most three. */
  readonly told = new Map<number, number>()
  /** When the first of them was told. */
  sinceMs = NEVER
  passedMs = NEVER
  readonly turns = latest<number, Turn>(MOST_TURNS)

  constructor(id: number) {
    this.id = id
  }
}

export class Rests {
  /** Nothing rests from then on, monotonic ms: whoever asks looks at this first, and mostly at nothing else. */
  untilMs = NEVER
  /** Until then answers are of interest: something rests, or rested lately. */
  mindsUntilMs = NEVER
  readonly #options: RestsOptions
  readonly #places = latest<string, Place>(MOST_PLACES)
  readonly #own: ReturnType<typeof latest<string, Own>>
  /** By channel and model: when others may next be made to wait for one account's sake. */
  readonly #briefAgainMs = latest<string, number>(MOST_PLACES)
  #nextId = 0

  constructor(options: RestsOptions) {
    this.#options = options
    this.#own = latest(options.mostAccounts ?? MOST_ACCOUNTS, (_own, _key, why) => {
      if (why === 'evict') options.onForgotten?.()
    })
  }

  // --- what rests

  /**
   * Whether a request of the account may be sent there. `asTurn`: also as one of those that are let through while all
   * rest; asking notes that the account waits for its turn.
   */
  mayAsk(channel: string, key: string, model: string, account: number, nowMs: number, asTurn: boolean): boolean {
    const place = this.#places.get(nameOf(channel, key, model))
    if (place === undefined) return true
    const own = this.#own.get(ownName(place, account))
    if (nowMs < place.orderedUntilMs || nowMs < (own?.orderedUntilMs ?? NEVER)) return false
    if (nowMs < place.longUntilMs) return asTurn && this.#hasTurn(place, account, nowMs)
    return nowMs >= place.briefUntilMs && nowMs >= (own?.busyUntilMs ?? NEVER)
  }

  /** Whether a request of the account that has no other channel may be sent there, to find out whether it is still busy. */
  mayFindOut(channel: string, model: string, account: number, nowMs: number): boolean {
    const place = this.#places.get(nameOf(channel, '', model))
    const own = place === undefined ? undefined : this.#own.get(ownName(place, account))
    if (place === undefined || own === undefined || nowMs < place.orderedUntilMs || nowMs < own.orderedUntilMs)
      return false
    return nowMs >= place.longUntilMs && nowMs < own.busyUntilMs && own.isGuess && !own.isTried
  }

  /** Why a request of the account may not be sent there, and for how long; null = it may. */
  restOf(
    { channel, key, model }: RestPlace,
    account: number,
    nowMs: number,
  ): { ms: number; why: 'busy' | 'ordered' } | null {
    const place = nowMs < this.untilMs ? this.#places.get(nameOf(channel, key, model)) : undefined
    if (place === undefined) return null
    const own = this.#own.get(ownName(place, account))
    const orderedMs = Math.max(place.orderedUntilMs, own?.orderedUntilMs ?? NEVER) - nowMs
    const busyMs = Math.max(
      place.briefUntilMs - nowMs,
      (own?.busyUntilMs ?? NEVER) - nowMs,
      Math.min(place.longUntilMs - nowMs, TOLD_MS),
    )
    if (Math.max(orderedMs, busyMs) <= 0) return null
    return orderedMs > busyMs ? { ms: orderedMs, why: 'ordered' } : { ms: busyMs, why: 'busy' }
  }

  #hasTurn(place: Place, account: number, nowMs: number): boolean {
    const mine = turnAt(place, account)
    mine.askedMs = nowMs
    if (nowMs < place.passedMs + TURN_MS) return false
    const wasTold = this.#wasTold(place, account, nowMs)
    for (const [other, turn] of place.turns.entries()) {
      if (other === account || nowMs - turn.askedMs >= WAITS_MS) continue
      const otherWasTold = this.#wasTold(place, other, nowMs)
      if (otherWasTold === wasTold ? turn.passedMs < mine.passedMs : wasTold) return false
    }
    return true
  }

  #wasTold(place: Place, account: number, nowMs: number): boolean {
    const own = this.#own.get(ownName(place, account))
    return own !== undefined && (nowMs < own.busyUntilMs || own.toldMs >= place.sinceMs)
  }

  /** Notes that a request is sent there. Returns true when it was let through while it rests for the account, or for all. */
  admit(at: RestPlace, account: number, nowMs: number): boolean {
    const place = this.#find(at)
    const own = this.#ownAt(at, account)
    const finds = own !== undefined && nowMs < own.busyUntilMs && own.isGuess
    if (place === undefined || (nowMs >= place.longUntilMs && !finds)) return false
    this.#pass(place, account, nowMs)
    this.#options.tell?.({ what: 'passed', at, account })
    return true
  }

  #pass(place: Place, account: number, nowMs: number): void {
    const own = this.#own.get(ownName(place, account))
    if (own !== undefined) own.isTried = true
    if (nowMs >= place.longUntilMs) return
    place.passedMs = nowMs
    turnAt(place, account).passedMs = nowMs
  }

  /** A request that was let through was not sent: another one may be at once. */
  giveBack(at: RestPlace, account: number, nowMs: number): void {
    const place = this.#find(at)
    const own = this.#ownAt(at, account)
    if (place !== undefined) place.passedMs = Math.min(place.passedMs, nowMs - TURN_MS)
    if (own !== undefined) own.isTried = false
  }

  // --- what is learnt

  /** The upstream was too busy for a request that was sent at `sentMs`. `retryAfterS`: for how long; 0 = it did not say. */
  busy(at: RestPlace, account: number, sentMs: number, retryAfterS: number): void {
    const now = this.#options.clock.monotonic()
    const own = this.#ownAt(at, account)
    // what was under way when the account was told to wait is no further time
    const isSame = own !== undefined && sentMs < own.toldMs
    const isRemembered = own !== undefined && now < own.busyUntilMs + REMEMBERED_MS
    const times = isRemembered ? own.times + (isSame ? 0 : 1) : 0
    const unnamedMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(times, 10))
    const namedMs = Math.min(LONGEST_NAMED_MS, retryAfterS * 1000)
    const isNamed = namedMs > 0
    const ms = isNamed ? namedMs : unnamedMs
    const isGuess = namedMs <= SHORT_MS && (isSame ? own.isGuess : !isRemembered)
    if (isSame && now + ms < own.busyUntilMs + WORTH_TELLING_MS) return
    const told: Told = { account, ms, times, isNamed, isGuess }
    for (const note of this.#wait(at, told)) this.#options.onRest?.(note)
    this.#options.tell?.({ what: 'busy', at, ...told })
  }

  /** The upstream answered a request that was sent at `sentMs`: it was not too busy for it. */
  answered(at: RestPlace, account: number, sentMs: number): void {
    const now = this.#options.clock.monotonic()
    const place = this.#find(at)
    if (place === undefined) return
    const own = this.#own.get(ownName(place, account))
    const isOver = own !== undefined && sentMs >= own.toldMs && (now >= own.busyUntilMs || own.isGuess)
    if (!isOver && (place.told.size === 0 || sentMs < place.sinceMs)) return
    this.#end(place, account)
    this.#options.tell?.({ what: 'answered', at, account })
  }

  /** Others than the accounts that were told to wait need not; nor need this one, when its time is over. */
  #end(place: Place, account: number): void {
    const now = this.#options.clock.monotonic()
    place.told.clear()
    place.briefUntilMs = place.longUntilMs = place.passedMs = NEVER
    place.turns.clear()
    const name = ownName(place, account)
    const own = this.#own.get(name)
    if (own === undefined || (now < own.busyUntilMs && !own.isGuess)) return
    if (now >= own.orderedUntilMs) this.#own.delete(name)
    else {
      own.times = 0
      own.busyUntilMs = now
    }
  }

  /**
   * Orders a rest of a channel and model, for an account or (null) for all. `model`: the upstream's name of it.
   */
  rest(account: number | null, channel: string, model: string, ms: number, why: RestReason): void {
    const at = { channel, key: '', model }
    this.#order(at, account, ms)
    this.#options.onRest?.({ at, scope: account === null ? 'all' : 'account', ms, why })
    this.#options.tell?.({ what: 'rest', at, account, ms, why })
  }

  #order(at: RestPlace, account: number | null, ms: number): void {
    const untilMs = this.#options.clock.monotonic() + ms
    const place = this.#make(at)
    const whose = account === null ? place : this.#makeOwn(place, account)
    whose.orderedUntilMs = Math.max(whose.orderedUntilMs, untilMs)
    this.#minds(untilMs)
  }

  /** What another process has learnt. */
  hear(event: RestEvent): void {
    const { at } = event
    if (event.what === 'busy') this.#wait(at, event)
    else if (event.what === 'rest') this.#order(at, event.account, event.ms)
    else {
      const place = this.#find(at)
      if (place === undefined) return
      if (event.what === 'answered') this.#end(place, event.account)
      else this.#pass(place, event.account, this.#options.clock.monotonic())
    }
  }

  /** The rests of a channel that has changed, or is gone. */
  forget(channel: string): void {
    for (const name of this.#places.keys()) if (name.startsWith(`${channel}\n`)) this.#places.delete(name)
  }

  /** The account was told to wait. Returns what rests because of it. */
  #wait(at: RestPlace, { account, ms, times, isNamed, isGuess }: Told): RestNote[] {
    const now = this.#options.clock.monotonic()
    const place = this.#make(at)
    const own = this.#makeOwn(place, account)
    own.busyUntilMs = Math.max(own.busyUntilMs, now + ms)
    own.toldMs = now
    own.times = times
    own.isGuess = isGuess
    own.isTried = false
    const notes: RestNote[] = [{ at, scope: 'account', ms, why: 'busy' }]
    const briefMs = isNamed ? this.#briefMs(at, ms, now) : 0
    if (briefMs > 0) {
      place.briefUntilMs = now + briefMs
      notes.push({ at, scope: 'others', ms: briefMs, why: 'busy' })
    }
    const longMs = this.#longMs(place, account, ms, now)
    if (longMs > 0) {
      if (now >= place.longUntilMs) notes.push({ at, scope: 'all', ms: longMs, why: 'busy' })
      place.longUntilMs = Math.max(place.longUntilMs, now + longMs)
    }
    this.#minds(Math.max(own.busyUntilMs, place.longUntilMs))
    return notes
  }

  #briefMs({ channel, model }: RestPlace, ms: number, nowMs: number): number {
    const name = nameOf(channel, '', model)
    if (nowMs < (this.#briefAgainMs.get(name) ?? NEVER)) return 0
    this.#briefAgainMs.set(name, nowMs + BRIEF_AGAIN_MS)
    return Math.min(BRIEF_MS, ms)
  }

  /** For how long all rest, because this account was told to wait as well; 0 = they do not. */
  #longMs(place: Place, account: number, ms: number, nowMs: number): number {
    if (nowMs < place.longUntilMs) return ms
    for (const [other, toldMs] of place.told) if (nowMs - toldMs > COUNTED_MS) place.told.delete(other)
    if (place.told.size === 0) place.sinceMs = nowMs
    place.told.set(account, nowMs)
    if (place.told.size < FEWEST_ACCOUNTS) return 0
    // the shortest of what they were told, because the longest may be about one request
    let shortestMs = ms
    for (const other of place.told.keys()) {
      const untilMs = this.#own.get(ownName(place, other))?.busyUntilMs ?? NEVER
      if (untilMs > nowMs) shortestMs = Math.min(shortestMs, untilMs - nowMs)
    }
    return shortestMs
  }

  #minds(untilMs: number): void {
    this.untilMs = Math.max(this.untilMs, untilMs)
    this.mindsUntilMs = Math.max(this.mindsUntilMs, this.untilMs + REMEMBERED_MS)
  }

  #find({ channel, key, model }: RestPlace): Place | undefined {
    return this.#places.get(nameOf(channel, key, model))
  }

  #make({ channel, key, model }: RestPlace): Place {
    const name = nameOf(channel, key, model)
    let place = this.#places.get(name)
    if (place === undefined) this.#places.set(name, (place = new Place(++this.#nextId)))
    return place
  }

  #ownAt(at: RestPlace, account: number): Own | undefined {
    const place = this.#find(at)
    return place === undefined ? undefined : this.#own.get(ownName(place, account))
  }

  #makeOwn(place: Place, account: number): Own {
    const name = ownName(place, account)
    let own = this.#own.get(name)
    if (own === undefined)
      this.#own.set(
        name,
        (own = { busyUntilMs: NEVER, toldMs: NEVER, times: 0, isGuess: false, isTried: false, orderedUntilMs: NEVER }),
      )
    return own
  }
}

function turnAt({ turns }: Place, account: number): Turn {
  let turn = turns.get(account)
  if (turn === undefined) turns.set(account, (turn = { askedMs: NEVER, passedMs: NEVER }))
  return turn
}

const nameOf = (channel: string, key: string, model: string): string => `${channel}\n${key}\n${model}`
const ownName = ({ id }: Place, account: number): string => `${id} ${account}`
