/** Requests for upstreams that speak chat completions. */
import type {
  Ask,
  CallPart,
  MediaPart,
  ResultPart,
  TextPart,
  ThoughtPart,
  Tool,
  TranslationTarget,
  Written,
} from '../ask.ts'
import {
  type AssistantRound,
  asError,
  joined,
  namedText,
  type Round,
  roundsOf,
  type UserRound,
} from '../conversation.ts'
import { Untranslatable } from '../events.ts'
import { asObject } from '../freeform.ts'
import {
  array,
  EMPTY_TEXT,
  isBlank,
  type JsonText,
  join,
  type Literal,
  literal,
  object,
  optional,
  typed,
} from '../json/literal.ts'
import { fitId, nineOf } from '../names.ts'
import { asDataUrl, schemaMembers } from '../openai.ts'
import { RequestWriter } from '../request-writer.ts'
import { arrayUnlessEmpty, type ChatSearch, chatSearch } from '../search.ts'

const MOST_STOPS = 4
const NO_PARAMETERS: JsonText = '{"type":"object","properties":{}}'
const LONGEST_KEY = 64
const AUDIO: Readonly<Record<string, string>> = { 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3', 'audio/wav': 'wav' }

export const writeChatRequest = (ask: Ask, target: TranslationTarget): Written => new ChatWriter(ask, target).write()

class ChatWriter extends RequestWriter {
  readonly #messages: JsonText[] = []

  constructor(ask: Ask, target: TranslationTarget) {
    super('chat', ask, target)
  }

  write(): Written {
    const { stream, cacheKey, user, tier, stop, logprobs } = this.ask
    const { maxOutput, target } = this
    if (stop.length > MOST_STOPS) this.losses.add('stop')
    const body = object({
      model: literal(target.model),
      messages: this.#conversation(),
      ...(stream ? { stream: 'true', stream_options: '{"include_usage":true}' } : {}),
      ...(maxOutput === null ? {} : { [target.maxOutputMember]: String(maxOutput) }),
      ...this.#sampling(),
      stop: stop.length === 0 ? undefined : array(stop.slice(0, MOST_STOPS)),
      n: this.ask.many === null ? undefined : String(this.ask.many.count),
      logprobs: logprobs === null ? undefined : 'true',
      top_logprobs: logprobs === null || logprobs.top === 0 ? undefined : String(logprobs.top),
      ...this.#tools(),
      response_format: this.#format(),
      reasoning_effort: optional(this.effortWord),
      prompt_cache_key: target.cacheKeys ? optional(cacheKey?.slice(0, LONGEST_KEY)) : undefined,
      user: optional(user?.slice(0, LONGEST_KEY)),
      service_tier: optional(tier),
    })
    return this.written(body, maxOutput)
  }

  #sampling(): Record<string, JsonText | undefined> {
    const { sampling, topK: takesTopK } = this.target
    const takes = { any: sampling !== 'none', topK: takesTopK, seed: true, penalties: true }
    const { temperature, topP, topK, seed, presence, frequency } = this.sampling(takes)
    return { temperature, top_p: topP, top_k: topK, seed, presence_penalty: presence, frequency_penalty: frequency }
  }

  #tools(): Record<string, JsonText | undefined> {
    const { tools, parallel } = this.ask
    const { tool, members = {} } = this.#search()
    const offered = [...this.offered.map(one => this.#tool(one)), ...(tool === undefined ? [] : [tool])]
    if (tools.length === 0) return { tools: arrayUnlessEmpty(offered), ...members }
    return {
      tools: array(offered),
      tool_choice: this.#choice(),
      parallel_tool_calls: parallel === null ? undefined : String(parallel),
      ...members,
    }
  }

  #search(): ChatSearch {
    const search = this.search()
    if (search === null) return {}
    return chatSearch(this.target.search, search, this.ask.choice.type === 'search', this.losses)
  }

  #tool(tool: Tool): JsonText {
    const { description, schema } = this.declared(tool)
    const members = {
      name: this.nameOf(tool),
      description: description ?? undefined,
      parameters: schema ?? NO_PARAMETERS,
      strict: tool.type === 'function' && tool.strict === true ? 'true' : undefined,
    }
    return typed('function', { function: object(members) })
  }

  #choice(): JsonText | undefined {
    const choice = this.choice()
    switch (choice.type) {
      case 'unset':
        return undefined
      case 'one':
        return typed('function', { function: object({ name: this.nameOf(choice) }) })
      case 'some':
        return choice.must ? '"required"' : '"auto"'
      case 'any':
        return '"required"'
      case 'search': // said beside the tools
        return '"auto"'
      default:
        return `"${choice.type}"`
    }
  }

  #format(): JsonText | undefined {
    const { format } = this.ask
    if (format.type === 'json') return typed('json_object', {})
    return format.type === 'schema' ? typed('json_schema', { json_schema: object(schemaMembers(format)) }) : undefined
  }

  // --- the conversation

  #conversation(): JsonText {
    const { systemFirst } = this.target
    const rounds = roundsOf(this.ask)
    this.#message('system', joined(systemFirst ? [...this.ask.system, ...this.#hoisted(rounds)] : this.ask.system))
    const begun = this.ask.prefill === null ? undefined : rounds.at(-1)
    for (const round of rounds) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round, round === begun)
      else if (!systemFirst) this.#message('system', joined(round.parts))
    }
    return array(this.#messages)
  }

  #hoisted(rounds: readonly Round[]): TextPart[] {
    const parts = rounds.flatMap(round => (round.role === 'system' ? round.parts : []))
    if (parts.length > 0) this.losses.add('system_turns')
    return parts
  }

  #message(role: string, content: JsonText | null, more: Record<string, JsonText | undefined> = {}): void {
    if (content !== null) this.#messages.push(object({ role: `"${role}"`, content, ...more }))
  }

  #user({ results, parts }: UserRound): void {
    const media: (TextPart | MediaPart)[] = []
    for (const result of results) this.#result(result, media)
    const content = [...media, ...parts].filter(part => part.type !== 'text' || !isBlank(part.text))
    const only = content.length === 1 && content[0]?.type === 'text' ? content[0].text : null
    if (content.length > 0) this.#message('user', only ?? array(content.map(part => this.#part(part))))
    else if (results.length === 0) this.#message('user', EMPTY_TEXT)
  }

  /** Results are texts here. What else is in them follows behind all results, with a line that says of which call it is. */
  #result({ id, parts, error }: ResultPart, media: (TextPart | MediaPart)[]): void {
    const own = this.#id(id)
    const texts = parts.filter(part => part.type === 'text').map(({ text }) => text)
    const others = parts.filter(part => part.type === 'media')
    if (others.length > 0) {
      media.push({ type: 'text', text: literal(`Output of tool call ${own}:`) }, ...others)
      if (texts.length === 0) texts.push(literal('The output follows.'))
    }
    const text = texts.length === 0 ? EMPTY_TEXT : join(texts, '\\n')
    this.#message('tool', error ? asError(text) : text, { tool_call_id: literal(own) })
  }

  #part(part: TextPart | MediaPart): JsonText {
    if (part.type === 'text') return typed('text', { text: part.text })
    const { kind, mime, base64, url, text, name } = part
    if (kind === 'image')
      return typed('image_url', {
        image_url: object({ url: url ?? asDataUrl(mime ?? 'image/png', base64 ?? EMPTY_TEXT) }),
      })
    if (kind === 'audio' && base64 !== undefined) {
      const format = AUDIO[mime ?? '']
      if (format === undefined) throw new Untranslatable('audio')
      return typed('input_audio', { input_audio: object({ data: base64, format: `"${format}"` }) })
    }
    if (text !== undefined) return typed('text', { text: namedText(text, name) })
    if (kind !== 'document' || base64 === undefined) throw new Untranslatable(`${kind}.url`)
    const file_data = asDataUrl(mime ?? 'application/pdf', base64)
    return typed('file', { file: object({ filename: name ?? '"document.pdf"', file_data }) })
  }

  /** `isBegun`: the answer shall go on where its text ends. */
  #assistant({ parts }: AssistantRound, isBegun: boolean): void {
    const calls = parts.filter(part => part.type === 'call')
    const texts = parts.filter(part => part.type === 'text')
    const content = joined(texts.filter(({ refusal }) => refusal !== true))
    const refusal = joined(texts.filter(part => part.refusal === true)) ?? undefined
    const thought = this.#thought(parts.filter(part => part.type === 'thought'))
    if (content === null && refusal === undefined && calls.length === 0 && thought === undefined) return
    const empty = calls.length > 0 || refusal !== undefined ? 'null' : EMPTY_TEXT
    this.#message('assistant', content ?? empty, {
      refusal,
      ...(thought === undefined ? {} : { [this.target.thoughtMember as string]: thought }),
      tool_calls: calls.length === 0 ? undefined : array(calls.map(call => this.#call(call))),
      ...(isBegun && this.target.prefill !== 'plain' ? { [this.target.prefill as string]: 'true' } : {}),
    })
  }

  /** Few upstreams want to see what their models thought; where they do, it is a text without state. */
  #thought(thoughts: readonly ThoughtPart[]): Literal | undefined {
    if (thoughts.length === 0) return undefined
    if (this.target.thoughtMember !== null) return join(thoughts.map(({ text }) => text))
    this.losses.add('thinking')
    return undefined
  }

  #call(call: CallPart): JsonText {
    const { id, freeform, args, opaque } = call
    const isOwn = this.isOwn(opaque)
    if (opaque !== undefined && !isOwn) this.losses.add('thinking')
    return object({
      id: literal(this.#id(id)),
      type: '"function"',
      function: object({
        name: this.nameOf(call),
        arguments: freeform ? asObject(args) : args === EMPTY_TEXT ? '"{}"' : args,
      }),
      extra_content: isOwn ? object({ google: object({ thought_signature: opaque.value }) }) : undefined,
    })
  }

  #id(id: string): string {
    return this.target.toolIds === 'alnum9' ? nineOf(id) : fitId(id)
  }
}
