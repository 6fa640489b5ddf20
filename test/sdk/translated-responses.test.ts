/** Clients of responses at models of the other protocols, and the reverse: what they get, what is charged, what upstreams were asked. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import type OpenAI from 'openai'
import * as openaiErrors from 'openai'
import t from 'tap'
import { KEY, stallAfter } from '../support/gateway.ts'
import { isUsual, modelFor } from './support/busy.ts'
import { AT, chatBy, messagesBy, openTranslated, PNG, SCHEMA, type Via } from './support/translated.ts'

// it does not know these models' limits, and would say so each time
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const translated = await openTranslated(t)
const { gateway, openai, same } = translated

const FUNCTION = { type: 'function' as const, name: 'weather', parameters: SCHEMA, strict: false }

type Input = string | OpenAI.Responses.ResponseInput
const create = (via: Via, input: Input, more: object = {}) =>
  openai.responses.create({ model: modelFor(AT[via], input), input, ...more })
const stream = (via: Via, input: Input, more: object = {}) =>
  openai.responses.stream({ model: AT[via], input, ...more })
let tokens = 20

for (const via of ['chat', 'messages', 'generate'] as const) {
  t.test(`responses by ${via}: whole and streamed, and the row is what was shown`, async t => {
    const whole = await create(via, `Hello! [[sim tokens=${++tokens}]]`)
    t.match(whole, { model: AT[via], status: 'completed', output_text: /quick brown fox/, error: null, store: false })
    const first = await same(t, 'responses', via)
    t.match(whole.usage, { input_tokens: first.usage?.input, output_tokens: tokens })
    const final = await stream(via, `Hello! [[sim tokens=${++tokens}]]`).finalResponse()
    t.match(final, { status: 'completed', output_text: /quick brown fox/ })
    const second = await same(t, 'responses', via)
    t.match(final.usage, { input_tokens: second.usage?.input, output_tokens: tokens })
    const cut = await stream(via, 'Hello!', { max_output_tokens: 16 }).finalResponse()
    t.match(cut, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const cached = await create(via, `[[sim input=900 cached=300 tokens=${++tokens}]]`)
    const prompt = (await same(t, 'responses', via)).usage!
    t.match(cached.usage, {
      input_tokens: prompt.input + prompt.cache_read,
      input_tokens_details: { cached_tokens: 300 },
      output_tokens: tokens,
      total_tokens: prompt.input + prompt.cache_read + tokens,
    })
  })

  t.test(`responses by ${via}: two rounds of tools, with everything that the answer gave`, async t => {
    const called = await create(via, 'use tool', { tools: [FUNCTION] })
    const call = called.output.find(item => item.type === 'function_call')!
    t.same(JSON.parse(call.arguments), { city: 'Paris' })
    const streamed = await stream(via, 'use tool', { tools: [FUNCTION] }).finalResponse()
    t.match(streamed.output.at(-1), { type: 'function_call', name: 'weather', status: 'completed' })
    const another = { ...call, id: 'fc_2', call_id: 'call_2' }
    const results = [call, another].map(({ call_id }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: 'sunny',
    }))
    const input = [{ role: 'user' as const, content: 'use tool' }, ...called.output, another, ...results]
    const second = await create(via, input as OpenAI.Responses.ResponseInput, { tools: [FUNCTION] })
    t.match(second, { status: 'completed', output_text: /\w/ })
  })

  t.test(`responses by ${via}: pictures, a schema, thinking, tools that take text`, async t => {
    const content = [
      { type: 'input_image' as const, image_url: `data:image/png;base64,${PNG}`, detail: 'auto' as const },
      { type: 'input_text' as const, text: 'What is it?' },
    ]
    t.ok((await create(via, [{ role: 'user', content }])).output_text)
    const format = { type: 'json_schema', name: 'city', schema: SCHEMA, strict: true }
    t.ok((await create(via, 'A city', { text: { format } })).output_text)
    const thought = await stream(via, '[[sim thinking=40 tokens=7]]', { reasoning: { effort: 'low' } }).finalResponse()
    t.match(thought, { output_text: /\w/, usage: { output_tokens: 47 } })
    const patch = { type: 'custom' as const, name: 'apply_patch', description: 'Patches a file' }
    const asked = await stream(via, 'use tool', { tools: [patch] }).finalResponse()
    t.match(asked.output.at(-1), { type: 'custom_tool_call', name: 'apply_patch', status: 'completed' })
  })

  t.test(`responses by ${via}: what cannot be carried is refused or named`, async t => {
    await t.rejects(create(via, 'Hello!', { top_logprobs: 21 }), {
      name: 'Error',
      status: 400,
      message: /top_logprobs/,
    })
    const stored = create(via, 'Hello!', { previous_response_id: (await create(via, 'Hello!')).id })
    const refused = { name: 'Error', status: 400, message: /previous_response_id/ }
    await t.rejects(stored, refused, 'nothing is stored of an answer that was translated')
    const { response } = await create(via, 'Hello!', {
      tools: [{ type: 'web_search' }],
      truncation: 'auto',
    }).withResponse()
    t.equal(response.headers.get('x-gateway-via'), via)
    t.match(response.headers.get('x-gateway-dropped'), /hosted_tools.*truncation/)
  })

  t.test(`responses by ${via}: errors, streams that break off, an abort`, async t => {
    const rows: [number, number, string, string][] = [
      [400, 400, 'BadRequestError', 'invalid_request_error'],
      [404, 404, 'NotFoundError', 'invalid_request_error'],
      [429, 429, 'RateLimitError', 'rate_limit_error'],
      [529, 503, 'InternalServerError', 'server_error'],
    ]
    for (const [sent, status, name, type] of rows) {
      const error = await create(via, `[[sim error=${sent}]]`).catch((error: unknown) => error)
      t.type(error, Reflect.get(openaiErrors, name), String(sent))
      t.match(error, { status, error: { type } }, String(sent))
    }
    // upstreams of generate-content send few events, each with many tokens
    for (const how of ['cut=6', 'end_early=6', 'event_error=6'].map(how => `[[sim tokens=200 ${how}]]`))
      await t.rejects(stream(via, how).finalResponse(), { message: /request id: \w{21}/ }, how)
    const input = `[[sim tokens=${60 + ++tokens} ${stallAfter(via === 'generate' ? 2 : 6)}]]`
    const long = await openai.responses.create({ model: AT[via], input, stream: true })
    for await (const event of long) if (event.type === 'response.output_text.delta') break
    await gateway.goOn()
    const row = await gateway.usageRow({ protocol: 'responses', via, end: 'client_gone' })
    t.match(row, { output: 60 + tokens })
  })

  t.test(`the AI SDK, responses by ${via}: whole, streamed, tools`, async t => {
    const model = createOpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY }).responses(AT[via])
    const input = jsonSchema({ type: 'object', properties: { city: { type: 'string' } } })
    // its own types do not fit exactOptionalPropertyTypes
    const tools = { weather: tool({ inputSchema: input }) } as unknown as ToolSet
    const whole = await generateText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.match(whole.text, /quick brown fox/)
    t.equal(whole.usage.outputTokens, 24)
    const streamed = streamText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.equal(await streamed.text, whole.text)
    t.equal((await streamed.usage).outputTokens, 24)
    const called = await generateText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match(called.toolCalls[0], { toolName: 'weather', input: { city: 'Paris' } })
    const calling = streamText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match((await calling.toolCalls)[0], { toolName: 'weather', input: { city: 'Paris' } })
    t.equal(await calling.finishReason, 'tool-calls')
    // it names what it thinks is stored, unless it is told that nothing is
    const messages = [{ role: 'user' as const, content: 'Hello!' }, ...whole.response.messages]
    const next = { model, messages: [...messages, { role: 'user' as const, content: 'Again!' }], maxRetries: 0 }
    await t.rejects(generateText(next), { statusCode: 400, message: /item_reference \(store: false\)/ })
    const again = await generateText({ ...next, providerOptions: { openai: { store: false } } })
    t.match(again.text, /\w/)
  })
}

t.test('messages by responses', t => messagesBy(t, translated, 'responses'))
t.test('chat by responses', t => chatBy(t, translated, 'responses'))

t.test('the list says what is translated', async t => {
  const list = await openai.models.list()
  t.match(list.data.filter(isUsual), [
    {
      id: AT.messages,
      protocols: ['messages', 'chat', 'responses', 'generate'],
      translated: ['chat', 'responses', 'generate'],
    },
    {
      id: AT.chat,
      protocols: ['chat', 'messages', 'responses', 'generate'],
      translated: ['messages', 'responses', 'generate'],
    },
    {
      id: AT.responses,
      protocols: ['responses', 'messages', 'chat', 'generate'],
      translated: ['messages', 'chat', 'generate'],
    },
    {
      id: AT.generate,
      protocols: ['generate', 'messages', 'chat', 'responses'],
      translated: ['messages', 'chat', 'responses'],
    },
  ])
})
