/**
 * From an order of a transfer in a final block to the balance: the node that did not report the transfer must say the same of its
 * transaction, for a node alone could print money. That is the proof of the order. Then the paid orders of an account are credited
 * as soon as together they are worth the minimum.
 */
import { createHash } from 'node:crypto'
import type { UsdtConfig } from '../../config/pay-schema.ts'
import { storeNow } from '../../operations/deps.ts'
import { type ChainCursor, type TransferOrder, transferReference, tokenText } from '../../terms/chain.ts'
import type { PayTallies } from '../../terms/tallies.ts'
import { type PayDeps, raise } from '../exceptions.ts'
import { BALANCES, BALANCES_DONE, type PayMarks } from '../health.ts'
import type { Intake } from '../intake.ts'
import { chinaDay } from '../messages.ts'
import type { Payment } from '../method.ts'
import { type Chain, NodeError, type Reader, type Watched } from './chain.ts'

const BATCH = 50
/** Orders that the node is asked about at once. One that does not answer takes ten seconds for each. */
const AT_ONCE = 10
/** With a question every few seconds, a node that is only behind has caught up long before. */
const MANY_CHECKS = 100
/** How often all accounts are looked at that have something waiting: another process may have left one undone, and died. */
const ALL_EVERY_MS = 10 * 60_000
/** Orders that a person decides about, and exceptions, that are looked at when a process begins. */
const MOST_HELD = 1_000

export interface UsdtDeps extends PayDeps {
  intake: Intake
  marks: Pick<PayMarks, 'note'>
  counts: PayTallies
  config: UsdtConfig
}

/** What a second node proves, as a payment of the order that the first one has made. */
export const paymentOf = (order: TransferOrder): Payment => ({
  kind: 'paid',
  orderId: order.id,
  transactionId: order.reference,
  amount: order.asked,
  currency: order.currency,
  merchant: order.to,
  providerId: order.providerId,
  sandbox: order.sandbox,
  paidAtMs: order.blockAtMs,
  digest: createHash('sha256').update(`${order.reference} ${order.block.hash} ${order.value}`).digest('hex'),
})

export class Crediting {
  readonly #deps: UsdtDeps
  readonly #chains: readonly Chain[]
  /** Accounts with something new; null = any may have. */
  #accounts: Set<number> | null = null
  /** When all were looked at last, by a clock that never jumps. */
  #allAt = Number.NEGATIVE_INFINITY

  constructor(deps: UsdtDeps, chains: readonly Chain[]) {
    this.#deps = deps
    this.#chains = chains
  }

  /** Another process may have left anything undone. */
  forget(): void {
    this.#accounts = null
  }

  async round(): Promise<void> {
    const { store, config, clock } = this.#deps
    const known = clock.monotonic() - this.#allAt < ALL_EVERY_MS ? this.#accounts : null
    // Where the store's answer gets lost, any account may have got a rate.
    this.#accounts = null
    if ((await store.chain.fixRates()) === 0) this.#accounts = known
    let failed: unknown = null
    const unconfirmed = await store.chain.unconfirmed(config.chain_id, BATCH)
    while (unconfirmed.length > 0)
      await Promise.all(
        unconfirmed.splice(0, AT_ONCE).map(order =>
          this.#confirm(order).catch(error => {
            failed ??= error
          }),
        ),
      )
    const all = this.#accounts === null
    if (all) await this.#tellOfFailed()
    const accounts = this.#accounts ?? (await store.chain.waitingAccounts(config.chain_id))
    for (const id of accounts) await this.#credit(id)
    this.#accounts = new Set()
    if (all) this.#allAt = clock.monotonic()
    if (failed !== null) throw failed
  }

  /** A process that found a transaction in two blocks may have died before a person was told. */
  async #tellOfFailed(): Promise<void> {
    const { store, config } = this.#deps
    const failed = await store.chain.transferOrders({ state: 'failed', limit: MOST_HELD })
    if (failed.length === 0) return
    const open = await store.pay.exceptions({ method: 'usdt', open: true, limit: MOST_HELD })
    const told = new Set(open.map(({ orderId }) => orderId))
    for (const order of failed)
      if (order.chainId === config.chain_id && !told.has(order.id))
        await this.#raise(order, 'it is held until a person decides', 'held:')
  }

  async #confirm(order: TransferOrder): Promise<void> {
    const { store, intake } = this.#deps
    const other = this.#chains.find(({ node }) => node !== order.node) as Chain
    await other.prove()
    const said = await other.confirms(order)
    if (said === 'same') {
      this.#accounts?.add(order.accountId) // first, because the store's answer may get lost
      await intake.take('usdt', paymentOf(order), 'chain')
      return
    }
    await store.chain.transferChecked(order.id)
    if (said === 'other') await this.#raise(order, `node ${order.node} reports it, and node ${other.node} contradicts`)
    else if (order.checks >= MANY_CHECKS)
      await this.#raise(order, `node ${order.node} reports it, and node ${other.node} does not know it`)
  }

  /** `prefix`: what was said of it before, when it could not be confirmed, may be closed. */
  async #raise({ id: orderId, tx, reference }: TransferOrder, what: string, prefix = ''): Promise<void> {
    await raise(this.#deps, {
      method: 'usdt',
      kind: 'chain',
      reference: prefix + reference,
      orderId,
      transactionId: tx,
      detail: `${what}; it is not credited`,
    })
  }

  /** Credits what an account has waiting, if it is worth the minimum. */
  async #credit(accountId: number): Promise<void> {
    const { store, intake, config } = this.#deps
    const { due, tooLarge } = await store.chain.markDue(config.chain_id, accountId, config.minimum)
    for (const order of tooLarge)
      await this.#raise(order, 'it is worth too much to be credited without a person', 'held:')
    for (const id of due) await intake.credit(id)
  }
}

const AFTER_MS = 10 * 60_000

/** Reads again, now and then, what the scanner has read once. */
class Rereading {
  protected readonly deps: UsdtDeps
  protected readonly reader: Reader
  protected readonly watched: Watched

  constructor(deps: UsdtDeps, reader: Reader, watched: Watched) {
    this.deps = deps
    this.reader = reader
    this.watched = watched
  }
}

export class SecondPass extends Rereading {
  /** False when the node is on another fork, or behind. */
  async round(cursor: ChainCursor, stopped: () => boolean): Promise<boolean> {
    const { store, config } = this.deps
    const { secondNo, secondTo, secondAtMs } = cursor
    if ((await storeNow(this.deps)) - secondAtMs < AFTER_MS) return true
    await this.reader.chain.prove()
    const block = await this.reader.chain.block(secondTo.no)
    if (block === null) return false
    if (block.hash !== secondTo.hash) {
      await this.#raise(
        `fork:${config.chain_id}:${secondTo.no}:${block.hash}`,
        null,
        `block ${secondTo.no} was final as ${secondTo.hash}, and node ${this.reader.chain.node} has ${block.hash} there`,
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
    const { store, config, counts, log } = this.deps
    const { byAddress } = this.watched
    const { chain_id: chainId } = config
    const { toNo, transfers } = await this.reader.window(fromNo, lastNo, 'to', [...byAddress.keys()])
    const known = await store.chain.transferOrdersIn(chainId, fromNo + 1, toNo)
    const stored = new Set(known.map(order => transferReference(chainId, order)))
    const missed = transfers.filter(transfer => !stored.has(transferReference(chainId, transfer)))
    if (missed.length > 0) {
      const { added } = await store.chain.addTransfers(
        chainId,
        await this.reader.dated(missed, byAddress, config.sandbox),
      )
      for (let i = 0; i < added; i++) counts.repaired('usdt', 'chain')
      log.error({ from: fromNo + 1, to: toNo, added }, 'the first reading of the chain missed transfers in USDT')
    }
    const found = new Set(transfers.map(transfer => transferReference(chainId, transfer)))
    for (const order of known) {
      const reference = transferReference(chainId, order)
      if (order.node !== this.reader.chain.node && !found.has(reference))
        await this.#raise(
          `second:${reference}`,
          order.tx,
          `the transfer of order ${order.id} is not among the logs of node ${this.reader.chain.node}`,
        )
    }
    return toNo
  }

  async #raise(reference: string, transactionId: string | null, detail: string): Promise<void> {
    await raise(this.deps, { method: 'usdt', kind: 'chain', reference, transactionId, detail })
  }
}

const READ_AT_ONCE = 25
/** Windows of transfers out of the addresses that one round reads. */
const WINDOWS = 20

const shown = (wei: bigint): string => `${tokenText(wei)} USDT`

export class BalanceCheck extends Rereading {
  async round(cursor: ChainCursor, stopped: () => boolean): Promise<void> {
    const { store } = this.deps
    const day = chinaDay(await storeNow(this.deps))
    const mark = (await store.pay.payMarks()).find(({ method, what }) => method === 'usdt' && what === BALANCES)
    const [markDay, next] = (mark?.value ?? '').split(' ')
    if (markDay === day && next === BALANCES_DONE) return
    await this.reader.chain.prove()
    const block = await this.reader.chain.block(cursor.no)
    if (block?.hash !== cursor.hash || !(await this.#sweeps(cursor, stopped))) return
    const after = markDay === day ? Number(next) : -1
    const last = await this.#check(cursor, after)
    await store.pay.setPayMark('usdt', BALANCES, `${day} ${last ?? BALANCES_DONE}`)
  }

  /** Reads what left the addresses. False when more is left to read. */
  async #sweeps({ sweepNo, no: lastNo }: ChainCursor, stopped: () => boolean): Promise<boolean> {
    const { store, config } = this.deps
    const addresses = [...this.watched.byAddress.keys()]
    let no = sweepNo
    for (let windows = 0; no < lastNo && windows < WINDOWS && !stopped(); windows++) {
      const { toNo, transfers } = await this.reader.window(no, lastNo, 'from', addresses)
      await store.chain.recordSweeps(config.chain_id, toNo, transfers)
      no = toNo
    }
    return no === lastNo
  }

  /** Checks some addresses after one; returns the last one, null when there are no more. */
  async #check({ no }: ChainCursor, after: number): Promise<number | null> {
    const { store, config } = this.deps
    const rows = await store.chain.addresses(config.chain_id, after, READ_AT_ONCE)
    for (const { address, accountId } of rows) {
      const { received, sweeps } = await store.chain.addressSums(config.chain_id, address, no)
      const balance = await this.reader.chain.balance(address, no)
      if (balance === received - sweeps) continue
      await raise(this.deps, {
        method: 'usdt',
        kind: 'chain',
        // the same difference is told once, however many days it stays
        reference: `balance:${address}:${balance - received + sweeps}`,
        detail:
          `account ${accountId}: ${address} has ${shown(balance)} at block ${no}, but ${shown(received)} of orders less ` +
          `${shown(sweeps)} that left it`,
      })
    }
    return rows.length === READ_AT_ONCE ? (rows.at(-1)?.number ?? null) : null
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
