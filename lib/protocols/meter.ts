/**
 * What counts an answer: every protocol makes a meter for each answer, the exchange feeds it all bytes on their way to the
 * client and reads from it what was used, whether the answer is whole, and where words of the gateway may stand in it.
 */
import type { Pass } from './reports.ts'
import type { Usage } from './usage.ts'

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

/** What the end of a stream says when the gateway ends it because the maximum length was reached. */
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
