/** The conversation, for upstreams of the responses protocol: a list of items. */
import type { Ask, CallPart, MediaPart, ResultPart, TextPart, ThoughtPart } from '../ask.ts'
import { type AssistantRound, asError, type Round, roundsOf, type UserRound } from '../conversation.ts'
import { asDataUrl } from '../data-url.ts'
import { fitId } from '../ids.ts'
import { EMPTY, isBlank, join, type Literal, literal, type Source } from '../json/literal.ts'
import { array, optional, typed } from '../json/write.ts'
import { Untranslatable } from '../loss.ts'
import type { ToolNames } from '../names.ts'
import { issuerOf } from '../opaque.ts'
import type { Target } from '../protocol.ts'

export function writeItems(ask: Ask, target: Target, names: ToolNames, losses: Ask['losses']): Source {
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
