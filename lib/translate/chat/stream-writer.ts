/** An answer as chunks of chat completions. Calls may be mixed here, so that nothing waits. */
import { nestedCitation, sizeOfNote } from '../citation.ts'
import { MOST_HELD, TOO_MUCH } from '../collected.ts'
import type { AnswerEvent, Citation, OpenEvent, StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { EMPTY, flat, type Literal, literal } from '../json/literal.ts'
import { array, object } from '../json/write.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { callState, errorEvent, head, imageOf, reasonWord, thoughtState, usageOf } from './words.ts'

interface Call {
  /** Among the calls. */
  index: number
  freeform: boolean
  /** Some of the arguments have been written. */
  hasArgs: boolean
}

export class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  /** How chunks begin and end. */
  readonly #head: string
  readonly #tail: string
  /** What stands around the delta, where that is all that a chunk tells. */
  readonly #before: string
  readonly #behind: string
  /** What the blocks are, by the reader's index. */
  readonly #kinds = new Map<number, OpenEvent['kind']>()
  readonly #calls = new Map<number, Call>()
  /** Citations of the open text, which are told at its end. */
  #notes: Citation[] = []
  #nextCall = 0
  #begun = false
  #thinking = 0
  #reason: StopReason = 'end'
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#head = `data: {${head(options, 'chat.completion.chunk')},`
    this.#tail = options.tellsUsage ? ',"usage":null}\n\n' : '}\n\n'
    this.#before = flat(`${this.#head}"choices":[{"index":0,"delta":{`)
    this.#behind = flat(`},"logprobs":null,"finish_reason":null}]${this.#tail}`)
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    switch (event.type) {
      case 'begin':
        return this.#begin()
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(event.index, event.text)
      case 'seal':
        return event.opaque.value === EMPTY ? '' : this.#chunk(`"reasoning_details":${thoughtState(event.opaque)}`)
      case 'note':
        this.#notes.push(event.citation)
        this.held += sizeOfNote(event.citation)
        if (this.held > MOST_HELD) this.failure = TOO_MUCH
        return ''
      case 'close':
        return this.#close(event.index) + this.#cited()
      case 'thinking':
        this.#thinking = event.tokens
        return ''
      case 'stop':
        this.#reason = event.reason
        return ''
      default:
        return ''
    }
  }

  finish(usage: ShownUsage): string {
    return this.#begin() + this.#end(usage, this.#reason)
  }

  stopByLength(usage: ShownUsage): string {
    return this.#begin() + this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return errorEvent(failure)
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    return this.#chunk('"role":"assistant","content":""')
  }

  #end(usage: ShownUsage, reason: StopReason): string {
    const told = this.#options.tellsUsage
      ? `${this.#head}"choices":[],"usage":${usageOf(usage, this.#thinking)}}\n\n`
      : ''
    const stop = `${this.#before}},"logprobs":null,"finish_reason":${reasonWord(reason)}}]${this.#tail}`
    return `${stop}${told}data: [DONE]\n\n`
  }

  #chunk(delta: string): string {
    return this.#before + delta + this.#behind
  }

  #open(event: OpenEvent): string {
    this.#kinds.set(event.index, event.kind)
    if (event.kind === 'media') return this.#chunk(`"images":[${imageOf(event.mime, event.base64)}]`)
    if (event.kind !== 'call') return ''
    const { id, name, freeform, opaque } = event.call
    const index = this.#nextCall++
    this.#calls.set(event.index, { index, freeform, hasArgs: false })
    const inner = freeform
      ? object({ name: literal(name), input: '""' })
      : object({ name: literal(name), arguments: '""' })
    const call = object({
      index: String(index),
      id: literal(id),
      type: freeform ? '"custom"' : '"function"',
      [freeform ? 'custom' : 'function']: inner,
      extra_content: opaque === undefined ? undefined : callState(opaque),
    })
    return this.#chunk(`"tool_calls":[${call}]`)
  }

  #piece(index: number, text: Literal): string {
    this.#told.add(text)
    switch (this.#kinds.get(index)) {
      case 'text':
        return this.#chunk(`"content":${text}`)
      case 'thought':
        return this.#chunk(`"reasoning_content":${text}`)
      case 'refusal':
        return this.#chunk(`"refusal":${text}`)
      case 'call':
        return this.#args(this.#calls.get(index) as Call, text)
      default:
        return ''
    }
  }

  #args(call: Call, text: Literal): string {
    call.hasArgs = true
    const inner = call.freeform ? `"custom":{"input":${text}}` : `"function":{"arguments":${text}}`
    return this.#chunk(`"tool_calls":[{"index":${call.index},${inner}}]`)
  }

  #cited(): string {
    if (this.#notes.length === 0) return ''
    const annotations = array(this.#notes.map(nestedCitation))
    this.#notes = []
    this.held = 0
    return this.#chunk(`"annotations":${annotations}`)
  }

  /** Clients parse the arguments when the call ends, and there must be something to parse. */
  #close(index: number): string {
    const call = this.#calls.get(index)
    this.#calls.delete(index)
    this.#kinds.delete(index)
    return call === undefined || call.freeform || call.hasArgs ? '' : this.#args(call, '"{}"')
  }
}
