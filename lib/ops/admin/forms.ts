/** What callers of the admin API send: the rows of the catalogue file, whole or in part, and a few forms of its own. */
import { z } from 'zod'
import { type Micro, parseMicro } from '../../base/money.ts'
import * as address from '../../terms/config-addresses.ts'
import { catalogSchema } from '../../terms/config-catalog.ts'
import * as kind from '../../terms/config-scalars.ts'
import { rate } from '../../terms/config-schema.ts'

const { shape } = catalogSchema

export const groupRow = shape.groups.unwrap().element
export const modelRow = shape.models.unwrap().element
export const channelRow = shape.channels.unwrap().element
export const newAccount = shape.accounts.unwrap().element
/** A secret is made, not sent. */
export const newKey = shape.keys.unwrap().element.omit({ secret: true })

export const accountChange = z.strictObject({
  status: kind.oneOf('active', 'banned').optional(),
  groups: z.array(kind.name).optional(),
  rate: rate.nullable().optional(),
})

/** Absent stays, null clears. */
export const keyChange = z.strictObject({
  name: kind.name.optional(),
  group: kind.name.optional(),
  status: kind.oneOf('enabled', 'disabled').optional(),
  expires_at: kind.time.nullable().optional(),
  cap: kind.cny.nullable().optional(),
  allow_ips: z.array(address.network).nullable().optional(),
  models: z.array(kind.name).nullable().optional(),
})

export const topUp = z.strictObject({
  amount: kind.scalar('an amount of CNY above 0 with at most 6 decimal places', {}, (value): Micro | undefined => {
    const amount = parseMicro(value)
    return amount === null || amount <= 0 ? undefined : amount
  }),
  reference: kind.name,
})

export const keysQuery = z.strictObject({ account: kind.name.optional() })

const requestId = kind.scalar('a request id', {}, value =>
  typeof value === 'string' && /^[0-9a-z]{1,64}$/.test(value) ? value : undefined,
)

const moment = kind.scalar('a time like "2030-01-31T00:00:00Z", or ms since 1970', {}, value => {
  if (typeof value === 'string' && /^\d{5,15}$/.test(value)) return Number(value)
  const time = kind.time.safeParse(value)
  return time.success ? time.data : undefined
})

const MOST_ROWS = 1000
const ROWS = 100

export const usageQuery = z.strictObject({
  account: kind.name.optional(),
  /** Id of the key. */
  key: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
  model: kind.name.optional(),
  request_id: requestId.optional(),
  from: moment.optional(),
  to: moment.optional(),
  limit: kind.whole(1, MOST_ROWS).prefault(ROWS),
  after: requestId.optional(),
})
