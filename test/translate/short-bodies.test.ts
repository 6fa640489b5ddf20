/**
 * Long strings of a body are moved by number (`ShortBody`): what is written of such a body is what is written of the whole one, to the
 * byte, with the same facts, losses and refusals.
 */
import t from 'tap'
import { type Facts, LONG_STRING_BYTES } from '../../lib/protocols/requests/facts.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { plainTarget } from '../../lib/translate/ask.ts'
import { Untranslatable } from '../../lib/translate/events.ts'
import { ManyValues, ShortBody } from '../../lib/translate/json/short-body.ts'
import { issuerOf } from '../../lib/translate/opaque.ts'
import { TRANSLATED, translated, translateRequest } from '../../lib/translate/table.ts'
import { type Random, seeded } from '../support/random.ts'
import { randomAsk } from './support/asks.ts'

const RUNS = Number(process.env['RUNS'] ?? 250)
const TARGET = { ...plainTarget('gemini-3-pro'), thinking: 'adaptive', prefill: 'plain' } as const
const VIA: readonly Protocol[] = [...TRANSLATED, 'converse']

const WORDS = ['words of a text ', '\\"', '\\\\', '\\n', '\\u12aF', 'é', '\xe8\xb7\xaf', '0', '{', '}', ' ']
const BEFORE = [
  '',
  '',
  ' '.repeat(500),
  '\\n'.repeat(300),
  '\\\\'.repeat(400),
  'Error: ',
  'data:image/png;base64,',
  '\\u0020{',
]
const BEHIND = ['', '', ' '.repeat(400), '\\n '.repeat(90), '\\\\'.repeat(300), '\\"', '\\\\\\n', ' .']
const WRONG = ['\n', '\0', '\\x', '\\u12', '\xff', '\xff0\xff']

function longLiteral(random: Random): string {
  const words = Array.from({ length: random.int(300, 1500) }, () => random.pick(WORDS)).join('')
  const inside =
    random.next() < 0.2
      ? `{\\"${random.pick(['output', 'k'])}\\":\\"${'a\\\\n'.repeat(1500)}\\"}`
      : `${random.pick(BEFORE)}${words}${random.pick(BEHIND)}`
  const wrong = random.next() < 0.02 ? random.pick(WRONG) : ''
  const at = random.int(0, inside.length)
  return `"${inside.slice(0, at)}${wrong}${inside.slice(at)}"`
}

/** The members whose values are long now and then. */
const VALUES =
  /"(text|content|data|output|input|arguments|url|image_url|file_data|result|thinking|user|description|response|system|signature)":("(?:[^"\\]|\\.)*")/g

function randomBody(random: Random, protocol: Protocol): Buffer {
  const takes = { media: ['image', 'document'], thoughts: true, systemTurns: true } as const
  const ask = randomAsk(random, takes, issuerOf(protocol, TARGET.model))
  const { body } = translated(protocol).writeRequest(ask, TARGET)
  const odd = random.next() < 0.1 ? '"é":"\xff",' : ''
  const long = body.replace(VALUES, (all, name) => (random.next() < 0.7 ? `"${name}":${longLiteral(random)}` : all))
  return Buffer.from(`{${odd}${long.slice(1)}`, 'latin1')
}

function chunksOf(random: Random, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + random.int(1, random.pick([10, 3000, 70_000]))
    chunks.push(bytes.subarray(at, end))
    at = end
  }
  return chunks
}

function factsOf(protocol: Protocol, chunks: readonly Buffer[]): Facts | null {
  const scan = protocolRow(protocol).body.scan('application/json')
  for (const chunk of chunks) scan.feed(chunk)
  return scan.end()
}

/** What an upstream is sent of a body; or why it is refused. */
function sentOf(body: Buffer | ShortBody, protocol: Protocol, via: Protocol): unknown {
  try {
    const ask = translated(protocol).readRequest(body, { model: 'model', stream: true, searches: true })
    const { body: pieces, bytes, ...rest } = translateRequest(ask, via, TARGET)
    const whole = Buffer.concat(pieces)
    return { ...rest, body: whole.toString('latin1'), isAll: whole.length === bytes }
  } catch (error) {
    if (error instanceof Untranslatable) return error.field
    throw error
  }
}

t.test('random bodies with long strings, from every protocol to every other one', async t => {
  const random = seeded(t)
  const seen = { short: 0, plain: 0, refused: 0 }
  for (let run = 0; run < RUNS; run++) {
    const protocol = random.pick(TRANSLATED)
    const bytes = randomBody(random, protocol)
    const chunks = chunksOf(random, bytes)
    const facts = factsOf(protocol, chunks)
    if (facts === null) continue
    const short = new ShortBody(chunks, facts.longStrings)
    seen[short.isShort ? 'short' : 'plain']++
    for (const via of VIA) {
      const whole = sentOf(bytes, protocol, via)
      if (typeof whole === 'string') seen.refused++
      const isSame = t.strictSame(sentOf(short, protocol, via), whole, `run ${run}: ${protocol} to ${via}`)
      if (!isSame) return
    }
  }
  t.ok(seen.short > RUNS / 8 && seen.plain > 0 && seen.refused > 0, JSON.stringify(seen))
})

t.test(
  'facts do not depend on where a body is cut, also not in an escape of data of which the beginning is read',
  async t => {
    const address = `data:image/png;a=${'p'.repeat(270)};base64,`
    const data = `${address}${'A'.repeat(400 - address.length)}\\"}},{\\"type\\":\\"text\\",\\"text\\":\\"${'A'.repeat(6000)}`
    const body = Buffer.from(
      `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${data}"}}]}],"max_tokens":7}`,
    )
    const { longStrings } = factsOf('chat', [body]) as Facts
    const begin = body.indexOf('data:')
    for (const via of VIA.filter(name => name !== 'chat')) {
      const whole = sentOf(body, 'chat', via)
      t.type(whole, 'object', via)
      for (let at = begin + 390; at < begin + 440; at++)
        t.strictSame(
          sentOf(new ShortBody([body.subarray(0, at), body.subarray(at)], longStrings), 'chat', via),
          whole,
          `${via}, cut at ${at - begin}`,
        )
    }
  },
)

t.test(
  'a state in base64 that has bytes of no UTF-8 in it is none of ours: it stands for no string of the body',
  async t => {
    for (const via of VIA.filter(name => name !== 'generate'))
      for (const odd of ['\xff0\xff'.repeat(50), '\xff7\xff', '\xff', 'é']) {
        const state = Buffer.from(`gw1.${issuerOf(via, TARGET.model)}.s..AAA${odd}`, 'latin1').toString('base64')
        const contents = [
          { role: 'user', parts: [{ text: 'x'.repeat(50_000) }] },
          { role: 'model', parts: [{ thought: true, text: 'so', thoughtSignature: state }, { text: 'yes' }] },
          { role: 'user', parts: [{ text: 'why' }] },
        ]
        const body = Buffer.from(JSON.stringify({ contents }))
        const { longStrings } = factsOf('generate', [body]) as Facts
        const sent = sentOf(new ShortBody([body], longStrings), 'generate', via)
        t.strictSame(sent, sentOf(body, 'generate', via), via)
        t.notMatch(sent, { body: 'AAA' }, via)
      }
  },
)

function hasMany(read: () => unknown): boolean {
  try {
    read()
    return false
  } catch (error) {
    return error instanceof ManyValues
  }
}

const chatBody = (content: string): Buffer => Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }))

t.test('a long string leaves little of itself behind, and its bytes are the client’s own', async t => {
  const body = chatBody('so "it" is é\n'.repeat(20_000))
  const facts = factsOf('chat', [body]) as Facts
  const short = new ShortBody([body], facts.longStrings)
  t.ok(short.text.length < 700, `${short.text.length}`)
  const ask = translated('chat').readRequest(short, { model: 'm', stream: false })
  const { body: pieces } = translateRequest(ask, 'messages', TARGET)
  t.ok(pieces.some(piece => piece.buffer === body.buffer && piece.length > body.length - 700))
})

t.test('what is read whole has its bound, and so has what is left of many strings', async t => {
  const args = JSON.stringify({ text: 'x'.repeat(20_000) })
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: args } }
  const body = Buffer.from(JSON.stringify({ messages: [{ role: 'assistant', tool_calls: [call] }] }))
  const long = [body.indexOf('"{'), body.indexOf('}"') + 2]
  const head = { model: 'm', stream: false }
  const read = (room: number) => translated('chat').readRequest(new ShortBody([body], long, room), head)
  t.match(read(22_000).turns, [{ parts: [{ args: JSON.stringify(args) }] }])
  t.ok(hasMany(() => read(19_000)))
  const many = chatBody(`${'x'.repeat(LONG_STRING_BYTES)}`)
  const facts = factsOf('chat', [many]) as Facts
  t.ok(hasMany(() => new ShortBody([many], facts.longStrings, 300)))
})

t.test('a byte of no UTF-8 is never taken for a number', async t => {
  for (const odd of ['\xff0\xff', '\xff', '\xff9\xff0\xff'])
    for (const [name, long] of [
      ['in the text', `{"messages":[{"role":"user","name":"${odd}","content":"${'x'.repeat(5000)}"}]}`],
      ['in a string', `{"messages":[{"role":"user","content":"${'x'.repeat(2500)}${odd}${'x'.repeat(2500)}"}]}`],
    ] as const) {
      const body = Buffer.from(long, 'latin1')
      const short = new ShortBody([body], (factsOf('chat', [body]) as Facts).longStrings)
      t.strictSame(
        sentOf(short, 'chat', 'messages'),
        sentOf(body, 'chat', 'messages'),
        `${JSON.stringify(odd)} ${name}`,
      )
    }
})
