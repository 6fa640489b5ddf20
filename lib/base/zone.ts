/** Time zones by their IANA names: how far a zone's clocks are ahead of UTC at a moment. */
import { HOUR_MS } from './clock.ts'

export const DEFAULT_ZONE = 'Asia/Shanghai'

/** The first days of the months of these years are looked at. Summer time changes the offset within a year. */
const CHECKED_YEARS = [2025, 2026, 2027]
const formats = new Map<string, Intl.DateTimeFormat>()
const MOST_FORMATS = 64

/** Throws RangeError when there is no such zone. */
function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
    if (formats.size < MOST_FORMATS) formats.set(zone, format)
  }
  return format
}

/** How many hours the zone is ahead of UTC; null when these are no whole hours, or there is no such zone. */
export function offsetHours(zone: string, ms: number): number | null {
  let text: string
  try {
    text =
      formatOf(zone)
        .formatToParts(ms)
        .find(part => part.type === 'timeZoneName')?.value ?? ''
  } catch {
    return null
  }
  const m = /^GMT(?:([+-])(\d\d):(\d\d))?$/.exec(text)
  if (m === null || (m[3] ?? '00') !== '00') return null
  return Number(`${m[1] ?? ''}${m[2] ?? 0}`)
}

/** Whether there is a zone of this name, and it is whole hours from UTC all the year. To look costs 16 ms, which every start would pay. */
export const isWholeHours = (zone: string): boolean =>
  zone === DEFAULT_ZONE ||
  CHECKED_YEARS.every(year =>
    Array.from({ length: 12 }, (_, month) => Date.UTC(year, month, 1)).every(ms => offsetHours(zone, ms) !== null),
  )

/** The zone's date and hour at a moment, as `2030-01-31T08:00:00+08:00`. */
export function hourInZone(ms: number, offset: number): string {
  const local = new Date(ms + offset * HOUR_MS).toISOString().slice(0, 19)
  return `${local}${offset < 0 ? '-' : '+'}${String(Math.abs(offset)).padStart(2, '0')}:00`
}
