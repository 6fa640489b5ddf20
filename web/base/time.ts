/** Points in time as text: in the browser's zone with its name, or in UTC, as the reader chose. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { time } from './element.ts'
import { locale } from './words.ts'

/** Whether times are shown in UTC. The reader chooses it for all pages (settings.ts). */
export const utc = signal(false)

const zone = (): string | undefined => (utc.value ? 'UTC' : undefined)

/** The zone of the browser, such as `Asia/Shanghai`. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** Whether the browser's zone is another one than UTC: a choice is offered to nobody else. */
export const differsFromUtc = (): boolean => !/^(Etc\/)?(UTC|GMT|UCT|Universal|Zulu)$/.test(ownZone())

/** `2026-11-22 11:30:05`, which reads the same in both languages and sorts. */
export function stamp(iso: string, seconds = true): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone(),
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

/** The name of the zone in which this page shows times, such as `Asia/Shanghai`. */
export const zoneName = (): string => zone() ?? ownZone()

/** What an input for date and time holds, in the zone of this page. */
export const inputText = (iso: string): string => stamp(iso, false).replace(' ', 'T')

/** The time that was entered, in the zone of this page; null = none was. */
export function enteredTime(text: string): string | null {
  const date = new Date(utc.value ? `${text}Z` : text)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** When the day began that was so many days ago, in the zone of this page, ms since 1970. */
export function dayBegan(nowMs: number, daysAgo: number): number {
  const date = new Date(nowMs)
  if (utc.value) return date.setUTCHours(0, 0, 0, 0) - daysAgo * DAY_MS
  date.setDate(date.getDate() - daysAgo)
  return date.setHours(0, 0, 0, 0)
}

const DAY_MS = 86_400_000
const HALVES = [0, 6]

/**
 * The zone whose days a chart can show, because sums are kept by the hour; null = that of this page has no whole hours, and
 * the books' own days are shown.
 */
export function chartZone(): string | null {
  if (utc.value) return 'UTC'
  const year = new Date().getFullYear()
  const isWhole = HALVES.every(month => new Date(year, month).getTimezoneOffset() % 60 === 0)
  return isWhole ? ownZone() : null
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
