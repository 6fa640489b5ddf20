/** How likely the tokens of an answer were (`logprobs`), between the three protocols that say it: requests, and answers in every form. */

import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { decode } from '../../lib/protocols/json/text.ts'
import { Blocks } from '../../lib/translate/answer-reader.ts'
import type { AnswerEvent, LikelyToken, Logprobs } from '../../lib/translate/events.ts'
import { join, literal } from '../../lib/translate/json/literal.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { type Random, seeded, text } from '../support/random.ts'
import { cuts, type Loose, readAll, readerOptions, usageOf, writeAll, writerOptions } from './support/answers.ts'
import { oddLiteral } from './support/asks.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'
import { bodyOf, refuses, via } from './support/rows.ts'

const CHAT = { messages: [{ role: 'user', content: 'q' }], logprobs: true, top_logprobs: 2 }
const RESPONSES = { input: 'q', include: ['message.output_text.logprobs'], top_logprobs: 2 }
const GENERATE = {
  contents: [{ role: 'user', parts: [{ text: 'q' }] }],
  generationConfig: { responseLogprobs: true, logprobs: 2 },
}
const ASKS: [Translated, object, field: string][] = [
  [chat, CHAT, 'logprobs'],
  [responses, RESPONSES, 'include'],
  [generate, GENERATE, 'generationConfig.responseLogprobs'],
]
const WANTED = new Map<Translated, object>([
  [chat, { logprobs: true, top_logprobs: 2 }],
  [responses, { include: ['reasoning.encrypted_content', 'message.output_text.logprobs'], top_logprobs: 2 }],
  [generate, { generationConfig: { responseLogprobs: true, logprobs: 2 } }],
])

t.test('requests ask for them in the words of the target, or are refused by name', async t => {
  for (const [from, body, field] of ASKS) {
    for (const [to, wanted] of WANTED) if (to !== from) t.match(bodyOf(via(from, to, body)), wanted)
    refuses(t, from, messages, body, field)
  }
  const alone = bodyOf(via(chat, generate, { ...CHAT, top_logprobs: 0 }))['generationConfig']
  t.same(alone, { responseLogprobs: true }, 'without alternatives')
  const none = { ...CHAT, logprobs: false, top_logprobs: 0 }
  for (const to of [messages, responses, generate]) t.notMatch(via(chat, to, none).body, /ogprobs/)
  t.match(bodyOf(via(responses, chat, { input: 'q', top_logprobs: 3 })), { logprobs: true, top_logprobs: 3 })
  for (const top of [21, -1, 1.5, '2']) refuses(t, chat, responses, { ...CHAT, top_logprobs: top }, 'top_logprobs')
  refuses(t, chat, responses, { ...CHAT, logprobs: 5 }, 'logprobs')
})

// --- answers

function oneOf(random: Random, token = oddLiteral(random, text(random))): LikelyToken {
  const value = decode(token) as string
  return { token, logprob: random.pick(['-0.25', '-1.5e-3', '0', '-9999.0']), bytes: `[${[...Buffer.from(value)]}]` }
}

/** Texts between thoughts and calls, of which each piece has its tokens. */
function answerOf(random: Random): AnswerEvent[] {
  const blocks = new Blocks(readerOptions())
  blocks.begin('id', 'model')
  for (let n = random.int(1, 3); n > 0; n--) {
    if (random.next() < 0.3) blocks.text('thought', literal(`x${text(random)}`))
    for (let more = random.int(1, 4); more > 0; more--) {
      const tokens: Logprobs = Array.from({ length: random.int(0, 3) }, () => {
        return { ...oneOf(random), top: Array.from({ length: random.int(0, 2) }, () => oneOf(random)) }
      })
      const said = join([literal('x'), ...tokens.map(({ token }) => token)])
      blocks.text('text', said, undefined, tokens)
    }
    if (random.next() < 0.3) blocks.closeCall(blocks.call('', 'tool'))
  }
  blocks.reason = 'end'
  blocks.finish()
  return [...blocks.found.take()]
}

const plainToken = ({ token, logprob }: LikelyToken): [string | null, number] => [decode(token), Number(logprob)]

/** All texts, and the tokens in their order. */
function told(events: readonly AnswerEvent[]): object {
  const texts = new Set(events.flatMap(event => (event.type === 'open' && event.kind === 'text' ? [event.index] : [])))
  const deltas = events.flatMap(event => (event.type === 'delta' && texts.has(event.index) ? [event] : []))
  const tokens = deltas.flatMap(({ logprobs = [] }) => logprobs)
  return {
    text: decode(join(deltas.map(delta => delta.text))),
    tokens: tokens.map(({ top, ...token }) => [...plainToken(token), top.map(plainToken)]),
  }
}

t.test('answers arrive with the tokens of their texts, in every form, however they are cut', async t => {
  const random = seeded(t)
  const all = [chat, responses, generate]
  for (let run = 0; run < 300; run++) {
    const [upstream, client] = [random.pick(all), random.pick(all)]
    const answer = answerOf(random)
    const forms = { events: random.next() < 0.5 }
    const read = readAll(upstream, cuts(random, writeAll(upstream, answer, usageOf(), forms)), forms)
    const events = random.next() < 0.5
    const array = client === generate && !events && random.next() < 0.5
    const bytes = writeAll(client, read, usageOf(), { events, array })
    const again = readAll(client, cuts(random, bytes), { events })
    if (!t.same(told(again), told(answer), `run ${run}`)) return
  }
})

t.test('bytes stand where the client has them, and are made where the upstream does not tell them', async t => {
  const token = { token: 'é', logProbability: -0.5 }
  const result = { chosenCandidates: [token, { token: '!' }], topCandidates: [{ candidates: [token] }] }
  const parts = [{ text: 'thought', thought: true }, { text: 'é!' }]
  const candidate = { content: { parts }, logprobsResult: result, finishReason: 'STOP' }
  const read = readAll(generate, [Buffer.from(JSON.stringify({ candidates: [candidate] }))], { events: false })
  const likely = { token: 'é', logprob: -0.5, bytes: [0xc3, 0xa9] }
  const content = [
    { ...likely, top_logprobs: [likely] },
    { token: '!', logprob: 0, bytes: [0x21], top_logprobs: [] },
  ]
  const written = (client: Translated, events = read): Loose =>
    JSON.parse(writeAll(client, events, usageOf(), { events: false }).toString())
  t.same(written(chat)['choices'][0].logprobs, { content, refusal: null })
  t.same(written(responses)['output'].at(-1).content[0].logprobs, content)
  const own = written(generate)['candidates'][0]
  t.match(own, { avgLogprobs: -0.25, logprobsResult: { chosenCandidates: [token, { token: '!', logProbability: 0 }] } })
  const special = { token: '<end>', logprob: -1, bytes: null, top_logprobs: [] }
  const choice = {
    message: { content: 'a' },
    logprobs: { content: [special, { token: 'b' }, 7] },
    finish_reason: 'stop',
  }
  const of = readAll(chat, [Buffer.from(JSON.stringify({ choices: [choice] }))], { events: false })
  t.same(written(chat, of)['choices'][0].logprobs.content, [special], 'what is no token is left out')
  t.same(written(responses, of)['output'][0].content[0].logprobs, [{ ...special, bytes: [] }], 'a list is wanted here')
  t.notMatch(writeAll(messages, read, usageOf(), { events: false }).toString(), /ogprob/)
})

t.test('events that are alike but for their text keep their tokens', async t => {
  const event = (content: string) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, logprobs: { content: [{ token: 'x', logprob: -1 }] } }] })}\n\n`
  const bytes = `${event('a')}${event('b')}${event('c')}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
  const deltas = readAll(chat, [Buffer.from(bytes)]).flatMap(one => (one.type === 'delta' ? [one] : []))
  t.same(
    deltas.map(({ logprobs }) => logprobs?.length),
    [1, 1, 1],
  )
})

t.test('what is kept of them counts as memory, and ends an answer that has too much', async t => {
  const top = Array.from({ length: 20 }, () => ({ token: '"tokens"', logprob: '-1.5', bytes: '[1,2,3]' }))
  const logprobs: Logprobs = Array.from({ length: 100 }, () => ({ token: '"x"', logprob: '-1', bytes: null, top }))
  for (const events of [true, false]) {
    const writer = responses.answerWriter(writerOptions({ events }))
    writer.write({ type: 'open', index: 0, kind: 'text' })
    let held = writer.held
    for (let n = 0; n < 10_000 && writer.failure === null; n++) {
      writer.write({ type: 'delta', index: 0, text: '"x"', logprobs })
      t.ok(writer.failure !== null || writer.held > held + 20_000)
      held = writer.held
    }
    t.match(writer.failure, { message: /too long/ })
  }
})

/** A document of chat completions whose tokens have twenty alternatives each. */
const longDocument = (tokens: number) => {
  const one = { token: 'ab', logprob: -1.25, bytes: [97, 98] }
  const text = JSON.stringify({ ...one, top_logprobs: Array.from({ length: 20 }, () => one) })
  const choice = `{"index":0,"message":{"content":"x"},"logprobs":{"content":[${Array(tokens).fill(text).join(',')}]},"finish_reason":"stop"}`
  return Buffer.from(`{"id":"c","choices":[${choice}],"usage":{"prompt_tokens":1,"completion_tokens":${tokens}}}`)
}

t.test('a whole answer of a million values is read, and one that has more than can be is named', async t => {
  const tokens = 6000 // each has 200 values
  const answer = readAll(chat, [longDocument(tokens)], { events: false })
  const [part] = JSON.parse(writeAll(responses, answer, usageOf(), { events: false }).toString()).output[0].content
  t.equal(part.logprobs.length, tokens)
  t.match(part.logprobs.at(-1), { token: 'ab', logprob: -1.25, top_logprobs: Array(20).fill({ bytes: [97, 98] }) })
  const values = Buffer.from(`{"choices":[${'0,'.repeat(1 << 22)}0]}`)
  t.match(readAll(chat, [values], { events: false }).at(-1), {
    type: 'fail',
    failure: { status: 502, message: 'the answer has too many values' },
  })
})

// --- the official clients

const answering = (bytes: Buffer) => async (): Promise<Response> =>
  new Response(bytes, { status: 200, headers: { 'content-type': 'text/event-stream' } })

t.test('the official clients have the tokens of a stream', async t => {
  const random = seeded(t)
  const answer = answerOf(random)
  const { tokens } = told(answer) as { tokens: [string, number, [string, number][]][] }
  const flat = tokens.map(([token, logprob]) => [token, logprob])
  const openai = (protocol: Translated) =>
    new OpenAI({ apiKey: 'k', maxRetries: 0, fetch: answering(writeAll(protocol, answer, usageOf())) })
  const stream = openai(chat).chat.completions.stream({ model: 'm', messages: [], logprobs: true })
  const { choices } = await stream.finalChatCompletion()
  const pairs = (all: readonly { token: string; logprob: number }[]) => all.map(one => [one.token, one.logprob])
  t.same(pairs(choices[0]?.logprobs?.content ?? []), flat)
  const { output } = await openai(responses).responses.stream({ model: 'm', input: 'q' }).finalResponse()
  const said = output.flatMap(item => (item.type === 'message' ? item.content : []))
  t.same(pairs(said.flatMap(part => (part.type === 'output_text' ? (part.logprobs ?? []) : []))), flat)
  const real = globalThis.fetch
  globalThis.fetch = answering(writeAll(generate, answer, usageOf()))
  t.teardown(() => {
    globalThis.fetch = real
  })
  const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: 'http://upstream.test' } })
  const seen: unknown[] = []
  for await (const chunk of await google.models.generateContentStream({ model: 'm', contents: 'x' }))
    for (const one of chunk.candidates?.[0]?.logprobsResult?.chosenCandidates ?? [])
      seen.push([one.token, one.logProbability])
  t.same(seen, flat)
})
