/**
 * What is stored of a chain itself: whose addresses are watched, how far the chain has been read, and what
 * left the addresses. A transaction that moves the cursor locks its row first and changes it only from where the caller has read
 * on, so two processes that read one chain cannot both go on.
 */
import type { Act } from '../../base/people.ts'
import type { BlockRef, ChainCursor, ChainAddress, NewTransfer, Transfer } from '../../terms/chain.ts'
import type { NewAddress, Recorded, SeenPayment } from './types.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { recordAction } from '../base/actions.ts'
import { recordTransfers } from './transfers.ts'
import { big, chunks, integer, binds, text } from '../base/text.ts'

const toAddress = (row: Row): ChainAddress => ({
  chainId: integer(row, 'chain_id'),
  number: integer(row, 'number'),
  wallet: text(row, 'wallet'),
  accountId: integer(row, 'account_id'),
  address: text(row, 'address'),
  fromBlock: integer(row, 'from_block'),
  watched: integer(row, 'watched') === 1,
  atMs: integer(row, 'at_ms'),
})

const toCursor = (row: Row): ChainCursor => ({
  chainId: integer(row, 'chain_id'),
  no: integer(row, 'block_no'),
  hash: text(row, 'block_hash'),
  blockAtMs: integer(row, 'block_at_ms'),
  secondNo: integer(row, 'second_no'),
  secondTo: { no: integer(row, 'second_to_no'), hash: text(row, 'second_to_hash') },
  secondAtMs: integer(row, 'second_at_ms'),
  sweepNo: integer(row, 'sweep_no'),
})

const OF_ACCOUNT = 'SELECT * FROM chain_addresses WHERE chain_id = ? AND wallet = ? AND account_id = ?'

/** The address of an account in a wallet; null = none has been issued. */
export async function chainAddress(
  driver: Pick<Driver, 'query'>,
  chainId: number,
  wallet: string,
  accountId: number,
): Promise<ChainAddress | null> {
  const [row] = await driver.query('chainAddress', OF_ACCOUNT, [chainId, wallet, accountId])
  return row === undefined ? null : toAddress(row)
}

async function issue(
  tx: Transaction,
  driver: Driver,
  { chainId, wallet, accountId, fromBlock }: NewAddress,
  derive: (number: number) => string,
  act: Act,
): Promise<ChainAddress> {
  const { ignore, nowMs } = driver.dialect
  const count = () => tx.run('UPDATE chain_counters SET issued = issued + 1 WHERE chain_id = ?', [chainId])
  if ((await count()).changes === 0) {
    await tx.run(`INSERT ${ignore} INTO chain_counters (chain_id, issued) VALUES (?, 0)`, [chainId])
    await count()
  }
  // The counter's row is locked now: whoever asks for the same account at the same time finds the address here.
  const [there] = await tx.query(OF_ACCOUNT, [chainId, wallet, accountId])
  if (there !== undefined) {
    await tx.run('UPDATE chain_counters SET issued = issued - 1 WHERE chain_id = ?', [chainId])
    return toAddress(there)
  }
  const [counter] = await tx.query('SELECT issued FROM chain_counters WHERE chain_id = ?', [chainId])
  const number = integer(counter as Row, 'issued') - 1
  const address = derive(number)
  await tx.run(
    'INSERT INTO chain_addresses (chain_id, number, wallet, account_id, address, from_block, watched, at_ms) ' +
      `VALUES (?, ?, ?, ?, ?, ?, 0, ${nowMs})`,
    [chainId, number, wallet, accountId, address, fromBlock],
  )
  const subject = { kind: 'deposit', id: address } as const
  await recordAction(tx, driver, act, { subject, accountId, before: null, after: { chain: chainId, number } })
  const [row] = await tx.query(OF_ACCOUNT, [chainId, wallet, accountId])
  return toAddress(row as Row)
}

/**
 * Issues the address of an account, or returns the one that it has. The number comes from a counter that stays locked to the
 * end of the transaction, so addresses become visible in the order of their numbers. `derive`: number → address.
 */
export const issueAddress = (
  driver: Driver,
  address: NewAddress,
  derive: (number: number) => string,
  act: Act,
): Promise<ChainAddress> => driver.transaction('issueAddress', tx => issue(tx, driver, address, derive, act))

/** Addresses in the order of their numbers, after one of them. */
export async function addresses(
  driver: Driver,
  chainId: number,
  afterNumber: number,
  limit: number,
): Promise<ChainAddress[]> {
  const sql = 'SELECT * FROM chain_addresses WHERE chain_id = ? AND number > ? ORDER BY number LIMIT ?'
  return (await driver.query('addresses', sql, [chainId, afterNumber, limit])).map(toAddress)
}

export async function addressCount(driver: Driver, chainId: number): Promise<number> {
  const sql = 'SELECT COUNT(*) AS n FROM chain_addresses WHERE chain_id = ?'
  const [row] = await driver.query('addressCount', sql, [chainId])
  return integer(row as Row, 'n')
}

/** The chain has been read for addresses from their `fromBlock` to the cursor. */
export async function addressesWatched(driver: Driver, chainId: number, numbers: readonly number[]): Promise<void> {
  for (const some of chunks(numbers))
    await driver.run(
      'addressesWatched',
      `UPDATE chain_addresses SET watched = 1 WHERE chain_id = ? AND number IN (${binds(some.length)})`,
      [chainId, ...some],
    )
}

export async function chainCursor(driver: Pick<Driver, 'query'>, chainId: number): Promise<ChainCursor | null> {
  const [row] = await driver.query('chainCursor', 'SELECT * FROM chain_cursors WHERE chain_id = ?', [chainId])
  return row === undefined ? null : toCursor(row)
}

/** Makes `holder` the one process that reads the chain, until it does not renew that. False = another process reads it. */
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

/** Begins to read a chain after a block, unless it was begun. */
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

/** Ends a transaction without a trace. */
class Moved extends Error {}

/**
 * Stores the transfers of the blocks after `from` up to `to`, and moves the cursor there. null = the cursor is not at
 * `from`: another process reads the chain, and nothing was stored.
 */
export async function advanceChain(
  driver: Driver,
  chainId: number,
  from: BlockRef,
  to: BlockRef & { atMs: number },
  transfers: readonly NewTransfer[],
): Promise<Recorded | null> {
  try {
    return await driver.transaction('advanceChain', async tx => {
      const { changes } = await tx.run(
        'UPDATE chain_cursors SET block_no = ?, block_hash = ?, block_at_ms = ? ' +
          'WHERE chain_id = ? AND block_no = ? AND block_hash = ?',
        [to.no, to.hash, to.atMs, chainId, from.no, from.hash],
      )
      if (changes === 0) throw new Moved()
      return recordTransfers(tx, driver, chainId, transfers)
    })
  } catch (error) {
    if (error instanceof Moved) return null
    throw error
  }
}

/** Stores transfers at or before the cursor that were missed. */
export const addTransfers = (driver: Driver, chainId: number, transfers: readonly NewTransfer[]): Promise<Recorded> =>
  driver.transaction('addTransfers', async tx => {
    await tx.run('UPDATE chain_cursors SET block_no = block_no WHERE chain_id = ?', [chainId])
    return recordTransfers(tx, driver, chainId, transfers)
  })

/** The blocks up to `secondTo` have been read a second time; the next such reading goes to where the cursor is now. */
export async function secondRead(driver: Driver, chainId: number, to: BlockRef): Promise<void> {
  const sql =
    `UPDATE chain_cursors SET second_no = ?, second_to_no = block_no, second_to_hash = block_hash, second_at_ms = ${driver.dialect.nowMs} ` +
    'WHERE chain_id = ? AND second_to_no = ? AND second_to_hash = ?'
  await driver.run('secondRead', sql, [to.no, chainId, to.no, to.hash])
}

/** Sets the cursor back, or on another fork, because somebody has decided so. */
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

/** Stores transfers out of the addresses, in the blocks up to `toNo`. */
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

/**
 * The sum of the transfers to an address, and of what left it, in the blocks up to one. Sums of texts are no work for an engine's
 * numbers, so they are made here. A transaction stands in one block: of one that was read in two, what was read last counts.
 */
export async function addressSums(driver: Driver, chainId: number, address: string, toNo: number) {
  const of = [chainId, address, toNo]
  const where = 't.chain_id = ? AND t.address = ? AND t.block_no <= ?'
  const came =
    'SELECT t.tx, t.block_hash, o.tokens FROM chain_transfers t JOIN pay_orders o ON o.id = t.order_id ' +
    `WHERE ${where} ORDER BY t.seq`
  const received = await driver.query('addressSums', came, of)
  const blocks = new Map(received.map(row => [text(row, 'tx'), text(row, 'block_hash')]))
  const standing = received.filter(row => blocks.get(text(row, 'tx')) === text(row, 'block_hash'))
  const left = await driver.query('addressSums', `SELECT value FROM chain_sweeps t WHERE ${where}`, of)
  const total = (some: readonly Row[], column: string) => some.reduce((sum, row) => sum + big(row, column), 0n)
  return { received: total(standing, 'tokens'), sweeps: total(left, 'value') }
}

/** Replaces what stands in blocks that are not final. */
export const setSeen = (driver: Driver, chainId: number, seen: readonly SeenPayment[]): Promise<void> =>
  driver.transaction('setSeen', async tx => {
    await tx.run('DELETE FROM chain_seen WHERE chain_id = ?', [chainId])
    for (const { tx: hash, logIndex, accountId, value, block } of seen)
      await tx.run(
        'INSERT INTO chain_seen (chain_id, tx, log_index, account_id, value, block_no) VALUES (?, ?, ?, ?, ?, ?)',
        [chainId, hash, logIndex, accountId, String(value), block.no],
      )
  })

export async function seen(driver: Driver, chainId: number, accountId: number) {
  const sql = 'SELECT * FROM chain_seen WHERE account_id = ? AND chain_id = ? ORDER BY block_no, log_index'
  return (await driver.query('seen', sql, [accountId, chainId])).map(row => ({
    tx: text(row, 'tx'),
    logIndex: integer(row, 'log_index'),
    value: big(row, 'value'),
  }))
}
