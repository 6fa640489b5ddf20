/** The store's methods for deposits on a chain, put together from the files beside this one. */
import type { Micro } from '../../base/money.ts'
import type { BlockRef, Deposit, DepositState, NewDeposit, Transfer } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type {
  ChainStore,
  DepositFilter,
  DepositRefundEnd,
  NewAddress,
  NewDepositRefund,
  NewQuote,
  Seen,
} from '../deposit-store.ts'
import type { Driver, Param, Row } from '../base/driver.ts'
import * as cursor from './chain-cursor.ts'
import * as addresses from './deposit-addresses.ts'
import { resolveDeposit } from './deposit-decisions.ts'
import { creditDeposits } from './deposit-money.ts'
import { fixRates } from './deposit-rates.ts'
import * as refunds from './deposit-refunds.ts'
import { toDeposit } from './deposit-rows.ts'
import { big, integer, marks, money, padded, text } from '../base/text.ts'

/** Shown of one deposit. */
const MOST_REFUNDS = 1_000

export class Deposits implements ChainStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  depositAddress = (chainId: number, wallet: string, accountId: number) =>
    addresses.depositAddress(this.#driver, chainId, wallet, accountId)
  issueAddress = (address: NewAddress, derive: (number: number) => string, act: Act) =>
    addresses.issueAddress(this.#driver, address, derive, act)
  depositAddresses = (chainId: number, afterNumber: number, limit: number) =>
    addresses.depositAddresses(this.#driver, chainId, afterNumber, limit)
  addressCount = (chainId: number) => addresses.addressCount(this.#driver, chainId)
  addressesWatched = (chainId: number, numbers: readonly number[]) =>
    addresses.addressesWatched(this.#driver, chainId, numbers)
  makeQuote = (quote: NewQuote, anHour: number, act: Act) => addresses.makeQuote(this.#driver, quote, anHour, act)
  quote = (accountId: number) => addresses.newestQuote(this.#driver, accountId)

  takeChain = (chainId: number, holder: string, nowMs: number, leaseMs: number) =>
    cursor.takeChain(this.#driver, chainId, holder, nowMs, leaseMs)
  chainCursor = (chainId: number) => cursor.chainCursor(this.#driver, chainId)
  beginChain = (chainId: number, block: BlockRef, blockAtMs: number) =>
    cursor.beginChain(this.#driver, chainId, block, blockAtMs)
  advanceChain = (chainId: number, from: BlockRef, to: BlockRef & { atMs: number }, deposits: readonly NewDeposit[]) =>
    cursor.advanceChain(this.#driver, chainId, from, to, deposits)
  addDeposits = (chainId: number, deposits: readonly NewDeposit[]) =>
    cursor.addDeposits(this.#driver, chainId, deposits)
  secondRead = (chainId: number, to: BlockRef) => cursor.secondRead(this.#driver, chainId, to)
  rewindChain = (chainId: number, to: BlockRef & { atMs: number }, reason: string, act: Act) =>
    cursor.rewindChain(this.#driver, chainId, to, reason, act)
  recordSweeps = (chainId: number, toNo: number, sweeps: readonly Transfer[]) =>
    cursor.recordSweeps(this.#driver, chainId, toNo, sweeps)

  /**
   * Sums of texts are no work for an engine's numbers, so they are made here. A transaction stands in one block: of one that was
   * read in two, what was read last counts.
   */
  async addressSums(chainId: number, address: string, toNo: number) {
    const rows = (table: string, columns: string, order: string) =>
      this.#driver.query(
        'addressSums',
        `SELECT ${columns} FROM ${table} WHERE chain_id = ? AND address = ? AND block_no <= ?${order}`,
        [chainId, address, toNo],
      )
    const deposits = await rows('chain_deposits', 'tx, block_hash, value', ' ORDER BY id')
    const blocks = new Map(deposits.map(row => [text(row, 'tx'), text(row, 'block_hash')]))
    const standing = deposits.filter(row => blocks.get(text(row, 'tx')) === text(row, 'block_hash'))
    const total = (some: readonly Row[]) => some.reduce((sum, row) => sum + big(row, 'value'), 0n)
    return { deposits: total(standing), sweeps: total(await rows('chain_sweeps', 'value', '')) }
  }

  setSeen(chainId: number, seen: readonly Seen[]): Promise<void> {
    return this.#driver.transaction('setSeen', async tx => {
      await tx.run('DELETE FROM chain_seen WHERE chain_id = ?', [chainId])
      for (const { tx: hash, logIndex, accountId, value, block } of seen)
        await tx.run(
          'INSERT INTO chain_seen (chain_id, tx, log_index, account_id, value, block_no) VALUES (?, ?, ?, ?, ?, ?)',
          [chainId, hash, logIndex, accountId, String(value), block.no],
        )
    })
  }

  async seen(chainId: number, accountId: number) {
    const sql = 'SELECT * FROM chain_seen WHERE account_id = ? AND chain_id = ? ORDER BY block_no, log_index'
    return (await this.#driver.query('seen', sql, [accountId, chainId])).map(row => ({
      tx: text(row, 'tx'),
      logIndex: integer(row, 'log_index'),
      value: big(row, 'value'),
    }))
  }

  async deposit(id: number): Promise<Deposit | null> {
    const [row] = await this.#driver.query('deposit', 'SELECT * FROM chain_deposits WHERE id = ?', [id])
    return row === undefined ? null : toDeposit(row)
  }

  async deposits({ accountId, address, state, beforeId, afterId, limit }: DepositFilter): Promise<Deposit[]> {
    const conditions: [string, Param | undefined][] = [
      ['account_id = ?', accountId],
      ['address = ?', address],
      ['state = ?', state],
      ['id < ?', beforeId],
      ['id > ?', afterId],
    ]
    const used = conditions.filter((condition): condition is [string, Param] => condition[1] !== undefined)
    const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')} `
    const sql = `SELECT * FROM chain_deposits ${where}ORDER BY id ${afterId === undefined ? 'DESC' : 'ASC'} LIMIT ?`
    return (await this.#driver.query('deposits', sql, [...used.map(([, value]) => value), limit])).map(toDeposit)
  }

  async depositTotals(chainId: number) {
    const sql =
      'SELECT state, COUNT(*) AS n, SUM(credited) AS credited FROM chain_deposits WHERE chain_id = ? GROUP BY state ORDER BY state'
    return (await this.#driver.query('depositTotals', sql, [chainId])).map(row => ({
      state: text(row, 'state') as DepositState,
      count: integer(row, 'n'),
      credited: money(row, 'credited'),
    }))
  }

  async depositsIn(chainId: number, fromNo: number, toNo: number): Promise<Deposit[]> {
    const sql = 'SELECT * FROM chain_deposits WHERE chain_id = ? AND block_no >= ? AND block_no <= ? ORDER BY id'
    return (await this.#driver.query('depositsIn', sql, [chainId, fromNo, toNo])).map(toDeposit)
  }

  /** Which they are is found without their other columns: engines sort long texts on the disk. */
  async unconfirmed(chainId: number, limit: number): Promise<Deposit[]> {
    const turns =
      'SELECT id, checks, ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY checks, id) AS turn FROM chain_deposits ' +
      "WHERE state = 'final' AND chain_id = ?"
    const sql = `SELECT id FROM (${turns}) t ORDER BY turn, checks, id LIMIT ?`
    const ids = (await this.#driver.query('unconfirmed', sql, [chainId, limit])).map(row => integer(row, 'id'))
    if (ids.length === 0) return []
    const some = padded(ids)
    const rows = `SELECT * FROM chain_deposits WHERE id IN (${marks(some.length)})`
    const found = (await this.#driver.query('unconfirmed', rows, some)).map(toDeposit)
    return found.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  }

  async confirmDeposit(id: number): Promise<void> {
    const sql = "UPDATE chain_deposits SET state = 'confirmed' WHERE id = ? AND state = 'final'"
    await this.#driver.run('confirmDeposit', sql, [id])
  }

  async depositChecked(id: number): Promise<void> {
    await this.#driver.run('depositChecked', 'UPDATE chain_deposits SET checks = checks + 1 WHERE id = ?', [id])
  }

  async waitingAccounts(chainId: number): Promise<number[]> {
    const sql = "SELECT DISTINCT account_id FROM chain_deposits WHERE state IN ('confirmed', 'due') AND chain_id = ?"
    return (await this.#driver.query('waitingAccounts', sql, [chainId])).map(row => integer(row, 'account_id'))
  }

  fixRates = () => fixRates(this.#driver)
  creditDeposits = (chainId: number, accountId: number, minimum: Micro, act: Act, reason?: string) =>
    creditDeposits(this.#driver, chainId, accountId, minimum, act, reason)
  resolveDeposit = (id: number, credit: boolean, reason: string, act: Act) =>
    resolveDeposit(this.#driver, id, credit, reason, act)

  freezeDeposit = (refund: NewDepositRefund, forced: boolean, act: Act) =>
    refunds.freezeDeposit(this.#driver, refund, forced, act)
  endDepositRefund = (id: string, end: DepositRefundEnd, act: Act) =>
    refunds.endDepositRefund(this.#driver, id, end, act)
  depositRefund = async (id: string) => (await refunds.depositRefunds(this.#driver, 'id = ?', id, 1))[0] ?? null
  depositRefunds = (depositId: number) =>
    refunds.depositRefunds(this.#driver, 'deposit_id = ?', depositId, MOST_REFUNDS)
  depositsBack = (ids: readonly number[]) => refunds.depositsBack(this.#driver, ids)
  frozenDepositRefunds = (limit: number) => refunds.depositRefunds(this.#driver, 'state = ?', 'frozen', limit)
  depositRefundable = (id: number) => refunds.depositRefundable(this.#driver, id)
}
