/** Requests for upstreams of the responses protocol. Nothing is stored there, and no item is named that would have to be. */
import type {
  Ask,
  CallPart,
  Choice,
  MediaPart,
  ResultPart,
  TextPart,
  ThoughtPart,
  Tool,
  Target,
  Written,
} from '../ask.ts'
import { Untranslatable } from '../events.ts'
import {
  EMPTY,
  type Literal,
  type Source,
  array,
  isBlank,
  join,
  literal,
  object,
  optional,
  typed,
} from '../json/literal.ts'
import { ToolNames, fitId } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import { asDataUrl } from '../openai.ts'
import { type AssistantRound, type Round, type UserRound, asError, effortWord, roundsOf } from '../request-writer.ts'

const NO_PARAMETERS: Source = '{"type":"object","properties":{}}'
const LONGEST_KEY = 64
/** A smaller maximum is refused. */
const LEAST_OUTPUT = 16
const STATE: Source = '["reasoning.encrypted_content"]'

export function writeResponsesRequest(ask: Ask, target: Target): Written {
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
    return { body, losses: this.#losses, maxOutput, cache: null, renamed: this.#names.renamed }
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

// --- item-writer

/** The conversation, for upstreams of the responses protocol: a list of items. */

function writeItems(ask: Ask, target: Target, names: ToolNames, losses: Ask['losses']): Source {
  return new ItemWriter(target, names, losses).write(roundsOf(ask.turns))
}

type Content = TextPart | MediaPart

class ItemWriter {
  readonly #names: ToolNames
  readonly #losses: Ask['losses']
  readonly #issuer: string
  readonly #items: Source[] = []
  /** The calls of the last round of the assistant whose tools take text. */
  #freeform = new Set<string>()

  constructor(target: Target, names: ToolNames, losses: Ask['losses']) {
    this.#names = names
    this.#losses = losses
    this.#issuer = issuerOf('responses', target.model)
  }

  write(rounds: readonly Round[]): Source {
    for (const round of rounds) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
      else this.#system(round.parts)
    }
    if (this.#items.length === 0) this.#message('user', EMPTY)
    return array(this.#items)
  }

  #message(role: string, content: Source): void {
    this.#items.push(typed('message', { role: `"${role}"`, content }))
  }

  #system(parts: readonly TextPart[]): void {
    const texts = parts.map(({ text }) => text).filter(text => !isBlank(text))
    if (texts.length > 0) this.#message('developer', join(texts, '\\n\\n'))
  }

  // --- the user

  #user({ results, parts }: UserRound): void {
    for (const result of results) this.#items.push(this.#result(result))
    const content = parts.filter(part => part.type !== 'text' || !isBlank(part.text))
    const only = content.length === 1 && content[0]?.type === 'text' ? content[0].text : null
    if (content.length > 0) this.#message('user', only ?? array(content.map(part => this.#part(part))))
    else if (results.length === 0) this.#message('user', EMPTY)
  }

  #result({ id, parts, error }: ResultPart): Source {
    const texts = parts.filter(part => part.type === 'text').map(({ text }) => text)
    const media = parts.filter(part => part.type === 'media')
    const said = texts.length === 0 ? EMPTY : join(texts, '\\n')
    const text = error ? asError(said) : said
    const told = text === EMPTY ? [] : [typed('input_text', { text })]
    const type = this.#freeform.has(id) ? 'custom_tool_call_output' : 'function_call_output'
    return typed(type, {
      call_id: literal(fitId(id)),
      output: media.length === 0 ? text : array([...told, ...media.map(part => this.#part(part))]),
    })
  }

  #part(part: Content): Source {
    if (part.type === 'text') return typed('input_text', { text: part.text })
    const { kind, mime, base64, url, text, name } = part
    if (kind === 'image')
      return typed('input_image', {
        detail: '"auto"',
        image_url: url ?? asDataUrl(mime ?? 'image/png', base64 ?? EMPTY),
      })
    if (text !== undefined)
      return typed('input_text', { text: name === undefined ? text : join([name, text], '\\n\\n') })
    if (kind !== 'document') throw new Untranslatable(kind)
    if (url !== undefined) return typed('input_file', { file_url: url, filename: name })
    const file_data = asDataUrl(mime ?? 'application/pdf', base64 ?? EMPTY)
    return typed('input_file', { filename: name ?? '"document.pdf"', file_data })
  }

  // --- the assistant

  /** A thought must be followed by what came of it. */
  #assistant({ parts }: AssistantRound): void {
    this.#freeform = new Set()
    const end = parts.findLastIndex(({ type }) => type !== 'thought') + 1
    if (end < parts.length) this.#losses.add('thinking')
    for (const part of parts.slice(0, end)) {
      if (part.type === 'thought') this.#thought(part)
      else if (part.type === 'call') this.#call(part)
      else this.#text(part)
    }
  }

  #text({ text, refusal, opaque }: TextPart): void {
    if (opaque !== undefined) this.#losses.add('thinking') // only other protocols have state at their texts
    if (isBlank(text)) return
    const part = refusal === true ? typed('refusal', { refusal: text }) : typed('output_text', { text })
    this.#message('assistant', array([part]))
  }

  /** State of another upstream, or none: this one would refuse the item. */
  #thought({ text, opaque }: ThoughtPart): void {
    if (opaque?.issuer !== this.#issuer || opaque.value.length < 3) {
      this.#losses.add('thinking')
      return
    }
    const summary = text === EMPTY ? [] : [typed('summary_text', { text })]
    this.#items.push(
      typed('reasoning', { id: optional(opaque.id), summary: array(summary), encrypted_content: opaque.value }),
    )
  }

  #call({ id, name, namespace, freeform, args, opaque }: CallPart): void {
    if (opaque !== undefined) this.#losses.add('thinking') // only other protocols have state at their calls
    if (freeform) this.#freeform.add(id)
    const head = { call_id: literal(fitId(id)), name: literal(this.#names.to(name, namespace)) }
    const item = freeform
      ? typed('custom_tool_call', { ...head, input: args })
      : typed('function_call', { ...head, arguments: argumentsOf(args) })
    this.#items.push(item)
  }
}

const argumentsOf = (args: Literal): Literal => (args === EMPTY ? '"{}"' : args)
