/** The calls about an account's own deposits of USDT, on the page Top up. */
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import { OperationError } from '../../operations/error.ts'
import { ownAddress, ownDeposit, ownDeposits, ownQuote } from '../../pay/usdt/own-deposits.ts'
import * as kind from '../../config/scalars.ts'
import { moneyText, timeText } from '../../operations/fields.ts'
import type { ConsoleDeps } from './shared.ts'
import { MAY } from '../../../web/shared/roles.ts'

/** Tokens with up to eighteen places. */
export const tokens = z.string().regex(/^\d+(\.\d{1,18})?$/)
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
export const hash = z.string().regex(/^0x[0-9a-f]{64}$/)

export const depositFields = {
  id: z.string(),
  tx: hash,
  log_index: z.int().min(0),
  amount: tokens,
  state: z.enum(['final', 'confirmed', 'credited', 'held', 'closed']),
  worth: moneyText.nullable(),
  credited: moneyText,
  frozen: moneyText,
  refunded: moneyText,
  at: timeText,
  credited_at: timeText.nullable(),
}
const depositAnswer = z.strictObject(depositFields).meta({ id: 'Deposit' })
export type ShownDeposit = z.output<typeof depositAnswer>

const quoteAnswer = z
  .strictObject({ amount: moneyText, tokens, rate: moneyText, until: timeText })
  .meta({ id: 'DepositQuote', description: 'The rate holds for one transfer, and for at most these tokens.' })

const depositsAnswer = z.strictObject({
  usdt: z
    .strictObject({
      chain_id: z.int(),
      contract: address,
      address: address.nullable(),
      minimum: moneyText,
      rate: z.strictObject({ rate: moneyText, until: timeText }).nullable(),
      quote: quoteAnswer.nullable(),
      waiting: moneyText.nullable().meta({ description: 'What deposits below the minimum are worth together.' }),
    })
    .nullable()
    .meta({ description: 'null: USDT is not offered to this account.' }),
  data: z.array(depositAnswer),
  seen: z
    .array(z.strictObject({ tx: hash, log_index: z.int().min(0), amount: tokens }))
    .meta({ description: 'Transfers that are not final yet.' }),
  next: z.string().nullable(),
})
export type ShownDeposits = z.output<typeof depositsAnswer>

const addressAnswer = z.strictObject({ address })

/** The amount is a text until the quote is made: its bounds are settings. */
const newQuote = z.strictObject({
  amount: kind.scalar(
    { zh: '以元为单位的金额，最多两位小数', en: 'an amount of CNY with at most two decimal places' },
    { type: ['string', 'number'] },
    value => (typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined),
  ),
})

const beforeId = kind
  .scalar({ zh: '另一页的 next', en: 'the `next` of another page' }, { type: 'string' }, value => {
    const m = kind.matched(/^\d{1,15}$/, value)
    return m === null ? undefined : Number(m[0])
  })
  .optional()

const NOT_OFFERED = () => new OperationError('missing', { zh: '未开通 USDT 充值', en: 'USDT is not offered' })

async function usdtOf(deps: ConsoleDeps) {
  const usdt = await (await deps.pay()).usdt()
  if (usdt === null) throw NOT_OFFERED()
  return usdt
}

const pays = { who: MAY.pay, effect: 'write', scope: null } as const

export const DEPOSITS: Operation<ConsoleDeps>[] = [
  operation({
    id: 'deposits.list',
    call: 'GET /accounts/{account}/deposits',
    summary: 'The account’s address for USDT, the rate, and what became of each transfer; newest first.',
    who: MAY.readMoney,
    effect: 'read',
    scope: 'read',
    query: z.strictObject({ after: beforeId }),
    answer: { status: 200, body: depositsAnswer },
    refuses: [400, 409],
    run: async (deps: ConsoleDeps, { account, query }) =>
      ownDeposits(await (await deps.pay()).usdt(), account, query.after),
  }),
  operation({
    id: 'deposits.read',
    call: 'GET /accounts/{account}/deposits/{deposit}',
    summary: 'A deposit of USDT of the account.',
    who: MAY.readMoney,
    effect: 'read',
    scope: 'read',
    path: z.strictObject({ deposit: z.string().max(64) }),
    answer: { status: 200, body: depositAnswer },
    refuses: [404],
    run: async (deps: ConsoleDeps, { account, path }) => ownDeposit(await usdtOf(deps), account, path.deposit),
  }),
  operation({
    id: 'deposits.address',
    call: 'POST /accounts/{account}/deposits/address',
    summary: 'The account’s address for USDT. It is issued at the first call and stays the same.',
    ...pays,
    answer: { status: 200, body: addressAnswer },
    refuses: [403, 404, 409],
    run: async (deps: ConsoleDeps, { account, caller }) =>
      ownAddress(await usdtOf(deps), account, { actor: caller.actor, operation: 'deposits.address' }),
  }),
  operation({
    id: 'deposits.quote',
    call: 'POST /accounts/{account}/deposits/quote',
    summary: 'Fixes the rate of USDT for half an hour, for one transfer. It ends the account’s earlier quote.',
    ...pays,
    body: newQuote,
    answer: { status: 201, body: quoteAnswer },
    refuses: [400, 403, 404, 409, 429],
    run: async (deps: ConsoleDeps, { account, body, caller }) =>
      ownQuote(await usdtOf(deps), account, body.amount, { actor: caller.actor, operation: 'deposits.quote' }),
  }),
]
