/** Points in time as text: in the browser's zone with its name, or in UTC, as the reader chose. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { time } from './element.ts'
import { locale } from './words.ts'

/** Whether times are shown in UTC. */
export const utc = signal(false)

const zone = (): string | undefined => (utc.value ? 'UTC' : undefined)

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
export const zoneName = (): string => zone() ?? Intl.DateTimeFormat().resolvedOptions().timeZone

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
