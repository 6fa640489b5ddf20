import t from 'tap'
import { PROTOCOLS } from '../../bench/micro/meter.ts'
import { document, stream } from '../../bench/micro/workloads/answers.ts'
import { chunked, events, reads } from '../../bench/micro/workloads/chunks.ts'
import { code } from '../../bench/micro/workloads/code.ts'
import { conversation } from '../../bench/micro/workloads/conversation.ts'
import { seeded, withSeed } from '../support/random.ts'

interface Block {
  type: string
  id?: string
  tool_use_id?: string
  cache_control?: object
}
interface Body {
  model: string
  stream: boolean
  max_tokens: number
  system?: Block[]
  tools?: object[]
  metadata?: { user_id: string }
  messages: { role: string; content: string | Block[] }[]
}

t.test('request bodies: as long as asked, valid, and what they are said to say', async t => {
  const { seed } = seeded(t)
  for (const size of [200, 4_096, 20_000, 200_000, 2_000_000]) {
    const { bytes, said } = conversation(seed, size)
    t.equal(bytes.length, size)
    const body = JSON.parse(bytes.toString()) as Body
    const cached = [...(body.system ?? []), ...body.messages.flatMap(m => (Array.isArray(m.content) ? m.content : []))]
    t.same(
      {
        model: body.model,
        stream: body.stream,
        maxOutput: body.max_tokens,
        cacheTtl: cached.some(block => 'cache_control' in block) ? '1h' : null,
        userId: body.metadata?.user_id ?? null,
      },
      said,
    )
    t.ok(conversation(seed, size).bytes.equals(bytes), 'the same again')
    t.notOk(conversation(seed + 1, size).bytes.equals(bytes), 'another seed, another body')
  }
})

t.test('bodies with an image that fills them', async t => {
  const { seed } = seeded(t)
  const { bytes, said } = conversation(seed, 100_000, true)
  t.equal(bytes.length, 100_000)
  const { model, messages } = JSON.parse(bytes.toString()) as Body
  t.equal(model, said.model)
  const data = /"data":"([\w+/]*)"/.exec(JSON.stringify(messages))?.[1] ?? ''
  t.ok(data.length > 95_000 && new Set(data).size === 64)
})

t.test('long bodies are talks of a coding client', async t => {
  const { seed } = seeded(t)
  const { bytes } = conversation(seed, 200_000)
  const text = bytes.toString()
  const body = JSON.parse(text) as Body
  t.equal(body.tools?.length, 3)
  const blocks = body.messages.flatMap(m => (Array.isArray(m.content) ? m.content : []))
  const calls = blocks.filter(b => b.type === 'tool_use').map(b => b.id)
  t.same(
    blocks.filter(b => b.type === 'tool_result').map(b => b.tool_use_id),
    calls,
    'each call has its result',
  )
  t.ok(calls.length > 10)
  t.match(text, /\\n/, 'escaped line ends')
  t.match(text, /\\"/, 'escaped quotes')
  t.match(text, /\\\\/, 'escaped backslashes')
  t.match(text, /\\t/, 'escaped tabs')
  t.ok(bytes.length > text.length, 'characters of several bytes')
})

t.test('the longest body is as long as asked, too', async t => {
  const { bytes } = conversation(1, 20_000_000)
  t.equal(bytes.length, 20_000_000)
  t.ok(JSON.parse(bytes.toString()))
})

t.test('code has the length that was asked for, in whole lines', async t => {
  const text = code(seeded(t), 1_000)
  t.ok(text.length + 1 >= 1_000 && text.length < 1_200, String(text.length))
})

t.test('reads are in order, whole, and never longer than asked', async t => {
  const random = seeded(t)
  const bytes = Buffer.from(Array.from({ length: 300_000 }, () => random.int(0, 255)))
  for (const most of [1_000, 16_384, 65_536]) {
    const chunks = reads(random, bytes, most)
    t.ok(Buffer.concat(chunks).equals(bytes))
    t.ok(chunks.every(chunk => chunk.length > 0 && chunk.length <= most))
    t.same(reads(withSeed(7), bytes, most).length, reads(withSeed(7), bytes, most).length)
  }
})

t.test('chunks: each piece with its size, and the last one', async t => {
  const pieces = ['data: a\n\n', 'x'.repeat(300)].map(text => Buffer.from(text))
  t.equal(chunked(pieces).toString(), `9\r\ndata: a\n\n\r\n12c\r\n${'x'.repeat(300)}\r\n0\r\n\r\n`)
})

/** As the HTML standard reads them; a last one without its blank line does not count. */
function parse(text: string): { name: string; data: string }[] {
  const parts = text.split('\n\n')
  t.equal(parts.pop(), '', 'ends with a blank line')
  return parts.map(part => {
    const lines = part.split('\n')
    const field = (name: string) => lines.filter(l => l.startsWith(`${name}: `)).map(l => l.slice(name.length + 2))
    t.equal(field('event').length + field('data').length, lines.length, 'nothing but names and data')
    return { name: field('event').join(), data: field('data').join('\n') }
  })
}

t.test('streams: valid events, as long and as many as told, the same for the same seed', async t => {
  const { seed } = seeded(t)
  for (const protocol of PROTOCOLS) {
    for (const reports of [true, false]) {
      const made = stream(protocol, seed, 60_000, reports)
      t.ok(stream(protocol, seed, 60_000, reports).bytes.equals(made.bytes), 'the same again')
      const found = parse(made.bytes.toString())
      t.equal(found.length, made.events)
      t.equal(events(made.bytes).length, made.events)
      const datas = found.filter(e => e.data !== '[DONE]').map(e => ({ ...e, json: JSON.parse(e.data) }))
      for (const { name, json } of datas) if (name !== '') t.equal(json.type, name)
      const deltas = datas
        .filter(({ json }) => textOf(json) !== '' || json.type === 'image_generation.partial_image')
        .reduce((sum, event) => sum + lengthOf(event), 0)
      const longest = protocol === 'images' ? 25_000 : 600
      t.ok(deltas >= 60_000 && deltas < 60_000 + longest, `${protocol}: ${deltas}`)
      const tells = datas.some(({ data }) => /"(input_tokens|prompt_tokens|promptTokenCount)":\d/.test(data))
      t.equal(tells, reports, `${protocol}: usage`)
      const text = datas.map(({ json }) => textOf(json)).join('')
      t.equal(protocol === 'images' ? 0 : Math.ceil(Buffer.byteLength(text) / 4.4), made.counted)
    }
  }
})

const lengthOf = ({ name, data }: { name: string; data: string }): number =>
  Buffer.byteLength(`${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`)

interface Said {
  delta?: string | { text?: string }
  choices?: { delta: { content?: string } }[]
  candidates?: { content: { parts: { text: string }[] } }[]
}

function textOf({ delta, choices, candidates }: Said): string {
  if (choices !== undefined) return choices.map(c => c.delta.content ?? '').join('')
  if (candidates !== undefined) return candidates.flatMap(c => c.content.parts.map(p => p.text)).join('')
  return typeof delta === 'string' ? delta : (delta?.text ?? '')
}

t.test('whole answers: valid, as long as asked, with usage', async t => {
  const { seed } = seeded(t)
  for (const protocol of PROTOCOLS) {
    const { bytes, usage } = document(protocol, seed, 50_000)
    t.ok(document(protocol, seed, 50_000).bytes.equals(bytes))
    t.ok(bytes.length > 50_000 && bytes.length < 50_000 + 25_000, `${protocol}: ${bytes.length}`)
    const answer = JSON.parse(bytes.toString()) as Record<string, Record<string, number>>
    const told = answer['usage'] ?? answer['usageMetadata'] ?? {}
    const output = told['output_tokens'] ?? told['completion_tokens'] ?? told['candidatesTokenCount']
    t.equal(output, usage?.output)
  }
})
