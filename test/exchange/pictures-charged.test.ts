/**
 * Pictures in an answer cost a piece where pieces have a price, on any protocol: on chat, responses and generate they cost
 * the tokens that were reported for them, or next to nothing where none were.
 */
// The bug behind these rows: pictures given away.
import t from 'tap'
import type { Meter } from '../../lib/protocols/answers/meter.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { NOTHING_LEFT, type Options, open } from './support/gateway.ts'
import { document, SPEECH } from './support/speech.ts'
import type { Script } from './support/upstream.ts'
import { until } from '../support/wait.ts'

type Json = Record<string, unknown>

const PNG = `iVBORw0KGgo/${'AAAA'.repeat(5000)}`
const data = (value: object | string) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const url = `data:image/png;base64,${PNG}`

// --- what each protocol says

const part = (...parts: Json[]): Json => ({ candidates: [{ content: { parts } }] })
const blob = { inlineData: { mimeType: 'image/png', data: PNG } }
const metadata = (more: Json = {}): Json => ({
  usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 1300, totalTokenCount: 1400, ...more },
})
const ofImage = { candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }, { modality: 'TEXT' }] }
const picture = { type: 'image_url', image_url: { url } }
const delta = (delta: Json): Json => ({ choices: [{ index: 0, delta }] })
const message = (message: Json): Json => ({ choices: [{ index: 0, message }] })
const chatUsage = (details: Json = {}): Json => ({
  usage: { prompt_tokens: 100, completion_tokens: 1300, completion_tokens_details: details },
})
const drawn = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: PNG }
const done = (item: Json): Json => ({ type: 'response.output_item.done', output_index: 0, item })
const preview = { type: 'response.image_generation_call.partial_image', partial_image_b64: PNG, item_id: 'ig_1' }
const responsesUsage = (details: Json = {}): Json => ({
  usage: { input_tokens: 100, output_tokens: 1300, output_tokens_details: details },
})
const completed = (output: Json[], usage: Json = {}): Json => ({
  type: 'response.completed',
  response: { id: 'r', output, ...usage },
})

const DONE = data('[DONE]')
const stream =
  (...events: (object | string)[]): Script =>
  call => {
    call.stream()
    for (const event of events) call.chunk(typeof event === 'string' ? event : data(event))
    call.end()
  }
const whole =
  (body: object): Script =>
  call =>
    call.whole(200, body)

const GENERATED = { ...SPEECH.generate.ask, path: '/v1beta/models/m:generateContent' }
const RESPONSE = { ...SPEECH.responses.ask, body: { model: 'm', max_output_tokens: 2000 } }
const ASKED = {
  chat: { stream: SPEECH.chat.ask, document: document({ max_tokens: 2000 }) },
  responses: { stream: SPEECH.responses.ask, document: RESPONSE },
  generate: { stream: SPEECH.generate.ask, document: GENERATED },
  images: { stream: SPEECH.images.ask, document: { ...SPEECH.images.ask, body: { model: 'm', prompt: 'a cat' } } },
}
type Form = 'stream' | 'document'

/**
 * 2 micro-CNY a token in, 8 out, 500,000 a picture; all name 100 tokens in and 1,300 out. The row has all of them, but those of
 * a picture are not charged beside it.
 */
const TEXT = 200 + 1300 * 8
const NAMED = 200 + 10 * 8
const PIECE = 500_000

const CHARGED: [string, keyof typeof ASKED, Form, Script, { images: number; output: number; charge: number }][] = [
  [
    'the detail names the tokens of the picture',
    'generate',
    'stream',
    stream(part({ text: 'a cat' }), part(blob), metadata(ofImage), { candidates: [{ finishReason: 'STOP' }] }),
    { images: 1, output: 1300, charge: PIECE + NAMED },
  ],
  [
    'no detail does, so that all tokens are charged beside it',
    'generate',
    'document',
    whole({ ...part(blob, blob), ...metadata() }),
    { images: 2, output: 1300, charge: 2 * PIECE + TEXT },
  ],
  [
    'a detail names tokens of a picture that is nowhere',
    'generate',
    'document',
    whole({ ...part({ text: 'a cat' }), ...metadata(ofImage) }),
    { images: 0, output: 1300, charge: TEXT },
  ],
  [
    'pictures beside a text',
    'chat',
    'stream',
    stream(delta({ images: [picture] }), { choices: [], ...chatUsage({ image_tokens: 1290 }) }, DONE),
    { images: 1, output: 1300, charge: PIECE + NAMED },
  ],
  [
    'pictures among the parts of a content',
    'chat',
    'document',
    whole({ ...message({ content: [{ type: 'text', text: 'a cat' }, picture] }), ...chatUsage() }),
    { images: 1, output: 1300, charge: PIECE + TEXT },
  ],
  [
    'an item, and the whole answer once more',
    'responses',
    'stream',
    stream(preview, preview, done(drawn), completed([drawn], responsesUsage({ image_tokens: 1290 }))),
    { images: 1, output: 1300, charge: PIECE + NAMED },
  ],
  [
    'the whole answer alone',
    'responses',
    'stream',
    stream(completed([drawn, drawn], responsesUsage())),
    { images: 2, output: 1300, charge: 2 * PIECE + TEXT },
  ],
  [
    'items of a document',
    'responses',
    'document',
    whole({ id: 'r', output: [drawn], ...responsesUsage() }),
    { images: 1, output: 1300, charge: PIECE + TEXT },
  ],
  [
    'tokens that are the picture are not charged beside it',
    'images',
    'document',
    whole({ data: [{ b64_json: PNG }], ...responsesUsage({ image_tokens: 1290 }) }),
    { images: 1, output: 1300, charge: PIECE + NAMED },
  ],
  [
    'nor in a stream',
    'images',
    'stream',
    stream({ type: 'image_generation.completed', b64_json: PNG, ...responsesUsage({ image_tokens: 1290 }) }),
    { images: 1, output: 1300, charge: PIECE + NAMED },
  ],
]

t.test('a piece, and all tokens that are no picture', async t => {
  const s = await open(t)
  const unpriced = await open(t, { prices: { m: { input: 2, output: 8 } } })
  for (const [what, protocol, form, script, row] of CHARGED) {
    s.at('a').script = unpriced.at('a').script = script
    await s.ask(ASKED[protocol][form]).end()
    await unpriced.ask(ASKED[protocol][form]).end()
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.match(books.rows.at(-1), { ...row, basis: 'reported', end: 'completed' }, `${protocol} ${form}: ${what}`)
    const plain = { images: protocol === 'images' ? 1 : 0, output: 1300, charge: TEXT }
    t.match((await unpriced.books()).rows.at(-1), plain, `${protocol} ${form}, pictures without a price: ${what}`)
  }
})

// --- other ends

const begun = (json: object) => data(json).slice(0, -40)

interface End {
  protocol: 'chat' | 'responses' | 'generate'
  options?: Options
  script: Script
  /** Its client leaves. */
  leaves?: boolean
  row: object
}

const ENDS: Record<string, End> = {
  'no usage': {
    protocol: 'chat',
    script: stream(delta({ images: [picture] }), DONE),
    row: { images: 1, output: 0, basis: 'counted', end: 'completed' },
  },
  'a picture behind the report': {
    protocol: 'generate',
    script: stream({ ...part({ text: 'a cat' }), ...metadata(ofImage) }, part(blob), {
      candidates: [{ finishReason: 'STOP' }],
    }),
    row: { images: 1, output: 1300, charge: PIECE + NAMED },
  },
  'broken off in the midst of a second picture': {
    protocol: 'generate',
    script: call => {
      call.stream()
      call.chunk(data(part(blob)) + begun(part(blob)))
      call.reset()
    },
    row: { images: 2, output: 0, end: 'upstream_cut', basis: 'counted' },
  },
  'what cannot be read as a whole': {
    protocol: 'generate',
    script: call => {
      call.stream({ 'content-type': 'application/json' })
      call.chunk(JSON.stringify(part(blob)).slice(0, -1))
      call.end()
    },
    row: { images: 1, end: 'completed', basis: 'counted' },
  },
  'its client leaves in the midst of it': {
    protocol: 'responses',
    options: { config: { client_gone: { concurrent: 0 } } },
    script: call => {
      call.stream()
      call.chunk(data(preview) + begun(done(drawn)))
    },
    leaves: true,
    row: { images: 1, output: 0, end: 'client_gone', basis: 'counted' },
  },
}

for (const [name, { protocol, options = {}, script, leaves, row }] of Object.entries(ENDS))
  t.test(name, async t => {
    const s = await open(t, options)
    s.at('a').script = script
    const asked = s.ask(ASKED[protocol].stream)
    if (!leaves) await asked.end()
    else {
      await asked.sees('data: ')
      asked.leave()
      await s.readOut()
    }
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [], rows: [row] })
    const { images, input, output, charge } = books.rows[0]!
    if (!('charge' in row)) t.equal(charge, images * PIECE + 2 * input + 8 * output)
  })

t.test('a hold that grows covers pictures before they go on', async t => {
  const options = { config: { hold: { output_tokens: 1000 } } }
  const priced = (output: number): Options => ({ ...options, prices: { m: { input: 2, output, image: 30 } } })
  for (const output of [8, 0]) {
    const s = await open(t, priced(output))
    // 100 yuan pay for three pictures of thirty
    const client = s.ask(SPEECH.generate.ask)
    const call = await s.at('a').call()
    call.stream()
    const seen = () => client.text.split(PNG).length - 1
    for (let sent = 1; !client.text.includes('MAX_TOKENS'); sent++) {
      call.chunk(data(part({ text: 'a cat' }, blob)))
      await until('the client sees it, or the end', () => seen() === sent || client.text.includes('MAX_TOKENS'))
    }
    await client.end()
    t.equal(seen(), 3)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ images: 3, basis: 'counted', end: 'completed' }] })
    t.ok(books.rows[0]!.charge > 90_000_000 && books.rows[0]!.charge < 90_001_000)
  }
})

// --- how it may be written

const read = (protocol: Protocol, form: Form, text: string, size: number, end = true): Meter => {
  const meter = protocolRow(protocol).meter({
    events: form === 'stream',
    lengthStop: false,
    cacheTtl: '5m',
    pictures: true,
  })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size)
    meter.feed(chunk, chunk.toString('latin1'))
  }
  if (end) meter.end(true)
  return meter
}

const SHORT = PNG.slice(0, 40)
const inline = (more: Json) => ({ inlineData: { data: SHORT, ...more } })
const image = inline({ mimeType: 'image/png' })
const two = JSON.stringify(part(image, image))
const item = { type: 'image_generation_call', result: SHORT }
const at = { image_url: { url: `data:image/png;base64,${SHORT}` } }

const WRITTEN: [string, Protocol, Form, string, number][] = [
  ['plain', 'generate', 'stream', `data: ${two}\n\n`, 2],
  ['CRLF', 'generate', 'stream', `data: ${two}\r\n\r\ndata: ${two}\r\n\r\n`, 4],
  ['CR', 'generate', 'stream', `data: ${two}\r\rdata: ${two}\r\r`, 4],
  ['BOM, no space, other fields', 'generate', 'stream', `\ufeffdata:${two}\nid: 1\n: "it's {\n\ndata:${two}`, 4],
  ['only a BOM where it may be', 'generate', 'stream', `: x\n\ufeffdata: ${two}\n\n`, 0],
  ['many lines', 'generate', 'stream', JSON.stringify(part(image), null, 2).replaceAll(/^/gm, 'data: '), 1],
  [
    'CRLF in many lines',
    'generate',
    'stream',
    JSON.stringify(part(image), null, 2).replaceAll(/^/gm, 'data: ').replaceAll('\n', '\r\n'),
    1,
  ],
  ['an event that is not JSON before it', 'generate', 'stream', `data: {"a":["\n\ndata: ${two}\n\n`, 2],
  ['the kind behind the data', 'generate', 'document', JSON.stringify(part(inline({ mime_type: 'IMAGE/webp' }))), 1],
  ['slashes escaped', 'generate', 'document', two.replaceAll('/', '\\/'), 2],
  ['keys escaped', 'generate', 'document', two.replaceAll('"data"', '"d\\u0061ta"'), 2],
  ['an array of answers', 'generate', 'document', `[${two},\n${two}]`, 4],
  ['snake case', 'generate', 'document', two.replaceAll('inlineData', 'inline_data'), 2],
  ['sound', 'generate', 'document', JSON.stringify(part(inline({ mimeType: 'audio/pcm' }))), 0],
  ['no data', 'generate', 'document', JSON.stringify(part({ inlineData: { mimeType: 'image/png', data: '' } })), 0],
  ['drafts', 'generate', 'document', JSON.stringify(part({ thought: true, ...image }, { ...image, thought: true })), 0],
  [
    'no draft',
    'generate',
    'document',
    JSON.stringify(part({ thought: false, ...image }, { thought: null, ...image })),
    2,
  ],
  ['arguments', 'generate', 'document', JSON.stringify(part({ functionCall: { args: part(image) }, text: two })), 0],
  ['a prototype', 'generate', 'document', `{"__proto__":${two},"constructor":${two}}`, 0],
  [
    'a kind that begun',
    'generate',
    'document',
    `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"iVBORw0K`,
    1,
  ],
  [
    'a sound that begun',
    'generate',
    'document',
    `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"UklGRiQAAABXQVZF`,
    0,
  ],
  ['a URL', 'chat', 'document', JSON.stringify(message({ images: [{ image_url: { url: 'https://x/y.png' } }] })), 1],
  ['a URL as a string', 'chat', 'document', JSON.stringify(message({ images: [{ image_url: 'https://x/y.png' }] })), 1],
  [
    'a citation',
    'chat',
    'stream',
    data(delta({ annotations: [{ url_citation: { url: 'https://x' } }], content: two })),
    0,
  ],
  [
    'several answers',
    'chat',
    'stream',
    data({ choices: [{ delta: { images: [at, at] } }, { delta: { images: [at] } }] }),
    3,
  ],
  ['an item without a result', 'responses', 'stream', data(done({ ...item, result: null })), 0],
  ['the type behind the result', 'responses', 'stream', data({ item: { result: SHORT, type: item.type } }), 1],
  ['an item of another type', 'responses', 'stream', data(done({ type: 'mcp_call', result: SHORT })), 0],
  [
    'what the request said',
    'responses',
    'stream',
    data({ response: { metadata: item, tools: [item], output: [] } }),
    0,
  ],
  ['said three times', 'responses', 'stream', data(done(item)) + data(completed([item])) + data(completed([item])), 1],
]

t.test('however it is written and cut', async t => {
  for (const [what, protocol, form, text, images] of WRITTEN)
    for (const size of [1, 2, 3, 7, 64, 1e9])
      t.equal(read(protocol, form, text, size).images, images, `${protocol} ${form}, ${what}, in pieces of ${size}`)
})

t.test('a picture is no token beside itself, and sound still is', async t => {
  const sound = inline({ mimeType: 'audio/pcm', data: PNG })
  for (const size of [997, 1e9]) {
    const both = read('generate', 'document', JSON.stringify(part(sound, blob, blob)), size)
    t.match(both, { images: 2, produced: Math.ceil(PNG.length / 1000) })
    t.ok(both.counted > 2 * both.produced, 'that there was content is known all the same')
    const drafts = read('generate', 'document', JSON.stringify(part({ thought: true, ...blob })), size)
    t.match(drafts, { images: 0, produced: Math.ceil(PNG.length / 1000) })
  }
})

t.test('tens of megabytes, and events by the thousand, in time that is even', async t => {
  const big = 'A'.repeat(24 << 20)
  t.equal(read('generate', 'stream', data(part(inline({ mimeType: 'image/png', data: big }))), 65_536).images, 1)
  const many = data(delta({ content: '"\\' })).repeat(20_000)
  t.equal(read('chat', 'stream', many + data(delta({ images: [at] })), 1 << 20).images, 1)
  const slashes = `data: {"a":"${'\\'.repeat(1 << 20)}"}\n\n`
  t.equal(read('chat', 'stream', slashes + data(delta({ images: [at] })), 65_536).images, 1)
  const deep = `{"x":${'['.repeat(1 << 20)}${']'.repeat(1 << 20)},${JSON.stringify(message({ images: [at] })).slice(1)}`
  t.equal(read('chat', 'document', deep, 65_536).images, 1)
})
