/**
 * The turns of a conversation, grouped as upstreams want them: turns of the same side are joined, all results of an
 * assistant's calls stand together right behind it, in the order of the calls, and every call has one.
 */
import type { CallPart, MediaPart, ResultPart, TextPart, ThoughtPart, Turn } from './ask.ts'
import { isBlank, join, type Literal, literal } from './json/literal.ts'
import { CallIds } from './names.ts'

export type Round = UserRound | AssistantRound | SystemRound

export interface UserRound {
  role: 'user'
  /** The results of the calls in the round before. */
  results: ResultPart[]
  parts: (TextPart | MediaPart)[]
}

export interface AssistantRound {
  role: 'assistant'
  parts: (TextPart | ThoughtPart | CallPart)[]
}

interface SystemRound {
  role: 'system'
  parts: TextPart[]
}

export function roundsOf(turns: readonly Turn[]): Round[] {
  const conversation = new Conversation()
  for (const turn of turns) conversation.add(turn)
  conversation.answerAll()
  return conversation.rounds
}

/** The text of a result that was never given. */
const NO_RESULT = literal('No result.')

interface Asked {
  call: CallPart
  answer: ResultPart | null
}

/** Calls that wait for a result, in order. Conversations may be long, so nothing is searched in a list. */
class Waiting {
  readonly #queues = new Map<string, { calls: Asked[]; at: number }>()

  add(key: string, asked: Asked): void {
    const queue = this.#queues.get(key)
    if (queue === undefined) this.#queues.set(key, { calls: [asked], at: 0 })
    else queue.calls.push(asked)
  }

  /** The first of these calls that has no result. */
  take(key: string): Asked | undefined {
    const queue = this.#queues.get(key)
    if (queue === undefined) return undefined
    while (queue.calls[queue.at]?.answer) queue.at++
    return queue.calls[queue.at]
  }

  clear(): void {
    this.#queues.clear()
  }
}

class Conversation {
  readonly rounds: Round[] = []
  /** The calls of the last assistant's round. */
  #asked: Asked[] = []
  /** The same: by the id as the client wrote it, by the name of the tool, and all of them. */
  readonly #waiting = new Waiting()
  /** The ids of the calls of the round. */
  #ids = new CallIds()
  /** Where that round stands. */
  #at = -1
  /** Some of them have a result, so that what the assistant says next is another round. */
  #answered = false
  #unnamed = 0

  add({ role, parts }: Turn): void {
    if (role === 'assistant') this.#assistant(parts)
    else if (role === 'system') {
      const round = this.#last('system') ?? this.#push({ role: 'system', parts: [] })
      for (const part of parts) if (part.type === 'text') round.parts.push(part)
    } else for (const part of parts) this.#user(part)
  }

  #assistant(parts: Turn['parts']): void {
    let round = this.#answered ? null : this.#last('assistant')
    if (round === null) {
      this.answerAll()
      round = this.#push({ role: 'assistant', parts: [] })
      this.#at = this.rounds.length - 1
    }
    for (const part of parts) {
      if (part.type === 'call') round.parts.push(this.#call(part))
      else if (part.type === 'text' || part.type === 'thought') round.parts.push(part)
    }
  }

  #call(part: CallPart): CallPart {
    const { id } = part
    const own = this.#ids.once(id === '' ? `call_${this.#unnamed++}` : id)
    const call = own === id ? part : { ...part, id: own }
    const asked: Asked = { call, answer: null }
    this.#asked.push(asked)
    for (const key of [`id ${id}`, `name ${part.name}`, 'any']) this.#waiting.add(key, asked)
    return call
  }

  #user(part: Turn['parts'][number]): void {
    if (part.type === 'text' || part.type === 'media') this.#userRound().parts.push(part)
    if (part.type !== 'result') return
    const { id, name } = part
    const asked = this.#waiting.take(id !== '' ? `id ${id}` : name !== null ? `name ${name}` : 'any')
    if (asked === undefined) for (const one of part.parts) this.#userRound().parts.push(one)
    else {
      asked.answer = id === asked.call.id ? part : { ...part, id: asked.call.id }
      this.#answered = true
    }
  }

  #userRound(): UserRound {
    return this.#last('user') ?? this.#push({ role: 'user', results: [], parts: [] })
  }

  /** Puts the results behind the calls of the last assistant's round, before anything else. */
  answerAll(): void {
    if (this.#asked.length === 0) return
    const results = this.#asked.map(({ call, answer }) => answer ?? noResult(call))
    this.#asked = []
    this.#answered = false
    this.#waiting.clear()
    this.#ids = new CallIds()
    const next = this.rounds[this.#at + 1]
    if (next?.role === 'user') next.results = results
    else this.rounds.splice(this.#at + 1, 0, { role: 'user', results, parts: [] })
  }

  #last<R extends Round['role']>(role: R): Extract<Round, { role: R }> | null {
    const last = this.rounds.at(-1)
    return last?.role === role ? (last as Extract<Round, { role: R }>) : null
  }

  #push<R extends Round>(round: R): R {
    this.rounds.push(round)
    return round
  }
}

const ERROR = /^"Error/

/** The text of a result that is an error, for protocols that have no other place for that. */
export const asError = (text: Literal): Literal => (ERROR.test(text) ? text : join([literal('Error: '), text]))

const noResult = ({ id, name }: CallPart): ResultPart => ({
  type: 'result',
  id,
  name,
  parts: [{ type: 'text', text: NO_RESULT }],
  error: true,
})

/** All texts as one; null = there is nothing in them. */
export function joined(parts: readonly TextPart[]): Literal | null {
  const texts = parts.map(({ text }) => text).filter(text => !isBlank(text))
  return texts.length === 0 ? null : join(texts, '\\n\\n')
}

/** What the system says in the middle of a conversation, as a text of the user. */
export const reminder = (parts: readonly TextPart[]): Literal =>
  join([
    literal('<system-reminder>\n'),
    join(
      parts.map(({ text }) => text),
      '\\n',
    ),
    literal('\n</system-reminder>'),
  ])

/** Media that stand as text, with their name before them. */
export const namedText = (text: Literal, name: Literal | undefined): Literal =>
  name === undefined ? text : join([name, text], '\\n\\n')
