/** Requests for upstreams of Converse. The model and whether the answer is streamed stand in the path. */
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
import { type AssistantRound, asError, placed, roundsOf, trimLast, type UserRound } from '../conversation.ts'
import {
  array,
  EMPTY_TEXT,
  isBlank,
  type Literal,
  literal,
  object,
  optional,
  type JsonText,
  quote,
} from '../json/literal.ts'
import { fitId, nineOf } from '../names.ts'
import { RequestWriter } from '../request-writer.ts'
import { closedSchema, objectSchema } from '../schema.ts'
import { arrayUnlessEmpty } from '../search.ts'
import { Documents, mediaOf } from './media.ts'
import { asText, type Family, familyOf, type Thinks, thinksOf } from './thinking.ts'

const DOT = object({ text: literal('.') })
const NO_OUTPUT = object({ text: literal('(no output)') })
const ONE_OBJECT = object({ text: literal('Answer with one JSON object and nothing else.') })
const TIERS = /^(?:flex|priority|reserved)$/
const USUAL_TIERS = /^(?:auto|default|standard_only|standard)$/

export const writeConverseRequest = (ask: Ask, target: TranslationTarget): Written =>
  new ConverseWriter(ask, target).write()

interface Message {
  role: 'user' | 'assistant'
  blocks: JsonText[]
}

class ConverseWriter extends RequestWriter {
  readonly #marks: PromptMarks
  readonly #family: Family
  readonly #documents = new Documents(this.losses)
  readonly #messages: Message[] = []
  /** The names of the tools that the history has calls of. */
  readonly #called = new Map<string, Literal>()
  /** Whether the last turn of the assistant has a thought that this upstream takes. */
  #lastThought = false

  constructor(ask: Ask, target: TranslationTarget) {
    super('converse', ask, target)
    this.#marks = new PromptMarks(ask, target)
    this.#family = familyOf(target.model)
  }

  write(): Written {
    const mayThink = this.#conversation()
    const thinks = thinksOf(this.#family, this.ask.thinking, this.target, {
      mayThink,
      maxOutput: this.maxOutput,
      losses: this.losses,
    })
    this.search(false)
    const format = this.#format()
    const system = this.#system()
    const { topK, ...config } = this.#config(thinks)
    const fields = object({ ...thinks.fields, top_k: topK })
    const body = object({
      messages: array(this.#messages.map(({ role, blocks }) => object({ role: `"${role}"`, content: array(blocks) }))),
      system: arrayUnlessEmpty(system),
      inferenceConfig: asText(config),
      toolConfig: this.#toolConfig(thinks),
      outputConfig: asText({ textFormat: format, effort: thinks.effort }),
      additionalModelRequestFields: fields === '{}' ? undefined : fields,
      additionalModelResponseFieldPaths: this.#paths(),
      serviceTier: this.#tier(),
    })
    return this.written(body, this.maxOutput, this.#marks.life)
  }

  #system(): JsonText[] {
    const parts = this.ask.system.filter(({ text }) => !isBlank(text))
    const blocks = parts.flatMap(part => [object({ text: part.text }), ...pointBehind(this.#marks.of(part))])
    return this.ask.format.type === 'json' ? [...blocks, ONE_OBJECT] : blocks
  }

  /** A maximum that is not named is the model's own. */
  #config({ isOn }: Thinks): Record<string, JsonText | undefined> & { topK: JsonText | undefined } {
    const { stop } = this.ask
    const sequences = stop.filter(text => !isBlank(text))
    if (sequences.length < stop.length) this.losses.add('stop')
    const isClaude = this.#family === 'claude'
    const any = this.target.sampling !== 'none' && !(isClaude && isOn)
    const taken = this.sampling({ any, topK: any && isClaude, seed: false, penalties: false })
    const { temperature, topP, topK } = taken
    return {
      maxTokens: this.maxOutput === null ? undefined : String(this.maxOutput),
      temperature: temperature !== undefined && Number(temperature) > 1 ? '1' : temperature,
      topP,
      stopSequences: arrayUnlessEmpty(sequences),
      topK,
    }
  }

  /** Which stop sequence came is told by one family, if it is asked. */
  #paths(): JsonText | undefined {
    if (this.#family !== 'claude' || this.ask.stop.length === 0) return undefined
    return this.ask.stream ? '["/delta/stop_sequence"]' : '["/stop_sequence"]'
  }

  #tier(): JsonText | undefined {
    const { tier } = this.ask
    if (tier === null || USUAL_TIERS.test(tier)) return undefined
    if (TIERS.test(tier)) return object({ type: literal(tier) })
    this.losses.add('service_tier')
    return undefined
  }

  #format(): JsonText | undefined {
    const { format } = this.ask
    if (format.type !== 'schema') return undefined
    const { schema, changed } = closedSchema(format.schema)
    if (changed) this.losses.add('schema')
    const jsonSchema = object({ schema: quote(schema), name: optional(format.name) })
    return object({ type: '"json_schema"', structure: object({ jsonSchema }) })
  }

  // --- tools

  /** There must be tools where the history has calls, and there is no word for that none may be called. */
  #toolConfig({ isOn }: Thinks): JsonText | undefined {
    const { choice } = this.ask
    const offered = choice.type === 'none' && this.#called.size === 0 ? [] : this.offered
    const declared = new Set(offered.map(tool => this.nameOf(tool)))
    const missing = [...this.#called.values()].filter(name => !declared.has(name))
    if (choice.type === 'none' && this.#called.size > 0) this.losses.add('tool_choice')
    else if (missing.length > 0 && choice.type !== 'some') this.losses.add('other')
    const tools = [
      ...offered.flatMap(tool => this.#tool(tool)),
      ...new Set(missing.map(name => toolSpec({ name, inputSchema: objectSchema(null).schema }))),
    ]
    if (tools.length === 0) return undefined
    if (this.ask.parallel === false) this.losses.add('parallel_tool_calls')
    return object({ tools: array(tools), toolChoice: offered.length === 0 ? undefined : this.#choice(isOn) })
  }

  #tool(tool: Tool): JsonText[] {
    const { description, schema } = this.declared(tool)
    const input = objectSchema(schema)
    if (input.changed) this.losses.add('schema')
    if (tool.type === 'function' && tool.strict === true) this.losses.add('strict')
    const about = description === null || isBlank(description) ? undefined : description
    const spec = toolSpec({ name: this.nameOf(tool), description: about, inputSchema: input.schema })
    return [spec, ...pointBehind(this.#marks.of(tool))]
  }

  /** A model that thinks cannot be told which tool to call. */
  #choice(thinks: boolean): JsonText | undefined {
    const choice = this.choice(!(thinks && this.#family === 'claude') && this.target.toolChoice === 'any')
    switch (choice.type) {
      case 'one':
        return object({ tool: object({ name: this.nameOf(choice) }) })
      case 'any':
        return '{"any":{}}'
      case 'some':
        return choice.must ? '{"any":{}}' : '{"auto":{}}'
      case 'auto':
        return '{"auto":{}}'
      default:
        return undefined
    }
  }

  // --- the conversation

  /** Returns whether the model may think: in the middle of a round of tools only where its earlier thoughts are there. */
  #conversation(): boolean {
    const rounds = placed(roundsOf(this.ask), false)
    trimLast(rounds)
    if (rounds[0]?.role !== 'user') this.#add('user', [DOT])
    for (const round of rounds)
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
    const { top } = this.#marks
    if (top !== null) this.#messages.findLast(({ role }) => role === 'user')?.blocks.push(...pointBehind(top))
    const last = rounds.at(-1)
    return !(last?.role === 'user' && last.results.length > 0) || this.#lastThought
  }

  /** Turns alternate: where nothing of one is left, its neighbours are joined. */
  #add(role: Message['role'], blocks: readonly JsonText[]): void {
    const last = this.#messages.at(-1)
    if (blocks.length === 0) return
    if (last?.role === role) for (const block of blocks) last.blocks.push(block)
    else this.#messages.push({ role, blocks: [...blocks] })
  }

  #user({ results, parts }: UserRound): void {
    const moved: (TextPart | MediaPart)[] = []
    const answers = results.flatMap(result => this.#result(result, moved))
    const own = [...moved, ...parts]
    const blocks = [...answers, ...own.flatMap(part => this.#content(part))]
    // a document needs words beside it
    const isBare = own.some(part => part.type === 'media' && part.kind === 'document') && !own.some(isWord)
    this.#add('user', blocks.length === 0 || isBare ? [...blocks, DOT] : blocks)
  }

  #assistant({ parts }: AssistantRound): void {
    const thoughts = parts.flatMap(part => (part.type === 'thought' ? this.#thought(part) : []))
    const calls = parts.flatMap(part => (part.type === 'call' ? this.#call(part) : []))
    const texts = parts.flatMap(part => (part.type === 'thought' || part.type === 'call' ? [] : this.#content(part)))
    const isTurn = texts.length + calls.length > 0
    // thoughts alone are none
    if (!isTurn && thoughts.length > 0) this.losses.add('thinking')
    this.#lastThought = isTurn && thoughts.length > 0
    if (isTurn) this.#add('assistant', [...thoughts, ...texts, ...calls])
  }

  /** A thought with state of another upstream, or with none, would be refused. */
  #thought({ text, opaque }: ThoughtPart): JsonText[] {
    if (!this.isOwn(opaque) || opaque.value === EMPTY_TEXT) {
      this.losses.add('thinking')
      return []
    }
    const said =
      opaque.of === 'hidden'
        ? { redactedContent: opaque.value }
        : { reasoningText: object({ text, signature: opaque.value }) }
    return [object({ reasoningContent: object(said) })]
  }

  #call(part: CallPart): JsonText[] {
    if (part.opaque !== undefined) this.losses.add('thinking') // only other protocols have state at their calls
    const name = this.nameOf(part)
    this.#called.set(part.name, name)
    const input = this.inputOf(part)
    const toolUse = object({ toolUseId: this.#id(part.id), name, input })
    return [object({ toolUse }), ...pointBehind(this.#marks.of(part))]
  }

  #id(id: string): Literal {
    return literal(this.#family === 'mistral' ? nineOf(id) : fitId(id))
  }

  /** Only two families take media in a result, and that it is an error. Elsewhere media follow behind all results. */
  #result(part: ResultPart, moved: (TextPart | MediaPart)[]): JsonText[] {
    const { id, parts, error } = part
    const isRich = this.#family === 'claude' || this.#family === 'nova'
    const media = isRich ? [] : parts.filter(one => one.type === 'media')
    const inside = isRich ? parts : parts.filter(one => one.type === 'text')
    if (media.length > 0) moved.push({ type: 'text', text: literal(`Output of tool call ${fitId(id)}:`) })
    for (const one of media) moved.push(one)
    const told =
      error && !isRich ? inside.map(one => (one.type === 'text' ? { ...one, text: asError(one.text) } : one)) : inside
    const content = told.flatMap(one => this.#content(one))
    const toolResult = object({
      toolUseId: this.#id(id),
      content: array(content.length === 0 ? [NO_OUTPUT] : content),
      status: error && isRich ? '"error"' : undefined,
    })
    return [object({ toolResult }), ...pointBehind(this.#marks.of(part))]
  }

  #content(part: TextPart | MediaPart): JsonText[] {
    const point = pointBehind(this.#marks.of(part))
    if (part.type === 'text') return isBlank(part.text) ? [] : [object({ text: part.text }), ...point]
    return [mediaOf(part, this.#documents), ...point]
  }
}

const isWord = (part: TextPart | MediaPart): boolean => part.type === 'text' && !isBlank(part.text)

function toolSpec({
  inputSchema,
  ...spec
}: {
  name: Literal
  description?: Literal | undefined
  inputSchema: JsonText
}) {
  return object({ toolSpec: object({ ...spec, inputSchema: object({ json: inputSchema }) }) })
}

/** What asks for a cache entry behind a part is a part by itself. */
function pointBehind(life: CacheLife | null): JsonText[] {
  if (life === null) return []
  return [life === '1h' ? '{"cachePoint":{"type":"default","ttl":"1h"}}' : '{"cachePoint":{"type":"default"}}']
}
