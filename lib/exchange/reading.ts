/** How one upstream's answer is read: what kind it is, what counts it, and what stands between its bytes and the client. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Meter, ProtocolRow } from '../protocols/protocol.ts'
import { Withholder } from '../protocols/withhold.ts'
import { decoderFor, type SideDecoder } from './decode.ts'
import type { Exchange } from './exchange.ts'
import { Growth, type GrowthEvents } from './growth.ts'

export class Reading {
  /** An event stream. */
  readonly events: boolean
  /** Compressed: nothing of ours can stand in it. */
  readonly encoded: boolean
  readonly meter: Meter
  readonly decoder: SideDecoder | null
  /** Set when usage was asked for by us and not by the client. */
  readonly withholder: Withholder | null
  /** Set when only a part of the output is held. */
  readonly growth: Growth | null
  readonly #terminalIsLast: boolean

  constructor(x: Exchange, row: ProtocolRow, headers: IncomingHttpHeaders, events: GrowthEvents) {
    const { facts, hold } = x
    this.events = /^text\/event-stream/i.test(String(headers['content-type'] ?? ''))
    const count = x.coveredOutput > 0
    this.meter = row.meter({ events: this.events, count, cacheTtl: facts?.cacheTtl ?? '5m' })
    const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
    this.encoded = encoding !== 'identity'
    this.decoder = this.encoded ? decoderFor(encoding, this.meter) : null
    const ours = this.events && !this.encoded
    const asked = row.asksForUsage && facts?.stream === true && !facts.includeUsage
    this.withholder = ours && asked ? new Withholder() : null
    this.growth = ours && count && hold !== null ? new Growth(x, hold, events) : null
    this.#terminalIsLast = row.terminalIsLast
  }

  /** What the client has ends between two events; bytes of a half one may not be followed by another. */
  get boundary(): boolean {
    return this.withholder?.atBoundary ?? this.growth?.atBoundary ?? this.meter.atBoundary
  }

  /** The answer is whole, and nothing of interest can follow. */
  get isWhole(): boolean {
    return this.meter.terminal && !this.meter.failed && (this.#terminalIsLast || !this.events)
  }
}
