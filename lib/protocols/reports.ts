/** Reported numbers, made safe and put into disjoint classes. */
import type { Fields } from './fields.ts'
import { noUsage, type Usage } from './usage.ts'

const MOST = 1e9

/** A whole number from 0 to 10^9; anything else counts as not reported. */
export const reported = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST ? value : null

/** What one model used, of an answer in which several took part. `model`: as the upstream names it; null = the one asked for. */
export interface Pass {
  model: string | null
  usage: Usage
}

/** What an upstream said that it used. */
export interface Report {
  usage: Usage
  /** It says what the output was: the first event of a stream may tell the input alone. */
  namesOutput: boolean
  /** Of its output, the tokens that a detail names as pictures. */
  drawn: number
  /** Together they are `usage`; empty = all of it is the asked model's. */
  passes: readonly Pass[]
}

/** Adds the second to the first; no class passes what a single report may say. */
export function add(sum: Usage, more: Usage): void {
  for (const name in sum)
    sum[name as keyof Usage] = Math.min(MOST, sum[name as keyof Usage] + more[name as keyof Usage])
}

/** null where all numbers are zero: upstreams that do not count fill them in. */
export function report(
  usage: Usage,
  { namesOutput = true, drawn = 0, passes = [] }: Partial<Omit<Report, 'usage'>> = {},
): Report | null {
  for (const name in usage) if (usage[name as keyof Usage] > 0) return { usage, namesOutput, drawn, passes }
  return null
}

/** The first of the named fields that is a proper number; null when none is. */
export function first(fields: Fields, ...names: string[]): number | null {
  for (const name of names) {
    const value = reported(fields[name])
    if (value !== null) return value
  }
  return null
}

/** Usage of the protocols whose prompt includes what was read from and written to a cache. */
export function fromPrompt(prompt: number, cached: number, written: number, written1h: number, output: number): Usage {
  const cache_read = Math.min(cached, prompt)
  const writes = Math.min(written, prompt - cache_read)
  const cache_write_1h = Math.min(written1h, writes)
  return {
    ...noUsage(),
    input: prompt - cache_read - writes,
    cache_read,
    cache_write_5m: writes - cache_write_1h,
    cache_write_1h,
    output,
  }
}
