/** How much a model shall think, in the words of each protocol: efforts, or a budget of tokens. */
import { type Effort, EFFORTS } from '../terms/records.ts'
import type { Thinking, TranslationTarget } from './ask.ts'

const BUDGETS: readonly (readonly [Effort, number])[] = [
  ['minimal', 1024],
  ['low', 2048],
  ['medium', 8192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 65_536],
]
/** Up to which budget an effort is meant. */
const MEANT: readonly (readonly [number, Effort])[] = [
  [1024, 'minimal'],
  [4096, 'low'],
  [12_288, 'medium'],
  [28_672, 'high'],
]

export const budgetOf = (effort: Effort): number => (BUDGETS.find(([name]) => name === effort) as [Effort, number])[1]
const effortFor = (budget: number): Effort => MEANT.find(([most]) => budget <= most)?.[1] ?? 'xhigh'

/** The effort that is asked for, in either way; null = the model's own. */
export const wantedEffort = ({ effort, budget }: Thinking): Effort | null =>
  effort ?? (budget === null ? null : effortFor(budget))

/** Returns the nearest effort that the target knows and that is not above; else its least. */
export function nearestEffort(effort: Effort, target: TranslationTarget, known: readonly Effort[] = EFFORTS): Effort {
  const offered = target.efforts.length === 0 ? known : target.efforts
  const most = EFFORTS.indexOf(effort)
  const below = EFFORTS.filter((name, at) => at <= most && offered.includes(name))
  return below.at(-1) ?? (EFFORTS.find(name => offered.includes(name)) as Effort)
}
