/** How the official SDKs see an upstream that fails: before the first byte, and in the middle of an answer. */
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const gateway = await openGateway()
t.teardown(() => gateway.stop())
const options = { apiKey: KEY, maxRetries: 0 }
const openai = new OpenAI({ ...options, baseURL: `${gateway.main}/v1` })
const anthropic = new Anthropic({ ...options, baseURL: gateway.main })
const genai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })

const chat = (content: string) => ({ model: 'beta-4.7', messages: [{ role: 'user' as const, content }] })
const messages = (content: string) => ({
  model: 'alpha-sonnet-5-5',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content }],
})
const generate = (contents: string) => ({ model: 'gamma-3.8-flash', contents })

const failureOf = (sent: PromiseLike<unknown>): Promise<Record<string, unknown> & Error> =>
  Promise.resolve(sent).then(
    () => {
      throw new Error('it did not fail')
    },
    error => error,
  )

t.test('the upstream’s own refusal arrives as its own typed error', async t => {
  const bad = '[[sim error=400]]'
  t.match(await failureOf(openai.chat.completions.create(chat(bad))), {
    constructor: OpenAI.BadRequestError,
    status: 400,
    type: 'invalid_request_error',
    message: /simulated failure/,
    requestID: /^\w{21}$/,
  })
  t.match(await failureOf(openai.responses.create({ model: 'beta-4.7', input: bad })), { status: 400 })
  t.match(await failureOf(anthropic.messages.create(messages(bad))), {
    constructor: Anthropic.BadRequestError,
    status: 400,
    type: 'invalid_request_error',
    requestID: /^\w{21}$/,
  })
  const refused = await failureOf(genai.models.generateContent(generate(bad)))
  t.ok(refused instanceof ApiError)
  t.match(refused, { status: 400, message: /INVALID_ARGUMENT/ })
})

t.test('an overloaded upstream is passed on with its status and type', async t => {
  t.match(await failureOf(anthropic.messages.create(messages('[[sim error=529]]'))), {
    status: 529,
    type: 'overloaded_error',
  })
})

t.test('the SDKs’ own retry succeeds, and only the answer is charged', async t => {
  const before = (await gateway.usage('rich', 0)).length
  const patient = new OpenAI({ apiKey: KEY, maxRetries: 2, baseURL: `${gateway.main}/v1` })
  const answer = await patient.chat.completions.create(chat('[[sim error=503 times=1 id=again tokens=9]]'))
  t.equal(answer.usage?.completion_tokens, 9)
  const rows = await gateway.usage('rich', before + 2)
  t.match(rows.slice(0, rows.length - before), [
    { status: 200, basis: 'reported', output: 9 },
    { status: 503, basis: 'none', charge: '0.000000' },
  ])
})

/** Reads to the end, giving what was said to `said`. */
async function read(stream: AsyncIterable<unknown>, said: (text: string) => void): Promise<void> {
  for await (const event of stream) {
    const text = /"(?:text|content|delta)":"([^"]+)"/.exec(JSON.stringify(event))?.[1]
    if (text !== undefined) said(text)
  }
}

const STREAMS: Record<string, (prompt: string) => Promise<AsyncIterable<unknown>>> = {
  chat: prompt => openai.chat.completions.create({ ...chat(prompt), stream: true }),
  responses: prompt => openai.responses.create({ model: 'beta-4.7', input: prompt, stream: true }),
  messages: prompt => anthropic.messages.create({ ...messages(prompt), stream: true }),
  generate: prompt => genai.models.generateContentStream(generate(prompt)),
}
/** Events after which something was said in every protocol, and everything was not. */
const PLACE = { chat: 4, responses: 6, messages: 5, generate: 2 }

for (const [name, open] of Object.entries(STREAMS)) {
  const at = PLACE[name as keyof typeof PLACE]
  t.test(`${name}: a stream that breaks off throws after what was said, and names the request`, async t => {
    const before = (await gateway.usage('rich', 0)).length
    let text = ''
    const error = await failureOf(
      open(`[[sim cut=${at} tokens=60]]`).then(stream => read(stream, part => (text += part))),
    )
    t.ok(text.length > 0)
    const [row] = await gateway.usage('rich', before + 1)
    t.match(row, { end: 'upstream_cut', status: 200 })
    t.ok(error.message.includes(`request id: ${row?.['request_id']}`), error.message)
  })
  t.test(`${name}: the upstream’s own error event throws`, async t => {
    const before = (await gateway.usage('rich', 0)).length
    const error = await failureOf(open(`[[sim event_error=${at} tokens=60]]`).then(stream => read(stream, () => {})))
    t.match(error.message, /overloaded|server had an error/i)
    const [row] = await gateway.usage('rich', before + 1)
    t.match(row, { end: 'upstream_error', status: 200 })
  })
}

t.test('nothing is held afterwards', async t => {
  t.match(await gateway.admin('GET', '/admin/accounts/rich'), { held: '0.000000' })
  t.match(await gateway.admin('GET', '/admin/audit'), { ok: true })
})
