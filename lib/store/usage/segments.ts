/** A range of hours of the sums, cut where the clocks of a zone change: days of the zone are whole hours within each part. */
import { HOUR_MS } from '../../base/clock.ts'
import { offsetHours } from '../../base/zone.ts'
import { SummaryRefused } from './queries.ts'
import { DAY_HOURS } from './sums.ts'

/** Clocks that change twice within a week would be overlooked. */
const WEEK_HOURS = 7 * DAY_HOURS

/** A range of hours, `to` exclusive, in which the zone is `offset` hours ahead. */
export interface ZoneSpan {
  from: number
  to: number
  offset: number
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

/** The parts of a range of hours in each of which the zone is as far ahead of UTC. */
export function segments(zone: string, from: number, to: number): ZoneSpan[] {
  const result: ZoneSpan[] = []
  for (let start = from; start < to; ) {
    const end = changeAfter(zone, start, to)
    result.push({ from: start, to: end, offset: offsetAt(zone, start) })
    start = end
  }
  return result
}
