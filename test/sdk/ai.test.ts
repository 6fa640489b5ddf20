import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import t from 'tap'
import { KEY, startGateway } from '../support/gateway.ts'

const gateway = await startGateway()
t.teardown(() => gateway.stop())

const models = (apiKey: string) => ({
  chat: createOpenAI({ baseURL: `${gateway.main}/v1`, apiKey }).chat('beta-4.7'),
  responses: createOpenAI({ baseURL: `${gateway.main}/v1`, apiKey }).responses('beta-4.7'),
  messages: createAnthropic({ baseURL: `${gateway.main}/v1`, apiKey })('alpha-sonnet-5-5'),
  generate: createGoogleGenerativeAI({ baseURL: `${gateway.main}/v1beta`, apiKey })('gamma-3.8-flash'),
})
const input = jsonSchema({ type: 'object', properties: { city: { type: 'string' } } })
// its own types do not fit exactOptionalPropertyTypes
const tools = { weather: tool({ inputSchema: input }) } as unknown as ToolSet

for (const [name, model] of Object.entries(models(KEY))) {
  t.test(`${name}: whole, streamed, tools`, async t => {
    const whole = await generateText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.match(whole.text, /quick brown fox/)
    t.equal(whole.usage.outputTokens, 24)
    const stream = streamText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.equal(await stream.text, whole.text)
    const called = await generateText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match(called.toolCalls[0], { toolName: 'weather', input: { city: 'Paris' } })
  })
}

t.test('errors have the status and the request id', async t => {
  for (const [name, model] of Object.entries(models('sk-none'))) {
    const error = await generateText({ model, prompt: 'Hello!', maxRetries: 0 }).then(
      () => null,
      (e: unknown) => e,
    )
    t.ok(APICallError.isInstance(error), name)
    if (!APICallError.isInstance(error)) continue
    t.equal(error.statusCode, 401, name)
    t.match(error.responseHeaders?.['x-request-id'], /\w{21}/, name)
    t.match(error.responseBody, /无效的令牌 \(request id: /, name)
  }
})
