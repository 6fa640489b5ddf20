/** Finds requests of an account by an exact id: the gateway's, the client's own, or that of the upstream's answer. */
import type { Driver } from '../driver.ts'
import type { AccountKeys } from '../request-store.ts'
import { indexName } from '../tables.ts'
import type { BookedRow } from '../usage-store.ts'
import { USAGE_LOG } from '../usage-tables.ts'
import { answerKey } from './answers.ts'
import { keyConditions, REQUESTS } from './request-page.ts'
import { type Condition, paramsOf, whereOf } from './usage-page.ts'
import { toBookedRow, USAGE_COLUMNS } from './usage-rows.ts'

/** A client may give all its requests the same id. */
const MOST = 50

const PLACES: [column: string, index: string, value: (id: string) => string][] = [
  ['request_id', indexName(USAGE_LOG, ['request_id']), id => id],
  ['client_request_id', indexName(USAGE_LOG, ['account_id', 'client_request_id']), id => id],
  ['answer_id', indexName(USAGE_LOG, ['account_id', 'answer_id']), answerKey],
]

export function requestsOfId(driver: Driver, { accountId, keyIds }: AccountKeys, id: string): Promise<BookedRow[]> {
  if (keyIds?.length === 0) return Promise.resolve([])
  return driver.snapshot('requestsOfId', async tx => {
    const found = new Map<number, BookedRow>()
    for (const [column, index, value] of PLACES) {
      const owner: Condition[] = [['account_id = ?', accountId], ...keyConditions(keyIds), REQUESTS]
      const all: Condition[] = [[`${column} = ?`, value(id)], ...owner]
      const table = `usage_log ${driver.dialect.using(index)}`
      const sql = `SELECT ${USAGE_COLUMNS} FROM ${table} ${whereOf(all)}ORDER BY seq DESC LIMIT ${MOST}`
      for (const row of (await tx.query(sql, paramsOf(all))).map(toBookedRow)) found.set(row.seq, row)
    }
    return [...found.values()].sort((a, b) => b.seq - a.seq).slice(0, MOST)
  })
}
