/** Requests of chat completions: the conversation. */
import type { Ask, CallPart, MediaPart, Opaque, Part, ResultPart, TextPart } from '../ask.ts'
import { dataUrl } from '../data-url.ts'
import { EMPTY, join, type Literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import { unseal } from '../opaque.ts'
import { cacheOf, type Member } from '../request.ts'

export const readTurns: Member = (ask, tree, node) => {
  const reader = new MessageReader(ask, tree)
  for (const message of tree.elements(node)) reader.read(message)
}

class MessageReader {
  readonly #ask: Ask
  readonly #tree: Tree

  constructor(ask: Ask, tree: Tree) {
    this.#ask = ask
    this.#tree = tree
  }

  #get = (node: Node, name: string): Node => this.#tree.get(node, name)
  #string = (node: Node, name: string): string | null => this.#tree.string(this.#get(node, name))
  #literal = (node: Node, name: string): Literal | null => this.#tree.literal(this.#get(node, name))

  read(message: Node): void {
    const role = this.#string(message, 'role')
    const content = this.#get(message, 'content')
    if (role !== 'function' && !this.#tree.absent(this.#get(message, 'name'))) this.#ask.losses.add('message_names')
    switch (role) {
      case 'system':
      case 'developer':
        this.#system(content)
        return
      case 'user':
        this.#ask.turns.push({ role: 'user', parts: this.#content(content) })
        return
      case 'assistant':
        this.#ask.turns.push({ role: 'assistant', parts: this.#assistant(message, content) })
        return
      case 'tool':
      case 'function':
        this.#result(message, content)
        return
      default:
        throw new Untranslatable('messages.role')
    }
  }

  /** What stands before everything else is the system prompt. */
  #system(content: Node): void {
    const parts = this.#content(content).filter(part => part.type === 'text')
    if (this.#ask.turns.length === 0) for (const part of parts) this.#ask.system.push(part)
    else this.#ask.turns.push({ role: 'system', parts })
  }

  #result(message: Node, content: Node): void {
    const part: ResultPart = {
      type: 'result',
      id: this.#string(message, 'tool_call_id') ?? '',
      name: this.#string(message, 'name'),
      parts: this.#content(content),
      error: false,
    }
    const last = this.#ask.turns.at(-1)
    // the first part says what the others are
    if (last?.role === 'user' && (last.parts[0]?.type ?? 'result') === 'result') last.parts.push(part)
    else this.#ask.turns.push({ role: 'user', parts: [part] })
  }

  // --- the assistant

  #assistant(message: Node, content: Node): Part[] {
    if (!this.#tree.absent(this.#get(message, 'audio'))) throw new Untranslatable('messages.audio')
    const calls = this.#calls(message)
    const parts = [...this.#thoughts(message, calls), ...this.#texts(content)]
    const refusal = this.#literal(message, 'refusal')
    if (refusal !== null && refusal !== EMPTY) parts.push({ type: 'text', text: refusal, refusal: true })
    return [...parts, ...calls]
  }

  #texts(content: Node): Part[] {
    return this.#content(content).filter(part => part.type !== 'text' || part.text !== EMPTY)
  }

  #calls(message: Node): CallPart[] {
    const calls: CallPart[] = []
    for (const call of this.#tree.elements(this.#get(message, 'tool_calls'))) {
      const custom = this.#get(call, 'custom')
      const isCustom = this.#tree.kind(custom) === 'object'
      const inner = isCustom ? custom : this.#get(call, 'function')
      const state = this.#literal(this.#get(this.#get(call, 'extra_content'), 'google'), 'thought_signature')
      const opaque = state === null ? null : unseal(state)
      calls.push({
        ...this.#call(inner, this.#string(call, 'id') ?? '', isCustom),
        ...(opaque === null ? {} : { opaque }),
      })
    }
    const legacy = this.#get(message, 'function_call')
    if (this.#tree.kind(legacy) === 'object') calls.push(this.#call(legacy, '', false))
    return calls
  }

  #call(inner: Node, id: string, freeform: boolean): CallPart {
    const value = this.#get(inner, freeform ? 'input' : 'arguments')
    const args = this.#tree.literal(value) ?? quote(this.#tree.source(value))
    return { type: 'call', id, name: this.#string(inner, 'name') ?? '', freeform, args }
  }

  /** Thoughts come back as one text, and upstreams' state beside it, in the order in which it was given. */
  #thoughts(message: Node, calls: readonly CallPart[]): Part[] {
    const details = this.#tree.elements(this.#get(message, 'reasoning_details'))
    const states: Opaque[] = []
    const texts: Literal[] = []
    for (const detail of details) {
      const opaque = unseal(this.#literal(detail, 'data') ?? EMPTY)
      const text = this.#literal(detail, 'text') ?? this.#literal(detail, 'summary')
      if (text !== null) texts.push(text)
      if (opaque?.of === 'call' && calls[0] !== undefined) calls[0].opaque = opaque
      else if (opaque !== null) states.push(opaque)
    }
    const told = this.#literal(message, 'reasoning_content') ?? this.#literal(message, 'reasoning')
    const text = told ?? (texts.length === 0 ? EMPTY : join(texts))
    if (states.length === 0) return text === EMPTY ? [] : [{ type: 'thought', text }]
    return states.map((opaque, at) => ({ type: 'thought', text: at === 0 ? text : EMPTY, opaque }))
  }

  // --- parts

  #content(content: Node): (TextPart | MediaPart)[] {
    const whole = this.#tree.literal(content)
    if (whole !== null) return [{ type: 'text', text: whole }]
    return this.#tree.elements(content).map(part => this.#part(part))
  }

  #part(part: Node): TextPart | MediaPart {
    const cache = { ...cacheOf(this.#tree, part), ...this.#breakpoint(part) }
    const type = this.#string(part, 'type')
    switch (type) {
      case 'text':
        return { type: 'text', text: this.#literal(part, 'text') ?? EMPTY, ...cache }
      case 'refusal':
        return { type: 'text', text: this.#literal(part, 'refusal') ?? EMPTY, refusal: true }
      case 'image_url':
        return { ...this.#image(this.#get(part, 'image_url')), ...cache }
      case 'file':
        return { ...this.#file(this.#get(part, 'file')), ...cache }
      case 'input_audio':
        return this.#audio(this.#get(part, 'input_audio'))
      default:
        throw new Untranslatable(`messages.content.${(type ?? '').replace(/\W/g, '').slice(0, 40)}`)
    }
  }

  #breakpoint(part: Node): { cache?: '5m' | '1h' } {
    const mark = this.#get(part, 'prompt_cache_breakpoint')
    if (this.#tree.kind(mark) !== 'object') return {}
    return { cache: this.#string(mark, 'ttl') === '12h' ? '1h' : '5m' }
  }

  #image(node: Node): MediaPart {
    const url = this.#tree.literal(node) ?? this.#literal(node, 'url') ?? EMPTY
    const inside = dataUrl(url)
    const image = { type: 'media', kind: 'image' } as const
    return inside === null ? { ...image, mime: null, url } : { ...image, ...inside }
  }

  #file(node: Node): MediaPart {
    const data = this.#literal(node, 'file_data')
    if (data === null) throw new Untranslatable('file_id')
    const name = this.#literal(node, 'filename')
    const file = dataUrl(data) ?? { mime: 'application/pdf', base64: data }
    return { type: 'media', kind: 'document', ...file, ...(name === null ? {} : { name }) }
  }

  #audio(node: Node): MediaPart {
    const format = this.#string(node, 'format') === 'mp3' ? 'mpeg' : 'wav'
    return { type: 'media', kind: 'audio', mime: `audio/${format}`, base64: this.#literal(node, 'data') ?? EMPTY }
  }
}
