import t from 'tap'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { type Random, seeded } from '../support/random.ts'
import { come, cuts, randomAnswer, readAll, usageOf, writeAll } from './support/answers.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const PROTOCOLS: Record<string, Translated> = { messages, chat, responses, generate }
const RUNS = 150

const randomUsage = (random: Random): Usage =>
  usageOf({
    input: random.int(1, 9999),
    cache_read: random.int(0, 9999),
    cache_write_5m: random.int(0, 99),
    output: random.int(1, 999),
  })

/** What was written to a cache is a part of the prompt in generate-content. */
const shownAs = (name: string, usage: Usage): Usage =>
  name === 'generate' ? { ...usage, input: usage.input + usage.cache_write_5m, cache_write_5m: 0 } : usage

for (const [name, protocol] of Object.entries(PROTOCOLS))
  for (const events of [true, false]) {
    t.test(`${name}, ${events ? 'streamed' : 'whole'}: what is written reads as what it was made of`, async t => {
      const random = seeded(t)
      for (let run = 0; run < RUNS; run++) {
        const answer = randomAnswer(random)
        const usage = randomUsage(random)
        const bytes = writeAll(protocol, answer, usage, { events })
        const expected = seenAs(name, come(answer))
        const whole = readAll(protocol, [bytes], { events })
        if (!t.same(seenAs(name, come(whole)), expected, `run ${run}`)) return
        t.same(readAll(protocol, cuts(random, bytes), { events }), whole, `run ${run}, cut`)
        t.same(
          usageIn(name, bytes, events),
          shownAs(name, usage),
          `run ${run}: the meter reads the usage that was written`,
        )
      }
    })
  }

/** Chat tells kinds apart and not their order; a refusal is a text in messages and in generate-content, where arguments have no ends of lines. */
function seenAs(name: string, told: ReturnType<typeof come>): unknown {
  const blocks = told.blocks as { kind: string; text: string; call?: object }[]
  if (name === 'responses') return told
  if (name === 'messages' || name === 'generate') {
    const joined: typeof blocks = []
    for (const block of blocks.map(one => (one.kind === 'refusal' ? { ...one, kind: 'text' } : one))) {
      const last = joined.at(-1)
      if (last?.kind === 'text' && block.kind === 'text') last.text += block.text
      else joined.push(block)
    }
    return {
      blocks: joined.map(block =>
        block.kind === 'call' ? { ...block, text: block.text.replace(/[\r\n]+/g, ' ') } : block,
      ),
      stop: told.stop,
    }
  }
  const of = (kind: string): string =>
    blocks
      .filter(block => block.kind === kind)
      .map(({ text }) => text)
      .join('')
  const calls = blocks.filter(({ kind }) => kind === 'call')
  return { thought: of('thought'), text: of('text'), refusal: of('refusal'), calls, stop: told.stop }
}

function usageIn(name: string, bytes: Buffer, events: boolean): Usage | null {
  const row = protocolRow(name as Protocol)
  const meter = row.meter({ events, lengthStop: false, cacheTtl: '5m' })
  meter.feed(bytes, bytes.toString('latin1'))
  meter.end(true)
  t.ok(meter.concluded, 'the answer is whole to the meter')
  return meter.usage
}
