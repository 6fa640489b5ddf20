/** OpenAI-compatible images. The pieces in the answer are what was used; tokens are reported by some models only. */
import { noUsage } from '../terms/records.ts'
import { chat } from './chat.ts'
import { ContentKeys } from './content-keys.ts'
import { lastObject } from './last-object.ts'
import {
  DocumentMeter,
  type DocumentRules,
  type EventRules,
  parseEvent,
  StreamMeter,
  type Tally,
  typeOf,
  USAGE_AND_ERROR,
} from './meters.ts'
import type { MeterOptions, ProtocolRow } from './protocol.ts'
import { fieldsOf, first, type Report, report } from './usage.ts'

/** An image answer has no text that is charged, and the first pictures of a stream cost only what is reported for them. */
const STREAM_KEYS = new ContentKeys({ text: ['revised_text'] })
const DOCUMENT_KEYS = new ContentKeys({ encoded: ['b64_json', 'url'] })

/** null when there is neither a piece nor a number. */
function reportOf(images: number, value: unknown): Report | null {
  const fields = fieldsOf(value)
  const output = first(fields, 'output_tokens')
  const input = first(fields, 'input_tokens') ?? 0
  return report({ ...noUsage(), input, output: output ?? 0, images }, images > 0 || output !== null)
}

class Rules implements EventRules {
  readonly markers = null
  #pieces = 0

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    const type = typeOf(name, data, cut)
    return type === 'error' || type.startsWith('image_')
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    if (type === 'error') tally.failed = true
    if (!type.endsWith('.completed')) return
    this.#pieces++
    tally.terminal = true
    tally.report(reportOf(this.#pieces, parseEvent(data, cut)?.['usage'] ?? lastObject(data, 'usage', 1)))
  }
}

const DOCUMENT: DocumentRules = {
  members: USAGE_AND_ERROR,
  own: ['data'],
  keys: DOCUMENT_KEYS,
  // of a document that breaks off, a picture that has begun is one
  reportOf: (document, pieces) => reportOf(Math.max(document.itemsOf('data'), pieces), document.value('usage')),
}

export const images: ProtocolRow = {
  name: 'images',
  authHeader: 'authorization',
  asksForUsage: false,
  terminalIsLast: false,
  meter: (options: MeterOptions) =>
    options.events ? new StreamMeter(new Rules(), STREAM_KEYS) : new DocumentMeter(DOCUMENT),
  words: chat.words,
  countAnswer: null,
}
