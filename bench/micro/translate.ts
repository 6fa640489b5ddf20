/**
 * Bench of translation: a stream from one protocol to another, event by event as upstreams flush them, and request bodies.
 * The parts of a run are those of the relay: reading, writing, and the bytes that go out.
 */
import { ok } from 'node:assert/strict'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import type * as ProtocolModule from '../../lib/translate/ask.ts'
import type * as TableModule from '../../lib/translate/table.ts'
import type { Bench, Case } from './bench.ts'
import { stream } from './workloads/answers.ts'
import { events } from './workloads/chunks.ts'
import { conversation } from './workloads/conversation.ts'

const STREAM_BYTES = 200_000
const BODY_BYTES = 400_000
const PROTOCOLS = ['messages', 'chat', 'responses', 'generate'] as const
type Name = (typeof PROTOCOLS)[number]
const PAIRS = PROTOCOLS.flatMap(from => PROTOCOLS.filter(to => to !== from).map((to): [Name, Name] => [from, to]))

export const bench: Bench = async (lib, seed) => {
  const { translated } = await lib<typeof TableModule>('translate/table.ts')
  const { plainTarget } = await lib<typeof ProtocolModule>('translate/ask.ts')
  const head = { model: 'm', stream: true }

  function answer(upstream: Name, client: Name): Case {
    const { bytes, events: count, usage } = stream(upstream, seed, STREAM_BYTES, true)
    const chunks = events(bytes)
    const reading = { events: true, issuer: 'abcdefghijkl', renamed: new Map(), requestId: 'r', isLenient: false }
    const writing = {
      events: true,
      array: false,
      model: 'm',
      requestId: 'r',
      createdS: 1,
      inputEstimate: 1,
      tellsUsage: true,
      ask: {},
    }
    const run = (): number => {
      const reader = translated(upstream).answerReader(reading)
      const writer = translated(client).answerWriter(writing)
      let written = 0
      const tell = (found: ReturnType<typeof reader.push>): void => {
        let text = ''
        for (const event of found) text += writer.write(event)
        if (text !== '') written += Buffer.from(text, 'latin1').length
      }
      for (const chunk of chunks) tell(reader.push(chunk))
      tell(reader.end())
      return written + writer.finish(usage as Usage).length
    }
    return {
      name: `${upstream} upstream, ${client} client, an event`,
      per: count,
      run,
      check: () => ok(run() > STREAM_BYTES / 3),
    }
  }

  const inMessages = conversation(seed, BODY_BYTES).bytes
  const write = (bytes: Buffer, from: Name, to: Name): Buffer =>
    Buffer.from(translated(to).writeRequest(translated(from).readRequest(bytes, head), plainTarget('m')).body, 'latin1')

  function body(client: Name, upstream: Name): Case {
    const bytes = client === 'messages' ? inMessages : write(inMessages, 'messages', client)
    const run = (): number => write(bytes, client, upstream).length
    return {
      name: `${client} client, ${upstream} upstream, a request`,
      bytes: bytes.length,
      run,
      check: () => ok(run() > bytes.length / 2),
    }
  }

  return [...PAIRS.map(pair => answer(...pair)), ...PAIRS.map(pair => body(...pair))]
}
