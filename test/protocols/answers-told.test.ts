/** What meters read from answers beside the text: tokens by class, tiers, searches, and kinds of pictures. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { USAGE_WORDS } from '../../lib/protocols/words/reports.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { cut, seeded } from '../support/random.ts'
import type { Talking } from '../support/talking.ts'
import { type Json, TOLD } from './answers-told.ts'
import { found, read, streamOf } from './read.ts'
import { RECORDED, saying } from './recorded.ts'

/** A document that is too long to be parsed at once. */
const long = (whole: Json): Json => ({ padding: 'x'.repeat(5000), ...whole })

t.test('whole answers and streams, wherever they are cut', async t => {
  const random = seeded(t)
  for (const { what, protocol, whole, events, found: want } of TOLD) {
    const document = Buffer.from(JSON.stringify(whole))
    const pretty = Buffer.from(JSON.stringify(long(whole), null, 2))
    t.same(found(read(protocol, false, [document])), want, `${protocol}: ${what}`)
    t.same(found(read(protocol, true, [streamOf(events)])), want, `${protocol} as a stream: ${what}`)
    for (let i = 0; i < 30; i++) {
      const forms = [
        read(protocol, false, cut(random, document)),
        read(protocol, false, cut(random, pretty)),
        read(protocol, true, cut(random, streamOf(events, random.pick(['\n', '\r\n'])))),
      ]
      for (const meter of forms) {
        if (JSON.stringify(Object.entries(found(meter)).sort()) !== JSON.stringify(Object.entries(want).sort()))
          t.same(found(meter), want, `${protocol}, cut: ${what}`)
      }
    }
  }
})

t.test('an array of answers, which is what a stream is without its form', async t => {
  for (const { what, protocol, events, found: want } of TOLD)
    if (protocol === 'generate') t.same(found(read(protocol, false, [Buffer.from(JSON.stringify(events))])), want, what)
})

t.test('answers that break off: what was seen before counts, and never more than in the whole', async t => {
  const random = seeded(t)
  for (const { what, protocol, events, whole, found: want } of TOLD)
    for (let i = 0; i < 40; i++) {
      const isStream = random.next() < 0.5
      const bytes = isStream ? streamOf(events) : Buffer.from(JSON.stringify(long(whole)))
      const meter = read(protocol, isStream, cut(random, bytes.subarray(0, random.int(0, bytes.length))), false)
      if (meter.searches > Number(want['searches'] ?? 0) + 1) t.fail(`${protocol}: ${meter.searches} searches, ${what}`)
    }
  const call = { type: 'response.web_search_call.in_progress', item_id: 'ws_1', output_index: 0 }
  const rows: [Talking, Json[], number][] = [
    ['responses', [call], 1],
    ['responses', [call, { ...call, item_id: 'ws_2' }], 2],
    ['responses', [{ type: 'response.output_item.added', output_index: 1, item: { type: 'web_search_call' } }], 1],
    [
      'messages',
      [{ type: 'content_block_start', index: 4, content_block: { type: 'server_tool_use', name: 'web_search' } }],
      1,
    ],
  ]
  for (const [protocol, events, searches] of rows) {
    const meter = read(protocol, true, [streamOf(events)], false)
    t.same([meter.searches, meter.usage], [searches, null], `${protocol}: ${searches}, before anything is reported`)
  }
})

t.test('an answer that searches without end is counted within bounds', async t => {
  const id = 'x'.repeat(100_000)
  const many = Array.from({ length: 3000 }, (_, i) => ({
    type: 'web_search_call',
    id: `${i}`,
    action: { type: 'search' },
  }))
  const document = { output: many, usage: { input_tokens: 1, output_tokens: 1 } }
  t.equal(read('responses', false, [Buffer.from(JSON.stringify(document))]).searches, 1000)
  const call = { type: 'response.web_search_call.searching', output_index: 0 }
  t.equal(
    read('responses', true, [
      streamOf([
        { ...call, item_id: id },
        { ...call, item_id: id },
      ]),
    ]).searches,
    1,
  )
  const queries = Array.from({ length: 5000 }, (_, i) => `q${i}`)
  const candidate = { groundingMetadata: { webSearchQueries: queries } }
  const grounded = Buffer.from(JSON.stringify({ candidates: [candidate, candidate] }))
  t.ok(read('generate', false, [grounded]).searches > 900)
  t.ok(read('generate', false, [grounded]).searches <= 1000)
})

t.test('the end of an event that is too long to be kept', async t => {
  const big = 'iVBORw0KGgo'.padEnd(200_000, 'A')
  const usage = { input_tokens: 5, output_tokens: 6, output_tokens_details: { image_tokens: 6 } }
  const events: [Talking, Json, Json][] = [
    [
      'responses',
      {
        type: 'response.completed',
        response: { output: [big], service_tier: 'priority', store: true, usage, user: null },
      },
      { input: 5, output_image: 6, service: 'priority' },
    ],
    [
      'images',
      { type: 'image_generation.completed', b64_json: big, quality: 'low', size: '1024x1024', usage },
      { input: 5, output_image: 6, images: 1, '1024x1024/low': 1 },
    ],
  ]
  for (const [protocol, event, want] of events) {
    const bytes = streamOf([event])
    const chunks = [bytes.subarray(0, 70_000), bytes.subarray(70_000, 150_000), bytes.subarray(150_000)]
    t.same(found(read(protocol, true, chunks)), want, protocol)
  }
})

t.test('names that are no names', async t => {
  for (const service_tier of ['', 'auto', 'AUTO', null, 5, {}, ['priority'], 'x'.repeat(65)]) {
    const body = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 }, service_tier }
    t.equal(read('chat', false, [Buffer.from(JSON.stringify(body))]).tiers.service, null, JSON.stringify(service_tier))
  }
})

// --- the page

/** Takes one field out of an answer; undefined = the answer has no such field. */
function lacking(whole: Json, path: readonly string[]): Json | undefined {
  const copy = structuredClone(whole)
  let at: unknown = copy
  for (const [i, step] of path.entries()) {
    const isLast = i === path.length - 1
    if (Array.isArray(at)) {
      const named = at.findIndex((one: Json) => one['modality'] === step || one['type'] === step)
      if (named >= 0 && isLast) {
        const kept = at.filter((one: Json) => one['type'] !== step && one['modality'] !== step)
        at.splice(0, at.length, ...kept)
        return copy
      }
      at = at[Math.max(0, named)]
      if (named >= 0) continue
    }
    if (typeof at !== 'object' || at === null || !(step in at)) return undefined
    if (isLast) {
      delete (at as Json)[step]
      return copy
    }
    at = (at as Json)[step]
  }
  return undefined
}

/** Thoughts that the total does not have: where nobody named them, its rest would be output. */
const THOUGHTS = ['completion_tokens_details', 'output_tokens_details'].map(name => ({
  [name]: { reasoning_tokens: 40 },
}))

/** Answers with every field that is read: whole ones, and for each word one that has nothing else. */
const ANSWERS: { protocol: Protocol; whole: Json }[] = [
  ...TOLD,
  ...RECORDED.flatMap(({ protocol, whole }) => (whole === undefined ? [] : [{ protocol, whole }])),
  ...USAGE_WORDS.map(word => ({ protocol: word.protocol, whole: { choices: [], output: [], usage: saying(word, 7) } })),
  ...USAGE_WORDS.filter(({ part }) => part === 'total').flatMap(word =>
    [...THOUGHTS, { reasoning_tokens: 40 }].map(thoughts => ({
      protocol: word.protocol,
      whole: { choices: [], output: [], usage: { ...saying(word, 1139), ...thoughts } },
    })),
  ),
  { protocol: 'responses', whole: { output: [], usage: { input_tokens: 1, output_tokens: 2, total_tokens: 12 } } },
  // each of these names the input alone
  { protocol: 'images', whole: { data: [], usage: { input_tokens: 5, output_tokens: 2 } } },
  { protocol: 'images', whole: { data: [], usage: { output_tokens: 2, total_tokens: 7 } } },
]

t.test('every field that the page names is read, and counts as the page says', async t => {
  const page = readFileSync(new URL('../../docs/charging.md', import.meta.url), 'utf8')
  const table = page.split('## What is read of an answer')[1]?.split('\n## ')[0] ?? ''
  const rows = [...table.matchAll(/^\| (\w+) \| (.+?) \| (.+?) \|$/gm)].filter(row => !row[2]?.startsWith('field'))
  t.ok(rows.length > 30)
  const names = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(name => name[1] as string)
  const values = (whole: Json, protocol: Protocol) => found(read(protocol, false, [Buffer.from(JSON.stringify(whole))]))
  for (const [, protocol, fields, classes] of rows)
    for (const field of names(fields)) {
      const changed = new Set<string>()
      for (const { whole, protocol: of } of ANSWERS.filter(one => one.protocol === protocol)) {
        const without = lacking(whole, field.split('.'))
        if (without === undefined) continue
        const [before, after] = [values(whole, of), values(without, of)]
        for (const name of [...Object.keys(before), ...Object.keys(after)])
          if (before[name] !== after[name])
            changed.add(name.includes('/') ? 'size' : name).add(name.includes('/') ? 'quality' : name)
      }
      for (const name of names(classes)) t.ok(changed.has(name), `${protocol}: ${field} counts as ${name}`)
    }
  const named = new Set(rows.flatMap(([, protocol, fields]) => names(fields).map(field => `${protocol} ${field}`)))
  for (const { protocol, field } of USAGE_WORDS) t.ok(named.has(`${protocol} usage.${field}`), `${protocol}: ${field}`)
})
