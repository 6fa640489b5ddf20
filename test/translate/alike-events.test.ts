/**
 * Events that differ from the one before in their text alone are not read as JSON. Some of them meant something else than the one before
 * all the same, because the reader had kept in mind what that one said: pieces of arguments were lost, or came to another call. And
 * a text that was found so kept eight KiB of its stream in memory.
 */
// The bug behind these rows: events alike that meant something else.
import v8 from 'node:v8'
import vm from 'node:vm'
import t from 'tap'
import { protocolRow } from '../../lib/protocols/table.ts'
import { mayHaveEnvelope, seal, seal64 } from '../../lib/translate/opaque.ts'
import { come, readAll, readerOptions } from './support/answers.ts'
import { chat } from './support/protocols.ts'

interface Piece {
  index?: number
  id?: string
  function?: { name?: string; arguments?: string }
}
const delta = (members: object): string => `data: ${JSON.stringify({ choices: [{ delta: members }] })}\n\n`
const calls = (...tool_calls: Piece[]): string => delta({ tool_calls })
const open = (index: number, id: string, name: string): Piece => ({ index, id, function: { name } })
const args = (index: number, text: string): Piece => ({ index, function: { arguments: text } })
const ended = `${delta({})}data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`

/** `args`: of its calls, in the order in which they began. `freeform`: the tool that takes text. */
const STREAMS: Record<string, { events: string[]; args: string[]; freeform?: string }> = {
  'arguments that come before the name of their tool': {
    events: [
      calls(open(0, 'a', 'f')),
      calls(args(0, '1'), args(1, 'x')),
      calls(args(0, '2'), args(1, 'x')),
      calls(args(0, '3'), args(1, 'x')),
      calls(open(1, 'b', 'g')),
    ],
    args: ['123', 'xxx'],
  },
  'a piece of an input that tells nothing yet': {
    events: [
      calls(open(0, 'a', 'f'), open(1, 'b', 'g')),
      ...['1', '2', '3'].map(text => calls(args(0, text), args(1, '['))),
    ],
    args: ['123', '[[['],
    freeform: 'g',
  },
  'a piece that goes on with the last call, which is another one then': {
    events: [
      calls(open(1, 'b', 'g'), open(0, 'a', 'f')),
      ...['1', '2', '3'].map(text => calls({ function: { arguments: text } }, { index: 1 })),
    ],
    args: ['23', '1'],
  },
  'a name that is the next call when the last one has arguments': {
    events: [
      calls(open(0, 'a', 'f')),
      ...['1', '2', '3'].map(text => calls({ function: { name: 'f', arguments: text } })),
    ],
    args: ['1', '23'],
  },
  'calls that all have the same index': {
    events: [
      calls(open(0, 'a', 'f')),
      calls(open(0, 'b', 'g')),
      calls(open(0, 'a', 'f')),
      ...['1', '2', '3'].map(text => calls(args(0, text), open(0, 'b', 'g'))),
    ],
    args: ['{}', '23', '1'],
  },
}

for (const [what, stream] of Object.entries(STREAMS))
  t.test(what, async t => {
    const bytes = Buffer.from(stream.events.join('') + ended)
    const { freeform } = stream
    const renamed = new Map(freeform === undefined ? [] : [[freeform, { name: freeform, freeform: true }]])
    const read = (chunks: Iterable<Buffer>) => come(readAll(chat, chunks, { renamed })).blocks
    const whole = read([bytes])
    t.match(
      whole,
      stream.args.map(text => ({ kind: 'call', text })),
    )
    t.same(whole, read(Array.from(bytes, byte => Buffer.of(byte))))
  })

t.test('a text does not keep much more of its stream in memory than itself', async t => {
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc') as () => void
  const words = 'a text that is long enough to be a view of another one'
  const event = (n: number): string => `data: {"n":${n},"choices":[{"delta":{"content":"${words}"}}]}\n\n`
  const bytes = Buffer.from(event(0) + (event(1) + event(1) + event(2) + event(2)).repeat(2000))
  const reader = chat.answerReader(readerOptions())
  collect()
  const before = process.memoryUsage().heapUsed
  const kept = []
  for (let at = 0; at < bytes.length; at += 64 * 1024)
    for (const one of reader.push(bytes.subarray(at, at + 64 * 1024))) if (one.type === 'delta') kept.push(one.text)
  collect()
  const mostBytes = 8 * bytes.length
  const bytesKept = process.memoryUsage().heapUsed - before
  t.equal(kept.length, 8001)
  t.ok(bytesKept < mostBytes, `${bytesKept} bytes of at most ${mostBytes}`)
})

t.test('an envelope is found in a body that came byte by byte', async t => {
  const body = Buffer.from('{"signature":"gw1.abcdefghijkl.s..x"}')
  t.ok(mayHaveEnvelope(Array.from(body, byte => Buffer.of(byte))))
  t.notOk(mayHaveEnvelope(Array.from(Buffer.from('{"signature":"gw.1"}'), byte => Buffer.of(byte))))
})

t.test('the scan of a body tells whether it may have an envelope, however the body is cut into chunks', async t => {
  const opaque = { issuer: 'abcdefghijkl', of: 'signed', value: '"x"' } as const
  const bodyOf = (value: string): Buffer =>
    Buffer.from(`{"model":"m","messages":[{"role":"user","content":[{"type":"thinking","signature":${value}}]}]}`)
  const tells = (body: Buffer, at: number): boolean | undefined => {
    const scan = protocolRow('messages').body.scan('application/json')
    for (const part of [body.subarray(0, at), body.subarray(at)]) scan.feed(part)
    return scan.end()?.mayHaveState
  }
  for (const value of [seal(opaque), seal64(opaque)]) {
    const body = bodyOf(value)
    for (let at = 1; at < body.length; at++) if (!tells(body, at)) return t.fail(`cut at ${at}: ${value}`)
  }
  t.equal(tells(bodyOf('"of another"'), 40), false)
  t.pass('found at every cut')
})
