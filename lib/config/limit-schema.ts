/** The schema of a cap or a budget, as people write it: an amount for ever, or an amount for each day, week or month. */
import { parseMicro } from '../base/money.ts'
import { EVERY } from '../base/periods.ts'
import { AMOUNT, scalar } from './scalars.ts'
import type { SetLimit } from '../terms/records.ts'

const JSON_SCHEMA = {
  anyOf: [
    AMOUNT,
    {
      type: 'object',
      properties: { amount: AMOUNT, every: { type: 'string', enum: EVERY } },
      required: ['amount', 'every'],
      additionalProperties: false,
    },
  ],
}

export const limit = scalar(
  {
    zh: '不小于0的人民币金额,最多6位小数,或{ amount, every: day | week | month }',
    en: 'an amount of CNY, 0 or more, with at most 6 decimal places, or { amount, every: day | week | month }',
  },
  JSON_SCHEMA,
  read,
)

function read(value: unknown): SetLimit | undefined {
  if (typeof value !== 'object' || value === null) return withAmount(value, null)
  const { amount, every: name, ...more } = value as Record<string, unknown>
  const every = EVERY.find(known => known === name)
  return every === undefined || Object.keys(more).length > 0 ? undefined : withAmount(amount, every)
}

function withAmount(value: unknown, every: SetLimit['every']): SetLimit | undefined {
  const amount = parseMicro(value)
  return amount === null || amount < 0 ? undefined : { amount, every }
}
