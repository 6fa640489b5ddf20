/** How far the nodes and our reading are behind, for the metrics, and for the log when it is too far for too long. */
import type { ChainCursor } from '../../terms/deposits.ts'
import { HEAD } from '../marks.ts'
import type { Block } from './chain.ts'
import type { UsdtDeps } from './deps.ts'

const SECOND_MS = 1_000
/** More blocks than the votes of all but a few validators may take; it is about two minutes. */
const MOST_LAG_BLOCKS = 240
const FINALITY_MS = 120_000
const MOST_LAG_MS = 60_000

export class Lags {
  readonly #deps: UsdtDeps
  /** Since when finality has been behind; null = it is not. */
  #stalledAt: number | null = null
  /** What has been said, so that it is said once. */
  readonly #said = new Set<string>()

  constructor(deps: UsdtDeps) {
    this.#deps = deps
  }

  /** How old what has been read is. It is told before a node is asked, because none may answer. */
  noteCursor(cursor: ChainCursor | null, nowMs: number): void {
    const lagMs = cursor === null ? 0 : Math.max(0, nowMs - cursor.blockAtMs)
    this.#deps.counts.chain.cursor_lag_seconds = lagMs / SECOND_MS
    this.#say('cursor', lagMs > MOST_LAG_MS, 'the chain is read with a delay: deposits wait')
  }

  noteHead(head: Block, final: Block | null): void {
    const { counts, clock } = this.#deps
    const behind = head.no - (final?.no ?? 0)
    counts.chain.head_block = head.no
    counts.chain.finalized_lag_blocks = behind
    void this.#deps.marks.note('usdt', HEAD, `${head.no} ${behind}`)
    const now = clock.monotonic()
    this.#stalledAt = behind > MOST_LAG_BLOCKS ? (this.#stalledAt ?? now) : null
    const stalled = this.#stalledAt !== null && now - this.#stalledAt >= FINALITY_MS
    this.#say('finality', stalled, 'the chain makes blocks that do not become final: deposits wait')
  }

  #say(what: string, is: boolean, message: string): void {
    if (!is) this.#said.delete(what)
    else if (!this.#said.has(what)) {
      this.#said.add(what)
      this.#deps.log.error({ ...this.#deps.counts.chain }, message)
    }
  }
}
