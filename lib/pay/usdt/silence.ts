/**
 * A node that leaves out all logs, and says nothing about it, looks like a chain on which nobody pays. So every ten minutes each
 * node is asked for any transfer of the token at all: on the real chain every block has many. Test networks may have none.
 */
import { storeNow } from '../../operations/deps.ts'
import type { ChainCursor } from '../../terms/deposits.ts'
import type { Chain } from './chain.ts'
import type { UsdtDeps } from './deps.ts'
import { NodeError } from './rpc.ts'

const EVERY_MS = 10 * 60_000
/** About ten seconds of the chain; they are asked for when the newest one has none. */
const BLOCKS = 20

export class Silence {
  readonly #deps: UsdtDeps
  readonly #chains: readonly Chain[]
  /** By a clock that never jumps; null = never. */
  #asked: number | null = null

  constructor(deps: UsdtDeps, chains: readonly Chain[]) {
    this.#deps = deps
    this.#chains = chains
  }

  async round({ no }: Pick<ChainCursor, 'no'>): Promise<void> {
    const { clock, config } = this.#deps
    const now = clock.monotonic()
    if (config.sandbox || (this.#asked !== null && now - this.#asked < EVERY_MS)) return
    this.#asked = now
    for (const chain of this.#chains) if (await isSilent(chain, no)) await this.#raise(chain.node, no)
  }

  async #raise(node: number, no: number): Promise<void> {
    const { till, config } = this.#deps
    const day = new Date(await storeNow(this.#deps)).toISOString().slice(0, 10)
    await till.raise({
      method: 'usdt',
      kind: 'chain',
      reference: `silent:${config.chain_id}:${node}:${day}`,
      detail: `node ${node} has no transfer of the token in the ${BLOCKS} blocks up to ${no}: it leaves logs out`,
    })
  }
}

/** A node that refuses so wide a question is not silent. */
async function isSilent(chain: Chain, no: number): Promise<boolean> {
  try {
    return !(await chain.hasTransfers(no, no)) && !(await chain.hasTransfers(Math.max(0, no - BLOCKS + 1), no))
  } catch (error) {
    if (error instanceof NodeError) return false
    throw error
  }
}
