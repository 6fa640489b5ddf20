/** Bench of the meters of all protocols: over streams in bursts, streams event by event, and whole answers. */
import { deepEqual } from 'node:assert/strict'
import type { Meter } from '../../lib/protocols/answers/meter.ts'
import type * as TableModule from '../../lib/protocols/table.ts'
import { withSeed } from '../../test/support/random.ts'
import type { Talking } from '../../test/support/talking.ts'
import type { Bench, Case } from './bench.ts'
import { type Answer, document, stream } from './workloads/answers.ts'
import { events, reads } from './workloads/chunks.ts'

export const PROTOCOLS: Talking[] = ['messages', 'chat', 'responses', 'generate', 'images']
const STREAM_BYTES = 200_000
const ANSWER_BYTES = 200_000
/** The size of the chunks in which a burst of events comes. */
const BURST = 16_384
const TARGET = 1

export const bench: Bench = async (lib, seed) => {
  const { protocolRow } = await lib<typeof TableModule>('protocols/table.ts')
  return PROTOCOLS.flatMap(protocol => casesOf(protocol, protocolRow, seed))
}

function casesOf(protocol: Talking, row: typeof TableModule.protocolRow, seed: number): Case[] {
  const random = withSeed(seed)
  const reporting = stream(protocol, seed, STREAM_BYTES, true)
  const silent = stream(protocol, seed, STREAM_BYTES, false)
  const whole = document(protocol, seed, ANSWER_BYTES)
  const subject = (name: string, answer: Answer, chunks: readonly Buffer[], extra: Partial<Case> = {}): Case => {
    const options = { events: answer.events > 0, lengthStop: false, cacheTtl: '5m' } as const
    const fed = () => feed(row(protocol).meter(options), chunks)
    return {
      name: `${protocol}, ${name}`,
      bytes: answer.bytes.length,
      check: () => checkMeter(fed(), answer),
      run: () => {
        const meter = fed()
        return meter.counted + (meter.usage?.output ?? 0)
      },
      ...extra,
    }
  }
  const bursts = (answer: Answer) => reads(random, answer.bytes, BURST)
  return [
    subject('bursts', reporting, bursts(reporting)),
    subject('bursts without usage', silent, bursts(silent), { target: TARGET }),
    subject('an event a chunk', reporting, events(reporting.bytes), { per: reporting.events }),
    subject('whole', whole, reads(random, whole.bytes)),
  ]
}

/**
 * Feeds a meter as the relay does: the text of each chunk is made once. Meters of older checkouts make it themselves
 * and get none.
 */
export function feed(meter: Meter, chunks: readonly Buffer[]): Meter {
  const makesText = meter.feed.length < 2
  for (const chunk of chunks) meter.feed(chunk, makesText ? '' : chunk.toString('latin1'))
  meter.end(true)
  return meter
}

/** Throws when the meter found something else than the answer says. What is reported need not be counted. */
export function checkMeter(meter: Meter, answer: Answer): void {
  deepEqual([meter.usage, meter.terminal, meter.failed], [answer.usage, true, false])
  if (answer.usage === null) deepEqual(meter.counted, answer.counted)
}
