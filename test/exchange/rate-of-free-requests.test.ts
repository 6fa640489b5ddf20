/** Count routes and model lists cost nothing, so only a limit of their own bounds them. */
// The bug behind these rows: what is free has no limit.
import t from 'tap'
import { HEADERS, KEY, MODEL, NOTHING_LEFT, type Options, open } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'
import { until } from '../support/wait.ts'

type Scene = Awaited<ReturnType<typeof open>>

const get = async (s: Scene, path: string) => {
  const answer = await fetch(s.urls.direct + path, { headers: { authorization: `Bearer ${KEY}` } })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() }
}

const count = async (s: Scene, path = '/v1/messages/count_tokens') => {
  const client = s.ask({ path, headers: HEADERS, body: { model: MODEL } })
  await client.end()
  return { status: client.status, retryAfter: client.answer.headers.get('retry-after'), text: client.text }
}

const scene = async (options: Options) => {
  const s = await open(t, options)
  s.at('a').script = call => call.whole(200, { input_tokens: 1 })
  return s
}

t.test('by default ten times the rate, and none where the rate is unlimited', async t => {
  const s = await scene({ rate: 1 })
  for (let i = 0; i < 5; i++) {
    t.equal((await count(s)).status, 200)
    t.equal((await get(s, '/v1/models')).status, 200)
  }
  const refused = await count(s)
  t.match(refused, { status: 429, text: '您已达到请求数限制:1分钟内最多请求10次' })
  t.match(refused.retryAfter, /^[1-9]\d*$/)
  for (const path of ['/v1/models', `/v1/models/${MODEL}`, '/v1beta/models', `/v1beta/models/${MODEL}`])
    t.match(await get(s, path), { status: 429, text: /1分钟内最多请求10次/, retryAfter: /^[1-9]/ }, path)
  for (const path of ['/v1/responses/input_tokens', `/v1beta/models/${MODEL}:countTokens`])
    t.equal((await count(s, path)).status, 429, path)

  s.at('a').script = answers(1, 1)
  const paid = s.ask(document())
  await paid.end()
  t.equal(paid.status, 200, 'what is paid for has its own')
  const second = s.ask(document())
  await second.end()
  t.match(second.text, '您已达到请求数限制:1分钟内最多请求1次')

  const free = await scene({ rate: 0 })
  for (let i = 0; i < 15; i++) t.equal((await get(free, '/v1/models')).status, 200)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('or what the config says', async t => {
  const s = await scene({ rate: 1, config: { limits: { count: { requests: 2, minutes: 5 } } } })
  t.equal((await count(s)).status, 200)
  t.equal((await get(s, '/v1/models')).status, 200)
  t.match(await get(s, '/v1/models'), { status: 429, text: /5分钟内最多请求2次/ })
  const unlimited = await scene({ rate: 1, config: { limits: { count: { requests: 0 } } } })
  for (let i = 0; i < 15; i++) t.equal((await get(unlimited, '/v1/models')).status, 200)
  await until('nothing is open', () => s.services.openCount === 0)
})
