/** The words of each provider: every row of the table has an answer that uses it, and every answer is read right, however it is cut. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { FINISH_WORDS, type FinishingProtocol } from '../../lib/protocols/words/finish-words.ts'
import { KINDS, kindLike, type ProviderKind, type KindName } from '../../lib/protocols/words/kinds.ts'
import { USAGE_WORDS, type UsagePart } from '../../lib/protocols/words/reports.ts'
import { PACKAGES } from '../clients/packages.ts'
import type { Talking } from '../support/talking.ts'
import type { Json } from './answers-told.ts'
import { found, read, streamOf } from './read.ts'
import { RECORDED, saying } from './recorded.ts'

/** Protocols of text, which stream. */
const TALKING: readonly string[] = ['messages', 'chat', 'responses', 'generate']
/** Longer answers are not cut at every byte. */
const SMALL = 6_000

/** Makes a document so long that its pieces are read as they come. */
const PADDING = 'x'.repeat(4_200)
/** From one cut inside the padding to the next, where each is as the one before. */
const STRIDE = 101

/** The same bytes one by one, and in two pieces wherever they can be cut. */
function* cuts(bytes: Buffer): Generator<Buffer[]> {
  yield Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
  const padding = bytes.indexOf(PADDING)
  const inside = (at: number) => padding > 0 && at > padding && at < padding + PADDING.length
  for (let at = 1; at < bytes.length; at += inside(at) && inside(at + STRIDE) ? STRIDE : 1)
    yield [bytes.subarray(0, at), bytes.subarray(at)]
}

for (const { kind, protocol, what, whole, events, found: want } of RECORDED)
  t.test(`${kind}, ${protocol}: ${what}`, async t => {
    const forms: [events: boolean, bytes: Buffer][] = []
    if (whole !== undefined) forms.push([false, Buffer.from(JSON.stringify(whole))])
    if (whole !== undefined) forms.push([false, Buffer.from(JSON.stringify({ padding: PADDING, ...whole }, null, 1))])
    if (events !== undefined) forms.push([true, streamOf(events)], [true, streamOf(events, '\r\n')])
    t.ok(forms.length > 0)
    for (const [isStream, bytes] of forms) {
      const meter = read(protocol, isStream, [bytes])
      t.strictSame(found(meter), want, isStream ? 'as a stream' : 'whole')
      t.match(meter, { failed: false, foreign: false, unknownFinish: null, final: true })
      if (bytes.length > SMALL) continue
      let wrong = 0
      for (const chunks of cuts(bytes))
        if (
          JSON.stringify(Object.entries(found(read(protocol, isStream, chunks))).sort()) !==
          JSON.stringify(Object.entries(want).sort())
        )
          wrong++
      t.equal(wrong, 0, 'cut at every byte')
    }
  })

const at = (answer: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((here, step) => {
    if (Array.isArray(here)) return at(here[0], [step])
    return typeof here === 'object' && here !== null ? (here as Json)[step] : undefined
  }, answer)

t.test('every word of a provider stands in an answer of his', async t => {
  for (const { protocol, field, kinds } of USAGE_WORDS)
    for (const kind of kinds) {
      const own = RECORDED.filter(row => row.kind === kind && row.protocol === protocol)
      const usages = own.flatMap(({ whole, events = [] }) =>
        [whole, ...events].flatMap(one => [
          at(one, ['usage']),
          at(one, ['choices', 'usage']),
          at(one, ['response', 'usage']),
        ]),
      )
      t.ok(
        usages.some(usage => typeof at(usage, field.split('.')) === 'number'),
        `${kind}: ${field}`,
      )
    }
})

t.test('no field is read in two ways', async t => {
  const seen = new Map<string, UsagePart>()
  for (const { protocol, field, part } of USAGE_WORDS) {
    const name = `${protocol} ${field}`
    t.notOk(seen.has(name), name)
    seen.set(name, part)
  }
})

/** What so many tokens more in one word change, beside 1,000 of prompt and 100 of completion. */
const CHANGES: Record<UsagePart, (n: number) => Json> = {
  prompt: n => ({ input: n }),
  completion: n => ({ output: n }),
  total: () => ({}),
  reasoning: () => ({}),
  beside: n => ({ input: 1000 + n }),
  cached: n => ({ input: 1000 - n, cache_read: n }),
  written: n => ({ input: 1000 - n, cache_write_5m: n }),
  written_5m: n => ({ input: 1000 - n, cache_write_5m: n }),
  written_1h: n => ({ input: 1000 - n, cache_write_1h: n }),
  searches: n => ({ searches: n }),
  search_calls: n => ({ searches: n }),
}

const answerWith = (protocol: Talking, usage: Json): Buffer =>
  Buffer.from(JSON.stringify(protocol === 'chat' ? { choices: [], usage } : { output: [], usage }))

t.test('every word counts as the table says; a fraction is rounded up, and what is no number is not read', async t => {
  for (const word of USAGE_WORDS) {
    const { protocol, field, part } = word
    const foundIn = (value: unknown) => found(read(protocol, false, [answerWith(protocol, saying(word, value))]))
    const base = { input: 1000, output: 100 }
    for (const [value, n] of [
      [7, 7],
      [6.2, 7],
      [0, 0],
    ] as const) {
      const want = Object.entries({ ...base, ...CHANGES[part](n) }).filter(([, one]) => one !== 0)
      t.strictSame(new Map(Object.entries(foundIn(value))), new Map(want), `${protocol} ${field}: ${value}`)
    }
    if (part === 'prompt' || part === 'completion') continue
    for (const value of [-1, 1e10, '7', true, null, {}, [], [[7]]])
      t.strictSame(foundIn(value), base, `${protocol} ${field}: ${JSON.stringify(value)}`)
  }
})

t.test('reasoning is beside the completion only where the total says so', async t => {
  const rows: [what: string, usage: Json, output: number, input?: number][] = [
    ['inside', { total_tokens: 1100, completion_tokens_details: { reasoning_tokens: 40 } }, 100],
    ['beside', { total_tokens: 1140, completion_tokens_details: { reasoning_tokens: 40 } }, 140],
    ['beside, and named on top', { total_tokens: 1140, reasoning_tokens: 40 }, 140],
    ['beside, with what was cited', { total_tokens: 1190, reasoning_tokens: 40, citation_tokens: 50 }, 140, 1050],
    ['the total has something else', { total_tokens: 1139, reasoning_tokens: 40 }, 100],
    ['no total', { reasoning_tokens: 40 }, 100],
    ['nobody names it', { total_tokens: 1140 }, 140],
    ['a total of what was cited', { total_tokens: 1150, citation_tokens: 50 }, 100, 1050],
    ['a total that is too small', { total_tokens: 3 }, 100],
  ]
  for (const [what, more, output, input = 1000] of rows) {
    const usage = { prompt_tokens: 1000, completion_tokens: 100, ...more }
    t.strictSame(found(read('chat', false, [answerWith('chat', usage)])), { input, output }, what)
  }
})

t.test('usage is found wherever it stands and however it is spaced; text that looks like usage is not', async t => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const want = { input: 10, output: 5 }
  const said = (content: unknown): Json => ({ id: 'c', choices: [{ index: 0, delta: { content } }] })
  const places: Json[] = [
    { choices: [], usage },
    { choices: [{ index: 0, delta: {}, usage }] },
    { choices: [{ index: 0, delta: {}, usage }], usage: null },
    { choices: [], x_groq: { id: 'r', usage } },
  ]
  for (const place of places)
    for (const spaced of [
      JSON.stringify(place),
      JSON.stringify(place).replaceAll(':', ':  '),
      JSON.stringify(place).replaceAll('":', '"\t: '),
    ]) {
      const events = [JSON.stringify(said('hi')), spaced, '[DONE]']
      t.strictSame(found(read('chat', true, [streamOf(events)])), want, spaced)
      t.strictSame(found(read('chat', false, [Buffer.from(spaced)])), want, `a document: ${spaced}`)
    }
  const decoys = [
    '"usage":{"prompt_tokens":9999,"completion_tokens":9999}',
    `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
    '\\"usage\\":{\\"prompt_tokens\\":9999',
    'web_search":[{"title":"x"}]',
    'finish_reason":"strange"',
  ]
  for (const decoy of decoys) {
    const argumentsOf = { tool_calls: [{ index: 0, function: { arguments: decoy } }] }
    const events = [said(decoy), { choices: [{ index: 0, delta: argumentsOf }] }, said([{ type: 'text', text: decoy }])]
    const meter = read('chat', true, [streamOf([...events, { choices: [], usage }, '[DONE]'])])
    t.strictSame(found(meter), want, decoy)
    t.equal(meter.unknownFinish, null)
    const silent = read('chat', true, [streamOf([...events, '[DONE]'])])
    t.strictSame([silent.usage, silent.searches], [null, 0], `and nothing else: ${decoy}`)
  }
  const inside = { choices: [{ index: 0, message: { content: 'x', usage }, logprobs: { usage } }] }
  t.equal(read('chat', false, [Buffer.from(JSON.stringify(inside))]).usage, null, 'usage of something else')
})

t.test('the usage of a choice in an event that is too long to be kept', async t => {
  const usage = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 }
  const long = { choices: [{ index: 0, delta: { content: 'x'.repeat(200_000) }, usage }] }
  const bytes = streamOf([long, '[DONE]'])
  const chunks = [bytes.subarray(0, 70_000), bytes.subarray(70_000, 150_000), bytes.subarray(150_000)]
  t.strictSame(found(read('chat', true, chunks)), { input: 5, output: 6 })
})

t.test('finish words: those of the table are known, others are noticed', async t => {
  const made: Record<FinishingProtocol, (word: unknown) => [whole: Json, events: Json[]]> = {
    chat: word => [
      { choices: [{ index: 0, message: { content: 'a' }, finish_reason: word }] },
      [
        { choices: [{ index: 0, delta: { content: 'a' } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: word }] },
      ],
    ],
    messages: word => [
      { content: [], stop_reason: word },
      [
        { type: 'message_start', message: {} },
        { type: 'message_delta', delta: { stop_reason: word } },
      ],
    ],
    converse: word => [
      { output: { message: { content: [] } }, stopReason: word },
      [{ contentBlockDelta: { delta: { text: 'a' } } }, { messageStop: { stopReason: word } }],
    ],
    generate: word => {
      const answer = { candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: word }] }
      return [answer, [answer]]
    },
    responses: word => [
      { output: [], status: 'incomplete', incomplete_details: { reason: word } },
      [{ type: 'response.incomplete', response: { status: 'incomplete', incomplete_details: { reason: word } } }],
    ],
  }
  const unknownIn = (protocol: FinishingProtocol, word: unknown): (string | null)[] => {
    const [whole, events] = made[protocol](word)
    const bytes = [JSON.stringify(whole), JSON.stringify({ padding: 'x'.repeat(4_200), ...whole })]
    return [
      ...bytes.map(one => read(protocol, false, [Buffer.from(one)]).unknownFinish),
      read(protocol, true, [streamOf(events)]).unknownFinish,
    ]
  }
  for (const protocol of Object.keys(made) as FinishingProtocol[]) {
    for (const word of [...Object.keys(FINISH_WORDS[protocol]), null, '', undefined])
      t.strictSame(unknownIn(protocol, word), [null, null, null], `${protocol}: ${word}`)
    for (const word of ['exhausted', 'toString', 'x'.repeat(3_000)])
      t.strictSame(unknownIn(protocol, word), Array(3).fill(word.slice(0, 64)), `${protocol}: ${word.slice(0, 20)}`)
  }
})

t.test('the words of the clients that the project is tested with are in the table', async t => {
  const text = (path: string): string => readFileSync(`${PACKAGES}/${path}`, 'utf8')
  const quoted = (declared = ''): string[] => [...declared.matchAll(/['"](\w+)['"]/g)].map(([, word]) => word as string)
  const rows: [FinishingProtocol, string[]][] = [
    [
      'chat',
      quoted(/finish_reason: ('stop'[^;]+);/.exec(text('openai/resources/chat/completions/completions.d.ts'))?.[1]),
    ],
    [
      'messages',
      quoted(
        /type BetaStopReason = ([^;]+);/.exec(text('@anthropic-ai/sdk/resources/beta/messages/messages.d.ts'))?.[1],
      ),
    ],
    [
      'messages',
      quoted(/type StopReason = ([^;]+);/.exec(text('@anthropic-ai/sdk/resources/messages/messages.d.ts'))?.[1]),
    ],
    [
      'generate',
      quoted(
        /enum FinishReason \{([\s\S]*?)\n\}/
          .exec(text('@google/genai/dist/genai.d.ts'))?.[1]
          ?.replace(/\/\*[\s\S]*?\*\//g, ''),
      ),
    ],
    [
      'responses',
      quoted(
        /interface IncompleteDetails \{[\s\S]*?reason\?: ([^;]+);/.exec(
          text('openai/resources/responses/responses.d.ts'),
        )?.[1],
      ),
    ],
  ]
  for (const [protocol, words] of rows) {
    t.ok(words.length > 1, protocol)
    for (const word of words) t.ok(Object.hasOwn(FINISH_WORDS[protocol], word), `${protocol}: ${word}`)
  }
})

t.test(
  'a kind without an answer is marked, and the page says of every kind what it says in words of its own',
  async t => {
    const missing = (name: string): ProviderKind['unrecorded'] => {
      const own = RECORDED.filter(({ kind, protocol }) => kind === name && TALKING.includes(protocol))
      if (own.length === 0) return 'answers'
      return own.some(({ events }) => events !== undefined) ? undefined : 'streams'
    }
    const page = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')
    const table = page.split('### What each kind reports in words of its own')[1]?.split('\n##')[0] ?? ''
    const rows = [...table.matchAll(/^\| `([\w-]+)` \| (.+?) \| (.+?) \|$/gm)]
    t.strictSame(
      rows.map(([, kind]) => kind),
      Object.keys(KINDS),
      'in the order of the table',
    )
    for (const [, name = '', words = '', how] of rows) {
      const like = kindLike(name as KindName)
      const { unrecorded }: ProviderKind = KINDS[like]
      t.equal(unrecorded, missing(like), name)
      const of = [...new Set(RECORDED.filter(({ kind }) => kind === like).map(row => row.of))].sort().reverse()
      const without = unrecorded === undefined ? [] : [unrecorded === 'streams' ? 'no stream' : 'no text']
      t.equal(how, [...of, ...without].join(', '), name)
      const own = USAGE_WORDS.filter(({ kinds }) => kinds.includes(name as KindName)).map(({ field }) => field)
      const named = [...words.matchAll(/`([\w.]+)`/g)].map(([, field]) => field as string)
      for (const field of own) t.ok(named.includes(field), `${name}: ${field}`)
    }
  },
)
