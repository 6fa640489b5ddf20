/** Requests for upstreams of the messages protocol. */
import type {
  Ask,
  CacheLife,
  CallPart,
  FunctionTool,
  MediaPart,
  ResultPart,
  TextPart,
  ThoughtPart,
  Tool,
  Target,
  Written,
} from '../ask.ts'
import { Untranslatable } from '../events.ts'
import { asFunction, asObject } from '../freeform.ts'
import {
  type Source,
  array,
  isBlank,
  join,
  literal,
  object,
  optional,
  trimEnd,
  typed,
  unquote,
} from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import { ToolNames, fitId } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import { offeredTools } from '../request-reader.ts'
import {
  type AssistantRound,
  type Round,
  type SystemRound,
  type UserRound,
  budgetOf,
  nearestEffort,
  roundsOf,
  wantedEffort,
} from '../request-writer.ts'
import { closedSchema, objectSchema } from '../schema.ts'

/** Where neither the client nor the catalogue says how long an answer may be, which this protocol wants to know. */
const MAX_OUTPUT = 32_000
const LEAST_BUDGET = 1024
const ONE_OBJECT = literal('Answer with one JSON object and nothing else.')

export function writeMessagesRequest(ask: Ask, target: Target): Written {
  return new Writer(ask, target).write()
}

class Writer {
  readonly #ask: Ask
  readonly #target: Target
  readonly #losses: Ask['losses']
  readonly #names: ToolNames
  readonly #marks: Marks
  readonly #maxOutput: number

  constructor(ask: Ask, target: Target) {
    this.#ask = ask
    this.#target = target
    this.#losses = new Set(ask.losses)
    this.#names = new ToolNames(ask.tools)
    this.#marks = new Marks(ask, target)
    const most = target.maxOutput ?? Number.POSITIVE_INFINITY
    this.#maxOutput = Math.min(ask.maxOutput ?? (Number.isFinite(most) ? most : MAX_OUTPUT), most)
  }

  write(): Written {
    const { stream, stop, user, tier } = this.#ask
    const turns = writeTurns(this.#ask, this.#target, { names: this.#names, marks: this.#marks, losses: this.#losses })
    const effort = this.#effort()
    const thinking = this.#thinking(turns.mayThink)
    const thinks = thinking !== undefined && !thinking.includes('"disabled"')
    const choice = this.#choice(thinks)
    const format = this.#format()
    if (tier !== null && tier !== 'default' && tier !== 'auto') this.#losses.add('service_tier')
    const sequences = stop.filter(text => !isBlank(text))
    if (sequences.length < stop.length) this.#losses.add('stop')
    const body = object({
      model: literal(this.#target.model),
      max_tokens: String(this.#maxOutput),
      stream: stream ? 'true' : undefined,
      system: this.#system(),
      messages: turns.messages,
      tools: this.#ask.tools.length === 0 ? undefined : array(offeredTools(this.#ask).map(tool => this.#tool(tool))),
      tool_choice: choice,
      ...this.#sampling(thinks),
      stop_sequences: sequences.length === 0 ? undefined : array(sequences),
      thinking,
      output_config: effort === undefined && format === undefined ? undefined : object({ effort, format }),
      cache_control: this.#marks.top,
      metadata: user === null ? undefined : object({ user_id: literal(user.slice(0, 256)) }),
      service_tier: tier === 'default' ? '"standard_only"' : undefined,
    })
    const cache: CacheLife | null = this.#marks.life
    return { body, losses: this.#losses, maxOutput: this.#maxOutput, cache, renamed: this.#names.renamed }
  }

  #system(): Source | undefined {
    const parts = this.#ask.system.filter(({ text }) => !isBlank(text))
    const blocks = parts.map(part => typed('text', { text: part.text, cache_control: this.#marks.of(part) }))
    if (this.#ask.format.type === 'json') blocks.push(typed('text', { text: ONE_OBJECT }))
    return blocks.length === 0 ? undefined : array(blocks)
  }

  // --- tools

  #tool(tool: Tool): Source {
    const name = literal(this.#names.to(tool.name, tool.namespace))
    if (tool.type === 'freeform') {
      if (tool.grammar !== null) this.#losses.add('tool_grammar')
      const { description, schema } = asFunction(tool)
      return object({ name, description, input_schema: schema })
    }
    return object({
      name,
      description: tool.description ?? undefined,
      input_schema: this.#schema(tool),
      strict: tool.strict === true ? 'true' : undefined,
      cache_control: this.#marks.of(tool),
    })
  }

  #schema({ schema }: FunctionTool): Source {
    const cleaned = objectSchema(schema)
    if (cleaned.changed) this.#losses.add('schema')
    return cleaned.schema
  }

  #choice(thinks: boolean): Source | undefined {
    const { tools, parallel } = this.#ask
    if (tools.length === 0) return undefined
    const choice = this.#possible(thinks)
    const disabled = parallel === false && choice.type !== 'none' ? 'true' : undefined
    const disable = { disable_parallel_tool_use: disabled }
    switch (choice.type) {
      case 'one':
        return typed('tool', { name: literal(this.#names.to(choice.name, choice.namespace)), ...disable })
      case 'some':
        return typed(choice.must ? 'any' : 'auto', disable)
      case 'unset':
        return disabled === undefined ? undefined : typed('auto', disable)
      default:
        return typed(choice.type, disable)
    }
  }

  /** A model that thinks, and some others, cannot be told which tool to call. */
  #possible(thinks: boolean): Ask['choice'] {
    const { choice } = this.#ask
    const forced = choice.type === 'any' || choice.type === 'one' || (choice.type === 'some' && choice.must)
    if (!forced || (!thinks && this.#target.toolChoice === 'any')) return choice
    this.#losses.add('tool_choice')
    return { type: 'auto' }
  }

  // --- how it is answered

  #sampling(thinks: boolean): Record<string, Source | undefined> {
    const { temperature, topP, topK, seed, presence, frequency } = this.#ask.sampling
    const { sampling } = this.#target
    const losses = this.#losses
    const may = sampling !== 'none' && !thinks
    const only = sampling === 'one' && temperature !== undefined
    if (seed !== undefined) losses.add('seed')
    if (presence !== undefined || frequency !== undefined) losses.add('penalties')
    if (temperature !== undefined && !may) losses.add('temperature')
    if (topP !== undefined && (!may || only)) losses.add('top_p')
    if (topK !== undefined && !may) losses.add('top_k')
    if (!may) return {}
    const most = temperature !== undefined && Number(temperature) > 1 ? '1' : temperature
    return { temperature: most, top_p: only ? undefined : topP, top_k: topK }
  }

  #effort(): Source | undefined {
    const { thinking } = this.#ask
    const wanted = thinking.mode === 'off' ? null : wantedEffort(thinking)
    const takes = this.#target.thinking !== 'none' && this.#target.thinking !== 'budget'
    if (wanted === null || !takes) return undefined
    const known =
      this.#target.efforts.length === 0 ? (['low', 'medium', 'high', 'xhigh', 'max'] as const) : this.#target.efforts
    const effort = nearestEffort(wanted, this.#target, known)
    if (effort !== wanted && wanted !== 'minimal') this.#losses.add('effort')
    return literal(effort)
  }

  /** `mayThink`: the history has what this protocol wants of a model that thinks. */
  #thinking(mayThink: boolean): Source | undefined {
    const { thinking } = this.#ask
    const { thinking: takes, thinkingOff } = this.#target
    if (thinking.mode === 'unset') return undefined
    if (thinking.mode === 'off' || takes === 'none' || !mayThink) {
      if (thinking.mode === 'on' || !thinkingOff) this.#losses.add('thinking')
      return takes !== 'none' && thinkingOff ? typed('disabled', {}) : undefined
    }
    const display = thinking.show === null ? undefined : thinking.show ? '"summarized"' : '"omitted"'
    if (takes !== 'budget') return typed('adaptive', { display })
    if (this.#maxOutput <= LEAST_BUDGET) {
      this.#losses.add('thinking')
      return undefined
    }
    const asked = thinking.budget ?? budgetOf(nearestEffort(wantedEffort(thinking) ?? 'medium', this.#target))
    const budget = Math.max(LEAST_BUDGET, Math.min(asked, this.#maxOutput - 1))
    return typed('enabled', { budget_tokens: String(budget), display })
  }

  #format(): Source | undefined {
    const { format } = this.#ask
    if (format.type !== 'schema') return undefined
    const { schema, changed } = closedSchema(format.schema)
    if (changed) this.#losses.add('schema')
    return typed('json_schema', { schema })
  }
}

// --- turn-writer

/** The conversation, for upstreams of the messages protocol. */

interface Tools {
  names: ToolNames
  marks: Marks
  losses: Ask['losses']
}

interface WrittenTurns {
  messages: Source
  /** Whether the model may think: in the middle of a round of tools only where its earlier thoughts are there. */
  mayThink: boolean
}

type Content = TextPart | MediaPart

function writeTurns(ask: Ask, target: Target, tools: Tools): WrittenTurns {
  return new TurnWriter(target, tools).write(roundsOf(ask.turns))
}

const DOT = literal('.')

class TurnWriter {
  readonly #target: Target
  readonly #tools: Tools
  readonly #issuer: string
  readonly #tree = new Tree(1)
  readonly #messages: Source[] = []
  #lastThought = false

  constructor(target: Target, tools: Tools) {
    this.#target = target
    this.#tools = tools
    this.#issuer = issuerOf('messages', target.model)
  }

  write(rounds: Round[]): WrittenTurns {
    const placed = placeSystem(rounds, this.#target.systemTurns)
    if (placed[0]?.role !== 'user') this.#message('user', [typed('text', { text: DOT })])
    const last = placed.at(-1)
    if (last?.role === 'assistant') trimLast(last)
    for (const round of placed) this.#round(round)
    const inTools = last?.role === 'user' && last.results.length > 0
    return { messages: array(this.#messages), mayThink: !inTools || this.#lastThought }
  }

  #round(round: Round): void {
    if (round.role === 'user') this.#user(round)
    else if (round.role === 'system') this.#system(round)
    else this.#assistant(round)
  }

  #user({ results, parts }: UserRound): void {
    const blocks = [...results.map(part => this.#result(part)), ...parts.flatMap(part => this.#content(part))]
    this.#message('user', blocks.length === 0 ? [typed('text', { text: DOT })] : blocks)
  }

  #system({ parts }: SystemRound): void {
    const blocks = parts.flatMap(part => this.#content(part))
    if (blocks.length > 0) this.#message('system', blocks)
  }

  #assistant({ parts }: AssistantRound): void {
    const thoughts: Source[] = []
    const texts: Source[] = []
    const calls: Source[] = []
    for (const part of parts) {
      if (part.type === 'thought') thoughts.push(...this.#thought(part))
      else if (part.type === 'call') calls.push(this.#call(part))
      else texts.push(...this.#content(part))
    }
    this.#lastThought = thoughts.length > 0
    const blocks = [...thoughts, ...texts, ...calls]
    if (blocks.length > 0) this.#message('assistant', blocks)
  }

  #message(role: string, blocks: Source[]): void {
    this.#messages.push(object({ role: `"${role}"`, content: array(blocks) }))
  }

  /** State of another upstream, or none: this one would refuse the thought. */
  #thought({ text, opaque }: ThoughtPart): Source[] {
    if (opaque?.issuer !== this.#issuer || opaque.value.length < 3) {
      this.#tools.losses.add('thinking')
      return []
    }
    if (opaque.of === 'hidden') return [typed('redacted_thinking', { data: opaque.value })]
    return [typed('thinking', { thinking: text, signature: opaque.value })]
  }

  #call(part: CallPart): Source {
    const { id, name, namespace, freeform, args, opaque } = part
    if (opaque !== undefined) this.#tools.losses.add('thinking') // only other protocols have state at their calls
    return typed('tool_use', {
      id: literal(fitId(id)),
      name: literal(this.#tools.names.to(name, namespace)),
      input: this.#input(freeform ? asObject(args) : args),
      cache_control: this.#tools.marks.of(part),
    })
  }

  /** What is no object cannot be sent as it is: a call that was cut short, for example. */
  #input(args: string): Source {
    const source = unquote(args)
    if (source.trim() === '') return '{}'
    if (this.#tree.read(source) && this.#tree.kind(this.#tree.root) === 'object') return source
    this.#tools.losses.add('tool_arguments')
    return object({ arguments: args })
  }

  #result(part: ResultPart): Source {
    const { id, parts, error } = part
    const content = parts.flatMap(one => this.#content(one))
    return typed('tool_result', {
      tool_use_id: literal(fitId(id)),
      content: content.length === 0 ? undefined : array(content),
      is_error: error ? 'true' : undefined,
      cache_control: this.#tools.marks.of(part),
    })
  }

  #content(part: Content): Source[] {
    const cache_control = this.#tools.marks.of(part)
    if (part.type === 'text') return isBlank(part.text) ? [] : [typed('text', { text: part.text, cache_control })]
    if (part.kind !== 'image' && part.kind !== 'document') throw new Untranslatable(part.kind)
    const title = part.kind === 'document' ? part.name : undefined
    return [typed(part.kind, { source: this.#source(part), title, cache_control })]
  }

  #source({ url, text, base64, mime, kind }: MediaPart): Source {
    if (url !== undefined) return typed('url', { url })
    if (text !== undefined) return typed('text', { media_type: '"text/plain"', data: text })
    return typed('base64', {
      media_type: optional(mime ?? (kind === 'image' ? 'image/png' : 'application/pdf')),
      data: base64,
    })
  }
}

/** An answer cannot go on behind a space. */
function trimLast(round: AssistantRound): void {
  const at = round.parts.findLastIndex(({ type }) => type === 'text')
  const text = round.parts[at]
  if (text?.type === 'text') round.parts[at] = { ...text, text: trimEnd(text.text) }
}

// --- system-turns

/**
 * System turns in the middle of a conversation. They stand behind the user's turn that follows, where the model knows them; elsewhere
 * they are text of the user, between tags that say so.
 */

function placeSystem(rounds: readonly Round[], areKnown: boolean): Round[] {
  const placed: Round[] = []
  let waiting: TextPart[] = []
  const put = (): void => {
    if (waiting.length > 0) putSystem(placed, waiting, areKnown)
    waiting = []
  }
  for (const round of rounds) {
    if (round.role === 'system') waiting = [...waiting, ...round.parts]
    else if (round.role === 'user') {
      joinUser(placed, { ...round, parts: [...round.parts] })
      put()
    } else {
      put()
      placed.push(round)
    }
  }
  put()
  return placed
}

/** Two turns of the user become one when a system turn between them has moved away. */
function joinUser(placed: Round[], round: UserRound): void {
  const last = placed.at(-1)
  if (last?.role === 'user' && round.results.length === 0) for (const part of round.parts) last.parts.push(part)
  else placed.push(round)
}

function putSystem(placed: Round[], parts: TextPart[], areKnown: boolean): void {
  const user = placed.at(-1)
  if (user?.role === 'user' && areKnown) {
    placed.push({ role: 'system', parts })
    return
  }
  const texts = parts.map(part => part.text)
  const text = join([literal('<system-reminder>\n'), join(texts, '\\n'), literal('\n</system-reminder>')])
  const part: TextPart = { type: 'text', text }
  if (user?.role === 'user') user.parts.push(part)
  else placed.push({ role: 'user', results: [], parts: [part] })
}

// --- marks

/**
 * Which parts of a request ask for a cache entry behind them. They are marked only where the client's own request asks for
 * caching, unless the channel marks on its own. The protocol allows four marks; the last ones are kept, because each of
 * them covers what stands before it.
 */

const MOST_MARKS = 4

interface Markable {
  cache?: CacheLife
}

class Marks {
  readonly #kept = new Map<Markable, CacheLife>()
  readonly #top: CacheLife | null

  constructor(ask: Ask, target: Target) {
    const parts: Markable[] = [...ask.tools, ...ask.system, ...ask.turns.flatMap(turn => turn.parts)].filter(
      part => part.type !== 'freeform' && part.type !== 'thought',
    ) as Markable[]
    this.#top = ask.cache
    const most = MOST_MARKS - (ask.cache === null ? 0 : 1)
    for (const part of parts.filter(({ cache }) => cache !== undefined).slice(-most))
      this.#kept.set(part, part.cache as CacheLife)
    if (target.cacheMarks === 'auto' && this.#kept.size === 0 && this.#top === null) this.#markEnds(ask)
  }

  /** Behind the part that all requests of the conversation have, and behind its end. */
  #markEnds({ tools, system, turns }: Ask): void {
    const stable = system.at(-1) ?? tools.findLast(tool => tool.type === 'function')
    const last = turns.findLast(({ role }) => role === 'user')?.parts.at(-1)
    for (const part of [stable, last]) if (part !== undefined) this.#kept.set(part as Markable, '5m')
  }

  of(part: Markable): Source | undefined {
    const life = this.#kept.get(part)
    return life === undefined ? undefined : markOf(life)
  }

  /** The mark at the top of the body, which follows the end of the conversation. */
  get top(): Source | undefined {
    return this.#top === null ? undefined : markOf(this.#top)
  }

  /** The longest life that is asked for; null = nothing is. */
  get life(): CacheLife | null {
    const lives = [...this.#kept.values(), this.#top]
    return lives.includes('1h') ? '1h' : lives.includes('5m') ? '5m' : null
  }
}

const markOf = (life: CacheLife): Source => (life === '1h' ? '{"type":"ephemeral","ttl":"1h"}' : '{"type":"ephemeral"}')
