/** What the exchange asks of a protocol, so that a new protocol is one file and one line in `table.ts`. */
import type { Protocol, Usage } from '../terms/records.ts'
import type { Pass } from './usage.ts'

/**
 * Counts the usage of one answer from its bytes, in order, as they are relayed. Fixed memory, no text kept, never throws:
 * what cannot be understood counts as not reported.
 */
export interface Meter {
  /** The next bytes as they came from the upstream (decoded where it compressed), and as Latin-1. Read only, not kept. */
  feed(chunk: Buffer, text: string): void
  /** No more bytes: reads a last event or line that lacks its end. `whole`: the upstream has said all, as HTTP counts it. */
  end(whole: boolean): void
  /** The latest usage the upstream reported, or null. Its output is 0 while only the input is known. */
  readonly usage: Usage | null
  /** Where several models took part: what each used, together `usage`. */
  readonly passes: readonly Pass[]
  /** The upstream reported its output, and nothing of content has come since. */
  readonly final: boolean
  /** Output tokens estimated from the content seen so far, framing excluded; 0 = no content seen. */
  readonly counted: number
  /** Output tokens so far, as counted or as reported, whichever is more; none for pictures that are charged by the piece. */
  readonly produced: number
  /** Pictures so far that are charged by the piece. */
  readonly images: number
  /** What came is nothing that this protocol says. */
  readonly foreign: boolean
  /** The protocol's terminal event (streams) or a complete JSON body (whole answers) was seen. */
  readonly terminal: boolean
  /** The upstream sent its own error: event, or error body. */
  readonly failed: boolean
  /** The answer came to its proper end before anything failed: what fails behind the end changes nothing of it. */
  readonly concluded: boolean
  /** The answer's own id, where a later request may name it (responses); null = none seen. */
  readonly answerId: string | null
  /** Between two events: bytes of ours may be written here. Whole answers have no such place. */
  readonly atBoundary: boolean
  /** Where in the last chunk the first event may be that carries usage, an error or the end; its length = nowhere. */
  readonly matters: number
  /** What a length stop in this stream must say. */
  lengthStopState(): Partial<LengthStopState>
}

export interface MeterOptions {
  /** The answer is an event stream; otherwise one JSON document (or, on generate-content, an array of them). */
  events: boolean
  /** A length stop may have to be said: what it needs is taken from the first event. */
  lengthStop: boolean
  /** What the request asked for: cache writes that the upstream does not split are counted so. */
  cacheTtl: '5m' | '1h'
  /** Pictures have a price of their own. Default: they cost the output tokens that are reported or counted for them. */
  pictures?: boolean
}

/** What the gateway itself must say inside a stream that has begun. */
export interface StreamWords {
  /** The protocol's own error event, whole, with its final blank line. `message` carries the request id already. */
  error(status: number, message: string): string
  /** The protocol's own end "the maximum length was reached", terminal event included. */
  lengthStop(state: LengthStopState): string
  /** Keep-alive bytes that fit between events. */
  keepAlive: string
}

export interface LengthStopState {
  /** Of the answer as its first event gave them, else of the request. */
  model: string
  answerId: string
  createdS: number
  /** Tokens. */
  input: number
  output: number
  /** Index of the open content block (messages), when one is open. */
  openBlock: number | null
}

/** One row per protocol: everything that differs between them and is not money. */
export interface ProtocolRow {
  name: Protocol
  /** Header of the upstream credential by default: `authorization` is sent as `Bearer KEY`, others bare. */
  authHeader: string
  meter(options: MeterOptions): Meter
  words: StreamWords
  /** A streaming request must be edited to ask the upstream for usage. */
  asksForUsage: boolean
  /** Nothing of interest follows a stream's terminal event. */
  terminalIsLast: boolean
  /** The answer of its token counting route; null = it has none. */
  countAnswer: ((tokens: number) => object) | null
}
