/**
 * What our writers write, member by member, beside what the vendors' own servers wrote: each member of ours stands in a recorded answer of the
 * vendor with the same type, null among them, and what every recorded answer has is written. What differs is listed with its reason.
 */
import t from 'tap'
import type { AnswerEvent } from '../../lib/translate/events.ts'
import { Blocks } from '../../lib/translate/answer-reader.ts'
import type { KindName } from '../../lib/protocols/words/kinds.ts'
import { RECORDED } from '../protocols/recorded.ts'
import { RECORDED_ERRORS } from '../protocols/recorded-errors.ts'
import { readerOptions, type Loose, usageOf, writeAll } from './support/answers.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'
import { VENDORS } from './support/vendors.ts'

const WRITERS = { messages, chat, responses, generate }
type Name = keyof typeof WRITERS
const VENDOR_OF: Readonly<Record<Name, KindName>> = {
  messages: 'anthropic',
  chat: 'openai',
  responses: 'openai',
  generate: 'gemini',
}

/** `refused`: the text says so, too. */
type What = 'text' | 'call' | 'thought' | 'search' | 'refusal' | 'refused' | 'picture'
/** What is compared: of answers that the vendor has given to others, whole and as a stream. */
const COMPARED: Readonly<Record<Name, { whole: readonly What[]; stream: readonly What[] }>> = {
  messages: {
    whole: ['text', 'call', 'thought', 'search', 'refusal'],
    stream: ['text', 'call', 'thought', 'search', 'refusal'],
  },
  chat: { whole: ['text', 'call', 'refusal'], stream: ['text', 'call', 'search', 'refusal', 'refused'] },
  responses: {
    whole: ['text', 'call', 'thought', 'search', 'picture'],
    stream: ['text', 'call', 'thought', 'search', 'picture'],
  },
  generate: {
    whole: ['text', 'call', 'thought', 'refusal', 'picture'],
    stream: ['text', 'call', 'thought', 'refusal', 'picture'],
  },
}
const FOUND = { url: '"https://a.example/"', title: '"A"', text: '""', age: '""' }

/** An answer that has a text and something else, with the reason that goes with it. */
function answer(what: What): AnswerEvent[] {
  const blocks = new Blocks(readerOptions(what === 'search' ? { query: '"q"' } : {}))
  blocks.begin('id', 'model')
  if (what === 'thought') {
    blocks.text('thought', '"Hm."')
    blocks.seal('thought', 'signed', '"c2ln"')
  }
  if (what === 'search')
    blocks.searched({ queries: ['"q"'], sources: [FOUND], isFailed: false, issuer: readerOptions().issuer })
  blocks.text(what === 'refused' ? 'refusal' : 'text', '"Hello"')
  if (what === 'picture') blocks.media('image/png', '"aGk="')
  if (what === 'search') blocks.note({ ...FOUND, start: '0', end: '5', at: 'answer' })
  if (what === 'call') {
    const call = blocks.call('call_1', 'look')
    blocks.args(call, '"{\\"at\\":\\"it\\"}"')
    blocks.closeCall(call)
  }
  blocks.reason = what === 'call' ? 'tool' : what === 'refusal' ? 'refusal' : 'end'
  blocks.finish()
  return [...blocks.found.take()]
}

const eventsOf = (bytes: Buffer): Loose[] =>
  bytes
    .toString()
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)))

interface Seen {
  types: Set<string>
  /** In how many of the objects that could have it. */
  count: number
  of: string
}

/** Members that are whatever a request, a tool or a count has them: what is in them is nobody's form. */
const OPEN = /\.(?:input|args|tools|metadata|text\{\}|reasoning\{\}|tool_usage|partial_json)$/

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** All members of some objects by their path, in which objects are told apart by their `type`. */
function membersOf(all: readonly Loose[]): { members: Map<string, Seen>; objects: Map<string, number> } {
  const members = new Map<string, Seen>()
  const objects = new Map<string, number>()
  const walk = (value: unknown, path: string): void => {
    if (Array.isArray(value)) for (const one of value) walk(one, `${path}[]`)
    if (typeOf(value) !== 'object') return
    const object = value as Loose
    const own = `${path}(${typeof object['type'] === 'string' ? object['type'] : ''})`
    objects.set(own, (objects.get(own) ?? 0) + 1)
    for (const [name, inner] of Object.entries(object)) {
      const at = `${own}.${name}`
      const seen = members.get(at) ?? { types: new Set(), count: 0, of: own }
      seen.types.add(typeOf(inner))
      seen.count++
      members.set(at, seen)
      if (!OPEN.test(`.${name}`) && !OPEN.test(`.${name}${typeOf(inner) === 'object' ? '{}' : ''}`)) walk(inner, at)
    }
  }
  for (const one of all) walk(one, '')
  return { members, objects }
}

const vendorsOf = (name: Name, isStream: boolean): Loose[] => {
  const kind = VENDOR_OF[name]
  const rows = RECORDED.filter(row => row.kind === kind && row.protocol === name && row.of === 'recorded')
  // the chunks of generate-content are documents
  const has = (inStream: boolean): boolean => inStream === isStream || name === 'generate'
  const own = rows.flatMap(({ whole, events = [] }) => [
    ...(has(true) ? events : []),
    ...(has(false) && whole !== undefined ? [whole] : []),
  ])
  return [...(own.filter(one => typeof one !== 'string') as Loose[]), ...VENDORS[name][isStream ? 'events' : 'whole']]
}

const unused = new Set(Object.values(VENDORS).flatMap(({ differs }) => differs.map(([pattern]) => pattern)))

for (const name of Object.keys(WRITERS) as Name[])
  for (const isStream of [false, true])
    t.test(`${name}, ${isStream ? 'streams' : 'documents'}`, async t => {
      const ours = COMPARED[name][isStream ? 'stream' : 'whole'].flatMap(what => {
        const asked = what === 'search' ? { ask: { query: '"q"' } } : {}
        const bytes = writeAll(WRITERS[name], answer(what), usageOf(), { events: isStream, ...asked })
        return isStream ? eventsOf(bytes) : [JSON.parse(bytes.toString()) as Loose]
      })
      const theirs = membersOf(vendorsOf(name, isStream))
      const own = membersOf(ours)
      const listed = VENDORS[name].differs
      const strange = [...own.members].flatMap(([at, { types, of }]) => {
        const recorded = theirs.members.get(at)
        if (!theirs.objects.has(of))
          return [...types].map(type => `${at}: ${type}, in an object that nobody has recorded`)
        return [...types].filter(type => !recorded?.types.has(type)).map(type => `${at}: ${type}`)
      })
      const missing = [...theirs.members].flatMap(([at, { count, of }]) =>
        own.objects.has(of) && count === theirs.objects.get(of) && !own.members.has(at) ? [`${at}: missing`] : [],
      )
      const all = [...strange, ...missing]
      for (const [pattern] of listed) if (all.some(one => pattern.test(one))) unused.delete(pattern)
      t.same(
        all.filter(one => !listed.some(([pattern]) => pattern.test(one))),
        [],
      )
    })

/** Errors of all types have one form. */
const alike = (body: Loose): Loose =>
  typeof body['error']?.type === 'string' ? { ...body, error: { ...body['error'], type: 'an_error' } } : body

for (const [name, kind] of Object.entries(VENDOR_OF) as [Name, string][])
  t.test(`${name}, errors`, async t => {
    const bodies = RECORDED_ERRORS.filter(error => error.kind === kind).map(({ body }) => alike(body as Loose))
    const theirs = membersOf([...bodies, ...VENDORS[name].errors.map(alike)])
    const failures = (['invalid', 'rate', 'overloaded', 'server'] as const).map(failure => ({
      kind: failure,
      status: 400,
      message: 'no',
    }))
    const own = membersOf(failures.map(failure => alike(JSON.parse(WRITERS[name].writeError(failure).body))))
    const strange = [...own.members].flatMap(([at, { types }]) =>
      [...types].filter(type => !theirs.members.get(at)?.types.has(type)).map(type => `${at}: ${type}`),
    )
    const missing = [...theirs.members].flatMap(([at, { count, of }]) =>
      count === theirs.objects.get(of) && !own.members.has(at) ? [`${at}: missing`] : [],
    )
    const listed = VENDORS[name].differs
    const all = [...strange, ...missing]
    for (const [pattern] of listed) if (all.some(one => pattern.test(one))) unused.delete(pattern)
    t.same(
      all.filter(one => !listed.some(([pattern]) => pattern.test(one))),
      [],
    )
  })

t.test('each difference that is listed is one', async t => {
  t.same([...unused], [])
})
