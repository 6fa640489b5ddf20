/** Requests of chat completions: the members of the body but for the conversation. */
import type { Ask, AskHead, CallPart, Choice, MediaPart, ResultPart, TextPart, Tool, TurnPart } from '../ask.ts'
import { type Opaque, Untranslatable } from '../events.ts'
import { EMPTY_TEXT, join, type Literal, quote } from '../json/literal.ts'
import type { ShortBody } from '../json/short-body.ts'
import type { Node, Tree } from '../json/tree.ts'
import { unseal } from '../opaque.ts'
import { breakpointOf, fileAt, mediaAt, OPENAI_MEMBERS, schemaFormat } from '../openai.ts'
import {
  addSystem,
  askOf,
  cacheOf,
  checkChoice,
  choiceNamed,
  drop,
  endsOpen,
  functionTool,
  ignore,
  logprobs,
  type MemberReader,
  type MemberReaders,
  manyAnswers,
  maxOutput,
  PartReader,
  parallel,
  refuseMember,
  sampling,
  setEffort,
  stop,
  topLogprobs,
  treeOfBody,
} from '../request-reader.ts'
import { isSearchType, readSearch, settleSearch } from '../search.ts'

// --- requests of chat completions: tools, and which of them are to be called

function customOf(tree: Tree, node: Node): Tool | null {
  const name = tree.string(node, 'name')
  if (name === null) return null
  const grammar = tree.get(tree.get(node, 'format'), 'grammar')
  const syntax = tree.string(grammar, 'syntax')
  return {
    type: 'freeform',
    name,
    description: tree.literal(node, 'description'),
    grammar: tree.literal(grammar, 'definition'),
    ...(syntax === null ? {} : { syntax }),
  }
}

const readTools: MemberReader = (ask, tree, node, name) => {
  for (const element of tree.elements(node)) {
    const type = tree.string(element, 'type')
    const isFunction = type === 'function' || type === null
    let tool: Tool | null = null
    if (isFunction) tool = functionTool(tree, tree.get(element, 'function'), 'parameters')
    else if (type === 'custom') tool = customOf(tree, tree.get(element, 'custom'))
    if (isSearchType(type)) readSearch(ask, tree, element, name)
    else if (tool === null) ask.losses.add('hosted_tools')
    else ask.tools.push({ ...tool, ...(isFunction ? cacheOf(tree, element) : {}) })
  }
}

/** The form of tools before there were other tools than functions. */
const readFunctions: MemberReader = (ask, tree, node) => {
  for (const element of tree.elements(node)) {
    const tool = functionTool(tree, element, 'parameters')
    if (tool !== null) ask.tools.push({ ...tool, ...cacheOf(tree, element) })
  }
}

const nameOf = (tree: Tree, node: Node): string | null =>
  tree.string(tree.get(node, 'function'), 'name') ??
  tree.string(tree.get(node, 'custom'), 'name') ??
  tree.string(node, 'name')

const readToolChoice: MemberReader = (ask, tree, node) => {
  const word = tree.string(node)
  const allowed = tree.get(node, 'allowed_tools')
  const name = nameOf(tree, node)
  const named = choiceNamed(word, 'required')
  if (named !== null) ask.choice = named
  else if (tree.kind(allowed) === 'object') ask.choice = allowedOf(tree, allowed)
  else if (name !== null) ask.choice = { type: 'one', name }
  else throw new Untranslatable('tool_choice')
}

function allowedOf(tree: Tree, node: Node): Choice {
  const names = tree.elements(node, 'tools').map(tool => nameOf(tree, tool))
  const must = tree.string(node, 'mode') === 'required'
  return { type: 'some', names: names.filter(name => name !== null), must }
}

// --- requests of chat completions: the conversation

const readTurns: MemberReader = (ask, tree, node) => {
  const reader = new ChatPartReader(ask, tree)
  let isOpen = false
  for (const message of tree.elements(node)) {
    reader.read(message)
    // how two vendors mark a message that the answer goes on with
    isOpen = tree.boolean(message, 'prefix') === true || tree.boolean(message, 'partial') === true
  }
  if (isOpen && endsOpen(ask)) ask.prefill = 'messages'
}

class ChatPartReader extends PartReader {
  read(message: Node): void {
    const role = this.tree.string(message, 'role')
    const content = this.tree.get(message, 'content')
    if (role !== 'function' && !this.tree.absent(message, 'name')) this.ask.losses.add('message_names')
    switch (role) {
      case 'system':
      case 'developer':
        this.#system(content)
        return
      case 'user':
        this.ask.turns.push({ role: 'user', parts: this.#content(content) })
        return
      case 'assistant':
        this.ask.turns.push({ role: 'assistant', parts: this.#assistant(message, content) })
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
    const parts = this.#content(content)
    if (this.ask.turns.length === 0) addSystem(this.ask, parts)
    else this.ask.turns.push({ role: 'system', parts })
  }

  #result(message: Node, content: Node): void {
    const part: ResultPart = {
      type: 'result',
      id: this.tree.string(message, 'tool_call_id') ?? '',
      name: this.tree.string(message, 'name'),
      parts: this.#content(content),
      error: false,
    }
    const last = this.ask.turns.at(-1)
    // the first part says what the others are
    if (last?.role === 'user' && (last.parts[0]?.type ?? 'result') === 'result') last.parts.push(part)
    else this.ask.turns.push({ role: 'user', parts: [part] })
  }

  // --- the assistant

  #assistant(message: Node, content: Node): TurnPart[] {
    if (!this.tree.absent(message, 'audio')) throw new Untranslatable('messages.audio')
    const calls = this.#calls(message)
    const parts = [...this.#thoughts(message, calls), ...this.#texts(content)]
    const refusal = this.tree.literal(message, 'refusal')
    if (refusal !== null && refusal !== EMPTY_TEXT) parts.push({ type: 'text', text: refusal, refusal: true })
    return [...parts, ...this.#images(message), ...calls]
  }

  /** Pictures that a model has drawn, as answers have them. */
  #images(message: Node): MediaPart[] {
    const urls = this.tree.elements(message, 'images').map(one => this.tree.get(this.tree.get(one, 'image_url'), 'url'))
    return urls.map(url => mediaAt('image', this.tree.literal(url) ?? EMPTY_TEXT))
  }

  #texts(content: Node): TurnPart[] {
    return this.#content(content).filter(part => part.type !== 'text' || part.text !== EMPTY_TEXT)
  }

  #calls(message: Node): CallPart[] {
    const calls: CallPart[] = []
    for (const call of this.tree.elements(message, 'tool_calls')) {
      const custom = this.tree.get(call, 'custom')
      const isCustom = this.tree.kind(custom) === 'object'
      const inner = isCustom ? custom : this.tree.get(call, 'function')
      const state = this.tree.literal(
        this.tree.get(this.tree.get(call, 'extra_content'), 'google'),
        'thought_signature',
      )
      const opaque = state === null ? null : unseal(state)
      calls.push({
        ...this.#call(inner, this.tree.string(call, 'id') ?? '', isCustom),
        ...(opaque === null ? {} : { opaque }),
      })
    }
    const legacy = this.tree.get(message, 'function_call')
    if (this.tree.kind(legacy) === 'object') calls.push(this.#call(legacy, '', false))
    return calls
  }

  #call(inner: Node, id: string, freeform: boolean): CallPart {
    const value = this.tree.get(inner, freeform ? 'input' : 'arguments')
    const args = this.tree.literal(value) ?? quote(this.tree.source(value))
    return { type: 'call', id, name: this.tree.string(inner, 'name') ?? '', freeform, args }
  }

  /** Thoughts come back as one text, and upstreams' state beside it, in the order in which it was given. */
  #thoughts(message: Node, calls: readonly CallPart[]): TurnPart[] {
    const details = this.tree.elements(message, 'reasoning_details')
    const states: Opaque[] = []
    const texts: Literal[] = []
    for (const detail of details) {
      const opaque = unseal(this.tree.literal(detail, 'data') ?? EMPTY_TEXT)
      const text = this.tree.literal(detail, 'text') ?? this.tree.literal(detail, 'summary')
      if (text !== null) texts.push(text)
      if (opaque?.of === 'call' && calls[0] !== undefined) calls[0].opaque = opaque
      else if (opaque !== null) states.push(opaque)
    }
    const told = this.tree.literal(message, 'reasoning_content') ?? this.tree.literal(message, 'reasoning')
    const text = told ?? (texts.length === 0 ? EMPTY_TEXT : join(texts))
    if (states.length === 0) return text === EMPTY_TEXT ? [] : [{ type: 'thought', text }]
    return states.map((opaque, at) => ({ type: 'thought', text: at === 0 ? text : EMPTY_TEXT, opaque }))
  }

  // --- parts

  #content(content: Node): (TextPart | MediaPart)[] {
    const whole = this.tree.moved(content)
    if (whole !== null) return [{ type: 'text', text: whole }]
    return this.tree.elements(content).map(part => this.#part(part))
  }

  #part(part: Node): TextPart | MediaPart {
    const cache = { ...cacheOf(this.tree, part), ...breakpointOf(this.tree, part) }
    const type = this.tree.string(part, 'type')
    switch (type) {
      case 'text':
        return { type: 'text', text: this.tree.moved(part, 'text') ?? EMPTY_TEXT, ...cache }
      case 'refusal':
        return { type: 'text', text: this.tree.literal(part, 'refusal') ?? EMPTY_TEXT, refusal: true }
      case 'image_url':
      case 'video_url': {
        const media = this.tree.get(part, type)
        const url = this.tree.moved(media) ?? this.tree.moved(media, 'url')
        return { ...mediaAt(type === 'image_url' ? 'image' : 'video', url ?? EMPTY_TEXT), ...cache }
      }
      case 'file':
        return { ...fileAt(this.tree, this.tree.get(part, 'file'), null), ...cache }
      case 'input_audio':
        return this.#audio(this.tree.get(part, 'input_audio'))
      default:
        throw new Untranslatable(`messages.content.${(type ?? '').replace(/\W/g, '').slice(0, 40)}`)
    }
  }

  #audio(node: Node): MediaPart {
    const format = this.tree.string(node, 'format') === 'mp3' ? 'mpeg' : 'wav'
    return {
      type: 'media',
      kind: 'audio',
      mime: `audio/${format}`,
      base64: this.tree.moved(node, 'data') ?? EMPTY_TEXT,
    }
  }
}

// --- the body

const oneOrMore: MemberReader = (ask, tree, node, name) => {
  const text = tree.literal(node)
  if (text === null) stop(ask, tree, node, name)
  else ask.stop.push(text)
}

const modalities: MemberReader = (_ask, tree, node, name) => {
  if (tree.elements(node).some(element => tree.string(element) !== 'text')) throw new Untranslatable(name)
}

const format: MemberReader = (ask, tree, node) => {
  const type = tree.string(node, 'type')
  if (type === 'json_object') ask.format = { type: 'json' }
  if (type === 'json_schema') ask.format = schemaFormat(tree, tree.get(node, 'json_schema')) ?? ask.format
}

const reasoningEffort: MemberReader = (ask, tree, node) => setEffort(ask, tree.string(node))

/** How a few vendors ask for thinking. */
const reasoning: MemberReader = (ask, tree, node) => {
  const budget = tree.number(node, 'max_tokens')
  const enabled = tree.boolean(node, 'enabled')
  setEffort(ask, tree.string(node, 'effort'))
  if (budget !== null) ask.thinking = { ...ask.thinking, mode: 'on', budget }
  else if (enabled !== null) ask.thinking.mode = enabled ? 'on' : 'off'
  if (tree.boolean(node, 'exclude') === true) ask.thinking.show = false
}

const thinking: MemberReader = (ask, tree, node) => {
  const type = tree.string(node, 'type')
  const budget = tree.number(node, 'budget_tokens')
  ask.thinking.mode = type === 'disabled' ? 'off' : 'on'
  if (budget !== null) ask.thinking.budget = budget
}

const enableThinking: MemberReader = (ask, tree, node) => {
  const on = tree.boolean(node)
  if (on !== null) ask.thinking.mode = on ? 'on' : 'off'
}

const thinkingBudget: MemberReader = (ask, tree, node) => {
  ask.thinking.budget = tree.number(node)
}

/** How a few vendors ask for a search. */
const readSwitch: MemberReader = (ask, tree, node, name) => {
  if (tree.boolean(node) === true && ask.search === null) readSearch(ask, tree, node, name)
}

/** The plugins of a vendor, of which one searches, for every request. */
const plugins: MemberReader = (ask, tree, node, name) => {
  for (const plugin of tree.elements(node)) {
    if (tree.boolean(plugin, 'enabled') === false) continue
    if (tree.string(plugin, 'id') !== 'web') ask.losses.add('other')
    else {
      readSearch(ask, tree, plugin, name)
      if (ask.choice.type === 'unset') ask.choice = { type: 'search' }
    }
  }
}

const MEMBERS: MemberReaders = {
  model: ignore,
  stream: ignore,
  stream_options: ignore,
  usage: ignore,
  messages: readTurns,
  max_tokens: maxOutput(),
  max_completion_tokens: maxOutput(),
  stop: oneOrMore,
  n: manyAnswers(),
  logprobs: logprobs(),
  top_logprobs: topLogprobs(),
  modalities,
  audio: refuseMember,
  temperature: sampling('temperature'),
  top_p: sampling('topP'),
  top_k: sampling('topK'),
  seed: sampling('seed'),
  presence_penalty: sampling('presence'),
  frequency_penalty: sampling('frequency'),
  logit_bias: drop('logit_bias'),
  tools: readTools,
  functions: readFunctions,
  tool_choice: readToolChoice,
  function_call: readToolChoice,
  parallel_tool_calls: parallel,
  response_format: format,
  reasoning_effort: reasoningEffort,
  reasoning,
  thinking,
  enable_thinking: enableThinking,
  thinking_budget: thinkingBudget,
  ...OPENAI_MEMBERS,
  prediction: drop('prediction'),
  verbosity: drop('verbosity'),
  web_search_options: readSearch,
  enable_search: readSwitch,
  plugins,
}

export function readChatRequest(body: Buffer | ShortBody, head: AskHead): Ask {
  const tree = treeOfBody(body, head)
  const ask = askOf(body, tree, head, MEMBERS)
  settleSearch(ask)
  checkChoice(ask)
  return ask
}
