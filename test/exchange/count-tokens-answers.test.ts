/**
 * Whatever an upstream said to a count route went to the client, free of charge. One that knows no such route and takes it
 * for the one before it gave whole answers of its model away.
 */
// The bug behind these rows: answers for the price of a count.
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import type { Call } from './support/upstream.ts'

const COUNTS = {
  messages: '/v1/messages/count_tokens',
  responses: '/v1/responses/input_tokens',
  generate: `/v1beta/models/${MODEL}:countTokens`,
} as const
const body = { model: MODEL, stream: true, max_tokens: 5000, contents: [] }

async function count(s: Scene, path: string): Promise<{ status: number; text: string }> {
  const client = s.ask({ path, headers: HEADERS, body: path.includes('models') ? { contents: [] } : body })
  await client.end()
  return { status: client.status, text: client.text }
}

const POEM = 'Once upon a midnight dreary'
const DOCUMENTS = {
  messages: { content: [{ type: 'text', text: POEM }], usage: { input_tokens: 5, output_tokens: 9 } },
  responses: { output: [{ content: [{ type: 'output_text', text: POEM }] }] },
  generate: { candidates: [{ content: { parts: [{ text: POEM }] } }] },
} as const
const OWN = {
  messages: /^\{"input_tokens":\d+\}$/,
  responses: /"input_tokens":\d+\}$/,
  generate: /^\{"totalTokens":\d+\}$/,
}

const FORMS: Record<string, (call: Call, protocol: keyof typeof COUNTS) => void> = {
  'a document': (call, protocol) => call.whole(200, DOCUMENTS[protocol]),
  'a document in pieces': (call, protocol) => {
    call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    for (const c of JSON.stringify(DOCUMENTS[protocol])) call.chunk(c)
    call.end()
  },
  'a stream': (call, protocol) => {
    call.stream()
    call.chunk(SPEECH[protocol].first.replace('Good morning to you', POEM))
  },
  'a document without end': call => {
    call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    call.chunk(`{"content":[{"type":"text","text":"${POEM.repeat(5000)}`)
  },
}

for (const [form, answer] of Object.entries(FORMS))
  t.test(`${form} is no count`, async t => {
    const s = await open(t)
    for (const protocol of Object.keys(COUNTS) as (keyof typeof COUNTS)[]) {
      s.at('a').script = call => answer(call, protocol)
      const before = s.at('a').calls.length
      for (let i = 0; i < 3; i++) {
        const said = await count(s, COUNTS[protocol])
        t.equal(said.status, 200)
        t.match(said.text, OWN[protocol])
        t.notMatch(said.text, POEM)
      }
      t.equal(s.at('a').calls.length, before + 1, 'and the channel is asked for none again')
      if (form.includes('without end') || form === 'a stream') await s.at('a').calls[before]?.cut()
    }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [] })
  })

t.test('a count is passed on as it came, and what is neither is one of ours', async t => {
  const s = await open(t)
  for (const [protocol, said] of [
    ['messages', { input_tokens: 7, context_management: { original_input_tokens: 9 } }],
    ['responses', { object: 'response.input_tokens', input_tokens: 7 }],
    ['generate', { totalTokens: 7, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 7 }] }],
  ] as const) {
    s.at('a').script = call => call.whole(200, said)
    t.match(await count(s, COUNTS[protocol]), { status: 200, text: JSON.stringify(said) })
    for (const script of [
      (call: Call) => call.whole(200, '<html>'),
      (call: Call) => call.whole(200, { error: { message: 'no' } }),
      (call: Call) => {
        call.start(200, { 'content-length': '100' })
        call.raw('{"input_tokens"')
        call.reset()
      },
    ]) {
      s.at('a').script = script
      t.match(await count(s, COUNTS[protocol]), { status: 200, text: OWN[protocol] })
    }
    s.at('a').script = call => call.whole(200, said)
    t.match((await count(s, COUNTS[protocol])).text, JSON.stringify(said), 'it is asked again')
  }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [] })
})
