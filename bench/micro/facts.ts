/** Bench of the scan that reads the facts of a request body while it arrives. */
import { deepEqual } from 'node:assert/strict'
import type { Facts } from '../../lib/protocols/requests/facts.ts'
import type * as TableModule from '../../lib/protocols/table.ts'
import { withSeed } from '../../test/support/random.ts'
import type { Bench } from './bench.ts'
import { reads } from './workloads/chunks.ts'
import { type Conversation, conversation } from './workloads/conversation.ts'

const BODIES: [name: string, bytes: number, image?: boolean][] = [
  ['200 B', 200],
  ['20 KB', 20_000],
  ['200 KB', 200_000],
  ['20 MB', 20_000_000],
  ['20 MB, an image', 20_000_000, true],
]
const TARGET = 1
/** For bodies shorter than this, the time of the whole scan counts, not its GB/s. */
const LONG = 10_000

export const bench: Bench = async (lib, seed) => {
  const { protocolRow } = await lib<typeof TableModule>('protocols/table.ts')
  return BODIES.map(([name, bytes, image]) => {
    const talk = conversation(seed, bytes, image)
    const chunks = reads(withSeed(seed), talk.bytes)
    const scan = () => {
      const facts = protocolRow('messages').body.scan('application/json')
      for (const chunk of chunks) facts.feed(chunk)
      return facts.end()
    }
    return {
      name,
      bytes,
      ...(bytes >= LONG ? { target: TARGET } : {}),
      check: () => checkFacts(scan(), talk),
      run: () => scan()?.maxOutput ?? 0,
    }
  })
}

export function checkFacts(facts: Facts | null, { bytes, said }: Conversation): void {
  const { start, end } = facts?.modelSpan ?? { start: 0, end: 0 }
  deepEqual(
    [facts?.model, facts?.stream, facts?.maxOutput, facts?.cacheTtl, facts?.userId, bytes.toString('utf8', start, end)],
    [said.model, said.stream, said.maxOutput, said.cacheTtl, said.userId, `"${said.model}"`],
  )
}
