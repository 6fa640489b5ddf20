/**
 * How models fare, by hour and group: how many requests were answered, in how many the upstream failed, and how long the
 * first byte of an answer took. It is what people see of a model before they use it. Requests that clients broke off, or
 * that upstreams refused for the client's fault, say nothing of a model and are not counted.
 *
 * These are sums of usage of the grain `hourOfModel` (`sums.ts`), of which there are so few that a week is read at once.
 */
import { HOUR_MS } from '../../base/clock.ts'
import type { Driver, Row } from '../base/driver.ts'
import type { FailingQuery, ModelDay, ModelFigures, ModelHour } from './queries.ts'
import { segments } from './segments.ts'
import {
  DAY_HOURS,
  DAY_OFFSET_HOURS,
  FIRST_BYTE_BUCKETS,
  GRAIN,
  SUM_COLUMNS,
  TELLING_OUTCOMES,
  dayOf,
  hourOf,
} from './sums.ts'
import { count, integer, text } from '../base/text.ts'

const COUNTS = ['requests', ...FIRST_BYTE_BUCKETS]
const TELLING = `outcome IN (${TELLING_OUTCOMES.map(outcome => `'${outcome}'`).join(', ')})`
const _SUMS = COUNTS.map(name => `SUM(${name}) AS ${name}`).join(', ')

/** What the hours of keys come to, in one hour; its columns are those of the other sums. */
export const SUMS_OF_MODELS =
  "SELECT 0 AS account_id, 0 AS key_id, model, group_name, '' AS channel, '' AS protocol, outcome, " +
  `${SUM_COLUMNS.map(name => (COUNTS.includes(name) ? `SUM(${name}) AS ${name}` : `0 AS ${name}`)).join(', ')} ` +
  `FROM usage_sums WHERE grain = ${GRAIN.hour} AND hour_no = ? AND ${TELLING} GROUP BY model, group_name, outcome`

const ANSWERED = "SUM(CASE WHEN outcome = 'ok' THEN requests ELSE 0 END)"
const FAILED = "SUM(CASE WHEN outcome = 'upstream' THEN requests ELSE 0 END)"
const OF_MODELS = `FROM usage_sums WHERE grain = ${GRAIN.hourOfModel} AND hour_no >= ?`

const countsOf = (row: Row) => ({
  model: text(row, 'model'),
  answered: count(row, 'answered'),
  failed: count(row, 'failed'),
})

const FIGURES =
  `SELECT group_name, model, ${ANSWERED} AS answered, ${FAILED} AS failed, ` +
  FIRST_BYTE_BUCKETS.map(name => `SUM(CASE WHEN outcome = 'ok' THEN ${name} ELSE 0 END) AS ${name}`).join(', ') +
  ` ${OF_MODELS} GROUP BY group_name, model ORDER BY group_name, model`

/** How all models fared since the beginning of an hour. */
export const modelFigures = (driver: Driver, fromMs: number): Promise<ModelFigures[]> =>
  driver.snapshot('modelFigures', async tx =>
    (await tx.query(FIGURES, [hourOf(fromMs)])).map(row => ({
      group: text(row, 'group_name'),
      ...countsOf(row),
      firstByte: FIRST_BYTE_BUCKETS.map(name => count(row, name)),
    })),
  )

const DAYS =
  `SELECT hour_no + ? AS day_no, model, ${ANSWERED} AS answered, ${FAILED} AS failed FROM usage_sums ` +
  `WHERE grain = ${GRAIN.dayOfAll} AND hour_no >= ? AND hour_no < ? AND group_name = ? AND ${TELLING} ` +
  'GROUP BY day_no, model ORDER BY day_no, model'
const DAYS_OF_HOURS =
  `SELECT hour_no + ? - (hour_no + ?) % ${DAY_HOURS} AS day_no, model, ${ANSWERED} AS answered, ${FAILED} AS failed ` +
  `${OF_MODELS} AND hour_no < ? AND group_name = ? GROUP BY day_no, model ORDER BY day_no, model`

/**
 * How the models of a group fared, day by day in a zone from the day of `fromMs` on, oldest first. Where the store has no sums of the
 * zone's days they are added up of hours; a day on which the zone's clocks changed comes in two parts.
 */
export const modelDays = (
  driver: Driver,
  group: string,
  { fromMs, toMs, zone }: { fromMs: number; toMs: number; zone: string },
): Promise<ModelDay[]> =>
  driver.snapshot('modelDays', async tx => {
    const all = segments(zone, hourOf(fromMs), hourOf(toMs) + 1)
    const days: ModelDay[] = []
    for (const { from, to, offset } of all) {
      const isStored = all.length === 1 && offset === DAY_OFFSET_HOURS
      const [sql, params] = isStored
        ? [DAYS, [offset, dayOf(from), to, group]]
        : [DAYS_OF_HOURS, [offset, offset, from, to, group]]
      for (const row of await tx.query(sql, params))
        days.push({ day: new Date(integer(row, 'day_no') * HOUR_MS).toISOString().slice(0, 10), ...countsOf(row) })
    }
    return days
  })

const FAILING =
  `SELECT hour_no, model, ${ANSWERED} AS answered, ${FAILED} AS failed ${OF_MODELS} AND group_name = ? ` +
  `GROUP BY hour_no, model HAVING ${FAILED} >= ? AND ${FAILED} * 100 >= SUM(requests) * ? ` +
  'ORDER BY hour_no DESC, model LIMIT ?'

/** Hours in which models of a group failed, newest first. */
export const failingHours = (
  driver: Driver,
  group: string,
  { fromMs, least, percent, limit }: FailingQuery,
): Promise<ModelHour[]> =>
  driver.snapshot('failingHours', async tx =>
    (await tx.query(FAILING, [hourOf(fromMs), group, least, percent, limit])).map(row => ({
      atMs: integer(row, 'hour_no') * HOUR_MS,
      ...countsOf(row),
    })),
  )
