/**
 * Lets a hold grow while the answer comes. At first only some output is paid for, and more money is set aside ahead of what is
 * produced or reported; for most chunks that is one comparison. When the money in memory is spent, the upstream waits until the
 * store has been asked. When the account has no more, the client has got what is paid for, and not a token more.
 */
import type { Hold } from '../../ledger/ledger.ts'
import { Tariff } from '../../pricing/tariff.ts'
import type { Exchange } from '../exchange.ts'
import { guard } from '../fail.ts'
import { tariffOfPass } from '../passes.ts'
import type { Services } from '../services.ts'

/** Towards the end of the money ever smaller steps are asked for, down to this many units of the tariff. */
const SMALLEST_STEP = 16

export interface GrowthEvents {
  /** The store has answered: `covers` may say something else now. */
  onGrown(): void
}

export class Growth {
  readonly #x: Exchange
  readonly #services: Services
  readonly #hold: Hold
  readonly #events: GrowthEvents
  readonly #step: number
  /** The prices of the dearest model that may take part in the answer. */
  readonly #tariff: Tariff
  #covered: number
  #exhausted = false
  #kept: Buffer[] = []
  #boundaryBeforeKept: boolean | null = null
  /** The store was asked for money, and has not answered. */
  waiting = false
  /** Output tokens in what went on to the client. */
  delivered = 0
  deliveredImages = 0

  constructor(x: Exchange, services: Services, hold: Hold, events: GrowthEvents) {
    this.#x = x
    this.#services = services
    this.#hold = hold
    this.#events = events
    this.#step = x.coveredOutput
    this.#covered = x.coveredUnits
    const others = x.facts?.otherModels ?? []
    const channel = x.claim?.candidate.channel
    this.#tariff = Tariff.dearest([x.tariff as Tariff, ...others.map(name => tariffOfPass(x, channel, name))])
  }

  /** True when an answer with so many output tokens and pictures so far may go on to the client. The hold grows ahead of need. */
  covers(tokens: number, images: number): boolean {
    const units = this.#tariff.units(tokens, images)
    while (!this.#exhausted && !this.waiting) {
      const short = Math.ceil(units + this.#step / 2 - this.#covered)
      if (short <= 0) break
      this.#grow(Math.max(this.#step, short)) // a reported number may be far above what was seen
    }
    if (units > this.#covered) return false
    this.delivered = tokens
    this.deliveredImages = images
    return true
  }

  #grow(units: number): void {
    const amount = this.#tariff.ofUnits(units)
    const { ledger } = this.#services
    if (ledger.grow(this.#hold, amount)) {
      this.#covered += units
      return
    }
    this.waiting = true
    ledger.growLater(this.#hold, amount).then(
      grown => guard(this.#x, this.#services, () => this.#answered(units, grown)),
      // the store does not answer, so no more is to be had than is paid for
      () => guard(this.#x, this.#services, () => this.#answered(SMALLEST_STEP, false)),
    )
  }

  #answered(units: number, grown: boolean): void {
    this.waiting = false
    if (this.#x.row !== null) return // it was settled meanwhile, and the ledger has taken back what came late
    if (grown) this.#covered += units
    else if (units > SMALLEST_STEP) {
      this.#grow(Math.max(SMALLEST_STEP, Math.floor(units / 4)))
      if (this.waiting) return
    } else this.#exhausted = true
    if (this.#kept.length > 0) this.#events.onGrown()
  }

  /** Holds a chunk back until it is paid for. `boundary`: what went on before it ends between two events. */
  keep(chunk: Buffer, boundary: boolean): void {
    this.#boundaryBeforeKept ??= boundary
    this.#kept.push(chunk)
  }

  release(): Buffer[] {
    const kept = this.#kept
    this.#kept = []
    this.#boundaryBeforeKept = null
    return kept
  }

  /** While something is held back: whether the client's bytes end between two events. null = nothing is held back. */
  get atBoundary(): boolean | null {
    return this.#boundaryBeforeKept
  }

  get holdsBack(): boolean {
    return this.#kept.length > 0
  }
}
