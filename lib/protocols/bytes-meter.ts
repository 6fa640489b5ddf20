/**
 * The meter of answers that are neither JSON nor events: sound, or plain text. Such an answer has no end of its own. It is
 * whole when as many bytes have come as its head announced, or when the connection says that it is.
 */
import { saysError } from './event-text.ts'
import { fieldsOf, parse } from './json/text.ts'
import type { Meter, MeterOptions } from './meter.ts'
import { NO_TIERS, type Usage } from './words/usage.ts'

/** An error in the place of an answer is not longer. */
const ERROR_BYTES = 4096

export abstract class BytesMeter implements Meter {
  readonly #announced: number
  /** The beginning of what may be an error; null = it is none. */
  #start: string | null = ''
  protected bytes = 0
  terminal = false
  failed = false
  readonly passes = []
  readonly pictureKinds = []
  readonly searches = 0
  readonly tools = []
  readonly seenImages = 0
  readonly seenSearches = 0
  readonly units = 0
  readonly tiers = NO_TIERS
  readonly reportedOutput = 0
  readonly images = 0
  readonly secondsReported = false
  readonly foreign = false
  readonly thinks = false
  readonly answerId = null
  readonly unknownFinish = false
  readonly undecided = false
  readonly atBoundary = false
  readonly matters = 0

  constructor({ bodyBytes = Number.POSITIVE_INFINITY }: Pick<MeterOptions, 'bodyBytes'>) {
    this.#announced = bodyBytes
  }

  feed(chunk: Buffer, text: string): void {
    this.bytes += chunk.length
    this.#lookForError(text)
    this.take(chunk, text)
    this.terminal = this.bytes >= this.#announced
  }

  protected abstract take(chunk: Buffer, text: string): void

  #lookForError(text: string): void {
    if (this.#start === null) return
    this.#start += text
    if (!this.#start.startsWith('{') || this.#start.length > ERROR_BYTES) this.#start = null
    else this.failed = saysError(fieldsOf(parse(this.#start))['error'])
  }

  end(whole: boolean): void {
    this.terminal ||= whole
  }

  abstract readonly usage: Usage | null
  abstract readonly seconds: number
  /** Output tokens of the content so far, as they are estimated. */
  protected abstract readonly content: number

  get counted(): number {
    return this.failed ? 0 : this.content
  }

  get produced(): number {
    return this.counted
  }

  get failedAlone(): boolean {
    return this.failed
  }

  get final(): boolean {
    return this.terminal && this.usage !== null
  }

  get concluded(): boolean {
    return this.terminal && !this.failed
  }

  lengthStopState() {
    return {}
  }
}
