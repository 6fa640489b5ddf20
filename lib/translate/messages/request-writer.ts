/** Requests for upstreams of the messages protocol. */
import type {
  Ask,
  CacheLife,
  CallPart,
  MediaPart,
  ResultPart,
  TranslationTarget,
  TextPart,
  ThoughtPart,
  Tool,
  Written,
} from '../ask.ts'
import { PromptMarks } from '../cache-marks.ts'
import { type AssistantRound, placed, roundsOf, trimLast, type UserRound } from '../conversation.ts'
import { Untranslatable } from '../events.ts'
import { array, EMPTY_TEXT, isBlank, literal, object, optional, type JsonText, typed } from '../json/literal.ts'
import { fitId } from '../names.ts'
import { budgetOf, nearestEffort, wantedEffort } from '../efforts.ts'
import { RequestWriter } from '../request-writer.ts'
import { closedSchema, objectSchema } from '../schema.ts'
import { arrayUnlessEmpty, locationOf, loseRest, SEARCH_NAME } from '../search.ts'

/** Where neither the client nor the catalogue says how long an answer may be, which this protocol wants to know. */
const MAX_OUTPUT = 32_000
const LEAST_BUDGET = 1024
/** The oldest form of the tool, which all models that search know, and in which they run no code to search. */
const SEARCH_TYPE = 'web_search_20250305'
const ONE_OBJECT = literal('Answer with one JSON object and nothing else.')
const DOT = typed('text', { text: literal('.') })
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const

export const writeMessagesRequest = (ask: Ask, target: TranslationTarget): Written =>
  new MessagesWriter(ask, target).write()

class MessagesWriter extends RequestWriter {
  readonly #marks: PromptMarks
  readonly #mostOutput: number
  readonly #messages: JsonText[] = []
  /** Whether the last turn of the assistant has a thought that this upstream takes. */
  #lastThought = false

  constructor(ask: Ask, target: TranslationTarget) {
    super('messages', ask, target)
    this.#marks = new PromptMarks(ask, target)
    this.#mostOutput = this.maxOutput ?? target.maxOutput ?? MAX_OUTPUT
  }

  write(): Written {
    const { stream, stop, user, tier } = this.ask
    const mayThink = this.#conversation()
    const effort = this.#effort()
    const thinking = this.#thinking(mayThink)
    const thinks = thinking !== undefined && !thinking.includes('"disabled"')
    const format = this.#format()
    const tools = this.#tools()
    if (tier !== null && tier !== 'default' && tier !== 'auto') this.losses.add('service_tier')
    const sequences = stop.filter(text => !isBlank(text))
    if (sequences.length < stop.length) this.losses.add('stop')
    const body = object({
      model: literal(this.target.model),
      max_tokens: String(this.#mostOutput),
      stream: stream ? 'true' : undefined,
      system: this.#system(),
      messages: array(this.#messages),
      tools,
      tool_choice: tools === undefined ? undefined : this.#choice(thinks),
      ...this.#sampling(thinks),
      stop_sequences: sequences.length === 0 ? undefined : array(sequences),
      thinking,
      output_config: effort === undefined && format === undefined ? undefined : object({ effort, format }),
      cache_control: markOf(this.#marks.top),
      metadata: user === null ? undefined : object({ user_id: literal(user.slice(0, 256)) }),
      service_tier: tier === 'default' ? '"standard_only"' : undefined,
    })
    return this.written(body, this.#mostOutput, this.#marks.life)
  }

  #system(): JsonText | undefined {
    const parts = this.ask.system.filter(({ text }) => !isBlank(text))
    const blocks = parts.map(part => typed('text', { text: part.text, cache_control: markOf(this.#marks.of(part)) }))
    if (this.ask.format.type === 'json') blocks.push(typed('text', { text: ONE_OBJECT }))
    return blocks.length === 0 ? undefined : array(blocks)
  }

  // --- tools

  #tools(): JsonText | undefined {
    return arrayUnlessEmpty([...this.offered.map(tool => this.#tool(tool)), ...this.#searchTool()])
  }

  /** A function of that name would be another tool. */
  #searchTool(): JsonText[] {
    const search = this.search(!this.offered.some(({ name }) => name === SEARCH_NAME))
    if (search === null) return []
    const { maxUses, allowed, blocked } = search
    loseRest(search, { uses: true, allowed: true, blocked: allowed.length === 0, place: true }, this.losses)
    const tool = typed(SEARCH_TYPE, {
      name: literal(SEARCH_NAME),
      max_uses: maxUses === null ? undefined : String(maxUses),
      allowed_domains: arrayUnlessEmpty(allowed),
      blocked_domains: allowed.length === 0 ? arrayUnlessEmpty(blocked) : undefined,
      user_location: locationOf(search),
    })
    return [tool]
  }

  #tool(tool: Tool): JsonText {
    const { description, schema } = this.declared(tool)
    const input = objectSchema(schema)
    if (input.changed) this.losses.add('schema')
    return object({
      name: this.nameOf(tool),
      description: description ?? undefined,
      input_schema: input.schema,
      strict: tool.type === 'function' && tool.strict === true ? 'true' : undefined,
      cache_control: markOf(this.#marks.of(tool)),
    })
  }

  /** A model that thinks, and some others, cannot be told which tool to call. */
  #choice(thinks: boolean): JsonText | undefined {
    const { parallel } = this.ask
    const choice = this.choice(!thinks && this.target.toolChoice === 'any')
    const disabled = parallel === false && choice.type !== 'none' ? 'true' : undefined
    const disable = { disable_parallel_tool_use: disabled }
    switch (choice.type) {
      case 'one':
        return typed('tool', { name: this.nameOf(choice), ...disable })
      case 'search':
        return typed('tool', { name: literal(SEARCH_NAME), ...disable })
      case 'some':
        return typed(choice.must ? 'any' : 'auto', disable)
      case 'unset':
        return disabled === undefined ? undefined : typed('auto', disable)
      default:
        return typed(choice.type, disable)
    }
  }

  // --- how it is answered

  #sampling(thinks: boolean): Record<string, JsonText | undefined> {
    const isSampled = this.target.sampling !== 'none' && !thinks
    const { temperature, topP, topK } = this.sampling({
      any: isSampled,
      topK: isSampled,
      seed: false,
      penalties: false,
    })
    const most = temperature !== undefined && Number(temperature) > 1 ? '1' : temperature
    return { temperature: most, top_p: topP, top_k: topK }
  }

  #effort(): JsonText | undefined {
    const { thinking } = this.ask
    const { thinking: takes, efforts } = this.target
    const wanted = thinking.mode === 'off' ? null : wantedEffort(thinking)
    if (wanted === null || takes === 'none' || takes === 'budget') return undefined
    const effort = nearestEffort(wanted, this.target, efforts.length === 0 ? EFFORTS : efforts)
    if (effort !== wanted && wanted !== 'minimal') this.losses.add('effort')
    return literal(effort)
  }

  /** `mayThink`: the history has what this protocol wants of a model that thinks. */
  #thinking(mayThink: boolean): JsonText | undefined {
    const { thinking } = this.ask
    const { thinking: takes, thinkingOff } = this.target
    if (thinking.mode === 'unset') return undefined
    if (thinking.mode === 'off' || takes === 'none' || !mayThink) {
      if (thinking.mode === 'on' || !thinkingOff) this.losses.add('thinking')
      return takes !== 'none' && thinkingOff ? typed('disabled', {}) : undefined
    }
    const display = thinking.show === null ? undefined : thinking.show ? '"summarized"' : '"omitted"'
    if (takes !== 'budget') return typed('adaptive', { display })
    if (this.#mostOutput <= LEAST_BUDGET) {
      this.losses.add('thinking')
      return undefined
    }
    const asked = thinking.budget ?? budgetOf(nearestEffort(wantedEffort(thinking) ?? 'medium', this.target))
    const budget = Math.max(LEAST_BUDGET, Math.min(asked, this.#mostOutput - 1))
    return typed('enabled', { budget_tokens: String(budget), display })
  }

  #format(): JsonText | undefined {
    const { format } = this.ask
    if (format.type !== 'schema') return undefined
    const { schema, changed } = closedSchema(format.schema)
    if (changed) this.losses.add('schema')
    return typed('json_schema', { schema })
  }

  // --- the conversation

  /** Returns whether the model may think: in the middle of a round of tools only where its earlier thoughts are there. */
  #conversation(): boolean {
    const rounds = placed(roundsOf(this.ask), this.target.systemTurns)
    if (rounds[0]?.role !== 'user') this.#message('user', [DOT])
    trimLast(rounds)
    const last = rounds.at(-1)
    for (const round of rounds) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
      else
        this.#message(
          'system',
          round.parts.flatMap(part => this.#content(part)),
        )
    }
    const inTools = last?.role === 'user' && last.results.length > 0
    return !inTools || this.#lastThought
  }

  #message(role: string, blocks: JsonText[]): void {
    if (blocks.length > 0) this.#messages.push(object({ role: `"${role}"`, content: array(blocks) }))
  }

  #user({ results, parts }: UserRound): void {
    const blocks = [...results.map(part => this.#result(part)), ...parts.flatMap(part => this.#content(part))]
    this.#message('user', blocks.length === 0 ? [DOT] : blocks)
  }

  #assistant({ parts }: AssistantRound): void {
    const thoughts = parts.flatMap(part => (part.type === 'thought' ? this.#thought(part) : []))
    const calls = parts.flatMap(part => (part.type === 'call' ? this.#call(part) : []))
    const texts = parts.flatMap(part => (part.type === 'thought' || part.type === 'call' ? [] : this.#content(part)))
    this.#lastThought = thoughts.length > 0
    this.#message('assistant', [...thoughts, ...texts, ...calls])
  }

  /** A thought with state of another upstream, or with none, would be refused. */
  #thought({ text, opaque }: ThoughtPart): JsonText[] {
    if (!this.isOwn(opaque) || opaque.value === EMPTY_TEXT) {
      this.losses.add('thinking')
      return []
    }
    if (opaque.of === 'hidden') return [typed('redacted_thinking', { data: opaque.value })]
    return [typed('thinking', { thinking: text, signature: opaque.value })]
  }

  #call(part: CallPart): JsonText {
    if (part.opaque !== undefined) this.losses.add('thinking') // only other protocols have state at their calls
    return typed('tool_use', {
      id: literal(fitId(part.id)),
      name: this.nameOf(part),
      input: this.inputOf(part),
      cache_control: markOf(this.#marks.of(part)),
    })
  }

  #result(part: ResultPart): JsonText {
    const content = part.parts.flatMap(one => this.#content(one))
    return typed('tool_result', {
      tool_use_id: literal(fitId(part.id)),
      content: content.length === 0 ? undefined : array(content),
      is_error: part.error ? 'true' : undefined,
      cache_control: markOf(this.#marks.of(part)),
    })
  }

  #content(part: TextPart | MediaPart): JsonText[] {
    const cache_control = markOf(this.#marks.of(part))
    if (part.type === 'text') return isBlank(part.text) ? [] : [typed('text', { text: part.text, cache_control })]
    if (part.kind !== 'image' && part.kind !== 'document') throw new Untranslatable(part.kind)
    const title = part.kind === 'document' ? part.name : undefined
    return [typed(part.kind, { source: sourceOf(part), title, cache_control })]
  }
}

function sourceOf({ url, text, base64, mime, kind }: MediaPart): JsonText {
  if (url !== undefined) return typed('url', { url })
  if (text !== undefined) return typed('text', { media_type: '"text/plain"', data: text })
  const media_type = optional(mime ?? (kind === 'image' ? 'image/png' : 'application/pdf'))
  return typed('base64', { media_type, data: base64 })
}

const markOf = (life: CacheLife | null): JsonText | undefined =>
  life === null ? undefined : life === '1h' ? '{"type":"ephemeral","ttl":"1h"}' : '{"type":"ephemeral"}'
