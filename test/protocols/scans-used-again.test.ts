/** Readers of bodies are used again: nothing of a body may show in the facts of another one. */
// words that people search for: leak between requests, state of an earlier body, pool
import t from 'tap'
import type { BodyScan } from '../../lib/protocols/requests/body.ts'
import type { Facts } from '../../lib/protocols/requests/facts.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { cut, json, jsonText, type Random, seeded } from '../support/random.ts'

const PROTOCOLS = ['chat', 'messages', 'responses', 'generate', 'embeddings'] as const
const begin = (protocol: (typeof PROTOCOLS)[number]): BodyScan => protocolRow(protocol).body.scan('application/json')

/** More readers than are kept. */
const KEPT = 100

/** The facts of a body by a reader that nobody had before. */
function readAnew(protocol: (typeof PROTOCOLS)[number], bytes: Buffer): Facts | null {
  for (let i = 0; i < KEPT; i++) begin('chat')
  const scan = begin(protocol)
  scan.feed(bytes)
  return scan.end()
}

function body(random: Random): Buffer {
  const text = random.pick(['gw1', 'Z3', 'plain', 'data:image/png;base64,AAAA', 'x'.repeat(300)])
  const content = [
    { type: 'text', text, cache_control: { type: 'ephemeral' } },
    { type: 'image_url', image_url: text },
  ]
  const all = {
    model: random.pick(['a', 'b', 7]),
    stream: random.pick([true, false, 'yes']),
    max_tokens: random.int(0, 100),
    messages: [{ role: 'user', content: random.pick([text, content]) }],
    tools: [
      { type: 'web_search', max_uses: 3 },
      { type: 'function', function: { name: 'f' } },
    ],
    stream_options: { include_usage: random.pick([true, false]) },
    metadata: { user_id: text },
    more: json(random, 3),
  }
  const some = Object.entries(all).filter(() => random.next() < 0.6)
  const bytes = Buffer.from(jsonText(random, Object.fromEntries(some)))
  // half of the bodies end too early, somewhere in a string, a key or an array
  return random.next() < 0.5 ? bytes : bytes.subarray(0, random.int(0, bytes.length))
}

t.test('facts are the same whatever was read before, and what else is read meanwhile', async t => {
  const random = seeded(t)
  let told = 0
  for (let round = 0; round < 300; round++) {
    const open = Array.from({ length: random.int(1, 5) }, () => {
      const protocol = random.pick(PROTOCOLS)
      const bytes = body(random)
      return { protocol, bytes, chunks: cut(random, bytes), scan: begin(protocol) }
    })
    while (open.some(({ chunks }) => chunks.length > 0)) {
      const { scan, chunks } = random.pick(open)
      const chunk = chunks.shift()
      if (chunk !== undefined) scan.feed(chunk)
    }
    for (const { protocol, bytes, scan } of open) {
      const facts = JSON.stringify(scan.end())
      const wanted = JSON.stringify(readAnew(protocol, bytes))
      if (wanted !== 'null') told++
      if (facts !== wanted) t.same(facts, wanted, bytes.toString())
    }
  }
  t.ok(told > 200, 'whole bodies were among them')
})

t.test('what broke off in the midst of something', async t => {
  const before = [
    '{"model":"x\\',
    '{"model":"x',
    '{"mod',
    '{"a":[{"b":"',
    '{"a":{"b":1',
    '{"a":1',
    '[',
    '{"model":"x"}',
  ]
  const after = [
    '{"":1,"model":"b"}',
    '{"gw":1}',
    '{"Z3":"Z3"}',
    '{"model":"b","tools":[]}',
    '{}',
    '"',
    '{"stream":tru',
  ]
  for (const first of before)
    for (const bytes of after.map(text => Buffer.from(text))) {
      const wanted = readAnew('chat', bytes)
      const scan = begin('chat')
      scan.feed(Buffer.from(first))
      scan.end()
      const again = begin('chat')
      again.feed(bytes)
      t.same(again.end(), wanted, `${first} and then ${bytes}`)
    }
})

t.test('a scan that has ended takes nothing more, and disturbs no other', async t => {
  const first = begin('chat')
  first.feed(Buffer.from('{"model":"a"}'))
  t.equal(first.end()?.model, 'a')
  const second = begin('chat')
  second.feed(Buffer.from('{"model":'))
  first.feed(Buffer.from('"b","stream":true'))
  t.equal(first.end(), null)
  second.feed(Buffer.from('"c"}'))
  const facts = second.end()
  t.same([facts?.model, facts?.stream], ['c', false])
})
