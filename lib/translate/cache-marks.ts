/** Which parts of a request ask for a cache entry, for upstreams that cache where they are told to. */
import type { Ask, CacheLife, TranslationTarget, Tool } from './ask.ts'

const MOST_MARKS = 4

interface Markable {
  cache?: CacheLife
}

/**
 * Which parts of a request ask for a cache entry behind them. They are marked only where the client's own request asks for
 * caching, unless the channel marks on its own. The protocol allows four marks; the last ones are kept, because each of
 * them covers what stands before it.
 */
export class PromptMarks {
  readonly #kept = new Map<Markable, CacheLife>()
  readonly #top: CacheLife | null

  constructor(ask: Ask, target: TranslationTarget) {
    const { tools, system, systemMedia, turns, cache: top } = ask
    this.#top = top
    const all: (Markable & { type: string })[] = [
      ...tools,
      ...system,
      ...systemMedia,
      ...turns.flatMap(({ parts }) => parts),
    ]
    const marked = all.filter(({ type, cache }) => type !== 'freeform' && type !== 'thought' && cache !== undefined)
    for (const part of marked.slice(top === null ? -MOST_MARKS : 1 - MOST_MARKS))
      this.#kept.set(part, part.cache as CacheLife)
    if (target.cacheMarks === 'auto' && this.#kept.size === 0 && top === null) this.#markEnds(ask)
  }

  /** Behind the part that all requests of the conversation have, and behind its end. */
  #markEnds({ tools, system, turns }: Ask): void {
    const stable = system.at(-1) ?? tools.findLast(tool => tool.type === 'function')
    const last = turns.findLast(({ role }) => role === 'user')?.parts.at(-1)
    for (const part of [stable, last]) if (part !== undefined) this.#kept.set(part as Markable, '5m')
  }

  /** How long the entry behind the part shall live; null = none is asked for. */
  of(part: Markable | Tool): CacheLife | null {
    return this.#kept.get(part as Markable) ?? null
  }

  /** The same for the whole prompt, wherever it ends. */
  get top(): CacheLife | null {
    return this.#top
  }

  /** The longest life that is asked for; null = nothing is. */
  get life(): CacheLife | null {
    const lives = [...this.#kept.values(), this.#top]
    return lives.includes('1h') ? '1h' : lives.includes('5m') ? '5m' : null
  }
}
