/**
 * Entries: what is paid into an account, or taken out of it by a decision. A transaction books an entry and changes the
 * credit of the account's purse. It locks the purse first, so that the entries of one account are booked one after the
 * other: nothing can be leased between the check of what is free and the debit, and of two entries with one reference the
 * second finds the first. Nothing in this program changes or deletes an entry.
 */
import { HOUR_MS } from '../../base/clock.ts'
import { type Micro, formatMicro, micro } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import type { Table } from '../base/tables.ts'
import { invariant } from '../../base/assert.ts'
import { type Driver, DuplicateKey, type Row, type Transaction } from '../base/driver.ts'
import { accountPurse } from './purses.ts'
import { StoreConflict } from '../base/errors.ts'
import { recordAction } from '../base/actions.ts'
import { recordChange } from '../base/changes.ts'
import { integer, integerOrNull, money, text } from '../base/text.ts'

/**
 * The reasons for which a balance changes. `opening`: the balance of a new account. `topup`: an administrator adds money. `adjustment`: an
 * administrator corrects the balance, up or down. `payment`: a provider has proven a payment. `settlement`: an operator charges what an
 * upstream reported above the bound (`disputes.ts`).
 *
 * Money on its way back to a payer takes two steps (`lib/store/payments/money.ts`): `freeze` takes it out of the balance before the provider
 * is asked, and `release` puts it back when that has ended. If the money went to the payer, an entry beside the release takes it for good:
 * `refund` where we sent it, `reversal` where the payer's bank did.
 */
export type EntryKind =
  | 'opening'
  | 'topup'
  | 'payment'
  | 'adjustment'
  | 'refund'
  | 'freeze'
  | 'release'
  | 'reversal'
  | 'settlement'

export interface NewEntry {
  kind: EntryKind
  /** What is added to the balance; negative when it is taken away. */
  amount: Micro
  /** Unique within the account; that of a payment in the whole store. */
  reference: string
  /** Who decided. */
  actor: string
  note: string
}

export interface Entry extends NewEntry {
  /** The entry's number in the order of booking. */
  seq: number
  /** By the store's clock; ms since 1970. */
  bookedAtMs: number
}

/**
 * What became of a new entry. `same`: the account has an entry of this kind, amount and reference already. `conflict`: it
 * has another one under this reference, or another account has this payment. `short`: a debit is more than `available`,
 * which is the credit without all charges and leases.
 */
export type Booked =
  | { outcome: 'created' | 'same'; entry: Entry }
  | { outcome: 'conflict' }
  | { outcome: 'short'; available: Micro }

interface BookFilter {
  /** ms since 1970, inclusive; the beginning of an hour. */
  fromMs: number
  /** ms since 1970, exclusive; the beginning of an hour. */
  toMs: number
  /** Only entries with a smaller number. */
  beforeSeq?: number
  /** Only charges of hours before this moment; ms since 1970, the beginning of an hour. */
  chargesToMs?: number
  /** The most entries to read. */
  limit: number
}

/** A part of an account's ledger, read at one moment. */
export interface BookPage {
  /** Newest first. */
  entries: Entry[]
  /** Charges by the hour in which they were booked, newest first; `atMs` is the beginning of the hour. */
  charges: { atMs: number; charge: Micro }[]
  /** The balance after everything in the page and before it. */
  balance: Micro
}

export const ENTRIES: Table = {
  name: 'entries',
  columns: {
    seq: 'auto',
    account_id: 'int',
    kind: 'code',
    reference: 'name',
    // The reference of a payment, which counts once in the whole store; null for the other kinds.
    payment: 'name?',
    // What is added to the balance; negative when it is taken away.
    amount: 'int',
    // By the store's clock; ms since 1970. It never falls from one entry of an account to the next.
    booked_at_ms: 'int',
    actor: 'name',
    note: 'doc',
  },
  key: ['seq'],
  unique: [['account_id', 'reference'], ['payment']],
  index: [['account_id', 'booked_at_ms', 'seq', 'amount']],
}

const COLUMNS = 'seq, kind, reference, amount, booked_at_ms, actor, note'
const INSERT =
  'INSERT INTO entries (account_id, kind, reference, payment, amount, booked_at_ms, actor, note) ' +
  'VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'

const toEntry = (row: Row): Entry => ({
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
  tx: Transaction,
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

async function entryUnder(tx: Transaction, accountId: number, reference: string): Promise<Entry | null> {
  const sql = `SELECT ${COLUMNS} FROM entries WHERE account_id = ? AND reference = ?`
  const [row] = await tx.query(sql, [accountId, reference])
  return row === undefined ? null : toEntry(row)
}

/** `addEntry` as a part of a larger transaction. */
export async function bookEntry(
  tx: Transaction,
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

/** A day has at most this many hours, when summer time ends in it. */
const DAY_HOURS = 25
const PAGE_ENTRIES =
  'SELECT seq, kind, reference, amount, booked_at_ms, actor, note FROM entries ' +
  'WHERE account_id = ? AND booked_at_ms >= ? AND booked_at_ms < ? AND seq < ? ' +
  'ORDER BY booked_at_ms DESC, seq DESC LIMIT ?'
const CREDITS =
  'SELECT COALESCE(SUM(amount), 0) AS total FROM entries WHERE account_id = ? AND booked_at_ms < ? AND seq < ?'
const HOURS =
  'SELECT hour_no, charge FROM charged_hours WHERE account_id = ? AND hour_no >= ? AND hour_no < ? ' +
  'ORDER BY hour_no DESC LIMIT ?'
const CHARGES = 'SELECT COALESCE(SUM(charge), 0) AS total FROM charged_hours WHERE account_id = ? AND hour_no < ?'

const toCharge = (row: Row) => ({ atMs: integer(row, 'hour_no') * HOUR_MS, charge: money(row, 'charge') })

async function readPage(tx: Transaction, accountId: number, filter: BookFilter): Promise<BookPage> {
  const { fromMs, toMs, beforeSeq = Number.MAX_SAFE_INTEGER, chargesToMs = toMs, limit } = filter
  const [fromHour, toHour] = [fromMs, chargesToMs].map(ms => Math.floor(ms / HOUR_MS)) as [number, number]
  const entries = await tx.query(PAGE_ENTRIES, [accountId, fromMs, toMs, beforeSeq, limit])
  // The page shows at most `limit` days of charges. One day more makes sure that the last of these is whole.
  const hours = await tx.query(HOURS, [accountId, fromHour, toHour, (limit + 1) * DAY_HOURS])
  const [credits] = await tx.query(CREDITS, [accountId, toMs, beforeSeq])
  const [charges] = await tx.query(CHARGES, [accountId, toHour])
  return {
    entries: entries.map(toEntry),
    charges: hours.map(toCharge),
    balance: micro(integer(credits!, 'total') - integer(charges!, 'total')),
  }
}

const FIRST_BOOKED =
  'SELECT (SELECT MIN(booked_at_ms) FROM entries WHERE account_id = ?) AS entry_ms, ' +
  '(SELECT MIN(hour_no) FROM charged_hours WHERE account_id = ?) AS hour_no'

/** An account's own ledger.*/
export class EntryStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /**
   * Books an entry once. A debit (a negative amount) is booked only if that much is free: neither charged nor leased to
   * any process. A `forced` debit is always booked, and recalls the leases in the same transaction.
   */
  async add(accountId: number, entry: NewEntry, act: Act, forced = false): Promise<Booked> {
    invariant(Number.isSafeInteger(entry.amount) && entry.amount !== 0, `an entry of ${entry.amount}`)
    invariant(!forced || entry.amount < 0, 'only a debit can be forced')
    try {
      return await this.#driver.transaction('addEntry', tx =>
        bookEntry(tx, this.#driver, accountId, entry, act, forced),
      )
    } catch (error) {
      // The lock of the purse keeps apart what is booked for one account; this is a payment of another account.
      if (error instanceof DuplicateKey) return { outcome: 'conflict' }
      throw error
    }
  }

  /** A part of the ledger of an account. Charges are read for the time that the entries of the page span. */
  page(accountId: number, filter: BookFilter): Promise<BookPage> {
    return this.#driver.snapshot('book', tx => readPage(tx, accountId, filter))
  }

  /** When the account's first entry or charge was booked; ms since 1970, to the hour. null = there is none. */
  async firstBookedMs(accountId: number): Promise<number | null> {
    const [row] = await this.#driver.query('firstBookedMs', FIRST_BOOKED, [accountId, accountId])
    const [entryMs, hour] = [integerOrNull(row!, 'entry_ms'), integerOrNull(row!, 'hour_no')]
    if (hour === null) return entryMs
    return Math.min(entryMs ?? Number.POSITIVE_INFINITY, hour * HOUR_MS)
  }
}
