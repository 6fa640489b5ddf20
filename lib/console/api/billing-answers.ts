/** What the calls on money answer, as schemas: entries, balances, months and statements. */
import { z } from 'zod'
import { count, money, time } from './answer-fields.ts'

const entry = z
  .strictObject({
    booked_at: time,
    kind: z.string(),
    reference: z.string().nullable(),
    amount: money,
    balance: money,
    note: z.string().nullable(),
  })
  .meta({ id: 'Entry' })

export const entriesAnswer = z.strictObject({
  zone: z.string(),
  data: z.array(entry),
  next: z.string().nullable(),
})

const balances = { balance: money, held: money, available: money, low_balance: money.nullable() }
export const balanceAnswer = z.strictObject(balances).meta({ id: 'Balance' })
export const lowBalanceAnswer = z.strictObject({ low_balance: money.nullable() })

const MONTH = z.string().regex(/^\d{4}-\d\d$/)
const monthFields = { month: MONTH, from: time, to: time, closed: z.boolean(), opening: money, closing: money }

export const monthsAnswer = z.strictObject({
  zone: z.string(),
  data: z.array(z.strictObject(monthFields).meta({ id: 'Month' })),
  next: MONTH.nullable(),
})

export const statementAnswer = z
  .strictObject({
    account: z.string(),
    zone: z.string(),
    ...monthFields,
    credits: money,
    charges: money,
    lines: z.array(entry),
    models: z.array(
      z.strictObject({
        model: z.string(),
        requests: count,
        input: count,
        cache_read: count,
        cache_write_5m: count,
        cache_write_1h: count,
        output: count,
        charge: money,
      }),
    ),
    shifted: money,
  })
  .meta({ id: 'Statement' })

export type Entries = z.output<typeof entriesAnswer>
export type Months = z.output<typeof monthsAnswer>
export type Statement = z.output<typeof statementAnswer>
export type Balance = z.output<typeof balanceAnswer>
