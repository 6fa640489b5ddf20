/**
 * Random streams of upstreams, with usage in odd places, at every pair of protocols: however the bytes are cut on their way, and whether
 * their client stays or leaves, the client is told the same, and the same is charged.
 */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { seeded, cut, type Random } from '../support/random.ts'
import { until } from '../support/wait.ts'
import { randomAnswer, usageOf, writeAll } from '../translate/support/answers.ts'
import { PROTOCOLS } from '../translate/support/clients.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { asks, FOUR, type Four } from './support/four.ts'
import { NOTHING_LEFT, open, type Scene } from './support/gateway.ts'

const RUNS = Number(process.env['RUNS'] ?? 6)
const PRICE = { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, request: 0.001 }

type Json = Record<string, unknown>
const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`
const named = (type: string, value: Json): string => `event: ${type}\n${data({ type, ...value })}`

/** What an upstream may say of its usage, wherever it likes. */
const USAGE: Record<Four, (input: unknown, output: unknown) => string> = {
  messages: (input, output) =>
    named('message_delta', { delta: { stop_reason: null }, usage: { input_tokens: input, output_tokens: output } }),
  chat: (input, output) =>
    data({
      id: 'c',
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: { cached_tokens: 3 } },
    }),
  responses: (input, output) =>
    named('response.in_progress', { response: { id: 'r', usage: { input_tokens: input, output_tokens: output } } }),
  generate: (input, output) =>
    data({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'x' }] } }],
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output },
    }),
}

const number = (random: Random): unknown =>
  random.pick([random.int(0, 3000), random.int(0, 3000), 0, -5, 1.5, 2e9, 1e300, '7', null, true, { a: 1 }])

function streamOf(random: Random, native: Four): Buffer {
  const usage = usageOf({ input: random.int(0, 900), output: random.int(0, 90), cache_read: random.pick([0, 5]) })
  const events = writeAll(PROTOCOLS[native] as Translated, randomAnswer(random), usage)
    .toString('latin1')
    .split(/(?<=\n\n)/)
  for (let more = random.int(0, 3); more > 0; more--) {
    const one = random.pick([
      () => Buffer.from(USAGE[native](number(random), number(random))).toString('latin1'),
      () => ': alive\n\n',
      () => random.pick(events.slice(1, -2)) ?? '',
    ])()
    // not before the first event, and not behind the last
    events.splice(random.int(1, Math.max(1, events.length - 2)), 0, one)
  }
  const whole = events.join('')
  const ends = random.next() < 0.1 ? whole.replaceAll('\n', '\r\n') : whole
  return Buffer.from(ends, 'latin1')
}

async function told(s: Scene, client: Four, native: Four, bytes: Buffer, pieces: readonly Buffer[], leavesAt = -1) {
  const at = s.at(native)
  const nth = at.calls.length
  const asked = s.ask(asks(client, `to-${native}`, { stream: true }))
  const call = await at.call(nth)
  call.stream()
  for (const [i, piece] of pieces.entries()) {
    if (i === leavesAt) asked.leave()
    call.chunk(piece)
    if (pieces.length > 1) await turn()
  }
  call.end()
  if (leavesAt < 0) await asked.end()
  await until('it is settled', () => s.services.openCount === 0)
  await s.services.ledger.flush()
  const [row] = await s.store.usage.page({ limit: 1 })
  if (row === undefined) throw new Error(`no row of ${bytes.toString('latin1')}`)
  const id = row.requestId
  const { requestId, durationMs, firstByteMs, askedMs, seq, bookedAtMs, attempts, held, ...books } = row as Json &
    typeof row
  return { status: asked.status, body: asked.text.replaceAll(id, 'ID'), books, id }
}

for (const native of FOUR)
  t.test(`an upstream of ${native}`, async t => {
    const random = seeded(t)
    const channels = Object.fromEntries(FOUR.map(name => [name, { protocols: [name], models: [`to-${name}`] }]))
    const prices = Object.fromEntries(FOUR.map(name => [`to-${name}`, PRICE]))
    const s = await open(t, { channels, prices, credit: 1_000_000_000_000 })
    let ends = 0
    for (let run = 0; run < RUNS; run++)
      for (const client of FOUR) {
        const bytes = streamOf(random, native)
        const whole = await told(s, client, native, bytes, [bytes])
        const why = `${client} at ${native}, run ${run}: ${JSON.stringify(bytes.toString('latin1'))}`
        const pieces = cut(random, bytes)
        const inPieces = await told(s, client, native, bytes, pieces)
        if (whole.status !== inPieces.status || whole.body !== inPieces.body) t.same(inPieces.body, whole.body, why)
        if (whole.books['end'] !== 'completed') {
          // an answer that cannot be told to its end is cut there, and what had come by then is charged
          t.equal(inPieces.books['end'], whole.books['end'], why)
          continue
        }
        ends++
        t.same(inPieces.books, whole.books, why)
        const left = await told(s, client, native, bytes, pieces, random.int(0, pieces.length - 1))
        t.equal(left.books.charge, whole.books.charge, `a client left, ${why}`)
      }
    t.ok(ends > RUNS, `${ends} came to their end`)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })
