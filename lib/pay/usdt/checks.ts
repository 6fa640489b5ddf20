/**
 * Reads final blocks a second time, at least ten minutes after the first and from the other node: nodes answer with too few
 * logs now and then, and say nothing about it.
 */
import { raise } from '../exceptions.ts'
import { storeNow } from '../../operations/deps.ts'
import { type ChainCursor, depositReference, tokenText } from '../../terms/deposits.ts'
import { BALANCES, BALANCES_DONE } from '../health.ts'
import { type Chain, type Reader, type Watched, NodeError } from './chain.ts'
import type { UsdtDeps } from './crediting.ts'

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
      const { added } = await store.chain.addDeposits(
        chainId,
        await this.#reader.dated(missed, byAddress, config.sandbox),
      )
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
          `the transfer of order ${deposit.id} is not among the logs of node ${this.#reader.chain.node}`,
        )
    }
    return toNo
  }

  async #raise(reference: string, transactionId: string | null, detail: string): Promise<void> {
    await raise(this.#deps, { method: 'usdt', kind: 'chain', reference, transactionId, detail })
  }
}

const AT_ONCE = 25
/** Windows of transfers out of the addresses that one round reads. */
const WINDOWS = 20
const CHINA_MS = 8 * 3_600_000

const shown = (wei: bigint): string => `${tokenText(wei)} USDT`

export class BalanceCheck {
  readonly #deps: UsdtDeps
  readonly #reader: Reader
  readonly #watched: Watched

  constructor(deps: UsdtDeps, reader: Reader, watched: Watched) {
    this.#deps = deps
    this.#reader = reader
    this.#watched = watched
  }

  async round(cursor: ChainCursor, stopped: () => boolean): Promise<void> {
    const { store } = this.#deps
    const day = new Date((await storeNow(this.#deps)) + CHINA_MS).toISOString().slice(0, 10)
    const mark = (await store.pay.payMarks()).find(({ method, what }) => method === 'usdt' && what === BALANCES)
    const [markDay, next] = (mark?.value ?? '').split(' ')
    if (markDay === day && next === BALANCES_DONE) return
    await this.#reader.chain.prove()
    const block = await this.#reader.chain.block(cursor.no)
    if (block?.hash !== cursor.hash || !(await this.#sweeps(cursor, stopped))) return
    const after = markDay === day ? Number(next) : -1
    const last = await this.#check(cursor, after)
    await store.pay.setPayMark('usdt', BALANCES, `${day} ${last ?? BALANCES_DONE}`)
  }

  /** Reads what left the addresses. False when more is left to read. */
  async #sweeps({ sweepNo, no: lastNo }: ChainCursor, stopped: () => boolean): Promise<boolean> {
    const { store, config } = this.#deps
    const addresses = [...this.#watched.byAddress.keys()]
    let no = sweepNo
    for (let windows = 0; no < lastNo && windows < WINDOWS && !stopped(); windows++) {
      const { toNo, transfers } = await this.#reader.window(no, lastNo, 'from', addresses)
      await store.chain.recordSweeps(config.chain_id, toNo, transfers)
      no = toNo
    }
    return no === lastNo
  }

  /** Checks some addresses after one; returns the last one, null when there are no more. */
  async #check({ no }: ChainCursor, after: number): Promise<number | null> {
    const { store, config } = this.#deps
    const rows = await store.chain.depositAddresses(config.chain_id, after, AT_ONCE)
    for (const { address, accountId } of rows) {
      const { deposits, sweeps } = await store.chain.addressSums(config.chain_id, address, no)
      const balance = await this.#reader.chain.balance(address, no)
      if (balance === deposits - sweeps) continue
      await raise(this.#deps, {
        method: 'usdt',
        kind: 'chain',
        // the same difference is told once, however many days it stays
        reference: `balance:${address}:${balance - deposits + sweeps}`,
        detail:
          `account ${accountId}: ${address} has ${shown(balance)} at block ${no}, but ${shown(deposits)} of deposits less ` +
          `${shown(sweeps)} that left it`,
      })
    }
    return rows.length === AT_ONCE ? (rows.at(-1)?.number ?? null) : null
  }
}

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
    const { config } = this.#deps
    const day = new Date(await storeNow(this.#deps)).toISOString().slice(0, 10)
    await raise(this.#deps, {
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
