/**
 * Embeddings, rerank and moderations through a whole gateway: the official SDK and plain requests, what they are answered,
 * and what they are charged, to the micro-unit.
 */
import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { vectorOf } from '../../tools/simulator/dialects/embeddings.ts'
import { KEY, POOR_KEY } from '../support/gateway.ts'
import { startWithModels } from '../support/models.ts'

const PROTOCOLS = ['embeddings', 'rerank', 'moderations']
const MODELS = [
  { name: 'text-embedding', price: { input: 0.7 }, input_factor: 1 },
  { name: 'ranker', price: { input: 0.3 }, input_factor: 1 },
  { name: 'ranker-by-request', price: { request: 0.014 } },
  { name: 'judge', price: { input: 5 }, input_factor: 1 },
  { name: 'judge-free', price: { request: 0 } },
  { name: 'painter', price: { image: 1 } },
]
const { gateway, openai, post, charged } = await startWithModels(PROTOCOLS, MODELS)
t.teardown(() => gateway.stop())

t.test('embeddings: base64 that the SDK decodes, floats, tokens', async t => {
  const text = 'The quick brown fox jumps over the lazy dog.'
  const one = await openai.embeddings.create({ model: 'text-embedding', input: text })
  t.same(one.data[0]?.embedding, vectorOf(JSON.stringify(text), 8), 'the SDK asks for base64')
  t.equal(one.usage.total_tokens, 11)
  t.same(await charged(), { basis: 'reported', input: 11, output: 0, micro: 8 }) // 7.7
  const several = await openai.embeddings.create({
    model: 'text-embedding',
    input: ['a', 'b', '[[sim input=1000]]'],
    encoding_format: 'float',
    dimensions: 3,
  })
  t.same(
    several.data.map(({ embedding }) => embedding.length),
    [3, 3, 3],
  )
  t.same(await charged(), { basis: 'reported', input: 1000, output: 0, micro: 700 })
  await openai.embeddings.create({ model: 'text-embedding', input: [[5, 60, 700], [8]] })
  t.same(await charged(), { basis: 'reported', input: 4, output: 0, micro: 3 }) // 2.8
  const answer = await post('/embeddings', { model: 'text-embedding', input: 'x', encoding_format: 'base64' })
  t.match(await answer.text(), /"embedding":"[\w+/=]{40,}"/, 'base64 passes as it is')
  t.match(await charged(), { micro: 1 })
})

t.test('embeddings without usage cost their estimated input', async t => {
  const body = { model: 'text-embedding', input: `${'x'.repeat(400)} [[sim usage=none]]` }
  await (await post('/v1/embeddings', body)).text()
  const input = Math.ceil(JSON.stringify(body).length / 4)
  t.same(await charged(), { basis: 'counted', input, output: 0, micro: Math.ceil(input * 0.7) })
})

t.test('embeddings in the form of generate-content', async t => {
  const genai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })
  const contents = ['one', 'two']
  const answer = await genai.models.embedContent({
    model: 'text-embedding',
    contents,
    config: { outputDimensionality: 4 },
  })
  t.same(
    answer.embeddings?.map(({ values }) => values),
    contents.map(text => vectorOf(text, 4)),
  )
  t.match(await charged(), { basis: 'counted', output: 0 }, 'a batch reports no usage')
  const single = await fetch(`${gateway.main}/v1beta/models/text-embedding:embedContent?key=${KEY}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'models/text-embedding', content: { parts: [{ text: 'x'.repeat(40) }] } }),
  })
  t.match(await single.json(), { embedding: { values: vectorOf('x'.repeat(40), 8) } })
  t.same(await charged(), { basis: 'reported', input: 10, output: 0, micro: 7 })
  const body = { requests: [{ model: 'models/judge', content: { parts: [{ text: 'x' }] } }] }
  const headers = { 'x-goog-api-key': KEY }
  const url = `${gateway.main}/v1beta/models/text-embedding:batchEmbedContents`
  const other = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  t.equal(other.status, 400, 'another model than that of the path')
  const bearer = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: '{}' })
  t.equal(bearer.status, 401, 'a key in a place that the form does not read')
  const row = await gateway.usageRow({ protocol: 'embeddings', input: 10 })
  t.equal(row['model'], 'text-embedding')
})

t.test('rerank', async t => {
  const documents = ['a fox', 'a dog', { text: 'the quick fox' }]
  const answer = await post('/v1/rerank', { model: 'ranker', query: 'quick fox', documents, top_n: 2 })
  const { results, usage, model } = (await answer.json()) as {
    results: { index: number }[]
    usage: { total_tokens: number }
    model: string
  }
  t.same(
    results.map(({ index }) => index),
    [2, 0],
  )
  t.equal(model, 'up-ranker', 'the upstream was asked by its own name')
  t.match(await charged(), { basis: 'reported', input: usage.total_tokens, micro: Math.ceil(usage.total_tokens * 0.3) })
  await (await post('/v1/rerank', { model: 'ranker-by-request', query: 'q', documents: ['d'] })).text()
  t.match(await charged(), { micro: 14_000 })
})

t.test('moderations', async t => {
  const judged = await openai.moderations.create({ model: 'judge', input: ['peace', 'violence'] })
  t.same(
    judged.results.map(({ flagged }) => flagged),
    [false, true],
  )
  const input = Math.ceil(JSON.stringify({ model: 'judge', input: ['peace', 'violence'] }).length / 4)
  t.same(await charged(), { basis: 'counted', input, output: 0, micro: input * 5 })
  await openai.moderations.create({ model: 'judge', input: [{ type: 'text', text: '[[sim input=31]]' }] })
  t.same(await charged(), { basis: 'reported', input: 31, output: 0, micro: 155 })
  await openai.moderations.create({ model: 'judge-free', input: 'free' })
  t.match(await charged(), { micro: 0 })
})

t.test('refusals, in order, with the envelope of the gateway', async t => {
  const input = 'x'
  const cases: [path: string, body: object, key: string, status: number, message: RegExp][] = [
    ['/v1/embedding', { model: 'text-embedding', input }, KEY, 404, /^Invalid URL \(POST \/v1\/embedding\)/],
    ['/v1/embeddings', { model: 'text-embedding', input }, 'sk-none', 401, /^无效的令牌/],
    ['/v1/embeddings', { input }, KEY, 400, /^未指定模型名称/],
    ['/v1/embeddings', { model: 'nope', input }, KEY, 400, /无可用渠道/],
    ['/v1/moderations', { model: 'gamma-image-2', input }, KEY, 400, /无可用渠道/],
    ['/v1/embeddings', { model: 'painter', input }, KEY, 400, /的价格尚未由管理员配置/],
    ['/v1/rerank', { model: 'ranker', query: 'q', documents: ['d'] }, POOR_KEY, 403, /^用户额度不足/],
  ]
  for (const [path, body, key, status, message] of cases) {
    const answer = await post(path, body, key)
    const { error } = (await answer.json()) as { error: { message: string; code: string } }
    t.equal(answer.status, status, `${path} ${status}`)
    t.match(error.message, message)
    t.match(error.message, answer.headers.get('x-request-id') as string)
  }
})

t.test('the list of models names the protocols', async t => {
  const list: Record<string, unknown> = {}
  for await (const model of openai.models.list())
    list[model.id] = (model as unknown as { protocols: string[] }).protocols
  t.match(list, { judge: PROTOCOLS, 'judge-free': PROTOCOLS, 'gamma-image-2': ['images'] })
  t.notOk('painter' in list, 'its price covers none of the protocols on which it is offered')
})
