/** The workloads that are answered by translation, and the protocols in which they are asked. */
import { conversation } from '../micro/workloads/conversation.ts'

export type Lane = 'chat' | 'messages'

/** Where and how clients of a protocol ask, and what a whole stream ends with. */
export const LANES: Record<Lane, { path: string; more: object; end: string }> = {
  chat: { path: '/v1/chat/completions', more: { stream_options: { include_usage: true } }, end: 'data: [DONE]\n\n' },
  messages: { path: '/v1/messages', more: {}, end: 'event: message_stop\ndata: {"type":"message_stop"}\n\n' },
}

/** The model of the benches that only an upstream of this protocol has. */
export const MODEL_OF: Record<Lane, string> = { chat: 'beta-4.7', messages: 'alpha-5' }

export interface TranslatedWorkload {
  kind: 'translated'
  name: string
  client: Lane
  upstreamProtocol: Lane
  stream: boolean
  /** Of each stream. */
  events: number
  connections: number
  rampMs?: number
  warmup: number
  requests: number
  upstream: { EVENTS?: string; GAP_MS?: string; ANSWER_BYTES?: string }
  bodyBytes: number
  stalls?: boolean
  /** A conversation of many short texts in the place of long ones. Measured only where `--only` names it. */
  isOfShortTexts?: true
}

const burst = {
  kind: 'translated',
  stream: true,
  events: 100,
  connections: 32,
  warmup: 6000,
  requests: 1000,
  upstream: {},
  bodyBytes: 200,
} as const
const paced = {
  ...burst,
  events: 50,
  connections: 200,
  rampMs: 1000,
  warmup: 200,
  requests: 400,
  upstream: { GAP_MS: '20', EVENTS: '50' },
} as const
const large = {
  ...burst,
  stream: false,
  connections: 2,
  warmup: 200, // the other thread compiles its code, too
  requests: 40,
  bodyBytes: 2_000_000,
  stalls: true,
} as const
const longAnswer = {
  ...large,
  connections: 1,
  warmup: 5,
  requests: 10,
  upstream: { ANSWER_BYTES: '20000000' },
  bodyBytes: 200,
} as const

const byChat = { client: 'messages', upstreamProtocol: 'chat' } as const
const byMessages = { client: 'chat', upstreamProtocol: 'messages' } as const

const shortTexts = { ...large, warmup: 40, requests: 20, isOfShortTexts: true, stalls: false } as const

export const TRANSLATED_WORKLOADS: readonly TranslatedWorkload[] = [
  { ...burst, ...byChat, name: 'burst stream, messages by chat' },
  { ...burst, ...byMessages, name: 'burst stream, chat by messages' },
  { ...paced, ...byChat, name: 'paced stream, messages by chat' },
  { ...paced, ...byMessages, name: 'paced stream, chat by messages' },
  { ...large, ...byChat, name: '2 MB body, messages by chat' },
  { ...large, ...byMessages, name: '2 MB body, chat by messages' },
  { ...shortTexts, ...byChat, name: '2 MB of short texts, messages by chat' },
  { ...shortTexts, ...byMessages, name: '2 MB of short texts, chat by messages' },
  { ...longAnswer, ...byChat, name: '20 MB answer, messages by chat' },
  { ...longAnswer, ...byMessages, name: '20 MB answer, chat by messages' },
]

/** A request of about `bodyBytes`. A long one is a conversation with tools. */
export function laneBody(
  { upstreamProtocol, bodyBytes, stream, isOfShortTexts }: TranslatedWorkload,
  client: Lane,
): string {
  const { more } = LANES[client]
  const model = MODEL_OF[upstreamProtocol]
  const fixed = { model, stream, max_tokens: 512, ...(stream ? more : {}) }
  const text = 'Write a function that reads a file and returns its lines, sorted. Keep it "simple" and tested.\n'
  const messages = [{ role: 'user', content: text }]
  if (bodyBytes <= text.length * 3) return JSON.stringify({ ...fixed, messages })
  return JSON.stringify({ ...fixed, messages: isOfShortTexts ? shortTurns(bodyBytes) : longTurns(client, bodyBytes) })
}

/** Turns of a talk, the same in both protocols; the last one is the user's, as an answer that was begun is not translated. */
function shortTurns(bytes: number): object[] {
  const pair = [
    { role: 'user', content: 'What is next on the list?' },
    { role: 'assistant', content: 'The "milk", and then bread.' },
  ]
  return [...Array.from({ length: bytes / JSON.stringify(pair).length }, () => pair).flat(), pair[0] as object]
}

/** Turns of an agent: each reads a file by a tool and says what it found. */
function longTurns(client: Lane, bytes: number): object[] {
  const file = conversation(1, 20_000).bytes.toString()
  const turns: object[] = [{ role: 'user', content: 'Read the files.' }]
  for (let n = 0; n < bytes / JSON.stringify(file).length; n++) {
    const id = `call_${n}`
    if (client === 'chat')
      turns.push(
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: file },
      )
    else
      turns.push(
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: file }] },
      )
  }
  return turns
}
