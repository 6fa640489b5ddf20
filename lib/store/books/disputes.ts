/**
 * DisputeStore. A row is made in the transaction that books the request, and changes once: when it is decided. One that nobody
 * decides counts as waived from a day on, and its row stays as it is.
 */
import { DISPUTE_OPEN_MS } from '../usage/queries.ts'
import type { Table } from '../base/tables.ts'
import { type Micro, ZERO, formatMicro } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import { type Booked, type NewEntry, bookEntry } from './entries.ts'
import { timeOfId } from '../../base/ids.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { accountPurse } from './purses.ts'
import { recordAction } from '../base/actions.ts'
import { type RowToBook, cut } from '../usage/rows.ts'
import { integer, money, microOrNull, text } from '../base/text.ts'

export const DISPUTES: Table = {
  name: 'disputes',
  // state: open, charged or waived. charged: what an entry of the account took of the amount.
  columns: {
    request_id: 'code',
    account_id: 'int',
    channel: 'name',
    amount: 'int',
    state: 'code',
    charged: 'int?',
  },
  key: ['request_id'],
  index: [['state', 'request_id']],
}

/** `open`: nothing is decided. `charged`: an entry of the account takes it, or a part of it. */
const DISPUTE_STATES = ['open', 'charged', 'waived'] as const

type DisputeState = (typeof DISPUTE_STATES)[number]

export interface Dispute {
  requestId: string
  accountId: number
  channel: string
  /** What was not charged, and what was charged of it since. */
  amount: Micro
  state: DisputeState
  charged: Micro
}

/**
 * `created`: it is decided now. `same`: it was decided so before. `conflict`: it was decided otherwise. `short`: the debit is
 * more than what is available, and nothing is decided.
 */
type Decided = { outcome: 'created' | 'same' | 'conflict' } | Extract<Booked, { outcome: 'short' }>

const INTO = 'INSERT INTO disputes (request_id, account_id, channel, amount, state, charged)'

/** Makes the disputes of the rows that have something disputed. Throws DuplicateKey when one of the requests is there already. */
export async function insertDisputes(tx: Transaction, rows: readonly RowToBook[]): Promise<void> {
  const disputed = rows.flatMap(({ fields }) => (fields.disputed > 0 ? [fields] : []))
  if (disputed.length === 0) return
  await tx.insert(
    { into: INTO, row: "(?, ?, ?, ?, 'open', NULL)" },
    disputed.map(({ requestId, accountId, channel, disputed }) => [requestId, accountId, cut(channel), disputed]),
  )
}

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
    state: state === 'open' && timeOfId(requestId) < nowMs - DISPUTE_OPEN_MS ? 'waived' : state,
    charged: microOrNull(row, 'charged') ?? ZERO,
  }
}

async function read(tx: Pick<Transaction, 'query'>, { dialect }: Driver, requestId: string): Promise<Dispute | null> {
  const [row] = await tx.query(ONE, [requestId])
  if (row === undefined) return null
  const [now] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  return toDispute(row, integer(now!, 'now'))
}

/** The purse first, then the dispute, as everywhere where both are locked. */
const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'
const LOCK = 'UPDATE disputes SET state = state WHERE request_id = ?'
const DECIDE = 'UPDATE disputes SET state = ?, charged = ? WHERE request_id = ?'

/** DisputeStore, as they are read and decided. */
export class DisputeStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** null = nothing of the request was disputed. */
  byRequest(requestId: string): Promise<Dispute | null> {
    return this.#driver.snapshot('dispute', tx => read(tx, this.#driver, requestId))
  }

  /** Decides a dispute once. `entry`: the debit of its account, a chosen one; null = it is waived, for this reason. */
  decide({ requestId, accountId }: Dispute, entry: NewEntry | null, reason: string, act: Act): Promise<Decided> {
    return this.#driver.transaction('decideDispute', async tx => {
      await tx.run(LOCK_PURSE, [accountPurse(accountId)])
      await tx.run(LOCK, [requestId])
      const there = await read(tx, this.#driver, requestId)
      if (there === null) return { outcome: 'conflict' }
      const state = entry === null ? 'waived' : 'charged'
      const charged = entry === null ? ZERO : -entry.amount
      if (there.state !== 'open')
        return { outcome: there.state === state && there.charged === charged ? 'same' : 'conflict' }
      if (entry !== null) {
        const booked = await bookEntry(tx, this.#driver, accountId, entry, act, false)
        if (booked.outcome !== 'created') return booked.outcome === 'short' ? booked : { outcome: 'conflict' }
      } else {
        const after = { disputed: formatMicro(there.amount), state, reason }
        await recordAction(tx, this.#driver, act, {
          subject: { kind: 'dispute', id: requestId },
          accountId,
          before: null,
          after,
        })
      }
      await tx.run(DECIDE, [state, charged, requestId])
      return { outcome: 'created' }
    })
  }
}
