/** Pages of accounts, keys and people: what callers may ask for, and where the next page begins. */
import type { z } from 'zod'
import { PUBLIC_ID_LENGTH } from '../base/ids.ts'
import type { PageFilter } from '../store/store.ts'
import * as kind from '../config/scalars.ts'

const MOST_ROWS = 1_000

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
