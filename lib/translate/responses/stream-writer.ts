/**
 * An answer as events of the responses protocol. Items may be mixed here, so that nothing waits. The last event repeats
 * the whole answer, which is kept until then.
 */
import type { Opaque } from '../ask.ts'
import { MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, isCut, type OpenEvent, type StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { CallIds } from '../ids.ts'
import { EMPTY, type Literal, literal, type Source } from '../json/literal.ts'
import { object } from '../json/write.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { type Item, itemOf, newItem, partOf, WORDS } from './open-item.ts'
import {
  BEGUN,
  endingOf,
  failed,
  type ItemStatus,
  itemId,
  mediaItem,
  responseOf,
  thoughtItem,
  usageOf,
  wholeArgs,
  wordOf,
} from './words.ts'

/** What an item costs besides its text. */
const ITEM_BYTES = 400

export class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  readonly #ids = new CallIds()
  /** By the reader's index. */
  readonly #items = new Map<number, Item>()
  /** Calls that ended before their arguments were whole: what becomes of them is known at the end. */
  readonly #half: Item[] = []
  readonly #output: (Source | undefined)[] = []
  readonly #kinds = new Set<string>()
  #next = 0
  #sequence = 0
  #begun = false
  #thinking = 0
  #reason: StopReason = 'end'
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'begin':
        return this.#begin()
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(this.#items.get(event.index), event.text)
      case 'seal':
        return this.#seal(this.#items.get(event.index), event.opaque)
      case 'close':
        return this.#close(event.index)
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
    return this.#end(usage, this.#reason)
  }

  stopByLength(usage: ShownUsage): string {
    return this.#end(usage, 'length')
  }

  /** Clients differ in which of the two they look for. */
  breakOff(failure: Failure): string {
    const code = literal(wordOf(failure))
    const message = literal(failure.message)
    const error = object({ type: code, code, message, param: 'null' })
    return (
      this.#event('error', `"code":${code},"message":${message},"param":null,"error":${error}`) +
      this.#event('response.failed', `"response":${responseOf(this.#options, failed(failure), this.#written)}`)
    )
  }

  #event(type: string, members: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},${members}}\n\n`
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    const response = `"response":${responseOf(this.#options, BEGUN, [])}`
    return this.#event('response.created', response) + this.#event('response.in_progress', response)
  }

  #end(usage: ShownUsage, reason: StopReason): string {
    const status = isCut(reason) ? 'incomplete' : 'completed'
    let text = this.#begin()
    for (const item of [...this.#half, ...this.#items.values()]) if (item.place >= 0) text += this.#stop(item, status)
    const ending = endingOf(reason, this.#kinds)
    const response = responseOf(this.#options, ending, this.#written, usageOf(usage, this.#thinking))
    return text + this.#event(`response.${ending.status}`, `"response":${response}`)
  }

  get #written(): Source[] {
    return this.#output.filter(item => item !== undefined)
  }

  // --- items

  #open(event: OpenEvent): string {
    this.#kinds.add(event.kind)
    this.#hold(ITEM_BYTES)
    if (event.kind === 'media') return this.#media(event.base64)
    const item = newItem(
      event.kind,
      event.kind === 'call' ? { ...event.call, id: this.#ids.once(event.call.id) } : null,
    )
    this.#items.set(event.index, item)
    if (item.call === null) return ''
    return (item.call.opaque === undefined ? '' : this.#hidden(item.call.opaque)) + this.#start(item)
  }

  #hold(bytes: number): void {
    this.held += bytes
    if (this.held > MOST_HELD) this.failure = TOO_MUCH
  }

  /** A text or a thought begins with the first that comes of it. */
  #start(item: Item): string {
    item.place = this.#next++
    item.id = itemId(this.#options, item.kind, item.place, item.call?.freeform)
    item.head = `"item_id":${item.id},"output_index":${item.place}${WORDS[item.form].at}`
    const added = `"output_index":${item.place},"item":${itemOf(item, 'in_progress', EMPTY)}`
    return this.#event('response.output_item.added', added) + this.#part(item, 'added', EMPTY)
  }

  #part({ form, head }: Item, when: string, text: Literal): string {
    const { part } = WORDS[form]
    return part === null ? '' : this.#event(`${part}.${when}`, `${head},"part":${partOf(form, text)}`)
  }

  #piece(item: Item | undefined, text: Literal): string {
    if (item === undefined) return ''
    const start = item.place < 0 ? this.#start(item) : ''
    const { events, more } = WORDS[item.form]
    this.#told.add(text)
    this.#hold(text.length)
    item.pieces.add(text)
    item.check?.feed(text)
    return start + this.#event(`${events}.delta`, `${item.head},"delta":${text}${more}`)
  }

  #seal(item: Item | undefined, opaque: Opaque): string {
    if (item === undefined) return ''
    this.#hold(opaque.value.length)
    item.opaque = opaque
    return ''
  }

  #close(index: number): string {
    const item = this.#items.get(index)
    this.#items.delete(index)
    if (item === undefined) return ''
    const { check, opaque, kind } = item
    if (check !== null && !check.whole && !check.empty) {
      this.#half.push(item)
      return ''
    }
    const text = item.place < 0 ? '' : this.#stop(item, 'completed')
    const isAlone = opaque !== null && (kind !== 'thought' || item.place < 0)
    return isAlone ? text + this.#hidden(opaque) : text
  }

  #stop(item: Item, status: ItemStatus): string {
    const { place, form, call, head, pieces } = item
    const { events, whole, more } = WORDS[form]
    const text = call === null ? pieces.text : wholeArgs(call, pieces.text)
    const source = itemOf(item, status, text)
    const name = form === 'call' && call !== null ? `,"name":${literal(call.name)}` : ''
    this.#output[place] = source
    return (
      this.#event(`${events}.done`, `${head}${name},"${whole}":${text}${more}`) +
      this.#part(item, 'done', text) +
      this.#event('response.output_item.done', `"output_index":${place},"item":${source}`)
    )
  }

  /** State that belongs to nothing that is shown. */
  #hidden(opaque: Opaque): string {
    const place = this.#next++
    return this.#whole(place, thoughtItem(itemId(this.#options, 'thought', place), EMPTY, opaque))
  }

  #media(base64: Literal): string {
    this.#hold(base64.length)
    const place = this.#next++
    return this.#whole(place, mediaItem(itemId(this.#options, 'media', place), base64))
  }

  #whole(place: number, item: Source): string {
    this.#output[place] = item
    const members = `"output_index":${place},"item":${item}`
    return this.#event('response.output_item.added', members) + this.#event('response.output_item.done', members)
  }
}
