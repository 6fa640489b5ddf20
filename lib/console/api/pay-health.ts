/** What operators are told of how payments stand. */
import { z } from 'zod'
import { DOUBTS } from '../../pay/payments.ts'
import { DEPOSIT_STATES } from '../../terms/deposits.ts'
import { ORDER_STATES, PAY_METHODS } from '../../terms/pay.ts'
import { money, time } from './answer-fields.ts'

const methodHealth = z
  .strictObject({
    method: z.enum(PAY_METHODS),
    configured: z.boolean(),
    sandbox: z.boolean(),
    currency: z.string().nullable(),
    minimum: money.nullable(),
    callback_at: time.nullable(),
    query_at: time.nullable(),
    query_failed_at: time.nullable(),
    bill_day: z.string().nullable(),
    bill_at: time.nullable(),
    certificates: z.strictObject({ until: time, end_soon: z.boolean() }).nullable().meta({
      description:
        'When the first of the certificates in the config ends, and whether that is within 30 days or past. Null: it has none.',
    }),
    refused: z.array(z.strictObject({ why: z.enum(DOUBTS), count: z.int(), at: time })).meta({
      description: 'Callbacks that were not believed, by reason, and when the last of each came.',
    }),
    hold: z.strictObject({ disputes: z.int(), from: z.int(), holding: z.boolean() }).nullable().meta({
      description: 'Payments that were disputed or warned of lately, and from how many on new ones are held.',
    }),
    orders: z.int(),
    credited: money,
    refunded: money,
    frozen: money,
    reversed: money,
  })
  .meta({ id: 'PayMethodHealth' })

const chainHealth = z
  .strictObject({
    chain_id: z.int(),
    sandbox: z.boolean(),
    minimum: money,
    head: z.int().nullable(),
    head_at: time.nullable(),
    finality_lag_blocks: z.int().nullable(),
    cursor: z.strictObject({ block: z.int(), at: time, lag_seconds: z.int() }).nullable(),
    second_block: z.int().nullable(),
    second_at: time.nullable(),
    nodes: z.array(
      z.strictObject({
        node: z.int().meta({ description: 'Its place in the config; its address may have a key in it.' }),
        answered_at: time.nullable(),
        failed_at: time.nullable(),
        failed: z.enum(['away', 'refused']).nullable(),
      }),
    ),
    addresses: z.int(),
    balances_day: z.string().nullable(),
    balances_done: z.boolean(),
    balances_at: time.nullable(),
    deposits: z.array(z.strictObject({ state: z.enum(DEPOSIT_STATES), count: z.int() })),
    credited: money,
  })
  .meta({ id: 'ChainHealth', description: 'How far the chain is read, and when each node last answered.' })

export const health = z.strictObject({
  orders: z.array(z.strictObject({ state: z.enum(ORDER_STATES), count: z.int(), oldest_at: time })),
  uncredited: z.int(),
  held: z.strictObject({ orders: z.int(), amount: money }),
  exceptions: z.int(),
  methods: z.array(methodHealth),
  chain: chainHealth.nullable(),
})
export type PayHealth = z.output<typeof health>
