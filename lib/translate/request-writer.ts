/**
 * What writers of requests share: names of tools, what is lost because the target does not take it, and how much a model shall think, as
 * one word.
 */
import type { Effort } from '../terms/records.ts'
import type { Ask, CacheLife, CallPart, Choice, Sampling, Search, Tool, TranslationTarget, Written } from './ask.ts'
import { nearestEffort, wantedEffort } from './efforts.ts'
import { type Losses, type Opaque, Untranslatable } from './events.ts'
import { asFunction, asObject } from './freeform.ts'
import { type JsonText, type Literal, literal, object } from './json/literal.ts'
import { objectIn } from './json/tree.ts'
import { ToolNames } from './names.ts'
import { issuerOf } from './opaque.ts'
import { searchFor } from './search.ts'

/** What protocols know that say an effort, and `none` where nothing shall be thought. */
const WORDS = ['minimal', 'low', 'medium', 'high', 'xhigh'] as const
/** The protocols in which a request may have several answers. */
const TELL_MANY: ReadonlySet<string> = new Set(['chat', 'generate'])
/** The protocols in which an answer may say how likely its tokens were. */
const TELL_LOGPROBS: ReadonlySet<string> = new Set(['chat', 'responses', 'generate'])

/** Writes one ask for one target. */
export abstract class RequestWriter {
  protected readonly ask: Ask
  protected readonly target: TranslationTarget
  protected readonly losses: Losses
  readonly #names: ToolNames
  readonly #issuer: string

  constructor(protocol: string, ask: Ask, target: TranslationTarget) {
    const { many, logprobs, prefill } = ask
    if (many !== null && !TELL_MANY.has(protocol)) throw new Untranslatable(many.field)
    if (logprobs !== null && !TELL_LOGPROBS.has(protocol)) throw new Untranslatable(logprobs.field)
    if (prefill !== null && target.prefill === null) throw new Untranslatable(prefill)
    this.ask = ask
    this.target = target
    this.losses = new Set(ask.losses)
    this.#names = new ToolNames(ask.tools)
    this.#issuer = issuerOf(protocol, target.model)
  }

  protected written(body: JsonText, maxOutput: number | null, cache: CacheLife | null = null): Written {
    return { body, losses: this.losses, maxOutput, cache, renamed: this.#names.renamed }
  }

  /** What was read as one that is only moved, where it is looked into all the same. */
  protected whole(text: Literal): Literal {
    return this.ask.short?.whole(text) ?? text
  }

  /** The maximum that is asked for, but not more than the model gives; null = none is. */
  protected get maxOutput(): number | null {
    const { maxOutput } = this.ask
    return maxOutput === null ? null : Math.min(maxOutput, this.target.maxOutput ?? maxOutput)
  }

  /** Numbers that the target takes; the others are lost. `any`: it takes a temperature or top-p at all. */
  protected sampling(takes: { any: boolean; topK: boolean; seed: boolean; penalties: boolean }): Sampling {
    const { temperature, topP, topK, seed, presence, frequency } = this.ask.sampling
    const onlyTemperature = this.target.sampling === 'one' && temperature !== undefined
    const kept = (
      value: JsonText | undefined,
      isTaken: boolean,
      loss: 'temperature' | 'top_p' | 'top_k' | 'seed' | 'penalties',
    ) => {
      if (value !== undefined && !isTaken) this.losses.add(loss)
      return isTaken ? value : undefined
    }
    return {
      temperature: kept(temperature, takes.any, 'temperature'),
      topP: kept(topP, takes.any && !onlyTemperature, 'top_p'),
      topK: kept(topK, takes.topK, 'top_k'),
      seed: kept(seed, takes.seed, 'seed'),
      presence: kept(presence, takes.penalties, 'penalties'),
      frequency: kept(frequency, takes.penalties, 'penalties'),
    }
  }

  // --- tools

  /** The name by which the upstream knows a tool. */
  protected nameOf({ name, namespace }: { name: string; namespace?: string }): Literal {
    return literal(this.#names.to(name, namespace))
  }

  /** The search that the upstream is asked for; null = none is. `canSearch`: as far as the protocol knows. */
  protected search(canSearch = true): Search | null {
    return searchFor(this.ask, canSearch && this.target.search !== null, this.losses)
  }

  /** The tools that may be called: where that are only some, the others are not offered. */
  protected get offered(): readonly Tool[] {
    const { tools, choice } = this.ask
    if (choice.type !== 'some') return tools
    const names = new Set(choice.names)
    return tools.filter(({ name }) => names.has(name))
  }

  /** A tool as one that takes an object. */
  protected declared(tool: Tool): { description: Literal | null; schema: JsonText | null } {
    if (tool.type === 'function') return tool
    if (tool.grammar !== null) this.losses.add('tool_grammar')
    return asFunction(tool)
  }

  /** Which tools are to be called, as far as the target can be told. */
  protected choice(mayForce = this.target.toolChoice === 'any'): Choice {
    const { choice } = this.ask
    const isForced = ['any', 'one', 'search'].includes(choice.type) || (choice.type === 'some' && choice.must)
    if (!isForced || mayForce) return choice
    this.losses.add('tool_choice')
    return { type: 'auto' }
  }

  // --- the conversation

  /** What a tool is called with. What is no object cannot be sent as it is: a call that was cut short, for example. */
  protected inputOf({ freeform, args: said }: CallPart): JsonText {
    const args = freeform ? asObject(said) : said
    const input = objectIn(args)
    if (input !== null) return input
    this.losses.add('tool_arguments')
    return object({ arguments: args })
  }

  /** Whether the state is this upstream's. Others refuse it. */
  protected isOwn(opaque: Opaque | undefined): opaque is Opaque {
    return opaque?.issuer === this.#issuer
  }

  /** How much shall be thought, as one word; null = nothing is said of it. */
  protected get effortWord(): Effort | 'none' | null {
    const { thinking, thinkingOff } = this.target
    const wanted = wantedEffort(this.ask.thinking)
    const isOff = this.ask.thinking.mode === 'off'
    if (thinking === 'none') {
      if (!isOff && wanted !== null) this.losses.add('thinking')
      return null
    }
    if (isOff) {
      if (!thinkingOff) this.losses.add('thinking')
      return thinkingOff ? 'none' : null
    }
    if (wanted === null) return null
    const effort = nearestEffort(wanted, this.target, WORDS)
    if (effort !== wanted) this.losses.add('effort')
    return effort
  }
}
