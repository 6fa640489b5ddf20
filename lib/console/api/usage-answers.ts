/** What the calls on usage answer, as schemas: sums of usage, what they can be filtered by, and the overview. */
import { z } from 'zod'
import { STACKS } from '../../operations/usage/own-usage.ts'
import { PROTOCOLS } from '../../terms/records.ts'
import { count, counts, id, keyLabel, money, ms, share, time, words } from './answer-fields.ts'
import { refusal, request } from './request-answers.ts'

const totalFields = {
  requests: count,
  ...counts,
  searches: count,
  seconds: z.number(),
  characters: count,
  tool_calls: count,
  failed: count,
  failed_share: share,
  charge: money,
  cache_hit_share: share,
  first_byte_ms: ms.nullable(),
  first_byte_p50_ms: ms.nullable(),
  first_byte_p95_ms: ms.nullable(),
}
const stackName = { name: z.string(), key: keyLabel.nullable() }
export const usageAnswer = z
  .strictObject({
    zone: z.string(),
    from: time,
    to: time,
    by: z.enum(['day', 'hour']),
    stack: z.enum(STACKS),
    totals: z.strictObject(totalFields).meta({ id: 'UsageTotals' }),
    chart: z.strictObject({
      stacks: z.array(z.strictObject(stackName)),
      others: z.boolean(),
      buckets: z.array(z.strictObject({ at: z.string(), charge: z.array(money), requests: z.array(z.int()) })),
    }),
    rows: z.array(z.strictObject({ ...stackName, ...totalFields })),
    rest: z.strictObject({ stacks: count, ...totalFields }).nullable(),
  })
  .meta({ id: 'Usage' })

export const choicesAnswer = z
  .strictObject({
    keys: z.array(keyLabel),
    more_keys: z.boolean(),
    models: z.array(z.string()),
    groups: z.array(z.string()),
    protocols: z.array(z.enum(PROTOCOLS)),
    members: z.array(z.strictObject({ id, name: z.string() })).nullable(),
    reasons: z.array(z.strictObject({ name: z.string(), why: words })),
  })
  .meta({ id: 'UsageChoices' })

export const overviewAnswer = z
  .strictObject({
    zone: z.string(),
    balance: money,
    held: money,
    available: money,
    low_balance: money.nullable(),
    is_low: z.boolean(),
    spent: z.strictObject({ today: money, month: money, last_month_to_date: money, week: money }),
    days_left: count.nullable(),
    usage: usageAnswer,
    requests: z.array(request).nullable(),
    failures: z.array(z.strictObject({ request: request.nullable(), refusal: refusal.nullable() })).nullable(),
    first_steps: z.strictObject({ money: z.boolean(), key: z.boolean(), request: z.boolean() }),
  })
  .meta({ id: 'Overview' })

export type Overview = z.output<typeof overviewAnswer>
export type Choices = z.output<typeof choicesAnswer>
export type Usage = z.output<typeof usageAnswer>
