/** Claude on Bedrock through the whole gateway: the official SDK as a client of messages, a chat client by translation, and what goes wrong. */
import { APIError } from '@anthropic-ai/sdk'
import t from 'tap'
import { ARN, ask, failure, ID, scene } from './support/at-bedrock.ts'
import { KEY, MODEL, NOTHING_LEFT } from './support/gateway.ts'

const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } } }
const WEATHER = { name: 'weather', input_schema: SCHEMA }
const FUNCTION = { type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }

t.test('a client of messages: whole, streamed, tools', async t => {
  const s = await scene(t)
  const betas =
    'claude-code-20250219, interleaved-thinking-2025-05-14,prompt-caching-scope-2026-01-05,context-1m-2025-08-07'
  const headers = { 'anthropic-beta': betas }
  const whole = await s.anthropic.messages.create(ask('Hello! [[sim tokens=21]]'), { headers })
  t.match(whole, {
    id: /^msg_/,
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: /quick brown fox/ }],
    usage: { output_tokens: 21 },
  })
  const final = await s.anthropic.messages.stream(ask('Hello! 你好 [[sim tokens=22]]'), { headers }).finalMessage()
  t.match(final, {
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: /quick brown fox/ }],
    usage: { output_tokens: 22 },
  })
  const tool = await s.anthropic.messages.stream(ask('use tool', { tools: [WEATHER] })).finalMessage()
  t.match(tool, { stop_reason: 'tool_use', content: [{ type: 'tool_use', input: { city: 'Paris' } }] })
  const thought = await s.anthropic.messages
    .stream(ask('Hello! [[sim thinking=5]]', { thinking: { type: 'enabled', budget_tokens: 1024 } }))
    .finalMessage()
  t.match(thought.content, [{ type: 'thinking' }, { type: 'text' }])
  const profile = await s.anthropic.messages.create({ ...ask('Hello!'), model: 'profile' })
  t.equal(profile.stop_reason, 'end_turn')
  const raw = await fetch(`${s.urls.direct}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(ask('Hello!', { stream: true })),
  })
  t.match(raw.headers.get('content-type'), /^text\/event-stream/)
  const text = await raw.text()
  t.match(text, /^event: message_start\ndata: \{"type":"message_start"/)
  t.ok(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n'))
  t.same(
    s.double.asked.map(one => one.url),
    [
      `/model/${encodeURIComponent(ID)}/invoke`,
      ...[1, 2, 3].map(() => `/model/${encodeURIComponent(ID)}/invoke-with-response-stream`),
      `/model/${encodeURIComponent(ARN)}/invoke`,
      `/model/${encodeURIComponent(ID)}/invoke-with-response-stream`,
    ],
  )
  t.same(s.double.asked[0]?.body, {
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['interleaved-thinking-2025-05-14', 'context-1m-2025-08-07'],
    max_tokens: 2000,
    messages: ask('Hello! [[sim tokens=21]]').messages,
  })
  for (const { headers } of s.double.asked) t.equal(headers.accept, 'application/json')
  const rows = await s.same(t)
  t.match(
    rows,
    rows.map(() => ({ protocol: 'messages', channel: 'b0', via: null, upstreamId: /^[0-9a-f-]{36}$/ })),
  )
  t.equal(rows.length, 6)
})

t.test('clients of other protocols by translation', async t => {
  const s = await scene(t)
  const whole = await s.openai.chat.completions.create(ask('Hello! [[sim tokens=31]]'))
  t.match(whole.choices, [{ finish_reason: 'stop', message: { content: /quick brown fox/ } }])
  t.equal(whole.usage?.completion_tokens, 31)
  const stream = { stream_options: { include_usage: true } }
  const final = await s.openai.chat.completions
    .stream({ ...ask('Hello! [[sim tokens=32]]'), ...stream })
    .finalChatCompletion()
  t.match(final, { usage: { completion_tokens: 32 }, choices: [{ finish_reason: 'stop' }] })
  const called = await s.openai.chat.completions.stream({ ...ask('use tool'), tools: [FUNCTION] }).finalChatCompletion()
  t.match(called.choices[0]?.message.tool_calls, [{ function: { name: 'weather', arguments: '{"city":"Paris"}' } }])
  const answered = await s.openai.responses.create({ model: MODEL, input: 'Hello! [[sim tokens=33]]' })
  t.match(answered, { status: 'completed', output_text: /quick brown fox/, usage: { output_tokens: 33 } })
  for (const { body } of s.double.asked)
    t.match(body, { anthropic_version: 'bedrock-2023-05-31', model: undefined, stream: undefined })
  const rows = await s.same(t)
  t.match(
    rows,
    rows.map(() => ({ via: 'messages', charge: Number })),
  )
  t.match(await failure(s.openai.chat.completions.create(ask('[[sim error=429]]'))), {
    status: 429,
    type: 'rate_limit_error',
  })
})

/** By an API key in the place of signatures. */
const BY_KEY = { kind: 'bedrock-api-key', aws: undefined, key: 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t' }

t.test('an API key in the place of signatures, and betas that the channel says', async t => {
  const s = await scene(t, [{ ...BY_KEY, headers: { 'anthropic-beta': '=context-1m-2025-08-07' } }])
  const headers = { 'anthropic-beta': 'interleaved-thinking-2025-05-14' }
  t.equal((await s.anthropic.messages.stream(ask('Hello!'), { headers }).finalMessage()).stop_reason, 'end_turn')
  t.same(s.double.asked[0]?.body['anthropic_beta'], ['context-1m-2025-08-07'])
  await s.same(t)
})

t.test('errors before an answer', async t => {
  const s = await scene(t, [{}], { retriesFloor: 0 })
  await s.answerOther()
  const rows: [directive: string, status: number, type: string][] = [
    ['[[sim error=400]]', 400, 'invalid_request_error'],
    ['[[sim error=408]]', 408, 'timeout_error'],
    ['[[sim error=429]]', 429, 'rate_limit_error'],
    ['[[sim error=500]]', 500, 'api_error'],
    ['[[sim error=529]]', 503, 'overloaded_error'],
  ]
  for (const [directive, status, type] of rows) {
    for (const stream of [false, true]) {
      const asked = s.anthropic.messages.create(ask(directive, { stream }))
      t.match(await failure(asked), { status, error: { type: 'error', error: { type } } }, `${directive} ${stream}`)
      s.health.rests.forget('b0')
    }
  }
  s.double.models.clear()
  await t.rejects(s.anthropic.messages.create(ask('Hello!')), { status: 400, message: /model identifier is invalid/ })
  t.ok((await s.failed(t)).every(row => row.charge === 0))
})

t.test('tokens are counted under the id of the model, where its name says one', async t => {
  const s = await scene(t, [{}, { kind: 'anthropic', aws: undefined, key: 'k' }])
  await s.changeChannel('b1', { baseUrl: s.simulator.url, status: 'disabled' })
  const BASE = ID.slice('eu.'.length)
  s.double.counted.add(BASE)
  const headers = { 'anthropic-beta': 'claude-code-20250219, context-1m-2025-08-07' }
  const count = async (model: string, content = 'one two three') =>
    (await s.anthropic.messages.countTokens({ model, messages: ask(content).messages }, { headers })).input_tokens
  const counted = await count(MODEL)
  t.equal(s.double.asked[0]?.url, `/model/${encodeURIComponent(BASE)}/count-tokens`)
  t.same(s.double.asked[0]?.body, {
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['context-1m-2025-08-07'],
    max_tokens: 8192,
    messages: ask('one two three').messages,
  })
  t.equal(s.double.asked[0]?.headers.accept, 'application/json')
  t.ok((await count(MODEL, 'Grüße 🙂 '.repeat(2000))) > counted, 'whatever it is')

  s.double.asked.length = 0
  t.not(await count('profile'), counted)
  t.same(s.double.asked, [], 'the name of a profile of the account says no model: it is an estimate')
  await s.changeChannel('b1', { status: 'enabled' })
  t.equal(await count('profile'), counted, 'another channel counts')

  await s.changeChannel('b1', { status: 'disabled' })
  s.double.counted.clear()
  s.double.asked.length = 0
  const estimated = await count(MODEL)
  t.not(estimated, counted, 'a model whose tokens are not counted')
  t.equal(s.double.asked.length, 1)
  s.double.counted.add(BASE)
  s.double.aheadMs = 600_000
  t.equal(await count(MODEL), estimated, 'a credential that is refused')
  t.match(await s.books(), { rows: [], left: NOTHING_LEFT, ok: true }, 'counting costs nothing')
})

t.test('a large body says the same there, whoever sends it', async t => {
  const s = await scene(t)
  const long = 'The "quick" brown fox.\n'.repeat(80_000)
  const system = [{ type: 'text' as const, text: 'Be kind.' }]
  const native = await s.anthropic.messages.create(ask(`${long} [[sim tokens=41]]`, { system }))
  t.equal(native.usage.output_tokens, 41)
  const translated = await s.openai.chat.completions.create(ask(`${long} [[sim tokens=42]]`))
  t.equal(translated.usage?.completion_tokens, 42)
  const envelope = `gw1.abcdefghijkl.${Buffer.from('state').toString('base64url')}`
  const turns = [
    { role: 'user', content: long },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: envelope },
        { type: 'text', text: 'Yes.' },
      ],
    },
    { role: 'user', content: 'Hello! [[sim tokens=43]]' },
  ]
  const after = await s.anthropic.messages.create({ ...ask(''), messages: turns as never })
  t.equal(after.usage.output_tokens, 43)
  const [first, second, third] = s.double.asked.map(one => one.body)
  t.same(first, {
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 2000,
    system,
    messages: ask(`${long} [[sim tokens=41]]`).messages,
  })
  t.match(second, { anthropic_version: 'bedrock-2023-05-31', model: undefined, stream: undefined })
  t.match(third, { messages: [{}, { content: [{ type: 'text', text: 'Yes.' }] }, {}] })
  t.notMatch(JSON.stringify(third), envelope)
  t.equal((await s.same(t)).length, 3)

  s.double.counted.add(ID.slice('eu.'.length))
  s.double.asked.length = 0
  const count = (content: string) => s.anthropic.messages.countTokens({ model: MODEL, messages: ask(content).messages })
  t.ok((await count(long)).input_tokens > 0)
  t.ok((await count(long.repeat(3))).input_tokens > 0)
  t.equal(s.double.asked.length, 1, 'the tokens of a very large body are estimated')
  t.equal(s.services.buffered.bytes, 0)
})

t.test('a stream that fails before its first word goes on at the next channel', async t => {
  const s = await scene(t, [{}, BY_KEY])
  for (const how of ['exception', 'spoilt', 'half'] as const) {
    s.double.fault = { after: 0, how }
    const asked = s.anthropic.messages.stream(ask('Hello!'))
    await t.rejects(asked.finalMessage(), /./, `${how}: nobody else is left`)
    t.equal(s.double.asked.length, 2, 'both were asked')
    s.double.asked.length = 0
  }
  t.ok((await s.failed(t)).every(row => row.charge === 0))
})

t.test('a stream that breaks off is never a clean end, for either client', async t => {
  const s = await scene(t)
  await s.answerOther()
  const told = async (stream: AsyncIterable<unknown>) => {
    for await (const _ of stream);
  }
  for (const how of ['exception', 'spoilt', 'half'] as const) {
    s.double.fault = { after: 6, how }
    const native = await s.anthropic.messages.create(ask('Hello!', { stream: true as const }) as never)
    await t.rejects(told(native as never), APIError, how)
    const translated = await s.openai.chat.completions.create({ ...ask('Hello!'), stream: true })
    await t.rejects(told(translated), /./, how)
  }
  s.double.fault = null
  for (const directive of ['[[sim cut=6]]', '[[sim end_early=6]]', '[[sim event_error=6]]']) {
    const native = await s.anthropic.messages.create(ask(directive, { stream: true as const }) as never)
    await t.rejects(told(native as never), APIError, directive)
  }
  const rows = await s.failed(t)
  t.equal(rows.length, 9)
  t.ok(
    rows.every(row => row.end !== 'completed' && row.charge > 0),
    'what was told is charged',
  )
})

t.test('an exception in mid-stream is told in the words of the protocol', async t => {
  const s = await scene(t)
  s.double.fault = { after: 5, how: 'exception' }
  const raw = await fetch(`${s.urls.direct}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
    body: JSON.stringify(ask('Hello!', { stream: true })),
  })
  const error = {
    type: 'error',
    error: { type: 'rate_limit_error', message: 'Too many tokens, please wait before trying again.' },
  }
  t.match(await raw.text().catch(String), `event: error\ndata: ${JSON.stringify(error)}\n\n`)
})

t.test('a clock or a credential that is wrong is a logged cause', async t => {
  const s = await scene(t, [{}], { config: { log: { level: 'debug' } } })
  await s.answerOther()
  const { keys } = s.double
  const { secretAccessKey, sessionToken } = keys
  const rows: [what: string, change: () => void, reason: RegExp][] = [
    ['behind', () => (s.double.aheadMs = 600_000), /the clock of this machine/],
    ['ahead', () => (s.double.aheadMs = -600_000), /the clock of this machine/],
    ['another secret', () => (keys.secretAccessKey = 'x'.repeat(40)), /the secret access key or the region/],
    ['another session', () => (keys.sessionToken = 'other'), /does not know the access key, or the session/],
  ]
  let told = ''
  for (const [what, change, reason] of rows) {
    change()
    s.logged.length = 0
    const failed = await failure(s.anthropic.messages.create(ask('Hello!')))
    t.match(failed, { status: 502 }, what)
    const line = s.logged.find(one => one['msg'] === 'attempt failed')
    t.match(line, { channel: 'b0', outcome: 'auth', status: 403, reason }, what)
    told += `${JSON.stringify(s.logged)} ${JSON.stringify(failed)}`
    s.double.aheadMs = 0
    keys.secretAccessKey = secretAccessKey
  }
  const booked = await s.failed(t)
  t.ok(booked.length === rows.length && booked.every(row => row.charge === 0))
  told += JSON.stringify(booked)
  t.match(told, 'what the upstream said')
  for (const secret of [secretAccessKey, sessionToken as string])
    for (let i = 0; i + 12 <= secret.length; i += 4)
      if (told.includes(secret.slice(i, i + 12))) t.fail('a secret is seen')
})

t.test('what comes compressed although nobody asked for that', async t => {
  const s = await scene(t)
  s.double.compresses = true
  t.equal((await s.anthropic.messages.create(ask('Hello!'))).stop_reason, 'end_turn', 'a whole answer')
  const long = s.anthropic.messages.stream(ask('Hello! [[sim tokens=5000]]', { max_tokens: 9000 }))
  t.equal((await long.finalMessage()).stop_reason, 'end_turn', 'a stream')
  t.equal((await s.openai.chat.completions.create(ask('Hello!'))).choices[0]?.finish_reason, 'stop')
  await s.same(t)
  s.double.fault = { after: 6, how: 'half' }
  const cut = s.anthropic.messages.stream(ask('Hello!')).finalMessage()
  t.match(await failure(cut), APIError, 'a stream that breaks off')
  const { rows, ok } = await s.books()
  t.match(rows.at(-1), { end: 'upstream_cut', basis: 'counted' })
  t.ok(ok)
})
