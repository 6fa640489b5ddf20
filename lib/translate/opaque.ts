/**
 * An upstream's opaque state on its way through a client that speaks another protocol. It goes in an envelope into that
 * protocol's own place for such state, comes back with the history, and is opened only for the upstream that it came from:
 * others refuse a state that is not theirs. Nothing is kept on our side.
 */
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { TranslationTarget } from './ask.ts'
import type { Opaque } from './events.ts'
import { type Literal, literal } from './json/literal.ts'
import { NONE, type Node, Tree, stringEnd } from './json/tree.ts'

/** How every envelope begins, so that it can be found in a body that goes upstream untranslated. */
const ENVELOPE = 'gw1.'
/** The same where clients take the place for base64 and decode it: the letters that these bytes, and no issuer, decide. */
const ENVELOPE_64 = 'Z3cxL'

/** Who understands a state: a model of a protocol. It is a hash, because clients need not know what an upstream calls its models. */
export const issuerOf = (protocol: string, upstreamModel: string): string =>
  hash('sha256', `${protocol}\0${upstreamModel}`, 'base64url').slice(0, 12)

const LETTERS = { signed: 's', hidden: 'h', call: 'c', text: 't', found: 'f' } as const
const MEANINGS: Readonly<Record<string, Opaque['of']>> = {
  s: 'signed',
  h: 'hidden',
  c: 'call',
  t: 'text',
  f: 'found',
}
const PLAIN_ID = /^[A-Za-z0-9_-]{1,200}$/
const HEAD = /^"gw1\.([A-Za-z0-9_-]{12})\.([shctf])\.([A-Za-z0-9_-]{0,200})\./

/** The envelope, as a literal. */
export function seal({ issuer, of, value, id = '' }: Opaque): Literal {
  return `"${ENVELOPE}${issuer}.${LETTERS[of]}.${PLAIN_ID.test(id) ? id : ''}.${value.slice(1)}`
}

/** What is in an envelope; null = it is none of ours. */
export function unseal(text: Literal): Opaque | null {
  const found = HEAD.exec(text)
  if (found === null) return null
  const [head, issuer, letter, id] = found as unknown as [string, string, string, string]
  const opaque: Opaque = { issuer, of: MEANINGS[letter] as Opaque['of'], value: `"${text.slice(head.length)}` }
  return id === '' ? opaque : { ...opaque, id }
}

/** The envelope in base64, for a protocol whose clients decode it. */
export const seal64 = (opaque: Opaque): Literal =>
  literal(Buffer.from(seal(opaque).slice(1, -1), 'latin1').toString('base64'))

/** What is in such an envelope, in either alphabet of base64; null = it is none of ours. Bytes that are no UTF-8 would say more (`ShortBody`). */
export function unseal64(text: Literal): Opaque | null {
  if (!text.startsWith(`"${ENVELOPE_64}`)) return null
  const bytes = Buffer.from(text.slice(1, -1), 'base64')
  const inner = `"${bytes.toString('latin1')}"`
  return isUtf8(bytes) && stringEnd(inner, 1) === inner.length ? unseal(inner) : null
}

// --- envelopes in a body that goes upstream untranslated: nobody there understands them, so what carries one is left out

/**
 * A place where a protocol's clients keep state of an upstream. `what` is left out when the string at `state` below it is an
 * envelope: an element of an array (a path that ends in `*`), or a member. When an array is left empty, so is the element around it
 * that `around` names.
 */
export interface StatePlace {
  what: string
  state: string
  around?: string
  /** How the string begins where that is no envelope: an id of ours. */
  starts?: string
  /** Beside one of these members some models must have a state, and get a word in its place. */
  instead?: { beside: readonly string[]; word: Literal; when: (model: Model) => boolean }
}

/** What is known of the upstream's model. */
type Model = Pick<TranslationTarget, 'model' | 'thinking'>

interface Span {
  start: number
  end: number
}

/** A part of the body, and what stands in its place: nothing, or a word. */
interface Cut {
  span: Span
  word: Literal
}

const STARTS = [`"${ENVELOPE}`, `"${ENVELOPE_64}`]
const MARK = new RegExp(STARTS.map(start => RegExp.escape(start)).join('|'))
const LONGEST_MARK = Math.max(...STARTS.map(({ length }) => length))
const QUOTE = 0x22

/** No provider takes longer bodies of text, and looking for the places of envelopes takes as much memory as the body. */
const LONGEST_BODY = 32 * 1024 * 1024
/** Several times as many as the longest conversations have. Reading them takes some ten milliseconds, in which all other exchanges wait. */
const MOST_VALUES = 1 << 17

/** Looks for an envelope in a body that is handed on. */
export class EnvelopeSearch {
  #tail = ''
  #bytes = 0
  #isFound = false

  feed(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#isFound) return
    // most pieces of pictures have no quote, which the engine finds out fast; a text of the piece would be a copy of it
    this.#isFound =
      (piece.includes(QUOTE) && STARTS.some(start => piece.includes(start))) ||
      (this.#tail !== '' && MARK.test(this.#tail + piece.subarray(0, LONGEST_MARK).toString('latin1')))
    this.#tail = (this.#tail + piece.subarray(-LONGEST_MARK).toString('latin1')).slice(-LONGEST_MARK)
  }

  get found(): boolean {
    return this.#isFound && this.#bytes <= LONGEST_BODY
  }
}

/** A text of a body up to here costs less than several searches in its bytes. */
const SHORT_BYTES = 8192

/** Whether there may be an envelope in a body that stands in these parts. */
export function mayHaveEnvelope(parts: readonly Buffer[]): boolean {
  const [first] = parts
  if (first !== undefined && parts.length === 1 && first.length <= SHORT_BYTES)
    return MARK.test(first.toString('latin1'))
  const search = new EnvelopeSearch()
  for (const part of parts) search.feed(part)
  return search.found
}

/**
 * The parts of a body that are left out, or replaced where the model must have something there; none in a body of too many values, so
 * that the upstream answers what it thinks of such state. `text`: the body as Latin-1.
 */
export function envelopeCuts(text: string, places: readonly StatePlace[], model: Model): Cut[] {
  const tree = new Tree()
  if (!tree.read(text, MOST_VALUES)) return []
  const out = new Out(tree, places, model)
  out.walk(tree.root, '')
  return out.cuts
}

class Out {
  readonly #tree: Tree
  readonly #places: readonly StatePlace[]
  readonly #model: Model
  readonly cuts: Cut[] = []

  constructor(tree: Tree, places: readonly StatePlace[], model: Model) {
    this.#tree = tree
    this.#places = places
    this.#model = model
  }

  #goes(node: Node, path: string): boolean {
    return this.#places.some(({ what, state, around, starts }) => {
      if (what === path) return this.#isEnvelope(node, state, starts)
      return around === path && this.#allGo(node, what.slice(path.length + 1))
    })
  }

  #isEnvelope(node: Node, state: string, starts?: string): boolean {
    let at = node
    if (state !== '') for (const name of state.split('/')) at = this.#tree.get(at, name)
    if (at === NONE) return false
    const source = this.#tree.source(at)
    return starts === undefined ? STARTS.some(start => source.startsWith(start)) : source.startsWith(`"${starts}`)
  }

  /** `rest`: a member and `*`. */
  #allGo(node: Node, rest: string): boolean {
    const list = this.#tree.get(node, rest.slice(0, -2))
    const elements = this.#tree.kind(list) === 'array' ? this.#tree.elements(list) : []
    const states = this.#places.filter(({ what }) => what.endsWith(`/${rest}`))
    return (
      elements.length > 0 &&
      elements.every(one => states.some(({ state, starts }) => this.#isEnvelope(one, state, starts)))
    )
  }

  walk(node: Node, path: string): void {
    const at = path === '' ? '' : `${path}/`
    if (!this.#places.some(({ what }) => what.startsWith(at))) return
    const kind = this.#tree.kind(node)
    const children: { value: Node; span: Span; path: string }[] = []
    if (kind === 'array')
      for (const value of this.#tree.elements(node))
        children.push({ value, span: this.#tree.span(value), path: `${at}*` })
    if (kind === 'object')
      this.#tree.members(node, (name, value) =>
        children.push({
          value,
          span: { start: this.#tree.span(value - 1).start, end: this.#tree.span(value).end },
          path: at + name,
        }),
      )
    const going = children.map(child => this.#goes(child.value, child.path))
    let isLeading = true
    for (const [i, child] of children.entries())
      if (going[i] && !this.#replaced(node, child)) this.#leaveOut(children, i, isLeading)
      else {
        isLeading = false
        this.walk(child.value, child.path)
      }
  }

  /** True: a word stands in the place of the state. */
  #replaced(node: Node, { value, path }: { value: Node; path: string }): boolean {
    const instead = this.#places.find(({ what }) => what === path)?.instead
    if (!instead?.when(this.#model) || instead.beside.every(name => this.#tree.get(node, name) === NONE)) return false
    this.cuts.push({ span: this.#tree.span(value), word: instead.word })
    return true
  }

  /** With the comma before it; the first ones with the comma behind them. */
  #leaveOut(children: readonly { span: Span }[], i: number, isLeading: boolean): void {
    const { span } = children[i] as { span: Span }
    const before = children[i - 1]?.span.end
    const behind = children[i + 1]?.span.start
    const cut = isLeading ? { start: span.start, end: behind ?? span.end } : { start: before as number, end: span.end }
    this.cuts.push({ span: cut, word: '' })
  }
}
