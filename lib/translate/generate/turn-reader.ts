/** Requests of generate-content: the system prompt and the conversation. */
import type { Ask, CallPart, MediaPart, Opaque, Part, ResultPart, TextPart, ThoughtPart, Turn } from '../ask.ts'
import { EMPTY, isBlank, join, type Literal, literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import { unseal64 } from '../opaque.ts'
import type { Member } from '../request.ts'
import { get, literalOf, stringOf } from './members.ts'
import { NO_STATE } from './state.ts'

/** One content, several, or a text. */
const contentsOf = (tree: Tree, node: Node): Node[] => (tree.kind(node) === 'array' ? tree.elements(node) : [node])

export const readSystem: Member = (ask, tree, node) => {
  for (const content of contentsOf(tree, node)) {
    const whole = tree.literal(content)
    if (whole !== null) ask.system.push({ type: 'text', text: whole })
    for (const part of tree.elements(tree.get(content, 'parts'))) {
      const text = tree.literal(tree.get(part, 'text'))
      if (text !== null) ask.system.push({ type: 'text', text })
    }
  }
}

const ROLES: Readonly<Record<string, Turn['role']>> = {
  '': 'user',
  user: 'user',
  function: 'user',
  tool: 'user',
  model: 'assistant',
}

export const readTurns: Member = (ask, tree, node) => {
  const reader = new PartReader(ask, tree)
  for (const content of contentsOf(tree, node)) {
    const role = stringOf(tree, content, 'role') ?? ''
    if (!Object.hasOwn(ROLES, role)) throw new Untranslatable('contents.role')
    reader.turn(ROLES[role] as Turn['role'], tree.elements(tree.get(content, 'parts')))
  }
  reader.end()
  // the answer would have to go on where this text ends, which no other protocol can ask for
  if (ask.turns.at(-1)?.role === 'assistant') throw new Untranslatable('contents')
}

/** What is text in whatever form: others want it as one. */
const TEXTUAL = /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b)/i
/** Files at the upstream, which others cannot read. */
const OF_THE_WEB = /^"https?:\\?\/\\?\/(?![^/]*generativelanguage)/

class PartReader {
  readonly #ask: Ask
  readonly #tree: Tree
  #turn: Turn | null = null
  /** Thoughts that came in pieces, which may be many. */
  readonly #thoughts = new Map<ThoughtPart, Literal[]>()

  constructor(ask: Ask, tree: Tree) {
    this.#ask = ask
    this.#tree = tree
  }

  /** Clients put each chunk of an answer into a content of its own. */
  turn(role: Turn['role'], parts: readonly Node[]): void {
    if (this.#turn === null || role === 'user' || this.#turn.role === 'user') {
      this.#turn = { role, parts: [] }
      this.#ask.turns.push(this.#turn)
    }
    for (const part of parts) this.#part(this.#turn, part)
  }

  #get = (node: Node, name: string): Node => get(this.#tree, node, name)
  #string = (node: Node, name: string): string | null => stringOf(this.#tree, node, name)
  #literal = (node: Node, name: string): Literal | null => literalOf(this.#tree, node, name)
  #is = (node: Node): boolean => this.#tree.kind(node) === 'object'

  #part({ role, parts }: Turn, part: Node): void {
    const call = this.#get(part, 'functionCall')
    const result = this.#get(part, 'functionResponse')
    const text = this.#literal(part, 'text')
    if (this.#is(call)) parts.push(this.#call(call, this.#state(part)))
    else if (this.#is(result)) parts.push(this.#result(result))
    else if (text !== null || this.#literal(part, 'thoughtSignature') !== null)
      this.#text(parts, role, part, text ?? EMPTY)
    else {
      const media = this.#media(part)
      if (media !== null) parts.push(media)
      else if (!/^\{\s*\}$/.test(this.#tree.source(part))) this.#ask.losses.add('server_tools')
    }
  }

  /** State of another upstream is lost; a word that stands for it, and one without a value, are none. */
  #state(part: Node): Opaque | null {
    const told = this.#literal(part, 'thoughtSignature')
    if (told === null || told === EMPTY || told === NO_STATE) return null
    const opaque = unseal64(told)
    if (opaque === null) this.#ask.losses.add('thinking')
    return opaque?.value === EMPTY ? null : opaque
  }

  /** A thought comes in pieces, and the state of a thought or text behind its last one. */
  #text(parts: Part[], role: Turn['role'], part: Node, text: Literal): void {
    const isThought = this.#tree.boolean(this.#tree.get(part, 'thought')) === true
    const opaque = role === 'assistant' ? this.#state(part) : null
    const state = opaque === null ? {} : { opaque }
    const last = parts.at(-1)
    if (isThought) {
      const isMore = last?.type === 'thought' && last.opaque === undefined
      if (isMore) this.#more(Object.assign(last, state), text)
      else parts.push({ type: 'thought', text, ...state })
    } else if (text === EMPTY && last?.type === 'text' && last.opaque === undefined) Object.assign(last, state)
    else if (text !== EMPTY || opaque !== null) parts.push({ type: 'text', text, ...state })
  }

  #more(thought: ThoughtPart, text: Literal): void {
    const pieces = this.#thoughts.get(thought)
    if (pieces === undefined) this.#thoughts.set(thought, [thought.text, text])
    else pieces.push(text)
  }

  /** No more contents will come. */
  end(): void {
    for (const [thought, pieces] of this.#thoughts) thought.text = join(pieces)
  }

  #call(call: Node, opaque: Opaque | null): CallPart {
    const args = this.#get(call, 'args')
    return {
      type: 'call',
      id: this.#string(call, 'id') ?? '',
      name: this.#string(call, 'name') ?? '',
      freeform: false,
      args: quote(this.#is(args) ? this.#tree.source(args) : '{}'),
      ...(opaque === null ? {} : { opaque }),
    }
  }

  #result(node: Node): ResultPart {
    const { text, error } = this.#response(this.#get(node, 'response'))
    const parts: ResultPart['parts'] = text === null ? [] : [{ type: 'text', text }]
    for (const part of this.#tree.elements(this.#get(node, 'parts'))) {
      const media = this.#media(part)
      if (media !== null) parts.push(media)
    }
    return { type: 'result', id: this.#string(node, 'id') ?? '', name: this.#string(node, 'name'), parts, error }
  }

  /** By convention a result is the one member `output`, and an error the one member `error`; anything else is told as it stands. */
  #response(response: Node): { text: Literal | null; error: boolean } {
    const names: string[] = []
    this.#tree.members(response, name => names.push(name))
    const only = names.length === 1 ? names[0] : undefined
    if (only === 'output' || only === 'error') {
      const value = this.#tree.get(response, only)
      const text = this.#tree.literal(value) ?? quote(this.#tree.source(value))
      return { text, error: only === 'error' }
    }
    return { text: names.length === 0 ? null : quote(this.#tree.source(response)), error: false }
  }

  #media(part: Node): TextPart | MediaPart | null {
    const blob = this.#get(part, 'inlineData')
    const file = this.#get(part, 'fileData')
    if (this.#is(blob)) return this.#blob(blob, this.#literal(blob, 'data') ?? EMPTY)
    if (!this.#is(file)) return null
    const url = this.#literal(file, 'fileUri') ?? EMPTY
    if (!OF_THE_WEB.test(url)) throw new Untranslatable('fileData.fileUri')
    const mime = this.#string(file, 'mimeType')
    return { type: 'media', kind: kindOf(mime), mime, url, ...this.#name(file) }
  }

  #blob(blob: Node, base64: Literal): MediaPart {
    const mime = this.#string(blob, 'mimeType')
    const media = { type: 'media', kind: kindOf(mime), mime: mime ?? 'application/pdf', ...this.#name(blob) } as const
    if (!TEXTUAL.test(media.mime)) return { ...media, base64 }
    const text = Buffer.from(base64.slice(1, -1).replaceAll('\\/', '/'), 'base64').toString()
    return { ...media, text: literal(text) }
  }

  #name(node: Node): { name?: Literal } {
    const name = this.#literal(node, 'displayName')
    return name === null || isBlank(name) ? {} : { name }
  }
}

const KINDS: Readonly<Record<string, MediaPart['kind']>> = { image: 'image', audio: 'audio', video: 'video' }

const kindOf = (mime: string | null): MediaPart['kind'] => {
  const kind = mime?.split('/', 1)[0]?.toLowerCase() ?? ''
  return Object.hasOwn(KINDS, kind) ? (KINDS[kind] as MediaPart['kind']) : 'document'
}
