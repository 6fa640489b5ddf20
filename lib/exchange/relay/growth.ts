/**
 * A hold that grows while the answer comes, whatever its form: at first only some output is covered, and more is set aside
 * ahead of what is produced or reported. Usually that is one comparison per chunk. When the lease in memory is spent the
 * upstream waits for the store; when the money has ended what is covered was delivered, and not a token more.
 */
import type { Hold } from '../../ledger/ledger.ts'
import { Tariff } from '../../pricing/tariff.ts'
import type { Exchange } from '../exchange.ts'
import { guard } from '../fail.ts'
import { tariffOfPass } from '../passes.ts'
import type { Services } from '../services.ts'

/** The last of the money is asked for in ever smaller steps, down to this many units of the tariff. */
const SMALLEST_STEP = 16

export interface GrowthEvents {
  /** A wait is over: `covers` is to be asked again. */
  onGrown(): void
}

export class Growth {
  readonly #x: Exchange
  readonly #services: Services
  readonly #hold: Hold
  readonly #events: GrowthEvents
  readonly #step: number
  /** Of the dearest model that may take part in the answer. */
  readonly #tariff: Tariff
  #covered: number
  #exhausted = false
  #kept: Buffer[] = []
  #boundaryBeforeKept: boolean | null = null
  /** An answer of the store's is under way. */
  waiting = false
  /** Output tokens and pictures in what went on to the client. */
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

  /** May an answer of so many output tokens and pictures so far go on to the client? Grows ahead of need. */
  covers(tokens: number, images: number): boolean {
    const units = this.#tariff.units(tokens, images)
    while (!this.#exhausted && !this.waiting) {
      const short = Math.ceil(units + this.#step / 2 - this.#covered)
      if (short <= 0) break
      this.#grow(Math.max(this.#step, short)) // a report may be far ahead of what was seen
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
      // the store is away: what is covered must do
      () => guard(this.#x, this.#services, () => this.#answered(SMALLEST_STEP, false)),
    )
  }

  #answered(units: number, grown: boolean): void {
    this.waiting = false
    if (this.#x.row !== null) return // settled meanwhile; the ledger has taken back what came late
    if (grown) this.#covered += units
    else if (units > SMALLEST_STEP) {
      this.#grow(Math.max(SMALLEST_STEP, Math.floor(units / 4)))
      if (this.waiting) return
    } else this.#exhausted = true
    if (this.#kept.length > 0) this.#events.onGrown()
  }

  /** Holds a chunk back until it is covered. `boundary`: what went on before it ended between two events. */
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

  /** Where the client's bytes ended, while something is held back; null = nothing is. */
  get atBoundary(): boolean | null {
    return this.#boundaryBeforeKept
  }

  get holdsBack(): boolean {
    return this.#kept.length > 0
  }
}
