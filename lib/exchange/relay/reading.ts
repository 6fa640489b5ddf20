/**
 * How one upstream's answer is read: what kind it is, what counts it, and what the client is told of its bytes. The bytes go in
 * by `feed`, which counts them, and what the client gets of them comes out of `forClient`, in the same order. Between the two
 * the relay may hold them back until they are paid for. What changes an answer on its way to the client stands in `forClient`,
 * but for what takes its time, which stands in `links`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Meter } from '../../protocols/meter.ts'
import { bytesAsText } from '../../protocols/patterns.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import { Withholder } from '../../protocols/withhold.ts'
import type { Exchange } from '../exchange.ts'
import { fail } from '../fail.ts'
import { wantsEvents } from '../request.ts'
import type { Services } from '../services.ts'
import { decoderFor, type SideDecoder } from './decode.ts'
import { Growth, type GrowthEvents } from './growth.ts'
import { type LinkEvents, linksFor, type PictureLinks } from './picture-links.ts'

/** In an answer that cannot be read, so many bytes count as one token. */
const BYTES_PER_TOKEN = 4

export interface ReadingEvents extends GrowthEvents, LinkEvents {
  /** The decoder, which was behind, can take more. */
  onDecoded(): void
}

export class Reading {
  readonly #events: ReadingEvents
  /** The answer is an event stream, so that words of ours can stand in it. */
  readonly events: boolean
  /**
   * The answer is read as an event stream. It is also when a stream was asked for and it comes under another content type, unless
   * that is JSON.
   */
  readonly #asEvents: boolean
  /** The answer is compressed, so that no words of ours can stand in it. */
  readonly encoded: boolean
  readonly meter: Meter
  readonly decoder: SideDecoder | null
  /** Takes out the usage that was asked for by us and not by the client. */
  readonly #withholder: Withholder | null
  /** null = the hold covers all that the answer can cost. */
  readonly growth: Growth | null
  /** Puts links in the place of pictures, which the client is told of by its own events. null = the answer passes as it is. */
  readonly links: PictureLinks | null
  readonly #terminalIsLast: boolean
  /** An answer to a count route, until it is known to be a count. */
  readonly count: Buffer[] = []
  /** Bytes of the answer so far, before any decoding. */
  bytes = 0

  constructor(x: Exchange, services: Services, row: ProtocolRow, headers: IncomingHttpHeaders, events: ReadingEvents) {
    this.#events = events
    const { facts, hold } = x
    const type = String(headers['content-type'] ?? '')
    this.events = /^text\/event-stream/i.test(type)
    this.#asEvents = this.events || (wantsEvents(x) && row.eventsByType !== true && !/json/i.test(type))
    const lengthStop = x.coveredOutput > 0
    const encoding = String(headers['content-encoding'] ?? '').toLowerCase()
    this.encoded = encoding !== '' && encoding !== 'identity'
    const length = headers['content-length']
    this.meter = row.meter({
      events: this.#asEvents,
      lengthStop,
      cacheTtl: facts?.cacheTtl ?? '5m',
      pictures: x.tariff?.pricesPictures ?? false,
      searches: x.tariff?.pricesSearches ?? false,
      type,
      ...(facts === null ? {} : { sound: facts }),
      ...(length === undefined || this.encoded ? {} : { bodyBytes: Number(length) }),
    })
    this.decoder = this.encoded
      ? decoderFor(encoding, {
          onDecoded: chunk => this.meter.feed(chunk, bytesAsText(chunk)),
          onFault: error => fail(x, services, error),
        })
      : null
    const ours = this.events && !this.encoded
    const asked = row.asksForUsage && facts?.stream === true && !facts.includeUsage
    this.#withholder = ours && asked ? new Withholder() : null
    this.links = this.#asEvents || this.encoded ? null : linksFor(x, services, row, events)
    this.growth = lengthStop && hold !== null ? new Growth(x, services, hold, events) : null
    this.#terminalIsLast = row.terminalIsLast
  }

  /** Counts what has come. False: the decoder is behind, and `onDecoded` is called when it is not. */
  feed(chunk: Buffer): boolean {
    this.bytes += chunk.length
    if (this.decoder !== null) return this.decoder.write(chunk, () => this.#events.onDecoded())
    this.meter.feed(chunk, bytesAsText(chunk))
    return true
  }

  /** The same, where nothing goes on before it is decoded: `done` when the meter has seen all of it. */
  feedWhole(chunk: Buffer, decoder: SideDecoder, done: () => void): void {
    this.bytes += chunk.length
    decoder.read(chunk, done)
  }

  /**
   * What the client is told of these bytes: mostly the very same. null: nothing but the head. `matters`: where in them the
   * first event may be that is not just passed on, as the meter said of this very chunk; 0 = anywhere.
   */
  forClient(chunk: Buffer, matters: number): Buffer | Buffer[] | null {
    return this.#withholder === null ? chunk : this.#withholder.push(chunk, matters)
  }

  /** What was held back of an event that has no end. */
  rest(): Buffer | null {
    return this.#withholder?.flush() ?? null
  }

  /** What the client has ends between two events, so that an event of ours may follow. */
  get boundary(): boolean {
    return this.#withholder?.atBoundary ?? this.growth?.atBoundary ?? this.meter.atBoundary
  }

  /** The answer is nothing that the protocol knows, or its encoding is unknown or broken. */
  get foreign(): boolean {
    if (this.bytes === 0) return false
    return this.meter.foreign || (this.encoded && (this.decoder?.broken ?? true))
  }

  /** As how many tokens an answer counts that cannot be read: by its bytes, or those that were seen before it proved broken. */
  get tokensOfBytes(): number {
    return Math.max(Math.ceil(this.bytes / BYTES_PER_TOKEN), this.meter.produced)
  }

  /** True when the hold covers what was produced so far, so that it may go on to the client. */
  coveredBy(growth: Growth): boolean {
    const { foreign, meter } = this
    return growth.covers(foreign ? this.tokensOfBytes : meter.produced, meter.images, meter.searches)
  }

  /** The answer is whole, and nothing of interest can follow. */
  get isWhole(): boolean {
    return this.meter.terminal && !this.meter.failed && (this.#terminalIsLast || !this.#asEvents)
  }
}
