/** Open models on Vertex AI, which are asked as chat completions with the account's token: clients of chat and, translated, of the others. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { simulate } from '../../tools/simulator/main.ts'
import { PLACE, Vertex } from '../support/vertex.ts'
import { failure } from './support/at-bedrock.ts'
import { KEY, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'

const OPEN = 'meta/llama-4-maverick-17b-128e-instruct-maas'
const SAYS = /quick brown fox/

async function scene(t: Test, name = OPEN) {
  const simulator = await simulate()
  t.teardown(() => simulator.close())
  const double = await Vertex.open(t, simulator.url)
  const channel = { key: undefined, protocols: ['chat'], models: { [MODEL]: name }, ...double.channel() }
  const s = await open(t, { channels: { v: channel }, retriesFloor: 0 })
  const openai = new OpenAI({ baseURL: `${s.urls.direct}/v1`, apiKey: KEY, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: s.urls.direct, apiKey: KEY, maxRetries: 0 })
  return { ...s, simulator, double, openai, anthropic }
}

const MESSAGES = [{ role: 'user' as const, content: 'Hello!' }]

t.test('streams and whole answers, metered to the token', async t => {
  const s = await scene(t)
  const body = { model: MODEL, messages: MESSAGES }
  const whole = await s.openai.chat.completions.create(body)
  t.match(whole.choices[0]?.message.content, SAYS)
  const stream = await s.openai.chat.completions.stream(body).finalChatCompletion()
  t.match(stream.choices[0]?.message.content, SAYS)
  const asked = { ...body, max_tokens: 500 }
  t.match((await s.anthropic.messages.create(asked)).content, [{ type: 'text', text: SAYS }])
  t.match((await s.anthropic.messages.stream(asked).finalMessage()).content, [{ type: 'text', text: SAYS }])
  t.equal(s.double.tokensAsked, 1)
  for (const { url, body: sent } of s.double.asked) {
    t.equal(url, `${PLACE}/endpoints/openapi/chat/completions`)
    t.equal(sent['model'], OPEN)
  }
  const { rows, left, ok } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  t.same(
    rows.map(row => [row.via, row.input, row.output, row.basis]),
    s.simulator.stats.served.map(({ usage }, i) => [i < 2 ? null : 'chat', usage?.input, usage?.output, 'reported']),
  )
})

t.test('errors in the form of Google are told in that of the client', async t => {
  const s = await scene(t, 'llama')
  const body = { model: MODEL, messages: MESSAGES }
  await t.rejects(s.openai.chat.completions.create(body), { status: 400, message: /publisher\/model/ })
  const error = { type: 'error', error: { type: 'invalid_request_error' } }
  t.match(await failure(s.anthropic.messages.create({ ...body, max_tokens: 500 })), { status: 400, error })
  const { rows } = await s.books()
  t.ok(rows.every(({ charge }) => charge === 0))
})
