/** The operation that deletes old usage rows now, and not only when they are older than `usage_retention`. */

import { z } from 'zod'
import { formatMicro } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import { read } from '../read.ts'
import { moment } from '../fields.ts'

const ROWS = 1_000

/** Rows of requests that arrived before this time. What they charged stays in the books, and in the sums of usage. */
const pruning = z.strictObject({ before: moment })

export async function wouldPrune(store: Store, before: string) {
  const { rows, charge } = await store.usage.prunable(read(pruning, { before }).before)
  return { rows, charge: formatMicro(charge) }
}

/** Returns how many rows went. In slices, so that others use the store in between. */
export async function prune(store: Store, before: string): Promise<number> {
  const { before: beforeMs } = read(pruning, { before })
  let rows = 0
  for (let slice = ROWS; slice === ROWS; rows += slice) slice = await store.usage.prune(beforeMs, ROWS)
  return rows
}
