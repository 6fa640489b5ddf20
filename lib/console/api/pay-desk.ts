/**
 * The calls about payments of all accounts: what operators see of orders, and how they resolve what does not fit. They are those behind the
 * page Payments, and the admin API has them, too.
 */
import { z } from 'zod'
import { type Operation, madeOnce, once, operation } from '../../api/operation.ts'
import {
  exceptionsFilter,
  ordersFilter,
  PaymentsAdmin,
  type PaymentsAdminDeps,
  rateForm,
  refundForm,
  releaseForm,
  resolution,
  rewindForm,
  sentForm,
} from '../../pay/admin.ts'
import { CSV_TYPE } from '../../operations/csv.ts'
import * as kind from '../../config/scalars.ts'
import type { Account } from '../../terms/records.ts'
import { rowId } from './shared.ts'
import {
  exceptionAnswer,
  exceptionsPage,
  hash,
  ordersPage,
  rates,
  refundAnswer,
  refundList,
  wholeOrder,
} from './pay-answers.ts'
import { health } from './pay-health.ts'

const operators = { who: 'operator', scope: 'operator', effect: 'read' } as const
/** What moves money needs a person in a session, who has just proven who it is. */
const moves = { who: 'operator', scope: null, effect: 'danger', stepUp: true } as const
const payments = (deps: PaymentsAdminDeps) => new PaymentsAdmin(deps)

/** `accountOf`: finds the account that a filter names; null = there is none of this name. */
export const paymentCalls = (
  accountOf: (deps: PaymentsAdminDeps, account: string) => Promise<Account | null>,
): Operation<PaymentsAdminDeps>[] => [
  operation({
    ...operators,
    id: 'payments.read',
    call: 'GET /payments',
    summary: 'How payments stand: orders by state, what waits for a person, and how each way to pay fares.',
    limit: 'heavy',
    answer: { status: 200, body: health },
    run: (deps: PaymentsAdminDeps) => payments(deps).health(),
  }),
  operation({
    ...operators,
    id: 'payments.orders',
    call: 'GET /payments/orders',
    summary: 'The orders of all accounts, newest first unless `sort` says otherwise.',
    query: ordersFilter.extend({ account: kind.name.optional() }),
    answer: { status: 200, body: ordersPage },
    refuses: [400, 404],
    run: async (deps: PaymentsAdminDeps, { query: { account, ...filter } }) =>
      payments(deps).orders(filter, account === undefined ? account : await accountOf(deps, account)),
  }),
  operation({
    ...operators,
    id: 'payments.order',
    call: 'GET /payments/orders/{id}',
    summary: 'An order with its proofs, its refunds and its exceptions.',
    path: rowId,
    answer: { status: 200, body: wholeOrder },
    refuses: [404],
    run: (deps: PaymentsAdminDeps, { path }) => payments(deps).order(path.id),
  }),
  operation({
    ...moves,
    id: 'payments.refund',
    call: 'POST /payments/orders/{id}/refunds',
    summary:
      'Sends money of an order back to the payer. It is out of the balance before the provider is asked; the same reference is the same refund. Of USDT the answer says which tokens to send to the receiver.',
    path: rowId,
    body: refundForm,
    answer: madeOnce(refundAnswer),
    refuses: [400, 404, 409],
    run: async (deps: PaymentsAdminDeps, { path, body, caller }) =>
      once(await payments(deps).refund(path.id, body, caller.actor)),
  }),
  operation({
    ...moves,
    id: 'payments.release',
    call: 'POST /payments/orders/{id}/release',
    summary: 'Credits an order now that is paid and held. The reason is kept.',
    path: rowId,
    body: releaseForm,
    answer: { status: 200, body: wholeOrder },
    refuses: [400, 404, 409],
    run: (deps: PaymentsAdminDeps, { path, body, caller }) => payments(deps).release(path.id, body, caller.actor),
  }),
  operation({
    ...operators,
    id: 'payments.exceptions',
    call: 'GET /payments/exceptions',
    summary: 'What does not fit and waits for a person, or what somebody decided about it; newest first.',
    query: exceptionsFilter,
    answer: { status: 200, body: exceptionsPage },
    refuses: [400],
    run: (deps: PaymentsAdminDeps, { query }) => payments(deps).exceptions(query),
  }),
  operation({
    ...moves,
    id: 'payments.resolve',
    call: 'POST /payments/exceptions/{id}/resolution',
    summary: 'Resolves an exception: credits what was received, or closes it. The reason is kept.',
    path: rowId,
    body: resolution,
    answer: { status: 200, body: exceptionAnswer },
    refuses: [400, 404, 409],
    run: (deps: PaymentsAdminDeps, { path, body, caller }) => payments(deps).resolve(path.id, body, caller.actor),
  }),
  operation({
    ...operators,
    id: 'payments.to_send',
    call: 'GET /payments/refunds',
    summary: 'Refunds of USDT whose tokens nobody has said to be sent, oldest first.',
    answer: { status: 200, body: refundList },
    refuses: [404],
    run: (deps: PaymentsAdminDeps) => payments(deps).refundsToSend(),
  }),
  operation({
    ...moves,
    id: 'payments.refund_end',
    call: 'POST /payments/refunds/{id}/end',
    summary: 'Ends a refund of USDT: the transaction that sent the tokens, or the reason why they are not sent.',
    path: rowId,
    body: sentForm,
    answer: { status: 200, body: refundAnswer },
    refuses: [400, 404, 409],
    run: (deps: PaymentsAdminDeps, { path, body, caller }) => payments(deps).endRefund(path.id, body, caller.actor),
  }),
  operation({
    ...operators,
    id: 'payments.addresses',
    call: 'GET /payments/usdt/addresses/csv',
    summary: 'The list for sweeping as CSV: every address of USDT with its number, and what it has got and has left.',
    limit: 'heavy',
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [404],
    run: async (deps: PaymentsAdminDeps) => ({
      type: CSV_TYPE,
      file: 'usdt-addresses.csv',
      pieces: await payments(deps).sweepList(),
    }),
  }),
  operation({
    ...moves,
    id: 'payments.rewind',
    call: 'POST /payments/usdt/rewind',
    summary: 'Sets back how far the chain is read, to a block that is final at both nodes; what follows is read again.',
    body: rewindForm,
    answer: { status: 200, body: z.strictObject({ block: z.int(), hash }) },
    refuses: [400, 404, 409],
    run: (deps: PaymentsAdminDeps, { body, caller }) => payments(deps).rewind(body, caller.actor),
  }),
  operation({
    ...operators,
    id: 'payments.rates',
    call: 'GET /payments/rates',
    summary: 'The rates of the currencies in which ways to pay take money, newest first.',
    answer: { status: 200, body: rates },
    run: (deps: PaymentsAdminDeps) => payments(deps).rates(),
  }),
  operation({
    ...moves,
    id: 'payments.set_rate',
    call: 'POST /payments/rates',
    summary: 'Sets the rate of a currency from now until a time. Orders keep the rate of their beginning.',
    body: rateForm,
    answer: { status: 201, body: rates },
    refuses: [400],
    run: (deps: PaymentsAdminDeps, { body, caller }) => payments(deps).setRate(body, caller.actor),
  }),
]
