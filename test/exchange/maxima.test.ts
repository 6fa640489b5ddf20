/** A maximum of output counts only under a name that the upstream reads: what is held for each way of naming one. */
import t from 'tap'
import type { Facts } from '../../lib/protocols/requests/facts.ts'
import { mostOutputOf } from '../../lib/exchange/record/need.ts'
import type { Exchange } from '../../lib/exchange/record/exchange.ts'
import type { Services } from '../../lib/exchange/record/services.ts'
import { readFileSync } from 'node:fs'
import { targetOf } from '../../lib/world/table.ts'
import { type KindName, KINDS } from '../../lib/protocols/words/kinds.ts'
import { MAXIMA_AT, maximumBit, outputBounds } from '../../lib/protocols/words/maxima.ts'
import { tariff } from '../pricing/support.ts'
import { MODEL, NOTHING_LEFT, open, PATHS, HEADERS } from './support/gateway.ts'

type Channels = Record<string, Record<string, unknown>>
type Spoken = 'messages' | 'chat' | 'responses' | 'generate'

/** Tokens that are held where nobody knows how much comes. */
const UNKNOWN = 128_000
const GENERIC: Channels = { a: {} }
const OPENAI: Channels = { a: { kind: 'openai', protocols: ['chat', 'responses'] } }
const BOTH: Channels = { a: { kind: 'openai', protocols: ['chat'] }, b: {} }

const ROWS: [what: string, channels: Channels, protocol: Spoken, body: object, held: number][] = [
  ['its own name', GENERIC, 'chat', { max_tokens: 100 }, 100],
  ['a name that it does not read', GENERIC, 'chat', { max_completion_tokens: 1 }, UNKNOWN],
  ['one that says more than is held', GENERIC, 'chat', { max_completion_tokens: 200_000 }, 200_000],
  ['both', GENERIC, 'chat', { max_tokens: 100, max_completion_tokens: 7 }, 100],
  ['both, and what is not read says more', GENERIC, 'chat', { max_tokens: 100, max_completion_tokens: 700 }, 700],
  ['0 of what is read names nothing', GENERIC, 'chat', { max_tokens: 0, max_completion_tokens: 7 }, UNKNOWN],
  ['a kind that reads it', OPENAI, 'chat', { max_completion_tokens: 7 }, 7],
  ['and its other name', OPENAI, 'chat', { max_tokens: 7 }, 7],
  ['a channel that says so', { a: { reads_max: ['max_completion_tokens'] } }, 'chat', { max_completion_tokens: 7 }, 7],
  ['of two, one reads it', BOTH, 'chat', { max_completion_tokens: 7 }, UNKNOWN],
  ['of two, both read it', BOTH, 'chat', { max_tokens: 7 }, 7],
  [
    'one that is switched off counts for nobody',
    { ...OPENAI, b: { status: 'disabled' } },
    'chat',
    { max_completion_tokens: 7 },
    7,
  ],
  ['responses', GENERIC, 'responses', { max_output_tokens: 7 }, 7],
  ['responses, in the words of chat', GENERIC, 'responses', { max_tokens: 7, max_completion_tokens: 7 }, UNKNOWN],
  ['messages', GENERIC, 'messages', { max_tokens: 7 }, 7],
  ['messages, in the words of chat', GENERIC, 'messages', { max_completion_tokens: 7 }, UNKNOWN],
  ['messages: 0 is no maximum to most', GENERIC, 'messages', { max_tokens: 0 }, UNKNOWN],
  ['messages: 0 and another name', GENERIC, 'messages', { max_tokens: 0, max_completion_tokens: 7 }, UNKNOWN],
  [
    'messages that fill a cache',
    { a: { kind: 'anthropic', protocols: ['messages'] } },
    'messages',
    { max_tokens: 0 },
    0,
  ],
  ['generate', GENERIC, 'generate', { generationConfig: { maxOutputTokens: 7 } }, 7],
  ['generate, as chat says it', GENERIC, 'generate', { max_tokens: 7 }, UNKNOWN],
  ['a budget of thoughts is no maximum', GENERIC, 'chat', { reasoning: { max_tokens: 7 } }, UNKNOWN],
]

for (const [what, channels, protocol, body, held] of ROWS)
  t.test(`${protocol}: ${what}`, async t => {
    const s = await open(t, { channels, prices: { [MODEL]: { input: 0, output: 1 } } })
    const more = protocol === 'generate' ? {} : { model: MODEL, messages: [], input: 'x' }
    const client = s.ask({ path: PATHS[protocol], headers: HEADERS, body: { ...more, ...body } })
    const call = await s.at('a').call()
    t.equal(s.services.ledger.heldTotal, Math.max(1, held))
    call.whole(500, {})
    for (const name of Object.keys(channels).slice(1)) s.at(name).script = call => call.whole(500, {})
    await client.end()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  })

t.test('what a channel can write at most, for bounds', async t => {
  const rows: [facts: Partial<Facts>, model: object, bounds: object, most: number][] = [
    [{ maxOutput: 100 }, {}, {}, 100],
    [{ maxOutput: 100, n: 3 }, {}, {}, 300],
    [{ maxOutput: 100 }, {}, { reads: 0 }, 128_000],
    [{ maxOutput: 100 }, { maxOutput: 8000 }, { reads: 0 }, 8000],
    [{ maxOutput: 9000 }, { maxOutput: 8000 }, { reads: 0 }, 9000],
    [{ maxOutput: null, maxima: 0 }, { maxOutput: 8000 }, {}, 8000],
    [{ maxOutput: 1e9 }, { maxOutput: 8000 }, {}, 8000],
    [{ maxOutput: 100, effort: 'low' }, { maxOutput: 8000 }, {}, 8100],
    [{ maxOutput: 100, effort: 'none' }, { maxOutput: 8000 }, {}, 100],
    [{ maxOutput: 100, effort: 'low' }, { maxOutput: 8000 }, { within: true }, 100],
    [{ maxOutput: 100 }, { maxOutput: 8000, thinking: 'effort' }, {}, 8100],
    [{ maxOutput: 100 }, { maxOutput: 8000, thinking: 'none' }, {}, 100],
  ]
  for (const [facts, model, bounds, most] of rows) {
    const row = { maxOutput: null, thinking: null, ...model }
    const read = maximumBit('max_tokens')
    const x = { model: 'm', world: { model: () => row } } as unknown as Exchange
    const sent = { maxOutput: null, maxima: read, n: 1, effort: 'off', drawingTools: 0, ...facts } as unknown as Facts
    const of = { reads: read, within: false, readsBudget: false, ...bounds }
    const services = { stats: { thinksForAll: () => false } } as unknown as Services
    t.equal(
      mostOutputOf(x, services, tariff({ input: 1 }, row), sent, of),
      most,
      JSON.stringify([facts, model, bounds]),
    )
  }
})

t.test('every kind reads the name under which translated requests name the maximum', async t => {
  for (const kind of Object.keys(KINDS) as KindName[]) {
    const { maxOutputMember } = targetOf({ kind, cacheMarks: 'off', finish: 'strict' }, undefined, 'm', 'chat')
    t.not(outputBounds(kind, 'chat', { readsMax: [], thoughts: null }).reads & maximumBit(maxOutputMember), 0, kind)
  }
})

t.test('docs/upstreams.md has the table', async t => {
  const page = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')
  const said = page.split('| kind | protocol | names | thoughts |\n|---|---|---|---|\n')[1]?.split('\n\n')[0] ?? ''
  const code = Object.entries(MAXIMA_AT).flatMap(([kind, protocols]) =>
    Object.entries(protocols).map(([protocol, { reads, thoughts }]) => {
      const names = reads === undefined ? 'its own' : reads.map(name => `\`${name}\``).join(', ')
      return `| \`${kind}\` | ${protocol} | ${names} | ${thoughts ?? 'beside'} |`
    }),
  )
  t.same(said.split('\n').sort(), code.sort())
})
