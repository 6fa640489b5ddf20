/** How upstreams of generate-content are told to think: by levels, or by a budget of tokens. */
import type { Effort, Losses, Thinking } from '../ask.ts'
import type { Source } from '../json/literal.ts'
import { object } from '../json/write.ts'
import type { Target } from '../protocol.ts'
import { budgetOf, nearestEffort, wantedEffort } from '../thinking.ts'
import { isThird } from './state.ts'

const LEVELS: readonly Effort[] = ['minimal', 'low', 'medium', 'high']
const MOST_BUDGET = 32_768
/** With no more output than this, nothing is left for thoughts. */
const LEAST_OUTPUT = 1024

interface Written {
  maxOutput: number | null
  losses: Losses
}

export function thinkingOf(thinking: Thinking, target: Target, written: Written): Source | undefined {
  if (target.thinking === 'none') {
    if (thinking.mode !== 'off' && wantedEffort(thinking) !== null) written.losses.add('thinking')
    return undefined
  }
  const isShown = thinking.mode === 'off' ? false : (thinking.show ?? thinking.mode === 'on')
  const byLevel = target.thinking !== 'budget' && isThird(target)
  const amount = byLevel ? level(thinking, target, written.losses) : budget(thinking, target, written)
  const config = object({ ...amount, includeThoughts: isShown ? 'true' : undefined })
  return config === '{}' ? undefined : config
}

/** Thinking cannot be switched off here, only be made little. */
function level(thinking: Thinking, target: Target, losses: Losses): { thinkingLevel?: Source } {
  const wanted = thinking.mode === 'off' ? 'minimal' : wantedEffort(thinking)
  if (thinking.mode === 'off') losses.add('thinking')
  if (wanted === null) return {}
  const effort = nearestEffort(wanted, target, LEVELS)
  const told = LEVELS.includes(effort) ? effort : 'high'
  if (told !== wanted && thinking.mode !== 'off') losses.add('effort')
  return { thinkingLevel: `"${told.toUpperCase()}"` }
}

/** Thoughts count into the maximum of the output. */
function budget(thinking: Thinking, target: Target, { maxOutput, losses }: Written): { thinkingBudget?: Source } {
  const { thinkingOff } = target
  if (thinking.mode === 'off') {
    if (!thinkingOff) losses.add('thinking')
    return thinkingOff ? { thinkingBudget: '0' } : {}
  }
  const wanted = wantedEffort(thinking)
  if (wanted === null) return {}
  if (maxOutput !== null && maxOutput <= LEAST_OUTPUT) {
    losses.add('thinking')
    return thinkingOff ? { thinkingBudget: '0' } : {}
  }
  const effort = nearestEffort(wanted, target)
  const asked = effort === wanted && thinking.effort === null ? thinking.budget : null
  const most = Math.min(asked ?? budgetOf(effort), MOST_BUDGET)
  if (effort !== wanted || most < (asked ?? budgetOf(wanted))) losses.add('effort')
  return { thinkingBudget: String(maxOutput === null ? most : Math.min(most, maxOutput - 1)) }
}
