/**
 * What differs between the models of Converse, by their makers: mostly how they are told how much to think, for which each maker has
 * members of its own beside those of Converse.
 */
import type { Thinking, TranslationTarget } from '../ask.ts'
import type { Losses } from '../events.ts'
import { type JsonText, literal, object, typed } from '../json/literal.ts'
import { budgetOf, nearestEffort, wantedEffort } from '../efforts.ts'

export type Family = 'claude' | 'nova' | 'openai' | 'mistral' | 'other'

/** By the upstream's name of the model, which may stand behind a region or in an ARN. */
const FAMILIES: readonly (readonly [Family, RegExp])[] = [
  ['claude', /(?:^|[./])anthropic\./],
  ['nova', /(?:^|[./])amazon\.nova/],
  ['openai', /(?:^|[./])openai\./],
  ['mistral', /(?:^|[./])mistral\./],
]

export const familyOf = (model: string): Family => FAMILIES.find(([, name]) => name.test(model))?.[0] ?? 'other'

/** The models of Anthropic before 4.6, which go on with the beginning of an answer. Newer ones refuse it, and of other makers nothing is known. */
const GO_ON = /(?:^|[./])anthropic\.claude-(?:v2|instant|3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-v\d|$))/

export const goesOn = (model: string): boolean => GO_ON.test(model)

export interface Thinks {
  /** Members that Converse hands on to the model. */
  fields?: Readonly<Record<string, JsonText>>
  /** The effort, where Converse has a word for it. */
  effort?: JsonText
  isOn: boolean
}

interface Around {
  /** The history has what a model wants that thinks. */
  mayThink: boolean
  maxOutput: number | null
  losses: Losses
}

type Say = (thinking: Thinking, target: TranslationTarget, around: Around) => Thinks

const LEAST_BUDGET = 1024
const LEVELS = ['low', 'medium', 'high'] as const
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const NOTHING: Thinks = { isOn: false }

/** The nearest effort of those that the model knows. */
function effortOf(
  thinking: Thinking,
  target: TranslationTarget,
  known: readonly (typeof EFFORTS)[number][],
  losses: Losses,
) {
  const wanted = thinking.mode === 'off' ? null : wantedEffort(thinking)
  if (wanted === null) return null
  const effort = nearestEffort(wanted, target, known)
  if (effort !== wanted && wanted !== 'minimal') losses.add('effort')
  return effort
}

const SAY: Readonly<Record<Family, Say>> = {
  claude(thinking, target, { mayThink, maxOutput, losses }) {
    const { thinking: takes, thinkingOff, efforts } = target
    const knowsEffort = takes === 'effort' || takes === 'adaptive'
    const word = knowsEffort
      ? effortOf(thinking, target, efforts.length === 0 ? EFFORTS : (efforts as typeof EFFORTS), losses)
      : null
    const effort = word === null ? {} : { effort: literal(word) }
    if (thinking.mode === 'unset') return { ...effort, isOn: false }
    if (thinking.mode === 'off' || takes === 'none' || !mayThink) {
      if (thinking.mode === 'on' || !thinkingOff) losses.add('thinking')
      return takes !== 'none' && thinkingOff
        ? { ...effort, fields: { thinking: typed('disabled', {}) }, isOn: false }
        : { ...effort, isOn: false }
    }
    const display = thinking.show === null ? undefined : thinking.show ? '"summarized"' : '"omitted"'
    if (takes !== 'budget') return { ...effort, fields: { thinking: typed('adaptive', { display }) }, isOn: true }
    if (maxOutput !== null && maxOutput <= LEAST_BUDGET) {
      losses.add('thinking')
      return NOTHING
    }
    const asked = thinking.budget ?? budgetOf(nearestEffort(wantedEffort(thinking) ?? 'medium', target))
    const most = maxOutput === null ? asked : Math.min(asked, maxOutput - 1)
    const budget_tokens = String(Math.max(LEAST_BUDGET, most))
    return { fields: { thinking: typed('enabled', { budget_tokens, display }) }, isOn: true }
  },

  /** At the highest effort a model of this family takes no maximum. */
  nova(thinking, target, { maxOutput, losses }) {
    if (!/nova-2/.test(target.model)) return none(thinking, target, losses)
    const known = maxOutput === null ? LEVELS : LEVELS.slice(0, 2)
    const effort = effortOf(thinking, target, known, losses)
    if (thinking.mode === 'off') return { fields: { reasoningConfig: typed('disabled', {}) }, isOn: false }
    if (effort === null && thinking.mode !== 'on') return NOTHING
    const maxReasoningEffort = literal(effort ?? 'medium')
    return { fields: { reasoningConfig: typed('enabled', { maxReasoningEffort }) }, isOn: true }
  },

  /** The open ones, which always think. The others refuse that member here, and are asked in their maker's own protocols. */
  openai(thinking, target, { losses }) {
    if (!/gpt-oss/.test(target.model)) return none(thinking, target, losses)
    const effort = effortOf(thinking, target, LEVELS, losses)
    if (thinking.mode === 'off') losses.add('thinking')
    return effort === null ? NOTHING : { fields: { reasoning_effort: literal(effort) }, isOn: true }
  },

  mistral: (thinking, target, { losses }) => none(thinking, target, losses),
  other: (thinking, target, { losses }) => none(thinking, target, losses),
}

/** Nobody knows how the model is told. */
function none(thinking: Thinking, { thinkingOff }: TranslationTarget, losses: Losses): Thinks {
  const isAsked = thinking.mode === 'on' || (thinking.mode === 'unset' && wantedEffort(thinking) !== null)
  if (isAsked || (thinking.mode === 'off' && !thinkingOff)) losses.add('thinking')
  return NOTHING
}

export function thinksOf(family: Family, thinking: Thinking, target: TranslationTarget, around: Around): Thinks {
  if (target.thinking === 'none' && family !== 'claude') return none(thinking, target, around.losses)
  return SAY[family](thinking, target, around)
}

/** undefined = there is nothing in it. */
export function asText(members: Readonly<Record<string, JsonText | undefined>>): JsonText | undefined {
  const text = object(members)
  return text === '{}' ? undefined : text
}
