/** What an upstream reports of usage: numbers are checked here, and put into classes that do not overlap. */
import type { Fields } from '../json/fields.ts'
import { type CountedKind, inputOf, outputOf, type Usage } from './usage.ts'

/** The largest number that a report may have. */
export const MOST = 1e9

/** A number from 0 to 10^9, a fraction as the next whole number; null = anything else, which counts as not reported. */
export const reported = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= MOST ? Math.ceil(value) : null

/**
 * What one model used, of an answer in which several took part. `model` is the upstream's name of it; null = the model
 * that was asked for.
 */
export interface Pass {
  model: string | null
  usage: Usage
}

/** One report of an upstream. */
export interface Report {
  usage: Usage
  /** Whether the report names the output. The first event of a stream may name the input alone. */
  namesOutput: boolean
  /** What each model used, together `usage`; empty = the asked model used all of it. */
  passes: readonly Pass[]
  /** Of the pictures that the report counts, those of which it says size or quality. */
  kinds: readonly CountedKind[]
  /** Of these pictures, those that were seen in the answer. */
  seenImages: number
  /** Whether it reports tokens of thoughts. */
  thinks: boolean
}

/** Adds `more` to `sum`. No class grows beyond the largest number that a report may have. */
export function add(sum: Usage, more: Usage): void {
  for (const name in sum)
    sum[name as keyof Usage] = Math.min(MOST, sum[name as keyof Usage] + more[name as keyof Usage])
}

const NOTHING_ELSE: Partial<Omit<Report, 'usage'>> = {}
const NO_PASSES: readonly Pass[] = []
const NO_KINDS: readonly CountedKind[] = []

/** Makes a report; null = all numbers are zero, which is what upstreams send that do not count. */
export function report(usage: Usage, said: Partial<Omit<Report, 'usage'>> = NOTHING_ELSE): Report | null {
  const { namesOutput = true, passes = NO_PASSES, kinds = NO_KINDS, seenImages = usage.images, thinks = false } = said
  for (const name in usage)
    if (usage[name as keyof Usage] > 0)
      return { usage, namesOutput: namesOutput && saysTokens(usage), passes, kinds, seenImages, thinks }
  return null
}

/** Neither input nor output is what upstreams send that do not count; where pictures are, there may be no tokens. */
export const saysTokens = (usage: Usage): boolean => usage.images > 0 || inputOf(usage) > 0 || outputOf(usage) > 0

/** The first of the named fields that is a valid number; null = none is. */
export const first = (fields: Fields, name: string, second?: string, third?: string): number | null =>
  reported(fields[name]) ?? (second === undefined ? null : first(fields, second, third))
