/**
 * Reads transfers from a node in windows of blocks and chunks of addresses. Providers bound how many blocks or logs a question
 * may be about, each in its own way and words, so a refused window is halved. Longer ones are tried
 * again, but for an hour none that is as long as what was refused: plans of nodes count refusals too.
 */
import type { Clock } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'
import type { DepositAddress, NewDeposit, Transfer } from '../../terms/deposits.ts'
import { ProviderAway } from '../method.ts'
import type { Chain } from './chain.ts'
import { NodeError } from './rpc.ts'

const MOST_BLOCKS = 1_000
/** Nodes take at most a thousand topics in one place. */
const MOST_ADDRESSES = 500
const PAGE = 1_000

/** For how long a size that the node has refused is not asked for again. */
const REMEMBERED_MS = 60 * 60_000
/** Sizes are tried between the largest that was taken and the smallest that was not until they are as close as a part of this. */
const CLOSE = 8

/** How many blocks a node is asked about at once. */
class WindowSize {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The next window's. */
  blocks = MOST_BLOCKS
  /** The smallest that was refused lately; null = none. */
  #refused: { blocks: number; at: number } | null = null

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  taken(blocks: number): void {
    if (blocks < this.blocks) return // it was the rest of a range, and says nothing of longer ones
    const now = this.#clock.monotonic()
    if (this.#refused !== null && now - this.#refused.at >= REMEMBERED_MS) this.#refused = null
    const bound = this.#refused?.blocks ?? Number.POSITIVE_INFINITY
    const between = Math.floor((blocks + bound) / 2)
    if (bound === Number.POSITIVE_INFINITY) this.blocks = Math.min(MOST_BLOCKS, blocks * 2)
    else if (between - blocks > blocks / CLOSE) this.blocks = between
    else this.blocks = blocks
  }

  /** Without an answer nobody knows whether the window was too long: a shorter one is tried next, and nothing is remembered. */
  failed(blocks: number, isRefused: boolean): void {
    this.blocks = Math.max(1, Math.floor(blocks / 2))
    if (isRefused) this.#refused = { blocks, at: this.#clock.monotonic() }
  }
}

export class Reader {
  readonly chain: Chain
  readonly #size: WindowSize

  constructor(chain: Chain, clock: Pick<Clock, 'monotonic'>) {
    this.chain = chain
    this.#size = new WindowSize(clock)
  }

  /** The transfers after block `fromNo` up to some block, at most `toNo`. Which one, the answer says. */
  async window(
    fromNo: number,
    toNo: number,
    way: 'to' | 'from',
    addresses: readonly string[],
  ): Promise<{ toNo: number; transfers: Transfer[] }> {
    if (addresses.length === 0) return { toNo, transfers: [] }
    for (;;) {
      const last = Math.min(toNo, fromNo + this.#size.blocks)
      const asked = last - fromNo
      try {
        const transfers: Transfer[] = []
        for (let i = 0; i < addresses.length; i += MOST_ADDRESSES) {
          const chunk = new Set(addresses.slice(i, i + MOST_ADDRESSES))
          transfers.push(...(await this.chain.transfers(fromNo + 1, last, way, chunk)))
        }
        this.#size.taken(asked)
        return { toNo: last, transfers }
      } catch (error) {
        const isRefused = error instanceof NodeError && !error.isBusy
        this.#size.failed(asked, isRefused)
        if (!isRefused || asked === 1) throw error
      }
    }
  }

  /** Adds to transfers whose they are, and the times of their blocks. A node that is behind may not have one of the blocks. */
  async dated(transfers: readonly Transfer[], whose: ReadonlyMap<string, DepositAddress>): Promise<NewDeposit[]> {
    const times = new Map<number, number>()
    const deposits: NewDeposit[] = []
    for (const transfer of transfers) {
      const { no, hash } = transfer.block
      if (!times.has(no)) {
        const block = await this.chain.block(no)
        if (block?.hash !== hash)
          throw new ProviderAway(`node ${this.chain.node}: a log of a block that it does not have`)
        times.set(no, block.atMs)
      }
      const { accountId } = whose.get(transfer.to) as DepositAddress
      deposits.push({ ...transfer, accountId, blockAtMs: times.get(no) as number, node: this.chain.node })
    }
    return deposits
  }
}

/** The addresses of a chain, as far as they have been issued. New ones are read from the store as they come. */
export class Watched {
  readonly byAddress = new Map<string, DepositAddress>()
  readonly #store: Store
  readonly #chainId: number
  #last = -1

  constructor(store: Store, chainId: number) {
    this.#store = store
    this.#chainId = chainId
  }

  /** Those for which the chain has not been read from their issue to the cursor. */
  get fresh(): DepositAddress[] {
    return [...this.byAddress.values()].filter(({ watched }) => !watched)
  }

  async load(): Promise<void> {
    for (let more = true; more; ) {
      const page = await this.#store.chain.depositAddresses(this.#chainId, this.#last, PAGE)
      for (const row of page) this.byAddress.set(row.address, row)
      this.#last = page.at(-1)?.number ?? this.#last
      more = page.length === PAGE
    }
  }

  async caughtUp(rows: readonly DepositAddress[]): Promise<void> {
    if (rows.length === 0) return
    await this.#store.chain.addressesWatched(
      this.#chainId,
      rows.map(({ number }) => number),
    )
    for (const row of rows) this.byAddress.set(row.address, { ...row, watched: true })
  }
}
