/**
 * Bench of translation: a stream from one protocol to another, event by event as upstreams flush them, and request bodies.
 * The parts of a run are those of the relay: reading, writing, and the bytes that go out.
 */
import { ok } from 'node:assert/strict'
import type { Usage } from '../../lib/protocols/usage.ts'
import type * as ChatModule from '../../lib/translate/chat/chat.ts'
import type * as MessagesModule from '../../lib/translate/messages/messages.ts'
import type * as NamesModule from '../../lib/translate/names.ts'
import type * as ProtocolModule from '../../lib/translate/protocol.ts'
import type * as RequestModule from '../../lib/translate/request.ts'
import type * as ResponsesModule from '../../lib/translate/responses/responses.ts'
import type { Bench, Case } from './bench.ts'
import { stream } from './workloads/answers.ts'
import { events } from './workloads/chunks.ts'
import { conversation } from './workloads/conversation.ts'

const STREAM_BYTES = 200_000
const BODIES: [name: string, bytes: number][] = [
  ['400 KB', 400_000],
  ['2 MB', 2_000_000],
]

type Translated = ProtocolModule.Translated

export const bench: Bench = async (lib, seed) => {
  const { chat } = await lib<typeof ChatModule>('translate/chat/chat.ts')
  const { messages } = await lib<typeof MessagesModule>('translate/messages/messages.ts')
  const { responses } = await lib<typeof ResponsesModule>('translate/responses/responses.ts')
  const { NO_NAMES } = await lib<typeof NamesModule>('translate/names.ts')
  const { plainTarget } = await lib<typeof ProtocolModule>('translate/protocol.ts')
  const { emptyAsk } = await lib<typeof RequestModule>('translate/request.ts')
  const head = { model: 'm', stream: true }
  const ask = emptyAsk(head)

  function answer(name: 'chat' | 'messages' | 'responses', from: Translated, client: string, to: Translated): Case {
    const { bytes, events: count, usage } = stream(name, seed, STREAM_BYTES, true)
    const chunks = events(bytes)
    const reading = { events: true, issuer: 'abcdefghijkl', names: NO_NAMES, requestId: 'r' }
    const shown = { model: 'm', requestId: 'r', createdS: 1, inputEstimate: 1, tellsUsage: true }
    const writing = { events: true, array: false, ask, ...shown }
    const run = (): number => {
      const reader = from.answerReader(reading)
      const writer = to.answerWriter(writing)
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
      name: `${name} upstream, ${client} client, an event`,
      per: count,
      run,
      check: () => ok(run() > STREAM_BYTES / 3),
    }
  }

  function body(name: string, from: Translated, to: Translated, bytes: Buffer): Case {
    const run = (): number =>
      Buffer.from(to.writeAsk(from.readAsk(bytes, head), plainTarget('m')).body, 'latin1').length
    return { name, bytes: bytes.length, run, check: () => ok(run() > bytes.length / 2) }
  }

  const bodies = BODIES.flatMap(([size, bytes]) => {
    const inMessages = conversation(seed, bytes).bytes
    const inChat = Buffer.from(chat.writeAsk(messages.readAsk(inMessages, head), plainTarget('m')).body, 'latin1')
    const inResponses = Buffer.from(responses.writeAsk(chat.readAsk(inChat, head), plainTarget('m')).body, 'latin1')
    return [
      body(`messages to chat, ${size}`, messages, chat, inMessages),
      body(`chat to messages, ${size}`, chat, messages, inChat),
      body(`chat to responses, ${size}`, chat, responses, inChat),
      body(`responses to messages, ${size}`, responses, messages, inResponses),
    ]
  })
  return [
    answer('chat', chat, 'messages', messages),
    answer('messages', messages, 'chat', chat),
    answer('chat', chat, 'responses', responses),
    answer('messages', messages, 'responses', responses),
    answer('responses', responses, 'messages', messages),
    ...bodies,
  ]
}
