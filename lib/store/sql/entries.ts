/**
 * Entries: what is paid into an account, or taken out of it by a decision. A transaction books an entry and changes the
 * credit of the account's purse. It locks the purse first, so that the entries of one account are booked one after the
 * other: nothing can be leased between the check of what is free and the debit, and of two entries with one reference the
 * second finds the first. Nothing in this program changes or deletes an entry.
 */
import { invariant } from '../../base/assert.ts'
import { formatMicro, micro } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import { type Driver, DuplicateKey, type Row, type Statements } from '../driver.ts'
import type { Booked, Entry, EntryKind, NewEntry } from '../entry-store.ts'
import { accountPurse, StoreConflict } from '../types.ts'
import { recordAction } from './actions.ts'
import { recordChange } from './changes.ts'
import { integer, money, text } from './text.ts'

const COLUMNS = 'seq, kind, reference, amount, booked_at_ms, actor, note'
const INSERT =
  'INSERT INTO entries (account_id, kind, reference, payment, amount, booked_at_ms, actor, note) ' +
  'VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'

export const toEntry = (row: Row): Entry => ({
  seq: integer(row, 'seq'),
  kind: text(row, 'kind') as EntryKind,
  reference: text(row, 'reference'),
  amount: money(row, 'amount'),
  bookedAtMs: integer(row, 'booked_at_ms'),
  actor: text(row, 'actor'),
  note: text(row, 'note'),
})

/**
 * Inserts an entry whose amount is, or will be in this transaction, part of the purse's credit. Its time is the store's,
 * but not before that of the account's last entry, because the store's clock may be set back.
 */
export async function insertEntry(
  tx: Statements,
  { dialect }: Driver,
  accountId: number,
  entry: NewEntry,
): Promise<Entry> {
  const times = `SELECT ${dialect.nowMs} AS now, (SELECT MAX(booked_at_ms) FROM entries WHERE account_id = ?) AS latest`
  const [row] = await tx.query(times, [accountId])
  const bookedAtMs = Math.max(integer(row!, 'now'), row!['latest'] === null ? 0 : integer(row!, 'latest'))
  const { kind, reference, amount, actor, note } = entry
  const payment = kind === 'payment' ? reference : null
  const { insertId } = await tx.run(INSERT, [accountId, kind, reference, payment, amount, bookedAtMs, actor, note])
  return { seq: insertId, bookedAtMs, kind, reference, amount, actor, note }
}

async function entryUnder(tx: Statements, accountId: number, reference: string): Promise<Entry | null> {
  const sql = `SELECT ${COLUMNS} FROM entries WHERE account_id = ? AND reference = ?`
  const [row] = await tx.query(sql, [accountId, reference])
  return row === undefined ? null : toEntry(row)
}

/** `addEntry` as a part of a larger transaction. */
export async function bookEntry(
  tx: Statements,
  driver: Driver,
  accountId: number,
  entry: NewEntry,
  act: Act,
  forced: boolean,
): Promise<Booked> {
  const purse = accountPurse(accountId)
  if ((await tx.run(LOCK_PURSE, [purse])).changes !== 1) throw new StoreConflict(`no account with id ${accountId}`)
  const there = await entryUnder(tx, accountId, entry.reference)
  if (there !== null) {
    const same = there.kind === entry.kind && there.amount === entry.amount
    return same ? { outcome: 'same', entry: there } : { outcome: 'conflict' }
  }
  const [row] = await tx.query('SELECT credit, promised FROM purses WHERE id = ?', [purse])
  const [credit, promised] = [integer(row!, 'credit'), integer(row!, 'promised')]
  const { amount } = entry
  if (amount < 0 && !forced && credit - promised < -amount) {
    return { outcome: 'short', available: micro(credit - promised) }
  }
  if (!Number.isSafeInteger(credit + amount)) throw new StoreConflict('the credits would pass all bounds')
  await tx.run('UPDATE purses SET credit = credit + ? WHERE id = ?', [amount, purse])
  const booked = await insertEntry(tx, driver, accountId, entry)
  const { kind, reference, note } = entry
  const after = { kind, amount: formatMicro(amount), reference, note, forced }
  const subject = { kind: 'entry', id: String(booked.seq) } as const
  await recordAction(tx, driver, act, { subject, accountId, before: null, after })
  if (forced) await recordChange(tx, 'recall', purse)
  await recordChange(tx, 'account', String(accountId))
  return { outcome: 'created', entry: booked }
}

export async function addEntry(
  driver: Driver,
  accountId: number,
  entry: NewEntry,
  act: Act,
  forced: boolean,
): Promise<Booked> {
  invariant(Number.isSafeInteger(entry.amount) && entry.amount !== 0, `an entry of ${entry.amount}`)
  invariant(!forced || entry.amount < 0, 'only a debit can be forced')
  try {
    return await driver.transaction('addEntry', tx => bookEntry(tx, driver, accountId, entry, act, forced))
  } catch (error) {
    // The lock of the purse keeps apart what is booked for one account; this is a payment of another account.
    if (error instanceof DuplicateKey) return { outcome: 'conflict' }
    throw error
  }
}
