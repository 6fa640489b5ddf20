/** Random requests, in the words of the hub, and the form in which two of them are compared. */
import { decode } from '../../../lib/protocols/json/text.ts'
import type {
  Ask,
  CallPart,
  MediaPart,
  TurnPart,
  ResultPart,
  TextPart,
  Tool,
  Turn,
} from '../../../lib/translate/ask.ts'
import { type Literal, type JsonText, quote, unquote } from '../../../lib/translate/json/literal.ts'
import { emptyAsk } from '../../../lib/translate/request-reader.ts'
import { type Random, jsonText, key, text } from '../../support/random.ts'

/** Any text as a literal that nobody would write, as a view of its bytes. */
export const oddLiteral = (random: Random, value: string): Literal =>
  Buffer.from(jsonText(random, value)).toString('latin1')

const filled = (random: Random): Literal => oddLiteral(random, `w${text(random)}.`)

/** Values that a parser would not keep as they are. */
const HARD = ['1.0', '1e400', '12345678901234567890', '-0', '"\\ud800"', '{"__proto__":{"a":1}}', '{"2":1,"1":2}', '[]']

export function oddObject(random: Random): JsonText {
  const members = Array.from({ length: random.int(0, 4) }, (_, n) => {
    const value = random.next() < 0.5 ? random.pick(HARD) : jsonText(random, { [key(random)]: [text(random), null, 1] })
    return `"k${n}":${value}`
  })
  return Buffer.from(`{${members.join(random.pick([',', ', ', ',\n']))}}`).toString('latin1')
}

/** What a protocol has a place for. */
export interface Takes {
  media: readonly MediaPart['kind'][]
  thoughts: boolean
  systemTurns: boolean
  /** Media that stand elsewhere. Absent: it has. */
  addresses?: false
}

export function randomAsk(random: Random, takes: Takes, issuer: string): Ask {
  const ask = emptyAsk({ model: 'model', stream: random.next() < 0.5 })
  const maybe = <T>(value: () => T): T | null => (random.next() < 0.5 ? value() : null)
  ask.system = Array.from({ length: random.int(0, 2) }, () => textPart(random))
  ask.tools = Array.from({ length: random.int(0, 3) }, (_, n) => tool(random, n))
  ask.turns = turns(random, takes, issuer, ask.tools)
  const [first] = ask.tools
  if (first !== undefined) {
    ask.choice = random.pick([
      { type: 'unset' },
      { type: 'auto' },
      { type: 'any' },
      { type: 'none' },
      { type: 'one', name: first.name },
    ])
    ask.parallel = ask.choice.type === 'unset' || ask.choice.type === 'none' ? null : random.pick([null, false])
  }
  ask.maxOutput = maybe(() => random.int(1, 100_000))
  ask.stop = Array.from({ length: random.int(0, 4) }, () => filled(random))
  if (random.next() < 0.5) ask.sampling = { temperature: random.pick(['0', '0.30', '1']), topP: '0.9', topK: '40' }
  if (random.next() < 0.3) ask.sampling = { ...ask.sampling, seed: '12345678901234567890', presence: '0.5' }
  ask.thinking.mode = random.pick(['unset', 'off', 'on'])
  if (ask.thinking.mode === 'on') ask.thinking.effort = random.pick(['low', 'medium', 'high', 'xhigh'])
  if (random.next() < 0.3)
    ask.format = { type: 'schema', name: null, schema: '{"type":"object","x":1.0}', strict: null, description: null }
  return ask
}

function turns(random: Random, takes: Takes, issuer: string, tools: readonly Tool[]): Turn[] {
  const all: Turn[] = [{ role: 'user', parts: userParts(random, takes) }]
  let n = 0
  for (let round = random.int(0, 3); round > 0; round--) {
    if (takes.systemTurns && random.next() < 0.3) all.push({ role: 'system', parts: [textPart(random)] })
    const parts: TurnPart[] = [textPart(random)]
    if (takes.thoughts && random.next() < 0.5)
      parts.unshift({ type: 'thought', text: filled(random), opaque: { issuer, of: 'signed', value: '"sIg+/=="' } })
    const calls =
      tools.length === 0 ? [] : Array.from({ length: random.int(0, 3) }, () => call(random, random.pick(tools), n++))
    all.push({ role: 'assistant', parts: [...parts, ...calls] })
    // agents go on without a word of the user
    const more = calls.length > 0 && random.next() < 0.5 ? [] : userParts(random, takes)
    all.push({ role: 'user', parts: [...calls.map(({ id }) => result(random, id, takes)), ...more] })
  }
  return all
}

const textPart = (random: Random): TextPart => ({ type: 'text', text: filled(random) })

function userParts(random: Random, takes: Takes): (TextPart | MediaPart)[] {
  const parts: (TextPart | MediaPart)[] = [textPart(random)]
  if (takes.media.length > 0 && random.next() < 0.4) parts.push(media(random, takes))
  if (random.next() < 0.3) parts.push(textPart(random))
  return parts
}

function media(random: Random, takes: Takes): MediaPart {
  const kind = random.pick(takes.media)
  if (kind === 'image' && random.next() < 0.5 && takes.addresses !== false)
    return { type: 'media', kind, mime: null, url: '"https://example.test/a.png"' }
  const mime = { image: 'image/png', document: 'application/pdf', audio: 'audio/wav', video: '' }[kind]
  const name = kind === 'document' ? { name: filled(random) } : {}
  return { type: 'media', kind, mime, base64: random.pick(['"aGk="', '"aG\\/k+"']), ...name }
}

function tool(random: Random, n: number): Tool {
  const schema = `{"type":"object","properties":{"a":{"type":"string","default":${random.pick(HARD)}}}}`
  return {
    type: 'function',
    name: `${random.pick(['get', 'set-it', 'mcp__x__y'])}_${n}`,
    description: random.pick([null, filled(random)]),
    schema: Buffer.from(schema).toString('latin1'),
    strict: random.pick([null, true]),
  }
}

const call = (random: Random, { name }: Tool, n: number): CallPart => ({
  type: 'call',
  id: `call_${n}`,
  name,
  freeform: false,
  args: quote(oddObject(random)),
})

function result(random: Random, id: string, takes: Takes): ResultPart {
  const parts: ResultPart['parts'] = [textPart(random)]
  if (takes.media.includes('image') && random.next() < 0.3) parts.push(media(random, { ...takes, media: ['image'] }))
  return { type: 'result', id, name: null, parts, error: random.next() < 0.2 }
}

/** The same for two asks that mean the same, but for `losses`. */
export function plain(ask: Ask, losses: Ask['losses'] = new Set()): object {
  const lost = (word: Parameters<Ask['losses']['has']>[0], ...names: (keyof Ask['sampling'])[]): void => {
    if (losses.has(word)) for (const name of names) delete sampling[name]
  }
  const sampling = { ...ask.sampling }
  lost('seed', 'seed')
  lost('penalties', 'presence', 'frequency')
  lost('temperature', 'temperature')
  lost('top_p', 'topP')
  lost('top_k', 'topK')
  return {
    stream: ask.stream,
    system: ask.system.map(({ text }) => decode(text)).join('\n\n'),
    turns: ask.turns.map(({ role, parts }) => ({ role, parts: parts.map(part => plainPart(part)) })),
    tools: ask.tools.map(tool => ({
      ...tool,
      description: tool.description === null ? null : decode(tool.description),
    })),
    choice: losses.has('tool_choice') ? null : ask.choice,
    parallel: ask.parallel,
    maxOutput: ask.maxOutput,
    stop: losses.has('stop') ? null : ask.stop.map(decode),
    sampling,
    thinking: losses.has('thinking')
      ? null
      : { ...ask.thinking, effort: losses.has('effort') ? null : ask.thinking.effort },
    format: ask.format.type === 'schema' ? { ...ask.format, name: null } : ask.format,
  }
}

function plainPart(part: TurnPart): object {
  switch (part.type) {
    case 'text':
      return { text: decode(part.text) }
    case 'thought':
      return { thought: decode(part.text), value: part.opaque?.value }
    case 'call':
      return { call: part.id, name: part.name, args: unquote(part.args) }
    case 'result':
      return { result: part.id, error: part.error, parts: part.parts.map(plainPart) }
    case 'media': {
      const { type: _, ...rest } = part
      return { ...rest, ...(part.name === undefined ? {} : { name: decode(part.name) }) }
    }
  }
}
