/**
 * Refusals: requests of known keys that were refused before any upstream was asked. They are kept for some days so that an
 * operator can say why, and are no part of the books. At most ten of one key and reason are kept in a minute, by all
 * gateways together: the primary key has ten places for them, and what finds no place is dropped.
 */
import type { Driver, Row, Statements } from '../driver.ts'
import { NAME_LENGTH } from '../tables.ts'
import type { Refusal } from '../usage-store.ts'
import { REFUSALS } from '../usage-tables.ts'
import { integer, text } from './text.ts'

const PLACES = 10
const MINUTE_MS = 60_000
const CODE_LENGTH = 64
const COLUMNS = Object.keys(REFUSALS.columns)

const placeOf = ({ atMs, keyId, reason }: Refusal) => [Math.floor(atMs / MINUTE_MS), keyId, reason] as const

/** Those of one key, reason and minute together, in the order of these. */
function together(batch: readonly Refusal[]): Refusal[][] {
  const groups = new Map<string, Refusal[]>()
  for (const refusal of batch) {
    const id = placeOf(refusal)
      .map(part => String(part).padStart(20, '0'))
      .join(' ')
    const group = groups.get(id)
    if (group === undefined) groups.set(id, [refusal])
    else group.push(refusal)
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

async function recordGroup(tx: Statements, ignore: string, group: readonly Refusal[]): Promise<void> {
  const place = placeOf(group[0] as Refusal)
  const [row] = await tx.query(
    'SELECT COUNT(*) AS taken FROM refusals WHERE minute = ? AND key_id = ? AND reason = ?',
    place,
  )
  const taken = integer(row!, 'taken')
  const rows = group.slice(0, Math.max(0, PLACES - taken)).map((refusal, i) => {
    const { requestId, atMs, accountId, model, status, address } = refusal
    return [
      ...place,
      taken + i,
      requestId,
      atMs,
      accountId,
      model.slice(0, NAME_LENGTH),
      status,
      address.slice(0, CODE_LENGTH),
    ]
  })
  const into = `INSERT ${ignore} INTO refusals (${COLUMNS.join(', ')})`
  await tx.insert({ into, row: `(${COLUMNS.map(() => '?').join(', ')})` }, rows)
}

export async function recordRefusals(driver: Driver, batch: readonly Refusal[]): Promise<void> {
  if (batch.length === 0) return
  await driver.transaction('recordRefusals', async tx => {
    for (const group of together(batch)) await recordGroup(tx, driver.dialect.ignore, group)
  })
}

export const toRefusal = (row: Row): Refusal => ({
  requestId: text(row, 'request_id'),
  atMs: integer(row, 'at_ms'),
  accountId: integer(row, 'account_id'),
  keyId: integer(row, 'key_id'),
  model: text(row, 'model'),
  reason: text(row, 'reason'),
  status: integer(row, 'status'),
  address: text(row, 'address'),
})

export async function refusal(driver: Driver, requestId: string): Promise<Refusal | null> {
  const [row] = await driver.query('refusal', 'SELECT * FROM refusals WHERE request_id = ?', [requestId])
  return row === undefined ? null : toRefusal(row)
}

/** Whole minutes, oldest first, about `limit` rows of them. */
export async function pruneRefusals(driver: Driver, beforeMs: number, limit: number): Promise<number> {
  const before = Math.floor(beforeMs / MINUTE_MS)
  return driver.transaction('pruneRefusals', async tx => {
    const sql = 'SELECT minute FROM refusals WHERE minute < ? ORDER BY minute LIMIT 1 OFFSET ?'
    const [row] = await tx.query(sql, [before, limit])
    const end = row === undefined ? before : integer(row, 'minute') + 1
    return (await tx.run('DELETE FROM refusals WHERE minute < ?', [end])).changes
  })
}
