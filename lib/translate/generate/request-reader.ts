/** Requests of generate-content: the members of the body but for the conversation. */
import type {
  Ask,
  AskHead,
  CallPart,
  FunctionTool,
  MediaPart,
  ResultPart,
  TextPart,
  ThoughtPart,
  Turn,
  TurnPart,
} from '../ask.ts'
import { type Opaque, Untranslatable } from '../events.ts'
import {
  array,
  EMPTY_TEXT,
  isBlank,
  type JsonText,
  join,
  type Literal,
  literal,
  object,
  quote,
  typed,
} from '../json/literal.ts'
import type { ShortBody } from '../json/short-body.ts'
import { type Node, Tree } from '../json/tree.ts'
import { unseal64 } from '../opaque.ts'
import {
  addSystem,
  askOf,
  checkChoice,
  checkSome,
  drop,
  dropDoubles,
  effortNamed,
  endsOpen,
  ignore,
  logprobs,
  type MemberReader,
  manyAnswers,
  maxOutput,
  PartReader,
  readMembers,
  refuseMember,
  sampling,
  stop,
  topLogprobs,
  treeOfBody,
} from '../request-reader.ts'
import { readSearch, settleSearch } from '../search.ts'
import { get, literalAt, NO_STATE, numberOf, numberText, spelled, stringAt } from './members.ts'

// --- requests of generate-content: tools, and which of them are to be called

const SEARCHES = /^(?:google_?[sS]earch(?:_?[rR]etrieval)?|enterprise_?[wW]eb_?[sS]earch)$/
/** The members of a part that has nothing but state. */
const STATE = /^(?:thought|thoughtSignature|thought_signature)$/
const FUNCTIONS = /^function_?[dD]eclarations$/

/** Each member of a tool is a tool, or a list of functions. All others run at the upstream. */
const readTools: MemberReader = (ask, tree, node, field) => {
  for (const element of tree.elements(node))
    tree.members(element, (name, value) => {
      if (SEARCHES.test(name)) readSearch(ask, tree, value, field)
      else if (!FUNCTIONS.test(name)) ask.losses.add('hosted_tools')
      else for (const declared of tree.elements(value)) declare(ask, tree, declared)
    })
}

function declare(ask: Ask, tree: Tree, node: Node): void {
  const name = stringAt(tree, node, 'name')
  if (name === null) return
  if (stringAt(tree, node, 'behavior') === 'NON_BLOCKING') ask.losses.add('other')
  const description = tree.literal(node, 'description')
  ask.tools.push({ type: 'function', name, description, ...schemaOf(tree, node), strict: null })
}

/** There are two forms of schemas. */
function schemaOf(tree: Tree, node: Node): Pick<FunctionTool, 'schema'> {
  const json = get(tree, node, 'parametersJsonSchema')
  if (tree.kind(json) === 'object') return { schema: jsonSchemaSource(tree, json, true) }
  const parameters = tree.get(node, 'parameters')
  return { schema: tree.kind(parameters) === 'object' ? schemaSource(tree.source(parameters), true) : null }
}

/** In `VALIDATED`, calls must fit their schemas, which elsewhere is asked for only with schemas of a certain form. */
const readToolConfig: MemberReader = (ask, tree, node) => {
  const config = get(tree, node, 'functionCallingConfig')
  const mode = stringAt(tree, config, 'mode')?.toUpperCase() ?? ''
  const allowed = tree.elements(get(tree, config, 'allowedFunctionNames')).map(element => tree.string(element))
  const names = allowed.filter(name => name !== null)
  if (mode === 'VALIDATED') ask.losses.add('strict')
  if (mode === 'NONE') ask.choice = { type: 'none' }
  else if (mode === 'AUTO') ask.choice = { type: 'auto' }
  else if (mode === 'VALIDATED') ask.choice = names.length === 0 ? { type: 'auto' } : some(names, false)
  else if (mode === 'ANY') ask.choice = names.length === 0 ? { type: 'any' } : some(names, true)
}

const some = (names: string[], must: boolean): Ask['choice'] =>
  must && names.length === 1 ? { type: 'one', name: names[0] as string } : { type: 'some', names, must }

const FIELD = 'toolConfig.functionCallingConfig'

function checkTools(ask: Ask): void {
  dropDoubles(ask)
  settleSearch(ask)
  checkChoice(ask, FIELD)
  checkSome(ask, FIELD)
}

// --- requests of generate-content: the system prompt and the conversation

/** One content, several, or a text. */
const contentsOf = (tree: Tree, node: Node): Node[] => (tree.kind(node) === 'array' ? tree.elements(node) : [node])

const readSystem: MemberReader = (ask, tree, node) => {
  for (const content of contentsOf(tree, node)) {
    const whole = tree.literal(content)
    if (whole !== null) ask.system.push({ type: 'text', text: whole })
    new GeneratePartReader(ask, tree).system(tree.elements(content, 'parts'))
  }
}

const ROLES: Readonly<Record<string, Turn['role']>> = {
  '': 'user',
  user: 'user',
  function: 'user',
  tool: 'user',
  model: 'assistant',
}

const readTurns: MemberReader = (ask, tree, node) => {
  const reader = new GeneratePartReader(ask, tree)
  for (const content of contentsOf(tree, node)) {
    const role = stringAt(tree, content, 'role') ?? ''
    if (!Object.hasOwn(ROLES, role)) throw new Untranslatable('contents.role')
    reader.turn(ROLES[role] as Turn['role'], tree.elements(content, 'parts'))
  }
  reader.end()
  if (endsOpen(ask)) ask.prefill = 'contents'
  else if (ask.turns.at(-1)?.role === 'assistant') throw new Untranslatable('contents')
}

/** What is text in whatever form: others want it as one. */
const TEXTUAL = /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b)/i
/** Files at the upstream, which others cannot read. */
const OF_THE_WEB = /^"https?:\\?\/\\?\/(?![^/]*generativelanguage)/

class GeneratePartReader extends PartReader {
  #turn: Turn | null = null
  /** Thoughts that came in pieces, which may be many. */
  readonly #thoughts = new Map<ThoughtPart, Literal[]>()

  /** Clients put each chunk of an answer into a content of its own. */
  turn(role: Turn['role'], parts: readonly Node[]): void {
    if (this.#turn === null || role === 'user' || this.#turn.role === 'user') {
      this.#turn = { role, parts: [] }
      this.ask.turns.push(this.#turn)
    }
    for (const part of parts) this.#part(this.#turn, part)
  }

  #get = (node: Node, name: string): Node => get(this.tree, node, name)
  #string = (node: Node, name: string): string | null => stringAt(this.tree, node, name)
  #literal = (node: Node, name: string): Literal | null => literalAt(this.tree, node, name)
  #moved = (node: Node, name: string): Literal | null => this.tree.moved(this.#get(node, name))
  #is = (node: Node): boolean => this.tree.kind(node) === 'object'

  #part({ role, parts }: Turn, part: Node): void {
    const call = this.#get(part, 'functionCall')
    const result = this.#get(part, 'functionResponse')
    const text = this.#moved(part, 'text')
    if (this.#is(call)) parts.push(this.#call(call, this.#state(part)))
    else if (this.#is(result)) parts.push(this.#result(result))
    else if (text !== null || this.#isState(part)) this.#text(parts, role, part, text ?? EMPTY_TEXT)
    else {
      const media = this.#other(part)
      if (media !== null) parts.push(media)
      if (this.#state(part) !== null) this.ask.losses.add('thinking') // no other upstream has state at its pictures
    }
  }

  /** Has the part nothing but state? */
  #isState(part: Node): boolean {
    let isMore = false
    this.tree.members(part, name => (isMore ||= !STATE.test(name)))
    return !isMore && this.#literal(part, 'thoughtSignature') !== null
  }

  /** What is neither text nor call nor result. */
  #other(part: Node): TextPart | MediaPart | null {
    const media = this.#media(part)
    if (media === null && !/^\{\s*\}$/.test(this.tree.source(part))) this.ask.losses.add('server_tools')
    return media
  }

  system(parts: readonly Node[]): void {
    for (const part of parts) {
      const text = this.#moved(part, 'text')
      const read = text === null ? this.#other(part) : ({ type: 'text', text } as const)
      if (read !== null) addSystem(this.ask, [read])
    }
  }

  /** State of another upstream is lost; a word that stands for it, and one without a value, are none. */
  #state(part: Node): Opaque | null {
    const told = this.#literal(part, 'thoughtSignature')
    if (told === null || told === EMPTY_TEXT || told === NO_STATE) return null
    const opaque = unseal64(told)
    if (opaque === null) this.ask.losses.add('thinking')
    return opaque?.value === EMPTY_TEXT ? null : opaque
  }

  /** A thought comes in pieces, and the state of a thought or text behind its last one. */
  #text(parts: TurnPart[], role: Turn['role'], part: Node, text: Literal): void {
    const isThought = this.tree.boolean(part, 'thought') === true
    const opaque = role === 'assistant' ? this.#state(part) : null
    const state = opaque === null ? {} : { opaque }
    const last = parts.at(-1)
    if (isThought) {
      const isMore = last?.type === 'thought' && last.opaque === undefined
      if (isMore) this.#more(Object.assign(last, state), text)
      else parts.push({ type: 'thought', text, ...state })
    } else if (text === EMPTY_TEXT && last?.type === 'text' && last.opaque === undefined) Object.assign(last, state)
    else if (text !== EMPTY_TEXT || opaque !== null) parts.push({ type: 'text', text, ...state })
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
      args: quote(this.#is(args) ? this.tree.source(args) : '{}'),
      ...(opaque === null ? {} : { opaque }),
    }
  }

  #result(node: Node): ResultPart {
    const { text, error } = this.#response(this.#get(node, 'response'))
    const parts: ResultPart['parts'] = text === null ? [] : [{ type: 'text', text }]
    for (const part of this.tree.elements(this.#get(node, 'parts'))) {
      const media = this.#media(part)
      if (media !== null) parts.push(media)
    }
    return { type: 'result', id: this.#string(node, 'id') ?? '', name: this.#string(node, 'name'), parts, error }
  }

  /** By convention a result is the one member `output`, and an error the one member `error`; anything else is told as it stands. */
  #response(response: Node): { text: Literal | null; error: boolean } {
    const names: string[] = []
    this.tree.members(response, name => names.push(name))
    const only = names.length === 1 ? names[0] : undefined
    if (only === 'output' || only === 'error') {
      const value = this.tree.get(response, only)
      const text = this.tree.moved(value) ?? quote(this.tree.source(value))
      return { text, error: only === 'error' }
    }
    return { text: names.length === 0 ? null : quote(this.tree.source(response)), error: false }
  }

  #media(part: Node): TextPart | MediaPart | null {
    const blob = this.#get(part, 'inlineData')
    const file = this.#get(part, 'fileData')
    if (this.#is(blob)) return this.#blob(blob)
    if (!this.#is(file)) return null
    const url = this.#literal(file, 'fileUri') ?? EMPTY_TEXT
    if (!OF_THE_WEB.test(url)) throw new Untranslatable('fileData.fileUri')
    const mime = this.#string(file, 'mimeType')
    return { type: 'media', kind: kindOf(mime), mime, url, ...this.#name(file) }
  }

  #blob(blob: Node): MediaPart {
    const mime = this.#string(blob, 'mimeType')
    const media = { type: 'media', kind: kindOf(mime), mime: mime ?? 'application/pdf', ...this.#name(blob) } as const
    if (!TEXTUAL.test(media.mime)) return { ...media, base64: this.#moved(blob, 'data') ?? EMPTY_TEXT }
    const base64 = this.#literal(blob, 'data') ?? EMPTY_TEXT
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

// --- schemas in the form that came before JSON Schema, with types in capitals, `nullable`, and numbers in strings, as JSON Schema

/** What is deeper is any value. */
const LEVELS = 64
const LEFT_OUT = new Set(['nullable', 'example', 'propertyOrdering', 'property_ordering'])
const SPELLINGS: Readonly<Record<string, string>> = {
  any_of: 'anyOf',
  one_of: 'oneOf',
  all_of: 'allOf',
  prefix_items: 'prefixItems',
  min_items: 'minItems',
  max_items: 'maxItems',
  min_length: 'minLength',
  max_length: 'maxLength',
  min_properties: 'minProperties',
  max_properties: 'maxProperties',
  additional_properties: 'additionalProperties',
  defs: '$defs',
  ref: '$ref',
}
const NUMBERS = /^(?:min|max)(?:Items|Length|Properties|imum)$/
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const NAMED = new Set(['properties', '$defs', 'definitions'])
const ONE = new Set(['items', 'additionalProperties', 'not'])

/**
 * A schema where JSON Schema is expected. Gemini CLI writes the older form there, too, which is known by the capitals of its type; other
 * upstreams refuseMember such types. What is JSON Schema stays as it is.
 */
function jsonSchemaSource(tree: Tree, node: Node, isTop = false): JsonText {
  const type = tree.string(node, 'type') ?? ''
  return type === type.toLowerCase() ? tree.source(node) : schemaSource(tree.source(node), isTop)
}

/** `isTop`: it stands for the arguments of a call, which are never null. */
function schemaSource(source: JsonText, isTop = false): JsonText {
  const tree = new Tree(LEVELS)
  return tree.read(source) ? read(tree, tree.root, isTop) : '{}'
}

function read(tree: Tree, node: Node, isTop = false): JsonText {
  if (tree.kind(node) !== 'object') return tree.source(node)
  const members: string[] = []
  const isNumber = /^(?:integer|number)$/i.test(tree.string(node, 'type') ?? '')
  tree.members(node, (name, value) => {
    if (LEFT_OUT.has(name)) return
    const own = Object.hasOwn(SPELLINGS, name) ? (SPELLINGS[name] as string) : name
    const told = toldOf(tree, own, value, isNumber)
    if (told !== null) members.push(`${literal(own)}:${told}`)
  })
  const schema = `{${members.join(',')}}`
  const mayBeNull = !isTop && tree.boolean(node, 'nullable') === true
  return mayBeNull ? object({ anyOf: array([schema, typed('null', {})]) }) : schema
}

function toldOf(tree: Tree, name: string, value: Node, isNumber: boolean): JsonText | null {
  if (name === 'type') return typeOf(tree, value)
  if (NUMBERS.test(name)) return numberText(tree, value)
  if (name === 'enum' && isNumber)
    return array(tree.elements(value).map(one => numberText(tree, one) ?? tree.source(one)))
  if (ONE.has(name)) return read(tree, value)
  if (LISTS.has(name)) return array(tree.elements(value).map(one => read(tree, one)))
  return NAMED.has(name) ? tree.rewritten(value, (_, one) => read(tree, one)) : tree.source(value)
}

function typeOf(tree: Tree, node: Node): JsonText | null {
  if (tree.kind(node) === 'array')
    return array(tree.elements(node).map(one => literal((tree.string(one) ?? '').toLowerCase())))
  const type = tree.string(node)?.toLowerCase() ?? 'type_unspecified'
  return type === 'type_unspecified' ? null : literal(type)
}

// --- the body

/** Pictures and sound are nothing that a text of another protocol could have. */
const modalities: MemberReader = (_ask, tree, node, name) => {
  if (tree.elements(node).some(element => !/^(?:text|modality_unspecified)$/i.test(tree.string(element) ?? '')))
    throw new Untranslatable(`generationConfig.${name}`)
}

const mimeType: MemberReader = (ask, tree, node, name) => {
  const mime = tree.string(node)
  if (mime === 'application/json') ask.format = ask.format.type === 'schema' ? ask.format : { type: 'json' }
  else if (mime !== 'text/plain' && mime !== '') throw new Untranslatable(`generationConfig.${name}`)
}

const schema =
  (isOpenApi: boolean): MemberReader =>
  (ask, tree, node) => {
    if (tree.kind(node) !== 'object') return
    const source = isOpenApi ? schemaSource(tree.source(node)) : jsonSchemaSource(tree, node)
    ask.format = { type: 'schema', name: null, schema: source, strict: null, description: null }
  }

const OFF = 0
/** A budget of -1: as much as the model likes. */
const thinking: MemberReader = ({ thinking }, tree, node) => {
  const budget = numberOf(tree, get(tree, node, 'thinkingBudget'))
  const level = stringAt(tree, node, 'thinkingLevel')
  const effort = effortNamed(level?.toLowerCase() ?? null)
  if (budget === OFF) thinking.mode = 'off'
  else if (effort !== null || (budget !== null && budget > OFF)) thinking.mode = 'on'
  if (effort !== null) thinking.effort = effort
  else if (budget !== null && budget > OFF) thinking.budget = Math.ceil(budget)
  thinking.show = tree.boolean(get(tree, node, 'includeThoughts'))
}

const CONFIG = spelled({
  temperature: sampling('temperature', numberText),
  topP: sampling('topP', numberText),
  topK: sampling('topK', numberText),
  seed: sampling('seed', numberText),
  presencePenalty: sampling('presence', numberText),
  frequencyPenalty: sampling('frequency', numberText),
  maxOutputTokens: maxOutput('generationConfig.', numberText),
  candidateCount: manyAnswers('generationConfig.', numberOf),
  stopSequences: stop,
  responseLogprobs: logprobs('generationConfig.'),
  logprobs: topLogprobs('generationConfig.', numberOf),
  responseModalities: modalities,
  responseMimeType: mimeType,
  responseSchema: schema(true),
  responseJsonSchema: schema(false),
  _responseJsonSchema: schema(false),
  thinkingConfig: thinking,
  mediaResolution: drop('image_detail'),
})

const config: MemberReader = (ask, tree, node) => readMembers(ask, tree, CONFIG, node)

const tier: MemberReader = (ask, tree, node) => {
  const said = tree.string(node)?.toLowerCase() ?? null
  const named = said?.replace(/^service_tier_/, '') ?? null
  ask.tier = named === 'standard' ? 'default' : named === 'unspecified' ? null : named
}

const MEMBERS = spelled({
  model: ignore,
  contents: readTurns,
  systemInstruction: readSystem,
  tools: readTools,
  toolConfig: readToolConfig,
  generationConfig: config,
  safetySettings: drop('safety_settings'),
  cachedContent: refuseMember,
  continuationToken: refuseMember,
  labels: drop('metadata'),
  store: drop('metadata'),
  serviceTier: tier,
})

export function readGenerateRequest(body: Buffer | ShortBody, head: AskHead): Ask {
  const tree = treeOfBody(body, head)
  const ask = askOf(body, tree, head, MEMBERS)
  checkTools(ask)
  return ask
}
