/**
 * Makes an answer from a request and its directive: how many tokens of what it has, how it finishes, and what it used.
 */
import { latest } from '../../lib/base/lru.ts'
import { noUsage, type Usage } from '../../lib/protocols/words/usage.ts'
import { type Answer, type Ask, type Dialect, exampleOf } from './dialect.ts'
import type { Directive } from './directive.ts'
import type { InputTokens } from './prompt-cache.ts'
import { searchFor, wantsSearch } from './search.ts'

/** The text of answers, repeated as often as needed. Each word is a token; letters take one to four bytes. */
const SENTENCES =
  'The quick brown fox jumps over the lazy dog; nothing here was thought, these words repeat until enough are out. ' +
  'Grüße, 你好, привет, こんにちは 👋. '
const WORDS = SENTENCES.match(/\S+\s/gu) as string[]
const THOUGHTS = 'Let me see what is asked for here and how to say it. '.match(/\S+\s/g) as string[]
const TOKENS = 24
const THINKING_TOKENS = 8
const ARGUMENT_CHARACTERS = 6
const IMAGE_BYTES = 1000

const say = (words: readonly string[], tokens: number): string[] =>
  Array.from({ length: tokens }, (_, i) => words[i % words.length] as string)

/** The most tokens of an answer, because it is made in memory, and the most bytes of padding. */
const MOST_TOKENS = 1_000_000
const MOST_PADDING = 256 * 1024 * 1024

interface Circumstances {
  dialect: Dialect
  id: string
  createdS: number
  origin: string
  input: InputTokens
  scripted: ScriptedCall
}

export function compose(ask: Ask, directive: Directive, circumstances: Circumstances): Answer {
  const most = directive.wordy ? MOST_TOKENS : Math.min(ask.maxTokens ?? MOST_TOKENS, MOST_TOKENS)
  const thinking = say(THOUGHTS, ask.thinks ? Math.min(directive.thinking ?? THINKING_TOKENS, most) : 0)
  const room = most - thinking.length
  const chunk = Math.max(1, directive.chunk ?? circumstances.dialect.chunk)
  const call = circumstances.scripted ?? (directive.text ? null : exampleCall(ask))
  const body = call === null ? textTokens(directive, chunk) : argumentTokens(call.args)
  const fits = body.length <= room
  const said = fits ? body : body.slice(0, room)
  const { dialect, id, createdS, origin, input } = circumstances
  const isSearched = ask.searches === true && call === null && (directive.search || wantsSearch(ask.prompt))
  const search = isSearched ? searchFor(ask.prompt) : null
  const used = usageOf(ask, directive, input, thinking.length + said.length)
  const usage = dialect.usage(ask, directive, search === null ? used : { ...used, searches: 1 })
  return {
    id,
    createdS,
    thinking,
    text: call === null ? said : [],
    call: call === null ? null : { name: call.name, args: said },
    search,
    finish: !fits ? 'length' : call === null ? 'stop' : 'call',
    usage,
    reports: directive.usage !== 'none' || usage.images > 0,
    foreign: directive.usage === 'foreign',
    chunk,
    imageBytes: directive.bytes ?? IMAGE_BYTES,
    origin,
  }
}

/** The tokens of a text. A directive's `bytes` makes the first token of each event longer by so many bytes. */
function textTokens({ tokens = TOKENS, bytes }: Directive, chunk: number): string[] {
  const text = say(WORDS, Math.min(tokens, MOST_TOKENS))
  if (bytes === undefined) return text
  const pad = 'x'.repeat(Math.min(bytes, Math.floor((MOST_PADDING * chunk) / Math.max(chunk, text.length))))
  for (let i = 0; i < text.length; i += chunk) text[i] = `${pad} ${text[i]}`
  return text
}

const exampleCall = ({ tool }: Ask): ScriptedCall =>
  tool === null ? null : { name: tool.name, args: JSON.stringify(exampleOf(tool.schema)) }

const argumentTokens = (args: string): string[] =>
  args.match(new RegExp(`.{1,${ARGUMENT_CHARACTERS}}`, 'gsu')) as string[]

const usageOf = (ask: Ask, directive: Directive, input: InputTokens, output: number): Usage => ({
  ...noUsage(),
  input: directive.input ?? input.input,
  cache_read: directive.cached ?? input.cache_read,
  cache_write_5m: directive.written ?? input.cache_write_5m,
  cache_write_1h: input.cache_write_1h,
  output: output * ask.choices,
})

/** A call that a directive names; null = the usual answer. */
type ScriptedCall = { name: string; args: string } | null

export class ScriptedCalls {
  readonly #made = latest<string, number>(10_000)

  /**
   * The call is made for the first requests with this `id` that offer the tool: clients send the prompt again beside the
   * result, and also with requests of their own that offer no tools.
   */
  next(ask: Ask, { call, args = '{}', id = '', times = 1 }: Directive): ScriptedCall {
    const made = this.#made.get(id) ?? 0
    if (call === undefined || !ask.offered.some(tool => tool.name === call) || made >= times) return null
    this.#made.set(id, made + 1)
    return { name: call, args }
  }
}

/** Counts how often a named request came, for directives whose faults strike only the first `times` requests. */
export class Times {
  readonly #seen = latest<string, number>(10_000)

  strikes({ id, times }: Directive): boolean {
    if (times === undefined) return true
    const name = id ?? ''
    const seen = (this.#seen.get(name) ?? 0) + 1
    this.#seen.set(name, seen)
    return seen <= times
  }
}
