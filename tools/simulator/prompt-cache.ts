/**
 * The prompt cache of the simulated upstream: a bounded number of hashes of prefixes, each with the time at which it is
 * forgotten. A prefix that is known is read; what follows it, up to the last mark, is written.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/base/clock.ts'
import { latest } from '../../lib/base/lru.ts'

/** A piece of a prompt: a tool, a part of the system text or of a message. */
export interface Block {
  text: string
  /** How long a prefix that ends here is to be kept; null = it is not. */
  keep: '5m' | '1h' | null
}

/** Classes of input tokens, which do not overlap. */
export interface InputTokens {
  input: number
  cache_read: number
  cache_write_5m: number
  cache_write_1h: number
}

const PREFIXES = 20_000
const LIFE_MS = { '5m': 300_000, '1h': 3_600_000 }
const BYTES_PER_TOKEN = 4
/**
 * Where requests do not ask for caching: the smallest prefix that is read from the cache, and the steps in which longer
 * ones are.
 */
const UNASKED_LEAST = 1024
const UNASKED_STEP = 128

const tokensIn = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)

export const countTokens = (blocks: readonly Block[]): number =>
  tokensIn(blocks.reduce((sum, block) => sum + Buffer.byteLength(block.text), 0))

export class PromptCache {
  readonly #clock: Clock
  /** The hash of a prefix, and when it is forgotten, in ms of the monotonic clock. */
  readonly #known = latest<string, number>(PREFIXES)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The input of a request that marks what is to be cached: only that is written. */
  asked(model: string, blocks: readonly Block[]): InputTokens {
    const classes = { input: countTokens(blocks), cache_read: 0, cache_write_5m: 0, cache_write_1h: 0 }
    const last = blocks.findLastIndex(block => block.keep !== null)
    const marks = this.#walk(model, blocks.slice(0, last + 1))
    const known = marks.findLast(mark => mark.known)
    let written = (classes.cache_read = known?.tokens ?? 0)
    for (const mark of marks) {
      if (mark.keep === null) continue
      this.#known.set(mark.hash, this.#clock.monotonic() + LIFE_MS[mark.keep])
      if (mark.tokens <= written) continue
      classes[mark.keep === '1h' ? 'cache_write_1h' : 'cache_write_5m'] += mark.tokens - written
      written = mark.tokens
    }
    classes.input -= written
    return classes
  }

  /**
   * The input of a request of a protocol without such marks: every prefix is remembered free of charge, and long ones
   * are read.
   */
  unasked(model: string, blocks: readonly Block[]): InputTokens {
    const total = countTokens(blocks)
    const classes = { input: total, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0 }
    if (total < UNASKED_LEAST) return classes
    const marks = this.#walk(model, blocks)
    const known = marks.findLast(mark => mark.known)?.tokens ?? 0
    if (known >= UNASKED_LEAST) classes.cache_read = known - (known % UNASKED_STEP)
    classes.input -= classes.cache_read
    for (const mark of marks) this.#known.set(mark.hash, this.#clock.monotonic() + LIFE_MS['5m'])
    return classes
  }

  #walk(model: string, blocks: readonly Block[]) {
    const hash = createHash('sha1').update(model)
    const now = this.#clock.monotonic()
    let bytes = 0
    return blocks.map(({ text, keep }) => {
      bytes += Buffer.byteLength(text)
      const digest = hash.update(text).copy().digest('latin1')
      return { hash: digest, tokens: tokensIn(bytes), keep, known: (this.#known.get(digest) ?? 0) > now }
    })
  }
}
