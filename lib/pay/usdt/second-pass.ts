/**
 * Reads final blocks a second time, at least ten minutes after the first and from the other node: nodes answer with too few
 * logs now and then, and say nothing about it.
 */
import { storeNow } from '../../operations/deps.ts'
import { type ChainCursor, depositReference } from '../../terms/deposits.ts'
import type { UsdtDeps } from './deps.ts'
import type { Reader, Watched } from './reading.ts'

const AFTER_MS = 10 * 60_000

export class SecondPass {
  readonly #deps: UsdtDeps
  readonly #reader: Reader
  readonly #watched: Watched

  constructor(deps: UsdtDeps, reader: Reader, watched: Watched) {
    this.#deps = deps
    this.#reader = reader
    this.#watched = watched
  }

  /** False when the node is on another fork, or behind. */
  async round(cursor: ChainCursor, stopped: () => boolean): Promise<boolean> {
    const { store, config } = this.#deps
    const { secondNo, secondTo, secondAtMs } = cursor
    if ((await storeNow(this.#deps)) - secondAtMs < AFTER_MS) return true
    await this.#reader.chain.prove()
    const block = await this.#reader.chain.block(secondTo.no)
    if (block === null) return false
    if (block.hash !== secondTo.hash) {
      await this.#raise(
        `fork:${config.chain_id}:${secondTo.no}:${block.hash}`,
        null,
        `block ${secondTo.no} was final as ${secondTo.hash}, and node ${this.#reader.chain.node} has ${block.hash} there`,
      )
      return false
    }
    for (let no = secondNo; no < secondTo.no; ) {
      if (stopped()) return false
      no = await this.#compare(no, secondTo.no)
    }
    await store.chain.secondRead(config.chain_id, secondTo)
    return true
  }

  async #compare(fromNo: number, lastNo: number): Promise<number> {
    const { store, config, counts, log } = this.#deps
    const { byAddress } = this.#watched
    const { chain_id: chainId } = config
    const { toNo, transfers } = await this.#reader.window(fromNo, lastNo, 'to', [...byAddress.keys()])
    const known = await store.chain.depositsIn(chainId, fromNo + 1, toNo)
    const stored = new Set(known.map(deposit => depositReference(chainId, deposit)))
    const missed = transfers.filter(transfer => !stored.has(depositReference(chainId, transfer)))
    if (missed.length > 0) {
      const { added } = await store.chain.addDeposits(chainId, await this.#reader.dated(missed, byAddress))
      for (let i = 0; i < added; i++) counts.repaired('usdt', 'chain')
      log.error({ from: fromNo + 1, to: toNo, added }, 'the first reading of the chain missed deposits')
    }
    const found = new Set(transfers.map(transfer => depositReference(chainId, transfer)))
    for (const deposit of known) {
      const reference = depositReference(chainId, deposit)
      if (deposit.node !== this.#reader.chain.node && !found.has(reference))
        await this.#raise(
          `second:${reference}`,
          deposit.tx,
          `deposit ${deposit.id} is not among the logs of node ${this.#reader.chain.node}`,
        )
    }
    return toNo
  }

  async #raise(reference: string, transactionId: string | null, detail: string): Promise<void> {
    await this.#deps.till.raise({ method: 'usdt', kind: 'chain', reference, transactionId, detail })
  }
}
