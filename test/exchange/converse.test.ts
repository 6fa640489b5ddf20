/**
 * Converse of AWS Bedrock through the whole gateway: the official SDKs of four protocols as clients, tools, pictures, thoughts, errors and
 * streams that break off. The official SDK of AWS judges signatures, and the frames of the double.
 */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { createRequire } from 'node:module'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { SignatureV4 } from '@smithy/signature-v4'
import t, { type Test } from 'tap'
import type { Received } from '../upstream/aws/signature.ts'
import { ask, failure, scene as atBedrock } from './support/at-bedrock.ts'
import { KEY, MODEL } from './support/gateway.ts'

type Json = Record<string, unknown>
const ID = 'eu.anthropic.claude-sonnet-4-6'
const NOVA = 'us.amazon.nova-2-lite-v1:0'
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } } }
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const URL_OF_PIXEL = `data:image/png;base64,${PIXEL}`
const SAYS = /quick brown fox/

async function scene(t: Test, changes: readonly Json[] = [{}], more: Parameters<typeof atBedrock>[2] = {}) {
  const models = { [MODEL]: ID, nova: NOVA }
  const all = changes.map(change => ({ protocols: ['converse'], models, ...change }))
  const s = await atBedrock(t, all, { models: ['nova'], ...more })
  s.double.models.add(ID).add(NOVA)
  return s
}

/** What each client asks and reads: the text, the thought, the calls, and how many tokens it cost. */
interface Seen {
  text: string
  thought?: string
  calls?: { name: string; args: unknown }[]
  output: number | undefined
}
type Scene = Awaited<ReturnType<typeof scene>>
interface Wanted {
  text: string
  stream: boolean
  tool?: true
  picture?: true
  thinks?: true
}
type Client = (s: Scene, wanted: Wanted) => Promise<Seen>

const CLIENTS: Readonly<Record<string, Client>> = {
  async messages(s, { text, stream, tool, picture, thinks }) {
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL },
    }
    const body = {
      ...ask('', {
        ...(tool ? { tools: [{ name: 'weather', input_schema: SCHEMA }] } : {}),
        ...(thinks ? { thinking: { type: 'enabled' as const, budget_tokens: 1024 } } : {}),
      }),
      messages: [{ role: 'user' as const, content: [...(picture ? [image] : []), { type: 'text' as const, text }] }],
    }
    const { content, usage } = stream
      ? await s.anthropic.messages.stream(body).finalMessage()
      : await s.anthropic.messages.create(body)
    return {
      text: content.flatMap(one => (one.type === 'text' ? [one.text] : [])).join(''),
      thought: content.flatMap(one => (one.type === 'thinking' ? [one.thinking] : [])).join(''),
      calls: content.flatMap(one => (one.type === 'tool_use' ? [{ name: one.name, args: one.input }] : [])),
      output: usage.output_tokens,
    }
  },
  async chat(s, { text, stream, tool, picture, thinks }) {
    const image = { type: 'image_url' as const, image_url: { url: URL_OF_PIXEL } }
    const body = {
      model: MODEL,
      messages: [{ role: 'user' as const, content: [...(picture ? [image] : []), { type: 'text' as const, text }] }],
      ...(tool ? { tools: [{ type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }] } : {}),
      ...(thinks ? { reasoning_effort: 'high' as const } : {}),
    }
    const { choices, usage } = stream
      ? await s.openai.chat.completions
          .stream({ ...body, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await s.openai.chat.completions.create(body)
    const message = choices[0]?.message as (typeof choices)[0]['message'] & { reasoning_content?: string }
    return {
      text: message.content ?? '',
      ...(stream ? {} : { thought: message.reasoning_content ?? '' }),
      calls: (message.tool_calls ?? []).flatMap(one =>
        one.type === 'function' ? [{ name: one.function.name, args: JSON.parse(one.function.arguments) }] : [],
      ),
      output: usage?.completion_tokens,
    }
  },
  async responses(s, { text, stream, tool, picture, thinks }) {
    const image = { type: 'input_image' as const, image_url: URL_OF_PIXEL, detail: 'auto' as const }
    const body = {
      model: MODEL,
      input: [{ role: 'user' as const, content: [...(picture ? [image] : []), { type: 'input_text' as const, text }] }],
      ...(tool ? { tools: [{ type: 'function' as const, name: 'weather', parameters: SCHEMA, strict: false }] } : {}),
      ...(thinks ? { reasoning: { effort: 'high' as const } } : {}),
    }
    const { output, usage } = stream
      ? await s.openai.responses.stream(body).finalResponse()
      : await s.openai.responses.create(body)
    return {
      text: output
        .flatMap(one => (one.type === 'message' ? one.content : []))
        .flatMap(part => (part.type === 'output_text' ? [part.text] : []))
        .join(''),
      thought: output.flatMap(one => (one.type === 'reasoning' ? one.summary.map(part => part.text) : [])).join(''),
      calls: output.flatMap(one =>
        one.type === 'function_call' ? [{ name: one.name, args: JSON.parse(one.arguments) }] : [],
      ),
      output: usage?.output_tokens,
    }
  },
  async generate(s, { text, stream, tool, picture, thinks }) {
    const image = { inlineData: { mimeType: 'image/png', data: PIXEL } }
    const body = {
      model: MODEL,
      contents: [{ role: 'user', parts: [...(picture ? [image] : []), { text }] }],
      config: {
        ...(tool ? { tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: SCHEMA }] }] } : {}),
        ...(thinks ? { thinkingConfig: { thinkingBudget: 2000, includeThoughts: true } } : {}),
      },
    }
    const seen: Seen = { text: '', thought: '', calls: [], output: 0 }
    const answers = stream
      ? await s.google.models.generateContentStream(body)
      : [await s.google.models.generateContent(body)]
    for await (const { candidates, usageMetadata } of answers) {
      for (const part of candidates?.[0]?.content?.parts ?? []) {
        if (part.functionCall !== undefined)
          seen.calls?.push({ name: part.functionCall.name ?? '', args: part.functionCall.args })
        else if (part.thought) seen.thought += part.text ?? ''
        else seen.text += part.text ?? ''
      }
      seen.output = (usageMetadata?.candidatesTokenCount ?? 0) + (usageMetadata?.thoughtsTokenCount ?? 0)
    }
    return seen
  },
}

/** The contents of the turns that came last. */
function contentsOf({ double }: Scene): Json[][] {
  const { messages } = (double.asked.at(-1)?.body ?? { messages: [] }) as { messages: { content: Json[] }[] }
  return messages.map(({ content }) => content)
}

for (const [name, client] of Object.entries(CLIENTS))
  t.test(`a client of ${name}: text, calls, a picture and thoughts, whole and as a stream`, async t => {
    const s = await scene(t)
    for (const stream of [false, true]) {
      const what = stream ? 'a stream' : 'whole'
      const said = await client(s, { text: 'Hello! 你好 [[sim tokens=31]]', stream })
      t.match(said, { text: SAYS, output: 31 }, what)
      const called = await client(s, { text: 'use tool', stream, tool: true })
      t.strictSame(called.calls, [{ name: 'weather', args: { city: 'Paris' } }], `${what}: a call`)
      t.match(await client(s, { text: 'See', stream, picture: true }), { text: SAYS }, `${what}: a picture`)
      t.match(contentsOf(s)[0]?.[0], { image: { format: 'png', source: { bytes: PIXEL } } })
      const thought = await client(s, { text: 'Think [[sim thinking=9]]', stream, thinks: true })
      t.match(thought, { text: SAYS, ...('thought' in thought ? { thought: /\w/ } : {}) }, `${what}: a thought`)
    }
    const verbs = s.double.asked.map(({ url }) => url.replace(`/model/${encodeURIComponent(ID)}/`, ''))
    t.strictSame(verbs, [...Array(4).fill('converse'), ...Array(4).fill('converse-stream')])
    const rows = await s.same(t)
    t.match(
      rows,
      rows.map(() => ({ protocol: name, channel: 'b0', via: 'converse', upstreamId: /^[0-9a-f-]{36}$/ })),
    )
  })

t.test('a round of tools: calls, results and the thoughts before them go back as they came', async t => {
  const s = await scene(t)
  const tools = [{ name: 'weather', input_schema: SCHEMA }]
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
  const first = await s.anthropic.messages
    .stream(ask('Where? [[sim call=weather thinking=5]]', { tools, thinking }))
    .finalMessage()
  const call = first.content.find(one => one.type === 'tool_use')
  const answer = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: 'Rain. [[sim tokens=12]]' }
  const second = await s.anthropic.messages.create({
    ...ask('', { tools, thinking }),
    messages: [
      { role: 'user', content: 'Where?' },
      { role: 'assistant', content: first.content },
      { role: 'user', content: [answer] },
    ],
  })
  t.equal(second.stop_reason, 'end_turn')
  const [, turn, results] = contentsOf(s)
  t.match(turn, [
    { reasoningContent: { reasoningText: { signature: /^[A-Za-z0-9+/=]+$/ } } },
    { toolUse: { name: 'weather', input: call?.type === 'tool_use' ? call.input : null } },
  ])
  t.match(results, [{ toolResult: { content: [{ text: 'Rain. [[sim tokens=12]]' }] } }])
  await s.same(t)
})

t.test('tokens of caches are charged as they are reported', async t => {
  const s = await scene(t)
  const long = 'The quick brown fox. '.repeat(600)
  const system = [
    { type: 'text' as const, text: long, cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } },
  ]
  const written = await s.anthropic.messages.create(ask('Hello!', { system }))
  t.ok((written.usage.cache_creation_input_tokens ?? 0) > 1000)
  const read = await s.anthropic.messages.stream(ask('Hello!', { system })).finalMessage()
  t.equal(read.usage.cache_read_input_tokens, written.usage.cache_creation_input_tokens)
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.match(rows, [{ cache_write_1h: written.usage.cache_creation_input_tokens }, { cache_read: Number }])
  t.equal((rows[1] as unknown as Json)['cache_read'], written.usage.cache_creation_input_tokens)
})

/** Errors before an answer, as the clients of each protocol are told. */
const ERRORS: Readonly<Record<string, (status: number) => object>> = {
  messages: status => ({
    status,
    error: {
      error: {
        type: { 400: 'invalid_request_error', 429: 'rate_limit_error', 500: 'api_error', 503: 'api_error' }[status],
      },
    },
  }),
  chat: status => ({
    status,
    type: { 400: 'invalid_request_error', 429: 'rate_limit_error' }[status] ?? 'server_error',
  }),
  responses: status => ({
    status,
    type: { 400: 'invalid_request_error', 429: 'rate_limit_error' }[status] ?? 'server_error',
  }),
  generate: status => ({ status }),
}

for (const [name, client] of Object.entries(CLIENTS))
  t.test(`a client of ${name}: errors before an answer`, async t => {
    const s = await scene(t, [{}], { retriesFloor: 0 })
    await s.answerOther()
    // the last one makes the model rest for the account
    for (const [error, status] of [
      [400, 400],
      [500, 500],
      [529, 503],
      [429, 429],
    ] as const) {
      const told = await failure(client(s, { text: `[[sim error=${error}]]`, stream: false }))
      t.match(told, ERRORS[name]?.(status), String(error))
    }
    t.ok((await s.failed(t)).every(row => row.charge === 0))
  })

t.test('an exception in mid-stream, half a frame and a spoilt one are never a clean end', async t => {
  const s = await scene(t)
  await s.answerOther()
  for (const how of ['exception', 'half', 'spoilt'] as const) {
    s.double.fault = { after: 4, how }
    for (const [name, client] of Object.entries(CLIENTS))
      await t.rejects(client(s, { text: 'Hello!', stream: true }), /./, `${how}: ${name}`)
  }
  s.double.fault = null
  for (const directive of ['[[sim cut=6]]', '[[sim end_early=6]]', '[[sim event_error=6]]'])
    for (const [name, client] of Object.entries(CLIENTS))
      await t.rejects(client(s, { text: directive, stream: true }), /./, `${directive}: ${name}`)
  const rows = await s.failed(t)
  t.equal(rows.length, 6 * Object.keys(CLIENTS).length)
  t.ok(
    rows.every(row => row.end !== 'completed' && row.charge > 0),
    'what was told is charged',
  )
})

t.test('what an exception says reaches the client in its own words', async t => {
  const s = await scene(t)
  s.double.fault = { after: 4, how: 'exception' }
  const said = 'Too many tokens, please wait before trying again.'
  const whole = async (path: string, body: object): Promise<string> => {
    // the connection is cut behind the error, which is read as it comes
    let text = ''
    const answer = await fetch(`${s.urls.direct}${path}`, {
      method: 'POST',
      headers: {
        'x-api-key': KEY,
        authorization: `Bearer ${KEY}`,
        'x-goog-api-key': KEY,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
    try {
      for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) text += Buffer.from(part)
    } catch {}
    return text
  }
  t.match(
    await whole('/v1/messages', ask('Hello!', { stream: true })),
    `"error":{"type":"rate_limit_error","message":"${said}`,
  )
  t.match(await whole('/v1/chat/completions', ask('Hello!', { stream: true })), said)
  t.match(await whole('/v1/responses', { model: MODEL, input: 'Hello!', stream: true }), said)
  t.match(
    await whole(`/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`, {
      contents: [{ parts: [{ text: 'Hello!' }] }],
    }),
    said,
  )
})

t.test('a stream that fails before its first word goes on at the next channel', async t => {
  const s = await scene(t, [{}, {}])
  for (const how of ['exception', 'spoilt', 'half'] as const) {
    s.double.fault = { after: 0, how }
    s.double.asked.length = 0
    await t.rejects(s.anthropic.messages.stream(ask('Hello!')).finalMessage(), /./, how)
    t.equal(s.double.asked.length, 2, 'both were asked')
  }
  t.ok((await s.failed(t)).every(row => row.charge === 0))
})

t.test('what comes compressed, an API key, and a large body', async t => {
  const s = await scene(t, [
    { kind: 'bedrock-api-key', aws: undefined, key: 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t' },
  ])
  s.double.compresses = true
  t.equal((await s.anthropic.messages.create(ask('Hello!'))).stop_reason, 'end_turn')
  t.match(
    await s.openai.chat.completions.stream(ask('Hello! [[sim tokens=3000]]', { max_tokens: 9000 })).finalContent(),
    SAYS,
  )
  s.double.compresses = false
  const long = 'The "quick" brown fox.\n'.repeat(80_000)
  t.equal((await s.anthropic.messages.create(ask(`${long} [[sim tokens=41]]`))).usage.output_tokens, 41)
  t.match(s.double.asked.at(-1)?.headers, { authorization: /^Bearer bedrock-api-key/, 'x-amz-date': undefined })
  await s.same(t)
  t.equal(s.services.buffered.bytes, 0)
})

t.test('an operator tries the channel out, though no client speaks as it does', async t => {
  const s = await scene(t)
  const { tryChannel } = await import('../../lib/exchange/channel-trial.ts')
  const well = await tryChannel(s.services, { channel: 'b0', model: MODEL, protocol: 'converse', key: 1 })
  t.match(well, { status: 200, failure: null })
  t.strictSame(s.double.asked[0]?.body, {
    messages: [{ role: 'user', content: [{ text: '.' }] }],
    inferenceConfig: { maxTokens: 1 },
  })
  s.double.aheadMs = 600_000
  const badly = await tryChannel(s.services, { channel: 'b0', model: MODEL, protocol: 'converse', key: 1 })
  t.match(badly, { status: 403, failure: { reason: /the clock of this machine/ } })
  t.equal(s.services.buffered.bytes, 0)
})

t.test('the catalogue tells customers of the protocols that they speak', async t => {
  const s = await scene(t)
  const { protocolsOf, translatedOf } = s.services.world.routes
  t.strictSame(protocolsOf.call(s.services.world.routes, 'default', MODEL), [
    'messages',
    'chat',
    'responses',
    'generate',
  ])
  t.strictSame(translatedOf.call(s.services.world.routes, 'default', MODEL), [
    'messages',
    'chat',
    'responses',
    'generate',
  ])
})

// --- judged by the official SDK of AWS

class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | Uint8Array) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret)
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

/** The signature that the official signer makes of what has come. */
async function judged(
  { method, path, headers, body }: Received,
  keys: Scene['double']['keys'],
): Promise<string | undefined> {
  const signer = new SignatureV4({
    service: keys.service,
    region: keys.region,
    credentials: { ...keys, sessionToken: keys.sessionToken as string },
    sha256: Sha256 as never,
  })
  const names = /SignedHeaders=([^,]+)/.exec(headers['authorization'] ?? '')?.[1]?.split(';') ?? []
  const time = (headers['x-amz-date'] ?? '').replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const request = {
    method,
    protocol: 'http:',
    hostname: '127.0.0.1',
    path,
    query: {},
    headers: Object.fromEntries(names.map(name => [name, headers[name] as string])),
    body,
  }
  const signed = await signer.sign(request, { signingDate: new Date(time) })
  return signed.headers['authorization']
}

t.test('the official signer of AWS makes the same signatures', async t => {
  const s = await scene(t)
  const profile = 'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/us.amazon.nova-2-lite-v1:0'
  await s.anthropic.messages.create(ask('Grüße, 世界'))
  await s.anthropic.messages.stream(ask('Hello!')).finalMessage()
  await s.openai.chat.completions.create({ ...ask('Hello!'), model: 'nova' })
  const at = await scene(t, [{ models: { [MODEL]: profile } }])
  at.double.models.add(profile)
  await at.anthropic.messages.create(ask('Hello!'))
  for (const one of [...s.double.received, ...at.double.received]) {
    t.equal(one.headers['authorization'], await judged(one, s.double.keys), one.path)
    t.ok(one.headers['x-amz-content-sha256'] === createHash('sha256').update(one.body).digest('hex'))
  }
  t.equal(at.double.received[0]?.path, `/model/${encodeURIComponent(profile)}/converse`)
})

/** The client speaks HTTP/2 otherwise, which the double does not. */
const ofClient = createRequire(createRequire(import.meta.url).resolve('@aws-sdk/client-bedrock-runtime'))
const { NodeHttpHandler } = ofClient('@smithy/node-http-handler') as { NodeHttpHandler: new () => object }

t.test('the official SDK of AWS reads what the double answers, and is understood by it', async t => {
  const s = await scene(t)
  const { accessKeyId, secretAccessKey, sessionToken, region } = s.double.keys
  s.double.aheadMs = Date.now() - s.clock.now() // that client has the machine's own clock
  const client = new BedrockRuntimeClient({
    region,
    endpoint: s.double.origin,
    credentials: { accessKeyId, secretAccessKey, sessionToken: sessionToken as string },
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler() as never,
  })
  t.teardown(() => client.destroy())
  const body = {
    modelId: ID,
    messages: [{ role: 'user' as const, content: [{ text: 'Hello! [[sim tokens=21 thinking=4]]' }] }],
    inferenceConfig: { maxTokens: 2000 },
    additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1024 } },
  }
  const whole = await client.send(new ConverseCommand(body))
  t.match(whole, { stopReason: 'end_turn', usage: { outputTokens: 25 } })
  const { stream } = await client.send(new ConverseStreamCommand(body))
  const seen: string[] = []
  let text = ''
  for await (const event of stream ?? []) {
    seen.push(Object.keys(event)[0] as string)
    text += event.contentBlockDelta?.delta?.text ?? ''
  }
  t.match(text, SAYS)
  t.strictSame(seen.slice(-2), ['messageStop', 'metadata'])
  s.double.fault = { after: 3, how: 'exception' }
  const broken = await client.send(new ConverseStreamCommand(body))
  await t.rejects(
    (async () => {
      for await (const _ of broken.stream ?? []);
    })(),
    { name: 'ThrottlingException' },
  )
})

t.test('long strings go out as the client sent them, under a signature of all of the body', async t => {
  const s = await scene(t)
  const text = `${'so "it" is \u00e9\n'.repeat(90_000)}.`
  for (const client of Object.values(CLIENTS)) {
    const { text: told } = await client(s, { text, stream: false })
    t.match(told, SAYS)
    t.ok(
      contentsOf(s)
        .flat()
        .some(part => part['text'] === text),
    )
  }
})
