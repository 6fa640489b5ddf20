import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  PermissionDeniedError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import t from 'tap'
import { KEY, POOR_KEY, SLOW_KEY, stallAfter } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const gateway = await openGateway()
t.teardown(() => gateway.stop())
const client = (apiKey: string) => new Anthropic({ baseURL: gateway.main, apiKey, maxRetries: 0 })
const anthropic = client(KEY)
const ask = (content: string) => ({
  model: 'alpha-sonnet-5-5',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content }],
})
const WEATHER = { name: 'weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } }

t.test('messages: whole, streamed, tools, cut by length', async t => {
  const whole = await anthropic.messages.create(ask('Hello!'))
  t.match(whole.content[0], { type: 'text', text: /quick brown fox/ })
  t.equal(whole.usage.output_tokens, 24)
  const final = await anthropic.messages.stream(ask('Hello!')).finalMessage()
  t.same(final.content[0], whole.content[0])
  t.equal(final.usage.output_tokens, 24)
  const tool = await anthropic.messages.create({ ...ask('use tool'), tools: [WEATHER] })
  t.match(tool.content[0], { type: 'tool_use', name: 'weather', input: { city: 'Paris' } })
  const streamed = await anthropic.messages.stream({ ...ask('use tool'), tools: [WEATHER] }).finalMessage()
  t.match(streamed.content[0], { type: 'tool_use', input: { city: 'Paris' } })
  t.equal(streamed.stop_reason, 'tool_use')
  t.equal((await anthropic.messages.create({ ...ask('Hello!'), max_tokens: 5 })).stop_reason, 'max_tokens')
})

t.test('counting tokens, the model list', async t => {
  t.ok(
    (await anthropic.messages.countTokens({ model: 'alpha-sonnet-5-5', messages: ask('Hello!').messages }))
      .input_tokens > 0,
  )
  const ids = []
  for await (const model of anthropic.models.list({ limit: 2 })) ids.push(model.id)
  t.same(ids, ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2'], 'page by page')
  t.equal((await anthropic.models.retrieve('alpha-sonnet-5-5')).id, 'alpha-sonnet-5-5')
})

t.test('typed errors with status and request id', async t => {
  await client(SLOW_KEY).messages.create(ask('Hello!'))
  const rows: [string, string, string, number, abstract new (...args: never) => APIError][] = [
    ['a bad key', 'sk-none', 'alpha-sonnet-5-5', 401, AuthenticationError],
    ['no money', POOR_KEY, 'alpha-sonnet-5-5', 403, PermissionDeniedError],
    ['no such model', KEY, 'nope', 400, BadRequestError],
    ['too many', SLOW_KEY, 'alpha-sonnet-5-5', 429, RateLimitError],
  ]
  for (const [name, key, model, status, type] of rows) {
    const error = await client(key)
      .messages.create({ ...ask('Hello!'), model })
      .then(
        () => null,
        (e: unknown) => e as InstanceType<typeof APIError>,
      )
    t.ok(error instanceof type, name)
    t.equal(error?.status, status, name)
    t.ok(error?.requestID && error.message.includes(error.requestID), name)
  }
})

t.test('a stream that breaks off throws, with what was said before it', async t => {
  for (const content of ['[[sim cut=6]]', '[[sim end_early=6]]', '[[sim event_error=6]]']) {
    let text = ''
    const stream = await anthropic.messages.create({ ...ask(content), stream: true })
    const read = async () => {
      for await (const event of stream)
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
    await t.rejects(read(), APIError, content)
    t.match(text, /^The quick/)
  }
})

t.test('an abort in mid-stream', async t => {
  const stream = anthropic.messages.stream(ask(`[[sim tokens=40 ${stallAfter(5)}]]`))
  stream.on('text', () => stream.abort())
  await t.rejects(stream.finalMessage())
  await gateway.goOn()
  t.match(await gateway.usageRow({ request_id: stream.request_id }), {
    end: 'client_gone',
    basis: 'reported',
    output: 40,
    status: 200,
  })
})
