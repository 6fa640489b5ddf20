import OpenAI, { APIError } from 'openai'
import t from 'tap'
import { KEY, POOR_KEY, SLOW_KEY, startGateway } from '../support/gateway.ts'

const gateway = await startGateway()
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
  const counted = await openai.responses.inputTokens.count({ model: 'beta-4.7', input: 'Hello!' })
  t.ok(counted.input_tokens > 0)
})

t.test('images, models', async t => {
  const images = await openai.images.generate({ model: 'gamma-image-2', prompt: 'a cat', n: 2 })
  t.equal(images.data?.length, 2)
  const ids = []
  for await (const model of openai.models.list()) ids.push(model.id)
  t.same(ids, ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2'])
  t.equal((await openai.models.retrieve('beta-4.7')).id, 'beta-4.7')
})

t.test('typed errors with status and request id', async t => {
  await client(SLOW_KEY).chat.completions.create({ model: 'beta-4.7', messages: HELLO })
  const rows: [string, string, string, number][] = [
    ['a bad key', 'sk-none', 'beta-4.7', 401],
    ['no money', POOR_KEY, 'beta-4.7', 403],
    ['no such model', KEY, 'nope', 400],
    ['too many', SLOW_KEY, 'beta-4.7', 429],
  ]
  for (const [name, key, model, status] of rows) {
    const error = await client(key)
      .chat.completions.create({ model, messages: HELLO })
      .then(
        () => null,
        (e: unknown) => e as APIError,
      )
    t.ok(error instanceof APIError, name)
    t.equal(error?.status, status, name)
    t.ok(error?.requestID && error.message.includes(error.requestID), name)
    t.equal(error?.type, 'gateway_api_error', name)
  }
})

t.test('an abort in mid-stream is charged what was used, and recorded', async t => {
  const before = (await gateway.usage('rich', 0)).length
  const controller = new AbortController()
  const stream = await openai.chat.completions.create(
    { model: 'beta-4.7', messages: [{ role: 'user', content: '[[sim tokens=40 tps=100]]' }], stream: true },
    { signal: controller.signal },
  )
  let chunks = 0
  for await (const _ of stream) if (++chunks === 3) controller.abort()
  const [row] = await gateway.usage('rich', before + 1)
  t.match(row, { end: 'client_gone', basis: 'reported', output: 40, model: 'beta-4.7' })
})
