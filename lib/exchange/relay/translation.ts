/**
 * The answer of an upstream on its way to a client of another protocol. What the upstream sends is read into small events, and
 * these are written as the client's bytes. The end of the answer is not among them: it is written when the charge is settled, with
 * the usage that was settled. What is kept in memory for it counts into the memory of request bodies.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { Protocol, Usage } from '../../terms/records.ts'
import type {
  LossWord,
  AnswerEvent,
  Failure,
  AnswerReader,
  AnswerWriter,
  ReaderOptions,
} from '../../translate/events.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import { issuerOf } from '../../translate/opaque.ts'
import { translated } from '../../translate/table.ts'
import type { AnswerJob, Result } from '../../translate/thread.ts'
import type { Exchange } from '../record/exchange.ts'
import { asksCost, wantsArray, wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { MOST_INLINE_BYTES } from '../record/translated-request.ts'

/** The upstream is not to blame for it. */
export const NO_MEMORY: Failure = {
  kind: 'server',
  status: 503,
  message: 'there is no room left for the answer',
}
const NOTHING = ''
const NO_EVENTS: readonly AnswerEvent[] = []

export class Translation {
  readonly #x: Exchange
  readonly #services: Services
  readonly #lane: TranslatedRequest
  readonly #options: ReaderOptions
  readonly #reader: AnswerReader
  #writer: AnswerWriter
  /** The upstream sends events; otherwise one document. */
  readonly events: boolean
  /** What was written before it was known that the answer is one. */
  #waiting = NOTHING
  /** What belongs to the answer has come. */
  hasContent = false
  /** The upstream's own failure, or that its answer cannot be read, or cannot be told; null = all is well. */
  failure: Failure | null = null
  #isFinished = false
  #heldBytes = 0
  /** Another thread reads the document. */
  #reading: { cancel(): void } | null = null
  /** The bytes of that document, until then. */
  #readingBytes = 0
  /** What it has found, until that is told; null = the document is read here. */
  #found: readonly AnswerEvent[] | null = null

  constructor(x: Exchange, services: Services, lane: TranslatedRequest, events: boolean) {
    this.#x = x
    this.#services = services
    this.#lane = lane
    this.events = events
    const issuer = issuerOf(lane.via, lane.target.model)
    const { query } = lane.ask
    const asked = query === undefined ? {} : { query }
    const { isLenient } = lane.target
    this.#options = { events, issuer, renamed: lane.renamed, requestId: x.id, isLenient, ...asked }
    this.#reader = translated(lane.via).answerReader(this.#options)
    this.#writer = this.#newWriter()
    this.#count()
  }

  #newWriter(): AnswerWriter {
    const x = this.#x
    const facts = x.facts as Facts
    return translated(x.protocol as Protocol).answerWriter({
      events: wantsEvents(x),
      array: wantsArray(x),
      model: x.model,
      requestId: x.id,
      createdS: Math.floor(this.#services.clock.now() / 1000),
      inputEstimate: (x.tariff as Tariff).estimatedInput(facts.prompt),
      tellsUsage: facts.includeUsage || asksCost(x),
      ask: this.#lane.ask,
    })
  }

  /** Takes what has come, and keeps what the client will be told of it. */
  wait(chunk: Buffer): void {
    this.#waiting += this.#told(this.#reader.push(chunk))
    this.#count()
  }

  /** The same, when no more will come. */
  waitForEnd(): void {
    this.#waiting += this.#told(this.#rest())
  }

  /**
   * No more will come, and what came takes long to read, so that another thread does it. False: it does not, or has done it already.
   * `done` is called once, also when nobody wants the answer any more, with what is a fault of ours.
   */
  readElsewhere(done: (fault: Error | null) => void): boolean {
    if (this.#found !== null || this.failure !== null || this.#reader.held <= MOST_INLINE_BYTES) return false
    const bytes = this.#reader.takeDocument()
    if (bytes === null) return false
    this.#found = NO_EVENTS
    this.#readingBytes = bytes.length
    const { via } = this.#lane
    const job: AnswerJob = { what: 'answer', bytes, via, options: this.#options }
    const thread = this.#services.translating.run(
      (this.#x.entry as KeyEntry).account.id,
      'answer',
      () => job,
      result => {
        this.#reading = null
        this.#take(result)
        done(result.what === 'fault' ? new Error(`translation failed: ${result.message}`) : null)
      },
    )
    this.#reading = {
      cancel() {
        thread.cancel()
        done(null)
      },
    }
    return true
  }

  #take(result: Result): void {
    this.#readingBytes = 0
    if (result.what === 'answer') this.#found = result.events
    else this.failure = NO_MEMORY
  }

  #rest(): readonly AnswerEvent[] {
    const found = this.#found
    if (found === null) return this.#reader.end()
    this.#found = NO_EVENTS
    return found
  }

  /** What the client is told of what has come, with what waited; null = nothing. */
  push(chunk: Buffer): Buffer | null {
    const told = this.#takeWaiting() + this.#told(this.#reader.push(chunk))
    this.#count()
    return bytesOf(told)
  }

  /** The same, when no more will come. */
  end(): Buffer | null {
    const told = this.#takeWaiting() + this.#told(this.#rest())
    return bytesOf(told)
  }

  #takeWaiting(): string {
    const waiting = this.#waiting
    this.#waiting = NOTHING
    return waiting
  }

  #told(events: readonly AnswerEvent[]): string {
    let told = NOTHING
    for (const event of events) {
      if (this.failure !== null) break
      if (event.type === 'fail') this.failure = event.failure
      else {
        this.hasContent ||= event.type !== 'begin' && event.type !== 'thinking'
        told += this.#writer.write(event)
        this.failure = this.#writer.failure
      }
    }
    return told
  }

  /** The end of the answer, once, with the usage that was settled. */
  finish(usage: Usage): Buffer | null {
    if (this.#isFinished) return null
    this.#isFinished = true
    return bytesOf(this.#writer.finish(usage))
  }

  /** Words for what of the answer the client does not get, of a document that is finished. */
  get losses(): ReadonlySet<LossWord> | undefined {
    return this.#writer.losses
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  /** The end of an answer for which there is no more money. When nothing of it has gone out, it begins with this. */
  stopByLength(usage: Usage): string {
    if (this.#waiting !== NOTHING) this.#writer = this.#newWriter()
    this.#isFinished = true
    return this.#writer.stopByLength(usage)
  }

  breakOff(failure: Failure): string {
    return this.#writer.breakOff(failure)
  }

  get keepAlive(): string {
    return this.#writer.keepAlive
  }

  /** Tokens of output in what was written. */
  get counted(): number {
    return this.#writer.counted
  }

  #count(): void {
    const held = this.#x.bodyBytes + this.#readingBytes + this.#reader.held + this.#writer.held // the writer has the request, too
    const { buffered } = this.#services
    const { id } = (this.#x.entry as KeyEntry).account
    const more = held - this.#heldBytes
    if (more === 0) return
    if (more < 0) buffered.give(id, -more)
    else if (!buffered.take(id, this.#heldBytes, more, this.#x.world.config.limits.bufferedBytes)) {
      this.failure ??= NO_MEMORY
      return
    }
    this.#heldBytes = held
  }

  /** Nobody is told any more of the answer. */
  close(): void {
    const reading = this.#reading
    this.#reading = null
    if (this.#heldBytes > 0) this.#services.buffered.give((this.#x.entry as KeyEntry).account.id, this.#heldBytes)
    this.#heldBytes = 0
    reading?.cancel()
  }
}

const bytesOf = (text: string): Buffer | null => (text === NOTHING ? null : Buffer.from(text, 'latin1'))
