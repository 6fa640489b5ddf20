import { ApiError, GoogleGenAI } from '@google/genai'
import t from 'tap'
import { KEY, POOR_KEY, SLOW_KEY, stallAfter } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const gateway = await openGateway()
t.teardown(() => gateway.stop())
const client = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.main } })
const genai = client(KEY)
const MODEL = 'gamma-3.8-flash'

t.test('generate: whole, streamed, tools', async t => {
  const whole = await genai.models.generateContent({ model: MODEL, contents: 'Hello!' })
  t.match(whole.text, /quick brown fox/)
  t.equal(whole.usageMetadata?.candidatesTokenCount, 24)
  let text = ''
  for await (const chunk of await genai.models.generateContentStream({ model: MODEL, contents: 'Hello!' }))
    text += chunk.text ?? ''
  t.equal(text, whole.text)
  const tool = await genai.models.generateContent({
    model: MODEL,
    contents: 'use tool',
    config: { tools: [{ functionDeclarations: [{ name: 'weather' }] }] },
  })
  t.match(tool.functionCalls?.[0], { name: 'weather', args: { city: 'Paris' } })
  const calls = []
  for await (const chunk of await genai.models.generateContentStream({
    model: MODEL,
    contents: 'use tool',
    config: { tools: [{ functionDeclarations: [{ name: 'weather' }] }] },
  }))
    calls.push(...(chunk.functionCalls ?? []))
  t.match(calls, [{ name: 'weather', args: { city: 'Paris' } }])
  const cut = await genai.models.generateContent({ model: MODEL, contents: 'Hello!', config: { maxOutputTokens: 5 } })
  t.equal(cut.candidates?.[0]?.finishReason, 'MAX_TOKENS')
})

t.test('counting tokens, the model list', async t => {
  t.ok(((await genai.models.countTokens({ model: MODEL, contents: 'Hello!' })).totalTokens ?? 0) > 0)
  const names = []
  for await (const model of await genai.models.list()) names.push(model.name)
  t.ok(names.includes(`models/${MODEL}`))
})

t.test('typed errors with status and request id', async t => {
  await client(SLOW_KEY).models.generateContent({ model: MODEL, contents: 'Hello!' })
  const rows: [string, string, string, number][] = [
    ['a bad key', 'sk-none', MODEL, 401],
    ['no money', POOR_KEY, MODEL, 403],
    ['no such model', KEY, 'nope', 400],
    ['too many', SLOW_KEY, MODEL, 429],
  ]
  for (const [name, key, model, status] of rows) {
    const error = await client(key)
      .models.generateContent({ model, contents: 'Hello!' })
      .then(
        () => null,
        (e: unknown) => e as ApiError,
      )
    t.ok(error instanceof ApiError, name)
    t.equal(error?.status, status, name)
    t.match(error?.message, /request id: /, name)
  }
})

t.test('a stream that breaks off throws', async t => {
  for (const contents of ['[[sim cut=1]]', '[[sim end_early=1]]', '[[sim event_error=1]]']) {
    let chunks = 0
    const stream = await genai.models.generateContentStream({ model: MODEL, contents })
    const read = async () => {
      for await (const _ of stream) chunks++
    }
    await t.rejects(read(), contents)
    t.equal(chunks, 1)
  }
})

t.test('an abort in mid-stream', async t => {
  const controller = new AbortController()
  const contents = `[[sim tokens=80 ${stallAfter(2)}]]`
  const stream = await genai.models.generateContentStream({
    model: MODEL,
    contents,
    config: { abortSignal: controller.signal },
  })
  await t.rejects(async () => {
    for await (const _ of stream) controller.abort()
  })
  await gateway.goOn()
  const row = await gateway.usageRow({ end: 'client_gone' })
  t.match(row, { protocol: 'generate', basis: 'reported', output: 80, status: 200 })
})
