/** What the calls behind the page Payments answer, as schemas: for the document of the API, and for the types of the page. */
import { z } from 'zod'
import {
  ORDER_STATES,
  PAY_EXCEPTIONS,
  PAY_METHODS,
  PAY_WAYS,
  PROOF_SOURCES,
  REFUND_KINDS,
  REFUND_STATES,
} from '../../terms/pay.ts'
import { moneyText, timeText } from '../../operations/fields.ts'

const method = z.enum(PAY_METHODS)
const asked = z.string().meta({ description: 'In the currency beside it, with two places.' })

const orderFields = {
  id: z.string(),
  account: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  method,
  state: z.enum(ORDER_STATES),
  amount: moneyText,
  asked,
  currency: z.string(),
  late: z.boolean(),
  sandbox: z.boolean(),
  credited: moneyText,
  refunded: moneyText,
  frozen: moneyText,
  reversed: moneyText,
  created_at: timeText,
  paid_at: timeText.nullable(),
  held_until: timeText.nullable().meta({ description: 'The order is paid, and is credited then.' }),
  credited_at: timeText.nullable(),
}

const listedOrder = z.strictObject(orderFields).meta({ id: 'PaidOrder' })
export type ListedOrder = z.output<typeof listedOrder>

export const ordersPage = z.strictObject({ data: z.array(listedOrder), next: z.string().nullable() })

export const exception = z
  .strictObject({
    id: z.string(),
    method: z.enum(PAY_WAYS),
    kind: z.enum(PAY_EXCEPTIONS),
    order: z.string().nullable(),
    transaction: z.string().nullable(),
    reference: z.string(),
    amount: asked.nullable(),
    currency: z.string().nullable(),
    detail: z.string(),
    credit: moneyText.nullable().meta({ description: 'What a credit would book; null = it cannot be credited.' }),
    at: timeText,
    due_at: timeText.nullable().meta({ description: 'Until when somebody has to act.' }),
    resolved_at: timeText.nullable(),
    resolved_by: z.string().nullable(),
    resolution: z.string().nullable(),
  })
  .meta({ id: 'PayException' })
export type ShownException = z.output<typeof exception>

export const exceptionsPage = z.strictObject({ data: z.array(exception), next: z.string().nullable() })

export const refund = z
  .strictObject({
    id: z.string(),
    kind: z.enum(REFUND_KINDS),
    amount: moneyText,
    state: z.enum(REFUND_STATES),
    provider_id: z.string().nullable(),
    reason: z.string(),
    by: z.string(),
    at: timeText,
    ended_at: timeText.nullable(),
    check_at: timeText.nullable(),
  })
  .meta({ id: 'PayRefund' })

const proof = z.strictObject({
  transaction: z.string(),
  amount: asked,
  currency: z.string(),
  source: z.enum(PROOF_SOURCES),
  at: timeText,
  paid_at: timeText.nullable(),
  digest: z.string().nullable(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
})

export const wholeOrder = z
  .strictObject({
    ...orderFields,
    user: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
    merchant: z.string(),
    provider_id: z.string().nullable(),
    rate: moneyText.nullable(),
    expires_at: timeText,
    check_at: timeText.nullable(),
    checks: z.int(),
    refundable: moneyText,
    proofs: z.array(proof),
    refunds: z.array(refund),
    exceptions: z.array(exception),
  })
  .meta({ id: 'WholeOrder' })
export type WholeOrder = z.output<typeof wholeOrder>

export const rates = z.strictObject({
  data: z.array(
    z.strictObject({
      currency: z.string(),
      rate: moneyText,
      from: timeText,
      until: timeText,
      by: z.string(),
      in_force: z.boolean(),
    }),
  ),
  currencies: z.array(z.string()),
})
export type PayRates = z.output<typeof rates>
