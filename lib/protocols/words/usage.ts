/**
 * What one answer used: every protocol reports it in these words, and it is stored and charged by them.
 */

/**
 * The classes of tokens, which do not overlap; each can have its own price. Cached input is not part of `input`. Tokens
 * of sound (`_audio`) and pictures (`_image`) are not part of the class of text. Reasoning is part of `output`.
 */
export const TOKEN_CLASSES = [
  'input',
  'input_audio',
  'input_image',
  'cache_read',
  'cache_read_audio',
  'cache_read_image',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'output_audio',
  'output_image',
] as const
export type TokenClass = (typeof TOKEN_CLASSES)[number]

/** The largest number of tokens, answers or uses. Larger numbers of a request, and those that cannot be read, are read as this one. */
export const MOST_TOKENS = 1e9

/** The usage of an answer. Each is a whole number from 0 to 10^9. */
export interface Usage extends Record<TokenClass, number> {
  /** Pictures that are charged by the piece. */
  images: number
  /** Web searches that the upstream made. */
  searches: number
  /** Seconds of sound or film, rounded up once for the whole request. */
  seconds: number
  /** Code points of text that was spoken. */
  characters: number
}

export const noUsage = (): Usage => ({
  input: 0,
  input_audio: 0,
  input_image: 0,
  cache_read: 0,
  cache_read_audio: 0,
  cache_read_image: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
  output_audio: 0,
  output_image: 0,
  images: 0,
  searches: 0,
  seconds: 0,
  characters: 0,
})

/** The classes of the prompt, and those of the answer. */
export const OUTPUT_CLASSES = ['output', 'output_audio', 'output_image'] as const satisfies readonly TokenClass[]
export const INPUT_CLASSES: readonly TokenClass[] = TOKEN_CLASSES.filter(
  name => !(OUTPUT_CLASSES as readonly TokenClass[]).includes(name),
)

/** All tokens of input. */
export const inputOf = (usage: Usage): number =>
  usage.input +
  usage.input_audio +
  usage.input_image +
  usage.cache_read +
  usage.cache_read_audio +
  usage.cache_read_image +
  usage.cache_write_5m +
  usage.cache_write_1h

/** All tokens of output. */
export const outputOf = (usage: Usage): number => usage.output + usage.output_audio + usage.output_image

/**
 * The same usage with so many tokens of output. What is more than before is text; what is less is taken off sound first,
 * then pictures, then text.
 */
export function withOutput(usage: Usage, output: number): Usage {
  const now = outputOf(usage)
  if (output >= now) return { ...usage, output: usage.output + output - now }
  const output_audio = Math.max(0, output - usage.output - usage.output_image)
  const output_image = Math.max(0, output - usage.output - output_audio)
  return { ...usage, output: output - output_audio - output_image, output_audio, output_image }
}

/** Names by which the price of tokens may differ, as a request asks for them or an answer reports them; null = not said. */
export interface TierNames {
  service: string | null
  speed: string | null
  /** Place of the computation. */
  geo: string | null
}

export const NO_TIERS: TierNames = { service: null, speed: null, geo: null }

/** Names by which the price of a picture may differ, as a request asks for them or an answer reports them; null = not said. */
export interface PictureKind {
  size: string | null
  quality: string | null
}

export const UNSAID: PictureKind = { size: null, quality: null }

export interface CountedKind extends PictureKind {
  count: number
}

/** Names of charges by the piece. The price is per piece, but per million for characters. */
export const FEES = ['image', 'web_search', 'request', 'second', 'character'] as const
export type Fee = (typeof FEES)[number]

/** Names of charges for tools of the upstream, by the piece; `tools.` has a name of `server-tools.ts` or of the operator behind it. */
export type ToolFee = 'maps' | 'code_execution' | `container.${string}` | `tools.${string}`

const KNOWN_LINES: ReadonlySet<string> = new Set([...TOKEN_CLASSES, ...FEES])
export const isToolFee = (name: string): name is ToolFee => !KNOWN_LINES.has(name)

const PER_MILLION: ReadonlySet<string> = new Set([...TOKEN_CLASSES, 'character'])
/** Tells whether a price is per piece, and not per million. */
export const isByPiece = (name: string): boolean => !PER_MILLION.has(name)

/** A line of a model's price list. */
export type PriceLine = TokenClass | Fee

/** No honest answer has pictures of more kinds. All others count as pictures of which nothing is said. */
const MOST_KINDS = 32

/** Adds up pictures by the size and the quality that an answer reports for them. */
export class PictureKinds {
  readonly list: CountedKind[] = []

  /** Pictures of which nothing is said are left out. */
  add({ size, quality }: PictureKind, count = 1): void {
    if ((size === null && quality === null) || count === 0) return
    const same = this.list.find(kind => kind.size === size && kind.quality === quality)
    if (same !== undefined) same.count += count
    else if (this.list.length < MOST_KINDS) this.list.push({ size, quality, count })
  }
}

const LONGEST_NAME = 64

const nameOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME ? value : null

/** Returns the kind that an answer says. */
export const pictureKind = (size: unknown, quality: unknown): PictureKind => ({
  size: nameOf(size),
  quality: nameOf(quality),
})
