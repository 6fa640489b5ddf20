/** The meter of answers that are one JSON document. The rules of a protocol say which members tell usage and errors. */

import type { ContentKeys } from './content-keys.ts'
import { Counted } from './counted.ts'
import { DocumentReader } from './document.ts'
import { idOf, saysError } from './event-text.ts'
import { ItemReader, type ItemRules, type Noting } from './items.ts'
import type { LengthStopState, Meter } from './meter.ts'
import type { PictureCounter } from './pictures/counter.ts'
import { type Report, type ToldTiers, tiersOf } from './words/reports.ts'
import type { TierNames } from './words/usage.ts'

/** What a protocol says about its answers that are documents. */
export interface DocumentRules {
  /** The top-level members whose values are read; `error` is always one of them. */
  readonly members: ReadonlySet<string>
  /** Top-level members of which every answer has one. Where such a member is an array, the content is in it. */
  readonly own: readonly string[]
  readonly keys: ContentKeys
  /** Whether nothing of an answer is output, so that its content is only noticed and not counted. */
  readonly writesNothing?: boolean
  /** `pieces`: how many strings of base64 have begun. `inItem`: usage that stands in one of the `items`. */
  reportOf(document: DocumentReader, pieces: number, inItem: unknown): Report | null
  /** Units of search that the document tells. Absent = the protocol has none. */
  unitsOf?(document: DocumentReader): number
  /** The names of tiers that the document tells. Absent = the protocol has none. */
  tiersOf?(document: DocumentReader): ToldTiers
  /** An array whose elements tell of searches, of usage, or of why the answer ended. */
  readonly items?: ItemRules
  /** Whether the document is an error in a provider's own form, without a member `error`. */
  failed?(document: DocumentReader): boolean
  /** Whether the document shows that the answer searched. */
  searched?(document: DocumentReader): boolean
  /** Whether the document says why it ended in a word that nobody knows, where its `items` do not say it. */
  unknownFinish?(document: DocumentReader): boolean
  /** The member that has the answer's id. Absent = `id`. It is one of `members`. */
  readonly id?: string
}

export class DocumentMeter extends Counted implements Meter, Noting {
  readonly #rules: DocumentRules
  readonly #document: DocumentReader
  readonly #mostOutput: number
  #reported: Report | null | undefined = undefined
  #blank = true
  #whole = false
  #inItem: unknown
  #unknownFinish = false

  /** `mostOutput`: as in `MeterOptions`. */
  constructor(
    rules: DocumentRules,
    mostOutput = Number.POSITIVE_INFINITY,
    pictures: PictureCounter | null = null,
    byPiece = pictures !== null,
  ) {
    super(rules.keys, pictures, byPiece)
    this.#rules = rules
    this.#mostOutput = mostOutput
    const reader = rules.items === undefined ? null : new ItemReader(rules.items, this)
    this.#document = new DocumentReader(rules.members, rules.own, reader)
  }

  feed(chunk: Buffer, text: string): void {
    this.#blank &&= text.trim() === ''
    this.#document.feed(chunk, text)
    this.pictures?.feed(chunk, text)
    this.#reported = undefined
    // what is reported need not be counted, as far as it can be true
    if (this.#document.complete && !this.failed && this.namesOutput && this.reportedOutput <= this.#mostOutput) return
    if (this.#rules.writesNothing && this.counter.tokens > 0) return
    this.counter.feed(text)
    this.#reported = undefined
  }

  end(whole: boolean): void {
    this.#whole = whole
  }

  protected get reported(): Report | null {
    if (this.#reported === undefined)
      this.#reported = this.#rules.reportOf(this.#document, this.counter.pieces, this.#inItem)
    return this.#reported
  }

  override get units(): number {
    return this.#rules.unitsOf?.(this.#document) ?? 0
  }

  get tiers(): TierNames {
    return tiersOf(this.#rules.tiersOf?.(this.#document) ?? {})
  }

  /** The value of one of the members that the rules name. */
  protected value(name: string): unknown {
    return this.#document.value(name)
  }

  override get counted(): number {
    // the text of an error is not content
    return this.failed && this.#rules.own.every(name => this.#document.itemsOf(name) === 0) ? 0 : super.counted
  }

  override get produced(): number {
    return this.#rules.writesNothing ? 0 : super.produced
  }

  get final(): boolean {
    return this.#document.complete && this.namesOutput
  }

  get terminal(): boolean {
    return this.#document.complete
  }

  get concluded(): boolean {
    return this.terminal && !this.failed
  }

  get failed(): boolean {
    return saysError(this.#document.value('error')) || (this.#rules.failed?.(this.#document) ?? false)
  }

  get undecided(): boolean {
    return false
  }

  get failedAlone(): boolean {
    return this.failed && this.counted === 0 && this.images === 0
  }

  get foreign(): boolean {
    const document = this.#document
    if (this.#blank || this.failed) return false
    if (document.complete) return !document.known && this.reported === null
    return document.bad || this.#whole
  }

  tellUsage(usage: unknown): void {
    this.#inItem ??= usage
  }

  override get searches(): number {
    const isSeen = this.#rules.searched?.(this.#document) ?? false
    return Math.max(super.searches, isSeen ? 1 : 0)
  }

  get unknownFinish(): boolean {
    return this.#unknownFinish || (this.#rules.unknownFinish?.(this.#document) ?? false)
  }

  set unknownFinish(isUnknown: boolean) {
    this.#unknownFinish = isUnknown
  }

  get answerId(): string | null {
    return idOf(this.#document.value(this.#rules.id ?? 'id'))
  }

  get atBoundary(): boolean {
    return false
  }

  get matters(): number {
    return 0
  }

  lengthStopState(): Partial<LengthStopState> {
    return {}
  }
}
