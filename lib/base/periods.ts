/**
 * The periods in which caps and budgets renew. A day begins at 00:00 in a zone, a week on Monday, and a month on its
 * first day.
 */
import { DAY_MS, HOUR_MS } from './clock.ts'
import { invariant } from './assert.ts'
import { offsetHours } from './zone.ts'

export const EVERY = ['day', 'week', 'month'] as const
export type Every = (typeof EVERY)[number]

/** A period begins at `beginMs` and ends just before `endMs`, both in ms since 1970. */
export interface Period {
  every: Every
  beginMs: number
  endMs: number
}

/** The period that contains a moment, in a zone that is whole hours from UTC. */
export function periodAt(every: Every, atMs: number, zone: string): Period {
  const wall = new Date(wallMs(atMs, zone))
  const [year, month, day] = [wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate()]
  const monday = day - ((wall.getUTCDay() + 6) % 7)
  const [first, next] = {
    day: [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)] as const,
    week: [Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7)] as const,
    month: [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)] as const,
  }[every]
  return { every, beginMs: beginOfDay(first, zone), endMs: beginOfDay(next, zone) }
}

/** The time on the zone's wall clock at a moment, as the ms since 1970 at which a clock in UTC shows the same. */
function wallMs(atMs: number, zone: string): number {
  const hours = offsetHours(zone, atMs)
  invariant(hours !== null, `the zone ${zone} is not whole hours from UTC`)
  return atMs + hours * HOUR_MS
}

/**
 * The moment at which a day begins. `midnightMs` is the day's midnight on the wall clock, as `wallMs` returns it. Where
 * summer time leaves midnight out, the day begins an hour later; where midnight comes twice, with the first.
 */
function beginOfDay(midnightMs: number, zone: string): number {
  const offset = (atMs: number) => wallMs(atMs, zone) - atMs
  const possible = [midnightMs - offset(midnightMs - DAY_MS), midnightMs - offset(midnightMs + DAY_MS)]
  return Math.min(...possible.filter(atMs => wallMs(atMs, zone) >= midnightMs))
}

/** A short name of a period, which no other period of its zone has: `d495600` is the day that ends at that hour since 1970. */
export const periodName = ({ every, endMs }: Pick<Period, 'every' | 'endMs'>): string => `${every[0]}${endMs / HOUR_MS}`

/** When the period of this name ends. */
export const endOfName = (name: string): number => Number(name.slice(1)) * HOUR_MS
