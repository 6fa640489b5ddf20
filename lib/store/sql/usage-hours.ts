/** Ranges of hours in the key of the sums of usage. */
import { marks, padded } from './text.ts'
import type { Condition } from './usage-page.ts'

/** More hours or days than that are asked for as a range. */
const MOST_NAMED = 1_024

/** A range of hours, `to` exclusive. */
export interface Hours {
  from: number
  to: number
}

/**
 * Every `step`th hour of a range. One account has few rows in each hour, so that its hours are better named than searched.
 */
export function hourConditions({ from, to }: Hours, step: number, ofOne: boolean): Condition[] {
  const count = Math.ceil((to - from) / step)
  if (!ofOne || count > MOST_NAMED || count <= 0)
    return [
      ['hour_no >= ?', from],
      ['hour_no < ?', to],
    ]
  const hours = padded(Array.from({ length: count }, (_, i) => from + i * step))
  return [[`hour_no IN (${marks(hours.length)})`, ...hours]]
}
