/** Clients of generate-content at models of the other protocols, and the reverse: what they get, what is charged, what upstreams were asked. */
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { ApiError, type Content, type GenerateContentConfig, GoogleGenAI, type Part } from '@google/genai'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import t from 'tap'
import { KEY, stallAfter } from '../support/gateway.ts'
import { modelFor } from './support/busy.ts'
import { AT, chatBy, messagesBy, openTranslated, PNG, SCHEMA, type Via } from './support/translated.ts'

// it does not know these models' limits, and would say so each time
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const translated = await openTranslated(t)
const { gateway, same } = translated
const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })

const TOOLS = { tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: SCHEMA }] }] }

const create = (via: Via, contents: string | Content[], config: GenerateContentConfig = {}) =>
  google.models.generateContent({ model: modelFor(AT[via], contents), contents, config })

/** All parts of a streamed answer, and its last chunk. */
async function stream(via: Via, contents: string | Content[], config: GenerateContentConfig = {}) {
  const parts: Part[] = []
  let last = null
  for await (const chunk of await google.models.generateContentStream({ model: AT[via], contents, config })) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    last = chunk
  }
  const text = parts.map(part => (part.thought === true ? '' : (part.text ?? ''))).join('')
  return { parts, text, usage: last?.usageMetadata, reason: last?.candidates?.[0]?.finishReason }
}

let tokens = 20

for (const via of ['chat', 'messages', 'responses'] as const) {
  t.test(`generate by ${via}: whole and streamed, and the row is what was shown`, async t => {
    const whole = await create(via, `Hello! [[sim tokens=${++tokens}]]`, { systemInstruction: 'You are' })
    t.match(whole.text, /quick brown fox/)
    t.match(whole, { modelVersion: AT[via], candidates: [{ finishReason: 'STOP' }] })
    const first = await same(t, 'generate', via)
    t.match(whole.usageMetadata, { promptTokenCount: first.usage?.input, candidatesTokenCount: tokens })
    const final = await stream(via, `Hello! [[sim tokens=${++tokens}]]`)
    t.match(final.text, /quick brown fox/)
    t.equal(final.reason, 'STOP')
    const second = await same(t, 'generate', via)
    t.match(final.usage, { promptTokenCount: second.usage?.input, candidatesTokenCount: tokens })
    t.equal((await stream(via, 'Hello!', { maxOutputTokens: 5 })).reason, 'MAX_TOKENS')
    const cached = await create(via, `[[sim input=900 cached=300 tokens=${++tokens}]]`)
    const prompt = (await same(t, 'generate', via)).usage!
    t.match(cached.usageMetadata, {
      promptTokenCount: prompt.input + prompt.cache_read,
      cachedContentTokenCount: 300,
      candidatesTokenCount: tokens,
      totalTokenCount: prompt.input + prompt.cache_read + tokens,
    })
  })

  t.test(`generate by ${via}: two rounds of tools, with everything that the answer gave`, async t => {
    const called = await create(via, 'use tool', TOOLS)
    const [call] = called.functionCalls ?? []
    t.match(call, { name: 'weather', args: { city: 'Paris' } })
    const { parts, reason } = await stream(via, 'use tool', TOOLS)
    t.equal(reason, 'STOP')
    t.match(parts.find(part => part.functionCall !== undefined)?.functionCall, { args: { city: 'Paris' } })
    const another = { functionCall: { name: 'weather', args: {} } }
    const answers = ['sunny', 'rain'].map(output => ({ functionResponse: { name: 'weather', response: { output } } }))
    const contents = [
      { role: 'user', parts: [{ text: 'use tool' }] },
      { role: 'model', parts: [...(called.candidates?.[0]?.content?.parts ?? []), another] },
      { role: 'user', parts: answers },
    ]
    t.match((await create(via, contents, TOOLS)).text, /\w/)
    t.match((await stream(via, contents, TOOLS)).text, /\w/)
  })

  t.test(`generate by ${via}: pictures, a schema, thinking`, async t => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: PNG } }, { text: 'What is it?' }]
    t.ok((await create(via, [{ role: 'user', parts }])).text)
    const json = { responseMimeType: 'application/json', responseJsonSchema: SCHEMA }
    t.ok((await create(via, 'A city', json)).text)
    const thinkingConfig = { thinkingBudget: 2000, includeThoughts: true }
    const thought = await stream(via, '[[sim thinking=40 tokens=7]]', { thinkingConfig })
    const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = thought.usage ?? {}
    t.equal(candidatesTokenCount + thoughtsTokenCount, 47)
    t.match(thought.text, /\w/)
  })

  t.test(`generate by ${via}: what cannot be carried is refused or named`, async t => {
    const two = create(via, 'Hello!', { candidateCount: 2 })
    // chat has the like of it
    if (via === 'chat') t.equal((await two).candidates?.length, 2)
    else await t.rejects(two, { status: 400, message: /candidateCount/ })
    const answer = await create(via, 'Hello!', {
      tools: [{ googleSearch: {} }],
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] as never,
    })
    t.equal(answer.sdkHttpResponse?.headers?.['x-gateway-via'], via)
    t.match(answer.sdkHttpResponse?.headers?.['x-gateway-dropped'], /hosted_tools.*safety_settings/)
  })

  t.test(`generate by ${via}: errors, streams that break off, an abort`, async t => {
    const rows: [number, number, string][] = [
      [400, 400, 'INVALID_ARGUMENT'],
      [404, 404, 'NOT_FOUND'],
      [429, 429, 'RESOURCE_EXHAUSTED'],
      [529, 503, 'UNAVAILABLE'],
    ]
    for (const [sent, status, word] of rows) {
      const error = (await create(via, `[[sim error=${sent}]]`).catch((error: unknown) => error)) as ApiError
      t.type(error, ApiError)
      t.equal(error.status, status)
      t.match(JSON.parse(error.message), { error: { code: status, status: word } }, String(sent))
    }
    for (const content of ['[[sim tokens=200 cut=6]]', '[[sim end_early=6]]', '[[sim event_error=6]]'])
      await t.rejects(stream(via, content), { message: /request id: \w{21}/ }, content)
    const contents = `[[sim tokens=${60 + ++tokens} ${stallAfter(6)}]]`
    const leaving = new AbortController()
    const long = await google.models.generateContentStream({
      model: AT[via],
      contents,
      config: { abortSignal: leaving.signal },
    })
    for await (const _ of long) break
    leaving.abort()
    await gateway.goOn()
    const row = await gateway.usageRow({ protocol: 'generate', via, end: 'client_gone' })
    t.match(row, { output: 60 + tokens })
  })

  t.test(`the AI SDK, generate by ${via}: whole, streamed, tools`, async t => {
    const model = createGoogleGenerativeAI({ baseURL: `${gateway.main}/v1beta`, apiKey: KEY })(AT[via])
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
  })
}

t.test('messages by generate', t => messagesBy(t, translated, 'generate'))
t.test('chat by generate', t => chatBy(t, translated, 'generate'))
