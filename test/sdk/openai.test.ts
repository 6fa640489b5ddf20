import OpenAI, {
  type APIError,
  AuthenticationError,
  BadRequestError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import t from 'tap'
import { KEY, POOR_KEY, SLOW_KEY, stallAfter } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const gateway = await openGateway()
t.teardown(() => gateway.stop())
const client = (apiKey: string) => new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey, maxRetries: 0 })
const openai = client(KEY)
const HELLO = [{ role: 'user' as const, content: 'Hello!' }]
const WEATHER = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

t.test('chat: whole, streamed, tools', async t => {
  const whole = await openai.chat.completions.create({ model: 'beta-4.7', messages: HELLO })
  t.match(whole.choices[0]?.message.content, /quick brown fox/)
  t.equal(whole.usage?.completion_tokens, 24)
  let text = ''
  let usage = 0
  for await (const chunk of await openai.chat.completions.create({
    model: 'beta-4.7',
    messages: HELLO,
    stream: true,
  })) {
    text += chunk.choices[0]?.delta.content ?? ''
    if (chunk.usage) usage++
  }
  t.equal(text, whole.choices[0]?.message.content)
  t.equal(usage, 0, 'usage that was not asked for does not come')
  const asked = await openai.chat.completions.create({
    model: 'beta-4.7',
    messages: HELLO,
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const chunk of asked) if (chunk.usage) usage = chunk.usage.completion_tokens
  t.equal(usage, 24)
  const tool = await openai.chat.completions.create({
    model: 'beta-4.7',
    messages: [{ role: 'user', content: 'use tool' }],
    tools: [WEATHER],
  })
  t.match(tool.choices[0]?.message.tool_calls?.[0], { function: { name: 'weather', arguments: '{"city":"Paris"}' } })
  const run = openai.chat.completions.stream({
    model: 'beta-4.7',
    messages: [{ role: 'user', content: 'use tool' }],
    tools: [WEATHER],
  })
  t.match((await run.finalChatCompletion()).choices[0]?.message.tool_calls?.[0], { function: { name: 'weather' } })
})

t.test('responses: whole, streamed, tools, counting', async t => {
  const whole = await openai.responses.create({ model: 'beta-4.7', input: 'Hello!' })
  t.match(whole.output_text, /quick brown fox/)
  const stream = openai.responses.stream({ model: 'beta-4.7', input: 'Hello!' })
  const final = await stream.finalResponse()
  t.equal(final.output_text, whole.output_text)
  t.equal(final.usage?.output_tokens, 24)
  const tool = await openai.responses.create({
    model: 'beta-4.7',
    input: 'use tool',
    tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }],
  })
  t.match(tool.output[0], { type: 'function_call', name: 'weather' })
  const tooled = openai.responses.stream({
    model: 'beta-4.7',
    input: 'use tool',
    tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }],
  })
  t.match((await tooled.finalResponse()).output[0], { type: 'function_call', name: 'weather' })
  const cut = await openai.responses.create({ model: 'beta-4.7', input: 'Hello!', max_output_tokens: 16 })
  t.match(cut, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  const counted = await openai.responses.inputTokens.count({ model: 'beta-4.7', input: 'Hello!' })
  t.ok(counted.input_tokens > 0)
})

t.test('images, models', async t => {
  const images = await openai.images.generate({ model: 'gamma-image-2', prompt: 'a cat', n: 2 })
  t.equal(images.data?.length, 2)
  t.match(images.data?.[0]?.url, /^http/)
  const bytes = await openai.images.generate({ model: 'gamma-image-2', prompt: 'a cat', response_format: 'b64_json' })
  t.same(
    Buffer.from(bytes.data?.[0]?.b64_json ?? '', 'base64')
      .subarray(1, 4)
      .toString(),
    'PNG',
  )
  const ids = []
  for await (const model of openai.models.list()) ids.push(model.id)
  t.same(ids, ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2'])
  t.equal((await openai.models.retrieve('beta-4.7')).id, 'beta-4.7')
  const price = { prompt: /^0\.0{4,}\d+$/, completion: /^0\.0{4,}\d+$/, currency: 'CNY', request: null }
  t.match(await openai.models.retrieve('beta-4.7'), {
    context_length: null,
    max_output: null,
    architecture: { input_modalities: null, output_modalities: ['text'] },
    pricing: price,
  })
  t.match(await openai.models.retrieve('gamma-image-2'), {
    architecture: { input_modalities: ['text'], output_modalities: ['image'] },
    pricing: { prompt: null, image: /^\d/ },
  })
})

t.test('typed errors with status and request id', async t => {
  await client(SLOW_KEY).chat.completions.create({ model: 'beta-4.7', messages: HELLO })
  const rows: [string, string, string, number, abstract new (...args: never) => APIError][] = [
    ['a bad key', 'sk-none', 'beta-4.7', 401, AuthenticationError],
    ['no money', POOR_KEY, 'beta-4.7', 403, PermissionDeniedError],
    ['no such model', KEY, 'nope', 400, BadRequestError],
    ['too many', SLOW_KEY, 'beta-4.7', 429, RateLimitError],
  ]
  for (const [name, key, model, status, type] of rows) {
    const error = await client(key)
      .chat.completions.create({ model, messages: HELLO })
      .then(
        () => null,
        (e: unknown) => e as APIError,
      )
    t.ok(error instanceof type, name)
    t.equal(error?.status, status, name)
    t.ok(error?.requestID && error.message.includes(error.requestID), name)
    t.equal(error?.type, 'gateway_api_error', name)
  }
})

t.test('a stream that ends too early throws, with the request id: its clean end is not passed on', async t => {
  const content = '[[sim end_early=6]]'
  const chat = await openai.chat.completions.create({
    model: 'beta-4.7',
    messages: [{ role: 'user', content }],
    stream: true,
  })
  await t.rejects(drained(chat), { message: /request id: \w{21}/ })
  const responses = await openai.responses.create({ model: 'beta-4.7', input: content, stream: true })
  await t.rejects(drained(responses), { message: /request id: \w{21}/ })
})

t.test('an abort in mid-stream is charged what was used, and recorded', async t => {
  const content = `[[sim tokens=40 ${stallAfter(6)}]]`
  const model = 'beta-4.7'
  const chat = () =>
    openai.chat.completions.create({ model, messages: [{ role: 'user', content }], stream: true }).withResponse()
  const responses = () => openai.responses.create({ model, input: content, stream: true }).withResponse()
  for (const [protocol, start] of Object.entries({ chat, responses })) {
    const { data, request_id } = await start()
    let events = 0
    for await (const _ of data) if (++events === 5) break
    t.equal(events, 5)
    await gateway.goOn()
    const row = await gateway.usageRow({ request_id: request_id })
    t.match(row, { protocol, model, end: 'client_gone', basis: 'reported', output: 40, status: 200 })
  }
})

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
