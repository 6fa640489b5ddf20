/** The statements of the log of usage and its sums as methods: how they are asked and pruned. Requests are booked by `settle`, which stands with the books. */
import { bound, type Driver, type Row } from '../base/driver.ts'
import type { AnswerMaker, Sender, SendersQuery } from './queries.ts'
import { answerKey } from './rows.ts'
import { failingHours, modelDays, modelFigures } from './models.ts'
import { attemptsOf, readUsage, usageSlices } from './pages.ts'
import { prunable, pruneUsage, prunedUpTo } from './prune.ts'
import { rebuildSums } from './rebuild.ts'
import { requestPage, requestsOfId } from './requests.ts'
import { largestSums, summary } from './summary.ts'
import { count, integer, text } from '../base/text.ts'
import { DAY_HOURS, GRAIN, dayOf, hourOf } from './sums.ts'

export function usageStatements(driver: Driver) {
  const of = bound(driver)
  return {
    page: of(readUsage),
    attemptsOf: of(attemptsOf),
    slices: of(usageSlices),
    requestPage: of(requestPage),
    requestsOfId: of(requestsOfId),
    summary: of(summary),
    largest: of(largestSums),
    senders: of(sendersOf),
    modelFigures: of(modelFigures),
    modelDays: of(modelDays),
    failingHours: of(failingHours),
    rebuildSums: of(rebuildSums),
    prunedBefore: of(prunedUpTo),
    prunable: of(prunable),
    prune: of(pruneUsage),
    answerMaker: of(answerMaker),
  }
}

export type UsageStatements = ReturnType<typeof usageStatements>

/** null when the account has no usage row with this `answerId`, or the answer cannot be continued. */
async function answerMaker(driver: Driver, accountId: number, answerId: string): Promise<AnswerMaker | null> {
  const sql =
    'SELECT channel, upstream_key FROM usage_log WHERE account_id = ? AND answer_id = ? ORDER BY seq DESC LIMIT 1'
  const [row] = await driver.query('answerMaker', sql, [accountId, answerKey(answerId)])
  // Only the newest is looked at: some upstreams give all their answers one id.
  if (row === undefined || row['upstream_key'] === null) return null
  return { channel: text(row, 'channel'), key: text(row, 'upstream_key') }
}

// --- who sends how much

const SENDERS = {
  account: { id: 'account_id', hours: GRAIN.accountHour, days: GRAIN.accountDay },
  key: { id: 'key_id', hours: GRAIN.hour, days: GRAIN.keyDay },
} as const

/**
 * Every account or key that has sent requests lately, and what it usually sends. Two ranges of the sums are read: the present by the hour, and the days before it
 * by the day.
 */
const sendersOf = (driver: Driver, { by, nowMs, nowFromMs, days }: SendersQuery): Promise<Sender[]> =>
  driver.snapshot('senders', async tx => {
    const { id, hours, days: grain } = SENDERS[by]
    const sums = `${id} AS id, SUM(requests) AS requests, SUM(charge) AS charge`
    const range = 'FROM usage_sums WHERE grain = ? AND hour_no >= ?'
    const present = await tx.query(`SELECT ${sums} ${range} GROUP BY ${id}`, [hours, hourOf(nowFromMs)])
    const today = dayOf(hourOf(nowMs))
    const before = await tx.query(
      `SELECT ${sums}, COUNT(DISTINCT hour_no) AS days ${range} AND hour_no < ? GROUP BY ${id}`,
      [grain, today - days * DAY_HOURS, today],
    )
    const usual = new Map(before.map(row => [integer(row, 'id'), { ...sentOf(row), days: count(row, 'days') }]))
    return present.map(row => ({
      id: integer(row, 'id'),
      ...sentOf(row),
      usual: usual.get(integer(row, 'id')) ?? null,
    }))
  })

const sentOf = (row: Row) => ({ requests: count(row, 'requests'), charge: count(row, 'charge') })
