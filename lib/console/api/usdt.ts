/** The calls about USDT on the page Top up: the account's address, and the rate. What came of it stands among its orders. */
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import { NO_USDT, ownAddress, ownQuote, ownUsdt } from '../../pay/own.ts'
import * as kind from '../../config/scalars.ts'
import { moneyText, timeText } from '../../operations/fields.ts'
import type { ConsoleDeps } from './shared.ts'
import { address, hash, tokens } from './pay-answers.ts'
import { MAY } from '../../../web/shared/roles.ts'

const quoteAnswer = z
  .strictObject({ amount: moneyText, tokens, rate: moneyText, until: timeText })
  .meta({ id: 'UsdtQuote', description: 'The rate holds for one transfer, and for at most these tokens.' })

const usdtAnswer = z.strictObject({
  usdt: z
    .strictObject({
      chain_id: z.int(),
      contract: address,
      address: address.nullable(),
      minimum: moneyText,
      rate: z.strictObject({ rate: moneyText, until: timeText }).nullable(),
      quote: quoteAnswer.nullable(),
      waiting: moneyText.nullable().meta({ description: 'What paid orders below the minimum are worth together.' }),
    })
    .nullable()
    .meta({ description: 'null: USDT is not offered to this account.' }),
  seen: z
    .array(z.strictObject({ tx: hash, log_index: z.int().min(0), amount: tokens }))
    .meta({ description: 'Transfers that are not final yet.' }),
})
export type ShownUsdt = z.output<typeof usdtAnswer>

const addressAnswer = z.strictObject({ address })

/** The amount is a text until the quote is made: its bounds are settings. */
const newQuote = z.strictObject({
  amount: kind.scalar(
    { zh: '以元为单位的金额，最多两位小数', en: 'an amount of CNY with at most two decimal places' },
    { type: ['string', 'number'] },
    value => (typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined),
  ),
})

async function usdtOf(deps: ConsoleDeps) {
  const usdt = await (await deps.pay()).usdt()
  if (usdt === null) throw NO_USDT()
  return usdt
}

const pays = { who: MAY.pay, effect: 'write', scope: null } as const

export const USDT_CALLS: Operation<ConsoleDeps>[] = [
  operation({
    id: 'usdt.read',
    call: 'GET /accounts/{account}/usdt',
    summary: 'The account’s address for USDT, the rate, what a quote promises, and what is on its way.',
    who: MAY.readMoney,
    scope: 'read',
    answer: { status: 200, body: usdtAnswer },
    refuses: [409],
    run: async (deps: ConsoleDeps, { account }) => ownUsdt(await (await deps.pay()).usdt(), account),
  }),
  operation({
    id: 'usdt.address',
    call: 'POST /accounts/{account}/usdt/address',
    summary: 'The account’s address for USDT. It is issued at the first call and stays the same.',
    ...pays,
    answer: { status: 200, body: addressAnswer },
    refuses: [403, 404, 409],
    run: async (deps: ConsoleDeps, { account, caller }) =>
      ownAddress(await usdtOf(deps), account, { actor: caller.actor, operation: 'usdt.address' }),
  }),
  operation({
    id: 'usdt.quote',
    call: 'POST /accounts/{account}/usdt/quote',
    summary: 'Fixes the rate of USDT for half an hour, for one transfer. It ends the account’s earlier quote.',
    ...pays,
    body: newQuote,
    answer: { status: 201, body: quoteAnswer },
    refuses: [400, 403, 404, 409, 429],
    run: async (deps: ConsoleDeps, { account, body, caller }) =>
      ownQuote(await usdtOf(deps), account, body.amount, { actor: caller.actor, operation: 'usdt.quote' }),
  }),
]
