/**
 * The meter counts an answer. Each protocol makes a meter for each answer. The exchange feeds it all bytes on their way
 * to the client, and reads from it what was used, whether the answer is whole, and where the gateway may write words of
 * its own.
 */
import type { Facts } from './facts.ts'
import type { Pass } from './words/reports.ts'
import type { UsedTool } from './words/server-tools.ts'
import type { CountedKind, TierNames, Usage } from './words/usage.ts'

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
  /** What each model used, where several took part; together they are `usage`. */
  readonly passes: readonly Pass[]
  /** Whether the upstream reported its output, and no content has come since. */
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
  /** Of these pictures, those of which the answer says size or quality. */
  readonly pictureKinds: readonly CountedKind[]
  /** Number of web searches so far: as reported or as seen in the answer, whichever is more. */
  readonly searches: number
  /** How often other tools of the upstream were used, as far as is seen or reported; only where `MeterOptions.tools` says so. */
  readonly tools: readonly UsedTool[]
  /** Of the pictures and searches those that were seen, whatever is reported. */
  readonly seenImages: number
  readonly seenSearches: number
  /** Units of search as which the request counts that was answered, as reported; 0 = none are. */
  readonly units: number
  /** The names of tier, speed and place that the answer reported last. */
  readonly tiers: TierNames
  /** Seconds of sound that are charged, in whole seconds: as reported, else as found out so far. */
  readonly seconds: number
  /** Whether the upstream reported them. */
  readonly secondsReported: boolean
  /** Whether what came is not an answer of this protocol. */
  readonly foreign: boolean
  /** Whether the end was seen: of a stream its terminal event, of a document its last bracket. */
  readonly terminal: boolean
  /** Whether the upstream sent an error of its own, as an event or a body. */
  readonly failed: boolean
  /** Whether a first event has begun and is not whole, so that nobody can say yet what the answer is. */
  readonly undecided: boolean
  /** Whether the error is all that came: nothing of an answer came before it. */
  readonly failedAlone: boolean
  /** Whether the answer came to its end before anything failed. A failure after the end changes nothing. */
  readonly concluded: boolean
  /** Whether the answer said why it ended in a word that nobody knows (`finish-words.ts`). */
  readonly unknownFinish: boolean
  /** Whether thoughts were reported, or came in the answer. */
  readonly thinks: boolean
  /** The answer's own id; null = none was seen. */
  readonly answerId: string | null
  /** Whether the last byte ended an event, so that the gateway may write here. Documents have no such place. */
  readonly atBoundary: boolean
  /**
   * Where in the last chunk the first byte may be of an event with usage, an error or the end; the chunk's length =
   * nowhere.
   */
  readonly matters: number
  /** What a length stop in this stream has to say. */
  lengthStopState(): Partial<LengthStopState>
}

export interface MeterOptions {
  /** Whether the answer is an event stream; otherwise it is one document. */
  events: boolean
  /** Whether a length stop may become necessary, for which the meter then reads the first event. */
  lengthStop: boolean
  /**
   * The life of cache entries that the request asked for. Cache writes count so where the upstream does not split them.
   */
  cacheTtl: '5m' | '1h'
  /**
   * Whether pictures have a price of their own. Otherwise they cost the output tokens that are reported or counted for
   * them.
   */
  pictures?: boolean
  /** Whether searches have a price, for which events of streams are read that only tell of searches. */
  searches?: boolean
  /** Whether the request names tools that cost by the piece, for which the events are read that tell of calls. */
  tools?: boolean
  /** Output tokens up to which a report is believed. Beyond it the content is counted also where it is reported. Absent: all. */
  mostOutput?: number
  /** What the request says of sound. */
  sound?: Pick<Facts, 'characters' | 'uploadS' | 'soundBytesPerS'>
  /** The content type of the answer. */
  type?: string
  /** The bytes of the whole answer, where its head tells them. */
  bodyBytes?: number
}

/** What the end of a stream says when the gateway ends it because the maximum length was reached. */
export interface LengthStopState {
  /** Model, id and time of the answer, as its first event told them, else those of the request. */
  model: string
  answerId: string
  createdS: number
  /** Input tokens, those that were read from a cache or written to one included. */
  input: number
  /** Of them, those that were read from a cache. */
  cached: number
  output: number
  /** Index of the open content block (messages), when one is open. */
  openBlock: number | null
}
