/** The conversation, for upstreams of the messages protocol. */
import type { Ask, CallPart, MediaPart, ResultPart, TextPart, ThoughtPart } from '../ask.ts'
import { type AssistantRound, type Round, roundsOf, type SystemRound, type UserRound } from '../conversation.ts'
import { asObject } from '../freeform.ts'
import { fitId } from '../ids.ts'
import { isBlank, literal, type Source, trimEnd, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import { array, object, optional, typed } from '../json/write.ts'
import { Untranslatable } from '../loss.ts'
import type { ToolNames } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import type { Target } from '../protocol.ts'
import type { Marks } from './marks.ts'
import { placeSystem } from './system-turns.ts'

interface Tools {
  names: ToolNames
  marks: Marks
  losses: Ask['losses']
}

export interface WrittenTurns {
  messages: Source
  /** Whether the model may think: in the middle of a round of tools only where its earlier thoughts are there. */
  mayThink: boolean
}

type Content = TextPart | MediaPart

export function writeTurns(ask: Ask, target: Target, tools: Tools): WrittenTurns {
  return new TurnWriter(target, tools).write(roundsOf(ask.turns))
}

const DOT = literal('.')

class TurnWriter {
  readonly #target: Target
  readonly #tools: Tools
  readonly #issuer: string
  readonly #tree = new Tree(1)
  readonly #messages: Source[] = []
  #lastThought = false

  constructor(target: Target, tools: Tools) {
    this.#target = target
    this.#tools = tools
    this.#issuer = issuerOf('messages', target.model)
  }

  write(rounds: Round[]): WrittenTurns {
    const placed = placeSystem(rounds, this.#target.systemTurns)
    if (placed[0]?.role !== 'user') this.#message('user', [typed('text', { text: DOT })])
    const last = placed.at(-1)
    if (last?.role === 'assistant') trimLast(last)
    for (const round of placed) this.#round(round)
    const inTools = last?.role === 'user' && last.results.length > 0
    return { messages: array(this.#messages), mayThink: !inTools || this.#lastThought }
  }

  #round(round: Round): void {
    if (round.role === 'user') this.#user(round)
    else if (round.role === 'system') this.#system(round)
    else this.#assistant(round)
  }

  #user({ results, parts }: UserRound): void {
    const blocks = [...results.map(part => this.#result(part)), ...parts.flatMap(part => this.#content(part))]
    this.#message('user', blocks.length === 0 ? [typed('text', { text: DOT })] : blocks)
  }

  #system({ parts }: SystemRound): void {
    const blocks = parts.flatMap(part => this.#content(part))
    if (blocks.length > 0) this.#message('system', blocks)
  }

  #assistant({ parts }: AssistantRound): void {
    const thoughts: Source[] = []
    const texts: Source[] = []
    const calls: Source[] = []
    for (const part of parts) {
      if (part.type === 'thought') thoughts.push(...this.#thought(part))
      else if (part.type === 'call') calls.push(this.#call(part))
      else texts.push(...this.#content(part))
    }
    this.#lastThought = thoughts.length > 0
    const blocks = [...thoughts, ...texts, ...calls]
    if (blocks.length > 0) this.#message('assistant', blocks)
  }

  #message(role: string, blocks: Source[]): void {
    this.#messages.push(object({ role: `"${role}"`, content: array(blocks) }))
  }

  /** State of another upstream, or none: this one would refuse the thought. */
  #thought({ text, opaque }: ThoughtPart): Source[] {
    if (opaque?.issuer !== this.#issuer || opaque.value.length < 3) {
      this.#tools.losses.add('thinking')
      return []
    }
    if (opaque.of === 'hidden') return [typed('redacted_thinking', { data: opaque.value })]
    return [typed('thinking', { thinking: text, signature: opaque.value })]
  }

  #call(part: CallPart): Source {
    const { id, name, namespace, freeform, args, opaque } = part
    if (opaque !== undefined) this.#tools.losses.add('thinking') // only other protocols have state at their calls
    return typed('tool_use', {
      id: literal(fitId(id)),
      name: literal(this.#tools.names.to(name, namespace)),
      input: this.#input(freeform ? asObject(args) : args),
      cache_control: this.#tools.marks.of(part),
    })
  }

  /** What is no object cannot be sent as it is: a call that was cut short, for example. */
  #input(args: string): Source {
    const source = unquote(args)
    if (source.trim() === '') return '{}'
    if (this.#tree.read(source) && this.#tree.kind(this.#tree.root) === 'object') return source
    this.#tools.losses.add('tool_arguments')
    return object({ arguments: args })
  }

  #result(part: ResultPart): Source {
    const { id, parts, error } = part
    const content = parts.flatMap(one => this.#content(one))
    return typed('tool_result', {
      tool_use_id: literal(fitId(id)),
      content: content.length === 0 ? undefined : array(content),
      is_error: error ? 'true' : undefined,
      cache_control: this.#tools.marks.of(part),
    })
  }

  #content(part: Content): Source[] {
    const cache_control = this.#tools.marks.of(part)
    if (part.type === 'text') return isBlank(part.text) ? [] : [typed('text', { text: part.text, cache_control })]
    if (part.kind !== 'image' && part.kind !== 'document') throw new Untranslatable(part.kind)
    const title = part.kind === 'document' ? part.name : undefined
    return [typed(part.kind, { source: this.#source(part), title, cache_control })]
  }

  #source({ url, text, base64, mime, kind }: MediaPart): Source {
    if (url !== undefined) return typed('url', { url })
    if (text !== undefined) return typed('text', { media_type: '"text/plain"', data: text })
    return typed('base64', {
      media_type: optional(mime ?? (kind === 'image' ? 'image/png' : 'application/pdf')),
      data: base64,
    })
  }
}

/** An answer cannot go on behind a space. */
function trimLast(round: AssistantRound): void {
  const at = round.parts.findLastIndex(({ type }) => type === 'text')
  const text = round.parts[at]
  if (text?.type === 'text') round.parts[at] = { ...text, text: trimEnd(text.text) }
}
