/** The calls behind the page Payments: what operators see of orders, and how they resolve what does not fit. */
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import {
  exceptionsFilter,
  ordersFilter,
  Payments,
  rateForm,
  refundForm,
  releaseForm,
  resolution,
} from '../../pay/payments.ts'
import * as kind from '../../terms/config-scalars.ts'
import {
  ORDER_STATES,
  PAY_EXCEPTIONS,
  PAY_METHODS,
  PAY_WAYS,
  PROOF_SOURCES,
  REFUND_KINDS,
  REFUND_STATES,
} from '../../terms/pay.ts'
import type { ConsoleDeps } from './deps.ts'
import { health } from './pay-health.ts'
import { money, time } from './usage-answers.ts'

const method = z.enum(PAY_METHODS)
const asked = z.string().meta({ description: 'In the currency beside it, with two places.' })

const orderFields = {
  id: z.string(),
  account: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  method,
  state: z.enum(ORDER_STATES),
  amount: money,
  asked,
  currency: z.string(),
  late: z.boolean(),
  sandbox: z.boolean(),
  credited: money,
  refunded: money,
  frozen: money,
  reversed: money,
  created_at: time,
  paid_at: time.nullable(),
  held_until: time.nullable().meta({ description: 'The order is paid, and is credited then.' }),
  credited_at: time.nullable(),
}
const listedOrder = z.strictObject(orderFields).meta({ id: 'PaidOrder' })
export type ListedOrder = z.output<typeof listedOrder>
const ordersPage = z.strictObject({ data: z.array(listedOrder), next: z.string().nullable() })

const exception = z
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
    credit: money.nullable().meta({ description: 'What a credit would book; null = it cannot be credited.' }),
    at: time,
    due_at: time.nullable().meta({ description: 'Until when somebody has to act.' }),
    resolved_at: time.nullable(),
    resolved_by: z.string().nullable(),
    resolution: z.string().nullable(),
  })
  .meta({ id: 'PayException' })
export type ShownException = z.output<typeof exception>
const exceptionsPage = z.strictObject({ data: z.array(exception), next: z.string().nullable() })

const refund = z
  .strictObject({
    id: z.string(),
    kind: z.enum(REFUND_KINDS),
    amount: money,
    state: z.enum(REFUND_STATES),
    provider_id: z.string().nullable(),
    reason: z.string(),
    by: z.string(),
    at: time,
    ended_at: time.nullable(),
    check_at: time.nullable(),
  })
  .meta({ id: 'PayRefund' })

const proof = z.strictObject({
  transaction: z.string(),
  amount: asked,
  currency: z.string(),
  source: z.enum(PROOF_SOURCES),
  at: time,
  paid_at: time.nullable(),
  digest: z.string().nullable(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
})

const wholeOrder = z
  .strictObject({
    ...orderFields,
    user: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
    merchant: z.string(),
    provider_id: z.string().nullable(),
    rate: money.nullable(),
    expires_at: time,
    check_at: time.nullable(),
    checks: z.int(),
    refundable: money,
    proofs: z.array(proof),
    refunds: z.array(refund),
    exceptions: z.array(exception),
  })
  .meta({ id: 'WholeOrder' })
export type WholeOrder = z.output<typeof wholeOrder>

const rates = z.strictObject({
  data: z.array(
    z.strictObject({
      currency: z.string(),
      rate: money,
      from: time,
      until: time,
      by: z.string(),
      in_force: z.boolean(),
    }),
  ),
  currencies: z.array(z.string()),
})
export type PayRates = z.output<typeof rates>

const operators = { who: 'operator', scope: 'operator', effect: 'read' } as const
/** What moves money needs a person in a session, who has just proven who it is. */
const moves = { who: 'operator', scope: null, effect: 'danger', stepUp: true } as const
const payments = (deps: ConsoleDeps) => new Payments(deps)
const orderPath = z.strictObject({ order: z.string().max(64) })

export const PAY_DESK: Operation<ConsoleDeps>[] = [
  operation({
    ...operators,
    id: 'payments.read',
    call: 'GET /payments',
    summary: 'How payments stand: orders by state, what waits for a person, and how each way to pay fares.',
    limit: 'heavy',
    answer: { status: 200, body: health },
    run: (deps: ConsoleDeps) => payments(deps).health(),
  }),
  operation({
    ...operators,
    id: 'payments.orders',
    call: 'GET /payments/orders',
    summary: 'The orders of all accounts, newest first.',
    query: ordersFilter.extend({ account: kind.name.optional() }),
    answer: { status: 200, body: ordersPage },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, { query: { account, ...filter } }) =>
      payments(deps).orders(filter, account === undefined ? account : await deps.store.accountByPublicId(account)),
  }),
  operation({
    ...operators,
    id: 'payments.order',
    call: 'GET /payments/orders/{order}',
    summary: 'An order with its proofs, its refunds and its exceptions.',
    path: orderPath,
    answer: { status: 200, body: wholeOrder },
    refuses: [404],
    run: (deps: ConsoleDeps, { path }) => payments(deps).order(path.order),
  }),
  operation({
    ...moves,
    id: 'payments.refund',
    call: 'POST /payments/orders/{order}/refunds',
    summary:
      'Sends money of an order back to the payer. It is out of the balance before the provider is asked; the same reference is the same refund.',
    path: orderPath,
    body: refundForm,
    answer: { status: 201, body: refund },
    refuses: [400, 404, 409],
    run: async (deps: ConsoleDeps, { path, body, caller }) =>
      (await payments(deps).refund(path.order, body, caller.actor)).row,
  }),
  operation({
    ...moves,
    id: 'payments.release',
    call: 'POST /payments/orders/{order}/release',
    summary: 'Credits an order now that is paid and held. The reason is kept.',
    path: orderPath,
    body: releaseForm,
    answer: { status: 200, body: wholeOrder },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { path, body, caller }) => payments(deps).release(path.order, body, caller.actor),
  }),
  operation({
    ...operators,
    id: 'payments.exceptions',
    call: 'GET /payments/exceptions',
    summary: 'What does not fit and waits for a person, or what somebody decided about it; newest first.',
    query: exceptionsFilter,
    answer: { status: 200, body: exceptionsPage },
    refuses: [400],
    run: (deps: ConsoleDeps, { query }) => payments(deps).exceptions(query),
  }),
  operation({
    ...moves,
    id: 'payments.resolve',
    call: 'POST /payments/exceptions/{exception}/resolution',
    summary: 'Resolves an exception: credits what was received, or closes it. The reason is kept.',
    path: z.strictObject({ exception: z.string().max(64) }),
    body: resolution,
    answer: { status: 200, body: exception },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { path, body, caller }) => payments(deps).resolve(path.exception, body, caller.actor),
  }),
  operation({
    ...operators,
    id: 'payments.rates',
    call: 'GET /payments/rates',
    summary: 'The rates of the currencies in which ways to pay take money, newest first.',
    answer: { status: 200, body: rates },
    run: (deps: ConsoleDeps) => payments(deps).rates(),
  }),
  operation({
    ...moves,
    id: 'payments.set_rate',
    call: 'POST /payments/rates',
    summary: 'Sets the rate of a currency from now until a time. Orders keep the rate of their beginning.',
    body: rateForm,
    answer: { status: 201, body: rates },
    refuses: [400],
    run: (deps: ConsoleDeps, { body, caller }) => payments(deps).setRate(body, caller.actor),
  }),
]
