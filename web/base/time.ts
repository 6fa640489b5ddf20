/**
 * Points in time as text, in the zone of the page, which names it once: that of the books unless the reader chose the
 * browser's or UTC. A page whose figures are money by days and months keeps to the books' zone (sitemap.ts).
 */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { time } from './element.ts'
import { site } from './site.ts'
import { locale } from './words.ts'

/** `books`: the config's `zone`. `own`: the browser's. */
export const TIMES = ['books', 'own', 'utc'] as const
export type Times = (typeof TIMES)[number]

/** In which zone times are shown. The reader chooses it for all pages (settings.ts). */
export const times = signal<Times>('books')

/** The name of a zone, such as `Asia/Shanghai`. */
export const zoneOf = (which: Times): string =>
  which === 'books' ? site.value.zone : which === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone

/** The name of the zone in which this page shows times. */
export const zoneName = (): string => zoneOf(times.value)

/** `2026-11-22 11:30:05`, which reads the same in both languages and sorts. */
export function stamp(iso: string, seconds = true): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zoneName(),
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(new Date(iso))
  const of = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  const clock = `${of('hour')}:${of('minute')}${seconds ? `:${of('second')}` : ''}`
  return `${of('year')}-${of('month')}-${of('day')} ${clock}`
}

/** How far the zone's clocks are ahead of UTC at a moment. */
const aheadMs = (atMs: number): number =>
  Date.parse(`${stamp(new Date(atMs).toISOString()).replace(' ', 'T')}Z`) - Math.floor(atMs / 1000) * 1000

/** The moment at which the zone's clocks show what a clock in UTC shows at `wallMs`. */
const momentOf = (wallMs: number): number => wallMs - aheadMs(wallMs - aheadMs(wallMs))

/** What an input for date and time holds, in the zone of this page. */
export const inputText = (iso: string): string => stamp(iso, false).replace(' ', 'T')

/** The time that was entered, in the zone of this page; null = none was. */
export function enteredTime(text: string): string | null {
  const wallMs = Date.parse(`${text}Z`)
  return Number.isNaN(wallMs) ? null : new Date(momentOf(wallMs)).toISOString()
}

/** When the day began that was so many days ago, in the zone of this page, ms since 1970. */
export const dayBegan = (nowMs: number, daysAgo: number): number =>
  momentOf((Math.floor((nowMs + aheadMs(nowMs)) / DAY_MS) - daysAgo) * DAY_MS)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HALVES = [0, 6]

/**
 * The zone whose days a chart can show, because sums are kept by the hour; null = that of this page has no whole hours, and
 * the books' own days are shown.
 */
export function chartZone(): string | null {
  const year = new Date().getFullYear()
  return HALVES.every(month => aheadMs(Date.UTC(year, month)) % HOUR_MS === 0) ? zoneName() : null
}

const UNITS: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]

/** `3 days ago`; it stands beside the absolute time, never alone. */
export function relative(iso: string, nowMs: number): string {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1000)
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }).format(Math.trunc(seconds / size), unit)
}

/** A time for a table or a list. */
export const moment = (iso: string, seconds = false): VNode =>
  time({ dateTime: iso, title: `${iso} · ${zoneName()}` }, stamp(iso, seconds))
