/**
 * Answers of OpenAI-compatible images. The pictures in the answer are what was used; only some models report tokens
 * too.
 */

import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { parseEvent, typeOf } from '../event-text.ts'
import { type Fields, fieldsOf } from '../json/text.ts'
import { lastMembers } from '../json/last-members.ts'
import type { MeterOptions } from '../meter.ts'
import { detailsOf, fromPrompt, first, type Report, usageReport } from '../words/reports.ts'
import { pictureKind, PictureKinds, type CountedKind, type PictureKind } from '../words/usage.ts'
import type { AnswerForm } from '../protocol.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import { chatAnswers } from './chat.ts'

/**
 * Content that counts. The answer has no text that is charged, and previews in a stream cost only what is reported for
 * them.
 */
const STREAM_KEYS = new ContentKeys({ text: ['revised_text'] })
const DOCUMENT_KEYS = new ContentKeys({ encoded: ['b64_json', 'url'] })

const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'error', 'size', 'quality'])

/** Returns null when there is neither a picture nor a number. */
function reportOf(images: number, value: unknown, kinds: readonly CountedKind[], seen = images): Report | null {
  const fields = fieldsOf(value)
  const output = first(fields, 'output_tokens')
  const usage = fromPrompt({
    prompt: first(fields, 'input_tokens') ?? 0,
    output: output ?? 0,
    details: {
      prompt: detailsOf(fieldsOf(fields['input_tokens_details'])),
      output: detailsOf(fieldsOf(fields['output_tokens_details'])),
    },
  })
  usage.images = images
  return usageReport(usage, { namesOutput: images > 0 || output !== null, kinds, seenImages: Math.min(seen, images) })
}

class Rules implements EventRules {
  readonly markers = null
  readonly #kinds = new PictureKinds()
  /**
   * How many pictures are complete. Each picture of a sequence has an event of its own; the event that completes the
   * sequence has no picture.
   */
  #completed = 0
  #ofSequence = 0

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    const type = typeOf(name, data, cut)
    return type === 'error' || type.startsWith('image_')
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    if (type === 'error') tally.failed = true
    if (type.endsWith('.partial_succeeded')) {
      this.#ofSequence++
      this.#kinds.add(kindIn(eventOf(data, cut)))
      tally.report(reportOf(this.#ofSequence, undefined, this.#kinds.list))
    }
    if (!type.endsWith('.completed')) return
    this.#completed++
    tally.terminal = true
    const event = eventOf(data, cut)
    const usage = event['usage']
    const generated = first(fieldsOf(usage), 'generated_images')
    const pieces = this.#ofSequence === 0 ? (generated ?? this.#completed) : Math.max(this.#ofSequence, generated ?? 0)
    if (this.#ofSequence === 0) this.#kinds.add(kindIn(event), generated ?? 1)
    tally.report(reportOf(pieces, usage, this.#kinds.list, Math.max(this.#completed, this.#ofSequence)))
  }
}

/** What is read of an event, which may be too long to be kept. */
const LAST = ['usage', 'size', 'quality']
const eventOf = (data: Buffer, cut: Buffer | null): Fields => parseEvent(data, cut) ?? lastMembers(data, LAST, 1)

const kindIn = (event: Fields): PictureKind => pictureKind(event['size'], event['quality'])

const DOCUMENT: DocumentRules = {
  members: MEMBERS,
  own: ['data'],
  keys: DOCUMENT_KEYS,
  reportOf(document, pieces) {
    // in a document that breaks off, a picture counts that has begun
    const images = Math.max(document.itemsOf('data'), pieces)
    const kinds = new PictureKinds()
    kinds.add(pictureKind(document.value('size'), document.value('quality')), images)
    return reportOf(images, document.value('usage'), kinds.list)
  },
}

export const imagesAnswers: AnswerForm = {
  terminalIsLast: false,
  meter: ({ events, pictures = false, mostOutput }: MeterOptions) =>
    events
      ? new StreamMeter(new Rules(), STREAM_KEYS, null, pictures)
      : new DocumentMeter(DOCUMENT, mostOutput, null, pictures),
  words: chatAnswers.words,
  countAnswer: null,
  encodedPictures: { array: 'data', encoded: 'b64_json', link: 'url' },
}
