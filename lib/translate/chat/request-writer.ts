/** Requests for upstreams that speak chat completions. */
import type {
  Ask,
  CallPart,
  Choice,
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
import { ToolNames, fitId, nineOf } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import { asDataUrl } from '../openai.ts'
import { offeredTools } from '../request-reader.ts'
import { type AssistantRound, type Round, type UserRound, asError, effortWord, roundsOf } from '../request-writer.ts'

const MOST_STOPS = 4
const NO_PARAMETERS: Source = '{"type":"object","properties":{}}'
const LONGEST_KEY = 64

export function writeChatRequest(ask: Ask, target: Target): Written {
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
    return { body, losses: this.#losses, maxOutput, cache: null, renamed: this.#names.renamed }
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

// --- turn-writer

/** The conversation, for upstreams that speak chat completions. */

function writeTurns(ask: Ask, target: Target, names: ToolNames, losses: Ask['losses']): Source {
  return new TurnWriter(target, names, losses).write(ask.system, roundsOf(ask.turns))
}

type Content = TextPart | MediaPart

const AUDIO: Readonly<Record<string, string>> = { 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3', 'audio/wav': 'wav' }

class TurnWriter {
  readonly #target: Target
  readonly #names: ToolNames
  readonly #losses: Ask['losses']
  readonly #issuer: string
  readonly #messages: Source[] = []

  constructor(target: Target, names: ToolNames, losses: Ask['losses']) {
    this.#target = target
    this.#names = names
    this.#losses = losses
    this.#issuer = issuerOf('chat', target.model)
  }

  write(system: readonly TextPart[], rounds: readonly Round[]): Source {
    this.#message('system', textOf(this.#target.systemFirst ? [...system, ...this.#hoisted(rounds)] : system))
    for (const round of rounds) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
      else if (!this.#target.systemFirst) this.#message('system', textOf(round.parts))
    }
    return array(this.#messages)
  }

  #hoisted(rounds: readonly Round[]): TextPart[] {
    const parts = rounds.flatMap(round => (round.role === 'system' ? round.parts : []))
    if (parts.length > 0) this.#losses.add('system_turns')
    return parts
  }

  #message(role: string, content: Source | null, more: Record<string, Source | undefined> = {}): void {
    if (content !== null) this.#messages.push(object({ role: `"${role}"`, content, ...more }))
  }

  // --- the user

  #user({ results, parts }: UserRound): void {
    const media: Content[] = []
    for (const result of results) this.#result(result, media)
    const content = [...media, ...parts].filter(part => part.type !== 'text' || !isBlank(part.text))
    if (content.length === 0) {
      if (results.length === 0) this.#message('user', EMPTY)
      return
    }
    const only = content.length === 1 && content[0]?.type === 'text' ? content[0].text : null
    this.#message('user', only ?? array(content.map(part => this.#part(part))))
  }

  /** Results are texts here. What else is in them follows behind all results, with a line that says of which call it is. */
  #result({ id, parts, error }: ResultPart, media: Content[]): void {
    const own = this.#id(id)
    const texts = parts.filter(part => part.type === 'text').map(({ text }) => text)
    const others = parts.filter(part => part.type === 'media')
    if (others.length > 0) {
      media.push({ type: 'text', text: literal(`Output of tool call ${own}:`) }, ...others)
      if (texts.length === 0) texts.push(literal('The output follows.'))
    }
    const text = texts.length === 0 ? EMPTY : join(texts, '\\n')
    this.#message('tool', error ? asError(text) : text, { tool_call_id: literal(own) })
  }

  #part(part: Content): Source {
    if (part.type === 'text') return typed('text', { text: part.text })
    const { kind, mime, base64, url, text, name } = part
    if (kind === 'image')
      return typed('image_url', { image_url: object({ url: url ?? asDataUrl(mime ?? 'image/png', base64 ?? EMPTY) }) })
    if (kind === 'audio' && base64 !== undefined) {
      const format = AUDIO[mime ?? '']
      if (format === undefined) throw new Untranslatable('audio')
      return typed('input_audio', { input_audio: object({ data: base64, format: `"${format}"` }) })
    }
    if (text !== undefined) return typed('text', { text: name === undefined ? text : join([name, text], '\\n\\n') })
    if (kind !== 'document' || base64 === undefined) throw new Untranslatable(`${kind}.url`)
    const file_data = asDataUrl(mime ?? 'application/pdf', base64)
    return typed('file', { file: object({ filename: name ?? '"document.pdf"', file_data }) })
  }

  // --- the assistant

  #assistant({ parts }: AssistantRound): void {
    const calls = parts.filter(part => part.type === 'call')
    const texts = parts.filter(part => part.type === 'text')
    const said = textOf(texts.filter(({ refusal }) => refusal !== true))
    const refusal = textOf(texts.filter(part => part.refusal === true)) ?? undefined
    const thought = this.#thought(parts.filter(part => part.type === 'thought'))
    if (said === null && refusal === undefined && calls.length === 0 && thought === undefined) return
    const empty = calls.length > 0 || refusal !== undefined ? 'null' : EMPTY
    this.#message('assistant', said ?? empty, {
      refusal,
      ...(thought === undefined ? {} : { [this.#target.thoughtMember as string]: thought }),
      tool_calls: calls.length === 0 ? undefined : array(calls.map(call => this.#call(call))),
    })
  }

  /** Few upstreams want to see what their models thought; where they do, it is a text without state. */
  #thought(thoughts: readonly ThoughtPart[]): Literal | undefined {
    if (thoughts.length === 0) return undefined
    if (this.#target.thoughtMember !== null) return join(thoughts.map(({ text }) => text))
    this.#losses.add('thinking')
    return undefined
  }

  #call({ id, name, namespace, freeform, args, opaque }: CallPart): Source {
    return object({
      id: literal(this.#id(id)),
      type: '"function"',
      function: object({
        name: literal(this.#names.to(name, namespace)),
        arguments: freeform ? asObject(args) : args === EMPTY ? '"{}"' : args,
      }),
      extra_content: this.#state(opaque),
    })
  }

  #state(opaque: CallPart['opaque']): Source | undefined {
    if (opaque === undefined) return undefined
    if (opaque.issuer === this.#issuer) return object({ google: object({ thought_signature: opaque.value }) })
    this.#losses.add('thinking')
    return undefined
  }

  #id(id: string): string {
    return this.#target.toolIds === 'alnum9' ? nineOf(id) : fitId(id)
  }
}

/** All texts as one; null = there is nothing in them. Many upstreams take only a string. */
function textOf(parts: readonly TextPart[]): Literal | null {
  const texts = parts.map(({ text }) => text).filter(text => !isBlank(text))
  return texts.length === 0 ? null : join(texts, '\\n\\n')
}
