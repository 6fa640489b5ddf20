/** The events of a stream of responses as a whole: numbered one after the other, the first ones, the last ones, and the output so far. */
import type { Failure } from '../failure.ts'
import { literal, type Source } from '../json/literal.ts'
import { object } from '../json/write.ts'
import type { WriterOptions } from '../protocol.ts'
import { BEGUN, type Ending, failed, responseOf, wordOf } from './words.ts'

/** How an event begins, up to its number. */
export const startOf = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`

export class StreamEvents {
  readonly #options: WriterOptions
  /** By the place of each item; undefined = it has not ended. */
  readonly #output: (Source | undefined)[] = []
  #sequence = 0
  #begun = false

  constructor(options: WriterOptions) {
    this.#options = options
  }

  one(type: string, members: string): string {
    return this.many(startOf(type), members)
  }

  /** The same, for an event of which there are many: its beginning is made once. */
  many(start: string, members: string): string {
    return `${start}${this.#sequence++},${members}}\n\n`
  }

  /** An item has ended. */
  done(place: number, item: Source): string {
    this.#output[place] = item
    return this.one('response.output_item.done', `"output_index":${place},"item":${item}`)
  }

  /** An item that is told at once. */
  whole(place: number, item: Source): string {
    return this.one('response.output_item.added', `"output_index":${place},"item":${item}`) + this.done(place, item)
  }

  begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    const response = `"response":${responseOf(this.#options, BEGUN, [])}`
    return this.one('response.created', response) + this.one('response.in_progress', response)
  }

  end(ending: Ending, usage: Source): string {
    return this.one(`response.${ending.status}`, `"response":${this.#response(ending, usage)}`)
  }

  /** Clients differ in which of the two they look for. */
  breakOff(failure: Failure): string {
    const code = literal(wordOf(failure))
    const message = literal(failure.message)
    const error = object({ type: code, code, message, param: 'null' })
    return (
      this.one('error', `"code":${code},"message":${message},"param":null,"error":${error}`) +
      this.one('response.failed', `"response":${this.#response(failed(failure))}`)
    )
  }

  #response(ending: Ending, usage?: Source): Source {
    const output = this.#output.filter(item => item !== undefined)
    return responseOf(this.#options, ending, output, usage)
  }
}
