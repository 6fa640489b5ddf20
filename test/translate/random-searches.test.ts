/** Random searches through every protocol, and through every pair of them: what comes back is what was told, but for what is named. */
import t from 'tap'
import { decode } from '../../lib/protocols/json/text.ts'
import { type Ask, plainTarget, type Search, type SearchWords } from '../../lib/translate/ask.ts'
import { Blocks } from '../../lib/translate/answer-reader.ts'
import type { AnswerEvent, FoundSource } from '../../lib/translate/events.ts'
import { literal, quote } from '../../lib/translate/json/literal.ts'
import { emptyAsk } from '../../lib/translate/request-reader.ts'
import { type Random, seeded, text } from '../support/random.ts'
import { cuts, readAll, readerOptions, usageOf, writeAll } from './support/answers.ts'
import { oddLiteral } from './support/asks.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const PROTOCOLS = { messages, chat, responses, generate }
type Name = keyof typeof PROTOCOLS
const NAMES = Object.keys(PROTOCOLS) as Name[]
const RUNS = Number(process.env['RUNS'] ?? 100)
const QUERY = quote('what is asked')

// --- requests

function randomSearch(random: Random): Search {
  const list = (): string[] => Array.from({ length: random.int(0, 2) }, (_, n) => `"${n}.example"`)
  return {
    field: 'tools',
    maxUses: random.pick([null, 1, 7]),
    allowed: list(),
    blocked: list(),
    size: random.pick([null, '"low"', '"medium"']),
    place: random.pick([{}, { city: oddLiteral(random, `c${text(random)}`), country: '"DE"' }]),
    isNeeded: false,
  }
}

const plainPlace = (search: Search): object =>
  Object.fromEntries(Object.entries(search.place).map(([name, value]) => [name, decode(value)]))

const WORDS: [Name, SearchWords][] = [
  ...NAMES.map((name): [Name, SearchWords] => [name, 'own']),
  ['chat', 'openrouter'],
]

for (const [name, words] of WORDS)
  t.test(`${name}, ${words}: what is asked for is read again, or named`, async t => {
    const random = seeded(t)
    for (let run = 0; run < RUNS; run++) {
      const ask: Ask = emptyAsk({ model: 'm', stream: true })
      const search = randomSearch(random)
      ask.search = search
      ask.turns = [{ role: 'user', parts: [{ type: 'text', text: quote('x') }] }]
      const isForced = random.next() < 0.3
      if (isForced) ask.choice = { type: 'search' }
      const { body, losses } = PROTOCOLS[name].writeRequest(ask, { ...plainTarget('m'), search: words })
      const { choice, search: found } = PROTOCOLS[name].readRequest(Buffer.from(body, 'latin1'), {
        model: 'm',
        stream: true,
        searches: true,
      })
      if (!t.ok(found, `run ${run}: ${body}`)) return
      const again = found as Search
      const rows: [lost: boolean, told: unknown, read: unknown][] = [
        [losses.has('max_tool_calls'), search.maxUses, again.maxUses],
        [losses.has('search_domains'), [search.allowed, search.blocked], [again.allowed, again.blocked]],
        [losses.has('search_options'), [search.size, plainPlace(search)], [again.size, plainPlace(again)]],
        [losses.has('tool_choice'), isForced, choice.type === 'search'],
      ]
      for (const [lost, told, read] of rows)
        if (lost) t.notSame(read, told, `run ${run}: only what is not said is named`)
        else t.same(read, told, `run ${run}: ${body}`)
    }
  })

// --- answers

interface Cited {
  url: string
  words: string
}

interface Said {
  text: string
  found: { url: string; title: string }[]
  queries: string[]
  cited: Cited[]
}

/** Searches, texts and citations in the order in which an upstream may tell of them, and what they come to. */
function randomFound(random: Random): { events: AnswerEvent[]; said: Said } {
  const blocks = new Blocks(readerOptions({ query: QUERY }))
  const said: Said = { text: '', found: [], queries: [], cited: [] }
  blocks.begin('', '')
  for (let n = random.int(0, 2); n > 0; n--) {
    const found = Array.from({ length: random.int(0, 3) }, (_, at) => sourceOf(random, `${n}-${at}`))
    const query = `q${text(random)}`
    blocks.searched(blocks.searches.whole([oddLiteral(random, query)], found, false))
    said.queries.push(query)
    for (const { url, title } of found) said.found.push({ url: decode(url) ?? '', title: decode(title) ?? '' })
  }
  for (let n = random.int(1, 6); n > 0; n--) {
    const piece = `${random.pick(['a', 'é', '漢字', '😀', '"', '\n'])}${text(random)}`.toWellFormed()
    blocks.text('text', oddLiteral(random, piece))
    said.text += piece
    if (random.next() < 0.5) cite(random, blocks, said)
  }
  blocks.reason = 'end'
  blocks.finish()
  return { events: [...blocks.found.take()], said }
}

const sourceOf = (random: Random, name: string): FoundSource => ({
  url: oddLiteral(random, `https://${name}.example/ü`),
  title: oddLiteral(random, `T${text(random)}`),
  text: '""',
  age: '""',
})

function cite(random: Random, blocks: Blocks, said: Said): void {
  const chars = [...said.text]
  const start = random.int(0, chars.length - 1)
  const end = random.int(start + 1, chars.length)
  const known = said.found.length > 0 && random.next() < 0.7 ? random.pick(said.found) : null
  const url = known?.url ?? `https://cited-${said.cited.length}.example/`
  const title = known?.title ?? 'a title'
  blocks.note({ url: literal(url), title: literal(title), start: String(start), end: String(end), at: 'answer' })
  said.cited.push({ url, words: chars.slice(start, end).join('') })
}

function saidBy(events: readonly AnswerEvent[]): Said {
  const said: Said = { text: '', found: [], queries: [], cited: [] }
  const starts = new Map<number, number>()
  const notes: { url: string; start: number; end: number; at: string; index: number }[] = []
  for (const event of events) {
    if (event.type === 'open' && event.kind === 'text') starts.set(event.index, [...said.text].length)
    if (event.type === 'delta' && starts.has(event.index)) said.text += decode(event.text) ?? ''
    if (event.type === 'open' && event.kind === 'search') {
      said.queries.push(...event.found.queries.map(query => decode(query) ?? ''))
      for (const { url, title } of event.found.sources)
        said.found.push({ url: decode(url) ?? '', title: decode(title) ?? '' })
    }
    if (event.type === 'note') {
      const { url, start, end, at } = event.citation
      notes.push({ url: decode(url) ?? '', start: Number(start), end: Number(end), at, index: event.index })
    }
  }
  const bytes = Buffer.from(said.text)
  for (const { url, start, end, at, index } of notes) {
    const from = at === 'block' ? (starts.get(index) ?? 0) : 0
    const words =
      at === 'bytes' ? bytes.subarray(start, end).toString() : [...said.text].slice(from + start, from + end).join('')
    said.cited.push({ url, words })
  }
  return said
}

const sorted = (all: Iterable<string>): string[] => [...new Set(all)].sort()
const urlsOf = ({ found, cited }: Said): string[] => sorted([...found, ...cited].map(({ url }) => url))
const wordsOf = ({ cited }: Said): string[] => sorted(cited.map(({ url, words }) => `${url} ${words}`))

for (const first of NAMES)
  for (const second of NAMES)
    t.test(`${first}, then ${second}: links and what is cited`, async t => {
      const random = seeded(t)
      for (let run = 0; run < RUNS; run++) {
        const { events, said } = randomFound(random)
        let told: readonly AnswerEvent[] = events
        for (const name of [first, second]) {
          const isStream = random.next() < 0.5
          const bytes = writeAll(PROTOCOLS[name], told, usageOf(), { events: isStream, ask: { query: QUERY } })
          told = readAll(PROTOCOLS[name], cuts(random, bytes), { events: isStream, query: QUERY })
        }
        const read = saidBy(told)
        const way = [first, second]
        const name = `run ${run}`
        if (!t.same(read.text, said.text, name)) return
        // chat tells what the text cites, and only where it cites nothing all that was found
        const hasFewer = way.includes('chat') && said.cited.length > 0
        const urls = hasFewer ? sorted(said.cited.map(({ url }) => url)) : urlsOf(said)
        if (!t.same(urlsOf(read), urls, name)) return
        // messages says what is cited, and not where
        if (way.includes('messages') || said.cited.length === 0) continue
        if (!t.same(wordsOf(read), wordsOf(said), name)) return
        if (!way.includes('chat'))
          t.ok(
            said.queries.every(query => read.queries.includes(query)),
            name,
          )
      }
    })
