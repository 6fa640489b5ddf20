/**
 * Five requests in a row whose answers could not be told in the client's protocol rested the channel for all accounts, and were free:
 * a call whose arguments are no object, a word of the model's own failure, more than is kept. So did streams that begin with an error, whatever
 * it says of the request, as a prompt that is too long. Who chooses the request chooses the answer.
 */
// The bug behind these rows: one client closes a channel to everybody.
import t, { type Test } from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS } from './support/gateway.ts'
import type { Script } from './support/upstream.ts'

const REQUESTS = 12

const chat = (message: object, finish_reason = 'tool_calls'): object => ({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
  usage: { prompt_tokens: 100, completion_tokens: 10 },
})
const calling = (count: number, args: string): object => ({
  tool_calls: Array.from({ length: count }, (_, i) => ({
    id: `c${i}`,
    type: 'function',
    function: { name: 'f', arguments: args },
  })),
})
const generate = (finishReason: string): object => ({
  candidates: [{ index: 0, finishReason }],
  usageMetadata: { promptTokenCount: 100, thoughtsTokenCount: 10, totalTokenCount: 110 },
})
const whole =
  (body: object): Script =>
  call =>
    call.whole(200, body)
const stream =
  (...events: object[]): Script =>
  call => {
    call.stream()
    for (const event of events) call.chunk(`data: ${JSON.stringify(event)}\n\n`)
    call.end()
  }
const delta = (delta: object): object => ({ id: 'c', choices: [{ index: 0, delta }] })
/** More than a document that is translated may have. */
const long: Script = call => {
  call.start(200, { 'content-type': 'application/json' })
  call.raw('{"id":"')
  const piece = 'x'.repeat(1024 * 1024)
  for (let i = 0; i < 33; i++) call.raw(piece)
  call.halfClose()
}

const CAUSED: [what: string, protocol: 'chat' | 'generate', Script][] = [
  ['arguments that are no object', 'chat', whole(chat(calling(1, '[1]')))],
  ['too many parts', 'chat', whole(chat(calling(5000, '{}')))],
  ['arguments of a stream that are no object', 'chat', stream(delta(calling(1, '{"a":1}')), delta(calling(1, '2')))],
  ['a call that could not be read', 'generate', whole(generate('MALFORMED_FUNCTION_CALL'))],
  ['a state that was not sent', 'generate', stream(generate('MISSING_THOUGHT_SIGNATURE'))],
  ['too long', 'chat', long],
]
const BROKEN: typeof CAUSED = [
  ['a failure that the upstream names', 'chat', whole(chat({ content: '' }, 'insufficient_system_resource'))],
  ['no answer of the protocol', 'chat', whole({ hello: 'world' })],
]

async function stateAfter(t: Test, protocol: 'chat' | 'generate', script: Script, isStream: boolean) {
  const s = await open(t, { channels: { a: { protocols: [protocol] } }, config: { retry: { attempts: 1 } } })
  s.at('a').script = script
  const body = { model: MODEL, max_tokens: 100, stream: isStream, messages: [{ role: 'user', content: 'Hi' }] }
  for (let i = 0; i < REQUESTS; i++) {
    const asked = s.ask({ path: PATHS.messages, headers: HEADERS, body })
    await asked.end()
    // whoever leaves so much unpaid is kept off the channel, see unpaid-answers.test.ts
    const isKeptOff = i >= 10 && asked.status === 503
    t.ok(
      isKeptOff || asked.status === 502 || asked.text.includes('event: error') || s.state('a') !== 'closed',
      asked.text,
    )
  }
  const state = s.state('a')
  const { left, ok } = await s.books()
  t.same([left, ok], [NOTHING_LEFT, true])
  return state
}

for (const [what, protocol, script] of CAUSED)
  t.test(`${what}: the channel is not to blame`, async t => {
    t.equal(await stateAfter(t, protocol, script, what.includes('stream') || what.includes('state')), 'closed')
  })

for (const [what, protocol, script] of BROKEN)
  t.test(`${what}: the channel rests`, async t => {
    t.not(await stateAfter(t, protocol, script, false), 'closed')
  })

const TOO_LONG = { error: { type: 'BadRequestError', code: 400, message: 'the maximum context length is 4096 tokens' } }
const responses = (type: string, response: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, response: { id: 'r', object: 'response', output: [], ...response } })}\n\n`
const failed = (error: object): string =>
  responses('response.created', { status: 'in_progress' }) + responses('response.failed', { status: 'failed', error })
const said = (text: string, type = 'text/event-stream'): Script => {
  return call => {
    call.start(200, { 'content-type': type, 'content-length': String(text.length) })
    call.raw(text)
  }
}
const NAMED: [what: string, path: keyof typeof PATHS, served: string[], text: string, state: string][] = [
  ['chat', 'chat', ['chat'], `data: ${JSON.stringify(TOO_LONG)}\n\n`, 'closed'],
  ['chat, translated', 'messages', ['chat'], `data: ${JSON.stringify(TOO_LONG)}\n\n`, 'closed'],
  [
    'messages',
    'messages',
    ['messages'],
    'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"no"}}\n\n',
    'closed',
  ],
  ['responses', 'responses', ['responses'], failed({ code: 'context_length_exceeded', message: 'too long' }), 'closed'],
  ['responses, a fault', 'responses', ['responses'], failed({ code: 'server_error', message: 'sorry' }), 'open'],
  [
    'generate',
    'generate',
    ['generate'],
    'data: {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no"}}\n\n',
    'closed',
  ],
  ['chat, a fault', 'chat', ['chat'], 'data: {"error":{"message":"sorry","code":500}}\n\n', 'open'],
  ['chat, no words', 'chat', ['chat'], 'data: {"error":{"message":"400"}}\n\n', 'open'],
]

for (const [what, path, protocols, text, state] of NAMED)
  t.test(`a stream that begins with an error, ${what}`, async t => {
    const s = await open(t, { channels: { a: { protocols } }, config: { retry: { attempts: 1 } } })
    s.at('a').script = said(text)
    const [user] = [{ role: 'user', content: 'Hi' }]
    const max = { max_tokens: 100, max_output_tokens: 100 }
    const body =
      path === 'generate'
        ? { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { maxOutputTokens: 100 } }
        : { model: MODEL, ...max, stream: true, ...(path === 'responses' ? { input: 'Hi' } : { messages: [user] }) }
    for (let i = 0; i < REQUESTS; i++)
      await s
        .ask({
          path: PATHS[path].replace(':generateContent', ':streamGenerateContent?alt=sse'),
          headers: HEADERS,
          body,
        })
        .end()
    t.equal(s.state('a'), state)
    const { rows, left, ok } = await s.books()
    t.ok(rows.every(({ charge }) => charge === 0))
    t.same([left, ok], [NOTHING_LEFT, true])
  })
