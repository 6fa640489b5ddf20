/**
 * Makes request bodies like those of a coding client: a cached system prompt, tools, and a long conversation of files
 * and tool calls.
 */
import { type Random, withSeed } from '../../../test/support/random.ts'
import { code, prose } from './code.ts'

/** A body shorter than this is a single question. */
const TALK_FROM = 4096
const CACHED = { type: 'ephemeral', ttl: '1h' }
const MODEL = 'alpha-4.7'
const USER = 'user_5f1b_session_9c2e'

/** The facts that the scan should find in the body. */
export interface Said {
  model: string
  stream: boolean
  maxOutput: number
  cacheTtl: '1h' | null
  userId: string | null
}

export interface Conversation {
  bytes: Buffer
  said: Said
}

/**
 * A body of the messages protocol with exactly this many bytes: at least 128, and at least 4096 with an `image`, which
 * fills it.
 */
export function conversation(seed: number, bytes: number, image = false): Conversation {
  const random = withSeed(seed)
  const long = bytes >= TALK_FROM
  const said: Said = {
    model: MODEL,
    stream: true,
    maxOutput: random.int(256, 32_000),
    cacheTtl: long ? '1h' : null,
    userId: long ? USER : null,
  }
  const head = `{"model":"${MODEL}","messages":[`
  const tail = `],${long ? `${surroundings(random)},` : ''}"max_tokens":${said.maxOutput},"stream":true}`
  const room = bytes - Buffer.byteLength(head) - Buffer.byteLength(tail)
  const talk = image ? picture(random, room) : messages(random, room)
  return { bytes: Buffer.from(`${head}${talk}${tail}`), said }
}

function surroundings(random: Random): string {
  const tool = (name: string) => ({
    name,
    description: prose(random),
    input_schema: { type: 'object', properties: { path: { type: 'string' }, limit: { type: 'integer' } } },
  })
  const fields = {
    system: [{ type: 'text', text: code(random, 600), cache_control: CACHED }],
    tools: ['read', 'write', 'search'].map(tool),
    metadata: { user_id: USER },
  }
  return JSON.stringify(fields).slice(1, -1)
}

/** A message with an image, exactly `room` bytes long. */
function picture(random: Random, room: number): string {
  const message = (data: string) => {
    const source = { type: 'base64', media_type: 'image/png', data }
    return JSON.stringify({
      role: 'user',
      content: [
        { type: 'image', source },
        { type: 'text', text: 'What is this?' },
      ],
    })
  }
  const bytes = Buffer.alloc(Math.ceil((room * 3) / 4))
  for (let i = 0; i < bytes.length; i += 4)
    bytes.writeUInt32LE(random.int(0, 0xffff_ffff), Math.min(i, bytes.length - 4))
  return message(bytes.toString('base64').slice(0, room - message('').length))
}

/** Messages that are exactly `room` bytes long, commas included; the last one is filled up. */
function messages(random: Random, room: number): string {
  const last = (text: string) => JSON.stringify({ role: 'user', content: text })
  const least = last('').length
  const parts: string[] = []
  let left = room
  for (let call = 0; ; call++) {
    const turns = turn(random, call).map(message => JSON.stringify(message))
    const size = turns.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
    if (size + least > left) break
    parts.push(...turns)
    left -= size
  }
  parts.push(last('Go on, please. '.repeat(Math.ceil((left - least) / 15)).slice(0, left - least)))
  return parts.join(',')
}

/** The call of a tool and its result. */
function turn(random: Random, call: number): object[] {
  const id = `toolu_${call.toString(36).padStart(8, '0')}`
  const content = [{ type: 'tool_result', tool_use_id: id, content: code(random, random.int(500, 6_000)) }]
  return [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: prose(random) },
        {
          type: 'tool_use',
          id,
          name: 'write',
          input: { path: `lib/${call}.ts`, text: code(random, random.int(50, 800)) },
        },
      ],
    },
    { role: 'user', content: call === 2 ? content.map(block => ({ ...block, cache_control: CACHED })) : content },
  ]
}
