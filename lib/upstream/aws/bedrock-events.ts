/**
 * Makes of the frames in which Claude on Bedrock streams the very events of the messages protocol. Each frame carries one event
 * as base64 in JSON, `{"bytes":"…"}`; a frame that is an exception becomes an `error` event, and nothing follows it.
 */
import { fieldsOf } from '../../protocols/fields.ts'
import { bedrockException } from './bedrock-errors.ts'
import { BadFrame, type Frame, FrameReader } from './frames.ts'

const NOTHING: Buffer = Buffer.alloc(0)
/** How the events of Bedrock begin. */
const TYPE_FIRST = /^\{"type":"([a-z_]{1,64})"/
const TYPE = /^[a-z_]{1,64}$/
/** Bedrock adds measurements of its own to the last event, which has no other members. */
const LAST = '{"type":"message_stop"}'

export class BedrockEvents {
  readonly #frames = new FrameReader()
  #hasFailed = false
  /** Why nothing more can be read; null = more can. */
  broken: BadFrame | null = null

  /** The bytes of the events that are whole now. */
  push(chunk: Buffer): Buffer {
    let events = ''
    try {
      if (!this.#isOver)
        for (const frame of this.#frames.push(chunk)) {
          events += this.#eventOf(frame)
          if (this.#hasFailed) break
        }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error
      this.broken = error
    }
    return events === '' ? NOTHING : Buffer.from(events, 'latin1')
  }

  /** No more will come. */
  end(): void {
    if (!this.#isOver && this.#frames.isInside) this.broken = new BadFrame('the stream ends inside a frame')
  }

  get #isOver(): boolean {
    return this.#hasFailed || this.broken !== null
  }

  #eventOf({ headers, payload }: Frame): string {
    const kind = headers.get(':message-type')
    if (kind === 'event') return headers.get(':event-type') === 'chunk' ? chunkEvent(payload) : ''
    if (kind !== 'exception' && kind !== 'error') throw new BadFrame('a frame that is neither event nor error')
    this.#hasFailed = true
    const named = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
    const said = headers.get(':error-message')
    const error = bedrockException(named, said === undefined ? payload : Buffer.from(said))
    return event('error', Buffer.from(error).toString('latin1'))
  }
}

/** `data`: one character per byte. */
const event = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`

function chunkEvent(payload: Buffer): string {
  const { bytes } = fieldsOf(readJson(payload.toString('latin1')))
  if (typeof bytes !== 'string') throw new BadFrame('a chunk without bytes')
  const data = Buffer.from(bytes, 'base64').toString('latin1')
  const type = TYPE_FIRST.exec(data)?.[1] ?? fieldsOf(readJson(data))['type']
  if (typeof type !== 'string') return '' // keeps the connection alive
  if (!TYPE.test(type)) throw new BadFrame('a chunk that is no event')
  // between the tokens of JSON a line end is a blank; inside them none can stand
  return event(type, type === 'message_stop' ? LAST : data.replace(/[\r\n]/g, ' '))
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BadFrame('a chunk that is no JSON')
  }
}
