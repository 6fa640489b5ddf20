/**
 * Stands between a connection and the attempt that it serves where the provider answers in a form of its own, which is read as a whole
 * (`OtherForm`). The attempt hears of an answer when it has come to its end, and never of one that cannot be read: that is a failure.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { OtherFormReader } from '../protocols/protocol.ts'
import type { Attempt } from './attempt.ts'
import { MOST_SHORT_BYTES, PassingAnswer, tellJson } from './passing-answer.ts'

type Controller = Dispatcher.DispatchController

/** 250 vectors of 3,072 numbers are less. */
const MOST_BYTES = 32 * 1024 * 1024

/** What is made of an answer. */
export interface OtherFormReading {
  reader: OtherFormReader
  /** Writes an error in the form of the protocol. */
  error(status: number, body: Buffer): Buffer
  /** Takes memory for what is kept. False = there is no room. */
  takes(bytes: number): boolean
}

/** What came is not what the provider answers. */
class UnreadableAnswer extends Error {
  override name = 'UnreadableAnswer'
  readonly code = 'unreadable'
}

export class OtherFormAnswer extends PassingAnswer {
  readonly #form: OtherFormReading
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #bytes = 0
  readonly #error: Buffer[] = []

  constructor(attempt: Attempt, form: OtherFormReading) {
    super(attempt)
    this.#form = form
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return // an interim answer
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (!this.#isAnswer) {
      this.#error.push(chunk)
      if (this.#bytes <= MOST_SHORT_BYTES) return
      this.#tellError(controller)
      controller.abort(new UnreadableAnswer('an error without end'))
    } else if (this.#bytes > MOST_BYTES) controller.abort(new UnreadableAnswer('the answer is too long'))
    else if (!this.#form.takes(chunk.length)) controller.abort(new UnreadableAnswer('no memory for the answer'))
    else this.#form.reader.feed(chunk)
  }

  get #isAnswer(): boolean {
    return this.#status < 300
  }

  onResponseEnd(controller: Controller): void {
    if (!this.#isAnswer) {
      this.#tellError(controller)
      return
    }
    const told = this.#form.reader.end()
    if (told === null) this.attempt.onResponseError(controller, new UnreadableAnswer('the answer cannot be read'))
    else this.#tell(controller, Buffer.from(told))
  }

  #tellError(controller: Controller): void {
    this.#tell(controller, this.#form.error(this.#status, Buffer.concat(this.#error)))
  }

  #tell(controller: Controller, body: Buffer): void {
    tellJson(this.attempt, controller, { status: this.#status, headers: this.#headers, body })
  }

  /** An error that breaks off says what it is all the same. */
  override onResponseError(controller: Controller | null, error: Error): void {
    if (this.#status < 300 || controller === null || controller.aborted) super.onResponseError(controller, error)
    else this.#tellError(controller)
  }
}
