/**
 * How one upstream's answer is read: what kind it is, what counts it, and what the client is told of its bytes. The bytes go in
 * by `feed`, which counts them, and what the client gets of them comes out of `forClient`, in the same order. Between the two
 * the relay may hold them back until they are paid for. What changes an answer on its way to the client stands in `forClient`,
 * but for what takes its time, which stands in `links`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { KeyEntry } from '../../access/keys.ts'
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { OutputBounds } from '../../protocols/words/maxima.ts'
import { mostPicturesCaused, mostSearchesCaused } from '../../pricing/bound.ts'
import type { AtKind, ProtocolRow } from '../../protocols/protocol.ts'
import type { Meter } from '../../protocols/answers/meter.ts'
import { decimal, inUsd } from '../../base/money.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import { type AnswerChange, changesOf, type CostTold, type WantedChanges } from '../../protocols/answers/changes.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import type { Failure } from '../../translate/events.ts'
import { readFailure } from '../../translate/failure.ts'
import { decoderFor, type SideDecoder } from '../../upstream/decode.ts'
import type { Exchange } from '../record/exchange.ts'
import { fail } from '../record/ending.ts'
import { mostOutputOf, SEEN_WHOLLY } from '../record/need.ts'
import { asksCost, wantsArray, wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { ImageLinks } from '../../config/config.ts'
import { Growth } from './growth.ts'
import { linksFor, type PictureLinks } from './picture-links.ts'
import { Translation } from './translation.ts'

/** In an answer that cannot be read, so many bytes count as one token. */
const BYTES_PER_TOKEN = 4

/** The answer that counts, as its head tells of it. */
export interface UpstreamAnswer {
  /** 0 = no head has come yet. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** How its upstream was asked; null = in the client's own protocol. */
  readonly translated: TranslatedRequest | null
  /** null: no head yet, or one that is not 2xx, whose answer passes as it comes. */
  readonly reading: Reading | null
  /** One that is not 2xx, and is told in the words of another protocol; null = it is none. */
  readonly error: ErrorBody | null
}

export const NO_ANSWER: UpstreamAnswer = { status: 0, headers: {}, translated: null, reading: null, error: null }

const LONGEST_ERROR = 64 * 1024

/** An error that is told in other words: its first bytes, as far as they have come. */
export class ErrorBody {
  readonly #parts: Buffer[] = []
  #bytes = 0

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= LONGEST_ERROR) this.#parts.push(chunk)
  }

  failure(status: number): Failure {
    return readFailure(status, Buffer.concat(this.#parts))
  }
}

/** The relay hears of a reading when what takes its time is done. */
export interface ReadingEvents {
  /** The store has answered: `coveredBy` may say something else now. */
  onGrown(): void
  /** The decoder, which was behind, can take more. */
  onDecoded(): void
  /** A part of a compressed answer that is translated was decoded and counted. */
  onPlain(chunk: Buffer, reading: Reading): void
  /** Bytes for the client, with links in the place of pictures. False: it is slow. */
  onLinked(bytes: Buffer): boolean
  /** The links, which were behind, can take more. */
  onCaughtUp(): void
}

export class Reading {
  readonly #events: ReadingEvents
  /** The client's answer is an event stream, so that words of ours can stand in it. */
  readonly events: boolean
  /** The client's answer comes in pieces between which words of ours can stand: events, or the elements of an array that we write. */
  readonly inPieces: boolean
  /** The client wants to see each piece when it comes: events, or elements of an array. */
  readonly comesInPieces: boolean
  /**
   * The answer is read as an event stream. It is also when a stream was asked for and it comes under another content type, unless
   * that is JSON.
   */
  readonly #asEvents: boolean
  /** The client's answer is compressed, so that no words of ours can stand in it. */
  readonly encoded: boolean
  readonly meter: Meter
  readonly decoder: SideDecoder | null
  /** What the client's answer goes through; null = it passes as it comes. */
  readonly #changes: AnswerChange | null
  /** The client's answer has another length than the upstream's. */
  readonly isRewritten: boolean
  /** The memory that is taken for what the changes hold back, where that may be much; null = it is not. */
  readonly #room: HeldRoom | null
  /** null = the hold covers all that the answer can cost. */
  readonly growth: Growth | null
  /** Puts links in the place of pictures, which the client is told of by its own events. null = the answer passes as it is. */
  readonly links: PictureLinks | null
  /** Makes of the answer what the client gets; null = it passes as it comes, or nobody is told of it any more. */
  translation: Translation | null
  /** The encoding of an answer that is to be translated is unknown. */
  readonly unreadable: boolean
  /** How the upstream bounds its answers. */
  readonly bounds: OutputBounds
  /** The most output tokens that are charged because they are reported. */
  readonly mostOutput: number
  /** The most pictures and searches that the request can have caused. */
  readonly #mostImages: number
  readonly #mostSearches: number
  /** The facts of the request as the upstream was asked; null = those of the client's. */
  readonly sent: Facts | null
  readonly #terminalIsLast: boolean
  /** See `ModelStats.hiddenRatio`. */
  readonly #hiddenRatio: number
  /** The beginning of a first event that is not whole, so that the answer is not judged yet. */
  #begun: Buffer[] | null = null
  /** The chunk that the meter has seen last. */
  #fed: Buffer | null = null
  /** An answer to a count route, until it is known to be a count. */
  #count: Buffer[] | null = null
  /** Bytes of the answer so far, before any decoding. */
  bytes = 0

  constructor(
    x: Exchange,
    services: Services,
    translated: TranslatedRequest | null,
    channel: CompiledChannel,
    headers: IncomingHttpHeaders,
    events: ReadingEvents,
  ) {
    const protocol = translated?.via ?? (x.form as Protocol) // what the upstream speaks
    const row = protocolRow(protocol)
    this.#events = events
    this.sent = translated?.facts ?? null
    const { hold } = x
    const facts = translated?.facts ?? x.facts
    const type = String(headers['content-type'] ?? '')
    const isStream = /^text\/event-stream/i.test(type)
    this.events = translated === null ? isStream : wantsEvents(x)
    this.inPieces = this.events || (translated !== null && wantsArray(x))
    const isAsked = translated === null ? wantsEvents(x) : translated.ask.stream
    this.#asEvents = isStream || (isAsked && row.eventsByType !== true && !/json/i.test(type))
    this.comesInPieces = this.events || (translated === null && this.#asEvents) || wantsArray(x)
    this.bounds = channel.bounds[protocol]
    const { tariff } = x
    this.#mostImages = facts === null ? Number.POSITIVE_INFINITY : mostPicturesCaused(facts, protocol)
    this.#mostSearches = facts === null ? Number.POSITIVE_INFINITY : mostSearchesCaused(facts)
    this.mostOutput =
      facts === null || tariff === null
        ? Number.POSITIVE_INFINITY
        : mostOutputOf(x, services, tariff, facts, this.bounds)
    const lengthStop = x.coveredOutput > 0
    const encoding = String(headers['content-encoding'] ?? '').toLowerCase()
    const isEncoded = encoding !== '' && encoding !== 'identity'
    this.encoded = isEncoded && translated === null
    const length = headers['content-length']
    this.meter = row.meter({
      events: this.#asEvents,
      lengthStop,
      cacheTtl: facts?.cacheTtl ?? '5m',
      pictures: x.tariff?.pricesPictures ?? false,
      input: x.tariff?.has('input') ?? false,
      searches: x.tariff?.pricesSearches ?? false,
      tools: facts !== null && facts.tools.length > 0,
      type,
      mostOutput: this.mostOutput,
      sound: facts ?? undefined,
      bodyBytes: length === undefined || isEncoded ? undefined : Number(length),
    })
    this.decoder = isEncoded ? this.#decoderFor(encoding, x, services, translated) : null
    this.unreadable = isEncoded && translated !== null && this.decoder === null
    this.translation = translated === null ? null : new Translation(x, services, translated, this.#asEvents)
    const asked = row.asksForUsage && facts?.stream === true && !facts.includeUsage
    const wanted = this.encoded
      ? null
      : this.#wanted(x, translated === null ? channel.special[protocol] : undefined, asked)
    this.isRewritten = typeof wanted?.rewrite === 'function'
    this.#changes = wanted === null ? null : changesOf(wanted)
    this.#room = wanted !== null && (this.isRewritten || wanted.cost !== null) ? new HeldRoom(x, services) : null
    const { settings } = services.pictures
    this.links =
      this.#asEvents || isEncoded || translated !== null || settings === null
        ? null
        : this.#linksFor(x, services, row, settings)
    this.growth = lengthStop && hold !== null ? this.#growthFor(x, services, hold) : null
    this.#terminalIsLast = row.terminalIsLast
    this.#hiddenRatio = facts === null ? SEEN_WHOLLY : services.stats.hiddenRatio(x.model, facts.effort)
  }

  // what has closures is made in methods of its own: V8 takes memory for what they capture at the entry of the method

  #decoderFor(
    encoding: string,
    x: Exchange,
    services: Services,
    translated: TranslatedRequest | null,
  ): SideDecoder | null {
    return decoderFor(encoding, {
      onDecoded: chunk => {
        this.meter.feed(chunk, chunk.toString('latin1'))
        if (translated !== null) this.#events.onPlain(chunk, this)
      },
      onFault: error => fail(x, services, error),
    })
  }

  #linksFor(x: Exchange, services: Services, row: ProtocolRow, settings: ImageLinks): PictureLinks | null {
    return linksFor(x, services, row, settings, {
      send: bytes => this.#events.onLinked(bytes),
      onCaughtUp: () => this.#events.onCaughtUp(),
    })
  }

  #growthFor(x: Exchange, services: Services, hold: Hold): Growth {
    return new Growth(x, services, hold, () => this.#events.onGrown())
  }

  /**
   * What is to be changed of the answer; null = nothing. `own`: what is different at the kind that was asked in the client's protocol.
   * `asked`: the usage event was asked for by us, and not by the client.
   */
  #wanted(x: Exchange, own: AtKind | undefined, asked: boolean): WantedChanges | null {
    const pieces = this.events ? 'events' : wantsArray(x) ? 'array' : 'document'
    const cost = pieces !== 'document' && asksCost(x) ? costsOf(x) : null
    const takesOut = this.events && this.translation === null
    const type = takesOut ? own?.withholds : undefined
    const withheld = type === undefined ? (takesOut && asked && cost === null ? 'usage' : null) : { type }
    const rewrite = own?.rewrites ?? null
    return (withheld ?? rewrite ?? cost) === null ? null : { pieces, withheld, rewrite, cost }
  }

  /** Counts what has come. False: the decoder is behind, and `onDecoded` is called when it is not. */
  feed(chunk: Buffer): boolean {
    this.bytes += chunk.length
    this.#fed = chunk
    if (this.decoder !== null) return this.decoder.write(chunk, () => this.#events.onDecoded())
    this.meter.feed(chunk, chunk.toString('latin1'))
    return true
  }

  /** The same, where nothing goes on before it is decoded: `done` when the meter has seen all of it. */
  feedWhole(chunk: Buffer, decoder: SideDecoder, done: () => void): void {
    this.bytes += chunk.length
    decoder.read(chunk, done)
  }

  /** Keeps the beginning of a first event, whose end is waited for. */
  keepBegun(chunk: Buffer): void {
    this.#begun ??= []
    this.#begun.push(chunk)
  }

  /** The beginning of the first event with what came behind it; null = nothing was kept. */
  takeBegun(...last: Buffer[]): Buffer | null {
    const begun = this.#begun
    this.#begun = null
    return begun === null ? null : Buffer.concat([...begun, ...last])
  }

  keepCount(chunk: Buffer): void {
    this.#count ??= []
    this.#count.push(chunk)
  }

  /** An answer to a count route, as it came. */
  get count(): readonly Buffer[] {
    return this.#count ?? []
  }

  /** The bytes that the client is told of these: mostly the very same. null: nothing but the head. */
  forClient(chunk: Buffer): Buffer | Buffer[] | null {
    const changes = this.#changes
    if (changes === null) return chunk
    const { meter } = this
    const isFed = chunk === this.#fed && this.decoder === null // so that what the meter says is of this very chunk
    if (isFed && meter.isContent && changes.passesContent) return chunk
    const told = changes.push(chunk, isFed ? meter.matters : 0)
    if (this.#room === null || this.#room.fits(changes.heldBytes)) return told
    const held = changes.letGo()
    this.#room.fits(0)
    return held === null ? told : [told ?? [], held].flat()
  }

  /** The last bytes of a stream that we write: with what it cost, where that is asked for. */
  withCost(bytes: Buffer): Buffer {
    if (this.#changes === null) return bytes
    return Buffer.concat([this.#changes.push(bytes, 0) ?? [], this.#changes.flush() ?? []].flat())
  }

  /** We end the stream here: what waits, without an event that has no end. */
  endHere(): Buffer | null {
    const waiting = this.#changes?.drop() ?? null
    return waiting === null ? null : Buffer.concat(waiting)
  }

  /** The bytes that were held back of a piece that has no end. */
  rest(): Buffer | null {
    const rest = this.#changes?.flush() ?? null
    return Array.isArray(rest) ? Buffer.concat(rest) : rest
  }

  /** The client's bytes end between two events, so that an event of ours may follow. */
  get boundary(): boolean {
    if (this.translation !== null) return true
    return this.#changes?.atBoundary ?? this.growth?.atBoundary ?? this.meter.atBoundary
  }

  /** The answer is nothing that the protocol knows, or its encoding is unknown or broken. */
  get foreign(): boolean {
    if (this.bytes === 0) return false
    return this.meter.foreign || this.unreadable || (this.decoder?.broken ?? this.encoded)
  }

  /** Nobody is told of the answer any more, which is read on for its usage. */
  mute(): void {
    this.links?.stop()
    const { translation } = this
    this.translation = null // first: what is read elsewhere is called off, and judged without it
    translation?.close()
  }

  /** Nothing of the answer is wanted any more. */
  close(): void {
    this.#room?.fits(0)
    this.decoder?.stop()
    this.links?.stop()
    this.translation?.close()
  }

  /** Output tokens in what came, of a translated answer in what the client was told of it. */
  get counted(): number {
    return this.translation?.counted ?? this.meter.counted
  }

  /** The same, or as many as were reported, if those are more. */
  get produced(): number {
    return this.translation === null ? this.meter.produced : Math.max(this.counted, this.meter.reportedOutput)
  }

  /** The tokens as which an answer counts that cannot be read: by its bytes, or those that were seen before it proved broken. */
  get tokensOfBytes(): number {
    return Math.max(Math.ceil(this.bytes / BYTES_PER_TOKEN), this.meter.produced)
  }

  /** True when the hold covers what was produced so far, so that it may go on to the client. */
  coveredBy(growth: Growth): boolean {
    const { foreign, meter } = this
    const tokens = foreign ? this.tokensOfBytes : this.#believed
    if (meter.onlyContent) return growth.covers(tokens, 0, 0)
    const images = Math.min(meter.images, Math.max(this.#mostImages, meter.seenImages))
    const searches = Math.min(meter.searches, Math.max(this.#mostSearches, meter.seenSearches))
    return growth.covers(tokens, images, searches, meter.tools)
  }

  /**
   * Output tokens so far, with those that the model mostly writes beside what is seen. A report above what the request can have
   * caused takes no money and ends no answer.
   */
  get #believed(): number {
    const { produced, counted } = this.meter
    const most = Math.max(this.mostOutput, counted)
    if (this.#hiddenRatio === SEEN_WHOLLY) return Math.min(produced, most)
    const withHidden = Math.ceil((Math.min(counted, produced) * this.#hiddenRatio) / SEEN_WHOLLY)
    return Math.min(most, Math.max(produced, withHidden))
  }

  /** What has come to its end is an answer, and nothing of interest can follow. */
  get isWhole(): boolean {
    return !this.meter.failed && (this.#terminalIsLast || !this.#asEvents)
  }
}

/** The members are in CNY, and in USD where the config has a rate. */
function costsOf(x: Exchange): CostTold | null {
  const { lastUsage } = protocolRow(x.form as Protocol)
  if (lastUsage === undefined) return null
  const { usdRate } = x.world.config.billing
  return {
    usageOf: lastUsage,
    members() {
      if (x.row === null) return null
      const { charge } = x.row
      const told = { cost: decimal(charge), cost_currency: 'CNY' }
      return usdRate === null ? told : { ...told, cost_usd: decimal(inUsd(charge, usdRate)) }
    },
  }
}

/** The part of `limits.buffered` that is taken for what is held back of an answer. */
class HeldRoom {
  readonly #x: Exchange
  readonly #buffered: Services['buffered']
  #bytes = 0

  constructor(x: Exchange, { buffered }: Services) {
    this.#x = x
    this.#buffered = buffered
  }

  /** Takes room for so many bytes in all, or gives back what is not needed any more. False: there is no room for more. */
  fits(bytes: number): boolean {
    const { id } = (this.#x.entry as KeyEntry).account
    const more = bytes - this.#bytes
    if (more > 0 && !this.#buffered.take(id, this.#bytes, more, this.#x.world.config.limits.bufferedBytes)) return false
    if (more < 0) this.#buffered.give(id, -more)
    this.#bytes = bytes
    return true
  }
}
