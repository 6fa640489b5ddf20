/**
 * Which parts of a request ask for a cache entry behind them. They are marked only where the client's own request asks for
 * caching, unless the channel marks on its own. The protocol allows four marks; the last ones are kept, because each of
 * them covers what stands before it.
 */
import type { Ask, CacheLife } from '../ask.ts'
import type { Source } from '../json/literal.ts'
import type { Target } from '../protocol.ts'

const MOST_MARKS = 4

interface Markable {
  cache?: CacheLife
}

export class Marks {
  readonly #kept = new Map<Markable, CacheLife>()
  readonly #top: CacheLife | null

  constructor(ask: Ask, target: Target) {
    const parts: Markable[] = [...ask.tools, ...ask.system, ...ask.turns.flatMap(turn => turn.parts)].filter(
      part => part.type !== 'freeform' && part.type !== 'thought',
    ) as Markable[]
    this.#top = ask.cache
    const most = MOST_MARKS - (ask.cache === null ? 0 : 1)
    for (const part of parts.filter(({ cache }) => cache !== undefined).slice(-most))
      this.#kept.set(part, part.cache as CacheLife)
    if (target.cacheMarks === 'auto' && this.#kept.size === 0 && this.#top === null) this.#markEnds(ask)
  }

  /** Behind the part that all requests of the conversation have, and behind its end. */
  #markEnds({ tools, system, turns }: Ask): void {
    const stable = system.at(-1) ?? tools.findLast(tool => tool.type === 'function')
    const last = turns.findLast(({ role }) => role === 'user')?.parts.at(-1)
    for (const part of [stable, last]) if (part !== undefined) this.#kept.set(part as Markable, '5m')
  }

  of(part: Markable): Source | undefined {
    const life = this.#kept.get(part)
    return life === undefined ? undefined : markOf(life)
  }

  /** The mark at the top of the body, which follows the end of the conversation. */
  get top(): Source | undefined {
    return this.#top === null ? undefined : markOf(this.#top)
  }

  /** The longest life that is asked for; null = nothing is. */
  get life(): CacheLife | null {
    const lives = [...this.#kept.values(), this.#top]
    return lives.includes('1h') ? '1h' : lives.includes('5m') ? '5m' : null
  }
}

const markOf = (life: CacheLife): Source => (life === '1h' ? '{"type":"ephemeral","ttl":"1h"}' : '{"type":"ephemeral"}')
