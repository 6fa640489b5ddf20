/**
 * Embeddings of Vertex AI for clients of OpenAI's and of Gemini's: Google's models by `:predict` and `:embedContent`, open models in OpenAI's own form.
 * What clients are told, what the upstream is sent, what is charged, and what becomes of answers that cannot be read.
 */
import { type ContentListUnion, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { vectorOf } from '../../tools/simulator/dialects/embeddings.ts'
import { simulate } from '../../tools/simulator/main.ts'
import { PLACE, Vertex } from '../support/vertex.ts'
import { failure } from './support/at-bedrock.ts'
import { KEY, MODEL, NOTHING_LEFT, open, type Options } from './support/gateway.ts'

const TEXTS = ['The quick brown fox', 'jumps over \u2028 "the" lazy dog.']
const vectors = (length: number, texts = TEXTS) => texts.map(text => vectorOf(JSON.stringify(text), length))
const vectorsIn = ({ data }: OpenAI.CreateEmbeddingResponse) => data.map(({ embedding }) => embedding)

type Json = Record<string, unknown>

async function scene(t: Test, name: string, change: Json = {}, options: Options = {}) {
  const simulator = await simulate()
  t.teardown(() => simulator.close())
  const double = await Vertex.open(t, simulator.url)
  const channel = { key: undefined, protocols: ['embeddings'], models: { [MODEL]: name }, ...double.channel(change) }
  const s = await open(t, { channels: { v: channel }, retriesFloor: 0, ...options })
  const openai = new OpenAI({ baseURL: `${s.urls.direct}/v1`, apiKey: KEY, maxRetries: 0 })
  const create = (body: Json) => openai.embeddings.create({ model: MODEL, ...body } as OpenAI.EmbeddingCreateParams)
  const post = (body: Json) =>
    fetch(`${s.urls.direct}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
    })
  const genai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: s.urls.direct } })
  const embed = (contents: ContentListUnion, config = {}) =>
    genai.models.embedContent({ model: MODEL, contents, config })
  const native = (verb: string, body: Json) =>
    fetch(`${s.urls.direct}/v1beta/models/${MODEL}:${verb}?key=${KEY}`, { method: 'POST', body: JSON.stringify(body) })
  const last = () => double.asked.at(-1)
  return { ...s, simulator, double, openai, create, post, embed, native, last }
}

t.test('many texts by predict: floats and base64, metered to the token', async t => {
  const s = await scene(t, 'text-embedding-005')
  const base64 = await s.create({ input: TEXTS })
  t.same(vectorsIn(base64), vectors(8), 'the SDK asks for base64')
  t.equal(s.last()?.url, `${PLACE}/publishers/google/models/text-embedding-005:predict`)
  t.same(s.last()?.body, { instances: TEXTS.map(content => ({ content })) })
  const floats = await s.create({ input: TEXTS, encoding_format: 'float', dimensions: 3, user: 'u-1' })
  t.same(vectorsIn(floats), vectors(3))
  t.same(s.last()?.body, {
    instances: TEXTS.map(content => ({ content })),
    parameters: { outputDimensionality: 3 },
  })
  const one = await s.create({ input: 'One text.', task_type: 'RETRIEVAL_QUERY', dimensions: null })
  t.same(s.last()?.body, { instances: [{ content: 'One text.', task_type: 'RETRIEVAL_QUERY' }] })
  const raw = (await (await s.post({ input: TEXTS, encoding_format: 'base64' })).json()) as Json
  t.match(raw, {
    object: 'list',
    model: 'text-embedding-005',
    data: TEXTS.map((_, index) => ({ object: 'embedding', index, embedding: /^[\w+/]{42}[\w+/=]{2}$/ })),
  })
  const { rows, left, ok } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  t.same(
    rows.map(row => [row.protocol, row.via, row.input, row.output, row.basis]),
    s.simulator.stats.served.map(({ usage }) => ['embeddings', null, usage?.input, 0, 'reported']),
  )
  t.same(
    [base64, floats, one].map(({ usage }) => usage.prompt_tokens),
    rows.slice(0, 3).map(({ input }) => input),
  )
  t.ok(rows.every(({ charge }) => charge > 0))
})

t.test('the second generation is asked by embedContent, for one text', async t => {
  const s = await scene(t, 'gemini-embedding-2-preview')
  const answer = await s.create({ input: ['One text.'], dimensions: 4 })
  t.same(vectorsIn(answer), vectors(4, ['One text.']))
  t.equal(s.last()?.url, `${PLACE}/publishers/google/models/gemini-embedding-2-preview:embedContent`)
  t.same(s.last()?.body, {
    content: { parts: [{ text: 'One text.' }] },
    embedContentConfig: { outputDimensionality: 4 },
  })
  t.same(vectorsIn(await s.create({ input: 'x', encoding_format: 'float' })), vectors(8, ['x']))
  t.same(s.last()?.body, { content: { parts: [{ text: 'x' }] } })
  t.match(await failure(s.create({ input: TEXTS })), { status: 400, error: { message: /input/ } })
  t.equal(s.double.asked.length, 2, 'what it cannot be told it is not asked')
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.same(
    rows.map(row => [row.input, row.basis]),
    s.simulator.stats.served.map(({ usage }) => [usage?.input, 'reported']),
  )
})

t.test('open models, and a path of the channel, are asked as OpenAI', async t => {
  const name = 'intfloat/multilingual-e5-small-maas'
  const s = await scene(t, name)
  t.same(vectorsIn(await s.create({ input: TEXTS })), vectors(8))
  t.equal(s.last()?.url, `${PLACE}/endpoints/openapi/embeddings`)
  t.same(s.last()?.body, { model: name, input: TEXTS, encoding_format: 'base64' })
  const body = { content: { parts: [{ text: 'x' }] } }
  t.equal((await s.native('embedContent', body)).status, 400)
  t.equal(s.double.asked.length, 1, 'which have no path for native clients')
  const own = await scene(t, 'google/own', { paths: { embeddings: '/endpoints/openapi/embeddings' } })
  t.same(vectorsIn(await own.create({ input: 'x' })), vectors(8, ['x']))
})

t.test('what the form cannot say is refused by name, before anything is charged', async t => {
  const s = await scene(t, 'text-embedding-005')
  const rows: [body: Json, param: string][] = [
    [{ input: [1, 2, 3] }, 'input'],
    [{ input: [[1, 2], [3]] }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [{ text: 'x' }] }, 'input'],
    [{ input: 'x', dimensions: 0 }, 'dimensions'],
    [{ input: 'x', dimensions: '3' }, 'dimensions'],
    [{ input: 'x', encoding_format: 'int8' }, 'encoding_format'],
    [{ input: 'x', task_type: 7 }, 'task_type'],
    [{ input: 'x', input_type: 'query' }, 'input_type'],
    [{ input: 'x', ['a"b'.repeat(99)]: 1 }, 'body'],
    [{ input: 'x'.repeat(600_000) }, 'body'],
  ]
  for (const [body, param] of rows)
    t.match(await failure(s.create({ ...body, encoding_format: body['encoding_format'] ?? 'float' })), {
      status: 400,
      error: { param },
      message: /不支持参数/,
    })
  t.same(s.double.asked, [])
  const { rows: booked, left } = await s.books()
  t.same([booked, left], [[], NOTHING_LEFT])
})

t.test('errors of Google are told as OpenAI tells them', async t => {
  const s = await scene(t, 'gemini-embedding-001')
  t.match(await failure(s.create({ input: TEXTS })), {
    status: 400,
    error: { type: 'invalid_request_error', param: null, message: /one instance per request/ },
  })
  s.double.fault = 404
  t.match(await failure(s.create({ input: 'x' })), { status: 404, error: { code: 'model_not_found' } })
  const { rows, left, ok } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  t.ok(rows.every(({ charge }) => charge === 0))
})

const vector = (values: unknown, tokens: unknown = 5) => ({
  embeddings: { values, statistics: { token_count: tokens } },
})
const said = (...predictions: unknown[]) => JSON.stringify({ predictions })

t.test('answers that cannot be read are failures that cost nothing', async t => {
  const rows: [what: string, answer: string][] = [
    ['no JSON', '<html>'],
    ['nothing', ''],
    ['cut off', said(vector([1]), vector([2])).slice(0, -2)],
    ['fewer vectors', said(vector([1]))],
    ['more vectors', said(vector([1]), vector([2]), vector([3]))],
    ['two vectors in one place', said(vector([1]), vector([2])).replace('"values":[1]', '"values":[1],"values":[9]')],
    ['a vector of texts', said(vector([1]), vector(['2']))],
    ['a vector of nothing', said(vector([1]), vector([]))],
    ['a number that is none', said(vector([1]), vector([0])).replace('[0]', '[1e999]')],
    ['an error in a 200', JSON.stringify({ error: { code: 500, message: 'internal' } })],
    ['longer than any', `{"predictions":[{"x":"${'x'.repeat(33 * 1024 * 1024)}"}]}`],
  ]
  for (const [what, answer] of rows) {
    const s = await scene(t, 'text-embedding-005')
    s.double.embeddings = answer
    t.match(await failure(s.create({ input: TEXTS })), { status: 502 }, what)
    const { rows: booked, left, ok } = await s.books()
    t.ok(ok, what)
    t.same([left, booked.reduce((sum, { charge }) => sum + charge, 0)], [NOTHING_LEFT, 0], what)
  }
})

t.test('tokens that are not all told are estimated; an answer in any layout is read', async t => {
  const s = await scene(t, 'text-embedding-005')
  for (const tokens of [null, -1, '7', 1.5]) {
    s.double.embeddings = said(vector([0.25, -1e-7], 4), vector([0.5, 3], tokens))
    t.same(vectorsIn(await s.create({ input: TEXTS, encoding_format: 'float' })), [
      [0.25, -1e-7],
      [0.5, 3],
    ])
  }
  s.double.embeddings = JSON.stringify(JSON.parse(said(vector([0.25], 4), vector([0.5], 6))), null, 2)
  t.match(await s.create({ input: TEXTS }), { usage: { prompt_tokens: 10, total_tokens: 10 } })
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.same(
    rows.map(({ basis }) => basis),
    ['counted', 'counted', 'counted', 'counted', 'reported'],
  )
  t.ok(rows.every(({ charge }) => charge > 0))
})

t.test('another channel answers where this one cannot be told what is asked', async t => {
  const s = await scene(t, 'gemini-embedding-2')
  const { double } = s
  const channels = {
    a: { key: undefined, protocols: ['embeddings'], models: { [MODEL]: 'gemini-embedding-2' }, ...double.channel() },
    b: { key: undefined, protocols: ['embeddings'], models: { [MODEL]: 'text-embedding-005' }, ...double.channel() },
  }
  const both = await open(t, { channels })
  const openai = new OpenAI({ baseURL: `${both.urls.direct}/v1`, apiKey: KEY, maxRetries: 0 })
  t.same(vectorsIn(await openai.embeddings.create({ model: MODEL, input: TEXTS })), vectors(8))
  t.match(double.asked.at(-1)?.url, /text-embedding-005:predict$/)
  t.same(vectorsIn(await openai.embeddings.create({ model: MODEL, input: 'x' })), vectors(8, ['x']))
  t.match(double.asked.at(-1)?.url, /gemini-embedding-2:embedContent$/)
  double.embeddings = said(vector([1]))
  t.equal((await both.books()).rows.length, 2)
})

const asked = (...texts: string[]) => ({ requests: texts.map(text => ({ content: { parts: [{ text }] } })) })

t.test('native clients: many texts by predict, metered to the token', async t => {
  const s = await scene(t, 'text-embedding-005')
  const both = await s.embed(TEXTS, { taskType: 'RETRIEVAL_DOCUMENT', title: 'Foxes', outputDimensionality: 3 })
  t.same(
    both.embeddings?.map(({ values }) => values),
    vectors(3),
  )
  t.equal(s.last()?.url, `${PLACE}/publishers/google/models/text-embedding-005:predict`)
  t.same(s.last()?.body, {
    instances: TEXTS.map(content => ({ content, task_type: 'RETRIEVAL_DOCUMENT', title: 'Foxes' })),
    parameters: { outputDimensionality: 3 },
  })
  const single = await s.native('embedContent', {
    content: { role: 'user', parts: [{ text: 'é' }] },
    task_type: 'RETRIEVAL_QUERY',
  })
  t.same(s.last()?.body, { instances: [{ content: 'é', task_type: 'RETRIEVAL_QUERY' }] })
  const told = (await single.json()) as { embedding: Json; usageMetadata: { promptTokenCount: number } }
  t.same(told.embedding, { values: vectors(8, ['é'])[0] })
  const { rows, left, ok } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  t.same(
    rows.map(row => [row.protocol, row.input, row.output, row.basis]),
    s.simulator.stats.served.map(({ usage }) => ['embeddings', usage?.input, 0, 'reported']),
  )
  t.equal(told.usageMetadata.promptTokenCount, rows[1]?.input)
  t.ok(rows.every(({ charge }) => charge > 0))
})

t.test('native clients: the second generation has one content, whose parts stay apart', async t => {
  const s = await scene(t, 'gemini-embedding-2')
  const one = await s.embed([{ parts: TEXTS.map(text => ({ text })) }], {
    outputDimensionality: 4,
    taskType: 'CLUSTERING',
  })
  t.same(
    one.embeddings?.map(({ values }) => values),
    vectors(4, [TEXTS.join('')]),
  )
  t.equal(s.last()?.url, `${PLACE}/publishers/google/models/gemini-embedding-2:embedContent`)
  t.same(s.last()?.body, {
    content: { parts: TEXTS.map(text => ({ text })) },
    embedContentConfig: { taskType: 'CLUSTERING', outputDimensionality: 4 },
  })
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.match(rows, [{ input: s.simulator.stats.served[0]?.usage?.input, basis: 'reported' }])
  t.match(await failure(s.embed(TEXTS.map(text => ({ parts: [{ text }] })))), { status: 400, message: /requests/ })
  t.equal(s.double.asked.length, 1)
})

t.test('native clients: what the form cannot say is refused by name, before anything is charged', async t => {
  const s = await scene(t, 'text-embedding-005')
  const content = { parts: [{ text: 'x' }] }
  const rows: [verb: string, body: Json, name: string][] = [
    ['embedContent', { content: { parts: [{ text: 'x' }, { text: 'y' }] } }, 'parts'],
    ['embedContent', { content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }] } }, 'inlineData'],
    ['embedContent', { content: { parts: [] } }, 'content'],
    ['embedContent', { content: { parts: [{ text: 7 }] } }, 'content'],
    ['embedContent', {}, 'content'],
    ['embedContent', { content, taskType: 7 }, 'taskType'],
    ['embedContent', { content, title: [] }, 'title'],
    ['embedContent', { content, outputDimensionality: 0 }, 'outputDimensionality'],
    ['embedContent', { content, autoTruncate: true }, 'autoTruncate'],
    ['batchEmbedContents', { requests: [] }, 'requests'],
    ['batchEmbedContents', { requests: 'x' }, 'requests'],
    ['batchEmbedContents', { ...asked('x'), content }, 'content'],
    ['batchEmbedContents', { requests: [{ content, outputDimensionality: 3 }, { content }] }, 'outputDimensionality'],
  ]
  for (const [verb, body, name] of rows) {
    const answer = await s.native(verb, body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(
      (await answer.json()) as Json,
      { error: { message: new RegExp(`不支持参数 ${name}`) } },
      JSON.stringify(body),
    )
  }
  t.same(s.double.asked, [])
  const { rows: booked, left } = await s.books()
  t.same([booked, left], [[], NOTHING_LEFT])
})

t.test('native clients: errors are Google’s, and answers that cannot be read cost nothing', async t => {
  const s = await scene(t, 'gemini-embedding-001')
  const tooMany = await s.native('batchEmbedContents', asked(...TEXTS))
  t.equal(tooMany.status, 400)
  t.match((await tooMany.json()) as Json, {
    error: { code: 400, status: 'INVALID_ARGUMENT', message: /one instance per request/ },
  })
  s.double.embeddings = said(vector([1]), vector([2]))
  t.equal((await s.native('batchEmbedContents', asked('x'))).status, 502, 'more vectors than texts')
  s.double.embeddings = said(vector([0.5], null))
  t.match(await (await s.native('batchEmbedContents', asked('x'))).json(), { embeddings: [{ values: [0.5] }] })
  const { rows, left, ok } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  const charged = rows.filter(({ charge }) => charge > 0)
  t.match(charged, [{ basis: 'counted' }], 'tokens that were not told are estimated')
})
