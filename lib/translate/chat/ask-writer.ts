/** Requests for upstreams that speak chat completions. */
import type { Ask, Choice, FunctionTool, Tool } from '../ask.ts'
import { asFunction } from '../freeform.ts'
import { literal, type Source } from '../json/literal.ts'
import { array, object, optional, typed } from '../json/write.ts'
import { ToolNames } from '../names.ts'
import type { Target, Written } from '../protocol.ts'
import { offeredTools } from '../request.ts'
import { effortWord } from '../thinking.ts'
import { writeTurns } from './turn-writer.ts'

const MOST_STOPS = 4
const NO_PARAMETERS: Source = '{"type":"object","properties":{}}'
const LONGEST_KEY = 64

export function writeAsk(ask: Ask, target: Target): Written {
  return new Writer(ask, target).write()
}

class Writer {
  readonly #ask: Ask
  readonly #target: Target
  readonly #losses: Ask['losses']
  readonly #names: ToolNames

  constructor(ask: Ask, target: Target) {
    this.#ask = ask
    this.#target = target
    this.#losses = new Set(ask.losses)
    this.#names = new ToolNames(ask.tools)
  }

  write(): Written {
    const { stream, cacheKey, user, tier, stop } = this.#ask
    const maxOutput = this.#maxOutput()
    if (stop.length > MOST_STOPS) this.#losses.add('stop')
    const body = object({
      model: literal(this.#target.model),
      messages: writeTurns(this.#ask, this.#target, this.#names, this.#losses),
      ...(stream ? { stream: 'true', stream_options: '{"include_usage":true}' } : {}),
      ...(maxOutput === null ? {} : { [this.#target.maxOutputMember]: String(maxOutput) }),
      ...this.#sampling(),
      stop: stop.length === 0 ? undefined : array(stop.slice(0, MOST_STOPS)),
      ...this.#tools(),
      response_format: this.#format(),
      reasoning_effort: optional(effortWord(this.#ask.thinking, this.#target, this.#losses)),
      prompt_cache_key: this.#target.cacheKeys ? optional(cacheKey?.slice(0, LONGEST_KEY)) : undefined,
      user: optional(user?.slice(0, LONGEST_KEY)),
      service_tier: optional(tier),
    })
    return { body, losses: this.#losses, maxOutput, cache: null, names: this.#names }
  }

  #maxOutput(): number | null {
    const { maxOutput } = this.#ask
    const most = this.#target.maxOutput
    return maxOutput === null || most === null ? maxOutput : Math.min(maxOutput, most)
  }

  #sampling(): Record<string, Source | undefined> {
    const { temperature, topP, topK, seed, presence, frequency } = this.#ask.sampling
    const { sampling } = this.#target
    const may = sampling !== 'none'
    const only = sampling === 'one' && temperature !== undefined
    if (temperature !== undefined && !may) this.#losses.add('temperature')
    if (topP !== undefined && (!may || only)) this.#losses.add('top_p')
    if (topK !== undefined && !this.#target.topK) this.#losses.add('top_k')
    return {
      temperature: may ? temperature : undefined,
      top_p: may && !only ? topP : undefined,
      top_k: this.#target.topK ? topK : undefined,
      seed,
      presence_penalty: presence,
      frequency_penalty: frequency,
    }
  }

  // --- tools

  #tools(): Record<string, Source | undefined> {
    const { tools, choice, parallel } = this.#ask
    if (tools.length === 0) return {}
    return {
      tools: array(offeredTools(this.#ask).map(tool => this.#tool(tool))),
      tool_choice: this.#choice(choice),
      parallel_tool_calls: parallel === null ? undefined : String(parallel),
    }
  }

  #tool(tool: Tool): Source {
    const name = literal(this.#names.to(tool.name, tool.namespace))
    if (tool.type === 'freeform') {
      if (tool.grammar !== null) this.#losses.add('tool_grammar')
      const { description, schema } = asFunction(tool)
      return typed('function', { function: object({ name, description, parameters: schema }) })
    }
    return typed('function', { function: this.#function(name, tool) })
  }

  #function(name: Source, { description, schema, strict }: FunctionTool): Source {
    return object({
      name,
      description: description ?? undefined,
      parameters: schema ?? NO_PARAMETERS,
      strict: strict === true ? 'true' : undefined,
    })
  }

  #choice(choice: Choice): Source | undefined {
    const forced = choice.type === 'any' || choice.type === 'one' || (choice.type === 'some' && choice.must)
    if (forced && this.#target.toolChoice === 'auto') {
      this.#losses.add('tool_choice')
      return '"auto"'
    }
    switch (choice.type) {
      case 'unset':
        return undefined
      case 'one':
        return typed('function', { function: object({ name: literal(this.#names.to(choice.name, choice.namespace)) }) })
      case 'some':
        return choice.must ? '"required"' : '"auto"'
      case 'any':
        return '"required"'
      default:
        return `"${choice.type}"`
    }
  }

  // --- how it is answered

  #format(): Source | undefined {
    const { format } = this.#ask
    if (format.type === 'json') return typed('json_object', {})
    if (format.type !== 'schema') return undefined
    const json_schema = object({
      name: literal(format.name ?? 'answer'),
      description: format.description ?? undefined,
      schema: format.schema,
      strict: format.strict === null ? undefined : String(format.strict),
    })
    return typed('json_schema', { json_schema })
  }
}
