/**
 * Says of each workload whether the working tree is dearer than another revision, in CPU time per unit. The judge is the
 * other revision measured twice in the same rounds: a difference that the machine makes between two equal subjects is no
 * finding.
 */
import type { Results } from './results.ts'
import { GATEWAY } from './targets.ts'

/** The name of the second measurement of the subject `name`. */
export const again = (name: string): string => `${name}, again`

/** Differences below this share are none. */
const LEAST = 0.02

export interface Comparison {
  workload: string
  /** The median over the rounds of ours ÷ theirs. */
  ratio: number
  /** How far the median of theirs again ÷ theirs is from 1, and how uncertain it is: its deviations ÷ √turns. */
  spread: number
  /** `not measured`: two equal subjects differ by more than 2 %, and ours by no more than these. */
  says: 'dearer' | 'cheaper' | 'equal' | 'not measured'
}

/** The comparison of each workload that was measured for both; workloads without CPU time are left out. */
export function compareCpu(results: Results, other: string): Comparison[] {
  return results.workloads.flatMap(workload => {
    const ratio = results.compared(workload, 'cpuUs', [GATEWAY, other], (ours, theirs) => ours / theirs)
    const spread = spreadOf(results, workload, other)
    return ratio === null || spread === null ? [] : [{ workload, ratio, spread, says: judge(ratio, spread) }]
  })
}

function spreadOf(results: Results, workload: string, other: string): number | null {
  const subjects = [again(other), other] as const
  const of = results.compared(workload, 'cpuUs', subjects, (twice, once) => twice / once)
  if (of === null) return null
  const deviation = results.compared(workload, 'cpuUs', subjects, (twice, once) => Math.abs(twice / once - of))
  return Math.abs(of - 1) + (deviation ?? 0) / Math.sqrt(results.rounds(workload, other, 'cpuUs').length)
}

function judge(ratio: number, spread: number): Comparison['says'] {
  const difference = Math.abs(ratio - 1)
  if (difference > Math.max(LEAST, spread)) return ratio > 1 ? 'dearer' : 'cheaper'
  return spread > LEAST ? 'not measured' : 'equal'
}

/** The comparisons as a table of Markdown. */
export function comparisonLines(comparisons: readonly Comparison[]): string[] {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  const rows = comparisons.map(
    ({ workload, ratio, spread, says }) => `| ${workload} | ${ratio.toFixed(3)} | ${percent(spread)} | ${says} |`,
  )
  return ['| workload | CPU, ours ÷ theirs | theirs ÷ theirs again differs by | |', '|---|---|---|---|', ...rows]
}
