/** Fields that what callers send to many operations has, and that answers have: ids, times, money, pages. */
import type { z } from 'zod'
import { PUBLIC_ID_LENGTH } from '../base/ids.ts'
import type { PageFilter } from '../store/store.ts'
import * as kind from '../config/scalars.ts'

const MOST_ROWS = 1_000

/** A time in ms since 1970 as answers show it. */
export const iso = (ms: number): string => new Date(ms).toISOString()
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

export const moment = kind.scalar(
  {
    zh: '时间,例如“2030-01-31T00:00:00Z”,或1970年以来的毫秒数',
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
export const publicId = kind.scalar(
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
  ...(q === undefined ? {} : { q }),
  ...(after === undefined ? {} : { afterId: after }),
})

/** The `after` of the next page; null on the last page. */
export const nextOf = (rows: readonly { id: number }[], limit: number): string | null =>
  rows.length === limit ? String(rows.at(-1)?.id) : null
