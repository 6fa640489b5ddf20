/** The row of a request has its upstream's id of the answer, whatever the protocol; only an answer of responses is continued by it. */
import t from 'tap'
import { until } from '../support/wait.ts'
import { HEADERS, MODEL, open, PATHS } from './support/gateway.ts'
import type { Call } from './support/upstream.ts'

type Json = Record<string, unknown>
const OTHER_PATHS = { embeddings: '/v1/embeddings', rerank: '/v1/rerank', moderations: '/v1/moderations' }
const ID = 'id-of-the-upstream'
const data = (events: readonly Json[]): string =>
  events
    .map(one => `${one['type'] === undefined ? '' : `event: ${one['type']}\n`}data: ${JSON.stringify(one)}\n\n`)
    .join('')

const usage = { prompt_tokens: 10, completion_tokens: 5, input_tokens: 10, output_tokens: 5, total_tokens: 15 }
const metadata = { promptTokenCount: 10, candidatesTokenCount: 5 }
const candidates = [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }]

const ROWS: [protocol: string, path: string, body: Json, whole: Json, events?: Json[]][] = [
  [
    'chat',
    PATHS.chat,
    { messages: [] },
    { id: ID, choices: [{ message: { content: 'hi' } }], usage },
    [
      { id: '', choices: [], prompt_filter_results: [] },
      { id: ID, choices: [{ index: 0, delta: { content: 'hi' } }] },
      { id: ID, choices: [], usage },
    ],
  ],
  [
    'messages',
    PATHS.messages,
    { max_tokens: 10, messages: [] },
    { id: ID, content: [], usage },
    [
      { type: 'message_start', message: { id: ID, usage } },
      { type: 'message_delta', delta: {}, usage },
      { type: 'message_stop' },
    ],
  ],
  [
    'responses',
    PATHS.responses,
    { input: 'hi' },
    { id: ID, output: [], usage },
    [
      { type: 'response.created', response: { id: ID } },
      { type: 'response.completed', response: { id: ID, usage } },
    ],
  ],
  [
    'generate',
    PATHS.generate,
    { contents: [] },
    { responseId: ID, candidates, usageMetadata: metadata },
    [{ responseId: ID, candidates, usageMetadata: metadata }],
  ],
  ['images', PATHS.images, { prompt: 'a cat' }, { id: ID, data: [{ b64_json: 'AAAA' }], usage }],
  ['embeddings', OTHER_PATHS.embeddings, { input: 'hi' }, { id: ID, data: [{ embedding: [1] }], usage }],
  ['rerank', OTHER_PATHS.rerank, { query: 'q', documents: ['d'] }, { id: ID, results: [{ index: 0 }], usage }],
  ['moderations', OTHER_PATHS.moderations, { input: 'hi' }, { id: ID, results: [{ flagged: false }] }],
]

for (const [protocol, path, body, whole, events] of ROWS)
  t.test(`${protocol}: the row has the id, and it opens nothing`, async t => {
    const s = await open(t)
    const scripts: [stream: boolean, (call: Call) => void][] = [[false, call => call.whole(200, whole)]]
    scripts.push([false, call => call.whole(200, { padding: 'x'.repeat(5_000), ...whole })])
    if (events !== undefined)
      scripts.push([
        true,
        call => {
          call.stream()
          call.chunk(data(events))
          call.end()
        },
      ])
    for (const [stream, script] of scripts) {
      s.at('a').script = script
      const at = stream && protocol === 'generate' ? '/v1beta/models/m:streamGenerateContent?alt=sse' : path
      const sent = protocol === 'generate' ? body : { model: MODEL, ...body, ...(stream ? { stream } : {}) }
      await s.ask({ path: at, headers: { ...HEADERS, 'x-gamma-api-key': HEADERS['x-goog-api-key'] }, body: sent }).end()
    }
    const { rows, ok } = await s.books()
    t.ok(ok)
    t.equal(rows.length, scripts.length)
    for (const row of rows) t.match(row, { answerId: ID, protocol })
    const maker = await s.store.usage.answerMaker(1, ID)
    t.equal(maker === null, protocol !== 'responses', 'the store says who made it only where that can be continued')
    if (protocol === 'responses') return
    let known: unknown
    void Promise.resolve(s.services.answers.find(1, ID)).then(maker => (known = maker))
    await until('memory does not know it either', () => {
      s.clock.advance(50) // an id that is not there is looked up again for a second
      return known !== undefined
    })
    t.equal(known, null)
  })

t.test('a translated answer has its upstream’s id in the row, which continues nothing', async t => {
  const s = await open(t, { channels: { a: { protocols: ['chat'] } } })
  s.at('a').script = call =>
    call.whole(200, { id: ID, choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }], usage })
  const client = s.ask({ path: PATHS.responses, headers: HEADERS, body: { model: MODEL, input: 'hi' } })
  await client.end()
  t.equal(client.status, 200)
  t.notMatch(client.text, ID)
  t.match((await s.books()).rows, [{ answerId: ID, via: 'chat', protocol: 'responses', upstreamKey: null }])
  t.equal(await s.store.usage.answerMaker(1, ID), null)
})

t.test('an id that is longer than any is none', async t => {
  const s = await open(t)
  s.at('a').script = call =>
    call.whole(200, { id: 'x'.repeat(2_000), choices: [{ message: { content: 'hi' } }], usage })
  await s.ask({ path: PATHS.chat, headers: HEADERS, body: { model: MODEL, messages: [] } }).end()
  t.match((await s.books()).rows, [{ answerId: null }])
})
