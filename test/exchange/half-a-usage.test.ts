/** A usage of which one number is missing, or is none: that number is estimated or counted, and the other one is charged as it is reported. */
// The bug behind these rows: chat, responses, generate-content and Converse threw away both, messages the output.
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'
import type { Script } from './support/upstream.ts'

/** 44 bytes, which are 10 tokens. */
const TEN = 'x'.repeat(44)
const QUESTION = 'q'.repeat(400)
const PRICES = { [MODEL]: { input: 2, cache_read: 1, output: 8 } }
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

/** What an upstream reports; JSON leaves out what is undefined. */
interface Said {
  input?: unknown
  output?: unknown
  cached?: unknown
}

interface Form {
  path: string
  streamPath?: string
  body: object
  usage(said: Said): object
  document(usage: object): object
  /** The content, and an event with usage. */
  content: string
  report(usage: object): string
  end: string
}

const messages = [{ role: 'user', content: QUESTION }]
const openAi = ({ input, output, cached }: Said) => ({
  input_tokens: input,
  output_tokens: output,
  input_tokens_details: { cached_tokens: cached },
})

const FORMS: Record<string, Form> = {
  messages: {
    path: '/v1/messages',
    body: { model: MODEL, max_tokens: 100, messages },
    usage: ({ input, output, cached }) => ({
      input_tokens: input,
      output_tokens: output,
      cache_read_input_tokens: cached,
    }),
    document: usage => ({ content: [{ type: 'text', text: TEN }], stop_reason: 'end_turn', usage }),
    content: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEN } }),
    report: usage => event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
    end: event('message_stop', {}),
  },
  chat: {
    path: '/v1/chat/completions',
    body: { model: MODEL, max_tokens: 100, messages },
    usage: ({ input, output, cached }) => ({
      prompt_tokens: input,
      completion_tokens: output,
      prompt_tokens_details: { cached_tokens: cached },
    }),
    document: usage => ({ choices: [{ message: { content: TEN }, finish_reason: 'stop' }], usage }),
    content: data({ choices: [{ delta: { content: TEN } }] }),
    report: usage => data({ choices: [], usage }),
    end: 'data: [DONE]\n\n',
  },
  responses: {
    path: '/v1/responses',
    body: { model: MODEL, max_output_tokens: 100, input: QUESTION },
    usage: openAi,
    document: usage => ({ output: [{ type: 'message', content: [{ type: 'output_text', text: TEN }] }], usage }),
    content: event('response.output_text.delta', { delta: TEN }),
    report: usage => event('response.completed', { response: { usage } }),
    end: '',
  },
  generate: {
    path: `/v1beta/models/${MODEL}:generateContent`,
    streamPath: `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text: QUESTION }] }], generationConfig: { maxOutputTokens: 100 } },
    usage: ({ input, output, cached }) => ({
      promptTokenCount: input,
      candidatesTokenCount: output,
      cachedContentTokenCount: cached,
    }),
    document: usageMetadata => ({
      candidates: [{ content: { parts: [{ text: TEN }] }, finishReason: 'STOP' }],
      usageMetadata,
    }),
    content: data({ candidates: [{ content: { parts: [{ text: TEN }] } }] }),
    report: usageMetadata => data({ candidates: [{ finishReason: 'STOP' }], usageMetadata }),
    end: '',
  },
}

/** What counts as not reported. */
const NONE = [undefined, null, -1, 1e9 + 1, 1e18, 'many', {}]

for (const [protocol, form] of Object.entries(FORMS))
  for (const streams of [false, true])
    t.test(`half a usage, ${protocol}, ${streams ? 'a stream' : 'a document'}`, async t => {
      const s = await open(t, { prices: PRICES })
      const headers = { ...HEADERS, 'x-gamma-api-key': HEADERS['x-goog-api-key'] }
      const asked = async (...said: Said[]) => {
        const usages = said.map(one => form.usage(one))
        const script: Script = call => {
          if (!streams) return call.whole(200, form.document(usages[0] as object))
          call.stream()
          call.chunk(form.content + usages.map(form.report).join('') + form.end)
          call.end()
        }
        s.at('a').script = script
        const path = streams ? (form.streamPath ?? form.path) : form.path
        const more = streams && form.streamPath === undefined ? { stream: true } : {}
        await s.ask({ path, headers, body: { ...form.body, ...more } }).end()
        return (await s.books()).rows.at(-1)
      }
      const silent = await asked({})
      const estimate = silent?.input as number
      t.ok(estimate > 90, 'the question is estimated')
      t.match(silent, { output: 10, charge: estimate * 2 + 10 * 8, basis: 'counted' })
      for (const none of NONE) {
        const what = JSON.stringify(none)
        t.match(
          await asked({ input: 100, output: none }),
          { input: 100, output: 10, charge: 100 * 2 + 10 * 8, basis: 'counted' },
          `output ${what}`,
        )
        t.match(
          await asked({ input: none, output: 60 }),
          { input: estimate, output: 60, charge: estimate * 2 + 60 * 8, basis: 'counted' },
          `input ${what}`,
        )
        t.match(
          await asked({ input: none, output: 60, cached: 30 }),
          { input: estimate - 30, cache_read: 30, output: 60, charge: (estimate - 30) * 2 + 30 + 60 * 8 },
          `input ${what}, and a part of it read from a cache`,
        )
      }
      t.match(await asked({ input: 100, output: 60 }), { charge: 100 * 2 + 60 * 8, basis: 'reported' })
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
    })

t.test('half a usage in a later event leaves the other half as it was', async t => {
  const s = await open(t, { prices: PRICES })
  const form = FORMS['chat'] as Form
  const rows: [said: Said[], charge: number, basis: string][] = [
    [[{ input: 100, output: 60 }, { output: 61 }], 100 * 2 + 61 * 8, 'reported'],
    [[{ input: 100, output: 60 }, { input: 100 }], 100 * 2 + 60 * 8, 'reported'],
    [[{ input: 100 }, { output: 60 }], 100 * 2 + 60 * 8, 'reported'],
    [[{ input: 100, output: 5 }, { input: 100 }], 100 * 2 + 10 * 8, 'counted'],
  ]
  for (const [said, charge, basis] of rows) {
    s.at('a').script = call => {
      call.stream()
      const [first, second] = said.map(one => form.report(form.usage(one)))
      call.chunk(`${first}${form.content}${second}${form.end}`)
      call.end()
    }
    await s.ask({ path: form.path, headers: HEADERS, body: { ...form.body, stream: true } }).end()
    t.match((await s.books()).rows.at(-1), { charge, basis }, JSON.stringify(said))
  }
})

t.test('pictures that cost their tokens, of an answer that does not report them', async t => {
  const s = await open(t, { prices: PRICES })
  const b64_json = 'A'.repeat(20_000)
  const rows: [usage: object | undefined, charge: (estimate: number) => number, basis: string][] = [
    [undefined, estimate => estimate * 2 + 20 * 8, 'counted'],
    [{ input_tokens: 100 }, () => 100 * 2 + 20 * 8, 'counted'],
    [{ output_tokens: 60 }, estimate => estimate * 2 + 60 * 8, 'counted'],
    [{ output_tokens: 60, total_tokens: 60 }, () => 60 * 8, 'reported'],
    [{ output_tokens: 60, total_tokens: 90 }, () => 30 * 2 + 60 * 8, 'reported'],
    [{ output_tokens: 60, total_tokens: 0 }, estimate => estimate * 2 + 60 * 8, 'counted'],
    [{ input_tokens: 100, output_tokens: 60 }, () => 100 * 2 + 60 * 8, 'reported'],
  ]
  let estimate = 0
  for (const [usage, charge, basis] of rows) {
    s.at('a').script = call => call.whole(200, { created: 1, data: [{ b64_json }], usage })
    await s.ask({ path: '/v1/images/generations', headers: HEADERS, body: { model: MODEL, prompt: QUESTION } }).end()
    const row = (await s.books()).rows.at(-1)
    estimate ||= row?.input as number
    t.match(row, { images: 1, charge: charge(estimate), basis }, JSON.stringify(usage))
  }
  t.ok(estimate > 90)
})

for (const [what, price, basis] of [
  ['cost a price and their input', { image: 0.001, input: 2 }, 'counted'],
  ['cost a price alone', { image: 0.001 }, 'reported'],
] as const)
  t.test(`pictures that ${what}, of an answer that reports no tokens`, async t => {
    const s = await open(t, { prices: { [MODEL]: price } })
    s.at('a').script = call => call.whole(200, { created: 1, data: [{ url: 'https://example.com/a.png' }] })
    await s.ask({ path: '/v1/images/generations', headers: HEADERS, body: { model: MODEL, prompt: QUESTION } }).end()
    const row = (await s.books()).rows.at(-1)
    const input = row?.input as number
    t.equal(input > 90, basis === 'counted')
    t.match(row, { images: 1, basis, charge: 1000 + input * 2 })
  })

t.test('input beside a prompt that is not reported is charged beside its estimate', async t => {
  const s = await open(t, { prices: PRICES })
  const rows: [name: string, beside: object][] = [
    ['chat', { citation_tokens: 30 }],
    ['generate', { toolUsePromptTokenCount: 30 }],
    ['responses', { image_gen: { input_tokens: 30 } }],
  ]
  for (const [name, beside] of rows) {
    const form = FORMS[name] as Form
    const headers = { ...HEADERS, 'x-gamma-api-key': HEADERS['x-goog-api-key'] }
    const inputs: number[] = []
    for (const more of [{}, beside]) {
      const usage = { ...form.usage({ output: 60 }), ...more }
      const tool_usage = 'image_gen' in more ? more : undefined
      s.at('a').script = call => call.whole(200, { ...form.document(usage), tool_usage })
      await s.ask({ path: form.path, headers, body: form.body }).end()
      inputs.push((await s.books()).rows.at(-1)?.input as number)
    }
    t.ok((inputs[0] as number) > 90)
    t.equal(inputs[1], (inputs[0] as number) + 30, name)
  }
})
