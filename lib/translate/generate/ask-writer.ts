/** Requests for upstreams that speak generate-content. The model and whether the answer is streamed stand in the path. */
import type { Ask, Choice, Tool } from '../ask.ts'
import { asFunction } from '../freeform.ts'
import { isBlank, literal, type Source } from '../json/literal.ts'
import { array, object } from '../json/write.ts'
import { ToolNames } from '../names.ts'
import type { Target, Written } from '../protocol.ts'
import { offeredTools } from '../request.ts'
import { formatOf, parametersOf } from './schemas.ts'
import { thinkingOf } from './thinking.ts'
import { writeContents } from './turn-writer.ts'

const MOST_STOPS = 5
const LARGEST_SEED = 2 ** 31 - 1
const TIERS = /^(?:flex|standard|priority)$/
const USUAL_TIERS = /^(?:auto|default|standard_only)$/

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
    const { maxOutput: asked } = this.#ask
    const maxOutput = asked === null ? null : Math.min(asked, this.#target.maxOutput ?? asked)
    const system = this.#ask.system.filter(({ text }) => !isBlank(text)).map(({ text }) => object({ text }))
    const config = this.#config(maxOutput)
    const body = object({
      contents: writeContents(this.#ask, this.#target, this.#names, this.#losses),
      systemInstruction: system.length === 0 ? undefined : object({ parts: array(system) }),
      ...this.#tools(),
      generationConfig: config === '{}' ? undefined : config,
      serviceTier: this.#tier(),
    })
    return { body, losses: this.#losses, maxOutput, cache: null, names: this.#names }
  }

  #config(maxOutput: number | null): Source {
    const { stop } = this.#ask
    if (stop.length > MOST_STOPS) this.#losses.add('stop')
    return object({
      ...this.#sampling(),
      maxOutputTokens: maxOutput === null ? undefined : String(maxOutput),
      stopSequences: stop.length === 0 ? undefined : array(stop.slice(0, MOST_STOPS)),
      ...this.#format(),
      thinkingConfig: thinkingOf(this.#ask.thinking, this.#target, { maxOutput, losses: this.#losses }),
    })
  }

  #sampling(): Record<string, Source | undefined> {
    const { temperature, topP, topK, seed, presence, frequency } = this.#ask.sampling
    const { sampling } = this.#target
    const takesTopP = sampling === 'all' || (sampling === 'one' && temperature === undefined)
    const takesSeed = seed !== undefined && Number.isInteger(Number(seed)) && Math.abs(Number(seed)) <= LARGEST_SEED
    if (temperature !== undefined && sampling === 'none') this.#losses.add('temperature')
    if (topP !== undefined && !takesTopP) this.#losses.add('top_p')
    if (topK !== undefined && sampling === 'none') this.#losses.add('top_k')
    if (seed !== undefined && !takesSeed) this.#losses.add('seed')
    return {
      temperature: sampling === 'none' ? undefined : temperature,
      topP: takesTopP ? topP : undefined,
      topK: sampling === 'none' ? undefined : topK,
      seed: takesSeed ? seed : undefined,
      presencePenalty: presence,
      frequencyPenalty: frequency,
    }
  }

  #tier(): Source | undefined {
    const { tier } = this.#ask
    if (tier !== null && TIERS.test(tier)) return literal(tier)
    if (tier !== null && !USUAL_TIERS.test(tier)) this.#losses.add('service_tier')
    return undefined
  }

  // --- tools

  #tools(): Record<string, Source | undefined> {
    const { tools, choice, parallel } = this.#ask
    if (tools.length === 0) return {}
    if (parallel === false) this.#losses.add('parallel_tool_calls')
    // where a call is forced, the names of those that may be called are said
    const offered = choice.type === 'some' && choice.must ? tools : offeredTools(this.#ask)
    const functionDeclarations = array(offered.map(tool => this.#tool(tool)))
    const functionCallingConfig = this.#choice(choice)
    return {
      tools: array([object({ functionDeclarations })]),
      toolConfig: functionCallingConfig === undefined ? undefined : object({ functionCallingConfig }),
    }
  }

  #tool(tool: Tool): Source {
    const name = this.#names.to(tool.name, tool.namespace)
    if (tool.type === 'freeform' && tool.grammar !== null) this.#losses.add('tool_grammar')
    if (tool.type === 'function' && tool.strict === true) this.#losses.add('strict')
    const { description, schema } = tool.type === 'freeform' ? asFunction(tool) : tool
    const parameters = parametersOf(schema, name)
    if (parameters.changed) this.#losses.add('schema')
    return object({
      name: literal(name),
      description: description ?? undefined,
      parametersJsonSchema: parameters.schema ?? undefined,
    })
  }

  #choice(choice: Choice): Source | undefined {
    const isForced = choice.type === 'any' || choice.type === 'one' || (choice.type === 'some' && choice.must)
    if (isForced && this.#target.toolChoice === 'auto') {
      this.#losses.add('tool_choice')
      return object({ mode: '"AUTO"' })
    }
    switch (choice.type) {
      case 'unset':
        return undefined
      case 'one':
        return this.#any([this.#names.to(choice.name, choice.namespace)])
      case 'some': {
        const names = new Set(choice.names)
        const tools = this.#ask.tools.filter(({ name }) => names.has(name))
        return choice.must
          ? this.#any(tools.map(({ name, namespace }) => this.#names.to(name, namespace)))
          : object({ mode: '"AUTO"' })
      }
      default:
        return object({ mode: `"${choice.type.toUpperCase()}"` })
    }
  }

  #any(names: readonly string[]): Source {
    return object({ mode: '"ANY"', allowedFunctionNames: array(names.map(literal)) })
  }

  // --- how it is answered

  #format(): Record<string, Source> {
    const { format } = this.#ask
    if (format.type === 'text') return {}
    const responseMimeType = '"application/json"'
    if (format.type !== 'schema') return { responseMimeType }
    return { responseMimeType, responseJsonSchema: formatOf(format.schema) }
  }
}
