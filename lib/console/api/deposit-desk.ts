/** The calls about deposits of USDT behind the page Payments: what operators see of them, and what they decide. */
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import { CSV_TYPE } from '../../operations/usage/own-export.ts'
import { Deposits, depositsFilter, rewindForm, sendBackForm, sentForm } from '../../pay/deposits.ts'
import { releaseForm, resolution } from '../../pay/admin.ts'
import * as kind from '../../config/scalars.ts'
import { REFUND_STATES } from '../../terms/pay.ts'
import { moneyText, timeText } from '../../operations/fields.ts'
import { address, depositFields, hash, tokens } from './deposits.ts'
import type { ConsoleDeps } from './shared.ts'

const anyFields = {
  ...depositFields,
  account: z.strictObject({ id: z.string(), name: z.string() }),
  address,
  sender: address,
  block: z.int(),
  decided_by: z.string().nullable(),
  decision: z.string().nullable(),
}
export const anyDeposit = z.strictObject(anyFields).meta({ id: 'AnyDeposit' })
export type AnyDeposit = z.output<typeof anyDeposit>

const allAnswer = z.strictObject({ data: z.array(anyDeposit), next: z.string().nullable() })

export const depositRefund = z
  .strictObject({
    id: z.string(),
    deposit: z.string(),
    amount: moneyText,
    tokens,
    receiver: address,
    state: z.enum(REFUND_STATES),
    tx: hash.nullable(),
    reason: z.string(),
    by: z.string(),
    ending: z.string().nullable(),
    at: timeText,
    ended_at: timeText.nullable(),
  })
  .meta({ id: 'DepositRefund', description: 'Tokens that an operator sends back from another wallet.' })
export type DepositRefund = z.output<typeof depositRefund>

export const wholeDeposit = z
  .strictObject({ ...anyFields, refundable: moneyText, refunds: z.array(depositRefund) })
  .meta({ id: 'WholeDeposit' })
export type WholeDeposit = z.output<typeof wholeDeposit>

const operators = { who: 'operator', scope: 'operator', effect: 'read' } as const
/** What moves money needs a person in a session, who has just proven who it is. */
const moves = { who: 'operator', scope: null, effect: 'danger', stepUp: true } as const
const deposits = (deps: ConsoleDeps) => new Deposits(deps)
const depositPath = z.strictObject({ deposit: z.string().max(64) })
const account = kind.text({ zh: '账户编号', en: 'the id of an account' })

export const DEPOSIT_DESK: Operation<ConsoleDeps>[] = [
  operation({
    ...operators,
    id: 'deposits.all',
    call: 'GET /deposits',
    summary: 'Deposits of USDT of all accounts, newest first.',
    query: depositsFilter,
    answer: { status: 200, body: allAnswer },
    refuses: [400, 404],
    run: (deps: ConsoleDeps, { query }) => deposits(deps).list(query, undefined),
  }),
  operation({
    ...operators,
    id: 'deposits.sweep',
    call: 'GET /deposits/addresses/csv',
    summary: 'The list for sweeping as CSV: every address with its number, and what it has got and has left.',
    limit: 'heavy',
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [404],
    run: async (deps: ConsoleDeps) => ({
      type: CSV_TYPE,
      file: 'usdt-addresses.csv',
      pieces: await deposits(deps).sweepList(),
    }),
  }),
  operation({
    ...operators,
    id: 'deposits.to_send',
    call: 'GET /deposits/refunds',
    summary: 'Refunds of USDT whose tokens nobody has said to be sent, oldest first.',
    answer: { status: 200, body: z.strictObject({ data: z.array(depositRefund) }) },
    refuses: [404],
    run: (deps: ConsoleDeps) => deposits(deps).toSend(),
  }),
  operation({
    ...operators,
    id: 'deposits.one',
    call: 'GET /deposits/{deposit}',
    summary: 'A deposit of USDT with what was sent back of it.',
    path: depositPath,
    answer: { status: 200, body: wholeDeposit },
    refuses: [404],
    run: (deps: ConsoleDeps, { path }) => deposits(deps).one(path.deposit),
  }),
  operation({
    ...moves,
    id: 'deposits.release',
    call: 'POST /deposits/release',
    summary: 'Credits the confirmed deposits of an account, however little they are worth. The reason is kept.',
    body: releaseForm.extend({ account }),
    answer: { status: 200, body: z.strictObject({ credited: moneyText }) },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, { body: { account: id, ...form }, caller }) =>
      deposits(deps).release(await deps.store.accounts.byPublicId(id), form, caller.actor),
  }),
  operation({
    ...moves,
    id: 'deposits.resolve',
    call: 'POST /deposits/{deposit}/resolution',
    summary: 'Resolves a deposit that is held: credits it, or closes it. The reason is kept.',
    path: depositPath,
    body: resolution,
    answer: { status: 200, body: wholeDeposit },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { path, body, caller }) =>
      deposits(deps).resolve(path.deposit, body.action, body.reason, caller.actor),
  }),
  operation({
    ...moves,
    id: 'deposits.refund',
    call: 'POST /deposits/{deposit}/refunds',
    summary:
      'Takes money of a deposit out of the balance, and says which tokens to send back from a wallet of the operator’s; the same reference is the same refund.',
    path: depositPath,
    body: sendBackForm,
    answer: { status: 201, body: depositRefund },
    refuses: [400, 404, 409],
    run: async (deps: ConsoleDeps, { path, body, caller }) =>
      (await deposits(deps).sendBack(path.deposit, body, caller.actor)).row,
  }),
  operation({
    ...moves,
    id: 'deposits.refund_end',
    call: 'POST /deposits/refunds/{refund}/end',
    summary: 'Ends a refund: the transaction that sent the tokens, or the reason why they are not sent.',
    path: z.strictObject({ refund: z.string().max(64) }),
    body: sentForm,
    answer: { status: 200, body: depositRefund },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { path, body, caller }) => deposits(deps).endSendBack(path.refund, body, caller.actor),
  }),
  operation({
    ...moves,
    id: 'deposits.rewind',
    call: 'POST /deposits/rewind',
    summary: 'Sets back how far the chain is read, to a block that is final at both nodes; what follows is read again.',
    body: rewindForm,
    answer: { status: 200, body: z.strictObject({ block: z.int(), hash }) },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { body, caller }) => deposits(deps).rewind(body, caller.actor),
  }),
]
