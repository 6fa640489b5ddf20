/**
 * The answer of an upstream on its way to a client of another protocol. What the upstream sends is read into small events, and
 * these are written as the client's bytes. The end of the answer is not among them: it is written when the charge is settled, with
 * the usage that was settled. What is kept in memory for it counts into the memory of request bodies.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Usage } from '../../protocols/words/usage.ts'
import type {
  LossWord,
  AnswerEvent,
  Failure,
  AnswerReader,
  AnswerWriter,
  ReaderOptions,
  WriterOptions,
  WrittenAnswer,
} from '../../translate/events.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import { issuerOf } from '../../translate/opaque.ts'
import { translated, translatedUpstream, withUsage } from '../../translate/table.ts'
import type { AnswerJob, Result } from '../../translate/thread.ts'
import type { Exchange } from '../record/exchange.ts'
import { asksCost, wantsArray, wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'

/** The upstream is not to blame for it. */
export const NO_MEMORY: Failure = {
  kind: 'server',
  status: 503,
  message: 'there is no room left for the answer',
}
const NOTHING = ''

export class Translation {
  readonly #x: Exchange
  readonly #services: Services
  readonly #request: TranslatedRequest
  readonly #options: ReaderOptions
  readonly #reader: AnswerReader
  #writer: AnswerWriter
  /** The upstream sends events; otherwise one document. */
  readonly events: boolean
  /** What was written and not told: before it is known that the answer is one, it waits. */
  #waiting = NOTHING
  /** What belongs to the answer has come. */
  hasContent = false
  /** The upstream's own failure, or that its answer cannot be read, or cannot be told; null = all is well. */
  failure: Failure | null = null
  /** There is no room for the answer because of what its own account has in memory, or what it gave the threads to do. */
  isCrowdedByOwn = false
  #isFinished = false
  #heldBytes = 0
  /** Another thread writes the answer. */
  #writing: { cancel(): void } | null = null
  /** The bytes of its document, and then of what it has written. */
  #wholeBytes = 0
  /** What it has written; null = it has not, or the answer is written here. */
  #whole: WrittenAnswer | null = null
  #isWholeTold = false

  constructor(x: Exchange, services: Services, request: TranslatedRequest, events: boolean) {
    this.#x = x
    this.#services = services
    this.#request = request
    this.events = events
    const issuer = issuerOf(request.via, request.target.model)
    const { query, answers } = request.ask
    const asked = { ...(query === undefined ? {} : { query }), ...(answers === undefined ? {} : { answers }) }
    const { isLenient } = request.target
    this.#options = { events, issuer, renamed: request.renamed, requestId: x.id, isLenient, ...asked }
    this.#reader = translatedUpstream(request.via).answerReader(this.#options)
    this.#writer = this.#newWriter()
    this.#count()
  }

  #newWriter(): AnswerWriter {
    return translated(this.#x.protocol as Protocol).answerWriter(this.#writerOptions)
  }

  get #writerOptions(): WriterOptions {
    const x = this.#x
    const facts = x.facts as Facts
    return {
      events: wantsEvents(x),
      array: wantsArray(x),
      model: x.model,
      requestId: x.id,
      createdS: Math.floor(this.#services.clock.now() / 1000),
      inputEstimate: (x.tariff as Tariff).estimatedInput(facts.prompt),
      tellsUsage: facts.includeUsage || asksCost(x),
      ask: this.#request.ask,
    }
  }

  /** Takes what has come, and keeps what the client will be told of it. */
  wait(chunk: Buffer): void {
    this.#write(this.#reader.push(chunk))
    this.#count()
  }

  /** The same, when no more will come. */
  waitForEnd(): void {
    if (this.#whole === null) this.#write(this.#reader.end())
  }

  /**
   * No more will come, and what came takes long to read and to write, so that another thread does it. False: it does not, or has done it
   * already. `done` is called once, also when nobody wants the answer any more, with what is a fault of ours.
   */
  writeElsewhere(done: (fault: Error | null) => void): boolean {
    if (this.#whole !== null || this.failure !== null) return false
    const parts = this.#reader.takeDocument()
    if (parts === null) return false
    this.#wholeBytes = parts.reduce((sum, { length }) => sum + length, 0)
    const { via } = this.#request
    const [to, writer] = [this.#x.protocol as Protocol, this.#writerOptions]
    const job: AnswerJob = { what: 'answer', parts, via, options: this.#options, to, writer }
    const thread = this.#services.translating.run(
      (this.#x.entry as KeyEntry).account.id,
      'answer',
      () => job,
      result => {
        this.#writing = null
        this.#take(result)
        done(result.what === 'fault' ? new Error(`translation failed: ${result.message}`) : null)
      },
    )
    this.#writing = {
      cancel() {
        thread.cancel()
        done(null)
      },
    }
    return true
  }

  #take(result: Result): void {
    if (result.what === 'answer') {
      this.#whole = result.written
      this.#wholeBytes = result.written.bytes.length
      this.hasContent = result.written.hasContent
      this.failure = result.written.failure
      this.#count()
    } else {
      this.failure = NO_MEMORY
      this.isCrowdedByOwn = true // it has most in the threads' line, or the document was too much for one
    }
  }

  /** What can be told of an answer that was written elsewhere. */
  #tellWhole({ bytes, told }: WrittenAnswer): Buffer | null {
    if (this.#isWholeTold || told === 0) return null
    this.#isWholeTold = true
    return Buffer.from(bytes.buffer, 0, told)
  }

  /** What the client is told of what has come, with what waited; null = nothing. */
  push(chunk: Buffer): Buffer | null {
    if (this.#whole !== null) return this.#tellWhole(this.#whole)
    this.#write(this.#reader.push(chunk))
    this.#count()
    return this.#takeWaiting()
  }

  /** The same, when no more will come. */
  end(): Buffer | null {
    if (this.#whole !== null) return this.#tellWhole(this.#whole)
    this.#write(this.#reader.end())
    return this.#takeWaiting()
  }

  #takeWaiting(): Buffer | null {
    const waiting = this.#waiting
    if (waiting === NOTHING) return null
    this.#waiting = NOTHING
    return Buffer.from(waiting, 'latin1')
  }

  #write(events: readonly AnswerEvent[]): void {
    for (const event of events) {
      if (this.failure !== null) break
      if (event.type === 'fail') this.failure = event.failure
      else {
        this.hasContent ||= event.type !== 'begin' && event.type !== 'thinking'
        this.#waiting += this.#writer.write(event)
        this.failure = this.#writer.failure
      }
    }
  }

  /** The end of the answer, once, with the usage that was settled. */
  finish(usage: Usage): Buffer | null {
    if (this.#isFinished) return null
    this.#isFinished = true
    if (this.#whole !== null) return this.#endOf(this.#whole, usage)
    this.#waiting += this.#writer.finish(usage)
    return this.#takeWaiting()
  }

  #endOf(whole: WrittenAnswer, usage: Usage): Buffer {
    return withUsage(whole, this.#writer.usageText(usage, whole.thinking))
  }

  /** Words for what of the answer the client does not get, of a document that is finished. */
  get losses(): ReadonlySet<LossWord> | undefined {
    return (this.#whole ?? this.#writer).losses
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  /** The end of an answer for which there is no more money. When nothing of it has gone out, it begins with this. */
  stopByLength(usage: Usage): Buffer {
    this.#isFinished = true
    // all was told, and what is left is the end
    if (this.#whole !== null && this.#isWholeTold) return this.#endOf(this.#whole, usage)
    if (this.#waiting !== NOTHING) this.#writer = this.#newWriter()
    return Buffer.from(this.#writer.stopByLength(usage), 'latin1')
  }

  breakOff(failure: Failure): string {
    return this.#writer.breakOff(failure)
  }

  get keepAlive(): string {
    return this.#writer.keepAlive
  }

  /** Tokens of output in what was written; null = all that the upstream sent was. */
  get counted(): number | null {
    return this.#whole === null ? this.#writer.counted : null
  }

  #count(): void {
    const held = this.#x.bodyBytes + this.#wholeBytes + this.#reader.held + this.#writer.held // the writer has the request, too
    const { buffered } = this.#services
    const { id } = (this.#x.entry as KeyEntry).account
    const more = held - this.#heldBytes
    if (more === 0) return
    if (more < 0) buffered.give(id, -more)
    else if (!buffered.take(id, this.#heldBytes, more, this.#x.world.config.limits.bufferedBytes)) {
      if (this.failure === null) this.isCrowdedByOwn = buffered.isLargest(id, more)
      this.failure ??= NO_MEMORY
      return
    }
    this.#heldBytes = held
  }

  /** Nobody is told any more of the answer. */
  close(): void {
    const writing = this.#writing
    this.#writing = null
    if (this.#heldBytes > 0) this.#services.buffered.give((this.#x.entry as KeyEntry).account.id, this.#heldBytes)
    this.#heldBytes = 0
    writing?.cancel()
  }
}
