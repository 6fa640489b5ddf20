/**
 * How a report over sums of usage covers its period: by whole days of the sums as far as possible, and by hours where it is
 * not. A period is cut where the zone's clocks change.
 */
import { offsetHours } from '../../base/zone.ts'
import { SummaryRefused } from '../usage-store.ts'
import type { GRAIN } from '../usage-tables.ts'
import { DAY_HOURS, dayOf, HOUR_MS } from './sums.ts'

/** Clocks that change twice within a week would be overlooked. */
const WEEK_HOURS = 7 * DAY_HOURS

/** A range of hours, `to` exclusive, in which the zone is `offset` hours ahead. */
interface Segment {
  from: number
  to: number
  offset: number
}

/** A part of a segment, and the sums from which it is read. */
export interface Part extends Segment {
  grain: (typeof GRAIN)[keyof typeof GRAIN]
}

function offsetAt(zone: string, hour: number): number {
  const offset = offsetHours(zone, hour * HOUR_MS)
  if (offset === null) throw new SummaryRefused('zone', 'a zone with whole hours')
  return offset
}

/** The first hour after `from` at which the offset is not that of `from` any more; `to` when there is none before it. */
function changeAfter(zone: string, from: number, to: number): number {
  const offset = offsetAt(zone, from)
  for (let same = from; same < to; ) {
    let other = Math.min(same + WEEK_HOURS, to)
    if (offsetAt(zone, other) === offset) {
      same = other
      continue
    }
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2)
      if (offsetAt(zone, middle) === offset) same = middle
      else other = middle
    }
    return other
  }
  return to
}

export function segments(zone: string, from: number, to: number): Segment[] {
  const result: Segment[] = []
  for (let start = from; start < to; ) {
    const end = changeAfter(zone, start, to)
    result.push({ from: start, to: end, offset: offsetAt(zone, start) })
    start = end
  }
  return result
}

/** Whole days from the sums of days, and the rest from those of hours. */
export function parts(segment: Segment, days: Part['grain'] | null, hours: Part['grain']): Part[] {
  const { from, to } = segment
  const first = dayOf(from + DAY_HOURS - 1)
  const last = dayOf(to)
  if (days === null || first >= last) return [{ ...segment, grain: hours }]
  const all = [
    { ...segment, to: first, grain: hours },
    { ...segment, from: first, to: last, grain: days },
    { ...segment, from: last, grain: hours },
  ]
  return all.filter(part => part.from < part.to)
}
