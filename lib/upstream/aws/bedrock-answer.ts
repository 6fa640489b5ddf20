/**
 * Stands between a connection and the attempt that it serves, and turns what Bedrock answers into an answer of the
 * protocol in which it was asked: streams of binary frames into event streams, errors and counts of tokens into those of the protocol. A whole
 * answer of a model passes as it comes. The attempt hears of an error when it has come to its end, because only then it is known what it says.
 *
 * Each frame of a stream is one event: of Claude, as base64 in JSON, `{"bytes":"…"}`; of Converse, the data themselves, of the type that a header
 * names. A frame that is an exception becomes an `error` event, and nothing follows it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { fieldsOf } from '../../protocols/json/text.ts'
import type { AnswersOf } from '../../protocols/words/kinds.ts'
import type { Attempt } from '../attempt.ts'
import { decoderFor, type SideDecoder } from '../decode.ts'
import { MOST_SHORT_BYTES, PassingAnswer, tellJson, withoutBytes } from '../passing-answer.ts'
import { bedrockError, bedrockException } from './bedrock-errors.ts'
import { BadFrame, type EventFrame, FrameReader } from './frames.ts'

type Controller = Dispatcher.DispatchController

const FRAMES = /^application\/vnd\.amazon\.eventstream\b/i
const NAMED = 'x-amzn-errortype'
const NOTHING: Buffer = Buffer.alloc(0)

/** An error, or a count of tokens: it is told when it is whole. */
class ShortAnswer {
  readonly #form: AnswersOf
  readonly #status: number
  readonly #headers: IncomingHttpHeaders
  readonly #parts: Buffer[] = []
  #bytes = 0

  constructor(form: AnswersOf, status: number, headers: IncomingHttpHeaders) {
    this.#form = form
    this.#status = status
    this.#headers = headers
  }

  /** False: no more of it is wanted. */
  keep(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    this.#parts.push(chunk)
    return this.#bytes <= MOST_SHORT_BYTES
  }

  tell(attempt: Attempt, controller: Controller): void {
    const body = isPlain(this.#headers) ? Buffer.concat(this.#parts) : NOTHING
    if (this.#status < 300) this.#tellCount(attempt, controller, countTold(body))
    else this.#tellError(attempt, controller, body)
  }

  #tellCount(attempt: Attempt, controller: Controller, count: string | null): void {
    if (count === null) attempt.onResponseError(controller, new Error('what was answered is no count of tokens'))
    else this.#tellWhole(attempt, controller, this.#status, count)
  }

  #tellError(attempt: Attempt, controller: Controller, body: Buffer): void {
    const named = this.#headers[NAMED]
    const said = bedrockError(this.#form, this.#status, typeof named === 'string' ? named : undefined, body)
    attempt.explain(said.cause)
    this.#tellWhole(attempt, controller, said.status, said.body)
  }

  #tellWhole(attempt: Attempt, controller: Controller, status: number, body: string): void {
    tellJson(attempt, controller, { status, headers: this.#headers, body: Buffer.from(body) })
  }
}

export class BedrockAnswer extends PassingAnswer {
  readonly #form: AnswersOf
  readonly #isCount: boolean
  /** null = it is told as it comes. */
  #short: ShortAnswer | null = null
  /** null = the answer is no stream of frames. */
  #events: BedrockEvents | null = null
  /** null = the stream is not compressed. */
  #decoder: SideDecoder | null = null
  #gate: Gate | null = null

  /** `isCount`: the request asks how many tokens it has. */
  constructor(attempt: Attempt, form: AnswersOf, isCount: boolean) {
    super(attempt)
    this.#form = form
    this.#isCount = isCount && form === 'claude-on-bedrock'
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 300 || (status >= 200 && this.#isCount)) this.#short = new ShortAnswer(this.#form, status, headers)
    else if (status >= 200 && FRAMES.test(String(headers['content-type'] ?? '')))
      this.#begin(controller, status, headers)
    else this.attempt.onResponseStart(controller, status, headers)
  }

  #begin(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    this.#events = new BedrockEvents(this.#form)
    const told = { ...withoutBytes(headers), 'content-type': 'text/event-stream' }
    if (isPlain(headers)) {
      this.attempt.onResponseStart(controller, status, told)
      return
    }
    const gate = (this.#gate = new Gate(controller))
    this.#decoder = decoderFor(String(headers['content-encoding']).toLowerCase(), {
      onDecoded: chunk => this.#take(gate, chunk),
      onFault: error => controller.abort(error as Error),
    })
    if (this.#decoder === null) controller.abort(new BadFrame('the stream is compressed in an unknown way'))
    else this.attempt.onResponseStart(gate, status, told)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#short !== null) this.#keep(controller, chunk, this.#short)
    else if (this.#decoder !== null) this.#unpack(chunk, this.#decoder)
    else if (this.#events !== null) this.#take(controller, chunk)
    else this.attempt.onResponseData(controller, chunk)
  }

  #keep(controller: Controller, chunk: Buffer, short: ShortAnswer): void {
    if (short.keep(chunk)) return
    short.tell(this.attempt, controller)
    controller.abort(new Error('an answer without end'))
  }

  /** The connection waits for a decoder that is behind, so that what is unpacked stays bounded. */
  #unpack(chunk: Buffer, decoder: SideDecoder): void {
    const gate = this.#gate as Gate
    if (!decoder.write(chunk, () => gate.release())) gate.hold()
  }

  #take(controller: Controller, chunk: Buffer): void {
    const events = this.#events as BedrockEvents
    const told = events.push(chunk)
    if (told.length > 0) this.attempt.onResponseData(controller, told)
    if (events.broken !== null) controller.abort(events.broken)
  }

  onResponseEnd(controller: Controller): void {
    if (this.#short !== null) this.#short.tell(this.attempt, controller)
    else if (this.#decoder === null) this.#end(controller)
    else this.#decoder.end(() => this.#end(controller))
  }

  #end(controller: Controller): void {
    this.#events?.end()
    const broken = this.#decoder?.broken ? new BadFrame('the stream cannot be unpacked') : this.#events?.broken
    if (broken) this.attempt.onResponseError(controller, broken)
    else this.attempt.onResponseEnd()
  }

  /** An error that breaks off says what it is all the same. */
  override onResponseError(controller: Controller | null, error: Error): void {
    this.#decoder?.stop()
    if (this.#short === null || controller === null || controller.aborted) super.onResponseError(controller, error)
    else this.#short.tell(this.attempt, controller)
  }
}

const isPlain = (headers: IncomingHttpHeaders): boolean =>
  /^(identity)?$/i.test(String(headers['content-encoding'] ?? ''))

/** The beginning of an event of Bedrock. */
const TYPE_FIRST = /^\{"type":"([a-z_]{1,64})"/
const TYPE = /^[a-zA-Z_]{1,64}$/
/** Bedrock adds measurements of its own to the last event, which has no other members. */
const LAST = '{"type":"message_stop"}'

export class BedrockEvents {
  readonly #form: AnswersOf
  readonly #frames = new FrameReader()
  #hasFailed = false
  /** The fault behind which nothing can be read; null = more can. */
  broken: BadFrame | null = null

  constructor(form: AnswersOf) {
    this.#form = form
  }

  /** The bytes of the events that are whole now. */
  push(chunk: Buffer): Buffer {
    let events = ''
    try {
      if (!this.#isOver)
        for (const frame of this.#frames.push(chunk)) {
          events += this.#eventOf(frame)
          if (this.#hasFailed) break
        }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error
      this.broken = error
    }
    return events === '' ? NOTHING : Buffer.from(events, 'latin1')
  }

  /** No more will come. */
  end(): void {
    if (!this.#isOver && this.#frames.isInside) this.broken = new BadFrame('the stream ends inside a frame')
  }

  get #isOver(): boolean {
    return this.#hasFailed || this.broken !== null
  }

  #eventOf({ headers, payload }: EventFrame): string {
    const kind = headers.get(':message-type')
    const type = headers.get(':event-type') ?? ''
    if (kind === 'event' && this.#form === 'converse') return ofOneLine(type, payload.toString('latin1'))
    if (kind === 'event') return type === 'chunk' ? chunkEvent(payload) : ''
    if (kind !== 'exception' && kind !== 'error') throw new BadFrame('a frame that is neither event nor error')
    this.#hasFailed = true
    const named = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
    const said = headers.get(':error-message')
    const error = bedrockException(this.#form, named, said === undefined ? payload : Buffer.from(said))
    return event('error', Buffer.from(error).toString('latin1'))
  }
}

/** `data`: one character per byte. */
const event = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`

function chunkEvent(payload: Buffer): string {
  const { bytes } = fieldsOf(readJson(payload.toString('latin1')))
  if (typeof bytes !== 'string') throw new BadFrame('a chunk without bytes')
  const data = Buffer.from(bytes, 'base64').toString('latin1')
  const type = TYPE_FIRST.exec(data)?.[1] ?? fieldsOf(readJson(data))['type']
  if (typeof type !== 'string') return '' // keeps the connection alive
  return ofOneLine(type, type === 'message_stop' ? LAST : data)
}

function ofOneLine(type: string, data: string): string {
  if (!TYPE.test(type)) throw new BadFrame('a frame that is no event')
  // between the tokens of JSON a line end is a blank; inside them none can stand
  return event(type, data.replace(/[\r\n]/g, ' '))
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BadFrame('a chunk that is no JSON')
  }
}

/** The answer to a request that asks how many tokens it has, in the form of the messages protocol; null = it is no count. */
function countTold(body: Buffer): string | null {
  try {
    const { inputTokens } = fieldsOf(JSON.parse(body.toString()))
    return isCount(inputTokens) ? JSON.stringify({ input_tokens: inputTokens }) : null
  } catch {
    return null
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** A connection that two may hold up, each for a reason of its own: it goes on when neither does. */
class Gate implements Dispatcher.DispatchController {
  readonly #connection: Dispatcher.DispatchController
  /** The attempt holds it up. */
  #paused = false
  /** The reader of its bytes holds it up. */
  #held = false

  constructor(connection: Dispatcher.DispatchController) {
    this.#connection = connection
  }

  get aborted(): boolean {
    return this.#connection.aborted
  }

  get reason(): Error | null {
    return this.#connection.reason
  }

  get paused(): boolean {
    return this.#paused || this.#held
  }

  abort(reason: Error): void {
    this.#connection.abort(reason)
  }

  pause(): void {
    this.#paused = true
    this.#connection.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#held) this.#connection.resume()
  }

  hold(): void {
    this.#held = true
    this.#connection.pause()
  }

  release(): void {
    this.#held = false
    if (!this.#paused) this.#connection.resume()
  }
}
