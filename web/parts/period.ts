/**
 * The period that a page shows, which stands in the address: so many days up to now (`period`), or from one time to another
 * (`from`, `to`). What is entered is read in the zone in which the page shows times.
 */
import { query, setQuery } from '../base/address.ts'
import { type Child, input, option, select } from '../base/element.ts'
import { dayBegan, enteredTime, inputText } from '../base/time.ts'
import { words } from '../base/words.ts'
import { belongs, type Choice, field } from './field.ts'

const w = words({
  period: ['时间', 'Period'],
  all: ['全部时间', 'All time'],
  day: ['最近 24 小时', 'Last 24 hours'],
  week: ['最近 7 天', 'Last 7 days'],
  month: ['最近 30 天', 'Last 30 days'],
  quarter: ['最近 90 天', 'Last 90 days'],
  custom: ['自定义…', 'Custom…'],
  from: ['从', 'From'],
  to: ['到', 'To'],
  wrong: ['结束时间不晚于开始时间，未采用。', 'The end is not after the beginning, so it is left out.'],
})

const DAYS = { day: 1, week: 7, month: 30, quarter: 90 } as const
const PRESETS = ['day', 'week', 'month', 'quarter'] as const
export type Preset = (typeof PRESETS)[number] | 'all'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** What is earlier is a year of which not all digits were entered yet. */
const FIRST_MS = Date.UTC(2020)

/** The period as the API takes it: an absent end is now, an absent beginning what the call takes for it. */
export interface Period {
  from?: string
  to?: string
}

function timeIn(name: 'from' | 'to'): string | null {
  const ms = Date.parse(query.value.get(name) ?? '')
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}

const isIn = (name: 'from' | 'to'): boolean => timeIn(name) !== null
const isCustom = () => isIn('from') || isIn('to')

function presetOf(fallback: Preset): Preset {
  const named = query.value.get('period')
  return named === 'all' && fallback === 'all' ? named : (PRESETS.find(preset => preset === named) ?? fallback)
}

const endsTooEarly = () => {
  const [from, to] = [timeIn('from'), timeIn('to')]
  return from !== null && to !== null && from >= to
}

/** `fallback`: what is meant where the address says nothing. */
export function periodOf(fallback: Preset, nowMs = Date.now()): Period {
  if (isCustom()) {
    const [from, to] = [timeIn('from'), timeIn('to')]
    return { ...(from !== null && { from }), ...(to !== null && !endsTooEarly() && { to }) }
  }
  const preset = presetOf(fallback)
  if (preset === 'all') return {}
  const began = preset === 'day' ? Math.floor((nowMs - DAY_MS) / HOUR_MS) * HOUR_MS : dayBegan(nowMs, DAYS[preset] - 1)
  return { from: new Date(began).toISOString() }
}

/** How long it is, in days; null = nobody has said when it begins. */
export function daysIn({ from, to }: Period, nowMs = Date.now()): number | null {
  return from === undefined ? null : ((to === undefined ? nowMs : Date.parse(to)) - Date.parse(from)) / DAY_MS
}

/** What the address says of a period, for links to other pages that show the same one. */
export const periodParameters = (fallback: Preset): Record<string, string> =>
  isCustom()
    ? Object.fromEntries(
        (['from', 'to'] as const).flatMap(name => (isIn(name) ? [[name, timeIn(name) as string]] : [])),
      )
    : { period: presetOf(fallback) }

export const NO_PERIOD = { period: null, from: null, to: null }

function turnTo(value: string, fallback: Preset): void {
  const none = { ...NO_PERIOD, after: null }
  if (value !== 'custom') {
    setQuery({ ...none, period: value === fallback ? null : value }, true)
    return
  }
  // it begins as what was shown before
  const { from } = periodOf(fallback)
  const now = Date.now()
  setQuery(
    {
      ...none,
      from: from ?? new Date(dayBegan(now, DAYS.week - 1)).toISOString(),
      to: new Date(Math.ceil(now / HOUR_MS) * HOUR_MS).toISOString(),
    },
    true,
  )
}

/** `all`: whether a period without a beginning can be chosen. */
export function periodFields(fallback: Preset, all: boolean): Child {
  const about = { name: 'period', label: w.period() }
  const value = isCustom() ? 'custom' : presetOf(fallback)
  const choices: Choice[] = [...(all ? (['all'] as const) : []), ...PRESETS, 'custom' as const].map(name => ({
    value: name,
    text: w[name](),
  }))
  return [
    field(
      about,
      select(
        { ...belongs(about), value, onChange: event => turnTo(event.currentTarget.value, fallback) },
        choices.map(choice =>
          option({ key: choice.value, value: choice.value, selected: choice.value === value }, choice.text),
        ),
      ),
    ),
    value === 'custom' && [timeField('from', w.from()), timeField('to', w.to())],
  ]
}

function timeField(name: 'from' | 'to', label: string): Child {
  const row = { name, label, error: name === 'to' && endsTooEarly() ? w.wrong() : undefined }
  const time = timeIn(name)
  const take = (text: string) => {
    const entered = enteredTime(text)
    if (text === '' || (entered !== null && Date.parse(entered) >= FIRST_MS)) setQuery({ [name]: entered, after: null })
  }
  return field(
    row,
    input({
      ...belongs(row),
      type: 'datetime-local',
      value: time === null ? '' : inputText(time),
      onChange: event => take(event.currentTarget.value),
    }),
  )
}
