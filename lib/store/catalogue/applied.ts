/**
 * The table `applied_rows`: digests of what a catalogue file said of each row when it was last applied. They are
 * changed by compare-and-swap, in the transaction that writes the row itself. So when several gateways apply one file,
 * only one of them writes a row; the others fail with AppliedElsewhere, and cannot overwrite what an administrator has
 * changed right after the first write.
 */
import type { Table } from '../base/tables.ts'
import type { Driver, Transaction } from '../base/driver.ts'
import { AppliedElsewhere } from '../base/errors.ts'
import { text } from '../base/text.ts'

/** What a catalogue file said of each row (see `FileDigests`). */
export const APPLIED_ROWS: Table = {
  name: 'applied_rows',
  columns: { kind: 'code', owner: 'name', name: 'name', said: 'code', price: 'code', secret: 'code' },
  key: ['kind', 'owner', 'name'],
}

/**
 * Digests of what a catalogue file said of a row when it was last applied, by which the next apply sees what the file
 * changed. An empty string: it said nothing that has such a digest.
 */
export interface RowDigests {
  row: string
  price: string
  /** A signature of the row's credentials, made by `store.catalogue.sign`. */
  secret: string
}

/** Part of a write from a catalogue file: it happens only if the store still has `before`, which `after` replaces. */
export interface FileDigests {
  kind: 'group' | 'model' | 'channel' | 'account' | 'key'
  /** For a key, the name of its account; for the other kinds, the empty string. */
  owner: string
  name: string
  /** null: the file has never said anything of this row. */
  before: RowDigests | null
  after: RowDigests
}

export const digestId = (kind: string, owner: string, name: string): string => JSON.stringify([kind, owner, name])

export async function readDigests(driver: Driver): Promise<Map<string, RowDigests>> {
  const rows = await driver.query('catalog', 'SELECT kind, owner, name, said, price, secret FROM applied_rows', [])
  return new Map(
    rows.map(row => [
      digestId(text(row, 'kind'), text(row, 'owner'), text(row, 'name')),
      { row: text(row, 'said'), price: text(row, 'price'), secret: text(row, 'secret') },
    ]),
  )
}

/**
 * Replaces the digests `before` by `after`. Call it first in a transaction. It throws AppliedElsewhere, and so rolls
 * the transaction back, when the store no longer has `before`.
 */
export async function moveDigests(
  tx: Transaction,
  { dialect }: Driver,
  { kind, owner, name, before, after }: FileDigests,
): Promise<void> {
  const columns = 'kind, owner, name, said, price, secret'
  const insert = `INSERT ${dialect.ignore} INTO applied_rows (${columns}) VALUES (?, ?, ?, ?, ?, ?)`
  const update =
    'UPDATE applied_rows SET said = ?, price = ?, secret = ? ' +
    'WHERE kind = ? AND owner = ? AND name = ? AND said = ? AND price = ? AND secret = ?'
  const [at, now] = [
    [kind, owner, name],
    [after.row, after.price, after.secret],
  ]
  const { changes } =
    before === null
      ? await tx.run(insert, [...at, ...now])
      : await tx.run(update, [...now, ...at, before.row, before.price, before.secret])
  if (changes !== 1) throw new AppliedElsewhere(`${kind} ${name}: another gateway is applying it`)
}
