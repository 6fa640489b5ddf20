/**
 * Reads the chain. Only final blocks count: the cursor goes from one to the next and is moved in the transaction that stores
 * what was found, so a gap is impossible as far as the node tells the truth. Before each step the cursor's block must have the
 * hash at the node that it has here; when it has another one, the chain has forked below what was final, or the node lies,
 * and reading stops until a person has looked at it.
 *
 * One process of all gateways reads a chain at a time.
 */
import { SECOND_MS } from '../../base/clock.ts'
import { raise } from '../exceptions.ts'
import { storeNow } from '../../operations/deps.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import { type ChainCursor, transferReference, idOfText, type NewTransfer } from '../../terms/chain.ts'
import { HEAD } from '../health.ts'
import { ProviderAway, ProviderRefuses } from '../method.ts'
import { BalanceCheck, SecondPass, Silence, Crediting, type UsdtDeps } from './crediting.ts'
import { type Block, type Chain, Reader, Watched, NodeError } from './chain.ts'
import { randomUUID } from 'node:crypto'

const LEASE_MS = 30_000
/** Most transfers that are shown before they are final. */
const MOST_SEEN = 1_000

const isAway = (error: unknown): error is Error => error instanceof ProviderAway || error instanceof NodeError

export class Scanner {
  readonly crediting: Crediting
  readonly watched: Watched
  readonly #deps: UsdtDeps
  readonly #first: Reader
  readonly #second: SecondPass
  readonly #balances: BalanceCheck
  readonly #silence: Silence
  readonly #lags: Lags
  readonly #holder = randomUUID()
  /** What `chain_seen` has, as a text; null = nobody knows. */
  #seen: string | null = null

  constructor(deps: UsdtDeps, chains: readonly [Chain, Chain]) {
    const [first, second] = chains
    this.#deps = deps
    this.#first = new Reader(first, deps.clock)
    this.watched = new Watched(deps.store, deps.config.chain_id)
    this.crediting = new Crediting(deps, chains)
    this.#second = new SecondPass(deps, new Reader(second, deps.clock), this.watched)
    this.#balances = new BalanceCheck(deps, new Reader(second, deps.clock), this.watched)
    this.#silence = new Silence(deps, chains)
    this.#lags = new Lags(deps)
  }

  /** One round. Nodes that are away end it; the next one goes on. */
  async round(stopped: () => boolean): Promise<void> {
    const { log } = this.#deps
    try {
      if (!(await this.#hold())) return this.crediting.forget()
      const cursor = await this.#read(stopped)
      if (cursor === null || stopped()) return
      await this.crediting.round()
      await this.#silence.round(cursor)
      if (await this.#second.round(cursor, stopped)) await this.#balances.round(cursor, stopped)
    } catch (error) {
      if (error instanceof ProviderRefuses) log.error({ reason: error.message }, 'transfers in USDT cannot be read')
      else if (isAway(error)) log.warn({ reason: error.message }, 'a node of the chain cannot be asked')
      else if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  async #hold(): Promise<boolean> {
    const { store, config } = this.#deps
    return store.chain.takeChain(config.chain_id, this.#holder, await storeNow(this.#deps), LEASE_MS)
  }

  /** Reads all that is final. null = it could not be read to its end. */
  async #read(stopped: () => boolean): Promise<ChainCursor | null> {
    const { store, config } = this.#deps
    const { chain } = this.#first
    const known = await store.chain.chainCursor(config.chain_id)
    this.#lags.noteCursor(known, await storeNow(this.#deps))
    await chain.prove()
    const [head, final] = [await chain.block('latest'), await chain.block('finalized')]
    if (head === null) return null
    this.#lags.noteHead(head, final)
    if (final === null) return null
    let cursor = known ?? (await store.chain.beginChain(config.chain_id, final, final.atMs))
    // Addresses are loaded after the final block is known: what is not among them was shown to nobody when that block was made.
    await this.watched.load()
    if (final.no < cursor.no) return null // a node that is behind
    if (!(await this.#stands(cursor, final))) return null
    await this.#catchUp(cursor)
    while (cursor.no < final.no) {
      if (stopped() || !(await this.#hold())) return null
      const next = await this.#step(cursor, final)
      if (next === null) return null
      cursor = next
    }
    // It is for show: found are credited without it.
    await this.#look(final, head).catch(error => {
      if (!isAway(error)) throw error
      this.#deps.log.warn({ reason: error.message }, 'blocks that are not final cannot be read')
    })
    return cursor
  }

  /** Whether the node has the cursor's block. */
  async #stands(cursor: ChainCursor, final: Block): Promise<boolean> {
    const { config } = this.#deps
    const block = final.no === cursor.no ? final : await this.#first.chain.block(cursor.no)
    if (block === null || block.hash === cursor.hash) return block !== null
    await raise(this.#deps, {
      method: 'usdt',
      kind: 'chain',
      reference: `fork:${config.chain_id}:${cursor.no}:${block.hash}`,
      detail:
        `block ${cursor.no} was final as ${cursor.hash}, and node ${this.#first.chain.node} has ${block.hash} there now: ` +
        'nothing is read or credited until it agrees, or the cursor is set back',
    })
    return false
  }

  /** Addresses that were issued before the cursor came to where it is. */
  async #catchUp(cursor: ChainCursor): Promise<void> {
    const { store, config } = this.#deps
    const { fresh, byAddress } = this.watched
    const late = fresh.filter(({ fromBlock }) => fromBlock < cursor.no)
    const addresses = late.map(({ address }) => address)
    for (let no = Math.min(...late.map(({ fromBlock }) => fromBlock)); no < cursor.no; ) {
      const { toNo, transfers } = await this.#first.window(no, cursor.no, 'to', addresses)
      const found = await this.#first.dated(transfers, byAddress, config.sandbox)
      if (found.length > 0) {
        const recorded = await store.chain.addTransfers(config.chain_id, found)
        await this.#clashes(recorded.clashing as NewTransfer[])
      }
      no = toNo
    }
    await this.watched.caughtUp(fresh)
  }

  /** One window. null = the node does not have its last block, or another process has moved the cursor. */
  async #step(cursor: ChainCursor, final: Block): Promise<ChainCursor | null> {
    const { store, config } = this.#deps
    const { byAddress } = this.watched
    const { toNo, transfers } = await this.#first.window(cursor.no, final.no, 'to', [...byAddress.keys()])
    const to = toNo === final.no ? final : await this.#first.chain.block(toNo)
    if (to === null) return null
    const found = await this.#first.dated(transfers, byAddress, config.sandbox)
    const recorded = await store.chain.advanceChain(config.chain_id, cursor, to, found)
    if (recorded === null) return null
    await this.#clashes(recorded.clashing as NewTransfer[])
    this.#deps.counts.chain.cursor_lag_seconds = Math.max(0, ((await storeNow(this.#deps)) - to.atMs) / SECOND_MS)
    return { ...cursor, no: to.no, hash: to.hash, blockAtMs: to.atMs }
  }

  async #clashes(found: readonly NewTransfer[]): Promise<void> {
    const { config } = this.#deps
    for (const transfer of found) {
      const { tx, block } = transfer
      await raise(this.#deps, {
        method: 'usdt',
        kind: 'chain',
        reference: `moved:${config.chain_id}:${tx}`,
        orderId: idOfText('T', transferReference(config.chain_id, transfer)),
        transactionId: tx,
        detail: `a transaction that was final in another block stands in block ${block.no} ${block.hash} now`,
      })
    }
  }

  /** What is not final yet is shown, and nothing more. */
  async #look(final: Block, head: Block): Promise<void> {
    const { store, config } = this.#deps
    const { byAddress } = this.watched
    const seen = []
    for (let no = final.no; no < head.no; ) {
      const { toNo, transfers } = await this.#first.window(no, head.no, 'to', [...byAddress.keys()])
      for (const transfer of transfers)
        seen.push({ ...transfer, accountId: (byAddress.get(transfer.to) as { accountId: number }).accountId })
      no = toNo
    }
    const text = JSON.stringify(seen.map(({ tx, logIndex }) => [tx, logIndex]))
    if (text === this.#seen) return
    await store.chain.setSeen(config.chain_id, seen.slice(0, MOST_SEEN))
    this.#seen = text
  }
}

/** More blocks than the votes of all but a few validators may take; it is about two minutes. */
const MOST_LAG_BLOCKS = 240
const FINALITY_MS = 120_000
const MOST_LAG_MS = 60_000

class Lags {
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
    this.#say('cursor', lagMs > MOST_LAG_MS, 'the chain is read with a delay: payments in USDT wait')
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
    this.#say('finality', stalled, 'the chain makes blocks that do not become final: payments in USDT wait')
  }

  #say(what: string, is: boolean, message: string): void {
    if (!is) this.#said.delete(what)
    else if (!this.#said.has(what)) {
      this.#said.add(what)
      this.#deps.log.error({ ...this.#deps.counts.chain }, message)
    }
  }
}
