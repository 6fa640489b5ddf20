/**
 * Hosted web search in answers: what an upstream found is shown to clients of every other protocol in the form in which they look for it,
 * as stream and as document: blocks that Claude Code counts, items of responses, annotations, grounding.
 */
import t, { type Test } from 'tap'
import type { AnswerEvent, Citation } from '../../lib/translate/events.ts'
import { TextPlaces } from '../../lib/translate/search-results.ts'
import { quote } from '../../lib/translate/json/literal.ts'
import { unseal } from '../../lib/translate/opaque.ts'
import { seeded } from '../support/random.ts'
import { cuts, type Loose, readAll, usageOf, writeAll } from './support/answers.ts'
import { PROTOCOLS } from './support/clients.ts'

type Json = Record<string, unknown>

const TEXT = 'Élan: it is so. And so on.'
/** `it is so`, which both protocols that count characters say so, and in bytes it is one further. */
const AT = { start: 6, end: 14 }
const URL_A = 'https://a.example/é'
const URL_B = 'https://b.example'

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`

const RESULT = (url: string, title: string) => ({
  type: 'web_search_result',
  url,
  title,
  encrypted_content: 'opaque',
  page_age: 'June 1, 2026',
})
const USE = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search' }
const FOUND = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [RESULT(URL_A, 'Über A'), RESULT(URL_B, 'B')],
}
const CITED = {
  type: 'web_search_result_location',
  url: URL_A,
  title: 'Über A',
  cited_text: 'it was so',
  encrypted_index: 'x',
}
const TEXTS = ['Élan: ', 'it is so', '. And so on.']

function ofMessages(isStream: boolean): string {
  const blocks: Json[] = [
    { ...USE, input: { query: 'what is so?' } },
    FOUND,
    ...TEXTS.map((text, n) => ({ type: 'text', text, ...(n === 1 ? { citations: [CITED] } : {}) })),
  ]
  if (!isStream) return JSON.stringify({ type: 'message', id: 'm', content: blocks, stop_reason: 'end_turn' })
  const streamed = blocks.map((block, index) => {
    const delta = (delta: object): string => event('content_block_delta', { index, delta })
    const start = (content_block: object): string => event('content_block_start', { index, content_block })
    const stop = event('content_block_stop', { index })
    if (block['type'] === 'web_search_tool_result') return start(block) + stop
    if (block['type'] === 'server_tool_use')
      return (
        start({ ...USE, input: {} }) +
        ['', '{"que', 'ry": "what is', ' so?"}']
          .map(partial_json => delta({ type: 'input_json_delta', partial_json }))
          .join('') +
        stop
      )
    const [citation] = (block['citations'] as object[] | undefined) ?? []
    const text = String(block['text'])
    return (
      start({ type: 'text', text: '' }) +
      (citation === undefined ? '' : delta({ type: 'citations_delta', citation })) +
      [...text].map(text => delta({ type: 'text_delta', text })).join('') +
      stop
    )
  })
  return (
    event('message_start', { message: { id: 'm' } }) +
    streamed.join('') +
    event('message_delta', { delta: { stop_reason: 'end_turn' } }) +
    event('message_stop', {})
  )
}

const flat = (url: string, title: string) => ({
  type: 'url_citation',
  url,
  title,
  start_index: AT.start,
  end_index: AT.end,
})
const SEARCHED = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: {
    type: 'search',
    query: 'what is so?',
    queries: ['what is so?'],
    sources: [URL_A, URL_B].map(url => ({ type: 'url', url })),
  },
}

function ofResponses(isStream: boolean, call: Json = SEARCHED): string {
  const content = [{ type: 'output_text', text: TEXT, annotations: [flat(URL_A, 'Über A')] }]
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
  const opened = { type: 'web_search_call', id: 'ws_2', status: 'completed', action: { type: 'open_page', url: URL_B } }
  const response = { status: 'completed', output: [call, opened, message] }
  if (!isStream) return JSON.stringify(response)
  const place = { output_index: 2, item_id: 'msg_1', content_index: 0 }
  return (
    event('response.created', { response: { id: 'r', status: 'in_progress' } }) +
    event('response.output_item.added', { output_index: 0, item: { ...call, action: undefined } }) +
    event('response.web_search_call.searching', { output_index: 0, item_id: 'ws_1' }) +
    event('response.output_item.done', { output_index: 0, item: call }) +
    event('response.output_item.done', { output_index: 1, item: opened }) +
    [...TEXT].map(delta => event('response.output_text.delta', { ...place, delta })).join('') +
    event('response.output_text.annotation.added', { ...place, annotation: content[0]?.annotations[0] }) +
    event('response.output_item.done', { output_index: 2, item: message }) +
    event('response.completed', { response })
  )
}

function ofChat(isStream: boolean, annotated: Json, beside: Json = {}): string {
  const finish = { index: 0, finish_reason: 'stop' }
  if (!isStream)
    return JSON.stringify({ choices: [{ ...finish, message: { content: TEXT, ...annotated } }], ...beside })
  return (
    [...TEXT].map(content => data({ choices: [{ index: 0, delta: { content } }] })).join('') +
    data({ choices: [{ index: 0, delta: annotated }] }) +
    data({ choices: [{ ...finish, delta: {} }], ...beside }) +
    'data: [DONE]\n\n'
  )
}
const { type, ...inner } = flat(URL_A, 'Über A')
const ANNOTATED = { annotations: [{ type, url_citation: { ...inner, content: 'what "A" says' } }] }

const GROUNDED = {
  webSearchQueries: ['what is so?'],
  searchEntryPoint: { renderedContent: '<div>' },
  groundingChunks: [{ web: { uri: URL_A, title: 'Über A' } }, { web: { uri: URL_B, title: 'B' } }],
  groundingSupports: [
    { segment: { startIndex: AT.start + 1, endIndex: AT.end + 1, text: 'it is so' }, groundingChunkIndices: [0] },
  ],
}

function ofGenerate(isStream: boolean): string {
  const chunk = (parts: object[], more: Json = {}) => ({ candidates: [{ content: { parts, role: 'model' }, ...more }] })
  const end = { finishReason: 'STOP', groundingMetadata: GROUNDED }
  if (!isStream) return JSON.stringify(chunk([{ text: TEXT, thoughtSignature: 'c2ln' }], end))
  return (
    [...TEXT].map(text => data(chunk([{ text }]))).join('') +
    data(chunk([{ text: '', thoughtSignature: 'c2ln' }], { groundingMetadata: GROUNDED })) +
    data(chunk([{ text: '' }], end))
  )
}

// --- what clients of each protocol see of it

interface Seen {
  text: string
  queries: string[]
  /** Addresses and titles of all that was found. */
  found: string[]
  /** What is cited: address and the words of the text. */
  cited: string[]
}

const eventsOf = (bytes: Buffer): Loose[] =>
  [...bytes.toString().matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string))
const slice = (text: string, start: number, end: number): string => [...text].slice(start, end).join('')

const SEEN: Readonly<Record<string, (bytes: Buffer, isStream: boolean, t: Test) => Seen>> = {
  messages(bytes, isStream, t) {
    const blocks = isStream ? blocksOf(eventsOf(bytes), t) : (JSON.parse(bytes.toString()).content as Loose[])
    const results = blocks.filter(block => block['type'] === 'web_search_tool_result')
    const uses = blocks.filter(block => block['type'] === 'server_tool_use')
    t.same(
      results.map(block => block['tool_use_id']),
      uses.map(block => block['id']),
    )
    const texts = blocks.filter(block => block['type'] === 'text')
    const sources = results.flatMap(block => block['content'] as Loose[])
    for (const source of sources) t.ok(unseal(JSON.stringify(source['encrypted_content'])))
    return {
      text: texts.map(block => block['text']).join(''),
      queries: uses.map(block => block['input'].query),
      found: sources.map(one => `${one['url']} ${one['title']}`),
      cited: texts.flatMap(block => ((block['citations'] ?? []) as Loose[]).map(one => String(one['url']))),
    }
  },
  chat(bytes, isStream) {
    const messages = isStream
      ? eventsOf(bytes).flatMap(one => (one['choices'] as Loose[]).map(choice => choice['delta'] as Loose))
      : [JSON.parse(bytes.toString()).choices[0].message as Loose]
    const text = messages.map(one => one['content'] ?? '').join('')
    const notes = messages.flatMap(one => ((one['annotations'] ?? []) as Loose[]).map(note => note['url_citation']))
    return { text, queries: [], found: [], cited: citedIn(text, notes) }
  },
  responses(bytes, isStream) {
    const response = isStream ? eventsOf(bytes).at(-1)?.['response'] : JSON.parse(bytes.toString())
    const calls = response.output.filter((item: Loose) => item['type'] === 'web_search_call')
    const parts = response.output.flatMap((item: Loose) => item['content'] ?? []) as Loose[]
    return {
      text: parts.map(part => part['text']).join(''),
      queries: calls.flatMap((item: Loose) => item['action'].queries),
      found: calls.flatMap((item: Loose) => item['action'].sources.map((one: Loose) => one['url'])),
      cited: parts.flatMap(part => citedIn(String(part['text']), part['annotations'])),
    }
  },
  generate(bytes, isStream, t) {
    const chunks = isStream ? eventsOf(bytes) : [JSON.parse(bytes.toString())]
    const candidates = chunks.flatMap(chunk => chunk['candidates'] as Loose[])
    const text = candidates.flatMap(one => one['content'].parts.map((part: Loose) => part['text'] ?? '')).join('')
    const metadata = candidates.at(-1)?.['groundingMetadata']
    const chunksOf = metadata.groundingChunks as Loose[]
    return {
      text,
      queries: metadata.webSearchQueries,
      found: chunksOf.map(({ web }) => `${web.uri} ${web.title}`),
      cited: metadata.groundingSupports.flatMap(({ segment, groundingChunkIndices }: Loose) => {
        const words = Buffer.from(text).subarray(segment.startIndex, segment.endIndex).toString()
        t.equal(segment.text, words)
        return groundingChunkIndices.map((at: number) => `${chunksOf[at]?.['web'].uri} ${words}`)
      }),
    }
  },
}

const citedIn = (text: string, notes: Loose[]): string[] =>
  notes.map(({ url, start_index, end_index }) => `${url} ${slice(text, start_index, end_index)}`)

/** As the official client puts them together. */
function blocksOf(events: Loose[], t: Test): Loose[] {
  const blocks: Loose[] = []
  const inputs = new Map<number, string>()
  for (const one of events) {
    const { index, delta } = one as { index: number; delta: Loose }
    if (one['type'] === 'content_block_start') {
      t.equal(index, blocks.length, 'no index twice')
      blocks.push({ ...one['content_block'], citations: [] })
    }
    const block = blocks[index]
    if (block === undefined || one['type'] !== 'content_block_delta') continue
    if (delta['type'] === 'text_delta') block['text'] += delta['text']
    if (delta['type'] === 'citations_delta') block['citations'].push(delta['citation'])
    if (delta['type'] === 'input_json_delta') {
      inputs.set(index, (inputs.get(index) ?? '') + delta['partial_json'])
      block['input'] = JSON.parse(inputs.get(index) as string)
    }
  }
  return blocks
}

interface Upstream {
  what: string
  via: string
  bytes: (isStream: boolean) => string
  /** Absent: what the client wants to know. */
  query?: string
  found: [url: string, title: string][]
  cites: boolean
}

const BOTH: Upstream['found'] = [
  [URL_A, 'Über A'],
  [URL_B, 'B'],
]
const ONE: Upstream['found'] = [[URL_A, 'Über A']]
const WANTED = 'tell me "so"'
const UPSTREAMS: Upstream[] = [
  { what: 'messages', via: 'messages', bytes: ofMessages, query: 'what is so?', found: BOTH, cites: true },
  {
    what: 'responses that says what it found',
    via: 'responses',
    bytes: ofResponses,
    query: 'what is so?',
    found: [
      [URL_A, URL_A],
      [URL_B, URL_B],
    ],
    cites: true,
  },
  {
    what: 'responses that only cites',
    via: 'responses',
    bytes: isStream => ofResponses(isStream, { ...SEARCHED, action: { type: 'search', query: 'what is so?' } }),
    query: 'what is so?',
    found: ONE,
    cites: true,
  },
  { what: 'chat that cites', via: 'chat', bytes: isStream => ofChat(isStream, ANNOTATED), found: ONE, cites: true },
  {
    what: 'chat of GLM',
    via: 'chat',
    bytes: isStream =>
      ofChat(
        isStream,
        {},
        { web_search: [{ refer: 'ref_1', title: 'Über A', link: URL_A, content: 'so', media: '' }] },
      ),
    found: ONE,
    cites: false,
  },
  {
    what: 'chat of Perplexity',
    via: 'chat',
    bytes: isStream =>
      ofChat(isStream, {}, { search_results: [{ title: 'Über A', url: URL_A, date: '2026-01-01', snippet: 'so' }] }),
    found: ONE,
    cites: false,
  },
  {
    what: 'chat of Qwen, which only says that it searched',
    via: 'chat',
    bytes: isStream => ofChat(isStream, {}, { usage: { prompt_tokens: 1, plugins: { search: { count: 1 } } } }),
    found: [],
    cites: false,
  },
  { what: 'generate', via: 'generate', bytes: ofGenerate, query: 'what is so?', found: BOTH, cites: true },
]

for (const { what, via, bytes, query = WANTED, found, cites } of UPSTREAMS)
  for (const client of Object.keys(PROTOCOLS).filter(name => name !== via))
    t.test(`${what} for a client of ${client}`, async t => {
      const random = seeded(t)
      const protocol = PROTOCOLS[client] as (typeof PROTOCOLS)['chat']
      for (const isStream of [true, false])
        for (const shown of [true, false]) {
          const answer = Buffer.from(bytes(isStream))
          const events = readAll(PROTOCOLS[via] as typeof protocol, cuts(random, answer), {
            events: isStream,
            query: quote(WANTED),
          })
          t.equal(events.at(-1)?.type, 'end')
          const ask = { query: quote(WANTED) }
          const told = writeAll(protocol, events, usageOf({ searches: 1 }), { events: shown, ask })
          const seen = (SEEN[client] as (typeof SEEN)['chat'])?.(told, shown, t) as Seen
          const name = `${isStream ? 'stream' : 'document'} to ${shown ? 'stream' : 'document'}`
          t.equal(seen.text, TEXT, name)
          if (client === 'chat') {
            const links = cites ? [`${URL_A} it is so`] : found.map(([url]) => `${url} `)
            t.same(seen.cited, links, name)
            continue
          }
          t.same(seen.queries, [query], name)
          const titled = found.map(([url, title]) => {
            if (client === 'responses') return url
            // a title that is known only from what is cited still comes in time there
            return `${url} ${client === 'generate' && cites && url === URL_A ? 'Über A' : title}`
          })
          t.same(seen.found, titled, name)
          const words = client === 'messages' ? URL_A : `${URL_A} it is so`
          t.same(seen.cited, cites ? [words] : [], name)
          if (client === 'messages') t.match(told.toString(), '"server_tool_use":{"web_search_requests":1}')
        }
    })

t.test('who asked for no search is shown none', async t => {
  for (const [via, bytes] of [
    ['messages', ofMessages],
    ['responses', ofResponses],
    ['generate', ofGenerate],
  ] as const) {
    const events = readAll(PROTOCOLS[via] as (typeof PROTOCOLS)['chat'], [Buffer.from(bytes(true))])
    t.notOk(events.some(one => one.type === 'open' && one.kind === 'search'))
    for (const client of Object.values(PROTOCOLS)) {
      const told = writeAll(client, events, usageOf()).toString()
      t.notMatch(told, /web_search_tool_result|web_search_call|grounding/)
    }
  }
})

t.test('what was found goes along in an envelope, and a search that failed says so', async t => {
  const query = quote(WANTED)
  const annotated = readAll(PROTOCOLS['chat'] as never, [Buffer.from(ofChat(false, ANNOTATED))], {
    events: false,
    query,
  })
  const told = writeAll(PROTOCOLS['messages'] as never, annotated, usageOf(), { events: false, ask: { query } })
  const [use, result, last] = JSON.parse(told.toString()).content as Loose[]
  t.match(use, { type: 'server_tool_use', id: /^srvtoolu_gw1_01abc_\d+_0$/, caller: { type: 'direct' } })
  t.match(last, { type: 'text' }, 'clients take the last block for the answer')
  const envelope = JSON.stringify(result?.['content'][0].encrypted_content)
  t.match(unseal(envelope), { of: 'found', value: JSON.stringify('what "A" says') })
  const failed = { ...SEARCHED, status: 'failed', action: { type: 'search', query: 'x' } }
  const events = readAll(PROTOCOLS['responses'] as never, [Buffer.from(ofResponses(false, failed))], {
    events: false,
    query,
  })
  const shown = JSON.parse(
    writeAll(PROTOCOLS['messages'] as never, events, usageOf(), { events: false, ask: { query } }).toString(),
  )
  t.match(shown.content[1], { content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } })
})

t.test('places in a text, however it is cut, in characters and in bytes', async t => {
  const random = seeded(t)
  for (let run = 0; run < 200; run++) {
    const blocks = Array.from({ length: random.int(1, 4) }, () =>
      Array.from({ length: random.int(0, 900) }, () => random.pick(['a', 'é', '漢', '😀', '"', '\n'] as const)),
    )
    const places = new TextPlaces()
    let before = 0
    const starts = blocks.map((chars, index) => {
      const start = before
      places.open(index)
      for (let at = 0; at < chars.length; ) {
        const end = at + random.int(1, 700)
        places.add(index, Buffer.from(JSON.stringify(chars.slice(at, end).join(''))).toString('latin1'))
        at = end
      }
      before += chars.length
      return start
    })
    const all = blocks.flat()
    for (let n = 0; n < 5; n++) {
      const index = random.int(0, blocks.length - 1)
      const from = starts[index] as number
      const start = from + random.int(0, (blocks[index] as string[]).length)
      const end = Math.min(all.length, start + random.int(0, 50))
      const bytesTo = (chars: number): number => Buffer.byteLength(all.slice(0, chars).join(''))
      const counted = {
        answer: [start, end],
        block: [start - from, end - from],
        bytes: [bytesTo(start), bytesTo(end)],
      } as const
      for (const at of ['answer', 'block', 'bytes'] as const)
        for (const unit of ['answer', 'block', 'bytes'] as const) {
          const [said, until] = counted[at]
          const citation: Citation = { url: '"u"', title: '""', start: String(said), end: String(until), at }
          const told = places.told(index, citation, unit)
          t.same([Number(told.start), Number(told.end)], counted[unit], `${at} to ${unit}`)
        }
      t.equal(places.between(counted.bytes[0], counted.bytes[1]), all.slice(start, end).join(''))
    }
  }
})

t.test('an upstream that cites without end is kept within bounds', async t => {
  const query = quote(WANTED)
  const note = (n: number) => ({
    type: 'url_citation',
    url_citation: { url: `https://${n}.example`, title: 't', content: 'x'.repeat(5000), start_index: 0, end_index: 1 },
  })
  const annotations = Array.from({ length: 3000 }, (_, n) => note(n))
  const events = readAll(PROTOCOLS['chat'] as never, [Buffer.from(ofChat(false, { annotations }))], {
    events: false,
    query,
  })
  const found = events.flatMap(one => (one.type === 'open' && one.kind === 'search' ? one.found.sources : []))
  t.equal(found.length, 1000)
  t.ok(found.reduce((sum, { text }) => sum + text.length, 0) <= 1024 * 1024)
  t.equal(events.filter((one: AnswerEvent) => one.type === 'note').length, 1000)
})
