/** The conversation, for upstreams that speak generate-content. */
import type { Ask, CallPart, MediaPart, Opaque, ResultPart, TextPart, ThoughtPart } from '../ask.ts'
import { type AssistantRound, type Round, roundsOf, type UserRound } from '../conversation.ts'
import { asObject } from '../freeform.ts'
import { fitId } from '../ids.ts'
import { EMPTY, isBlank, join, type Literal, literal, type Source, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import { array, object } from '../json/write.ts'
import type { ToolNames } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import type { Target } from '../protocol.ts'
import { partOf } from './part-writer.ts'
import { isThird, NO_STATE } from './state.ts'

export function writeContents(ask: Ask, target: Target, names: ToolNames, losses: Ask['losses']): Source {
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
