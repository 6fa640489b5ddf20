/**
 * Answers of OpenAI-compatible images. The pictures in the answer are what was used; only some models report tokens
 * too.
 */

import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { parseEvent, typeOf, USAGE_AND_ERROR } from '../event-text.ts'
import { fieldsOf } from '../fields.ts'
import { lastObject } from '../last-object.ts'
import type { MeterOptions } from '../meter.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, type Report, report } from '../reports.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import { noUsage } from '../usage.ts'
import { chatAnswers } from './chat.ts'

/**
 * Content that counts. The answer has no text that is charged, and previews in a stream cost only what is reported for
 * them.
 */
const STREAM_KEYS = new ContentKeys({ text: ['revised_text'] })
const DOCUMENT_KEYS = new ContentKeys({ encoded: ['b64_json', 'url'] })

/**
 * Returns null when there is neither a picture nor a number. `priced`: whether pictures have a price, so that their
 * tokens are not charged too.
 */
function reportOf(images: number, value: unknown, priced: boolean): Report | null {
  const fields = fieldsOf(value)
  const output = first(fields, 'output_tokens')
  const input = first(fields, 'input_tokens') ?? 0
  const drawn = priced && images > 0 ? (first(fieldsOf(fields['output_tokens_details']), 'image_tokens') ?? 0) : 0
  const read = Math.min(input, first(fieldsOf(fields['input_tokens_details']), 'image_tokens') ?? 0)
  const usage = {
    ...noUsage(),
    input: input - read,
    input_image: read,
    output: Math.max(0, (output ?? 0) - drawn),
    images,
  }
  return report(usage, { namesOutput: images > 0 || output !== null })
}

class Rules implements EventRules {
  readonly markers = null
  readonly #priced: boolean
  /**
   * How many pictures are complete. Each picture of a sequence has an event of its own; the event that completes the
   * sequence has no picture.
   */
  #completed = 0
  #ofSequence = 0

  constructor(priced: boolean) {
    this.#priced = priced
  }

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    const type = typeOf(name, data, cut)
    return type === 'error' || type.startsWith('image_')
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    if (type === 'error') tally.failed = true
    if (type.endsWith('.partial_succeeded')) {
      this.#ofSequence++
      tally.report(reportOf(this.#ofSequence, undefined, this.#priced))
    }
    if (!type.endsWith('.completed')) return
    this.#completed++
    tally.terminal = true
    const usage = parseEvent(data, cut)?.['usage'] ?? lastObject(data, 'usage', 1)
    const generated = first(fieldsOf(usage), 'generated_images')
    const pieces = this.#ofSequence === 0 ? (generated ?? this.#completed) : Math.max(this.#ofSequence, generated ?? 0)
    tally.report(reportOf(pieces, usage, this.#priced))
  }
}

const documentRules = (priced: boolean): DocumentRules => ({
  members: USAGE_AND_ERROR,
  own: ['data'],
  keys: DOCUMENT_KEYS,
  // in a document that breaks off, a picture counts that has begun
  reportOf: (document, pieces) => reportOf(Math.max(document.itemsOf('data'), pieces), document.value('usage'), priced),
})

export const imagesAnswers: AnswerForm = {
  terminalIsLast: false,
  meter: ({ events, pictures = false }: MeterOptions) =>
    events ? new StreamMeter(new Rules(pictures), STREAM_KEYS) : new DocumentMeter(documentRules(pictures)),
  words: chatAnswers.words,
  countAnswer: null,
}
