/**
 * What the meters of streams and of documents have in common: both have the report of the upstream and a count of the
 * content, and derive from the two what the answer used.
 */
import type { ContentKeys } from './content-keys.ts'
import { ContentCounter } from './count.ts'
import type { PictureCounter } from './pictures.ts'
import type { Pass, Report } from './reports.ts'
import type { Usage } from './usage.ts'

export abstract class Counted {
  protected readonly counter: ContentCounter
  /** Counts pictures that are charged by the piece; null = they are not, or the protocol reports their number. */
  protected readonly pictures: PictureCounter | null

  constructor(keys: ContentKeys, pictures: PictureCounter | null) {
    this.counter = new ContentCounter(keys)
    this.pictures = pictures
  }

  protected abstract readonly reported: Report | null

  get usage(): Usage | null {
    const { reported, images } = this
    if (reported === null) return null
    if (this.pictures === null || images === 0) return reported.usage
    return { ...reported.usage, images, output: reported.usage.output - reported.drawn }
  }

  get images(): number {
    return this.pictures?.count ?? this.reported?.usage.images ?? 0
  }

  get passes(): readonly Pass[] {
    return this.reported?.passes ?? []
  }

  get counted(): number {
    return this.counter.tokens
  }

  get produced(): number {
    const { counted, pictures } = this
    const beside = pictures === null ? counted : Math.min(counted, this.counter.tokensBeside(pictures.characters))
    return Math.max(beside, this.usage?.output ?? 0)
  }

  /** Whether the upstream reported its output, also when it reported 0: what is reported is what is charged. */
  protected get namesOutput(): boolean {
    return this.reported?.namesOutput ?? false
  }
}
