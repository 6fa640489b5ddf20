/**
 * Lets a hold grow while the answer comes. At first only some output is paid for, and more money is set aside ahead of what is
 * produced or reported; for most chunks that is one comparison. When the money in memory is spent, the upstream waits until the
 * store has been asked. When the account has no more, the client has got what is paid for, and not a token more.
 */
import { micro } from '../../base/money.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { AnswerHold, Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { UsedTool } from '../../protocols/words/server-tools.ts'
import type { Exchange } from '../record/exchange.ts'
import { guard } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

/** Towards the end of the money ever smaller steps are asked for, down to what so many tokens cost. */
const SMALLEST_TOKENS = 16

const NO_TOOLS: readonly UsedTool[] = []

export class Growth {
  readonly #x: Exchange
  readonly #services: Services
  readonly #hold: Hold
  /** Called when the store has answered: `covers` may say something else now. */
  readonly #onGrown: () => void
  readonly #answer: AnswerHold
  readonly #produced = { tokens: 0, images: 0, searches: 0, seconds: 0, fees: 0 }
  /** All in micro-CNY: by how much the hold grows, at least, and what it has for the answer. */
  readonly #step: number
  readonly #smallest: number
  #covered: number
  #exhausted = false
  #kept: Buffer[] = []
  #boundaryBeforeKept: boolean | null = null
  /** The store was asked for money, and has not answered. */
  waiting = false
  /** Output tokens in what went on to the client. */
  delivered = 0
  deliveredImages = 0
  deliveredSearches = 0
  deliveredTools = NO_TOOLS

  constructor(x: Exchange, services: Services, hold: Hold, onGrown: () => void) {
    this.#x = x
    this.#services = services
    this.#hold = hold
    this.#onGrown = onGrown
    const answer = (this.#answer = x.answerHold as AnswerHold)
    this.#step = this.#costOf(x.coveredOutput, 0, 0)
    this.#smallest = Math.max(1, this.#costOf(SMALLEST_TOKENS, 0, 0))
    this.#covered = answer.held
    // what is held for seconds stands beside the output, and does not pay for it
    this.#produced.seconds = answer.most.seconds
  }

  #costOf(tokens: number, images: number, searches: number, fees = 0): number {
    const produced = this.#produced
    produced.tokens = tokens
    produced.images = images
    produced.searches = searches
    produced.fees = fees
    return this.#answer.cost(produced)
  }

  /** True when an answer that has so much so far may go on to the client. The hold grows ahead of need. */
  covers(tokens: number, images: number, searches: number, tools = NO_TOOLS): boolean {
    const { tariff, facts } = this.#x
    const fees = tools.length === 0 ? 0 : (tariff as Tariff).toolsCost((facts as Facts).tools, tools)
    const cost = this.#costOf(tokens, images, searches, fees)
    while (!this.#exhausted && !this.waiting) {
      const short = Math.ceil(cost + this.#step / 2 - this.#covered)
      if (short <= 0) break
      this.#grow(Math.max(this.#step, short)) // a reported number may be far above what was seen
    }
    if (cost > this.#covered) return false
    this.delivered = tokens
    this.deliveredImages = images
    this.deliveredSearches = searches
    this.deliveredTools = tools
    return true
  }

  #grow(by: number): void {
    const amount = micro(by)
    const { ledger } = this.#services
    if (ledger.grow(this.#hold, amount)) {
      this.#covered += amount
      return
    }
    this.waiting = true
    ledger.growLater(this.#hold, amount).then(
      grown => guard(this.#x, this.#services, () => this.#answered(amount, grown)),
      // the store does not answer, so no more is to be had than is paid for
      () => guard(this.#x, this.#services, () => this.#answered(0, false)),
    )
  }

  #answered(amount: number, grown: boolean): void {
    this.waiting = false
    if (this.#x.row !== null) return // it was settled meanwhile, and the ledger has taken back what came late
    if (grown) this.#covered += amount
    else if (amount > this.#smallest) {
      this.#grow(Math.max(this.#smallest, Math.floor(amount / 4)))
      if (this.waiting) return
    } else this.#exhausted = true
    if (this.#kept.length > 0) this.#onGrown()
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
