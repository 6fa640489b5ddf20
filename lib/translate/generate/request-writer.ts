/** Requests for upstreams that speak generate-content. The model and whether the answer is streamed stand in the path. */
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
import { type AssistantRound, namedText, reminder, roundsOf, type UserRound } from '../conversation.ts'
import { budgetOf, nearestEffort, wantedEffort } from '../efforts.ts'
import { type Opaque, Untranslatable } from '../events.ts'
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
  unquote,
} from '../json/literal.ts'
import { objectIn, Tree } from '../json/tree.ts'
import { fitId } from '../names.ts'
import { RequestWriter } from '../request-writer.ts'
import { arrayUnlessEmpty, loseRest } from '../search.ts'
import { isThird, NO_STATE } from './members.ts'
import { formatOf, parametersOf } from './schema.ts'

const MOST_STOPS = 5
const SEARCH = object({ googleSearch: '{}' })
const LARGEST_SEED = 2 ** 31 - 1
const TIERS = /^(?:flex|standard|priority)$/
const USUAL_TIERS = /^(?:auto|default|standard_only)$/
const LEVELS = ['minimal', 'low', 'medium', 'high'] as const
const MOST_BUDGET = 32_768
/** With no more output than this, nothing is left for thoughts. */
const LEAST_OUTPUT = 1024
/** A content cannot be empty. */
const SPACE = object({ text: '" "' })

export const writeGenerateRequest = (ask: Ask, target: TranslationTarget): Written =>
  new GenerateWriter(ask, target).write()

interface Content {
  role: 'user' | 'model'
  /** All parts are results, beside which nothing else may stand. */
  results: boolean
  parts: JsonText[]
}

class GenerateWriter extends RequestWriter {
  readonly #isThird: boolean
  readonly #contents: Content[] = []
  /** What the upstream calls the tools of the calls before, by their ids. */
  #called = new Map<string, Literal>()

  constructor(ask: Ask, target: TranslationTarget) {
    super('generate', ask, target)
    this.#isThird = isThird(target)
  }

  write(): Written {
    const system = this.ask.system.filter(({ text }) => !isBlank(text)).map(({ text }) => object({ text }))
    const config = this.#config()
    const body = object({
      contents: this.#conversation(),
      systemInstruction: system.length === 0 ? undefined : object({ parts: array(system) }),
      ...this.#tools(),
      generationConfig: config === '{}' ? undefined : config,
      serviceTier: this.#tier(),
    })
    return this.written(body, this.maxOutput)
  }

  #config(): JsonText {
    const { stop, format, logprobs } = this.ask
    if (stop.length > MOST_STOPS) this.losses.add('stop')
    return object({
      ...this.#sampling(),
      maxOutputTokens: this.maxOutput === null ? undefined : String(this.maxOutput),
      candidateCount: this.ask.many === null ? undefined : String(this.ask.many.count),
      responseLogprobs: logprobs === null ? undefined : 'true',
      logprobs: logprobs === null || logprobs.top === 0 ? undefined : String(logprobs.top),
      stopSequences: stop.length === 0 ? undefined : array(stop.slice(0, MOST_STOPS)),
      responseMimeType: format.type === 'text' ? undefined : '"application/json"',
      responseJsonSchema: format.type === 'schema' ? formatOf(format.schema) : undefined,
      thinkingConfig: this.#thinking(),
    })
  }

  #sampling(): Record<string, JsonText | undefined> {
    const isSampled = this.target.sampling !== 'none'
    const asked = Number(this.ask.sampling.seed)
    const isSeed = Number.isInteger(asked) && Math.abs(asked) <= LARGEST_SEED
    const { temperature, topP, topK, seed, presence, frequency } = this.sampling({
      any: isSampled,
      topK: isSampled,
      seed: isSeed,
      penalties: true,
    })
    return { temperature, topP, topK, seed, presencePenalty: presence, frequencyPenalty: frequency }
  }

  #tier(): JsonText | undefined {
    const { tier } = this.ask
    if (tier !== null && TIERS.test(tier)) return literal(tier)
    if (tier !== null && !USUAL_TIERS.test(tier)) this.losses.add('service_tier')
    return undefined
  }

  // --- how much shall be thought: by levels, or by a budget of tokens

  #thinking(): JsonText | undefined {
    const { mode, show } = this.ask.thinking
    const { thinking } = this.target
    if (thinking === 'none') {
      if (mode !== 'off' && wantedEffort(this.ask.thinking) !== null) this.losses.add('thinking')
      return undefined
    }
    const isShown = mode === 'off' ? false : (show ?? mode === 'on')
    const amount = thinking !== 'budget' && this.#isThird ? this.#level() : this.#budget()
    const config = object({ ...amount, includeThoughts: isShown ? 'true' : undefined })
    return config === '{}' ? undefined : config
  }

  /** Where there are levels, thinking cannot be switched off, only be made little. */
  #level(): { thinkingLevel?: JsonText } {
    const { thinking } = this.ask
    const wanted = thinking.mode === 'off' ? 'minimal' : wantedEffort(thinking)
    if (thinking.mode === 'off') this.losses.add('thinking')
    if (wanted === null) return {}
    const effort = nearestEffort(wanted, this.target, LEVELS)
    const level = LEVELS.find(one => one === effort) ?? 'high'
    if (level !== wanted && thinking.mode !== 'off') this.losses.add('effort')
    return { thinkingLevel: `"${level.toUpperCase()}"` }
  }

  /** Thoughts count into the maximum of the output. */
  #budget(): { thinkingBudget?: JsonText } {
    const { target, maxOutput } = this
    const { thinking } = this.ask
    const isOff = thinking.mode === 'off'
    const wanted = isOff ? null : wantedEffort(thinking)
    const isTooLittle = wanted !== null && maxOutput !== null && maxOutput <= LEAST_OUTPUT
    if (isOff || isTooLittle) {
      if (isTooLittle || !target.thinkingOff) this.losses.add('thinking')
      return target.thinkingOff ? { thinkingBudget: '0' } : {}
    }
    if (wanted === null) return {}
    const effort = nearestEffort(wanted, target)
    const asked = effort === wanted && thinking.effort === null ? thinking.budget : null
    const most = Math.min(asked ?? budgetOf(effort), MOST_BUDGET)
    if (effort !== wanted || most < (asked ?? budgetOf(wanted))) this.losses.add('effort')
    return { thinkingBudget: String(maxOutput === null ? most : Math.min(most, maxOutput - 1)) }
  }

  // --- tools

  #tools(): Record<string, JsonText | undefined> {
    const { tools, choice, parallel } = this.ask
    // before the third generation, and at a cloud, a model searches or calls functions
    const search = this.search(tools.length === 0 || (this.#isThird && this.target.search === 'own'))
    if (search !== null) loseRest(search, {}, this.losses)
    const searches = search === null ? [] : [SEARCH]
    if (choice.type === 'search') this.losses.add('tool_choice')
    if (tools.length === 0) return { tools: arrayUnlessEmpty(searches) }
    if (parallel === false) this.losses.add('parallel_tool_calls')
    // where a call is forced, the names of those that may be called are said
    const offered = choice.type === 'some' && choice.must ? tools : this.offered
    const functionDeclarations = array(offered.map(tool => this.#tool(tool)))
    const functionCallingConfig = this.#choice()
    const includeServerSideToolInvocations = search === null ? undefined : 'true'
    const config = object({ functionCallingConfig, includeServerSideToolInvocations })
    return {
      tools: array([object({ functionDeclarations }), ...searches]),
      toolConfig: config === '{}' ? undefined : config,
    }
  }

  #tool(tool: Tool): JsonText {
    const name = this.nameOf(tool)
    const { description, schema } = this.declared(tool)
    if (tool.type === 'function' && tool.strict === true) this.losses.add('strict')
    const parameters = parametersOf(schema, name.slice(1, -1))
    if (parameters.changed) this.losses.add('schema')
    return object({
      name,
      description: description ?? undefined,
      parametersJsonSchema: parameters.schema ?? undefined,
    })
  }

  #choice(): JsonText | undefined {
    const choice = this.choice()
    const any = (names: readonly Literal[]) => object({ mode: '"ANY"', allowedFunctionNames: array(names) })
    switch (choice.type) {
      case 'unset':
        return undefined
      case 'one':
        return any([this.nameOf(choice)])
      case 'some':
        return choice.must ? any(this.offered.map(tool => this.nameOf(tool))) : object({ mode: '"AUTO"' })
      case 'search': // it cannot be forced
        return object({ mode: '"AUTO"' })
      default:
        return object({ mode: `"${choice.type.toUpperCase()}"` })
    }
  }

  // --- the conversation

  #conversation(): JsonText {
    for (const round of roundsOf(this.ask)) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
      else this.#system(round.parts)
    }
    if (this.#contents[0]?.role !== 'user') this.#contents.unshift({ role: 'user', results: false, parts: [SPACE] })
    return array(this.#contents.map(({ role, parts }) => object({ role: `"${role}"`, parts: array(parts) })))
  }

  /** Neighbours are joined. */
  #add(role: Content['role'], parts: JsonText[], results = false): void {
    const last = this.#contents.at(-1)
    if (parts.length === 0) return
    if (last?.role === role && last.results === results) for (const part of parts) last.parts.push(part)
    else this.#contents.push({ role, results, parts })
  }

  /** There is no place for the system in the middle of a conversation. */
  #system(all: readonly TextPart[]): void {
    const parts = all.filter(({ text }) => !isBlank(text))
    if (parts.length > 0) this.#add('user', [object({ text: reminder(parts) })])
  }

  #user({ results, parts }: UserRound): void {
    const media: (TextPart | MediaPart)[] = []
    const answers = results.map(result => this.#result(result, media))
    this.#add('user', answers, true)
    const own = [...media, ...parts].filter(part => part.type !== 'text' || !isBlank(part.text))
    const written = own.map(part => this.#part(part))
    this.#add('user', written.length === 0 && results.length === 0 ? [SPACE] : written)
  }

  /** Before the third generation, results had no place for media, which follow behind all results. */
  #result({ id, name, parts, error }: ResultPart, others: (TextPart | MediaPart)[]): JsonText {
    const own = fitId(id)
    const texts = parts.filter(part => part.type === 'text').map(({ text }) => text)
    const media = parts.filter(part => part.type === 'media')
    const inside = this.#isThird ? media.map(part => this.#part(part)) : []
    if (media.length > 0 && !this.#isThird)
      others.push({ type: 'text', text: literal(`Output of tool call ${own}:`) }, ...media)
    const text = texts.length === 0 ? EMPTY_TEXT : join(texts, '\\n')
    return object({
      functionResponse: object({
        id: literal(own),
        name: this.#called.get(id) ?? literal(name ?? own),
        response: error ? object({ error: text }) : responseOf(MAY_BE_OBJECT.test(text) ? this.whole(text) : text),
        parts: inside.length === 0 ? undefined : array(inside),
      }),
    })
  }

  #part(part: TextPart | MediaPart): JsonText {
    if (part.type === 'text') return object({ text: part.text })
    const { kind, base64, url, text, name } = part
    if (text !== undefined) return object({ text: namedText(text, name) })
    if (name !== undefined) this.losses.add('documents')
    const mimeType = literal(mimeOf(part))
    if (url !== undefined) return object({ fileData: object({ mimeType, fileUri: url }) })
    if (base64 === undefined) throw new Untranslatable(kind)
    return object({ inlineData: object({ mimeType, data: base64 }) })
  }

  #assistant({ parts }: AssistantRound): void {
    this.#called = new Map()
    let isFirst = true
    const own: JsonText[] = []
    for (const part of parts) {
      if (part.type === 'thought') own.push(...this.#thought(part))
      else if (part.type === 'text') own.push(...this.#text(part))
      else {
        own.push(this.#call(part, isFirst))
        isFirst = false
      }
    }
    this.#add('model', own)
  }

  /** State of another upstream is none of this one's. */
  #state(opaque: Opaque | undefined): Literal | undefined {
    if (opaque === undefined || opaque.value === EMPTY_TEXT) return undefined
    if (this.isOwn(opaque)) return opaque.value
    this.losses.add('thinking')
    return undefined
  }

  #thought({ text, opaque }: ThoughtPart): JsonText[] {
    if (this.isOwn(opaque)) return [object({ text, thought: 'true', thoughtSignature: this.#state(opaque) })]
    this.losses.add('thinking')
    return []
  }

  #text({ text, opaque }: TextPart): JsonText[] {
    const thoughtSignature = this.#state(opaque)
    return isBlank(text) && thoughtSignature === undefined ? [] : [object({ text, thoughtSignature })]
  }

  /** The first of parallel calls has the state of all. */
  #call(call: CallPart, isFirst: boolean): JsonText {
    const { id, freeform, args } = call
    const name = this.nameOf(call)
    this.#called.set(id, name)
    const functionCall = object({ id: literal(fitId(id)), name, args: this.#args(freeform ? asObject(args) : args) })
    const state = this.#state(call.opaque)
    return object({ functionCall, thoughtSignature: state ?? (isFirst && this.#isThird ? NO_STATE : undefined) })
  }

  /** What is no object cannot be said. It comes only of a call that failed. */
  #args(args: Literal): JsonText {
    const object = objectIn(args)
    if (object === null) this.losses.add('tool_arguments')
    return object ?? '{}'
  }
}

/** What is none says so by its first character. */
const MAY_BE_OBJECT = /^"[\s\\{]/

/** An object goes in as it is, unless it would say something else there. */
function responseOf(text: Literal): JsonText {
  const source = unquote(text)
  const tree = new Tree(1)
  const isObject = source.trimStart().startsWith('{') && tree.read(source)
  const names: string[] = []
  if (isObject) tree.members(tree.root, name => names.push(name))
  const isMistaken = names.length < 2 && (names.length === 0 || names[0] === 'output' || names[0] === 'error')
  return isObject && !isMistaken ? source : object({ output: text })
}

// --- what is said of media

const TYPES: Readonly<Record<string, string>> = { png: 'png', gif: 'gif', webp: 'webp', heic: 'heic', heif: 'heif' }
const ENDING = /\.(\w{3,4})$/
const LONGEST_ENDING = 5
const MIMES: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/jpeg',
  document: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
}

function mimeOf({ mime, kind, url }: MediaPart): string {
  if (mime !== null) return mime
  const ending = kind === 'image' && url !== undefined ? endingOf(url) : undefined
  if (ending !== undefined && Object.hasOwn(TYPES, ending)) return `image/${TYPES[ending]}`
  return kind === 'image' && url === undefined ? 'image/png' : MIMES[kind]
}

/** The ending of the path of an address, before its query. */
function endingOf(url: Literal): string | undefined {
  const query = url.search(/[?#]/)
  const path = url.slice(1, query < 0 ? -1 : query)
  return ENDING.exec(path.slice(-LONGEST_ENDING))?.[1]?.toLowerCase()
}
