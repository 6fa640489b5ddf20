/**
 * The turns of a conversation, grouped as upstreams want them: turns of the same side are joined, all results of an
 * assistant's calls stand together right behind it, in the order of the calls, and every call has one. A part that stands where
 * no upstream takes it is moved, and none is left out: media of the assistant and of the system go to the user's turn that follows, with a
 * line that says whose they are; calls and thoughts are the assistant's and results the user's, in whosever turn they stand.
 */
import type { Ask, CallPart, MediaPart, ResultPart, TextPart, ThoughtPart, Turn, TurnPart } from './ask.ts'
import { isBlank, join, type Literal, literal, trimEnd } from './json/literal.ts'
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

/** The line before media that stood in a turn of theirs. */
const WHOSE = {
  assistant: literal('The assistant gave this:'),
  system: literal('The instructions have this:'),
} as const

export function roundsOf({ systemMedia, turns }: Pick<Ask, 'systemMedia' | 'turns'>): Round[] {
  const conversation = new Conversation()
  conversation.add({ role: 'system', parts: systemMedia })
  for (const turn of turns) conversation.add(turn)
  conversation.end()
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
  #ids = new CallIds()
  /** Where that round stands. */
  #at = -1
  /** Some of them have a result, so that what the assistant says next is another round. */
  #answered = false
  #unnamed = 0
  /** Media of the assistant and the system, for the user's turn that follows. */
  #moved: UserRound['parts'] = []
  #whose: keyof typeof WHOSE | null = null

  add({ role, parts }: Turn): void {
    // what stands around it stays apart
    if (role === 'assistant' && parts.length === 0) this.#assistantRound()
    for (const part of parts) this.#part(role, part)
  }

  #part(role: Turn['role'], part: TurnPart): void {
    switch (part.type) {
      case 'text':
        this.#text(role, part)
        return
      case 'media':
        this.#media(role, part)
        return
      case 'call':
        this.#assistantRound().parts.push(this.#call(part))
        return
      case 'thought':
        this.#assistantRound().parts.push(part)
        return
      case 'result':
        this.#result(part)
        return
      default:
        part satisfies never
    }
  }

  #text(role: Turn['role'], part: TextPart): void {
    switch (role) {
      case 'user':
        this.#userRound().parts.push(part)
        return
      case 'assistant':
        this.#assistantRound().parts.push(part)
        return
      case 'system':
        ;(this.#last('system') ?? this.#push({ role, parts: [] })).parts.push(part)
        return
      default:
        role satisfies never
    }
  }

  #media(role: Turn['role'], part: MediaPart): void {
    if (role === 'user') {
      this.#userRound().parts.push(part)
      return
    }
    if (this.#whose !== role) this.#moved.push({ type: 'text', text: WHOSE[role] })
    this.#whose = role
    this.#moved.push(part)
  }

  #assistantRound(): AssistantRound {
    const last = this.#answered ? null : this.#last('assistant')
    if (last !== null) return last
    this.end()
    this.#at = this.rounds.length
    return this.#push({ role: 'assistant', parts: [] })
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

  /** An empty name is none. */
  #result(part: ResultPart): void {
    const { id, name } = part
    const asked = this.#waiting.take(id !== '' ? `id ${id}` : name ? `name ${name}` : 'any')
    if (asked === undefined) for (const one of part.parts) this.#userRound().parts.push(one)
    else {
      asked.answer = id === asked.call.id ? part : { ...part, id: asked.call.id }
      this.#answered = true
    }
  }

  #userRound(): UserRound {
    const round = this.#last('user') ?? this.#push({ role: 'user', results: [], parts: [] })
    for (const part of this.#moved) round.parts.push(part)
    this.#moved = []
    this.#whose = null
    return round
  }

  /** What waits for the user's turn has no other one to wait for. */
  end(): void {
    if (this.#moved.length > 0) this.#userRound()
    this.#answerAll()
  }

  /** Puts the results behind the calls of the last assistant's round, before anything else. */
  #answerAll(): void {
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

// --- system turns in the middle of a conversation

/**
 * They stand behind the user's turn that follows, where the model knows them; elsewhere they are text of the user, between tags that
 * say so.
 */
export function placed(rounds: readonly Round[], areKnown: boolean): Round[] {
  const all: Round[] = []
  let waiting: TextPart[] = []
  const put = (): void => {
    if (waiting.length > 0) putSystem(all, waiting, areKnown)
    waiting = []
  }
  for (const round of rounds) {
    if (round.role === 'system') waiting = [...waiting, ...round.parts]
    else if (round.role === 'user') {
      joinUser(all, { ...round, parts: [...round.parts] })
      put()
    } else {
      put()
      all.push(round)
    }
  }
  put()
  return all
}

/** Two turns of the user become one when a system turn between them has moved away. */
function joinUser(all: Round[], round: UserRound): void {
  const last = all.at(-1)
  if (last?.role === 'user' && round.results.length === 0) for (const part of round.parts) last.parts.push(part)
  else all.push(round)
}

function putSystem(all: Round[], parts: TextPart[], areKnown: boolean): void {
  const user = all.at(-1)
  if (user?.role === 'user' && areKnown) {
    all.push({ role: 'system', parts })
    return
  }
  const part: TextPart = { type: 'text', text: reminder(parts) }
  if (user?.role === 'user') user.parts.push(part)
  else all.push({ role: 'user', results: [], parts: [part] })
}

/** Where the conversation ends with the beginning of an answer, which cannot go on behind a space. */
export function trimLast(rounds: readonly Round[]): void {
  const last = rounds.at(-1)
  if (last?.role !== 'assistant') return
  const at = last.parts.findLastIndex(({ type }) => type === 'text')
  const text = last.parts[at]
  if (text?.type === 'text') last.parts[at] = { ...text, text: trimEnd(text.text) }
}
