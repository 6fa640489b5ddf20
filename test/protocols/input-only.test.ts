/** Meters of the protocols that charge nothing but input: what each form of answer reports. */
import t from 'tap'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import { cut, seeded } from '../support/random.ts'

const VECTOR = Array.from({ length: 3000 }, (_, i) => i / 7)
const vectors = (embedding: unknown) => [{ object: 'embedding', index: 0, embedding }]
const scores = [{ index: 0, relevance_score: 0.9 }]
const judged = [{ flagged: false, categories: { violence: false } }]

/** `input`: null = nothing is reported. */
const ANSWERS: [name: string, Protocol, body: object, input: number | null][] = [
  ['floats', 'embeddings', { object: 'list', data: vectors(VECTOR), usage: { prompt_tokens: 7, total_tokens: 7 } }, 7],
  ['base64', 'embeddings', { data: vectors('AAAA'.repeat(9000)), usage: { prompt_tokens: 7, total_tokens: 7 } }, 7],
  ['usage first', 'embeddings', { usage: { total_tokens: 9 }, data: vectors([0]) }, 9],
  ['no usage', 'embeddings', { data: vectors(VECTOR) }, null],
  ['usage of zero', 'embeddings', { data: vectors([0]), usage: { prompt_tokens: 0, total_tokens: 0 } }, null],
  [
    'usage that is no number',
    'embeddings',
    { data: vectors([0]), usage: { prompt_tokens: -1, total_tokens: '15' } },
    null,
  ],
  ['usage in the wrong place', 'embeddings', { data: [{ embedding: [0], usage: { total_tokens: 9 } }] }, null],
  ['as Gemini', 'nativeEmbeddings', { embedding: { values: VECTOR }, usageMetadata: { promptTokenCount: 3 } }, 3],
  ['as Gemini, several', 'nativeEmbeddings', { embeddings: [{ values: VECTOR }, { values: VECTOR }] }, null],
  ['as Jina', 'rerank', { model: 'm', usage: { total_tokens: 90, prompt_tokens: 80 }, results: scores }, 80],
  ['as Jina, total only', 'rerank', { results: scores, usage: { total_tokens: 90 } }, 90],
  ['as Voyage', 'rerank', { object: 'list', data: scores, usage: { total_tokens: 26 } }, 26],
  ['as Cohere', 'rerank', { id: 'x', results: scores, meta: { billed_units: { search_units: 1 } } }, null],
  [
    'as Cohere, with tokens',
    'rerank',
    { results: scores, meta: { billed_units: { input_tokens: 5, search_units: 1 } } },
    5,
  ],
  ['as Cohere, tokens beside', 'rerank', { results: scores, meta: { tokens: { input_tokens: 6 } } }, 6],
  ['as SiliconFlow', 'rerank', { results: scores, tokens: { input_tokens: 8, output_tokens: 0 } }, 8],
  ['as OpenAI', 'moderations', { id: 'modr', model: 'm', results: judged }, null],
  [
    'as Mistral',
    'moderations',
    { results: judged, usage: { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 } },
    4,
  ],
]

const read = (protocol: Protocol, chunks: Buffer[], whole = true) => {
  const meter = protocolRow(protocol).meter({ events: false, lengthStop: false, cacheTtl: '5m' })
  for (const chunk of chunks) meter.feed(chunk, chunk.toString('latin1'))
  meter.end(whole)
  return meter
}

t.test('what is reported, in any chunking', async t => {
  const random = seeded(t)
  for (const [name, protocol, body, input] of ANSWERS)
    for (const space of [0, 1])
      for (const chunks of [
        [Buffer.from(JSON.stringify(body, null, space))],
        cut(random, Buffer.from(JSON.stringify(body))),
      ]) {
        const meter = read(protocol, chunks)
        t.same(meter.usage, input === null ? null : { ...noUsage(), input }, name)
        t.match(meter, { terminal: true, concluded: true, failed: false, foreign: false, produced: 0 }, name)
        t.equal(meter.final, input !== null, name)
      }
})

t.test('what broke off had content, or none', async t => {
  const whole = JSON.stringify({ object: 'list', data: vectors(VECTOR), usage: { total_tokens: 3 } })
  const rows: [length: number, hasContent: boolean][] = [
    [0, false],
    [17, false],
    [whole.length >> 1, true],
    [whole.length - 1, true],
  ]
  for (const [length, hasContent] of rows) {
    const meter = read('embeddings', [Buffer.from(whole.slice(0, length))], false)
    t.equal(meter.counted > 0, hasContent, `${length} bytes`)
    t.match(meter, { terminal: false, produced: 0 })
  }
})

t.test('errors, and what is no answer', async t => {
  const error = read('embeddings', [Buffer.from('{"error":{"message":"no"}}')])
  t.match(error, { failed: true, counted: 0, usage: null, concluded: false })
  t.match(read('rerank', [Buffer.from('{"answer":[]}')]), { foreign: true })
  t.match(read('moderations', [Buffer.from('data: {"results":[]}\n\n')]), { foreign: true })
})
