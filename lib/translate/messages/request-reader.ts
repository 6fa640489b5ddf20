/** Requests of the messages protocol: the members of the body but for the conversation. */
import type { Ask, AskHead, MediaPart, TextPart, Turn, TurnPart } from '../ask.ts'
import { type Opaque, Untranslatable } from '../events.ts'
import { EMPTY_TEXT, join, type Literal, literal, quote } from '../json/literal.ts'
import type { ShortBody } from '../json/short-body.ts'
import { type Node, NONE, type Tree } from '../json/tree.ts'
import { digest } from '../names.ts'
import { unseal } from '../opaque.ts'
import {
  addSystem,
  askOf,
  cacheOf,
  checkChoice,
  choiceNamed,
  drop,
  effortNamed,
  endsOpen,
  functionTool,
  ignore,
  maxOutput,
  type MemberReader,
  type MemberReaders,
  PartReader,
  refuseFilled,
  refuseMember,
  sampling,
  stop,
  treeOfBody,
} from '../request-reader.ts'
import { isSearchType, readSearch, settleSearch } from '../search.ts'
import { PastSearches, turnsOf } from './past-searches.ts'

// --- requests of the messages protocol: system prompt and conversation

/**
 * A line that Claude Code puts before everything else. A part of it changes with every request, so that no upstream could
 * ever use its prompt cache behind it.
 */
const ATTRIBUTION = '"x-anthropic-billing-header: cc_version='
const LINE_END = '\\n'

function withoutAttribution(moved: Literal, tree: Tree): Literal {
  if (!moved.startsWith(ATTRIBUTION)) return moved
  const text = tree.whole?.(moved) ?? moved
  let end = text.indexOf(LINE_END)
  if (end < 0) return EMPTY_TEXT
  while (text.startsWith(LINE_END, end)) end += LINE_END.length
  return `"${text.slice(end)}`
}

const readSystem: MemberReader = (ask, tree, node) => {
  const whole = tree.moved(node)
  if (whole !== null) {
    ask.system.push({ type: 'text', text: whole })
    return
  }
  const parts = new MessagesPartReader(ask, tree).contents(node)
  const first = parts[0]
  if (first?.type === 'text') first.text = withoutAttribution(first.text, tree)
  if (first?.type === 'text' && first.text === EMPTY_TEXT) parts.shift()
  addSystem(ask, parts)
}

const ROLES = new Set(['user', 'assistant', 'system'])

const readTurns: MemberReader = (ask, tree, node) => {
  for (const message of tree.elements(node)) {
    const role = tree.string(message, 'role') ?? ''
    if (!ROLES.has(role)) throw new Untranslatable('messages.role')
    const content = tree.get(message, 'content')
    const text = tree.moved(content)
    const parts = text === null ? new MessagesPartReader(ask, tree).read(content) : [{ type: 'text', text } as const]
    if (role === 'assistant' && parts.some(({ type }) => type === 'result'))
      for (const turn of turnsOf(parts)) ask.turns.push(turn)
    else ask.turns.push({ role: role as Turn['role'], parts })
  }
  if (endsOpen(ask)) ask.prefill = 'messages'
  else if (ask.turns.at(-1)?.role === 'assistant') throw new Untranslatable('messages')
}

/** The texts of a string or of blocks; other blocks are left out. */
function textsOf(tree: Tree, node: Node): TextPart[] {
  const whole = tree.moved(node)
  if (whole !== null) return [{ type: 'text', text: whole }]
  const texts: TextPart[] = []
  for (const block of tree.elements(node)) {
    const text = tree.moved(block, 'text')
    if (text !== null) texts.push({ type: 'text', text, ...cacheOf(tree, block) })
  }
  return texts
}

class MessagesPartReader extends PartReader {
  readonly #parts: TurnPart[] = []
  readonly #searches = new PastSearches(this.ask, this.tree)
  /** State that belongs to the next call. */
  #forCall: Opaque | null = null

  read(content: Node): TurnPart[] {
    for (const block of this.#blocks(content)) this.#block(block)
    this.#searches.end()
    return this.#parts
  }

  #block(block: Node): void {
    switch (this.tree.string(block, 'type')) {
      case 'tool_use':
        this.#call(block)
        return
      case 'tool_result':
        this.#result(block)
        return
      case 'server_tool_use':
        if (!this.#searches.call(block)) this.ask.losses.add('server_tools')
        return
      case 'web_search_tool_result':
        for (const part of this.#searches.result(block)) this.#parts.push(part)
        return
      case 'thinking':
        this.#thought(this.tree.literal(block, 'thinking') ?? EMPTY_TEXT, this.tree.literal(block, 'signature'))
        return
      case 'redacted_thinking':
        this.#thought(EMPTY_TEXT, this.tree.literal(block, 'data'))
        return
      default: {
        const part = this.#content(block)
        if (part !== null) this.#parts.push(part)
      }
    }
  }

  #call(block: Node): void {
    const input = this.tree.get(block, 'input')
    this.#parts.push({
      type: 'call',
      id: this.tree.string(block, 'id') ?? '',
      name: this.tree.string(block, 'name') ?? '',
      freeform: false,
      args: quote(this.tree.absent(input) ? '{}' : this.tree.source(input)),
      ...(this.#forCall === null ? {} : { opaque: this.#forCall }),
      ...cacheOf(this.tree, block),
    })
    this.#forCall = null
  }

  #result(block: Node): void {
    const parts = this.contents(this.tree.get(block, 'content'))
    const error = this.tree.boolean(block, 'is_error') === true
    const id = this.tree.string(block, 'tool_use_id') ?? ''
    this.#parts.push({ type: 'result', id, name: null, parts, error, ...cacheOf(this.tree, block) })
  }

  #thought(text: Literal, state: Literal | null): void {
    const opaque = state === null ? null : unseal(state)
    const last = this.#parts.at(-1)
    if (opaque?.of === 'call') this.#forCall = opaque
    else if (opaque?.of === 'text' && last?.type === 'text') last.opaque = opaque
    else this.#parts.push({ type: 'thought', text, ...(opaque === null ? {} : { opaque }) })
  }

  /** The parts of a result or of the system prompt: a text, a list of blocks, or one block alone. */
  contents(node: Node): (TextPart | MediaPart)[] {
    const text = this.tree.moved(node)
    if (text !== null) return [{ type: 'text', text }]
    return this.#blocks(node)
      .map(block => this.#content(block))
      .filter(part => part !== null)
  }

  #blocks(node: Node): readonly Node[] {
    return this.tree.kind(node) === 'object' ? [node] : this.tree.elements(node)
  }

  /** What may stand in a turn and in a result. */
  #content(block: Node): TextPart | MediaPart | null {
    const cache = cacheOf(this.tree, block)
    switch (this.tree.string(block, 'type') ?? 'text') {
      case 'text':
        return { type: 'text', text: this.tree.moved(block, 'text') ?? EMPTY_TEXT, ...cache }
      case 'image':
        return { type: 'media', kind: 'image', mime: null, ...this.#source(this.tree.get(block, 'source')), ...cache }
      case 'document':
        return { ...this.#document(block), ...cache }
      case 'search_result':
        return { type: 'text', text: this.#searchResult(block), ...cache }
      case 'tool_reference':
        return { type: 'text', text: literal(`Tool ${this.tree.string(block, 'tool_name') ?? ''} is available`) }
      case 'container_upload':
        throw new Untranslatable('file_id')
      default:
        this.ask.losses.add('server_tools')
        return null
    }
  }

  #source(source: Node): Partial<MediaPart> {
    const url = this.tree.literal(source, 'url')
    if (url !== null) return { url }
    const base64 = this.tree.moved(source, 'data')
    if (base64 === null) throw new Untranslatable('file_id')
    return { mime: this.tree.string(source, 'media_type'), base64 }
  }

  #document(block: Node): TextPart | MediaPart {
    const source = this.tree.get(block, 'source')
    const title = this.tree.literal(block, 'title')
    const name = title === null ? {} : { name: title }
    if (this.tree.boolean(this.tree.get(block, 'citations'), 'enabled')) this.ask.losses.add('citations')
    if (!this.tree.absent(block, 'context')) this.ask.losses.add('documents')
    const media = { type: 'media', kind: 'document', ...name } as const
    switch (this.tree.string(source, 'type')) {
      case 'text':
        return { ...media, mime: 'text/plain', text: this.tree.moved(source, 'data') ?? EMPTY_TEXT }
      case 'content':
        return { ...media, mime: 'text/plain', text: this.#texts(this.tree.get(source, 'content')) }
      default:
        return { ...media, mime: null, ...this.#source(source) }
    }
  }

  /** All texts as one. Pictures in a document that is given in parts have no other place. */
  #texts(node: Node): Literal {
    const texts = textsOf(this.tree, node).map(({ text }) => text)
    if (this.tree.elements(node).length > texts.length) this.ask.losses.add('documents')
    return texts.length === 0 ? EMPTY_TEXT : join(texts, '\\n')
  }

  #searchResult(block: Node): Literal {
    const head = ['title', 'source'].map(name => this.tree.literal(block, name)).filter(text => text !== null)
    const content = this.tree.get(block, 'content')
    return join([...head, this.#texts(content === NONE ? NONE : content)], '\\n')
  }
}

// --- the body

/** A tool with a type of its own runs at the upstream, or is one that only its models know. */
const tools: MemberReader = (ask, tree, node, name) => {
  for (const tool of tree.elements(node)) {
    const type = tree.string(tool, 'type')
    const found = type === null || type === 'custom' ? functionTool(tree, tool, 'input_schema') : null
    if (isSearchType(type)) readSearch(ask, tree, tool, name)
    else if (found === null) ask.losses.add('hosted_tools')
    else ask.tools.push({ ...found, ...cacheOf(tree, tool) })
  }
}

const toolChoice: MemberReader = (ask, tree, node) => {
  const type = tree.string(node, 'type')
  const name = tree.string(node, 'name')
  const choice = type === 'tool' && name !== null ? ({ type: 'one', name } as const) : choiceNamed(type, 'any')
  if (choice === null) throw new Untranslatable('tool_choice')
  ask.choice = choice
  const disabled = tree.boolean(node, 'disable_parallel_tool_use')
  if (disabled !== null) ask.parallel = !disabled
}

const thinking: MemberReader = (ask, tree, node) => {
  const display = tree.string(node, 'display')
  ask.thinking.mode = tree.string(node, 'type') === 'disabled' ? 'off' : 'on'
  ask.thinking.budget = tree.number(node, 'budget_tokens')
  if (display !== null) ask.thinking.show = display !== 'omitted'
}

function format(ask: Ask, tree: Tree, node: Node): void {
  const schema = tree.get(node, 'schema')
  if (tree.kind(schema) !== 'object') return
  ask.format = { type: 'schema', name: null, schema: tree.source(schema), strict: null, description: null }
}

const outputConfig: MemberReader = (ask, tree, node) => {
  ask.thinking.effort = effortNamed(tree.string(node, 'effort'))
  format(ask, tree, tree.get(node, 'format'))
  if (!tree.absent(node, 'task_budget')) ask.losses.add('other')
}

/** Clients put an id of the session into it, which makes it the same for requests that begin alike. */
const metadata: MemberReader = (ask, tree, node) => {
  const user = tree.string(node, 'user_id')
  if (user !== null) ask.cacheKey = digest(user, 'hex').slice(0, 32)
}

const serviceTier: MemberReader = (ask, tree, node) => {
  if (tree.string(node) === 'standard_only') ask.tier = 'default'
}

const speed: MemberReader = (ask, tree, node) => {
  if (tree.string(node) !== 'standard') ask.losses.add('service_tier')
}

const cacheControl: MemberReader = (ask, tree, node) => {
  ask.cache = tree.string(node, 'ttl') === '1h' ? '1h' : '5m'
}

const MEMBERS: MemberReaders = {
  model: ignore,
  stream: ignore,
  messages: readTurns,
  system: readSystem,
  max_tokens: maxOutput(),
  stop_sequences: stop,
  temperature: sampling('temperature'),
  top_p: sampling('topP'),
  top_k: sampling('topK'),
  tools,
  tool_choice: toolChoice,
  thinking,
  output_config: outputConfig,
  output_format: format,
  metadata,
  service_tier: serviceTier,
  speed,
  cache_control: cacheControl,
  context_management: drop('context_management'),
  compaction: drop('context_management'),
  mcp_servers: refuseFilled,
  fallbacks: drop('other'),
  diagnostics: ignore,
  container: refuseMember,
  thread: refuseMember,
  inference_geo: refuseMember,
}

export function readMessagesRequest(body: Buffer | ShortBody, head: AskHead): Ask {
  const tree = treeOfBody(body, head)
  const ask = askOf(body, tree, head, MEMBERS)
  settleSearch(ask, true)
  checkChoice(ask)
  // Claude Code searches the web with such a request: without its only tool, a model would invent what was found
  const hasNone = ask.tools.length === 0 && ask.search === null
  if (hasNone && ask.losses.has('hosted_tools') && tree.elements(tree.root, 'tools').length > 0)
    throw new Untranslatable('tools')
  return ask
}
