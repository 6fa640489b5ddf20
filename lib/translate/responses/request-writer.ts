/** Requests for upstreams of the responses protocol. Nothing is stored there, and no item is named that would have to be. */
import type {
  Ask,
  CallPart,
  MediaPart,
  ResultPart,
  Search,
  TextPart,
  ThoughtPart,
  Tool,
  TranslationTarget,
  Written,
} from '../ask.ts'
import { type AssistantRound, asError, joined, namedText, roundsOf, type UserRound } from '../conversation.ts'
import { Untranslatable } from '../events.ts'
import { array, EMPTY_TEXT, isBlank, type JsonText, join, literal, object, optional, typed } from '../json/literal.ts'
import { fitId } from '../names.ts'
import { asDataUrl, schemaMembers } from '../openai.ts'
import { RequestWriter } from '../request-writer.ts'
import { arrayUnlessEmpty, locationOf, loseRest, SEARCH_NAME } from '../search.ts'

const NO_PARAMETERS: JsonText = '{"type":"object","properties":{}}'
const LONGEST_KEY = 64
/** A smaller maximum is refused. */
const LEAST_OUTPUT = 16
const STATE: JsonText = '"reasoning.encrypted_content"'
const LOGPROBS: JsonText = '"message.output_text.logprobs"'
const SOURCES: JsonText = '"web_search_call.action.sources"'

export const writeResponsesRequest = (ask: Ask, target: TranslationTarget): Written =>
  new ResponsesWriter(ask, target).write()

class ResponsesWriter extends RequestWriter {
  readonly #items: JsonText[] = []
  /** The calls of the last round of the assistant whose tools take text. */
  #freeform = new Set<string>()

  constructor(ask: Ask, target: TranslationTarget) {
    super('responses', ask, target)
  }

  write(): Written {
    const { stream, system, cacheKey, user, tier, stop, thinking, logprobs } = this.ask
    const maxOutput = this.#maxOutput()
    const mayThink = this.target.thinking !== 'none' && thinking.mode !== 'off'
    const search = this.search()
    const include = [
      ...(mayThink ? [STATE] : []),
      ...(search !== null && this.target.search === 'own' ? [SOURCES] : []),
      ...(logprobs === null ? [] : [LOGPROBS]),
    ]
    if (stop.length > 0) this.losses.add('stop')
    const body = object({
      model: literal(this.target.model),
      instructions: joined(system) ?? undefined,
      input: this.#input(),
      stream: stream ? 'true' : undefined,
      store: 'false',
      include: arrayUnlessEmpty(include),
      max_output_tokens: maxOutput === null ? undefined : String(maxOutput),
      top_logprobs: logprobs === null || logprobs.top === 0 ? undefined : String(logprobs.top),
      ...this.#sampling(),
      ...this.#tools(search),
      max_tool_calls: search === null || search.maxUses === null ? undefined : String(search.maxUses),
      text: this.#format(),
      reasoning: this.#reasoning(),
      prompt_cache_key: optional(cacheKey?.slice(0, LONGEST_KEY)),
      user: optional(user?.slice(0, LONGEST_KEY)),
      service_tier: optional(tier),
    })
    return this.written(body, maxOutput)
  }

  #maxOutput(): number | null {
    const asked = this.ask.maxOutput
    if (asked !== null && asked < LEAST_OUTPUT) this.losses.add('max_output')
    return this.maxOutput === null ? null : Math.max(LEAST_OUTPUT, this.maxOutput)
  }

  #sampling(): Record<string, JsonText | undefined> {
    const takes = { any: this.target.sampling !== 'none', topK: false, seed: false, penalties: false }
    const { temperature, topP } = this.sampling(takes)
    return { temperature, top_p: topP }
  }

  // --- tools

  #tools(search: Search | null): Record<string, JsonText | undefined> {
    const { tools, parallel } = this.ask
    if (tools.length === 0 && search === null) return {}
    return {
      tools: array([...tools.map(tool => this.#tool(tool)), ...(search === null ? [] : [this.#searchTool(search)])]),
      tool_choice: this.#choice(),
      parallel_tool_calls: parallel === null ? undefined : String(parallel),
    }
  }

  #searchTool(search: Search): JsonText {
    loseRest(search, { uses: true, allowed: true, size: true, place: true }, this.losses)
    const { allowed, size } = search
    return typed(SEARCH_NAME, {
      filters: allowed.length === 0 ? undefined : object({ allowed_domains: array(allowed) }),
      search_context_size: size ?? undefined,
      user_location: locationOf(search),
    })
  }

  /** Tools are strict here where nothing is said of it, and most schemas do not fit that. */
  #tool(tool: Tool): JsonText {
    const name = this.nameOf(tool)
    const description = tool.description ?? undefined
    if (tool.type === 'function') {
      const strict = tool.strict === true ? 'true' : 'false'
      return typed('function', { name, description, parameters: tool.schema ?? NO_PARAMETERS, strict })
    }
    const { grammar, syntax = 'lark' } = tool
    const format = grammar === null ? undefined : typed('grammar', { syntax: literal(syntax), definition: grammar })
    return typed('custom', { name, description, format })
  }

  #choice(): JsonText | undefined {
    const { tools } = this.ask
    const choice = this.choice()
    switch (choice.type) {
      case 'unset':
        return undefined
      case 'one':
        return this.#named(
          tools.find(({ name, namespace }) => name === choice.name && namespace === choice.namespace) ?? choice,
        )
      case 'some': {
        const own = this.search() === null ? [] : [typed(SEARCH_NAME, {})]
        const allowed = array([...this.offered.map(tool => this.#named(tool)), ...own])
        return typed('allowed_tools', { mode: choice.must ? '"required"' : '"auto"', tools: allowed })
      }
      case 'any':
        return '"required"'
      case 'search':
        return tools.length === 0 ? '"required"' : typed(SEARCH_NAME, {})
      default:
        return `"${choice.type}"`
    }
  }

  #named(tool: { type: string; name: string; namespace?: string }): JsonText {
    return typed(tool.type === 'freeform' ? 'custom' : 'function', { name: this.nameOf(tool) })
  }

  // --- how it is answered

  #format(): JsonText | undefined {
    const { format } = this.ask
    if (format.type === 'json') return object({ format: typed('json_object', {}) })
    return format.type === 'schema' ? object({ format: typed('json_schema', schemaMembers(format)) }) : undefined
  }

  /** Summaries are for clients who ask to see thoughts: not every account of a provider may have them. */
  #reasoning(): JsonText | undefined {
    const { thinking } = this.ask
    const effort = this.effortWord
    const summary = thinking.show === true && thinking.mode !== 'off' && this.target.thinking !== 'none'
    if (effort === null && !summary) return undefined
    return object({ effort: optional(effort), summary: summary ? '"auto"' : undefined })
  }

  // --- the conversation: a list of items

  #input(): JsonText {
    for (const round of roundsOf(this.ask)) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
      else this.#message('developer', joined(round.parts))
    }
    if (this.#items.length === 0) this.#message('user', EMPTY_TEXT)
    return array(this.#items)
  }

  #message(role: string, content: JsonText | null): void {
    if (content !== null) this.#items.push(typed('message', { role: `"${role}"`, content }))
  }

  #user({ results, parts }: UserRound): void {
    for (const result of results) this.#items.push(this.#result(result))
    const content = parts.filter(part => part.type !== 'text' || !isBlank(part.text))
    const only = content.length === 1 && content[0]?.type === 'text' ? content[0].text : null
    if (content.length > 0) this.#message('user', only ?? array(content.map(part => this.#part(part))))
    else if (results.length === 0) this.#message('user', EMPTY_TEXT)
  }

  #result({ id, parts, error }: ResultPart): JsonText {
    const texts = parts.filter(part => part.type === 'text').map(({ text }) => text)
    const media = parts.filter(part => part.type === 'media')
    const joinedTexts = texts.length === 0 ? EMPTY_TEXT : join(texts, '\\n')
    const text = error ? asError(joinedTexts) : joinedTexts
    const before = text === EMPTY_TEXT ? [] : [typed('input_text', { text })]
    return typed(this.#freeform.has(id) ? 'custom_tool_call_output' : 'function_call_output', {
      call_id: literal(fitId(id)),
      output: media.length === 0 ? text : array([...before, ...media.map(part => this.#part(part))]),
    })
  }

  #part(part: TextPart | MediaPart): JsonText {
    if (part.type === 'text') return typed('input_text', { text: part.text })
    const { kind, mime, base64, url, text, name } = part
    if (kind === 'image') {
      const image_url = url ?? asDataUrl(mime ?? 'image/png', base64 ?? EMPTY_TEXT)
      return typed('input_image', { detail: '"auto"', image_url })
    }
    if (text !== undefined) return typed('input_text', { text: namedText(text, name) })
    if (kind !== 'document') throw new Untranslatable(kind)
    if (url !== undefined) return typed('input_file', { file_url: url, filename: name })
    const file_data = asDataUrl(mime ?? 'application/pdf', base64 ?? EMPTY_TEXT)
    return typed('input_file', { filename: name ?? '"document.pdf"', file_data })
  }

  /** A thought must be followed by what came of it. */
  #assistant({ parts }: AssistantRound): void {
    this.#freeform = new Set()
    const end = parts.findLastIndex(({ type }) => type !== 'thought') + 1
    if (end < parts.length) this.losses.add('thinking')
    for (const part of parts.slice(0, end)) {
      if (part.type === 'thought') this.#thought(part)
      else if (part.type === 'call') this.#call(part)
      else this.#text(part)
    }
  }

  #text({ text, refusal, opaque }: TextPart): void {
    if (opaque !== undefined) this.losses.add('thinking') // only other protocols have state at their texts
    if (isBlank(text)) return
    // parts of an answer have members that only the upstream's own answers have
    this.#message('assistant', refusal === true ? array([typed('refusal', { refusal: text })]) : text)
  }

  /** An item with state of another upstream, or with none, would be refused. */
  #thought({ text, opaque }: ThoughtPart): void {
    if (!this.isOwn(opaque) || opaque.value === EMPTY_TEXT) {
      this.losses.add('thinking')
      return
    }
    const summary = text === EMPTY_TEXT ? [] : [typed('summary_text', { text })]
    const members = { id: optional(opaque.id), summary: array(summary), encrypted_content: opaque.value }
    this.#items.push(typed('reasoning', members))
  }

  #call(call: CallPart): void {
    const { id, freeform, args } = call
    if (call.opaque !== undefined) this.losses.add('thinking') // only other protocols have state at their calls
    if (freeform) this.#freeform.add(id)
    const head = { call_id: literal(fitId(id)), name: this.nameOf(call) }
    const item = freeform
      ? typed('custom_tool_call', { ...head, input: args })
      : typed('function_call', { ...head, arguments: args === EMPTY_TEXT ? '"{}"' : args })
    this.#items.push(item)
  }
}
