/**
 * How models fared, as people are told: the share of answered requests and the usual time to the first byte, over the last
 * weeks day by day, and when they failed. Numbers of requests are never told, and nothing is said of models with few
 * requests, because it would tell what single customers do.
 */
import { DAY_MS, HOUR_MS, iso } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'
import type { ModelFigures, ModelHour } from '../../store/usage/queries.ts'
import { periodAt } from '../../base/periods.ts'
import { hourInZone, offsetHours } from '../../base/zone.ts'
import { boundOf } from '../usage/totals.ts'

/** With fewer requests nothing is said. */
const FEWEST_REQUESTS = 20
const HALF = 0.5

export interface Figures {
  /** Answered requests among those that were answered or in which the upstream failed: 0 to 1; null = too few. */
  answered_share: number | null
  /** The least bound within which half of the answers had their first byte, in ms; null = too few, or no bound is so large. */
  first_byte_up_to_ms: number | null
}

export const NO_FIGURES: Figures = { answered_share: null, first_byte_up_to_ms: null }

/** Rounded down, so that only what has not failed at all is 1. */
const answeredShare = ({ answered, failed }: Pick<ModelFigures, 'answered' | 'failed'>): number | null =>
  answered + failed < FEWEST_REQUESTS ? null : Math.floor((answered / (answered + failed)) * 10_000) / 10_000

export const shownFigures = (figures: ModelFigures): Figures => ({
  answered_share: answeredShare(figures),
  first_byte_up_to_ms: usualBound(figures.firstByte),
})

/** In ms; null = too few. */
export const usualBound = (buckets: readonly number[]): number | null =>
  buckets.reduce((sum, count) => sum + count, 0) < FEWEST_REQUESTS ? null : boundOf(buckets, HALF)

export const STATUS_DAYS = 90
/** An hour belongs to an incident when that share of its requests failed, and no fewer than so many. */
const INCIDENT = { least: 5, percent: 10 }
const MOST_HOURS = 2_000
const MOST_INCIDENTS = 50

interface Incident {
  model: string
  /** The beginning of its first hour, and the end of its last one; null = it may not be over. */
  from: string
  until: string | null
  /** The share in its worst hour. */
  answered_share: number
}

export interface Days {
  /** The first of the days, YYYY-MM-DD in the zone of the books. */
  from: string
  /** By model, the share of answered requests on each of the days; null = too few requests. */
  shares: Map<string, (number | null)[]>
  /** Newest first. */
  incidents: Incident[]
}

export async function readDays(store: Store, group: string, nowMs: number): Promise<Days> {
  const { zone } = store
  const today = periodAt('day', nowMs, zone).beginMs
  // from noon to noon: the zone's clocks may have changed between
  const fromMs = periodAt('day', today + DAY_MS / 2 - (STATUS_DAYS - 1) * DAY_MS, zone).beginMs
  const firstDay = hourInZone(fromMs, offsetHours(zone, fromMs) ?? 0).slice(0, 10)
  const first = Date.parse(firstDay) / DAY_MS
  const [days, hours] = await Promise.all([
    store.usage.modelDays(group, { fromMs, toMs: nowMs, zone }),
    store.usage.failingHours(group, { fromMs, ...INCIDENT, limit: MOST_HOURS }),
  ])
  const counts = new Map<string, ({ answered: number; failed: number } | null)[]>()
  for (const { model, day, answered, failed } of days) {
    let ofModel = counts.get(model)
    if (ofModel === undefined) counts.set(model, (ofModel = Array(STATUS_DAYS).fill(null)))
    const place = Date.parse(day) / DAY_MS - first
    const before = ofModel[place] ?? { answered: 0, failed: 0 }
    if (place >= 0 && place < STATUS_DAYS)
      ofModel[place] = { answered: before.answered + answered, failed: before.failed + failed }
  }
  const shares = new Map([...counts].map(([model, all]) => [model, all.map(day => day && answeredShare(day))]))
  return { from: firstDay, shares, incidents: incidentsOf(hours, nowMs) }
}

/** Hours of a model that follow each other are one incident. `hours`: newest first. */
export function incidentsOf(hours: readonly ModelHour[], nowMs: number): Incident[] {
  const open = new Map<string, { fromMs: number; untilMs: number; share: number }>()
  const all: { model: string; at: { fromMs: number; untilMs: number; share: number } }[] = []
  for (const { model, atMs, answered, failed } of hours) {
    if (answered + failed < FEWEST_REQUESTS) continue
    const share = answeredShare({ answered, failed }) as number
    const later = open.get(model)
    if (later !== undefined && later.fromMs === atMs + HOUR_MS) {
      later.fromMs = atMs
      later.share = Math.min(later.share, share)
      continue
    }
    const at = { fromMs: atMs, untilMs: atMs + HOUR_MS, share }
    open.set(model, at)
    all.push({ model, at })
  }
  return all.slice(0, MOST_INCIDENTS).map(({ model, at }) => ({
    model,
    from: iso(at.fromMs),
    until: at.untilMs > nowMs ? null : iso(at.untilMs),
    answered_share: at.share,
  }))
}
