/** Requests for upstreams that speak generate-content. The model and whether the answer is streamed stand in the path. */
import type {
  Ask,
  CallPart,
  Choice,
  Effort,
  MediaPart,
  ResultPart,
  TextPart,
  Thinking,
  ThoughtPart,
  Tool,
  Target,
  Written,
} from '../ask.ts'
import { type Losses, type Opaque, Untranslatable } from '../events.ts'
import { asFunction, asObject } from '../freeform.ts'
import { EMPTY, type Literal, type Source, array, isBlank, join, literal, object, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import { ToolNames, fitId } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import { offeredTools } from '../request-reader.ts'
import {
  type AssistantRound,
  type Round,
  type UserRound,
  budgetOf,
  nearestEffort,
  roundsOf,
  wantedEffort,
} from '../request-writer.ts'
import { NO_STATE, isThird } from './members.ts'
import { formatOf, parametersOf } from './schema.ts'

const MOST_STOPS = 5
const LARGEST_SEED = 2 ** 31 - 1
const TIERS = /^(?:flex|standard|priority)$/
const USUAL_TIERS = /^(?:auto|default|standard_only)$/

export function writeGenerateRequest(ask: Ask, target: Target): Written {
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
    return { body, losses: this.#losses, maxOutput, cache: null, renamed: this.#names.renamed }
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

// --- turn-writer

/** The conversation, for upstreams that speak generate-content. */

function writeContents(ask: Ask, target: Target, names: ToolNames, losses: Ask['losses']): Source {
  return new ContentWriter(target, names, losses).write(roundsOf(ask.turns))
}

interface Content {
  role: 'user' | 'model'
  /** All parts are results, beside which nothing else may stand. */
  results: boolean
  parts: Source[]
}

class ContentWriter {
  readonly #names: ToolNames
  readonly #losses: Ask['losses']
  readonly #issuer: string
  readonly #isThird: boolean
  readonly #contents: Content[] = []
  readonly #tree = new Tree(1)
  /** What the upstream calls the tools of the calls before, by their ids. */
  #called = new Map<string, string>()

  constructor(target: Target, names: ToolNames, losses: Ask['losses']) {
    this.#names = names
    this.#losses = losses
    this.#issuer = issuerOf('generate', target.model)
    this.#isThird = isThird(target)
  }

  write(rounds: readonly Round[]): Source {
    for (const round of rounds) {
      if (round.role === 'user') this.#user(round)
      else if (round.role === 'assistant') this.#assistant(round)
      else this.#system(round.parts)
    }
    if (this.#contents[0]?.role !== 'user') this.#contents.unshift({ role: 'user', results: false, parts: [SPACE] })
    return array(this.#contents.map(({ role, parts }) => object({ role: `"${role}"`, parts: array(parts) })))
  }

  /** Neighbours are joined. */
  #add(role: Content['role'], parts: Source[], results = false): void {
    const last = this.#contents.at(-1)
    if (parts.length === 0) return
    if (last?.role === role && last.results === results) for (const part of parts) last.parts.push(part)
    else this.#contents.push({ role, results, parts })
  }

  /** There is no place for the system in the middle of a conversation. */
  #system(parts: readonly TextPart[]): void {
    const texts = parts.map(({ text }) => text).filter(text => !isBlank(text))
    if (texts.length === 0) return
    const text = join([literal('<system-reminder>\n'), join(texts, '\\n'), literal('\n</system-reminder>')])
    this.#add('user', [object({ text })])
  }

  // --- the user

  #user({ results, parts }: UserRound): void {
    const media: (TextPart | MediaPart)[] = []
    const answers = results.map(result => this.#result(result, media))
    this.#add('user', answers, true)
    const own = [...media, ...parts].filter(part => part.type !== 'text' || !isBlank(part.text))
    this.#add(
      'user',
      own.map(part => partOf(part, this.#losses)),
    )
    if (own.length === 0 && results.length === 0) this.#add('user', [SPACE])
  }

  /** Before the third generation, results had no place for media, which follow behind all results. */
  #result({ id, name, parts, error }: ResultPart, others: (TextPart | MediaPart)[]): Source {
    const own = fitId(id)
    const tool = this.#called.get(id) ?? name ?? own
    const texts = parts.filter(part => part.type === 'text').map(({ text }) => text)
    const media = parts.filter(part => part.type === 'media')
    const inside = this.#isThird ? media.map(part => partOf(part, this.#losses)) : []
    if (media.length > 0 && !this.#isThird)
      others.push({ type: 'text', text: literal(`Output of tool call ${own}:`) }, ...media)
    const text = texts.length === 0 ? EMPTY : join(texts, '\\n')
    return object({
      functionResponse: object({
        id: literal(own),
        name: literal(tool),
        response: error ? object({ error: text }) : this.#response(text),
        parts: inside.length === 0 ? undefined : array(inside),
      }),
    })
  }

  /** An object goes in as it is, unless it would say something else there. */
  #response(text: Literal): Source {
    const source = unquote(text)
    const isObject = source.trimStart().startsWith('{') && this.#tree.read(source)
    const names: string[] = []
    if (isObject) this.#tree.members(this.#tree.root, name => names.push(name))
    const isMistaken = names.length < 2 && (names.length === 0 || names[0] === 'output' || names[0] === 'error')
    return isObject && !isMistaken ? source : object({ output: text })
  }

  // --- the assistant

  #assistant({ parts }: AssistantRound): void {
    this.#called = new Map()
    let isFirst = true
    const own: Source[] = []
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
    if (opaque === undefined || opaque.value === EMPTY) return undefined
    if (opaque.issuer === this.#issuer) return opaque.value
    this.#losses.add('thinking')
    return undefined
  }

  #thought({ text, opaque }: ThoughtPart): Source[] {
    if (opaque?.issuer === this.#issuer)
      return [object({ text, thought: 'true', thoughtSignature: this.#state(opaque) })]
    this.#losses.add('thinking')
    return []
  }

  #text({ text, opaque }: TextPart): Source[] {
    const thoughtSignature = this.#state(opaque)
    return isBlank(text) && thoughtSignature === undefined ? [] : [object({ text, thoughtSignature })]
  }

  /** The first of parallel calls has the state of all. */
  #call({ id, name, namespace, freeform, args, opaque }: CallPart, isFirst: boolean): Source {
    const own = this.#names.to(name, namespace)
    this.#called.set(id, own)
    const functionCall = object({
      id: literal(fitId(id)),
      name: literal(own),
      args: this.#args(freeform ? asObject(args) : args),
    })
    const state = this.#state(opaque)
    return object({ functionCall, thoughtSignature: state ?? (isFirst && this.#isThird ? NO_STATE : undefined) })
  }

  /** What is no object cannot be said. It comes only of a call that failed. */
  #args(args: Literal): Source {
    const source = unquote(args)
    if (source.trim() === '') return '{}'
    if (this.#tree.read(source) && this.#tree.kind(this.#tree.root) === 'object') return source
    this.#losses.add('tool_arguments')
    return '{}'
  }
}

/** A content cannot be empty. */
const SPACE = object({ text: '" "' })

// --- part-writer

/** Texts and media, for upstreams that speak generate-content. */

const TYPES: Readonly<Record<string, string>> = { png: 'png', gif: 'gif', webp: 'webp', heic: 'heic', heif: 'heif' }
const ENDING = /\.(\w{3,4})$/
const LONGEST_ENDING = 5
const MIMES: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/jpeg',
  document: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
}

function partOf(part: TextPart | MediaPart, losses: Losses): Source {
  if (part.type === 'text') return object({ text: part.text })
  const { kind, base64, url, text, name } = part
  if (text !== undefined) return object({ text: name === undefined ? text : join([name, text], '\\n\\n') })
  if (name !== undefined) losses.add('documents')
  const mimeType = literal(mimeOf(part))
  if (url !== undefined) return object({ fileData: object({ mimeType, fileUri: url }) })
  if (base64 === undefined) throw new Untranslatable(kind)
  return object({ inlineData: object({ mimeType, data: base64 }) })
}

function mimeOf({ mime, kind, url }: MediaPart): string {
  if (mime !== null) return mime
  const ending = kind === 'image' && url !== undefined ? endingOf(url) : undefined
  if (ending !== undefined && Object.hasOwn(TYPES, ending)) return `image/${TYPES[ending]}`
  return kind === 'image' && url === undefined ? 'image/png' : MIMES[kind]
}

/** Of the path of an address, before its query. */
function endingOf(url: Literal): string | undefined {
  const query = url.search(/[?#]/)
  const path = url.slice(1, query < 0 ? -1 : query)
  return ENDING.exec(path.slice(-LONGEST_ENDING))?.[1]?.toLowerCase()
}

// --- thinking

/** How upstreams of generate-content are told to think: by levels, or by a budget of tokens. */

const LEVELS: readonly Effort[] = ['minimal', 'low', 'medium', 'high']
const MOST_BUDGET = 32_768
/** With no more output than this, nothing is left for thoughts. */
const LEAST_OUTPUT = 1024

interface Limit {
  maxOutput: number | null
  losses: Losses
}

function thinkingOf(thinking: Thinking, target: Target, written: Limit): Source | undefined {
  if (target.thinking === 'none') {
    if (thinking.mode !== 'off' && wantedEffort(thinking) !== null) written.losses.add('thinking')
    return undefined
  }
  const isShown = thinking.mode === 'off' ? false : (thinking.show ?? thinking.mode === 'on')
  const byLevel = target.thinking !== 'budget' && isThird(target)
  const amount = byLevel ? level(thinking, target, written.losses) : budget(thinking, target, written)
  const config = object({ ...amount, includeThoughts: isShown ? 'true' : undefined })
  return config === '{}' ? undefined : config
}

/** Thinking cannot be switched off here, only be made little. */
function level(thinking: Thinking, target: Target, losses: Losses): { thinkingLevel?: Source } {
  const wanted = thinking.mode === 'off' ? 'minimal' : wantedEffort(thinking)
  if (thinking.mode === 'off') losses.add('thinking')
  if (wanted === null) return {}
  const effort = nearestEffort(wanted, target, LEVELS)
  const told = LEVELS.includes(effort) ? effort : 'high'
  if (told !== wanted && thinking.mode !== 'off') losses.add('effort')
  return { thinkingLevel: `"${told.toUpperCase()}"` }
}

/** Thoughts count into the maximum of the output. */
function budget(thinking: Thinking, target: Target, { maxOutput, losses }: Limit): { thinkingBudget?: Source } {
  const { thinkingOff } = target
  if (thinking.mode === 'off') {
    if (!thinkingOff) losses.add('thinking')
    return thinkingOff ? { thinkingBudget: '0' } : {}
  }
  const wanted = wantedEffort(thinking)
  if (wanted === null) return {}
  if (maxOutput !== null && maxOutput <= LEAST_OUTPUT) {
    losses.add('thinking')
    return thinkingOff ? { thinkingBudget: '0' } : {}
  }
  const effort = nearestEffort(wanted, target)
  const asked = effort === wanted && thinking.effort === null ? thinking.budget : null
  const most = Math.min(asked ?? budgetOf(effort), MOST_BUDGET)
  if (effort !== wanted || most < (asked ?? budgetOf(wanted))) losses.add('effort')
  return { thinkingBudget: String(maxOutput === null ? most : Math.min(most, maxOutput - 1)) }
}
