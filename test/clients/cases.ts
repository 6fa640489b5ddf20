/** What is asked of every tool through every upstream, and what must come of it. */
import { fieldsOf } from '../../lib/protocols/json/text.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { Served } from '../../tools/simulator/books.ts'
import { KEY, POOR_KEY } from '../support/gateway.ts'
import type { Ran } from './session.ts'
import { type Asked, jsonOf, type Tokens, type Tool } from './tool.ts'

/** One run, and what gateway, recorder and simulator know of it. */
export interface Outcome {
  tool: Tool
  /** The only protocol of the upstream. */
  upstream: Protocol
  /** Names the model, the channel and the requests of this run. */
  name: string
  ran: Ran
  /** What came to the gateway. */
  sent: readonly Asked[]
  /** What came to its upstream. */
  asked: readonly Asked[]
  served: readonly Served[]
  rows: readonly Record<string, unknown>[]
}

export interface Case {
  name: string
  key: string
  prompt(tool: Tool, name: string): string
  /** Whether the tool can do it; absent = all can. */
  fits?(tool: Tool): boolean
  /** What is wrong; empty = nothing. */
  problems(outcome: Outcome): string[]
}

/** A text that every answer of the simulator begins with. */
const SAID = 'The quick brown fox'
const WRONG_KEY = 'sk-test-wrong-0123456789'
/** What the tool has to run, and what comes back only when it did. Some tools refuse commands with substitutions. */
const COMMAND = 'printf ran-%d-times 0x2a'
const RESULT = 'ran-42-times'
/** What is searched for, and what the simulator finds. */
const SEARCHED = 'search for anything new'
const FOUND = 'https://found.example/1'
/** Of a search, far above what the tokens of a request cost. */
export const SEARCH_PRICE = 0.5
/** Rounds of tools, one right behind the other. */
const ROUNDS = 2
/** Most requests to the upstream for one prompt that always fails. Each tool has its own number of tries; none may go on for ever. */
const MOST_TRIES = 40

/** The paths at which the gateway is asked in each protocol. */
const PATHS: Readonly<Partial<Record<Protocol, RegExp>>> = {
  messages: /\/messages(?:\?|$)/,
  chat: /\/chat\/completions$/,
  responses: /\/responses$/,
  generate: /:(?:streamG|g)enerateContent(?:\?|$)/,
}

/** What must hold in every case; empty = it does. */
export function asItShould({ tool, sent }: Outcome): string[] {
  const spoken = sent.filter(({ path }) => PATHS[tool.protocol]?.test(path))
  const others = sent.filter(
    ({ path }) => Object.values(PATHS).some(one => one.test(path)) && !spoken.some(one => one.path === path),
  )
  return [
    ...(spoken.length === 0 ? ['it sent the gateway no request'] : []),
    ...others.map(({ path }) => `it asked at ${path}`),
    ...(tool.sends?.(sent) ?? []),
  ]
}

const encoded = (args: object): string => Buffer.from(JSON.stringify(args)).toString('base64url')

export const CASES: readonly Case[] = [
  {
    name: 'prompt',
    key: KEY,
    prompt: () => 'Say something. [[sim text tokens=20]]',
    problems: outcome => [...answered(outcome), ...requests(outcome, 0), ...sameUsage(outcome)],
  },
  {
    name: 'tool',
    key: KEY,
    prompt: ({ shell }, name) =>
      `Run it. [[sim text id=${name} times=${ROUNDS} call=${shell.name} args=${encoded(shell.args(COMMAND))}]]`,
    problems: outcome => [
      ...answered(outcome),
      ...requests(outcome, ROUNDS),
      ...sameUsage(outcome),
      ...results(outcome),
      ...samePrefix(outcome),
    ],
  },
  {
    name: 'search',
    key: KEY,
    fits: ({ search }) => search !== undefined,
    prompt: ({ search: { call } = {} }, name) =>
      call === undefined
        ? `${SEARCHED} [[sim text]]`
        : `Look it up. [[sim text id=${name} call=${call.name} args=${encoded(call.args(SEARCHED))}]]`,
    problems: outcome => [...answered(outcome), ...links(outcome), ...fee(outcome)],
  },
  {
    name: 'compaction',
    key: KEY,
    fits: ({ compacts }) => compacts === true,
    prompt: ({ shell }, name) =>
      `Run it. [[sim text id=${name} call=${shell.name} args=${encoded(shell.args(COMMAND))}]]`,
    problems: outcome => [
      ...answered(outcome),
      ...requests(outcome, 2),
      // the tokens of the summary are not among those that the tool shows
      ...sameUsage({ ...outcome, ran: { ...outcome.ran, usage: null } }),
      ...compacted(outcome),
    ],
  },
  {
    name: 'cut',
    key: KEY,
    prompt: (_tool, name) => `Say much. [[sim text id=${name} tokens=200 cut=6 times=2]]`,
    problems: cutShort,
  },
  failure('401', WRONG_KEY, '', /request id/, 0),
  failure('403', POOR_KEY, '', /request id/, 0),
  failure('429', KEY, 'error=429 retry_after=1', /429|rate|limit|quota|simulated failure/i, MOST_TRIES),
  failure('524', KEY, 'error=524', /524|simulated failure/i, MOST_TRIES),
]

/** What a tool is asked. */
export const casesOf = (tool: Tool): Case[] =>
  CASES.filter(test => (test.fits?.(tool) ?? true) && tool.without?.[test.name] === undefined)

/** The tool must say what is wrong, come to an end, and nobody may be charged. */
function failure(name: string, key: string, directive: string, shown: RegExp, most: number): Case {
  return {
    name,
    key,
    prompt: () => `Say something. [[sim text ${directive}]]`,
    problems: ({ tool, ran, asked, rows }) => [
      ...(ran.code === null ? ['it did not end'] : []),
      ...((tool.shows?.[name] ?? shown).test(ran.error)
        ? []
        : [`it does not show the error: ${ran.error || ran.text || ran.output}`]),
      ...(asked.length > most ? [`${asked.length} requests to the upstream`] : []),
      ...(rows.some(row => Number(row['charge']) !== 0) ? ['it was charged'] : []),
    ],
  }
}

function answered({ ran }: Outcome): string[] {
  if (ran.code === 0 && ran.text.includes(SAID)) return []
  return [`exit ${ran.code}: ${ran.error || ran.text || ran.output}`]
}

function requests({ tool, asked }: Outcome, rounds: number): string[] {
  const wanted = tool.requests.prompt + rounds
  return asked.length === wanted ? [] : [`${asked.length} requests to the upstream, not ${wanted}`]
}

/** An answer that broke off is repeated until it is whole, or shown as an error; it is never taken for a whole one. */
function cutShort({ tool, ran, asked, served, rows }: Outcome): string[] {
  const isWhole = ran.code === 0 && (tool.isWhole ?? isLong)(ran.text)
  return [
    ...(ran.code === null ? ['it did not end'] : []),
    ...(isWhole || ran.error !== '' ? [] : [`it shows a part as the answer: ${ran.text || ran.output}`]),
    ...(served.some(({ end }) => end === 'cut') ? [] : ['nothing broke off']),
    ...(asked.length > MOST_TRIES ? [`${asked.length} requests to the upstream`] : []),
    ...(rows.some(row => row['end'] === 'completed') === isWhole ? [] : ['the rows say something else']),
  ]
}

const isLong = (text: string): boolean => text.split(SAID).length > 2

function results({ asked }: Outcome): string[] {
  const found = asked.at(-1)?.body.split(RESULT).length ?? 0
  return found - 1 === ROUNDS ? [] : [`the results of ${ROUNDS} calls did not come back`]
}

/** A tool that asks for a search by a request of its own tells the model which links it has found. */
function links({ tool: { search = {} }, ran, asked }: Outcome): string[] {
  const isBack = search.call === undefined || asked.at(-1)?.body.includes(FOUND)
  const isShown = search.shows?.test(ran.output) ?? true
  return [
    ...(isBack ? [] : ['the links that were found did not come back']),
    ...(isShown ? [] : [`it does not show the search: ${ran.output}`]),
  ]
}

/** The provider is asked to sum up behind the round of tools, and what it made of the conversation is brought back. */
function compacted({ asked }: Outcome): string[] {
  const inputs = asked.map(({ body }) => listOf(jsonOf(body)?.['input']).map(fieldsOf))
  const made = /"encrypted_content":"([^"]+)"/.exec(asked[1]?.answer ?? '')?.[1]
  const isAsked = inputs[1]?.at(-1)?.['type'] === 'compaction_trigger'
  const isBack = inputs[2]?.some(item => item['type'] === 'compaction' && item['encrypted_content'] === made)
  return [
    ...(isAsked && made !== undefined ? [] : ['it did not ask for compaction']),
    ...(isBack ? [] : ['the compacted conversation did not come back']),
  ]
}

/** One search was made and charged. */
function fee({ served, rows }: Outcome): string[] {
  const made = served.reduce((sum, { usage }) => sum + (usage?.searches ?? 0), 0)
  const paid = rows.filter(row => Number(row['charge']) >= SEARCH_PRICE).length
  return made === 1 && paid === 1 ? [] : [`${made} searches were made, and ${paid} charged`]
}

/**
 * What is translated begins with what was sent before it, so that prompt caches are found. What is not translated is the tool's own
 * business. Requests beside the answer have no tools.
 */
function samePrefix({ tool, upstream, asked }: Outcome): string[] {
  if (upstream === tool.protocol || tool.changesTools) return []
  const turns = asked.map(({ body }) => fieldsOf(jsonOf(body))).filter(body => 'tools' in body)
  const texts = turns.map(body => {
    const { messages, input, contents, ...rest } = body
    return { head: JSON.stringify(rest), turns: listOf(messages ?? input ?? contents).map(withoutMarks) }
  })
  const wrong = texts.slice(1).findIndex(({ head, turns }, n) => {
    const before = texts[n] as (typeof texts)[number]
    return head !== before.head || before.turns.some((turn, i) => turn !== turns[i])
  })
  return wrong < 0 ? [] : [`request ${wrong + 2} does not begin with the one before`]
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
/** Marks of caches move to the end from request to request. */
const withoutMarks = (turn: unknown): string =>
  JSON.stringify(turn, (name, value) => (name === 'cache_control' ? undefined : value))

/** What the tool shows, the rows, and the simulator's books say the same. Requests beside the answer are not shown. */
function sameUsage({ tool, ran, served, rows }: Outcome): string[] {
  const ofBooks = served.map(({ usage }) => ({
    input: (usage?.input ?? 0) + (usage?.cache_read ?? 0) + (usage?.cache_write_5m ?? 0) + (usage?.cache_write_1h ?? 0),
    cached: usage?.cache_read ?? 0,
    output: usage?.output ?? 0,
  }))
  const number = (row: Record<string, unknown>, ...names: string[]) =>
    names.reduce((sum, name) => sum + Number(row[name] ?? 0), 0)
  const ofRows = rows.map(row => ({
    input: number(row, 'input', 'cache_read', 'cache_write_5m', 'cache_write_1h'),
    cached: number(row, 'cache_read'),
    output: number(row, 'output'),
  }))
  const shorter = ofBooks.toSorted((a, b) => b.input - a.input).slice(0, ofBooks.length - (tool.requests.prompt - 1))
  return [
    ...differ('the rows', sum(ofRows), 'the simulator', sum(ofBooks)),
    ...(ran.usage === null ? [] : differ('the tool', ran.usage, 'the simulator', sum(shorter))),
  ]
}

const sum = (all: readonly Tokens[]): Tokens =>
  all.reduce((a, b) => ({ input: a.input + b.input, cached: a.cached + b.cached, output: a.output + b.output }), {
    input: 0,
    cached: 0,
    output: 0,
  })

function differ(who: string, a: Tokens, whom: string, b: Tokens): string[] {
  const same = a.input === b.input && a.cached === b.cached && a.output === b.output
  return same ? [] : [`usage: ${who} ${JSON.stringify(a)}, ${whom} ${JSON.stringify(b)}`]
}
