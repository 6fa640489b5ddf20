/** Requests of the messages protocol: system prompt and conversation. */
import type { Ask, MediaPart, Opaque, Part, TextPart, Turn } from '../ask.ts'
import { EMPTY, join, type Literal, literal, quote } from '../json/literal.ts'
import { NONE, type Node, type Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import { unseal } from '../opaque.ts'
import { cacheOf, type Member } from '../request.ts'

/**
 * A line that Claude Code puts before everything else. A part of it changes with every request, so that no upstream could
 * ever use its prompt cache behind it.
 */
const ATTRIBUTION = '"x-anthropic-billing-header: cc_version='
const LINE_END = '\\n'

function withoutAttribution(text: Literal): Literal {
  if (!text.startsWith(ATTRIBUTION)) return text
  let end = text.indexOf(LINE_END)
  if (end < 0) return EMPTY
  while (text.startsWith(LINE_END, end)) end += LINE_END.length
  return `"${text.slice(end)}`
}

export const readSystem: Member = (ask, tree, node) => {
  const whole = tree.literal(node)
  if (whole !== null) {
    ask.system.push({ type: 'text', text: whole })
    return
  }
  const parts = textsOf(tree, node)
  const first = parts[0]
  if (first !== undefined) first.text = withoutAttribution(first.text)
  if (first?.text === EMPTY) parts.shift()
  for (const part of parts) ask.system.push(part)
}

const ROLES = new Set(['user', 'assistant', 'system'])

export const readTurns: Member = (ask, tree, node) => {
  for (const message of tree.elements(node)) {
    const role = tree.string(tree.get(message, 'role')) ?? ''
    if (!ROLES.has(role)) throw new Untranslatable('messages.role')
    const content = tree.get(message, 'content')
    const text = tree.literal(content)
    const parts = text === null ? new BlockReader(ask, tree).read(content) : [{ type: 'text', text } as const]
    ask.turns.push({ role: role as Turn['role'], parts })
  }
  // the answer would have to go on where this text ends, which no other protocol can ask for
  if (ask.turns.at(-1)?.role === 'assistant') throw new Untranslatable('messages')
}

/** The texts of a string or of blocks; other blocks are left out. */
function textsOf(tree: Tree, node: Node): TextPart[] {
  const whole = tree.literal(node)
  if (whole !== null) return [{ type: 'text', text: whole }]
  const texts: TextPart[] = []
  for (const block of tree.elements(node)) {
    const text = tree.literal(tree.get(block, 'text'))
    if (text !== null) texts.push({ type: 'text', text, ...cacheOf(tree, block) })
  }
  return texts
}

class BlockReader {
  readonly #ask: Ask
  readonly #tree: Tree
  readonly #parts: Part[] = []
  /** State that belongs to the next call. */
  #forCall: Opaque | null = null

  constructor(ask: Ask, tree: Tree) {
    this.#ask = ask
    this.#tree = tree
  }

  read(content: Node): Part[] {
    for (const block of this.#tree.elements(content)) this.#block(block)
    return this.#parts
  }

  #get = (node: Node, name: string): Node => this.#tree.get(node, name)
  #string = (node: Node, name: string): string | null => this.#tree.string(this.#get(node, name))
  #literal = (node: Node, name: string): Literal | null => this.#tree.literal(this.#get(node, name))

  #block(block: Node): void {
    switch (this.#string(block, 'type')) {
      case 'tool_use':
        this.#call(block)
        return
      case 'tool_result':
        this.#result(block)
        return
      case 'thinking':
        this.#thought(this.#literal(block, 'thinking') ?? EMPTY, this.#literal(block, 'signature'))
        return
      case 'redacted_thinking':
        this.#thought(EMPTY, this.#literal(block, 'data'))
        return
      default: {
        const part = this.#content(block)
        if (part !== null) this.#parts.push(part)
      }
    }
  }

  #call(block: Node): void {
    const input = this.#get(block, 'input')
    this.#parts.push({
      type: 'call',
      id: this.#string(block, 'id') ?? '',
      name: this.#string(block, 'name') ?? '',
      freeform: false,
      args: quote(this.#tree.absent(input) ? '{}' : this.#tree.source(input)),
      ...(this.#forCall === null ? {} : { opaque: this.#forCall }),
      ...cacheOf(this.#tree, block),
    })
    this.#forCall = null
  }

  #result(block: Node): void {
    const content = this.#get(block, 'content')
    const text = this.#tree.literal(content)
    const parts: (TextPart | MediaPart)[] = text === null ? [] : [{ type: 'text', text }]
    for (const element of this.#tree.elements(content)) {
      const part = this.#content(element)
      if (part !== null) parts.push(part)
    }
    const error = this.#tree.boolean(this.#get(block, 'is_error')) === true
    const id = this.#string(block, 'tool_use_id') ?? ''
    this.#parts.push({ type: 'result', id, name: null, parts, error, ...cacheOf(this.#tree, block) })
  }

  #thought(text: Literal, state: Literal | null): void {
    const opaque = state === null ? null : unseal(state)
    const last = this.#parts.at(-1)
    if (opaque?.of === 'call') this.#forCall = opaque
    else if (opaque?.of === 'text' && last?.type === 'text') last.opaque = opaque
    else this.#parts.push({ type: 'thought', text, ...(opaque === null ? {} : { opaque }) })
  }

  /** What may stand in a turn and in a result. */
  #content(block: Node): TextPart | MediaPart | null {
    const cache = cacheOf(this.#tree, block)
    switch (this.#string(block, 'type')) {
      case 'text':
        return { type: 'text', text: this.#literal(block, 'text') ?? EMPTY, ...cache }
      case 'image':
        return { type: 'media', kind: 'image', mime: null, ...this.#source(this.#get(block, 'source')), ...cache }
      case 'document':
        return { ...this.#document(block), ...cache }
      case 'search_result':
        return { type: 'text', text: this.#searchResult(block), ...cache }
      case 'tool_reference':
        return { type: 'text', text: literal(`Tool ${this.#string(block, 'tool_name') ?? ''} is available`) }
      case 'container_upload':
        throw new Untranslatable('file_id')
      default:
        this.#ask.losses.add('server_tools')
        return null
    }
  }

  #source(source: Node): Partial<MediaPart> {
    const url = this.#literal(source, 'url')
    if (url !== null) return { url }
    const base64 = this.#literal(source, 'data')
    if (base64 === null) throw new Untranslatable('file_id')
    return { mime: this.#string(source, 'media_type'), base64 }
  }

  #document(block: Node): TextPart | MediaPart {
    const source = this.#get(block, 'source')
    const title = this.#literal(block, 'title')
    const name = title === null ? {} : { name: title }
    if (this.#tree.boolean(this.#get(this.#get(block, 'citations'), 'enabled'))) this.#ask.losses.add('citations')
    if (!this.#tree.absent(this.#get(block, 'context'))) this.#ask.losses.add('documents')
    const media = { type: 'media', kind: 'document', ...name } as const
    switch (this.#string(source, 'type')) {
      case 'text':
        return { ...media, mime: 'text/plain', text: this.#literal(source, 'data') ?? EMPTY }
      case 'content':
        return { ...media, mime: 'text/plain', text: this.#texts(this.#get(source, 'content')) }
      default:
        return { ...media, mime: null, ...this.#source(source) }
    }
  }

  /** All texts as one. Pictures in a document that is given in parts have no other place. */
  #texts(node: Node): Literal {
    const texts = textsOf(this.#tree, node).map(({ text }) => text)
    if (this.#tree.elements(node).length > texts.length) this.#ask.losses.add('documents')
    return texts.length === 0 ? EMPTY : join(texts, '\\n')
  }

  #searchResult(block: Node): Literal {
    const head = ['title', 'source'].map(name => this.#literal(block, name)).filter(text => text !== null)
    const content = this.#get(block, 'content')
    return join([...head, this.#texts(content === NONE ? NONE : content)], '\\n')
  }
}
