/**
 * The cursor of a chain, and the transfers that are stored with it. A transaction that moves the cursor locks its row first
 * and changes it only from where the caller has read on, so two processes that read one chain cannot both go on.
 */
import type { BlockRef, ChainCursor, NewDeposit, Transfer } from '../../terms/deposits.ts'
import { takesQuote, USDT } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type { Recorded } from '../deposit-store.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { recordAction } from '../base/actions.ts'
import { toCursor, toQuote } from './deposit-rows.ts'
import { depositWorth } from './deposit-worth.ts'
import { payRateAt } from './pay-rates.ts'
import { integer, text } from '../base/text.ts'

export async function chainCursor(driver: Pick<Driver, 'query'>, chainId: number): Promise<ChainCursor | null> {
  const [row] = await driver.query('chainCursor', 'SELECT * FROM chain_cursors WHERE chain_id = ?', [chainId])
  return row === undefined ? null : toCursor(row)
}

export async function takeChain(
  driver: Driver,
  chainId: number,
  holder: string,
  nowMs: number,
  leaseMs: number,
): Promise<boolean> {
  const { ignore } = driver.dialect
  const sql = 'UPDATE chain_leases SET holder = ?, until_ms = ? WHERE chain_id = ? AND (holder = ? OR until_ms <= ?)'
  const take = () => driver.run('takeChain', sql, [holder, nowMs + leaseMs, chainId, holder, nowMs])
  if ((await take()).changes === 1) return true
  await driver.run('takeChain', `INSERT ${ignore} INTO chain_leases (chain_id, holder, until_ms) VALUES (?, '', 0)`, [
    chainId,
  ])
  return (await take()).changes === 1
}

export async function beginChain(
  driver: Driver,
  chainId: number,
  { no, hash }: BlockRef,
  blockAtMs: number,
): Promise<ChainCursor> {
  const { ignore, nowMs } = driver.dialect
  await driver.run(
    'beginChain',
    `INSERT ${ignore} INTO chain_cursors (chain_id, block_no, block_hash, block_at_ms, second_no, second_to_no, ` +
      `second_to_hash, second_at_ms, sweep_no) VALUES (?, ?, ?, ?, ?, ?, ?, ${nowMs}, ?)`,
    [chainId, no, hash, blockAtMs, no, no, hash, no],
  )
  return (await chainCursor(driver, chainId)) as ChainCursor
}

/** The quote that a transfer of this account uses up, by the time of its block. */
async function useQuote(tx: Transaction, { accountId, blockAtMs, value }: NewDeposit) {
  const [row] = await tx.query(
    'SELECT * FROM deposit_quotes WHERE account_id = ? AND used = 0 AND from_ms <= ? AND until_ms > ? ' +
      'ORDER BY id DESC LIMIT 1',
    [accountId, blockAtMs, blockAtMs],
  )
  if (row === undefined) return null
  const quote = toQuote(row)
  if (!takesQuote(quote, value)) return null
  const { changes } = await tx.run(
    'UPDATE deposit_quotes SET used = 1 WHERE id = ? AND used = 0 AND from_ms <= ? AND until_ms > ?',
    [quote.id, blockAtMs, blockAtMs],
  )
  return changes === 1 ? quote : null
}

async function insertDeposit(
  tx: Transaction,
  chainId: number,
  deposit: NewDeposit,
  state: 'final' | 'held',
  nowMs: number,
): Promise<void> {
  const { value, accountId } = deposit
  const quote = await useQuote(tx, deposit)
  const quoted = quote === null ? 0n : quote.wei < value ? quote.wei : value
  const found = quoted === value ? null : await payRateAt(tx, USDT, nowMs)
  const [quotedRate, rate] = [quote?.rate ?? null, found?.rate ?? null]
  await tx.run(
    'INSERT INTO chain_deposits (chain_id, tx, log_index, account_id, address, sender, value, block_no, block_hash, ' +
      'block_at_ms, node, state, quoted, quoted_rate, rate, worth, credited, at_ms, checks) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0)',
    [
      chainId,
      deposit.tx,
      deposit.logIndex,
      accountId,
      deposit.to,
      deposit.from,
      String(value),
      deposit.block.no,
      deposit.block.hash,
      deposit.blockAtMs,
      deposit.node,
      state,
      String(quoted),
      quotedRate,
      rate,
      depositWorth({ value, quoted, quotedRate, rate }),
      nowMs,
    ],
  )
}

/** A transfer that no second node has confirmed stands where it was read last, if it is the same in everything else. */
async function moveDeposit(tx: Transaction, id: number, { block, blockAtMs, node, from, to, value }: NewDeposit) {
  await tx.run(
    'UPDATE chain_deposits SET block_no = ?, block_hash = ?, block_at_ms = ?, node = ? ' +
      "WHERE id = ? AND state = 'final' AND sender = ? AND address = ? AND value = ?",
    [block.no, block.hash, blockAtMs, node, id, from, to, String(value)],
  )
}

/**
 * Inserts what is not there. A transaction stands in one final block. Read in another one, it is not believed once a second
 * node has confirmed any of it where it was; before that, the second node decides which of the two it is.
 */
async function record(
  tx: Transaction,
  driver: Driver,
  chainId: number,
  deposits: readonly NewDeposit[],
): Promise<Recorded> {
  const recorded: Recorded = { added: 0, clashing: [] }
  if (deposits.length === 0) return recorded
  const [clock] = await tx.query(`SELECT ${driver.dialect.nowMs} AS now`, [])
  const nowMs = integer(clock as Row, 'now')
  const ordered = deposits.toSorted((a, b) => a.block.no - b.block.no || a.logIndex - b.logIndex)
  for (const deposit of ordered) {
    const sql = 'SELECT id, log_index, block_hash, state FROM chain_deposits WHERE chain_id = ? AND tx = ?'
    const same = await tx.query(sql, [chainId, deposit.tx])
    const elsewhere = same.filter(row => text(row, 'block_hash') !== deposit.block.hash)
    if (elsewhere.length > 0) recorded.clashing.push(deposit)
    const held = elsewhere.some(row => text(row, 'state') !== 'final')
    const there = same.find(row => integer(row, 'log_index') === deposit.logIndex)
    if (there !== undefined) {
      if (!held && elsewhere.includes(there)) await moveDeposit(tx, integer(there, 'id'), deposit)
      continue
    }
    await insertDeposit(tx, chainId, deposit, held ? 'held' : 'final', nowMs)
    recorded.added++
  }
  return recorded
}

/** Ends a transaction without a trace. */
class Moved extends Error {}

export async function advanceChain(
  driver: Driver,
  chainId: number,
  from: BlockRef,
  to: BlockRef & { atMs: number },
  deposits: readonly NewDeposit[],
): Promise<Recorded | null> {
  try {
    return await driver.transaction('advanceChain', async tx => {
      const { changes } = await tx.run(
        'UPDATE chain_cursors SET block_no = ?, block_hash = ?, block_at_ms = ? ' +
          'WHERE chain_id = ? AND block_no = ? AND block_hash = ?',
        [to.no, to.hash, to.atMs, chainId, from.no, from.hash],
      )
      if (changes === 0) throw new Moved()
      return record(tx, driver, chainId, deposits)
    })
  } catch (error) {
    if (error instanceof Moved) return null
    throw error
  }
}

export const addDeposits = (driver: Driver, chainId: number, deposits: readonly NewDeposit[]): Promise<Recorded> =>
  driver.transaction('addDeposits', async tx => {
    await tx.run('UPDATE chain_cursors SET block_no = block_no WHERE chain_id = ?', [chainId])
    return record(tx, driver, chainId, deposits)
  })

export async function secondRead(driver: Driver, chainId: number, to: BlockRef): Promise<void> {
  const sql =
    `UPDATE chain_cursors SET second_no = ?, second_to_no = block_no, second_to_hash = block_hash, second_at_ms = ${driver.dialect.nowMs} ` +
    'WHERE chain_id = ? AND second_to_no = ? AND second_to_hash = ?'
  await driver.run('secondRead', sql, [to.no, chainId, to.no, to.hash])
}

export function rewindChain(
  driver: Driver,
  chainId: number,
  to: BlockRef & { atMs: number },
  reason: string,
  act: Act,
): Promise<void> {
  return driver.transaction('rewindChain', async tx => {
    await tx.run('UPDATE chain_cursors SET block_no = block_no WHERE chain_id = ?', [chainId])
    const [row] = await tx.query('SELECT * FROM chain_cursors WHERE chain_id = ?', [chainId])
    const before = toCursor(row as Row)
    const second = Math.min(before.secondNo, to.no)
    await tx.run(
      'UPDATE chain_cursors SET block_no = ?, block_hash = ?, block_at_ms = ?, second_no = ?, second_to_no = ?, ' +
        `second_to_hash = ?, second_at_ms = ${driver.dialect.nowMs}, sweep_no = ? WHERE chain_id = ?`,
      [to.no, to.hash, to.atMs, second, to.no, to.hash, Math.min(before.sweepNo, to.no), chainId],
    )
    await recordAction(tx, driver, act, {
      subject: { kind: 'setting', id: `chain:${chainId}` },
      accountId: null,
      before: { block: before.no, hash: before.hash },
      after: { block: to.no, hash: to.hash, reason },
    })
  })
}

export function recordSweeps(
  driver: Driver,
  chainId: number,
  toNo: number,
  sweeps: readonly Transfer[],
): Promise<void> {
  return driver.transaction('recordSweeps', async tx => {
    for (const { tx: hash, logIndex, from, value, block } of sweeps)
      await tx.run(
        `INSERT ${driver.dialect.ignore} INTO chain_sweeps (chain_id, tx, log_index, address, value, block_no) ` +
          'VALUES (?, ?, ?, ?, ?, ?)',
        [chainId, hash, logIndex, from, String(value), block.no],
      )
    await tx.run('UPDATE chain_cursors SET sweep_no = ? WHERE chain_id = ? AND sweep_no < ?', [toNo, chainId, toNo])
  })
}
