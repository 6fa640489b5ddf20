/** Fields that what callers send to many operations has, and that answers have: ids, times, money, pages. */
import { withoutUndefined } from '../base/objects.ts'
import { z } from 'zod'
import { PUBLIC_ID_LENGTH } from '../base/ids.ts'
import { formatMicro, type Micro, parseMicro } from '../base/money.ts'
import type { Words } from './error.ts'
import type { PageFilter } from '../store/accounts/accounts.ts'
import * as kind from '../config/scalars.ts'

const MOST_ROWS = 1_000

export const moment = kind.scalar(
  {
    zh: '时间，例如“2030-01-31T00:00:00Z”，或1970年以来的毫秒数',
    en: 'a time like "2030-01-31T00:00:00Z", or ms since 1970',
  },
  {},
  value => {
    if (typeof value === 'string' && /^\d{5,15}$/.test(value)) return Number(value)
    const time = kind.time.safeParse(value)
    return time.success ? time.data : undefined
  },
)

/** An id as people outside know a row by. */
export const publicIdField = kind.scalar(
  { zh: '编号', en: 'an id' },
  { type: 'string', minLength: PUBLIC_ID_LENGTH, maxLength: PUBLIC_ID_LENGTH },
  value => (typeof value === 'string' && /^[0-9a-z]{20}$/.test(value) ? value : undefined),
)

/** `q` is a part of a name. */
export const pageFields = {
  q: kind.name.optional(),
  limit: kind.whole(1, MOST_ROWS).prefault(MOST_ROWS),
  after: kind.whole(0, Number.MAX_SAFE_INTEGER).optional(),
}

type PageForm = z.output<z.ZodObject<typeof pageFields>>

export const toPage = ({ q, limit, after }: PageForm): PageFilter => ({
  limit,
  ...withoutUndefined({ q, afterId: after }),
})

/** The `after` of the next page; null on the last page. */
export const nextOf = (rows: readonly { id: number }[], limit: number): string | null =>
  rows.length === limit ? String(rows.at(-1)?.id) : null

/** An amount of CNY that a caller sends. */
export const cnyAmount = (expected: Words, fits: (amount: Micro) => boolean) =>
  kind.scalar(expected, {}, (value): Micro | undefined => {
    const amount = parseMicro(value)
    return amount !== null && fits(amount) ? amount : undefined
  })

export const cnyAboveZero = cnyAmount(
  { zh: '大于0的人民币金额，最多6位小数', en: 'an amount of CNY above 0 with at most 6 decimal places' },
  amount => amount > 0,
)

export const moneyOrNull = (value: Micro | null): string | null => (value === null ? null : formatMicro(value))

/** CNY with six places. */
export const moneyText = z.string().regex(/^-?\d+\.\d{6}$/)
export const timeText = z.iso.datetime({ precision: 3 })
export const wholeCount = z.int().min(0)
export const wholeMs = z.int().min(0)
/** A sentence in each of the two languages. */
export const bothWords = z.strictObject({ zh: z.string(), en: z.string() })
export const idText = z.string().regex(/^[0-9a-z]{1,64}$/)
export const shareOrNull = z.number().min(0).max(1).nullable()
export const keyLabel = z.strictObject({ id: idText, name: z.string(), deleted: z.boolean() }).meta({ id: 'KeyLabel' })

/** Tokens by class, and pictures. */
export const usageCounts = {
  input: wholeCount,
  cache_read: wholeCount,
  cache_write_5m: wholeCount,
  cache_write_1h: wholeCount,
  output: wholeCount,
  images: wholeCount,
}
