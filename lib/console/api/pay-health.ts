/** What operators are told of how payments stand. */
import { z } from 'zod'
import { DOUBTS } from '../../pay/admin.ts'
import { ORDER_STATES, PAY_METHODS } from '../../terms/pay.ts'
import { moneyText, timeText } from '../../operations/fields.ts'

const methodHealth = z
  .strictObject({
    method: z.enum(PAY_METHODS),
    configured: z.boolean(),
    sandbox: z.boolean(),
    currency: z.string().nullable(),
    minimum: moneyText.nullable(),
    callback_at: timeText.nullable(),
    query_at: timeText.nullable(),
    query_failed_at: timeText.nullable(),
    bill_day: z.string().nullable(),
    bill_at: timeText.nullable(),
    certificates: z.strictObject({ until: timeText, end_soon: z.boolean() }).nullable().meta({
      description:
        'When the first of the certificates in the config ends, and whether that is within 30 days or past. Null: it has none.',
    }),
    refused: z.array(z.strictObject({ why: z.enum(DOUBTS), count: z.int(), at: timeText })).meta({
      description: 'Callbacks that were not believed, by reason, and when the last of each came.',
    }),
    hold: z.strictObject({ disputes: z.int(), from: z.int(), holding: z.boolean() }).nullable().meta({
      description: 'Payments that were disputed or warned of lately, and from how many on new ones are held.',
    }),
    orders: z.int(),
    credited: moneyText,
    refunded: moneyText,
    frozen: moneyText,
    reversed: moneyText,
  })
  .meta({ id: 'PayMethodHealth' })

const chainHealth = z
  .strictObject({
    chain_id: z.int(),
    sandbox: z.boolean(),
    minimum: moneyText,
    head: z.int().nullable(),
    head_at: timeText.nullable(),
    finality_lag_blocks: z.int().nullable(),
    cursor: z.strictObject({ block: z.int(), at: timeText, lag_seconds: z.int() }).nullable(),
    second_block: z.int().nullable(),
    second_at: timeText.nullable(),
    nodes: z.array(
      z.strictObject({
        node: z.int().meta({ description: 'Its place in the config; its address may have a key in it.' }),
        answered_at: timeText.nullable(),
        failed_at: timeText.nullable(),
        failed: z.enum(['away', 'refused']).nullable(),
      }),
    ),
    addresses: z.int(),
    balances_day: z.string().nullable(),
    balances_done: z.boolean(),
    balances_at: timeText.nullable(),
  })
  .meta({ id: 'ChainHealth', description: 'How far the chain is read, and when each node last answered.' })

export const health = z.strictObject({
  orders: z.array(z.strictObject({ state: z.enum(ORDER_STATES), count: z.int(), oldest_at: timeText })),
  uncredited: z.int(),
  held: z.strictObject({ orders: z.int(), amount: moneyText }),
  exceptions: z.int(),
  methods: z.array(methodHealth),
  chain: chainHealth.nullable(),
})
export type PayHealth = z.output<typeof health>
