/** Requests for upstreams of the messages protocol. */
import type { Ask, CacheLife, FunctionTool, Tool } from '../ask.ts'
import { asFunction } from '../freeform.ts'
import { isBlank, literal, type Source } from '../json/literal.ts'
import { array, object, typed } from '../json/write.ts'
import { ToolNames } from '../names.ts'
import type { Target, Written } from '../protocol.ts'
import { offeredTools } from '../request.ts'
import { closedSchema } from '../closed-schema.ts'
import { objectSchema } from '../schema.ts'
import { budgetOf, nearestEffort, wantedEffort } from '../thinking.ts'
import { Marks } from './marks.ts'
import { writeTurns } from './turn-writer.ts'

/** Where neither the client nor the catalogue says how long an answer may be, which this protocol wants to know. */
const MAX_OUTPUT = 32_000
const LEAST_BUDGET = 1024
const ONE_OBJECT = literal('Answer with one JSON object and nothing else.')

export function writeAsk(ask: Ask, target: Target): Written {
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
    return { body, losses: this.#losses, maxOutput: this.#maxOutput, cache, names: this.#names }
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
