import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import t from 'tap'
import { KEY, POOR_KEY, SLOW_KEY, stallAfter } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

// it does not know these models' limits, and would say so each time
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
const gateway = await openGateway()
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
    const calling = streamText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match((await calling.toolCalls)[0], { toolName: 'weather', input: { city: 'Paris' } })
    t.equal(await calling.finishReason, 'tool-calls')
  })
}

/** Events after which something was said in every protocol, and everything was not. */
const PLACE = { chat: 4, responses: 6, messages: 5, generate: 2 }

for (const [name, model] of Object.entries(models(KEY))) {
  t.test(`${name}: an abort in mid-stream`, async t => {
    const controller = new AbortController()
    const stream = streamText({
      model,
      prompt: `[[sim tokens=60 ${stallAfter(PLACE[name as keyof typeof PLACE])}]]`,
      maxRetries: 0,
      abortSignal: controller.signal,
    })
    const kinds = new Set<string>()
    for await (const part of stream.fullStream) {
      kinds.add(part.type)
      if (part.type === 'text-delta') controller.abort()
    }
    t.ok(kinds.has('abort'))
    t.notOk(kinds.has('finish'))
    await gateway.goOn()
    const row = await gateway.usageRow({ protocol: name, end: 'client_gone' })
    t.match(row, { basis: 'reported', output: 60, status: 200 })
  })

  t.test(`${name}: a stream that breaks off names its request, then throws`, async t => {
    const stream = streamText({ model, prompt: '[[sim tokens=200 cut=6]]', maxRetries: 0, onError() {} })
    const errors: unknown[] = []
    await t.rejects(async () => {
      for await (const part of stream.fullStream) if (part.type === 'error') errors.push(part.error)
    }, APICallError)
    t.match(errors.map(messageOf), [/request id: \w{21}/])
  })
}

/** Some protocols give an Error, some what the event said. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error))

t.test('errors have the status and the request id', async t => {
  // the slow account may ask once a minute
  await generateText({ model: models(SLOW_KEY).chat, prompt: 'Hello!', maxRetries: 0 })
  const rows: [string, string, number, RegExp][] = [
    ['a bad key', 'sk-none', 401, /无效的令牌 \(request id: /],
    ['no money', POOR_KEY, 403, /request id: /],
    ['too many', SLOW_KEY, 429, /request id: /],
  ]
  for (const [what, key, status, text] of rows) {
    for (const [protocol, model] of Object.entries(models(key))) {
      const name = `${protocol}: ${what}`
      const error = await generateText({ model, prompt: 'Hello!', maxRetries: 0 }).then(
        () => null,
        (e: unknown) => e,
      )
      t.ok(APICallError.isInstance(error), name)
      if (!APICallError.isInstance(error)) continue
      t.equal(error.statusCode, status, name)
      t.match(error.responseHeaders?.['x-request-id'], /\w{21}/, name)
      // on generate its message is the status text: it reads the message only of errors with a numeric code
      t.match(error.responseBody, text, name)
    }
  }
})
