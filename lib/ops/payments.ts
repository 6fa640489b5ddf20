/** The calls of the admin API about payments: orders, deposits, refunds, and what waits for a person. */
import { z } from 'zod'
import * as kind from '../config/scalars.ts'
import { anyDeposit, depositRefund, wholeDeposit } from '../console/api/deposit-desk.ts'
import { hash } from '../console/api/deposits.ts'
import { exception, exceptionsPage, ordersPage, rates, refund, wholeOrder } from '../console/api/pay-answers.ts'
import { health } from '../console/api/pay-health.ts'
import { CSV_TYPE } from '../operations/usage/own-export.ts'
import { moneyText } from '../operations/fields.ts'
import * as usdt from '../pay/deposits.ts'
import * as pay from '../pay/admin.ts'
import { type AdminParts, adminCall, list, made, madeOnce, once, page } from './call.ts'

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
    summary: 'Orders, newest first.',
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
    answer: madeOnce(refund),
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
    answer: exception,
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
    id: 'deposits.list',
    call: 'GET /deposits',
    summary: 'Deposits of USDT, newest first.',
    query: usdt.depositsFilter.extend(ofAccount),
    answer: page(anyDeposit),
    refuses: [404],
    run: async (parts, { query: { account, ...filter } }) => parts.deposits.list(filter, await named(parts, account)),
  }),
  adminCall({
    id: 'deposits.to_send',
    call: 'GET /deposits/refunds',
    summary: 'Refunds of USDT whose tokens nobody has said to be sent.',
    answer: list(depositRefund),
    refuses: [404],
    run: ({ deposits }) => deposits.toSend(),
  }),
  adminCall({
    id: 'deposits.sweep',
    call: 'GET /deposits/addresses.csv',
    summary: 'The list for sweeping as CSV.',
    answer: { body: 'stream', types: [CSV_TYPE] },
    refuses: [404],
    run: async ({ deposits }) => ({ type: CSV_TYPE, pieces: await deposits.sweepList() }),
  }),
  adminCall({
    id: 'deposits.rewind',
    call: 'POST /deposits/rewind',
    summary: 'Sets back how far the chain is read, to a block that is final at both nodes.',
    body: usdt.rewindForm,
    answer: z.strictObject({ block: z.int(), hash }),
    refuses: [404, 409],
    run: ({ deposits }, { body, caller }) => deposits.rewind(body, caller.actor),
  }),
  adminCall({
    id: 'deposits.one',
    call: 'GET /deposits/{id}',
    summary: 'A deposit of USDT with what was sent back of it.',
    answer: wholeDeposit,
    run: ({ deposits }, { path }) => deposits.one(path.id),
  }),
  adminCall({
    id: 'deposits.resolve',
    call: 'POST /deposits/{id}/resolution',
    summary: 'Resolves a deposit that is held: credits it, or closes it.',
    body: pay.resolution,
    answer: wholeDeposit,
    refuses: [409],
    run: ({ deposits }, { path, body, caller }) => deposits.resolve(path.id, body.action, body.reason, caller.actor),
  }),
  adminCall({
    id: 'deposits.refund',
    call: 'POST /deposits/{id}/refunds',
    summary: 'Takes money of a deposit out of the balance, and says which tokens to send back.',
    body: usdt.sendBackForm,
    answer: madeOnce(depositRefund),
    refuses: [409],
    run: async ({ deposits }, { path, body, caller }) => once(await deposits.sendBack(path.id, body, caller.actor)),
  }),
  adminCall({
    id: 'deposits.refund_end',
    call: 'POST /deposits/refunds/{id}/end',
    summary: 'Ends a refund: the transaction that sent the tokens, or the reason why they are not sent.',
    body: usdt.sentForm,
    answer: depositRefund,
    refuses: [409],
    run: ({ deposits }, { path, body, caller }) => deposits.endSendBack(path.id, body, caller.actor),
  }),
  adminCall({
    id: 'deposits.release',
    call: 'POST /accounts/{name}/deposits/release',
    summary: 'Credits the confirmed deposits of an account, however little they are worth.',
    body: pay.releaseForm,
    answer: z.strictObject({ credited: moneyText }),
    run: async ({ deps, deposits }, { path, body, caller }) =>
      deposits.release(await deps.store.accounts.byName(path.name), body, caller.actor),
  }),
]
