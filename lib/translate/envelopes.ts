/**
 * Our envelopes in a body that goes upstream untranslated, because the turn before was answered by another upstream: nobody there
 * understands them, so what carries one is left out, and nothing else is touched.
 */
import { NONE, type Node, Tree } from './json/tree.ts'
import { ENVELOPE, ENVELOPE_64 } from './opaque.ts'

/**
 * A place where a protocol's clients keep state of an upstream. `what` is left out when the string at `state` below it is an
 * envelope: an element of an array (a path that ends in `*`), or a member. When an array is left empty, so is the element around it
 * that `around` names.
 */
export interface StatePlace {
  what: string
  state: string
  around?: string
}

export interface Span {
  start: number
  end: number
}

const STARTS = [`"${ENVELOPE}`, `"${ENVELOPE_64}`]
const MARKS = STARTS.map(start => Buffer.from(start))
const LONGEST_MARK = Math.max(...MARKS.map(({ length }) => length))
const hasMark = (bytes: Buffer): boolean => MARKS.some(mark => bytes.includes(mark))

/** Whether there may be an envelope in a body that stands in these parts. */
export function mayHaveEnvelope(parts: readonly Buffer[]): boolean {
  let tail: Buffer = Buffer.alloc(0)
  for (const part of parts) {
    if (hasMark(part)) return true
    if (parts.length === 1) return false
    if (tail.length > 0 && hasMark(Buffer.concat([tail, part.subarray(0, LONGEST_MARK)]))) return true
    tail = part.subarray(-LONGEST_MARK)
  }
  return false
}

/** The parts of a body that are left out. `text`: the body as Latin-1. */
export function envelopeSpans(text: string, places: readonly StatePlace[]): Span[] {
  const tree = new Tree()
  if (!tree.read(text)) return []
  const out = new Out(tree, places)
  out.walk(tree.root, '')
  return out.spans
}

class Out {
  readonly #tree: Tree
  readonly #places: readonly StatePlace[]
  readonly spans: Span[] = []

  constructor(tree: Tree, places: readonly StatePlace[]) {
    this.#tree = tree
    this.#places = places
  }

  #goes(node: Node, path: string): boolean {
    return this.#places.some(({ what, state, around }) => {
      if (what === path) return this.#isEnvelope(node, state)
      return around === path && this.#allGo(node, what.slice(path.length + 1))
    })
  }

  #isEnvelope(node: Node, state: string): boolean {
    let at = node
    if (state !== '') for (const name of state.split('/')) at = this.#tree.get(at, name)
    return at !== NONE && STARTS.some(start => this.#tree.source(at).startsWith(start))
  }

  /** `rest`: a member and `*`. */
  #allGo(node: Node, rest: string): boolean {
    const list = this.#tree.get(node, rest.slice(0, -2))
    const elements = this.#tree.kind(list) === 'array' ? this.#tree.elements(list) : []
    const states = this.#places.filter(({ what }) => what.endsWith(`/${rest}`))
    return elements.length > 0 && elements.every(one => states.some(({ state }) => this.#isEnvelope(one, state)))
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
    for (const [i, child] of children.entries())
      if (going[i]) this.#leaveOut(children, going, i)
      else this.walk(child.value, child.path)
  }

  /** With the comma before it; the first ones with the comma behind them. */
  #leaveOut(children: readonly { span: Span }[], going: readonly boolean[], i: number): void {
    const { span } = children[i] as { span: Span }
    const isLeading = going.slice(0, i).every(Boolean)
    const before = children[i - 1]?.span.end
    const behind = children[i + 1]?.span.start
    if (isLeading) this.spans.push({ start: span.start, end: behind ?? span.end })
    else this.spans.push({ start: before as number, end: span.end })
  }
}
