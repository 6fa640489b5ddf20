/**
 * Tools that take text, at upstreams whose tools all take objects: such a tool is declared with one string named `input`,
 * and of the arguments that come back, `{"input":"…"}` in any pieces, the text is taken out.
 */
import type { FreeformTool } from './ask.ts'
import { EMPTY_TEXT, type Literal, type JsonText, literal, quote, unquote } from './json/literal.ts'
import { Tree } from './json/tree.ts'

const SCHEMA: JsonText =
  '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}'

/** How the tool is declared as one that takes an object. */
export function asFunction({ description, grammar }: FreeformTool): { description: Literal; schema: JsonText } {
  const about = description ?? EMPTY_TEXT
  if (grammar === null) return { description: about, schema: SCHEMA }
  const intro = literal(`${about.length > 2 ? '\n\n' : ''}The input must follow this grammar:\n`)
  return { description: `${about.slice(0, -1)}${intro.slice(1, -1)}${grammar.slice(1)}`, schema: SCHEMA }
}

/** The arguments of a call in the history. */
export const asObject = (text: Literal): Literal => quote(`{"input":${text}}`)

const BEFORE = 0
const INSIDE = 1
const AFTER = 2
/** The arguments are not what was asked for. */
const AS_IT_IS = 3
const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** The most characters that may stand before the text. */
const LONGEST_OPENING = 200
const CONTROL = /[^ -\uffff]/g
const LAST_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/
const CHECK = new Tree()

export class TextOfInput {
  #state = BEFORE
  /** What is not told yet: all before the text, or the beginning of an escape. */
  #rest = ''

  /** Takes more of the arguments, and returns more of the text. */
  feed(args: Literal): Literal {
    if (this.#state === AFTER) return EMPTY_TEXT
    if (this.#state === AS_IT_IS) return args
    let source = this.#rest + unquote(args)
    this.#rest = ''
    if (this.#state === BEFORE) {
      const opening = OPENING.exec(source)
      if (opening === null) return this.#wait(source)
      source = source.slice(opening[0].length)
      this.#state = INSIDE
    }
    return this.#inside(source)
  }

  /** No more will come. Arguments that do not begin as was asked for are the text themselves. */
  end(): Literal {
    const rest = this.#state === BEFORE ? this.#rest.trim() : ''
    this.#state = AFTER
    return rest === '' || rest === '{}' ? EMPTY_TEXT : quote(rest)
  }

  #wait(source: JsonText): Literal {
    if (source.length < LONGEST_OPENING) {
      this.#rest = source
      return EMPTY_TEXT
    }
    this.#state = AS_IT_IS
    return quote(source)
  }

  #inside(source: JsonText): Literal {
    const end = textEnd(source)
    if (end >= 0) this.#state = AFTER
    const text = end < 0 ? source : source.slice(0, end)
    const cut = end < 0 ? unfinished(text) : 0
    this.#rest = cut === 0 ? '' : text.slice(-cut)
    // a model may have forgotten to escape the end of a line
    const whole = (cut === 0 ? text : text.slice(0, -cut)).replace(CONTROL, char => quote(char).slice(1, -1))
    const told = `"${whole}"`
    return CHECK.read(told) ? told : quote(whole)
  }
}

/** How many characters at the end are the beginning of an escape. */
function unfinished(text: JsonText): number {
  const last = LAST_ESCAPE.exec(text)
  if (last === null) return 0
  let run = 1
  while (text.charCodeAt(last.index - run) === 0x5c) run++
  return run % 2 === 1 ? text.length - last.index : 0
}

/** Where the text ends that began before `source`; -1 = it goes on. */
function textEnd(source: JsonText): number {
  for (let i = 0; i < source.length; i++) {
    const c = source.charCodeAt(i)
    if (c === 0x22) return i
    if (c === 0x5c) i++
  }
  return -1
}
