/**
 * Once a day the tokens at each address must be the sum of its deposits less what was swept, whatever the lists of logs said.
 * A round checks some addresses, all at one block that has just become final, because nodes keep older states for a minute only.
 */
import { storeNow } from '../../operations/deps.ts'
import { type ChainCursor, tokenText } from '../../terms/deposits.ts'
import { BALANCES, BALANCES_DONE } from '../marks.ts'
import type { UsdtDeps } from './deps.ts'
import type { Reader, Watched } from './reading.ts'

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
    const { store, config, till } = this.#deps
    const rows = await store.chain.depositAddresses(config.chain_id, after, AT_ONCE)
    for (const { address, accountId } of rows) {
      const { deposits, sweeps } = await store.chain.addressSums(config.chain_id, address, no)
      const balance = await this.#reader.chain.balance(address, no)
      if (balance === deposits - sweeps) continue
      await till.raise({
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
