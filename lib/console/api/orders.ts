/** The calls behind the page Top up: the ways to pay, and the orders of an account. */
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import { CSV_TYPE } from '../../operations/csv.ts'
import { OperationError } from '../../operations/error.ts'
import {
  isOrderId,
  NO_ORDER,
  ordersFile,
  ordersFileQuery,
  ordersQuery,
  ownMethods,
  ownOrders,
  shownOrder,
} from '../../pay/own.ts'
import { scalar } from '../../config/scalars.ts'
import { CHECKOUT_METHODS } from '../../terms/pay.ts'
import type { Account } from '../../terms/records.ts'
import { moneyText, timeText } from '../../operations/fields.ts'
import { orderFields } from './pay-answers.ts'
import type { ConsoleDeps } from './shared.ts'
import { MAY } from '../../../web/shared/roles.ts'

const orderAnswer = z
  .strictObject({
    ...orderFields,
    redirect: z.string().nullable(),
    qr: z.string().nullable(),
    expires_at: timeText,
  })
  .meta({ id: 'Order' })

export type ShownOrder = z.output<typeof orderAnswer>

const ordersAnswer = z.strictObject({ data: z.array(orderAnswer), next: z.string().nullable() })
export type ShownOrders = z.output<typeof ordersAnswer>

const methodsAnswer = z.strictObject({
  data: z.array(
    z
      .strictObject({
        method: z.enum(CHECKOUT_METHODS),
        sandbox: z.boolean().meta({ description: 'No real money is paid.' }),
        currency: z.string(),
        minimum: moneyText,
        maximum: moneyText,
      })
      .meta({ id: 'PayMethod' }),
  ),
  day_maximum: moneyText,
  payer: z.string().nullable().meta({ description: 'Address of the page that plays the payer of a demo.' }),
})
export type ShownMethods = z.output<typeof methodsAnswer>

/** The amount is a text until the order is begun: which amounts there are depends on the method. */
const newOrder = z.strictObject({
  method: scalar({ zh: '支付方式', en: 'a way to pay' }, { type: 'string', enum: [...CHECKOUT_METHODS] }, value =>
    CHECKOUT_METHODS.find(method => method === value),
  ),
  amount: scalar(
    { zh: '以元为单位的金额，最多两位小数', en: 'an amount of CNY with at most two decimal places' },
    { type: ['string', 'number'] },
    value => (typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined),
  ),
})

/** Where the payer comes back to. It shows what our own row says, whatever the address claims. */
const returnTo = ({ config }: ConsoleDeps, { publicId }: Account): string =>
  `${config().public.main}/console/topup?account=${publicId}`

const reads = { who: MAY.readMoney, effect: 'read', scope: 'read' } as const

export const ORDERS: Operation<ConsoleDeps>[] = [
  operation({
    id: 'orders.methods',
    call: 'GET /accounts/{account}/pay-methods',
    summary: 'The ways to pay that are offered, with their least and largest amounts.',
    ...reads,
    answer: { status: 200, body: methodsAnswer },
    run: async (deps: ConsoleDeps, { account }) => ({
      ...(await ownMethods(await deps.pay(), account)),
      payer: deps.config().payer,
    }),
  }),
  operation({
    id: 'orders.list',
    call: 'GET /accounts/{account}/orders',
    summary: 'The orders of the account, newest first unless `sort` says otherwise.',
    ...reads,
    query: ordersQuery,
    answer: { status: 200, body: ordersAnswer },
    refuses: [400],
    run: async (deps: ConsoleDeps, { account, query }) => {
      const parts = { store: deps.store, service: await readyDesk(deps), returnTo: returnTo(deps, account) }
      return ownOrders(parts, account, query)
    },
  }),
  operation({
    id: 'orders.csv',
    call: 'GET /accounts/{account}/orders.csv',
    summary: 'All orders of the account as CSV, in the order of `sort`. The last line says how many there are.',
    ...reads,
    viewAs: false,
    limit: 'heavy',
    query: ordersFileQuery,
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [400],
    run: async (deps: ConsoleDeps, { account, query, caller }) => ({
      type: CSV_TYPE,
      file: 'orders.csv',
      pieces: ordersFile(deps.store, account, query, caller.language),
    }),
  }),
  operation({
    id: 'orders.create',
    call: 'POST /accounts/{account}/orders',
    summary:
      'Begins an order: the answer says where it is paid. The account is credited when the provider has proven the payment.',
    who: MAY.pay,
    body: newOrder,
    answer: { status: 201, body: orderAnswer },
    refuses: [400, 403, 409, 429],
    run: async (deps: ConsoleDeps, { account, body, caller }) => {
      const { orders } = await readyDesk(deps)
      const act = { actor: caller.actor, operation: 'orders.create' }
      return shownOrder(await orders.begin(account, body.method, body.amount, returnTo(deps, account), act))
    },
  }),
  operation({
    id: 'orders.cancel',
    call: 'POST /accounts/{account}/orders/{order}/cancel',
    summary:
      'Ends an order that is not paid, at its provider first. One that was paid meanwhile is credited: the answer says what became of it.',
    who: MAY.pay,
    path: z.strictObject({ order: z.string().max(64) }),
    answer: { status: 200, body: orderAnswer },
    refuses: [404, 409],
    run: async (deps: ConsoleDeps, { account, path, caller }) => {
      const { orders } = await readyDesk(deps)
      const act = { actor: caller.actor, operation: 'orders.cancel' }
      const { order: id } = path
      const order = isOrderId(id) ? await orders.cancel(account, id, returnTo(deps, account), act) : null
      if (order === null) throw new OperationError('missing', NO_ORDER)
      return shownOrder(order)
    },
  }),
  operation({
    id: 'orders.read',
    call: 'GET /accounts/{account}/orders/{order}',
    summary: 'An order as it stands; while it is open, the provider is asked about it.',
    ...reads,
    path: z.strictObject({ order: z.string().max(64) }),
    answer: { status: 200, body: orderAnswer },
    refuses: [404],
    run: async (deps: ConsoleDeps, { account, path }) => {
      const { orders } = await readyDesk(deps)
      const order = isOrderId(path.order) ? await orders.look(account, path.order, returnTo(deps, account)) : null
      if (order === null) throw new OperationError('missing', NO_ORDER)
      return shownOrder(order)
    },
  }),
]

/** With the methods of the config in force. */
async function readyDesk(deps: ConsoleDeps) {
  const desk = await deps.pay()
  await desk.methods()
  return desk
}
