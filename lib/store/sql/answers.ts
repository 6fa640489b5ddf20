/**
 * Finds the channel and upstream key that made an earlier answer, for requests that refer to it. The usage row of the
 * request that got the answer keeps the answer's id.
 */
import { createHash } from 'node:crypto'
import type { Driver } from '../driver.ts'
import type { AnswerMaker } from '../types.ts'
import { NAME_LENGTH } from '../tables.ts'
import { text } from './text.ts'

/** The value of the column `answer_id`: the id itself, or a digest of an id that is longer than the column. */
export const answerKey = (id: string): string =>
  id.length <= NAME_LENGTH ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`

export async function answerMaker(driver: Driver, accountId: number, answerId: string): Promise<AnswerMaker | null> {
  const sql =
    'SELECT channel, upstream_key FROM usage_log WHERE account_id = ? AND answer_id = ? ORDER BY seq DESC LIMIT 1'
  const [row] = await driver.query('answerMaker', sql, [accountId, answerKey(answerId)])
  // Only the newest is looked at: some upstreams give all their answers one id.
  if (row === undefined || row['upstream_key'] === null) return null
  return { channel: text(row, 'channel'), key: text(row, 'upstream_key') }
}
