/**
 * The meter counts an answer. Each protocol makes a meter for each answer. The exchange feeds it all bytes on their way
 * to the client, and reads from it what was used, whether the answer is whole, and where the gateway may write words of
 * its own.
 */

import { fieldsOf, parse } from '../json/text.ts'
import type { Facts } from '../requests/facts.ts'
import type { Pass } from '../words/reports.ts'
import type { UsedTool } from '../words/server-tools.ts'
import { type CountedKind, NO_TIERS, type TierNames, type Usage } from '../words/usage.ts'
import { saysError } from './events.ts'

/**
 * Counts the usage of one answer from its bytes, in the order in which they are relayed. It takes a bounded amount of
 * memory, keeps no text and never throws. What it cannot understand counts as not reported.
 */
export interface Meter {
  /**
   * Takes the next bytes of the upstream (decoded, where the upstream compressed them), and the same bytes as Latin-1.
   * It does not change or keep them.
   */
  feed(chunk: Buffer, text: string): void
  /**
   * No more bytes will come. A last event or line is read that lacks its end. `whole`: by HTTP the answer is complete.
   */
  end(whole: boolean): void
  /**
   * The last usage that the upstream reported, with the pictures and searches that were seen; null = none was reported.
   * Its output is 0 while only the input is known.
   */
  readonly usage: Usage | null
  /** False when the upstream reports usage without its input: `usage` has only what it names of it, such as reads of a cache. */
  readonly namesInput: boolean
  /** The usage of each model, where several took part; together they are `usage`. */
  readonly passes: readonly Pass[]
  /** True when the upstream reported its output, and no content has come since. */
  readonly final: boolean
  /** Output tokens as estimated from the content so far; 0 = no content has come. */
  readonly counted: number
  /**
   * Output tokens so far, as counted or as reported, whichever is more. Pictures that are charged by the piece are not
   * in it.
   */
  readonly produced: number
  /** The same, only as reported. */
  readonly reportedOutput: number
  /** Number of pictures so far that are charged by the piece. */
  readonly images: number
  /** The kinds of these pictures, as far as the answer says size or quality. */
  readonly pictureKinds: readonly CountedKind[]
  /** Number of web searches so far: as reported or as seen in the answer, whichever is more. */
  readonly searches: number
  /** Uses of other tools of the upstream, as far as they are seen or reported; only where `MeterOptions.tools` says so. */
  readonly tools: readonly UsedTool[]
  /** True as long as nothing was seen or reported but content: no picture, no search, no other tool. It is asked at each event. */
  readonly onlyContent: boolean
  /** The pictures and searches that were seen, whatever is reported. */
  readonly seenImages: number
  readonly seenSearches: number
  /** Units of search as which the request counts that was answered, as reported; 0 = none are. */
  readonly units: number
  /** The names of tier, speed and place that the answer reported last. */
  readonly tiers: TierNames
  /** Seconds of sound that are charged, in whole seconds: as reported, else as found out so far. */
  readonly seconds: number
  /** True when the upstream reported them. */
  readonly secondsReported: boolean
  /** True when what came is not an answer of this protocol. */
  readonly foreign: boolean
  /** True when the end was seen: of a stream its terminal event, of a document its last bracket. */
  readonly terminal: boolean
  /** True when the upstream sent an error of its own, as an event or a body. */
  readonly failed: boolean
  /** True when a first event has begun and is not whole, so that nobody can say yet what the answer is. */
  readonly undecided: boolean
  /** True when the error is all that came: nothing of an answer came before it. */
  readonly failedAlone: boolean
  /** True when the answer came to its end before anything failed. A failure after the end changes nothing. */
  readonly concluded: boolean
  /** The word for why the answer ended, at most 64 characters of it, where nobody knows it (`finish-words.ts`); null = all is well. */
  readonly unknownFinish: string | null
  /** True when thoughts were reported, or came in the answer. */
  readonly thinks: boolean
  /** The answer's own id; null = none was seen. */
  readonly answerId: string | null
  /** True when the last byte ended an event, so that the gateway may write here. Documents have no such place. */
  readonly atBoundary: boolean
  /**
   * Where in the last chunk the first byte may be of an event with usage, an error or the end; the chunk's length =
   * nowhere.
   */
  readonly matters: number
  /** True when the last chunk was whole events of a stream that are content alone. */
  readonly isContent: boolean
  /** Returns what a length stop in this stream has to say. */
  lengthStopState(): Partial<LengthStopState>
}

/** The rules of a protocol write down in the meter of a stream or of a document what they see in an answer. */
export interface SeenInAnswer {
  /** Notes a search by its key. `counts` false: the call proved to be no search. */
  search(key: string, counts?: boolean): void
  /** Notes a call of another tool by its key. `counts` false: an error came of it. `container`: in which it ran. */
  call(stem: string, key: string | null, counts?: boolean, container?: string | null): void
  /** The same word as the meter's own `unknownFinish`. */
  unknownFinish: string | null
}

export interface MeterOptions {
  /** True: the answer is an event stream; otherwise it is one document. */
  events: boolean
  /** True: a length stop may become necessary, for which the meter then reads the first event. */
  lengthStop: boolean
  /**
   * The life of cache entries that the request asked for. Cache writes count so where the upstream does not split them.
   */
  cacheTtl: '5m' | '1h'
  /**
   * True: pictures have a price of their own. Otherwise they cost the output tokens that are reported or counted for
   * them.
   */
  pictures?: boolean
  /** True: tokens of input have a price. */
  input?: boolean
  /** True: searches have a price, for which events of streams are read that only tell of searches. */
  searches?: boolean
  /** True: the request names tools that cost by the piece, for which the events are read that tell of calls. */
  tools?: boolean
  /** Output tokens up to which a report is believed. Beyond it the content is counted also where it is reported. Absent: all. */
  mostOutput?: number
  sound?: Pick<Facts, 'characters' | 'uploadS' | 'soundBytesPerS'> | undefined
  /** The content type of the answer. */
  type?: string
  /** The bytes of the whole answer, where its head tells them. */
  bodyBytes?: number | undefined
}

/** The end of a stream says this when the gateway ends it because the maximum length was reached. */
export interface LengthStopState {
  /** Model, id and time of the answer, as its first event told them, else those of the request. */
  model: string
  answerId: string
  createdS: number
  /** Input tokens, those that were read from a cache or written to one included. */
  input: number
  /** The part of them that was read from a cache. */
  cached: number
  output: number
  /** Index of the open content block (messages), when one is open. */
  openBlock: number | null
  /** The client has asked for the usage (chat). */
  tellsUsage: boolean
}

/** An error in the place of an answer is not longer. */
const ERROR_BYTES = 4096

/**
 * The meter of answers that are neither JSON nor events: sound, or plain text. Such an answer has no end of its own. It is
 * whole when as many bytes have come as its head announced, or when the connection says that it is.
 */
export abstract class BytesMeter implements Meter {
  readonly #announced: number
  /** The beginning of what may be an error; null = it is none. */
  #start: string | null = ''
  protected bytes = 0
  terminal = false
  failed = false
  readonly namesInput = true
  readonly passes = []
  readonly pictureKinds = []
  readonly searches = 0
  readonly tools = []
  readonly onlyContent = true
  readonly seenImages = 0
  readonly seenSearches = 0
  readonly units = 0
  readonly tiers = NO_TIERS
  readonly reportedOutput = 0
  readonly images = 0
  readonly secondsReported = false
  readonly foreign = false
  readonly thinks = false
  readonly answerId = null
  readonly unknownFinish = null
  readonly undecided = false
  readonly atBoundary = false
  readonly matters = 0
  readonly isContent = false

  constructor({ bodyBytes = Number.POSITIVE_INFINITY }: Pick<MeterOptions, 'bodyBytes'>) {
    this.#announced = bodyBytes
  }

  feed(chunk: Buffer, text: string): void {
    this.bytes += chunk.length
    this.#lookForError(text)
    this.take(chunk, text)
    this.terminal = this.bytes >= this.#announced
  }

  protected abstract take(chunk: Buffer, text: string): void

  #lookForError(text: string): void {
    if (this.#start === null) return
    this.#start += text
    if (!this.#start.startsWith('{') || this.#start.length > ERROR_BYTES) this.#start = null
    else this.failed = saysError(fieldsOf(parse(this.#start))['error'])
  }

  end(whole: boolean): void {
    this.terminal ||= whole
  }

  abstract readonly usage: Usage | null
  abstract readonly seconds: number
  /** Output tokens of the content so far, as they are estimated. */
  protected abstract readonly content: number

  get counted(): number {
    return this.failed ? 0 : this.content
  }

  get produced(): number {
    return this.counted
  }

  get failedAlone(): boolean {
    return this.failed
  }

  get final(): boolean {
    return this.terminal && this.usage !== null
  }

  get concluded(): boolean {
    return this.terminal && !this.failed
  }

  lengthStopState() {
    return {}
  }
}
