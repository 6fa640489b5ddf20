/** What the calls on requests answer, as schemas: for the document of the API, and for the tests, which check every answer. */
import { z } from 'zod'
import { EMPTY } from '../../operations/usage/own-requests.ts'
import { BASES, ENDS, FEES, isToolFee, PROTOCOLS, TOKEN_CLASSES, type ToolFee } from '../../terms/records.ts'
import { bothWords, keyLabel, moneyText, timeText, usageCounts, wholeCount, wholeMs } from '../../operations/fields.ts'

const requestId = z.string().regex(/^[0-9a-z]{1,64}$/)
const OUTCOME = z.enum(['ok', 'client', 'upstream'])

const requestFields = {
  request_id: requestId,
  at: timeText,
  key: keyLabel.nullable(),
  model: z.string(),
  group: z.string(),
  protocol: z.enum(PROTOCOLS),
  status: z.int(),
  end: z.enum(ENDS),
  outcome: OUTCOME,
  basis: z.enum(BASES),
  ...usageCounts,
  charge: moneyText,
  first_byte_ms: wholeMs.nullable(),
  duration_ms: wholeMs,
  client_request_id: z.string().nullable(),
}

export const request = z.strictObject(requestFields).meta({ id: 'Request' })
export const refusal = z
  .strictObject({
    request_id: requestId,
    at: timeText,
    key: keyLabel.nullable(),
    model: z.string().nullable(),
    reason: z.string(),
    status: z.int(),
    address: z.string(),
    why: bothWords,
    todo: bothWords,
  })
  .meta({ id: 'Refusal' })

/** What a tool of the upstream costs by the piece. */
const toolFee = z
  .custom<ToolFee>(name => typeof name === 'string' && isToolFee(name))
  .meta({
    description: '`maps`, `code_execution`, `container.` and a size, or `tools.` and a name.',
    type: 'string',
    pattern: '^(maps|code_execution|container\\..+|tools\\..+)$',
  })

const line = z
  .strictObject({
    model: z.string(),
    price_version: z.int().nullable(),
    price_since: timeText.nullable(),
    list: z.union([z.literal('base'), z.int()]),
    tier: z.string(),
    tier_name: z.string().nullable(),
    class: z.union([z.enum([...TOKEN_CLASSES, ...FEES]), toolFee]),
    count: z.number(),
    price: moneyText,
    per: z.int(),
    amount: z.string(),
  })
  .meta({ id: 'ReceiptLine' })

const receipt = z
  .strictObject({
    ...requestFields,
    booked_at: timeText,
    lines: z.array(line),
    sum: z.string(),
    multiplier: z.string().nullable(),
    held: moneyText.nullable(),
    released: moneyText.nullable(),
    hidden_ratio: z.string().nullable(),
    asked_ms: wholeMs.nullable(),
    attempts: wholeCount,
    answer_id: z.string().nullable(),
    disputed: moneyText,
    ended: bothWords,
    rests_on: bothWords,
  })
  .meta({ id: 'Receipt' })

const internal = z.strictObject({
  channel: z.string(),
  via: z.enum(PROTOCOLS).nullable(),
  upstream_id: z.string().nullable(),
  cost: moneyText.nullable(),
  margin: moneyText.nullable(),
  attempts: z.array(
    z.strictObject({ channel: z.string(), status: z.int(), error: z.string().nullable(), ms: z.number() }),
  ),
  uncharged: z.array(
    z.strictObject({
      request_id: z.string(),
      channel: z.string(),
      status: z.int(),
      cost: moneyText.nullable(),
      upstream_id: z.string().nullable(),
    }),
  ),
})

export const receiptAnswer = z.strictObject({
  request: receipt.nullable(),
  refusal: refusal.nullable(),
  internal: internal.nullable(),
})

const page = { next: z.string().nullable(), scanned_to: timeText.nullable() }
export const requestsAnswer = z.strictObject({
  data: z.array(request),
  ...page,
  empty: z.enum(EMPTY).nullable(),
  pruned_before: timeText.nullable(),
  refusal: refusal.nullable(),
})

export const refusalsAnswer = z.strictObject({ data: z.array(refusal), ...page })

export type Request = z.output<typeof request>
export type Refusal = z.output<typeof refusal>
export type Receipt = z.output<typeof receiptAnswer>
export type Requests = z.output<typeof requestsAnswer>
