/** What the calls on usage answer, as schemas: for the document of the API, and for the tests, which check every answer. */
import { z } from 'zod'
import { EMPTY } from '../../operations/own-requests.ts'
import { STACKS } from '../../operations/own-usage.ts'
import { BASES, ENDS, FEES, PROTOCOLS, TOKEN_CLASSES } from '../../terms/records.ts'

/** CNY with six places. */
export const money = z.string().regex(/^-?\d+\.\d{6}$/)
export const time = z.iso.datetime({ precision: 3 })
const count = z.int().min(0)
const ms = z.int().min(0)
export const words = z.strictObject({ zh: z.string(), en: z.string() })
const id = z.string().regex(/^[0-9a-z]{1,64}$/)
const requestId = z.string().regex(/^[0-9a-z]{1,64}$/)
const OUTCOME = z.enum(['ok', 'client', 'upstream'])
const share = z.number().min(0).max(1).nullable()

const keyLabel = z.strictObject({ id, name: z.string(), deleted: z.boolean() }).meta({ id: 'KeyLabel' })

const counts = {
  input: count,
  cache_read: count,
  cache_write_5m: count,
  cache_write_1h: count,
  output: count,
  images: count,
}

const requestFields = {
  request_id: requestId,
  at: time,
  key: keyLabel.nullable(),
  model: z.string(),
  group: z.string(),
  protocol: z.enum(PROTOCOLS),
  status: z.int(),
  end: z.enum(ENDS),
  outcome: OUTCOME,
  basis: z.enum(BASES),
  ...counts,
  charge: money,
  first_byte_ms: ms.nullable(),
  duration_ms: ms,
  client_request_id: z.string().nullable(),
}
const request = z.strictObject(requestFields).meta({ id: 'Request' })

const refusal = z
  .strictObject({
    request_id: requestId,
    at: time,
    key: keyLabel.nullable(),
    model: z.string().nullable(),
    reason: z.string(),
    status: z.int(),
    address: z.string(),
    why: words,
    todo: words,
  })
  .meta({ id: 'Refusal' })

const line = z
  .strictObject({
    model: z.string(),
    price_version: z.int().nullable(),
    price_since: time.nullable(),
    list: z.union([z.literal('base'), z.int()]),
    tier: z.string(),
    tier_name: z.string().nullable(),
    class: z.enum([...TOKEN_CLASSES, ...FEES]),
    count: z.number(),
    price: money,
    per: z.int(),
    amount: z.string(),
  })
  .meta({ id: 'ReceiptLine' })

const receipt = z
  .strictObject({
    ...requestFields,
    booked_at: time,
    lines: z.array(line),
    sum: z.string(),
    multiplier: z.string().nullable(),
    held: money.nullable(),
    released: money.nullable(),
    asked_ms: ms.nullable(),
    attempts: count,
    answer_id: z.string().nullable(),
    ended: words,
    rests_on: words,
  })
  .meta({ id: 'Receipt' })

const internal = z.strictObject({
  channel: z.string(),
  via: z.enum(PROTOCOLS).nullable(),
  upstream_id: z.string().nullable(),
  cost: money.nullable(),
  margin: money.nullable(),
  attempts: z.array(
    z.strictObject({ channel: z.string(), status: z.int(), error: z.string().nullable(), ms: z.number() }),
  ),
  uncharged: z.array(
    z.strictObject({
      request_id: z.string(),
      channel: z.string(),
      status: z.int(),
      cost: money.nullable(),
      upstream_id: z.string().nullable(),
    }),
  ),
})

export const receiptAnswer = z.strictObject({
  request: receipt.nullable(),
  refusal: refusal.nullable(),
  internal: internal.nullable(),
})

const page = { next: z.string().nullable(), scanned_to: time.nullable() }
export const requestsAnswer = z.strictObject({
  data: z.array(request),
  ...page,
  empty: z.enum(EMPTY).nullable(),
  pruned_before: time.nullable(),
  refusal: refusal.nullable(),
})
export const refusalsAnswer = z.strictObject({ data: z.array(refusal), ...page })

const totalFields = {
  requests: count,
  ...counts,
  searches: count,
  seconds: z.number(),
  characters: count,
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

const entry = z
  .strictObject({
    booked_at: time,
    kind: z.string(),
    reference: z.string().nullable(),
    amount: money,
    balance: money,
    note: z.string().nullable(),
  })
  .meta({ id: 'Entry' })

export const entriesAnswer = z.strictObject({
  zone: z.string(),
  data: z.array(entry),
  next: z.string().nullable(),
})

const balances = { balance: money, held: money, available: money, low_balance: money.nullable() }
export const balanceAnswer = z.strictObject(balances).meta({ id: 'Balance' })
export const lowBalanceAnswer = z.strictObject({ low_balance: money.nullable() })

const MONTH = z.string().regex(/^\d{4}-\d\d$/)
const monthFields = { month: MONTH, from: time, to: time, closed: z.boolean(), opening: money, closing: money }

export const monthsAnswer = z.strictObject({
  zone: z.string(),
  data: z.array(z.strictObject(monthFields).meta({ id: 'Month' })),
  next: MONTH.nullable(),
})

export const statementAnswer = z
  .strictObject({
    account: z.string(),
    zone: z.string(),
    ...monthFields,
    credits: money,
    charges: money,
    lines: z.array(entry),
    models: z.array(
      z.strictObject({
        model: z.string(),
        requests: count,
        input: count,
        cache_read: count,
        cache_write_5m: count,
        cache_write_1h: count,
        output: count,
        charge: money,
      }),
    ),
    shifted: money,
  })
  .meta({ id: 'Statement' })

export type Overview = z.output<typeof overviewAnswer>
export type Choices = z.output<typeof choicesAnswer>
export type Usage = z.output<typeof usageAnswer>
export type Request = z.output<typeof request>
export type Refusal = z.output<typeof refusal>
export type Receipt = z.output<typeof receiptAnswer>
export type Requests = z.output<typeof requestsAnswer>
export type Entries = z.output<typeof entriesAnswer>
export type Months = z.output<typeof monthsAnswer>
export type Statement = z.output<typeof statementAnswer>
export type Balance = z.output<typeof balanceAnswer>
