/** Requests of the responses protocol: the members of the body but for the conversation and the tools. */
import type { Ask, AskHead, Choice, MediaPart, TextPart, Tool, Turn, TurnPart } from '../ask.ts'
import { type Opaque, Untranslatable } from '../events.ts'
import { EMPTY_TEXT, type JsonText, join, type Literal, object, oneLine, quote } from '../json/literal.ts'
import type { ShortBody } from '../json/short-body.ts'
import type { Node, Tree } from '../json/tree.ts'
import { unseal } from '../opaque.ts'
import { breakpointOf, fileAt, mediaAt, OPENAI_MEMBERS, schemaFormat } from '../openai.ts'
import {
  addSystem,
  askOf,
  checkChoice,
  checkSome,
  choiceNamed,
  drop,
  dropDoubles,
  functionTool,
  ignore,
  type MemberReader,
  type MemberReaders,
  maxOutput,
  onlyFalse,
  PartReader,
  parallel,
  refuseMember,
  sampling,
  setEffort,
  topLogprobs,
  treeOfBody,
} from '../request-reader.ts'
import { isSearchType, readSearch, settleSearch } from '../search.ts'

// --- requests of the responses protocol: tools, wherever they are declared, and which of them are to be called

/** The tools of a list. Those that run at the upstream, or that only its models know, are lost. */
function readTools(ask: Ask, tree: Tree, node: Node): Tool[] {
  const tools: Tool[] = []
  for (const element of tree.elements(node)) {
    const name = tree.string(element, 'name')
    const isSpace = tree.string(element, 'type') === 'namespace' && name !== null
    const found = isSpace ? spaceOf(ask, tree, element, name) : [toolOf(tree, element)]
    for (const tool of found) {
      if (tool !== null) tools.push(tool)
      else if (isSearchType(tree.string(element, 'type'))) readSearch(ask, tree, element, 'tools')
      else ask.losses.add('hosted_tools')
    }
  }
  return tools
}

/** What is said of a namespace has no place of its own elsewhere, and stands before what is said of its first tool. */
function spaceOf(ask: Ask, tree: Tree, node: Node, namespace: string): Tool[] {
  const about = tree.literal(node, 'description')
  const tools = readTools(ask, tree, tree.get(node, 'tools')).map(tool => ({ ...tool, namespace }))
  const [first] = tools
  if (first !== undefined && about !== null) first.description = both(about, first.description)
  return tools
}

const both = (about: Literal, more: Literal | null): Literal => (more === null ? about : join([about, more], '\\n\\n'))

function toolOf(tree: Tree, node: Node): Tool | null {
  const type = tree.string(node, 'type')
  const name = tree.string(node, 'name')
  const description = tree.literal(node, 'description')
  if (name === null) return null
  if (type === 'custom') return { type: 'freeform', name, description, ...grammarOf(tree, tree.get(node, 'format')) }
  return type === 'function' ? functionTool(tree, node, 'parameters') : null
}

function grammarOf(tree: Tree, format: Node): { grammar: Literal | null; syntax?: string } {
  const syntax = tree.string(format, 'syntax')
  return { grammar: tree.literal(format, 'definition'), ...(syntax === null ? {} : { syntax }) }
}

const readToolChoice: MemberReader = (ask, tree, node, field) => {
  const type = tree.string(node, 'type')
  const name = tree.string(node, 'name')
  const namespace = tree.string(node, 'namespace')
  const named = choiceNamed(tree.string(node), 'required')
  if (named !== null) ask.choice = named
  else if (type === 'allowed_tools') ask.choice = allowedOf(tree, node)
  else if ((type === 'function' || type === 'custom') && name !== null)
    ask.choice = { type: 'one', name, ...(namespace === null ? {} : { namespace }) }
  else if (isSearchType(type)) ask.choice = { type: 'one', name: type as string }
  else throw new Untranslatable(field)
}

function allowedOf(tree: Tree, node: Node): Choice {
  const names = tree.elements(node, 'tools').map(tool => {
    const type = tree.string(tool, 'type')
    return isSearchType(type) ? type : tree.string(tool, 'name')
  })
  const must = tree.string(node, 'mode') === 'required'
  return { type: 'some', names: names.filter(name => name !== null), must }
}

function checkTools(ask: Ask): void {
  dropDoubles(ask)
  settleSearch(ask)
  checkChoice(ask)
  if (ask.choice.type === 'one') ask.choice = oneOf(ask.choice, ask.tools)
  checkSome(ask)
}

/** The choice with the namespace of the tool, which may be left out. */
function oneOf({ name, namespace }: Extract<Choice, { type: 'one' }>, tools: readonly Tool[]): Choice {
  const found = tools.find(tool => tool.name === name && (namespace === undefined || tool.namespace === namespace))
  if (found === undefined) throw new Untranslatable('tool_choice')
  return { type: 'one', name, ...(found.namespace === undefined ? {} : { namespace: found.namespace }) }
}

// --- requests of the responses protocol: the items of the conversation

const readItems: MemberReader = (ask, tree, node) => {
  const text = tree.literal(node)
  if (text !== null) ask.turns.push({ role: 'user', parts: [{ type: 'text', text }] })
  const reader = new ResponsesPartReader(ask, tree)
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

class ResponsesPartReader extends PartReader {
  /** State that belongs to the next call. */
  #forCall: Opaque | null = null

  read(item: Node): void {
    const role = this.tree.string(item, 'role')
    const type = this.tree.string(item, 'type') ?? (role === null ? 'item_reference' : 'message')
    if (ELSEWHERE.test(type)) throw new Untranslatable(`input.${type}`)
    switch (type) {
      case 'message':
        this.#message(role ?? '', this.tree.get(item, 'content'))
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
      case 'image_generation_call':
        this.#image(item)
        return
      case 'additional_tools':
      case 'tool_search_output':
        for (const tool of readTools(this.ask, this.tree, this.tree.get(item, 'tools'))) this.ask.tools.push(tool)
        return
      case 'configuration_update':
        this.ask.losses.add('effort')
        return
      default:
        this.ask.losses.add('server_tools')
    }
  }

  /** Items of the same side are one turn. */
  #add(role: Turn['role'], parts: TurnPart[]): void {
    const last = this.ask.turns.at(-1)
    if (last?.role !== role) this.ask.turns.push({ role, parts })
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
    if (role === 'assistant')
      this.#add(
        role,
        parts.filter(part => part.type !== 'text' || part.text !== EMPTY_TEXT),
      )
    else if (this.ask.turns.length > 0) this.#add(role, parts)
    else addSystem(this.ask, parts)
  }

  /** A picture that a model has drawn. One that is kept elsewhere cannot be shown again. */
  #image(item: Node): void {
    const base64 = this.tree.moved(item, 'result')
    if (base64 === null || base64 === EMPTY_TEXT) this.ask.losses.add('server_tools')
    else this.#add('assistant', [{ type: 'media', kind: 'image', mime: 'image/png', base64 }])
  }

  #call(item: Node, freeform: boolean): void {
    const value = this.tree.get(item, freeform ? 'input' : 'arguments')
    const namespace = this.tree.string(item, 'namespace')
    const call: TurnPart = {
      type: 'call',
      id: this.tree.string(item, 'call_id') ?? '',
      name: this.tree.string(item, 'name') ?? '',
      ...(namespace === null ? {} : { namespace }),
      freeform,
      args: this.tree.literal(value) ?? quote(this.tree.source(value)),
      ...(this.#forCall === null ? {} : { opaque: this.#forCall }),
    }
    this.#add('assistant', [call])
    this.#forCall = null
  }

  #result(item: Node): void {
    const output = this.tree.get(item, 'output')
    const isObject = this.tree.kind(output) === 'object'
    const result: TurnPart = {
      type: 'result',
      id: this.tree.string(item, 'call_id') ?? '',
      name: this.tree.string(item, 'name'),
      parts: isObject ? [{ type: 'text', text: quote(this.tree.source(output)) }] : this.#parts(output),
      error: false,
    }
    this.#add('user', [result])
  }

  #thought(item: Node): void {
    const state = this.tree.literal(item, 'encrypted_content')
    const opaque = state === null ? null : unseal(state)
    const last = this.ask.turns.at(-1)
    const before = last?.role === 'assistant' ? last.parts.at(-1) : undefined
    if (opaque?.of === 'call') this.#forCall = opaque
    else if (opaque?.of === 'text' && before?.type === 'text') before.opaque = opaque
    else this.#add('assistant', [{ type: 'thought', text: this.#told(item), ...(opaque === null ? {} : { opaque }) }])
  }

  /** What may be seen of a thought: its summary, else the thought itself. */
  #told(item: Node): Literal {
    for (const name of ['summary', 'content']) {
      const texts = this.tree.elements(item, name).map(part => this.tree.literal(part, 'text'))
      const found = texts.filter(text => text !== null)
      if (found.length > 0) return join(found, '\\n\\n')
    }
    return EMPTY_TEXT
  }

  // --- what may stand in a message and in a result

  #parts(content: Node): (TextPart | MediaPart)[] {
    const whole = this.tree.moved(content)
    if (whole !== null) return [{ type: 'text', text: whole }]
    return this.tree.elements(content).map(part => this.#part(part))
  }

  #part(part: Node): TextPart | MediaPart {
    const type = this.tree.string(part, 'type') ?? ''
    switch (type) {
      case 'input_text':
      case 'output_text':
      case 'text':
        return { type: 'text', text: this.tree.moved(part, 'text') ?? EMPTY_TEXT, ...breakpointOf(this.tree, part) }
      case 'refusal':
        return { type: 'text', text: this.tree.literal(part, 'refusal') ?? EMPTY_TEXT, refusal: true }
      case 'input_image': {
        const url = this.tree.moved(part, 'image_url')
        if (url === null) throw new Untranslatable('file_id')
        return { ...mediaAt('image', url), ...breakpointOf(this.tree, part) }
      }
      case 'input_file':
        return { ...fileAt(this.tree, part, this.tree.literal(part, 'file_url')), ...breakpointOf(this.tree, part) }
      default:
        throw new Untranslatable(`input.content.${type.replace(/\W/g, '').slice(0, 40)}`)
    }
  }
}

// --- the body

/** Instructions stand before all items, wherever the member stands in the body. */
const instructions: MemberReader = (ask, tree, node, name) => {
  const text = tree.literal(node)
  if (text === null) throw new Untranslatable(name)
  ask.system.unshift({ type: 'text', text })
}

/** Declared here, a tool is the first of its name. */
const tools: MemberReader = (ask, tree, node) => {
  ask.tools = [...readTools(ask, tree, node), ...ask.tools]
}

const reasoning: MemberReader = (ask, tree, node) => {
  const word = (name: string): string | null => tree.string(node, name)
  const effort = word('effort')
  setEffort(ask, effort)
  if (effort !== null && effort !== 'none' && ask.thinking.effort === null) ask.losses.add('effort')
  if ((word('summary') ?? word('generate_summary')) !== null) ask.thinking.show = true
  if ((word('mode') ?? 'standard') !== 'standard' || (word('context') ?? 'auto') !== 'auto') ask.losses.add('other')
}

const text: MemberReader = (ask, tree, node) => {
  const format = tree.get(node, 'format')
  const type = tree.string(format, 'type')
  if ((tree.string(node, 'verbosity') ?? 'medium') !== 'medium') ask.losses.add('verbosity')
  if (type === 'json_object') ask.format = { type: 'json' }
  if (type === 'json_schema') ask.format = schemaFormat(tree, format) ?? ask.format
}

const LOGPROBS = 'message.output_text.logprobs'

/** What was encrypted is always sent, because clients send it back only then. */
const include: MemberReader = (ask, tree, node, name) => {
  for (const element of tree.elements(node)) {
    const word = tree.string(element)
    if (word === LOGPROBS) ask.logprobs = { top: 0, ...ask.logprobs, field: name }
    else if (word !== 'reasoning.encrypted_content') ask.losses.add('include')
  }
}

const truncation: MemberReader = (ask, tree, node) => {
  if (tree.string(node) !== 'disabled') ask.losses.add('truncation')
}

/** The maximum of calls counts those of the upstream, of which only searches can be asked for elsewhere. */
function limitSearch({ search, losses }: Ask, tree: Tree): void {
  const most = tree.number(tree.root, 'max_tool_calls') ?? 0
  if (most < 1) return
  if (search === null) losses.add('max_tool_calls')
  else search.maxUses = Math.floor(most)
}

const MEMBERS: MemberReaders = {
  model: ignore,
  stream: ignore,
  stream_options: ignore,
  client_metadata: ignore,
  instructions,
  input: readItems,
  max_output_tokens: maxOutput(),
  temperature: sampling('temperature'),
  top_p: sampling('topP'),
  top_logprobs: topLogprobs(),
  tools,
  tool_choice: readToolChoice,
  parallel_tool_calls: parallel,
  max_tool_calls: ignore, // below
  reasoning,
  text,
  include,
  truncation,
  ...OPENAI_MEMBERS,
  context_management: drop('context_management'),
  background: onlyFalse,
  previous_response_id: refuseMember,
  conversation: refuseMember,
  prompt: refuseMember,
}

export function readResponsesRequest(body: Buffer | ShortBody, head: AskHead): Ask {
  const tree = treeOfBody(body, head)
  const ask = askOf(body, tree, head, MEMBERS)
  limitSearch(ask, tree)
  checkTools(ask)
  ask.repeated = repeatedOf(tree)
  return ask
}

/** What an answer repeats as it was sent. */
const REPEATED = [
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
] as const

function repeatedOf(tree: Tree): Record<string, JsonText> {
  const repeated: Record<string, JsonText> = {}
  const source = (parent: string, name: string, missing: JsonText): JsonText => {
    const node = tree.get(tree.get(tree.root, parent), name)
    return tree.absent(node) ? missing : oneLine(tree.source(node))
  }
  for (const name of REPEATED) {
    const node = tree.get(tree.root, name)
    if (!tree.absent(node)) repeated[name] = oneLine(tree.source(node))
  }
  repeated['text'] = object({
    format: source('text', 'format', '{"type":"text"}'),
    verbosity: source('text', 'verbosity', '"medium"'),
  })
  repeated['reasoning'] = object({
    effort: source('reasoning', 'effort', 'null'),
    summary: source('reasoning', 'summary', 'null'),
  })
  return repeated
}
