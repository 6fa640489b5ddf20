/** What the calls behind the page Payments answer, as schemas: for the document of the API, and for the types of the page. */
import { z } from 'zod'
import {
  ORDER_STATES,
  PAY_EXCEPTIONS,
  PAY_METHODS,
  PROOF_SOURCES,
  REFUND_KINDS,
  REFUND_STATES,
} from '../../terms/pay.ts'
import { moneyText, timeText } from '../../operations/fields.ts'

const method = z.enum(PAY_METHODS)
const asked = z
  .string()
  .meta({ description: 'In the currency beside it: with two places, or with those that tokens need.' })
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
export const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
/** Tokens with up to eighteen places. */
export const tokens = z.string().regex(/^\d+(\.\d{1,18})?$/)

/** What everybody sees of an order who may see it. */
export const orderFields = {
  id: z.string(),
  method,
  state: z.enum(ORDER_STATES),
  amount: moneyText,
  asked,
  currency: z.string(),
  transaction: hash.nullable().meta({ description: 'Of tokens that came: their transaction on the chain.' }),
  late: z.boolean(),
  credited: moneyText,
  refunded: moneyText,
  frozen: moneyText,
  reversed: moneyText,
  created_at: timeText,
  held_until: timeText.nullable().meta({ description: 'The order is paid, and is credited then.' }),
  waits_for: z.enum(['rate', 'others']).nullable().meta({
    description: 'The order is paid, and waits for a rate, or for others that lift the sum over the minimum.',
  }),
  credited_at: timeText.nullable(),
}

const operatorsFields = {
  ...orderFields,
  account: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  sandbox: z.boolean(),
  paid_at: timeText.nullable(),
}

const listedOrder = z.strictObject(operatorsFields).meta({ id: 'PaidOrder' })
export type ListedOrder = z.output<typeof listedOrder>

export const ordersPage = z.strictObject({ data: z.array(listedOrder), next: z.string().nullable() })

export const exceptionAnswer = z
  .strictObject({
    id: z.string(),
    method: method,
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
export type ShownException = z.output<typeof exceptionAnswer>

export const exceptionsPage = z.strictObject({ data: z.array(exceptionAnswer), next: z.string().nullable() })

export const refundAnswer = z
  .strictObject({
    id: z.string(),
    kind: z.enum(REFUND_KINDS),
    amount: moneyText,
    state: z.enum(REFUND_STATES),
    provider_id: z.string().nullable(),
    order: z.string(),
    tokens: tokens.nullable().meta({ description: 'What an operator sends back; null: the provider sends the money.' }),
    receiver: address.nullable(),
    tx: hash.nullable(),
    ending: z.string().nullable().meta({ description: 'Why nothing was sent.' }),
    reason: z.string(),
    by: z.string(),
    at: timeText,
    ended_at: timeText.nullable(),
    check_at: timeText.nullable(),
  })
  .meta({ id: 'PayRefund' })
export type ShownRefund = z.output<typeof refundAnswer>
export const refundList = z.strictObject({ data: z.array(refundAnswer) })

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

const transfer = z
  .strictObject({
    chain_id: z.int(),
    log_index: z.int().min(0),
    address,
    sender: address,
    block: z.int(),
    node: z.int(),
    quoted: tokens.meta({ description: 'The part that has the rate of a quote.' }),
    quoted_rate: moneyText.nullable(),
  })
  .meta({ id: 'Transfer', description: 'Where the transfer stands on the chain that the order was made of.' })

export const wholeOrder = z
  .strictObject({
    ...operatorsFields,
    user: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
    merchant: z.string(),
    provider_id: z.string().nullable(),
    rate: moneyText.nullable(),
    expires_at: timeText,
    check_at: timeText.nullable(),
    checks: z.int(),
    transfer: transfer.nullable(),
    refundable: moneyText,
    proofs: z.array(proof),
    refunds: z.array(refundAnswer),
    exceptions: z.array(exceptionAnswer),
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
