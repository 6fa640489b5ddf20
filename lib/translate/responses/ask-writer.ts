/** Requests for upstreams of the responses protocol. Nothing is stored there, and no item is named that would have to be. */
import type { Ask, Choice, Tool } from '../ask.ts'
import { isBlank, join, literal, type Source } from '../json/literal.ts'
import { array, object, optional, typed } from '../json/write.ts'
import { ToolNames } from '../names.ts'
import type { Target, Written } from '../protocol.ts'
import { effortWord } from '../thinking.ts'
import { writeItems } from './item-writer.ts'

const NO_PARAMETERS: Source = '{"type":"object","properties":{}}'
const LONGEST_KEY = 64
/** A smaller maximum is refused. */
const LEAST_OUTPUT = 16
const STATE: Source = '["reasoning.encrypted_content"]'

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
    const { stream, system, cacheKey, user, tier, stop, thinking } = this.#ask
    const maxOutput = this.#maxOutput()
    const mayThink = this.#target.thinking !== 'none' && thinking.mode !== 'off'
    if (stop.length > 0) this.#losses.add('stop')
    const texts = system.map(({ text }) => text).filter(text => !isBlank(text))
    const body = object({
      model: literal(this.#target.model),
      instructions: texts.length === 0 ? undefined : join(texts, '\\n\\n'),
      input: writeItems(this.#ask, this.#target, this.#names, this.#losses),
      stream: stream ? 'true' : undefined,
      store: 'false',
      include: mayThink ? STATE : undefined,
      max_output_tokens: maxOutput === null ? undefined : String(maxOutput),
      ...this.#sampling(),
      ...this.#tools(),
      text: this.#format(),
      reasoning: this.#reasoning(),
      prompt_cache_key: optional(cacheKey?.slice(0, LONGEST_KEY)),
      user: optional(user?.slice(0, LONGEST_KEY)),
      service_tier: optional(tier),
    })
    return { body, losses: this.#losses, maxOutput, cache: null, names: this.#names }
  }

  #maxOutput(): number | null {
    const { maxOutput } = this.#ask
    if (maxOutput === null) return null
    if (maxOutput < LEAST_OUTPUT) this.#losses.add('max_output')
    return Math.max(LEAST_OUTPUT, Math.min(maxOutput, this.#target.maxOutput ?? maxOutput))
  }

  #sampling(): Record<string, Source | undefined> {
    const { temperature, topP, topK, seed, presence, frequency } = this.#ask.sampling
    const { sampling } = this.#target
    const takesTopP = sampling === 'all' || (sampling === 'one' && temperature === undefined)
    if (temperature !== undefined && sampling === 'none') this.#losses.add('temperature')
    if (topP !== undefined && !takesTopP) this.#losses.add('top_p')
    if (topK !== undefined) this.#losses.add('top_k')
    if (seed !== undefined) this.#losses.add('seed')
    if (presence !== undefined || frequency !== undefined) this.#losses.add('penalties')
    return { temperature: sampling === 'none' ? undefined : temperature, top_p: takesTopP ? topP : undefined }
  }

  // --- tools

  #tools(): Record<string, Source | undefined> {
    const { tools, choice, parallel } = this.#ask
    if (tools.length === 0) return {}
    return {
      tools: array(tools.map(tool => this.#tool(tool))),
      tool_choice: this.#choice(choice),
      parallel_tool_calls: parallel === null ? undefined : String(parallel),
    }
  }

  /** Tools are strict here where nothing is said of it, and most schemas do not fit that. */
  #tool(tool: Tool): Source {
    const name = literal(this.#names.to(tool.name, tool.namespace))
    const description = tool.description ?? undefined
    if (tool.type === 'function') {
      const strict = tool.strict === true ? 'true' : 'false'
      return typed('function', { name, description, parameters: tool.schema ?? NO_PARAMETERS, strict })
    }
    const { grammar, syntax = 'lark' } = tool
    const format = grammar === null ? undefined : typed('grammar', { syntax: literal(syntax), definition: grammar })
    return typed('custom', { name, description, format })
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
        return this.#named(
          this.#ask.tools.find(({ name, namespace }) => name === choice.name && namespace === choice.namespace) ??
            choice,
        )
      case 'some': {
        const names = new Set(choice.names)
        const tools = this.#ask.tools.filter(({ name }) => names.has(name)).map(tool => this.#named(tool))
        return typed('allowed_tools', { mode: choice.must ? '"required"' : '"auto"', tools: array(tools) })
      }
      case 'any':
        return '"required"'
      default:
        return `"${choice.type}"`
    }
  }

  #named({ type, name, namespace }: { type: string; name: string; namespace?: string }): Source {
    return typed(type === 'freeform' ? 'custom' : 'function', { name: literal(this.#names.to(name, namespace)) })
  }

  // --- how it is answered

  #format(): Source | undefined {
    const { format } = this.#ask
    if (format.type === 'json') return object({ format: typed('json_object', {}) })
    if (format.type !== 'schema') return undefined
    const schema = {
      name: literal(format.name ?? 'answer'),
      description: format.description ?? undefined,
      schema: format.schema,
      strict: format.strict === null ? undefined : String(format.strict),
    }
    return object({ format: typed('json_schema', schema) })
  }

  /** Summaries are for clients who ask to see thoughts: not every account of a provider may have them. */
  #reasoning(): Source | undefined {
    const { thinking } = this.#ask
    const effort = effortWord(thinking, this.#target, this.#losses)
    const summary = thinking.show === true && thinking.mode !== 'off' && this.#target.thinking !== 'none'
    if (effort === null && !summary) return undefined
    return object({ effort: optional(effort), summary: summary ? '"auto"' : undefined })
  }
}
