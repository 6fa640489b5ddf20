import t from 'tap'
import { TestClock } from '../support/clock.ts'
import { ask, call, eventsOf, type Got, type Json, outputReported, SPEAKING, start } from './support.ts'

t.test('whole and streamed answers say and report the same', async t => {
  const simulator = await start(t)
  for (const protocol of SPEAKING) {
    const whole = await ask(simulator, protocol, 'hi [[sim tokens=30]]')
    const stream = await ask(simulator, protocol, 'hi [[sim tokens=30]]', { stream: true })
    t.match(whole, { status: 200, headers: { 'content-type': /^application\/json/ } }, protocol)
    t.match(stream, { status: 200, cut: false, headers: { 'content-type': /^text\/event-stream/ } }, protocol)
    t.equal(outputReported(protocol, [whole.json]), 30, protocol)
    t.equal(outputReported(protocol, eventsOf(stream)), 30, protocol)
    const said = said_of(protocol, whole.json)
    t.ok(said.startsWith('The quick brown fox') && said.includes('你好'), protocol)
    t.equal(spoken(protocol, eventsOf(stream)), said, protocol)
  }
})

function said_of(protocol: string, json: Json): string {
  const body = json as never as {
    content: { text: string }[]
    choices: { message: { content: string } }[]
    output: { content: { text: string }[] }[]
    candidates: { content: { parts: { text: string }[] } }[]
  }
  if (protocol === 'messages') return body.content[0]?.text ?? ''
  if (protocol === 'chat') return body.choices[0]?.message.content ?? ''
  if (protocol === 'responses') return body.output[0]?.content[0]?.text ?? ''
  return body.candidates[0]?.content.parts[0]?.text ?? ''
}

const spoken = (protocol: string, events: Json[]): string =>
  (events as never[])
    .map(
      (event: { type?: string; delta?: { text?: string } | string; choices?: { delta: { content?: string } }[] }) => {
        if (protocol === 'chat') return event.choices?.[0]?.delta.content ?? ''
        if (protocol === 'generate') return said_of(protocol, event as Json)
        return typeof event.delta === 'string' ? event.delta : (event.delta?.text ?? '')
      },
    )
    .join('')

t.test('the events of each protocol, in order', async t => {
  const simulator = await start(t)
  const names = ({ text }: Got) => [...text.matchAll(/^event: (.*)$/gm)].map(m => m[1])
  t.strictSame(names(await ask(simulator, 'messages', '[[sim tokens=4]]', { stream: true })), [
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const responses = await ask(simulator, 'responses', '[[sim tokens=2]]', { stream: true })
  t.strictSame(names(responses), [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  t.strictSame(
    eventsOf(responses).map(event => event['sequence_number']),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
  const chat = await ask(simulator, 'chat', '[[sim tokens=2]]', { stream: true })
  t.match(chat.text, /\ndata: \[DONE\]\n\n$/)
  t.strictSame(
    eventsOf(chat).map(event => [(event['choices'] as Json[]).length, event['usage'] === null]),
    [
      [1, true],
      [1, true],
      [1, true],
      [1, true],
      [0, false],
    ],
  )
  const unasked = await ask(simulator, 'chat', 'hi', { stream: true, extra: { stream_options: null } })
  t.notMatch(unasked.text, /usage/)
  const generate = await ask(simulator, 'generate', '[[sim tokens=41]]', { stream: true })
  t.equal(generate.text.split('\r\n\r\n').length, 4, 'three chunks, CRLF')
  t.ok(eventsOf(generate).every(event => 'usageMetadata' in event))
})

t.test('generate without alt=sse is one JSON array, also when it fails', async t => {
  const simulator = await start(t)
  const path = `${simulator.url}/v1/models/some%2Fmodel:streamGenerateContent`
  const body = (text: string) => ({ contents: [{ parts: [{ text }] }] })
  const all = JSON.parse((await call(path, { body: body('[[sim tokens=50]]') })).text)
  t.equal(all.length, 3)
  t.match(all[2], { modelVersion: 'some/model', candidates: [{ finishReason: 'STOP' }] })
  const failed = JSON.parse((await call(path, { body: body('[[sim event_error=1]]') })).text)
  t.match(failed, [{ candidates: [{}] }, { error: { code: 503, status: 'UNAVAILABLE' } }])
  t.match(JSON.parse((await call(path, { body: body('[[sim error=429]]') })).text), [{ error: { code: 429 } }])
})

t.test('the maximum ends an answer by length', async t => {
  const simulator = await start(t)
  const extras: Record<string, [Json, RegExp]> = {
    messages: [{ max_tokens: 5 }, /"stop_reason":"max_tokens"/],
    chat: [{ max_completion_tokens: 5 }, /"finish_reason":"length"/],
    responses: [{ max_output_tokens: 5 }, /"reason":"max_output_tokens"/],
    generate: [{ generationConfig: { maxOutputTokens: 5 } }, /"finishReason":"MAX_TOKENS"/],
  }
  for (const protocol of SPEAKING) {
    const [extra, expected] = extras[protocol] as [Json, RegExp]
    for (const stream of [false, true]) {
      const got = await ask(simulator, protocol, '[[sim tokens=50]]', { stream, extra })
      t.match(got.text, expected, `${protocol} ${stream}`)
      t.equal(outputReported(protocol, stream ? eventsOf(got) : [got.json]), 5, `${protocol} ${stream}`)
    }
  }
  t.match(
    (await ask(simulator, 'responses', '[[sim tokens=50]]', { stream: true, extra: { max_output_tokens: 1 } })).text,
    /event: response\.incomplete/,
  )
})

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    unit: { enum: ['C', 'F'] },
    spots: { type: 'array', minItems: 1, items: { type: 'object', properties: { lat: { type: 'number' } } } },
  },
}
const ARGUMENTS = { city: 'Paris', days: 1, unit: 'C', spots: [{ lat: 1 }] }

t.test('tools are called when the last message asks for it', async t => {
  const simulator = await start(t)
  const tools: Record<string, Json> = {
    messages: { tools: [{ name: 'weather', input_schema: SCHEMA }] },
    chat: { tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }] },
    responses: { tools: [{ type: 'function', name: 'weather', parameters: SCHEMA }] },
    generate: { tools: [{ functionDeclarations: [{ name: 'weather', parameters: SCHEMA }] }] },
  }
  const whole: Record<string, Json> = {
    messages: { stop_reason: 'tool_use', content: [{ type: 'tool_use', name: 'weather', input: ARGUMENTS }] },
    chat: {
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: null,
            tool_calls: [{ function: { name: 'weather', arguments: JSON.stringify(ARGUMENTS) } }],
          },
        },
      ],
    },
    responses: { output: [{ type: 'function_call', name: 'weather', arguments: JSON.stringify(ARGUMENTS) }] },
    generate: { candidates: [{ content: { parts: [{ functionCall: { name: 'weather', args: ARGUMENTS } }] } }] },
  }
  for (const protocol of SPEAKING) {
    const extra = tools[protocol] as Json
    t.match((await ask(simulator, protocol, 'please use tool', { extra })).json, whole[protocol] as Json, protocol)
    t.notMatch((await ask(simulator, protocol, 'no', { extra })).text, /"Paris/, protocol)
    const events = eventsOf(await ask(simulator, protocol, 'please use tool', { extra, stream: true }))
    t.strictSame(JSON.parse(argumentsOf(protocol, events)), ARGUMENTS, `${protocol}, streamed`)
  }
  const answered = {
    messages: [
      { role: 'user', content: 'use tool' },
      { role: 'tool', content: 'use tool' },
    ],
  }
  t.match((await ask(simulator, 'chat', '', { extra: { ...tools['chat'], ...answered } })).json, {
    choices: [{ finish_reason: 'stop' }],
  })
})

t.test('responses: a conversation is compacted into one item, whole and as a stream', async t => {
  const simulator = await start(t)
  const extra = { input: [{ role: 'user', content: 'a long one' }, { type: 'compaction_trigger' }] }
  const { json } = await ask(simulator, 'responses', '', { extra })
  const output = json['output'] as Json[]
  t.match(output, [{ type: 'compaction', encrypted_content: /^[\w+/]+=*$/ }])
  t.equal(output.length, 1)
  t.ok((json['usage'] as Json)['output_tokens'])
  const events = eventsOf(await ask(simulator, 'responses', '', { extra, stream: true }))
  const done = events.filter(event => (event as Json)['type'] === 'response.output_item.done')
  t.match(done, [{ item: { type: 'compaction', encrypted_content: String } }])
  t.equal(done.length, 1)
})

function argumentsOf(protocol: string, events: Json[]): string {
  if (protocol === 'generate') return /"args":(.*?\}\]\})/.exec(JSON.stringify(events))?.[1] as string
  return (events as never[])
    .map(
      (e: {
        type?: string
        delta?: { partial_json?: string } | string
        choices?: { delta: { tool_calls?: { function: { arguments: string } }[] } }[]
      }) =>
        (e.choices?.[0]?.delta.tool_calls?.[0]?.function.arguments ?? '') +
        (typeof e.delta === 'string' ? e.delta : (e.delta?.partial_json ?? '')),
    )
    .join('')
}

t.test('a call that a directive names is made once, and only when its tool is offered', async t => {
  const simulator = await start(t)
  const weather = { tools: [{ name: 'weather', input_schema: SCHEMA }] }
  const args = Buffer.from('{"city":"Rome"}').toString('base64url')
  const said = `use tool [[sim text id=once call=weather args=${args}]]`
  t.match((await ask(simulator, 'messages', said)).json, { stop_reason: 'end_turn' })
  t.match((await ask(simulator, 'messages', said, { extra: weather })).json, { content: [{ input: { city: 'Rome' } }] })
  t.match((await ask(simulator, 'messages', said, { extra: weather })).json, { stop_reason: 'end_turn' })
  t.match(await ask(simulator, 'messages', '[[sim args=bm90aGluZw]]'), { status: 400 })
})

t.test('thinking is counted in the output, and shown where it is', async t => {
  const simulator = await start(t)
  const extras: Record<string, Json> = {
    messages: { thinking: { type: 'enabled', budget_tokens: 1024 } },
    chat: { reasoning_effort: 'low' },
    responses: { reasoning: { effort: 'low' } },
    generate: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
  }
  const shown: Record<string, RegExp> = {
    messages: /"thinking":"Let me see.*"signature":"/,
    chat: /"reasoning_tokens":5/,
    responses: /"type":"reasoning".*"reasoning_tokens":5/,
    generate: /"thought":true.*"thoughtsTokenCount":5/,
  }
  for (const protocol of SPEAKING) {
    const extra = extras[protocol] as Json
    const got = await ask(simulator, protocol, '[[sim tokens=10 thinking=5]]', { extra })
    t.match(got.text, shown[protocol] as RegExp, protocol)
    t.equal(outputReported(protocol, [got.json]), 15, protocol)
    const events = eventsOf(await ask(simulator, protocol, '[[sim tokens=10 thinking=5]]', { extra, stream: true }))
    t.equal(outputReported(protocol, events), 15, `${protocol}, streamed`)
  }
})

t.test('several choices', async t => {
  const simulator = await start(t)
  const chat = await ask(simulator, 'chat', '[[sim tokens=3]]', { extra: { n: 2 } })
  t.match(chat.json, { choices: [{ index: 0 }, { index: 1 }], usage: { completion_tokens: 6 } })
  const stream = eventsOf(await ask(simulator, 'chat', '[[sim tokens=3]]', { extra: { n: 2 }, stream: true }))
  t.equal(outputReported('chat', stream), 6)
  const candidates = { generationConfig: { candidateCount: 2 } }
  const generate = await ask(simulator, 'generate', '[[sim tokens=3]]', { extra: candidates })
  t.match(generate.json, { candidates: [{ index: 0 }, { index: 1 }], usageMetadata: { candidatesTokenCount: 6 } })
})

t.test('images: links that lead somewhere, bytes with counts, events', async t => {
  const simulator = await start(t)
  const links = await ask(simulator, 'images', 'a cat', { extra: { n: 2 } })
  const [first, second] = links.json['data'] as { url: string }[]
  t.equal(first?.url, second?.url)
  t.match(await call(first?.url as string, { method: 'GET' }), {
    status: 200,
    headers: { 'content-type': 'image/png' },
  })
  t.notOk(links.json['usage'])
  const bytes = await ask(simulator, 'images', 'a cat [[sim bytes=3000]]', { extra: { response_format: 'b64_json' } })
  t.match(bytes.json, { data: [{ b64_json: /^.{4000}$/ }], usage: { output_tokens: 1056 } })
  const events = eventsOf(await ask(simulator, 'images', 'a cat', { stream: true, extra: { partial_images: 1 } }))
  t.match(events, [
    { type: 'image_generation.partial_image', partial_image_index: 0 },
    { type: 'image_generation.completed', usage: { output_tokens: 1056 } },
  ])
  t.match(simulator.stats.served, [{ usage: { images: 2, output: 0 } }, { usage: { images: 1, output: 1056 } }, {}])
})

t.test('counting tokens', async t => {
  const simulator = await start(t)
  const messages = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(400) }] }
  const counted = await call(`${simulator.url}/v1/messages/count_tokens`, { body: messages })
  t.ok(Number(counted.json['input_tokens']) > 100)
  t.match((await call(`${simulator.url}/v1/responses/input_tokens`, { body: { model: 'm', input: 'hi' } })).json, {
    object: 'response.input_tokens',
    input_tokens: Number,
  })
  const contents = { contents: [{ parts: [{ text: 'hi' }] }] }
  t.match((await call(`${simulator.url}/v1beta/models/m:countTokens`, { body: contents })).json, {
    totalTokens: Number,
  })
  t.equal(simulator.stats.requests, 0, 'not in the books')
})

t.test('what is marked is written to the cache once, and read until its life ends', async t => {
  const clock = new TestClock()
  const simulator = await start(t, { clock })
  const marked = { type: 'text', text: 'x'.repeat(4000), cache_control: { type: 'ephemeral', ttl: '1h' } }
  const send = async (model: string, ...more: object[]) => {
    const extra = { model, system: [marked], messages: [{ role: 'user', content: 'hi' }, ...more] }
    return (await ask(simulator, 'messages', '', { extra })).json['usage']
  }
  const READ = { cache_creation_input_tokens: 0, cache_read_input_tokens: Number }
  const WRITTEN = { cache_read_input_tokens: 0, cache_creation: { ephemeral_5m_input_tokens: 0 } }
  const first = (await send('a')) as Record<string, number>
  t.match(first, { ...WRITTEN, cache_creation_input_tokens: Number })
  const again = (await send('a')) as Record<string, number>
  t.match(again, READ)
  t.equal(again['cache_read_input_tokens'], first['cache_creation_input_tokens'])
  t.equal(again['input_tokens'], first['input_tokens'])
  t.match(await send('b'), WRITTEN, 'of one model only')
  const longer = {
    role: 'user',
    content: [{ type: 'text', text: 'y'.repeat(400), cache_control: { type: 'ephemeral' } }],
  }
  t.match(await send('a', longer), {
    cache_creation: { ephemeral_5m_input_tokens: Number, ephemeral_1h_input_tokens: 0 },
  })
  t.match(await send('a', longer), READ, 'the longer prefix as well')
  clock.advance(3_700_000)
  t.match(await send('a'), WRITTEN)
})

t.test('the other protocols cache long prefixes unasked', async t => {
  const simulator = await start(t)
  const messages = [{ role: 'user', content: 'x'.repeat(8000) }]
  const cached = async (extra: Json) => {
    const { usage } = (await ask(simulator, 'chat', '', { extra })).json as {
      usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } }
    }
    return [usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens]
  }
  const [prompt, none] = await cached({ messages })
  t.equal(none, 0)
  t.strictSame(await cached({ messages }), [prompt, 1920])
  t.match(await cached({ messages: [...messages, { role: 'user', content: 'more' }] }), [Number, 1920])
})

t.test('a credential, when one is expected, in its protocol’s place', async t => {
  const simulator = await start(t, { key: 'up' })
  const right: Record<string, Json> = {
    messages: { 'x-api-key': 'up' },
    chat: { authorization: 'Bearer up' },
    responses: { authorization: 'bearer up' },
    images: { authorization: 'Bearer up' },
    generate: { 'x-goog-api-key': 'up' },
  }
  const bodies: Record<string, Json> = {
    messages: { type: 'error', error: { type: 'authentication_error' } },
    chat: { error: { code: 'invalid_api_key', type: 'invalid_request_error' } },
    responses: { error: { code: 'invalid_api_key' } },
    images: { error: { code: 'invalid_api_key' } },
    generate: { error: { code: 401, status: 'UNAUTHENTICATED' } },
  }
  for (const protocol of [...SPEAKING, 'images'] as const) {
    const headers = right[protocol] as Record<string, string>
    t.equal((await ask(simulator, protocol, 'hi', { headers })).status, 200, protocol)
    t.match(await ask(simulator, protocol, 'hi', { headers: { 'x-other': 'up' } }), {
      status: 401,
      json: bodies[protocol] as Json,
    })
  }
})

t.test('what cannot be understood is refused in the protocol’s form', async t => {
  const { url } = await start(t)
  const rows: [path: string, body: unknown, status: number, text: RegExp][] = [
    ['/v1/messages', '{', 400, /not valid JSON/],
    ['/v1/messages', '[]', 400, /not a JSON object/],
    ['/v1/messages', { messages: [{ role: 'user', content: 'x' }] }, 400, /model: Field required/],
    ['/v1/messages', { model: 'm' }, 400, /"type":"invalid_request_error".*messages: Field required/],
    ['/v1/chat/completions', { model: 'm', messages: [] }, 400, /'messages'/],
    ['/v1/responses', { model: 'm' }, 400, /'input'/],
    ['/v1/images/generations', { model: 'm' }, 400, /'prompt'/],
    ['/v1beta/models/m:generateContent', {}, 400, /INVALID_ARGUMENT/],
    [
      '/v1/chat/completions',
      { model: 'm', messages: [{ role: 'user', content: '[[sim nope=1]]' }] },
      400,
      /nope=1.*not understood/,
    ],
    [
      '/v1/chat/completions',
      { model: 'm', messages: [{ role: 'user', content: '[[sim tokens=x]]' }] },
      400,
      /tokens must be/,
    ],
    ['/v1/nope', {}, 404, /no such path/],
    ['/v1/models/%E0%A4%A:generateContent', {}, 404, /no such path/],
  ]
  for (const [path, body, status, text] of rows) t.match(await call(url + path, { body }), { status, text }, path)
})
