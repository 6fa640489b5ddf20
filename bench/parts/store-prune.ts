/**
 * Times the deletion of old usage rows from a large log, in slices as housekeeping does it, and audits the books
 * afterwards.
 */

import { FILL_FROM_MS } from './store-fill.ts'
import type { Books } from './store-rows.ts'

const SLICE = 1_000
const SLICES = 50

export interface PruneFigures {
  rows: number
  p50: number
  max: number
  auditMs: number
}

export async function measurePruning({ store }: Books): Promise<PruneFigures> {
  const took: number[] = []
  let deleted = 0
  for (let i = 0; i < SLICES; i++) {
    const began = performance.now()
    const count = await store.usage.prune(FILL_FROM_MS + 100 * 86_400_000, SLICE)
    took.push(performance.now() - began)
    deleted += count
    if (count < SLICE) break
  }
  took.sort((a, b) => a - b)
  const began = performance.now()
  const { ok } = await store.audit()
  if (!ok) throw new Error('the books do not add up after pruning')
  return {
    rows: deleted,
    p50: took[Math.floor(took.length / 2)] as number,
    max: took.at(-1) as number,
    auditMs: performance.now() - began,
  }
}
