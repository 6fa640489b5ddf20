/** Searches of earlier answers, which clients of messages send back with the history. */
import type { Ask, Turn, TurnPart } from '../ask.ts'
import { EMPTY_TEXT, join, type JsonText, type Literal, literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { unseal } from '../opaque.ts'
import { SEARCH_ID, SEARCH_NAME } from '../search.ts'

const NOTHING_FOUND = literal('Nothing was found.')
const FOUND = literal('Found in the web:')

/** One source as a text for a model: its title, its address, and what was found there. */
function sourceText(tree: Tree, source: Node): Literal | null {
  const opaque = unseal(tree.literal(source, 'encrypted_content') ?? EMPTY_TEXT)
  const told = [
    tree.literal(source, 'title'),
    tree.literal(source, 'url'),
    opaque?.of === 'found' ? opaque.value : null,
  ]
  const texts = told.filter(one => one !== null && one !== EMPTY_TEXT)
  return texts.length === 0 ? null : join(texts as Literal[], '\\n')
}

/**
 * Searches in a turn of the assistant. One that we told of becomes a call and its result, which every model understands; of one of another
 * upstream, which has the pages in a form that nobody else can read, the addresses are told as text, and the rest is lost.
 */
export class PastSearches {
  readonly #ask: Ask
  readonly #tree: Tree
  /** Calls whose result has not come, by their id. */
  readonly #calls = new Map<string, JsonText>()

  constructor(ask: Ask, tree: Tree) {
    this.#ask = ask
    this.#tree = tree
  }

  /** False: the block is the call of another tool. */
  call(block: Node): boolean {
    if (this.#tree.string(block, 'name') !== SEARCH_NAME) return false
    const input = this.#tree.get(block, 'input')
    this.#calls.set(this.#tree.string(block, 'id') ?? '', this.#tree.absent(input) ? '{}' : this.#tree.source(input))
    return true
  }

  result(block: Node): TurnPart[] {
    const tree = this.#tree
    const id = tree.string(block, 'tool_use_id') ?? ''
    const input = this.#calls.get(id) ?? '{}'
    this.#calls.delete(id)
    const sources = tree.elements(block, 'content').map(one => sourceText(tree, one))
    const texts = sources.filter(one => one !== null)
    const all = texts.length === 0 ? NOTHING_FOUND : join(texts, '\\n\\n')
    if (!id.startsWith(SEARCH_ID)) {
      this.#ask.losses.add('server_tools')
      return texts.length === 0 ? [] : [{ type: 'text', text: join([FOUND, all], '\\n\\n') }]
    }
    const parts = [{ type: 'text', text: all } as const]
    return [
      { type: 'call', id, name: SEARCH_NAME, freeform: false, args: quote(input) },
      { type: 'result', id, name: SEARCH_NAME, parts, error: false },
    ]
  }

  /** Calls without a result are nothing. */
  end(): void {
    if (this.#calls.size > 0) this.#ask.losses.add('server_tools')
  }
}

/** What the assistant says behind the result of a search is another turn. */
export function turnsOf(parts: readonly TurnPart[]): Turn[] {
  const turns: Turn[] = []
  for (const part of parts) {
    const role = part.type === 'result' ? 'user' : 'assistant'
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(part)
    else turns.push({ role, parts: [part] })
  }
  return turns
}
