/**
 * What the meters of streams and of documents have in common: both have the report of the upstream and a count of the
 * content, and derive from the two what the answer used.
 */

import { Calls } from './calls.ts'
import type { ContentKeys } from './content-keys.ts'
import { ContentCounter } from './count.ts'
import type { PictureCounter } from './pictures/counter.ts'
import type { Pass, Report } from './words/reports.ts'
import { Searches } from './searches.ts'
import type { UsedTool } from './words/server-tools.ts'
import { type CountedKind, outputOf, type Usage } from './words/usage.ts'

const NO_TOOLS: readonly UsedTool[] = []
const NO_KINDS: readonly CountedKind[] = []

export abstract class Counted {
  protected readonly counter: ContentCounter
  /** Counts pictures that are charged by the piece; null = they are not, or the protocol reports their number. */
  protected readonly pictures: PictureCounter | null
  /** Whether pictures are charged by the piece, so that their tokens are not. */
  readonly #byPiece: boolean
  /** null until one is seen, because most answers have none, and there are many. */
  #searches: Searches | null = null
  #calls: Calls | null = null

  constructor(keys: ContentKeys, pictures: PictureCounter | null, byPiece: boolean) {
    this.counter = new ContentCounter(keys)
    this.pictures = pictures
    this.#byPiece = byPiece
  }

  protected abstract readonly reported: Report | null

  get usage(): Usage | null {
    const { reported, images, searches } = this
    if (reported === null) return null
    const { usage } = reported
    return images === usage.images && searches === usage.searches ? usage : { ...usage, images, searches }
  }

  get images(): number {
    return this.pictures?.count ?? this.reported?.usage.images ?? 0
  }

  get pictureKinds(): readonly CountedKind[] {
    return this.pictures?.kinds ?? this.reported?.kinds ?? NO_KINDS
  }

  get searches(): number {
    return Math.max(this.reported?.usage.searches ?? 0, this.seenSearches)
  }

  get seenImages(): number {
    return this.pictures?.count ?? this.reported?.seenImages ?? 0
  }

  get seenSearches(): number {
    return this.#searches?.count ?? 0
  }

  /** Notes a search that is seen in the answer. `counts` false: the call proved to be no search. */
  search(key: string, counts = true): void {
    this.#searches ??= new Searches()
    this.#searches.note(key, counts)
  }

  /** Notes a call of another tool. `counts` false: an error came of it. */
  call(stem: string, key: string | null, counts = true, container: string | null = null): void {
    this.#calls ??= new Calls()
    this.#calls.note(stem, key, counts, container)
  }

  get tools(): readonly UsedTool[] {
    return this.#calls?.used ?? NO_TOOLS
  }

  get units(): number {
    return 0
  }

  get seconds(): number {
    return this.reported?.usage.seconds ?? 0
  }

  get secondsReported(): boolean {
    return this.seconds > 0
  }

  get passes(): readonly Pass[] {
    return this.reported?.passes ?? []
  }

  get thinks(): boolean {
    return this.counter.thinks || (this.reported?.thinks ?? false)
  }

  get counted(): number {
    return this.counter.tokens
  }

  get produced(): number {
    const { counted, pictures } = this
    const beside = pictures === null ? counted : Math.min(counted, this.counter.tokensBeside(pictures.characters))
    return Math.max(beside, this.reportedOutput)
  }

  get reportedOutput(): number {
    const { usage } = this
    if (usage === null) return 0
    return outputOf(usage) - (this.#byPiece && usage.images > 0 ? usage.output_image : 0)
  }

  /** Whether the upstream reported its output, also when it reported 0: what is reported is what is charged. */
  protected get namesOutput(): boolean {
    return this.reported?.namesOutput ?? false
  }
}
