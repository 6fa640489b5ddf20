/** The calls of the admin API about payments: orders, refunds, what waits for a person. */
import { z } from 'zod'
import * as kind from '../config/scalars.ts'
import {
  exceptionAnswer,
  exceptionsPage,
  hash,
  ordersPage,
  rates,
  refundAnswer,
  refundList,
  wholeOrder,
} from '../console/api/pay-answers.ts'
import { health } from '../console/api/pay-health.ts'
import { CSV_TYPE } from '../operations/csv.ts'
import * as pay from '../pay/admin.ts'
import { type AdminParts, adminCall, made, madeOnce, once } from './call.ts'

const ofAccount = { account: kind.name.optional() }

/** The account of a filter: undefined = none was named, null = there is none of this name. */
const named = async ({ deps }: AdminParts, account: string | undefined) =>
  account === undefined ? account : deps.store.accounts.byName(account)

export const PAYMENTS = [
  adminCall({
    id: 'payments.read',
    call: 'GET /payments',
    summary: 'How payments stand: orders by state, what waits for a person, and how each way to pay fares.',
    answer: health,
    run: ({ payments }) => payments.health(),
  }),
  adminCall({
    id: 'payments.orders',
    call: 'GET /orders',
    summary: 'Orders, newest first unless `sort` says otherwise.',
    query: pay.ordersFilter.extend(ofAccount),
    answer: ordersPage,
    refuses: [404],
    run: async (parts, { query: { account, ...filter } }) => parts.payments.orders(filter, await named(parts, account)),
  }),
  adminCall({
    id: 'payments.order',
    call: 'GET /orders/{id}',
    summary: 'An order with its proofs, its refunds and its exceptions.',
    answer: wholeOrder,
    run: ({ payments }, { path }) => payments.order(path.id),
  }),
  adminCall({
    id: 'payments.refund',
    call: 'POST /orders/{id}/refunds',
    summary: 'Sends money of an order back to the payer; the same reference is the same refund.',
    body: pay.refundForm,
    answer: madeOnce(refundAnswer),
    refuses: [409],
    run: async ({ payments }, { path, body, caller }) => once(await payments.refund(path.id, body, caller.actor)),
  }),
  adminCall({
    id: 'payments.release',
    call: 'POST /orders/{id}/release',
    summary: 'Credits an order now that is paid and held.',
    body: pay.releaseForm,
    answer: wholeOrder,
    refuses: [409],
    run: ({ payments }, { path, body, caller }) => payments.release(path.id, body, caller.actor),
  }),
  adminCall({
    id: 'payments.exceptions',
    call: 'GET /exceptions',
    summary: 'What does not fit and waits for a person, or what somebody decided about it; newest first.',
    query: pay.exceptionsFilter,
    answer: exceptionsPage,
    run: ({ payments }, { query }) => payments.exceptions(query),
  }),
  adminCall({
    id: 'payments.resolve',
    call: 'POST /exceptions/{id}/resolution',
    summary: 'Resolves an exception: credits what was received, or closes it.',
    body: pay.resolution,
    answer: exceptionAnswer,
    refuses: [409],
    run: ({ payments }, { path, body, caller }) => payments.resolve(path.id, body, caller.actor),
  }),
  adminCall({
    id: 'payments.rates',
    call: 'GET /rates',
    summary: 'The rates of the currencies in which ways to pay take money, newest first.',
    answer: rates,
    run: ({ payments }) => payments.rates(),
  }),
  adminCall({
    id: 'payments.set_rate',
    call: 'POST /rates',
    summary: 'Sets the rate of a currency from now until a time.',
    body: pay.rateForm,
    answer: made(rates),
    run: ({ payments }, { body, caller }) => payments.setRate(body, caller.actor),
  }),
  adminCall({
    id: 'payments.to_send',
    call: 'GET /refunds',
    summary: 'Refunds of USDT whose tokens nobody has said to be sent, oldest first.',
    answer: refundList,
    refuses: [404],
    run: ({ payments }) => payments.refundsToSend(),
  }),
  adminCall({
    id: 'payments.refund_end',
    call: 'POST /refunds/{id}/end',
    summary: 'Ends a refund of USDT: the transaction that sent the tokens, or the reason why they are not sent.',
    body: pay.sentForm,
    answer: refundAnswer,
    refuses: [409],
    run: ({ payments }, { path, body, caller }) => payments.endRefund(path.id, body, caller.actor),
  }),
  adminCall({
    id: 'payments.addresses',
    call: 'GET /usdt/addresses.csv',
    summary: 'The addresses of USDT as CSV: the list for sweeping.',
    answer: { body: 'stream', types: [CSV_TYPE] },
    refuses: [404],
    run: async ({ payments }) => ({ type: CSV_TYPE, pieces: await payments.sweepList() }),
  }),
  adminCall({
    id: 'payments.rewind',
    call: 'POST /usdt/rewind',
    summary: 'Sets back how far the chain is read, to a block that is final at both nodes.',
    body: pay.rewindForm,
    answer: z.strictObject({ block: z.int(), hash }),
    refuses: [404, 409],
    run: ({ payments }, { body, caller }) => payments.rewind(body, caller.actor),
  }),
]
