/** What the exchange asks of a protocol, so that a new protocol is one file and one import line in `table.ts`. */
import type { Protocol, Usage } from '../terms/records.ts'
import type { Facts } from './facts.ts'

/**
 * Counts the usage of one answer from its bytes, in order, as they are relayed. Fixed memory, no text kept, never throws:
 * what cannot be understood counts as not reported.
 */
export interface Meter {
  /** The next bytes as they came from the upstream (decoded where the upstream compressed). Read only, not kept. */
  feed(chunk: Uint8Array): void
  /** No more bytes: reads a last event or line that lacks its end. */
  end(): void
  /** The latest usage the upstream reported, or null. */
  readonly usage: Usage | null
  /** Output tokens estimated from the content text seen so far, framing excluded; 0 = no content seen. */
  readonly counted: number
  /** The protocol's terminal event (streams) or a complete JSON body (whole answers) was seen. */
  readonly terminal: boolean
  /** The upstream sent its own error (event or error body). */
  readonly failed: boolean
  /** Between two events: keep-alive bytes may be written here. Always false for whole answers. */
  readonly atBoundary: boolean
  /** What a length stop in this stream must say. */
  lengthStopState(): Partial<LengthStopState>
}

export interface MeterOptions {
  /** The answer is an event stream (`text/event-stream`); otherwise one JSON document (or, on generate, an array of them). */
  events: boolean
  /** Keep `counted` up to date on every event even when usage was reported already (growing holds read it). */
  count: boolean
  /** The request's cache_control asks for one-hour entries: unsplit cache writes are counted so. */
  cacheTtl: '5m' | '1h'
}

/** What the gateway itself must say inside a stream that has begun. */
export interface StreamWords {
  /** The protocol's own error event, whole, with its final blank line. `message` carries the request id already. */
  error(status: number, message: string): string
  /** The protocol's own end "the maximum length was reached", terminal event included (growing holds). */
  lengthStop(state: LengthStopState): string
  /** Keep-alive bytes that fit between events. */
  keepAlive: string
}

export interface LengthStopState {
  /** The id and model of the answer as first seen in the stream, when known (JSON string contents, already escaped). */
  model: string
  requestId: string
  /** Output tokens delivered. */
  output: number
  /** Index of the open content block (messages), when one is open. */
  openBlock: number | null
}

/** One row per protocol: everything that differs between them and is not money. */
export interface ProtocolRow {
  name: Protocol
  /** Default header of the upstream credential; `authorization` is sent as `Bearer KEY`, others bare. */
  authHeader: string
  meter(options: MeterOptions): Meter
  words: StreamWords
  /** True when a streaming request must be edited to ask the upstream for usage (chat). */
  asksForUsage: boolean
}

export type { Facts }
