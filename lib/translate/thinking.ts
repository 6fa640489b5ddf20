/** How much a model shall think, in the words of each protocol: efforts, or a budget of tokens. */
import { EFFORTS, type Effort, type Losses, type Thinking } from './ask.ts'
import type { Target } from './protocol.ts'

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

/** Of the efforts that the target knows, the nearest that is not above; else its least. */
export function nearestEffort(effort: Effort, target: Target, known: readonly Effort[] = EFFORTS): Effort {
  const offered = target.efforts.length === 0 ? known : target.efforts
  const most = EFFORTS.indexOf(effort)
  const below = EFFORTS.filter((name, at) => at <= most && offered.includes(name))
  return below.at(-1) ?? (EFFORTS.find(name => offered.includes(name)) as Effort)
}

/** What protocols know that say an effort, and `none` where nothing shall be thought. */
const WORDS = ['minimal', 'low', 'medium', 'high', 'xhigh'] as const

export function effortWord(thinking: Thinking, target: Target, losses: Losses): Effort | 'none' | null {
  const wanted = wantedEffort(thinking)
  if (thinking.mode === 'off') {
    if (target.thinking !== 'none' && target.thinkingOff) return 'none'
    if (target.thinking !== 'none') losses.add('thinking')
    return null
  }
  if (wanted === null) return null
  if (target.thinking === 'none') {
    losses.add('thinking')
    return null
  }
  const effort = nearestEffort(wanted, target, WORDS)
  if (effort !== wanted) losses.add('effort')
  return effort
}
