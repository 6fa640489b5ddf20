/** What the calls on usage answer, as schemas: sums of usage, what they can be filtered by, and the overview. */
import { z } from 'zod'
import { STACKS } from '../../operations/usage/own-usage.ts'
import { PROTOCOLS } from '../../terms/records.ts'
import {
  bothWords,
  idText,
  keyLabel,
  moneyText,
  shareOrNull,
  timeText,
  usageCounts,
  wholeCount,
  wholeMs,
} from '../../operations/fields.ts'
import { refusal, request } from './request-answers.ts'

const totalFields = {
  requests: wholeCount,
  ...usageCounts,
  searches: wholeCount,
  seconds: z.number(),
  characters: wholeCount,
  tool_calls: wholeCount,
  failed: wholeCount,
  failed_share: shareOrNull,
  charge: moneyText,
  cache_hit_share: shareOrNull,
  first_byte_ms: wholeMs.nullable(),
  first_byte_p50_ms: wholeMs.nullable(),
  first_byte_p95_ms: wholeMs.nullable(),
}
const stackName = { name: z.string(), key: keyLabel.nullable() }
export const usageAnswer = z
  .strictObject({
    zone: z.string(),
    from: timeText,
    to: timeText,
    by: z.enum(['day', 'hour']),
    stack: z.enum(STACKS),
    totals: z.strictObject(totalFields).meta({ id: 'UsageTotals' }),
    chart: z.strictObject({
      stacks: z.array(z.strictObject(stackName)),
      others: z.boolean(),
      buckets: z.array(z.strictObject({ at: z.string(), charge: z.array(moneyText), requests: z.array(z.int()) })),
    }),
    rows: z.array(z.strictObject({ ...stackName, ...totalFields })),
    rest: z.strictObject({ stacks: wholeCount, ...totalFields }).nullable(),
  })
  .meta({ id: 'Usage' })

export const choicesAnswer = z
  .strictObject({
    keys: z.array(keyLabel),
    more_keys: z.boolean(),
    models: z.array(z.string()),
    groups: z.array(z.string()),
    protocols: z.array(z.enum(PROTOCOLS)),
    members: z.array(z.strictObject({ id: idText, name: z.string() })).nullable(),
    reasons: z.array(z.strictObject({ name: z.string(), why: bothWords })),
  })
  .meta({ id: 'UsageChoices' })

export const overviewAnswer = z
  .strictObject({
    zone: z.string(),
    balance: moneyText,
    held: moneyText,
    available: moneyText,
    low_balance: moneyText.nullable(),
    is_low: z.boolean(),
    spent: z.strictObject({ today: moneyText, month: moneyText, last_month_to_date: moneyText, week: moneyText }),
    days_left: wholeCount.nullable(),
    usage: usageAnswer,
    requests: z.array(request).nullable(),
    failures: z.array(z.strictObject({ request: request.nullable(), refusal: refusal.nullable() })).nullable(),
    first_steps: z.strictObject({ money: z.boolean(), key: z.boolean(), request: z.boolean() }),
  })
  .meta({ id: 'Overview' })

export type Overview = z.output<typeof overviewAnswer>
export type Choices = z.output<typeof choicesAnswer>
export type Usage = z.output<typeof usageAnswer>
