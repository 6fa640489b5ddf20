/**
 * An answer as events of the responses protocol. Items may be mixed here, so that nothing waits. The last event repeats
 * the whole answer, which is kept until then.
 */
import type { Opaque } from '../ask.ts'
import { flatCitation, sizeOfNote } from '../citation.ts'
import { MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, type Citation, isCut, type OpenEvent, type StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { CallIds } from '../ids.ts'
import { EMPTY, flat, type Literal, literal } from '../json/literal.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { type Item, itemOf, newItem, partOf, WORDS } from './open-item.ts'
import { StreamEvents, startOf } from './stream-events.ts'
import { endingOf, type ItemStatus, itemId, mediaItem, thoughtItem, usageOf, wholeArgs } from './words.ts'

/** What an item costs besides its text. */
const ITEM_BYTES = 400

export class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #events: StreamEvents
  readonly #told = new Told()
  readonly #ids = new CallIds()
  /** By the reader's index. */
  readonly #items = new Map<number, Item>()
  /** Calls that ended before their arguments were whole: what becomes of them is known at the end. */
  readonly #half: Item[] = []
  readonly #kinds = new Set<string>()
  #next = 0
  #thinking = 0
  #reason: StopReason = 'end'
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#events = new StreamEvents(options)
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'begin':
        return this.#events.begin()
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(this.#items.get(event.index), event.text)
      case 'seal':
        return this.#seal(this.#items.get(event.index), event.opaque)
      case 'note':
        return this.#note(this.#items.get(event.index), event.citation)
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

  breakOff(failure: Failure): string {
    return this.#events.breakOff(failure)
  }

  #end(usage: ShownUsage, reason: StopReason): string {
    const status = isCut(reason) ? 'incomplete' : 'completed'
    let text = this.#events.begin()
    for (const item of [...this.#half, ...this.#items.values()]) if (item.place >= 0) text += this.#stop(item, status)
    return text + this.#events.end(endingOf(reason, this.#kinds), usageOf(usage, this.#thinking))
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
    item.delta = { start: flat(startOf(`${WORDS[item.form].events}.delta`)), before: flat(`${item.head},"delta":`) }
    const added = `"output_index":${item.place},"item":${itemOf(item, 'in_progress', EMPTY)}`
    return this.#events.one('response.output_item.added', added) + this.#part(item, 'added', EMPTY)
  }

  #part(item: Item, when: string, text: Literal): string {
    const { part } = WORDS[item.form]
    return part === null ? '' : this.#events.one(`${part}.${when}`, `${item.head},"part":${partOf(item, text)}`)
  }

  #piece(item: Item | undefined, text: Literal): string {
    if (item === undefined) return ''
    const start = item.place < 0 ? this.#start(item) : ''
    this.#told.add(text)
    this.#hold(text.length)
    item.pieces.add(text)
    item.check?.feed(text)
    return start + this.#events.many(item.delta.start, item.delta.before + text + WORDS[item.form].more)
  }

  #note(item: Item | undefined, citation: Citation): string {
    if (item === undefined || item.place < 0) return ''
    this.#hold(sizeOfNote(citation))
    const place = item.notes.push(citation) - 1
    const members = `${item.head},"annotation_index":${place},"annotation":${flatCitation(citation)}`
    return this.#events.one('response.output_text.annotation.added', members)
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
    return (
      this.#events.one(`${events}.done`, `${head}${name},"${whole}":${text}${more}`) +
      this.#part(item, 'done', text) +
      this.#events.done(place, source)
    )
  }

  /** State that belongs to nothing that is shown. */
  #hidden(opaque: Opaque): string {
    const place = this.#next++
    return this.#events.whole(place, thoughtItem(itemId(this.#options, 'thought', place), EMPTY, opaque))
  }

  #media(base64: Literal): string {
    this.#hold(base64.length)
    const place = this.#next++
    return this.#events.whole(place, mediaItem(itemId(this.#options, 'media', place), base64))
  }
}
