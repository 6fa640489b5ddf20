/**
 * Disputes. A row is made in the transaction that books the request, and changes once: when it is decided. One that nobody
 * decides counts as waived from a day on, and its row stays as it is.
 */
import { idAt, timeOfId } from '../../base/ids.ts'
import { formatMicro, ZERO } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import type { UsageRow } from '../../terms/records.ts'
import { DISPUTE_DAYS, type Decided, type Dispute, type DisputeState } from '../dispute-store.ts'
import type { Driver, Row, Statements } from '../driver.ts'
import type { NewEntry } from '../entry-store.ts'
import { accountPurse } from '../types.ts'
import { recordAction } from './actions.ts'
import { bookEntry } from './entries.ts'
import type { Condition } from './usage-page.ts'
import { cut } from './usage-rows.ts'
import { integer, money, moneyOrNull, text } from './text.ts'

const OPEN_MS = DISPUTE_DAYS * 86_400_000
const INTO = 'INSERT INTO disputes (request_id, account_id, channel, amount, state, charged)'

/** Of the rows that have something disputed. Throws DuplicateKey when one of the requests is there already. */
export async function insertDisputes(tx: Statements, rows: readonly UsageRow[]): Promise<void> {
  const disputed = rows.filter(row => row.disputed > 0)
  if (disputed.length === 0) return
  await tx.insert(
    { into: INTO, row: "(?, ?, ?, ?, 'open', NULL)" },
    disputed.map(({ requestId, accountId, channel, disputed }) => [requestId, accountId, cut(channel), disputed]),
  )
}

/** The ids of those that are open, as rows of the name `disputed_id`. */
export const openDisputes = (nowMs: number): Condition => [
  "SELECT request_id AS disputed_id FROM disputes WHERE state = 'open' AND request_id >= ?",
  idAt(nowMs - OPEN_MS),
]

const COLUMNS = 'request_id, account_id, channel, amount, state, charged'
const ONE = `SELECT ${COLUMNS} FROM disputes WHERE request_id = ?`

function toDispute(row: Row, nowMs: number): Dispute {
  const requestId = text(row, 'request_id')
  const state = text(row, 'state') as DisputeState
  return {
    requestId,
    accountId: integer(row, 'account_id'),
    channel: text(row, 'channel'),
    amount: money(row, 'amount'),
    state: state === 'open' && timeOfId(requestId) < nowMs - OPEN_MS ? 'waived' : state,
    charged: moneyOrNull(row, 'charged') ?? ZERO,
  }
}

async function read(tx: Pick<Statements, 'query'>, { dialect }: Driver, requestId: string): Promise<Dispute | null> {
  const [row] = await tx.query(ONE, [requestId])
  if (row === undefined) return null
  const [now] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  return toDispute(row, integer(now!, 'now'))
}

export const dispute = (driver: Driver, requestId: string): Promise<Dispute | null> =>
  driver.snapshot('dispute', tx => read(tx, driver, requestId))

/** The purse first, then the dispute, as everywhere where both are locked. */
const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'
const LOCK = 'UPDATE disputes SET state = state WHERE request_id = ?'
const DECIDE = 'UPDATE disputes SET state = ?, charged = ? WHERE request_id = ?'

export const decideDispute = (
  driver: Driver,
  { requestId, accountId }: Dispute,
  entry: NewEntry | null,
  reason: string,
  act: Act,
): Promise<Decided> =>
  driver.transaction('decideDispute', async tx => {
    await tx.run(LOCK_PURSE, [accountPurse(accountId)])
    await tx.run(LOCK, [requestId])
    const there = await read(tx, driver, requestId)
    if (there === null) return { outcome: 'conflict' }
    const state = entry === null ? 'waived' : 'charged'
    const charged = entry === null ? ZERO : -entry.amount
    if (there.state !== 'open')
      return { outcome: there.state === state && there.charged === charged ? 'same' : 'conflict' }
    if (entry !== null) {
      const booked = await bookEntry(tx, driver, accountId, entry, act, false)
      if (booked.outcome !== 'created') return booked.outcome === 'short' ? booked : { outcome: 'conflict' }
    } else {
      const after = { disputed: formatMicro(there.amount), state, reason }
      await recordAction(tx, driver, act, {
        subject: { kind: 'dispute', id: requestId },
        accountId,
        before: null,
        after,
      })
    }
    await tx.run(DECIDE, [state, charged, requestId])
    return { outcome: 'created' }
  })
