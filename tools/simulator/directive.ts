/**
 * A directive tells the simulator what an answer is to be like: `[[sim name=value name …]]` in the text of the prompt,
 * because nothing else of a request reaches an upstream unchanged. The last directive in the last user message counts.
 */

import { isFields } from '../../lib/protocols/json/text.ts'

/** Names whose value is a number: of milliseconds, or of events of a stream after which something happens. */
const NUMBERS = [
  'latency',
  'tokens',
  'tps',
  'chunk',
  'bytes',
  'thinking',
  'input',
  'cached',
  'written',
  'error',
  'retry_after',
  'times',
  'cut',
  'end_early',
  'stall',
  'stall_ms',
  'event_error',
] as const
const FLAGS = ['prepared', 'search', 'text', 'wordy'] as const
/** How usage is reported, other than as the protocol says; `docs/simulator.md` has the words. */
const REPORTS = ['none', 'foreign'] as const

type Numbers = { readonly [name in (typeof NUMBERS)[number]]?: number }
type Flags = { readonly [name in (typeof FLAGS)[number]]?: true }
export interface Directive extends Numbers, Flags {
  /** The name of the request in the books. */
  readonly id?: string
  /** The tool that is called, once or `times` times for each `id`, when a request offers it. */
  readonly call?: string
  /** The arguments of that call: JSON text. */
  readonly args?: string
  readonly usage?: (typeof REPORTS)[number]
}

const MOST = 1e9
const OPEN = '[[sim'
const NOTHING: Directive = {}

/**
 * Throws an Error that names what is wrong with the directive, so that a typing error does not look like a normal
 * answer.
 */
export function directiveOf(text: string): Directive {
  const start = text.lastIndexOf(OPEN)
  const end = start < 0 ? -1 : text.indexOf(']]', start)
  if (end < 0) return NOTHING
  const found: Record<string, string | number | true> = {}
  for (const word of text.slice(start + OPEN.length, end).split(/\s+/)) {
    if (word !== '') read(word, found)
  }
  return found
}

function read(word: string, into: Record<string, string | number | true>): void {
  const [name = '', value] = word.split('=', 2)
  if (value === undefined && (FLAGS as readonly string[]).includes(name)) into[name] = true
  else if ((name === 'id' || name === 'call') && value) into[name] = value
  else if (name === 'args' && value) into[name] = argumentsOf(value)
  else if (name === 'usage' && (REPORTS as readonly (string | undefined)[]).includes(value))
    into[name] = value as string
  else if ((NUMBERS as readonly string[]).includes(name)) {
    const number = Number(value || Number.NaN)
    if (!(number >= 0 && number <= MOST)) throw new Error(`sim: ${name} must be a number from 0 to ${MOST}`)
    into[name] = name === 'tps' ? number : Math.floor(number)
  } else throw new Error(`sim: "${word}" is not understood`)
}

/** Arguments stand in a directive as base64url, because their JSON may have spaces and brackets. */
function argumentsOf(value: string): string {
  const text = Buffer.from(value, 'base64url').toString()
  try {
    if (isFields(JSON.parse(text))) return text
  } catch {
    // said below
  }
  throw new Error('sim: args must be a JSON object in base64url')
}
