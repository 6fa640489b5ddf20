/**
 * How models fared, as people are told: the share of answered requests and the usual time to the first byte. Numbers of
 * requests are never told, and nothing is said of models with few requests, because it would tell what single customers do.
 */
import type { ModelFigures } from '../../store/store.ts'
import { quantileOf } from '../own/totals-shown.ts'

/** With fewer requests nothing is said. */
export const FEWEST_REQUESTS = 20
const HALF = 0.5

export interface Figures {
  /** Answered requests among those that were answered or in which the upstream failed: 0 to 1; null = too few. */
  answered_share: number | null
  /** The median of answered requests, in ms; null = too few. */
  first_byte_ms: number | null
}

export const NO_FIGURES: Figures = { answered_share: null, first_byte_ms: null }

/** Rounded down, so that only what has not failed at all is 1. */
export const answeredShare = ({ answered, failed }: Pick<ModelFigures, 'answered' | 'failed'>): number | null =>
  answered + failed < FEWEST_REQUESTS ? null : Math.floor((answered / (answered + failed)) * 10_000) / 10_000

export const shownFigures = (figures: ModelFigures): Figures => ({
  answered_share: answeredShare(figures),
  first_byte_ms: median(figures.firstByte),
})

/** In ms; null = too few. */
export const median = (buckets: readonly number[]): number | null =>
  buckets.reduce((sum, count) => sum + count, 0) < FEWEST_REQUESTS ? null : quantileOf(buckets, HALF)
