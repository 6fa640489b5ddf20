/** Requests of the responses protocol: the items of the conversation. */
import type { Ask, MediaPart, Opaque, Part, TextPart, Turn } from '../ask.ts'
import { dataUrl } from '../data-url.ts'
import { EMPTY, join, type Literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import { unseal } from '../opaque.ts'
import type { Member } from '../request.ts'
import { readTools } from './tool-reader.ts'

export const readItems: Member = (ask, tree, node) => {
  const text = tree.literal(node)
  if (text !== null) ask.turns.push({ role: 'user', parts: [{ type: 'text', text }] })
  const reader = new ItemReader(ask, tree)
  for (const item of tree.elements(node)) reader.read(item)
}

const ROLES: Readonly<Record<string, Turn['role']>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
}
/** Items that stand for a part of the conversation which is kept elsewhere, or ask for one. */
const ELSEWHERE = /^(?:item_reference|compaction|compaction_summary|compaction_trigger)$/

class ItemReader {
  readonly #ask: Ask
  readonly #tree: Tree
  /** State that belongs to the next call. */
  #forCall: Opaque | null = null

  constructor(ask: Ask, tree: Tree) {
    this.#ask = ask
    this.#tree = tree
  }

  #get = (node: Node, name: string): Node => this.#tree.get(node, name)
  #string = (node: Node, name: string): string | null => this.#tree.string(this.#get(node, name))
  #literal = (node: Node, name: string): Literal | null => this.#tree.literal(this.#get(node, name))

  read(item: Node): void {
    const role = this.#string(item, 'role')
    const type = this.#string(item, 'type') ?? (role === null ? 'item_reference' : 'message')
    if (ELSEWHERE.test(type)) throw new Untranslatable(`input.${type}`)
    switch (type) {
      case 'message':
        this.#message(role ?? '', this.#get(item, 'content'))
        return
      case 'function_call':
      case 'custom_tool_call':
        this.#call(item, type === 'custom_tool_call')
        return
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#result(item)
        return
      case 'reasoning':
        this.#thought(item)
        return
      case 'additional_tools':
      case 'tool_search_output':
        for (const tool of readTools(this.#ask, this.#tree, this.#get(item, 'tools'))) this.#ask.tools.push(tool)
        return
      case 'configuration_update':
        this.#ask.losses.add('effort')
        return
      default:
        this.#ask.losses.add('server_tools')
    }
  }

  /** Items of the same side are one turn. */
  #add(role: Turn['role'], parts: Part[]): void {
    const last = this.#ask.turns.at(-1)
    if (last?.role !== role) this.#ask.turns.push({ role, parts })
    else for (const part of parts) last.parts.push(part)
  }

  /** What stands before everything else is the system prompt. */
  #message(name: string, content: Node): void {
    if (!Object.hasOwn(ROLES, name)) throw new Untranslatable('input.role')
    const role = ROLES[name] as Turn['role']
    const parts = this.#parts(content)
    if (role === 'user') {
      this.#add(role, parts)
      return
    }
    const texts = parts.filter(part => part.type === 'text')
    if (role === 'assistant')
      this.#add(
        role,
        texts.filter(({ text }) => text !== EMPTY),
      )
    else if (this.#ask.turns.length > 0) this.#add(role, texts)
    else for (const text of texts) this.#ask.system.push(text)
  }

  #call(item: Node, freeform: boolean): void {
    const value = this.#get(item, freeform ? 'input' : 'arguments')
    const namespace = this.#string(item, 'namespace')
    const call: Part = {
      type: 'call',
      id: this.#string(item, 'call_id') ?? '',
      name: this.#string(item, 'name') ?? '',
      ...(namespace === null ? {} : { namespace }),
      freeform,
      args: this.#tree.literal(value) ?? quote(this.#tree.source(value)),
      ...(this.#forCall === null ? {} : { opaque: this.#forCall }),
    }
    this.#add('assistant', [call])
    this.#forCall = null
  }

  #result(item: Node): void {
    const output = this.#get(item, 'output')
    const isObject = this.#tree.kind(output) === 'object'
    const result: Part = {
      type: 'result',
      id: this.#string(item, 'call_id') ?? '',
      name: this.#string(item, 'name'),
      parts: isObject ? [{ type: 'text', text: quote(this.#tree.source(output)) }] : this.#parts(output),
      error: false,
    }
    this.#add('user', [result])
  }

  #thought(item: Node): void {
    const state = this.#literal(item, 'encrypted_content')
    const opaque = state === null ? null : unseal(state)
    const last = this.#ask.turns.at(-1)
    const before = last?.role === 'assistant' ? last.parts.at(-1) : undefined
    if (opaque?.of === 'call') this.#forCall = opaque
    else if (opaque?.of === 'text' && before?.type === 'text') before.opaque = opaque
    else this.#add('assistant', [{ type: 'thought', text: this.#told(item), ...(opaque === null ? {} : { opaque }) }])
  }

  /** What may be seen of a thought: its summary, else the thought itself. */
  #told(item: Node): Literal {
    for (const name of ['summary', 'content']) {
      const texts = this.#tree.elements(this.#get(item, name)).map(part => this.#literal(part, 'text'))
      const found = texts.filter(text => text !== null)
      if (found.length > 0) return join(found, '\\n\\n')
    }
    return EMPTY
  }

  // --- what may stand in a message and in a result

  #parts(content: Node): (TextPart | MediaPart)[] {
    const whole = this.#tree.literal(content)
    if (whole !== null) return [{ type: 'text', text: whole }]
    return this.#tree.elements(content).map(part => this.#part(part))
  }

  #part(part: Node): TextPart | MediaPart {
    const type = this.#string(part, 'type') ?? ''
    switch (type) {
      case 'input_text':
      case 'output_text':
      case 'text':
        return { type: 'text', text: this.#literal(part, 'text') ?? EMPTY, ...this.#breakpoint(part) }
      case 'refusal':
        return { type: 'text', text: this.#literal(part, 'refusal') ?? EMPTY, refusal: true }
      case 'input_image':
        return { ...this.#image(part), ...this.#breakpoint(part) }
      case 'input_file':
        return { ...this.#file(part), ...this.#breakpoint(part) }
      default:
        throw new Untranslatable(`input.content.${type.replace(/\W/g, '').slice(0, 40)}`)
    }
  }

  #breakpoint(part: Node): { cache?: '5m' | '1h' } {
    const mark = this.#get(part, 'prompt_cache_breakpoint')
    if (this.#tree.kind(mark) !== 'object') return {}
    return { cache: this.#string(mark, 'ttl') === '12h' ? '1h' : '5m' }
  }

  #image(part: Node): MediaPart {
    const url = this.#literal(part, 'image_url')
    if (url === null) throw new Untranslatable('file_id')
    const image = { type: 'media', kind: 'image' } as const
    const inside = dataUrl(url)
    return inside === null ? { ...image, mime: null, url } : { ...image, ...inside }
  }

  #file(part: Node): MediaPart {
    const name = this.#literal(part, 'filename')
    const url = this.#literal(part, 'file_url')
    const data = this.#literal(part, 'file_data')
    const file = { type: 'media', kind: 'document', ...(name === null ? {} : { name }) } as const
    if (data !== null) return { ...file, ...(dataUrl(data) ?? { mime: 'application/pdf', base64: data }) }
    if (url === null) throw new Untranslatable('file_id')
    return { ...file, mime: null, url }
  }
}
