/**
 * The half of Converse that the gateway does not speak: a reader of requests and a writer of answers, as the upstream has them. They are
 * written after the provider's pages and share no rules with `lib/translate/converse`.
 */
import type { Usage } from '../../../lib/protocols/words/usage.ts'
import type { Ask, CacheLife, MediaPart, TextPart, TurnPart } from '../../../lib/translate/ask.ts'
import type {
  AnswerEvent,
  AnswerWriter,
  Failure,
  OpenEvent,
  StopReason,
  WriterOptions,
} from '../../../lib/translate/events.ts'
import { EMPTY_TEXT, type Literal, literal, object, quote, unquote } from '../../../lib/translate/json/literal.ts'
import { type Node, Tree } from '../../../lib/translate/json/tree.ts'
import { emptyAsk } from '../../../lib/translate/request-reader.ts'
import { type Translated, translatedUpstream } from '../../../lib/translate/table.ts'

// --- requests

const MIMES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  pdf: 'application/pdf',
  txt: 'text/plain',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  webm: 'video/webm',
}

const literalIn = (tree: Tree, node: Node, name: string): Literal => {
  const value = tree.literal(node, name)
  if (value === null) throw new Error(`${name} is missing in ${tree.source(node)}`)
  return value
}

const lifeOf = (tree: Tree, block: Node): CacheLife | null => {
  const point = tree.get(block, 'cachePoint')
  if (tree.kind(point) !== 'object') return null
  return tree.string(point, 'ttl') === '1h' ? '1h' : '5m'
}

function mediaOf(tree: Tree, kind: MediaPart['kind'], node: Node): MediaPart {
  const mime = MIMES[tree.string(node, 'format') ?? ''] ?? 'nothing'
  const source = tree.get(node, 'source')
  const text = tree.literal(source, 'text')
  const name = kind === 'document' ? { name: literalIn(tree, node, 'name') } : {}
  if (text !== null) return { type: 'media', kind, mime, text, ...name }
  return { type: 'media', kind, mime, base64: literalIn(tree, source, 'bytes'), ...name }
}

/** The parts of a content; what asks for a cache entry marks the part before it. */
function partsOf(tree: Tree, blocks: readonly Node[], issuer: string): TurnPart[] {
  const parts: TurnPart[] = []
  for (const block of blocks) {
    const life = lifeOf(tree, block)
    const last = parts.at(-1)
    if (life === null) parts.push(partOf(tree, block, issuer))
    else if (last !== undefined && last.type !== 'thought') last.cache = life
    else throw new Error('a cache point that stands behind nothing')
  }
  return parts
}

function partOf(tree: Tree, block: Node, issuer: string): TurnPart {
  const text = tree.literal(block, 'text')
  if (text !== null) return { type: 'text', text }
  for (const kind of ['image', 'document', 'audio', 'video'] as const) {
    const node = tree.get(block, kind)
    if (tree.kind(node) === 'object') return mediaOf(tree, kind, node)
  }
  const call = tree.get(block, 'toolUse')
  if (tree.kind(call) === 'object') {
    const name = tree.string(call, 'name') ?? ''
    const args = quote(tree.source(call, 'input'))
    return { type: 'call', id: tree.string(call, 'toolUseId') ?? '', name, freeform: false, args }
  }
  const result = tree.get(block, 'toolResult')
  if (tree.kind(result) === 'object') {
    const parts = partsOf(tree, tree.elements(result, 'content'), issuer) as (TextPart | MediaPart)[]
    const id = tree.string(result, 'toolUseId') ?? ''
    return { type: 'result', id, name: null, parts, error: tree.string(result, 'status') === 'error' }
  }
  const thought = tree.get(block, 'reasoningContent')
  const said = tree.get(thought, 'reasoningText')
  if (tree.kind(said) === 'object') {
    const value = literalIn(tree, said, 'signature')
    return { type: 'thought', text: literalIn(tree, said, 'text'), opaque: { issuer, of: 'signed', value } }
  }
  const value = literalIn(tree, thought, 'redactedContent')
  return { type: 'thought', text: EMPTY_TEXT, opaque: { issuer, of: 'hidden', value } }
}

/** Throws at what the provider refuses: turns that do not alternate, blank texts, calls without tools, documents without words or names. */
function refuse(ask: Ask): void {
  ask.turns.forEach(({ role, parts }, at) => {
    if (role !== (at % 2 === 0 ? 'user' : 'assistant')) throw new Error('roles must alternate')
    if (parts.length === 0) throw new Error('a message without content')
    const texts = parts.filter(part => part.type === 'text')
    if (texts.some(({ text }) => unquote(text).trim() === '')) throw new Error('a blank text')
    const documents = parts.filter(part => part.type === 'media' && part.kind === 'document')
    if (documents.length > 0 && texts.length === 0) throw new Error('a document without a text')
    for (const part of parts) if (part.type === 'result' && part.parts.length === 0) throw new Error('an empty result')
  })
  const all = ask.turns.flatMap(({ parts }) => parts)
  if (all.some(({ type }) => type === 'call' || type === 'result') && ask.tools.length === 0)
    throw new Error('toolConfig must be defined')
  const names = all
    .flatMap(part => [part, ...(part.type === 'result' ? part.parts : [])])
    .flatMap(part => (part.type === 'media' && part.kind === 'document' ? [part.name ?? EMPTY_TEXT] : []))
  if (new Set(names).size < names.length) throw new Error('document names must differ')
  for (const name of names)
    if (!/^"(?!.* {2})[A-Za-z0-9 ()[\]-]{1,200}"$/.test(name)) throw new Error(`a document cannot be called ${name}`)
}

function readTools(ask: Ask, tree: Tree): void {
  const config = tree.get(tree.root, 'toolConfig')
  for (const one of tree.elements(config, 'tools')) {
    const life = lifeOf(tree, one)
    const last = ask.tools.at(-1)
    if (life !== null && last?.type === 'function') last.cache = life
    if (life !== null) continue
    const spec = tree.get(one, 'toolSpec')
    ask.tools.push({
      type: 'function',
      name: tree.string(spec, 'name') ?? '',
      description: tree.literal(spec, 'description'),
      schema: tree.source(tree.get(spec, 'inputSchema'), 'json'),
      strict: null,
    })
  }
  const choice = tree.get(config, 'toolChoice')
  const one = tree.string(tree.get(choice, 'tool'), 'name')
  if (one !== null) ask.choice = { type: 'one', name: one }
  else if (tree.kind(choice, 'any') === 'object') ask.choice = { type: 'any' }
  else if (tree.kind(choice, 'auto') === 'object') ask.choice = { type: 'auto' }
}

function readRequest(body: Buffer, head: { model: string; stream: boolean }): Ask {
  const tree = new Tree(32)
  if (!tree.read(body.toString('latin1'))) throw new Error('the body is no JSON')
  const ask = emptyAsk(head)
  const { root } = tree
  const config = tree.get(root, 'inferenceConfig')
  ask.system = partsOf(tree, tree.elements(root, 'system'), '') as TextPart[]
  for (const message of tree.elements(root, 'messages'))
    ask.turns.push({
      role: tree.string(message, 'role') as 'user' | 'assistant',
      parts: partsOf(tree, tree.elements(message, 'content'), head.model),
    })
  readTools(ask, tree)
  ask.maxOutput = tree.number(config, 'maxTokens')
  ask.stop = tree.elements(config, 'stopSequences').map(one => tree.literal(one) ?? EMPTY_TEXT)
  const number = (name: string) => (tree.absent(config, name) ? undefined : tree.source(config, name))
  for (const [name, value] of [
    ['temperature', number('temperature')],
    ['topP', number('topP')],
  ] as const)
    if (value !== undefined) ask.sampling[name] = value
  readFields(ask, tree, tree.get(root, 'additionalModelRequestFields'))
  const output = tree.get(root, 'outputConfig')
  ask.thinking.effort = (tree.string(output, 'effort') ?? ask.thinking.effort) as Ask['thinking']['effort']
  const format = tree.get(tree.get(tree.get(output, 'textFormat'), 'structure'), 'jsonSchema')
  const schema = tree.literal(format, 'schema')
  if (schema !== null)
    ask.format = { type: 'schema', name: null, schema: unquote(schema), strict: null, description: null }
  ask.tier = tree.string(tree.get(root, 'serviceTier'), 'type')
  refuse(ask)
  return ask
}

function readFields(ask: Ask, tree: Tree, fields: Node): void {
  const thinking = tree.get(fields, 'thinking')
  const type = tree.string(thinking, 'type')
  if (type !== null) ask.thinking.mode = type === 'disabled' ? 'off' : 'on'
  ask.thinking.budget = tree.number(thinking, 'budget_tokens')
  if (!tree.absent(fields, 'top_k')) ask.sampling.topK = tree.source(fields, 'top_k')
  const effort =
    tree.string(fields, 'reasoning_effort') ?? tree.string(tree.get(fields, 'reasoningConfig'), 'maxReasoningEffort')
  if (effort !== null) ask.thinking.effort = effort as Ask['thinking']['effort']
}

// --- answers

const REASONS: Partial<Readonly<Record<StopReason | 'unknown', string>>> = {
  end: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  refusal: 'content_filtered',
  sequence: 'stop_sequence',
  context: 'model_context_window_exceeded',
}

const named = (name: string, data: object | string): string =>
  `event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

export const converseUsage = (usage: Usage): object => ({
  inputTokens: usage.input,
  outputTokens: usage.output,
  totalTokens: usage.input + usage.output + usage.cache_read,
  cacheReadInputTokens: usage.cache_read,
  cacheWriteInputTokens: usage.cache_write_5m + usage.cache_write_1h,
})

/** A stream as it is behind the frames, or a document. */
class ConverseAnswer implements AnswerWriter {
  readonly #isStream: boolean
  readonly #kinds = new Map<number, OpenEvent>()
  readonly #blocks = new Map<number, { text: Literal; signature: Literal; hidden: Literal }>()
  #reason = ''
  readonly keepAlive = ''
  readonly counted = 0
  readonly failure = null
  readonly held = 0
  readonly thinking = 0

  usageText(usage: Usage): string {
    return JSON.stringify(converseUsage(usage))
  }

  constructor({ events }: Pick<WriterOptions, 'events'>) {
    this.#isStream = events
  }

  write(event: AnswerEvent): string {
    const told = this.#event(event)
    return this.#isStream ? told : ''
  }

  #event(event: AnswerEvent): string {
    switch (event.type) {
      case 'begin':
        return named('messageStart', { p: 'abcdef', role: 'assistant' })
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#delta(event.index, event.text)
      case 'seal':
        return this.#seal(event.index, event.opaque.of, event.opaque.value)
      case 'close':
        return named('contentBlockStop', { contentBlockIndex: event.index })
      case 'stop':
        this.#reason = REASONS[event.reason] ?? event.reason
    }
    return ''
  }

  #open(event: OpenEvent): string {
    const { index } = event
    this.#kinds.set(index, event)
    this.#blocks.set(index, { text: EMPTY_TEXT, signature: EMPTY_TEXT, hidden: EMPTY_TEXT })
    if (event.kind === 'call') {
      const start = { toolUse: { toolUseId: event.call.id, name: event.call.name } }
      return named('contentBlockStart', { contentBlockIndex: index, start })
    }
    if (event.kind !== 'media') return ''
    const start = named('contentBlockStart', { contentBlockIndex: index, start: { image: { format: 'png' } } })
    const image = object({ source: object({ bytes: event.base64 }) })
    return start + named('contentBlockDelta', object({ contentBlockIndex: String(index), delta: object({ image }) }))
  }

  #delta(index: number, text: Literal): string {
    const block = this.#blocks.get(index)
    if (block !== undefined) block.text = `${block.text.slice(0, -1)}${text.slice(1)}`
    const kind = this.#kinds.get(index)?.kind
    const delta =
      kind === 'call'
        ? { toolUse: object({ input: text }) }
        : kind === 'thought'
          ? { reasoningContent: object({ text }) }
          : { text }
    return named('contentBlockDelta', object({ contentBlockIndex: String(index), delta: object(delta) }))
  }

  #seal(index: number, of: string, value: Literal): string {
    const block = this.#blocks.get(index)
    if (block === undefined || value === EMPTY_TEXT || this.#kinds.get(index)?.kind !== 'thought') return ''
    const name = of === 'hidden' ? 'redactedContent' : 'signature'
    block[of === 'hidden' ? 'hidden' : 'signature'] = value
    const delta = object({ reasoningContent: object({ [name]: value }) })
    return named('contentBlockDelta', object({ contentBlockIndex: String(index), delta }))
  }

  finish(usage: Usage): string {
    const said = converseUsage(usage)
    if (this.#isStream)
      return named('messageStop', { stopReason: this.#reason }) + named('metadata', { usage: said, p: 'abc' })
    const content = [...this.#blocks].map(([index, block]) => this.#whole(this.#kinds.get(index) as OpenEvent, block))
    const message = object({ role: '"assistant"', content: `[${content.join(',')}]` })
    return object({ output: object({ message }), stopReason: `"${this.#reason}"`, usage: JSON.stringify(said) })
  }

  #whole(open: OpenEvent, { text, signature, hidden }: { text: Literal; signature: Literal; hidden: Literal }): string {
    if (open.kind === 'media')
      return object({ image: object({ format: '"png"', source: object({ bytes: open.base64 }) }) })
    if (open.kind === 'call') {
      const { id, name } = open.call
      const input = text === EMPTY_TEXT ? '{}' : unquote(text)
      return object({ toolUse: object({ toolUseId: literal(id), name: literal(name), input }) })
    }
    if (open.kind !== 'thought') return object({ text })
    if (hidden !== EMPTY_TEXT) return object({ reasoningContent: object({ redactedContent: hidden }) })
    const reasoningText = object({ text, signature: signature === EMPTY_TEXT ? undefined : signature })
    return object({ reasoningContent: object({ reasoningText }) })
  }

  stopByLength(usage: Usage): string {
    this.#reason = 'max_tokens'
    return this.finish(usage)
  }

  breakOff({ message }: Failure): string {
    return named('error', { type: 'error', error: { type: 'api_error', message } })
  }
}

/** Both halves, as other protocols have them. Nobody asks for the rest. */
export const converse: Translated = {
  ...translatedUpstream('converse'),
  readRequest,
  answerWriter: options => new ConverseAnswer(options),
  writeError: ({ status, message }) => ({ status, body: JSON.stringify({ message }) }),
  via: [],
  state: [],
}
