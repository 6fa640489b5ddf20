/** OpenAI-compatible images. The pieces in the answer are what was used; tokens are reported by some models only. */
import type { Usage } from '../terms/records.ts'
import { chat } from './chat.ts'
import { keySet } from './count.ts'
import { lastObject } from './events.ts'
import {
  DocumentMeter,
  type EventRules,
  parseEvent,
  StreamMeter,
  type Tally,
  typeOf,
  USAGE_AND_ERROR,
} from './meters.ts'
import type { MeterOptions, ProtocolRow } from './protocol.ts'
import { fieldsOf, first } from './usage.ts'

/** An image answer has no text that is charged. */
const TEXT = keySet(['revised_text'])

/** null when there is neither a piece nor a number. */
function usageOf(images: number, value: unknown): Usage | null {
  const fields = fieldsOf(value)
  const input = first(fields, 'input_tokens')
  const output = first(fields, 'output_tokens')
  if (images === 0 && input === null && output === null) return null
  return { input: input ?? 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: output ?? 0, images }
}

class Rules implements EventRules {
  readonly markers = null
  readonly wantsFirst = false
  #pieces = 0

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    if (type === 'error') tally.failed = true
    if (!type.endsWith('.completed')) return
    this.#pieces++
    tally.terminal = true
    tally.usage = usageOf(this.#pieces, parseEvent(data, cut)?.['usage'] ?? lastObject(data, 'usage', 1))
  }
}

export const images: ProtocolRow = {
  name: 'images',
  authHeader: 'authorization',
  asksForUsage: false,
  terminalIsLast: false,
  meter: (options: MeterOptions) =>
    options.events
      ? new StreamMeter(new Rules(), TEXT, options)
      : new DocumentMeter(USAGE_AND_ERROR, TEXT, document =>
          usageOf(document.itemsOf('data'), document.value('usage')),
        ),
  words: chat.words,
  countAnswer: null,
}
