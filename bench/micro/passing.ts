/** Bench of lib/protocols/answers/withhold.ts and edit.ts: taking events out of answers, and putting members into requests. */
import { deepEqual } from 'node:assert/strict'
import type * as EditModule from '../../lib/protocols/requests/edits.ts'
import type { Facts } from '../../lib/protocols/requests/facts.ts'
import type { Meter } from '../../lib/protocols/answers/meter.ts'
import type * as TableModule from '../../lib/protocols/table.ts'
import type * as WithholdModule from '../../lib/protocols/answers/withhold.ts'
import { withSeed } from '../../test/support/random.ts'
import type { Bench, Case, Lib } from './bench.ts'
import { stream } from './workloads/answers.ts'
import { events, reads } from './workloads/chunks.ts'
import { conversation } from './workloads/conversation.ts'

const STREAM_BYTES = 200_000
const BODY_BYTES = 200_000
const BURST = 16_384

export const bench: Bench = async (lib, seed) => [...(await withholding(lib, seed)), await editing(lib, seed)]

/** Meters of older checkouts say only whether a chunk is of no interest. */
type AnyMeter = Omit<Meter, 'matters'> & { matters?: number; quiet?: boolean }

async function withholding(lib: Lib, seed: number): Promise<Case[]> {
  const { Withholder } = await lib<typeof WithholdModule>('protocols/answers/withhold.ts')
  const { protocolRow } = await lib<typeof TableModule>('protocols/table.ts')
  const { bytes, events: count } = stream('chat', seed, STREAM_BYTES, true)
  const clients = Buffer.from(withoutUsage(bytes.toString()))
  const subject = (name: string, chunks: readonly Buffer[]): Case => {
    const passed = () => {
      const withholder = new Withholder()
      const meter: AnyMeter = protocolRow('chat').meter({ events: true, lengthStop: false, cacheTtl: '5m' })
      const makesText = meter.feed.length < 2
      const out: Buffer[] = []
      for (const chunk of chunks) {
        meter.feed(chunk, makesText ? '' : chunk.toString('latin1'))
        const isSpared = meter.isContent && withholder.passesContent
        const next = isSpared ? chunk : withholder.push(chunk, (meter.matters ?? meter.quiet) as number)
        if (Array.isArray(next)) out.push(...next)
        else if (next !== null) out.push(next)
      }
      const rest = withholder.flush()
      if (rest !== null) out.push(rest)
      return out
    }
    return {
      name: `metering and withholding usage, ${name}`,
      bytes: bytes.length,
      check: () => deepEqual(Buffer.concat(passed()).equals(clients), true),
      run: () => passed().length,
    }
  }
  return [
    subject('bursts', reads(withSeed(seed), bytes, BURST)),
    { ...subject('an event a chunk', events(bytes)), per: count },
  ]
}

export const withoutUsage = (text: string): string =>
  text
    .split(/(?<=\n\n)/)
    .filter(event => !event.includes('"choices":[],'))
    .join('')

async function editing(lib: Lib, seed: number): Promise<Case> {
  const { askForUsage, editBody, mapModel } = await lib<typeof EditModule>('protocols/requests/edits.ts')
  const { protocolRow } = await lib<typeof TableModule>('protocols/table.ts')
  const { bytes } = conversation(seed, BODY_BYTES)
  const chunks = reads(withSeed(seed), bytes)
  const scan = protocolRow('chat').body.scan('application/json')
  for (const chunk of chunks) scan.feed(chunk)
  const facts = scan.end() as Facts
  const edit = () => editBody(chunks, [mapModel(facts, 'upstream-name'), askForUsage(facts)])
  return {
    name: 'two edits of a 200 KB body',
    check() {
      const edited = edit()
      const sent = Buffer.concat(edited.chunks)
      const want = { ...JSON.parse(bytes.toString()), model: 'upstream-name', stream_options: { include_usage: true } }
      deepEqual(edited.length, sent.length)
      deepEqual(JSON.parse(sent.toString()), want)
    },
    run: () => edit().length,
  }
}
