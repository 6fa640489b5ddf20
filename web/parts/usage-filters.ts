/**
 * The filters of usage, which the pages Usage and Requests share. They stand in the address by the names that the API gives
 * them, so charts, tables, lists and files of one address are about the same requests. Sums know some of the filters,
 * single requests all of them.
 */
import { computed, effect, signal } from '@preact/signals'
import type { ChoicesAnswer } from '../../lib/operations/usage/usage.ts'
import { query, setQuery } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { button, type Child, details, div, h2, p, section, span, summary } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { type Loaded, load } from '../base/load.ts'
import { accountPath } from '../base/session.ts'
import { inLanguage, listed, words } from '../base/words.ts'
import type { Choice } from './field.ts'
import { exactField, filterField, leastField } from './filter.ts'
import { NO_PERIOD, type Preset, periodFields, periodOf } from './period.ts'
import { basisName, ENDS_IN_WORDS, endName, names, outcomeName } from './request-words.ts'
import { failed } from './state.ts'

const w = words({
  filters: ['筛选', 'Filters'],
  id: ['编号', 'Id'],
  more: ['更多筛选', 'More filters'],
  moreSet: [(count: number) => `更多筛选（已用 ${count} 项）`, (count: number) => `More filters (${count} in use)`],
  member: ['密钥创建者', 'Who made the key'],
  end: ['结束方式', 'How it ended'],
  basis: ['计费依据', 'Basis'],
  chargeFrom: ['费用不低于（元）', 'Charge of at least (CNY)'],
  durationFrom: ['时长不低于（秒）', 'Duration of at least (s)'],
  reason: ['原因', 'Why'],
  deleted: [(name: string) => `${name}（已删除）`, (name: string) => `${name} (deleted)`],
  moreKeys: [
    '仅列出费用最高的 200 个密钥；其他密钥可从“密钥”页打开其用量。',
    'The 200 keys with the highest charges are listed; the page Keys leads to the usage of any other.',
  ],
  clear: ['清除筛选', 'Clear the filters'],
})

const OF_SUMS = ['model', 'key', 'group', 'protocol', 'member', 'outcome'] as const
const OF_ROWS = ['status', 'end', 'basis', 'charge_from', 'duration_from_ms'] as const
const KNOWN = {
  sums: OF_SUMS,
  rows: [...OF_SUMS, ...OF_ROWS],
  refusals: ['model', 'key', 'member', 'reason'],
} as const
/** What is filtered. */
type Filtered = keyof typeof KNOWN
type Name = (typeof KNOWN)[Filtered][number]

const isSet = (name: string): boolean => (query.value.get(name) ?? '') !== ''
const setOf = (list: readonly string[]): Record<string, string> =>
  Object.fromEntries(list.filter(isSet).map(name => [name, query.value.get(name) as string]))

/** The filters as the API takes them. */
export const sentFilters = (of: Filtered): Record<string, string> => setOf(KNOWN[of])
/** Filters that sums leave out. */
export const rowFilters = (): string[] => OF_ROWS.filter(isSet)

const ALL = [...new Set(Object.values(KNOWN).flat()), 'id', 'period', 'from', 'to']
export const isFiltered = (): boolean => ALL.some(isSet)
const clearFilters = (): void =>
  setQuery({ ...Object.fromEntries(ALL.map(name => [name, null])), ...NO_PERIOD, after: null }, true)

export const clearButton = (): Child => button({ type: 'button', onClick: clearFilters }, w.clear())

/** What filters are called in a sentence. */
export const filterNames = (list: readonly string[]): string => listed(list.map(name => titleOf(name as Name)))

function titleOf(name: Name): string {
  if (name === 'charge_from') return w.chargeFrom()
  if (name === 'duration_from_ms') return w.durationFrom()
  return name === 'member' || name === 'end' || name === 'basis' || name === 'reason' ? w[name]() : names[name]()
}

const STATUSES = ['2xx', '3xx', '4xx', '5xx']
const SECOND_MS = 1_000

function choicesOf(name: Exclude<Name, 'charge_from' | 'duration_from_ms'>, choices: ChoicesAnswer | null): Choice[] {
  const plain = (all: readonly string[] = []) => all.map(value => ({ value, text: value }))
  switch (name) {
    case 'key':
      return (choices?.keys ?? []).map(key => ({ value: key.id, text: key.deleted ? w.deleted(key.name) : key.name }))
    case 'member':
      return (choices?.members ?? []).map(member => ({ value: member.id, text: member.name }))
    case 'reason':
      return (choices?.reasons ?? []).map(reason => ({ value: reason.name, text: inLanguage(reason.why) }))
    case 'model':
      return plain(choices?.models)
    case 'group':
      return plain(choices?.groups)
    case 'protocol':
      return plain(choices?.protocols)
    case 'status':
      return plain(STATUSES)
    case 'outcome':
      return (['ok', 'client', 'upstream'] as const).map(value => ({ value, text: outcomeName(value) }))
    case 'end':
      return ENDS_IN_WORDS.map(value => ({ value, text: endName(value) }))
    case 'basis':
      return (['reported', 'counted', 'none'] as const).map(value => ({ value, text: basisName(value) }))
  }
}

const fieldOf = (name: Name, choices: ChoicesAnswer | null): Child => {
  if (name === 'charge_from') return leastField(name, titleOf(name))
  if (name === 'duration_from_ms') return leastField(name, titleOf(name), SECOND_MS)
  // who sees single keys only has no members to choose among
  if (name === 'member' && (choices?.members ?? null) === null && !isSet(name)) return null
  return filterField(name, titleOf(name), choicesOf(name, choices))
}

export interface Filters {
  /** `of`: what the page shows now. `own`: fields of the page itself; `byId`: whether one row can be looked for. */
  view(of: Filtered, own: Child, byId?: boolean): Child
}

/**
 * `fallback`: the period where the address names none. `first`: what the page shows first; the filters are unfolded where it is
 * narrowed. What can be chosen is asked for when they unfold.
 */
export function usageFilters(fallback: Preset, first: Filtered): Filters {
  const unfolded = signal([...KNOWN[first], 'id'].some(isSet))
  const asked = computed(() => JSON.stringify({ ...periodOf(fallback), key: query.value.get('key') }))
  const choices = signal<Loaded<ChoicesAnswer> | null>(null)
  effect(() => {
    if (!unfolded.value || choices.peek() !== null) return
    choices.value = load(() => get<ChoicesAnswer>(`${accountPath()}/usage/choices`, JSON.parse(asked.value)))
  })
  return {
    view(of, own, byId = false) {
      const known: readonly Name[] = KNOWN[of]
      const count = known.filter(isSet).length + Number(byId && isSet('id'))
      const found = choices.value?.value.value ?? null
      const failure = choices.value?.failure.value ?? null
      return section(
        { class: 'panel', 'aria-labelledby': 'filters' },
        h2({ class: 'unseen', id: 'filters' }, w.filters()),
        div({ class: 'filters beside' }, periodFields(fallback, fallback === 'all'), own),
        details(
          {
            class: 'unfolding',
            open: unfolded.value,
            onToggle: event => (unfolded.value = event.currentTarget.open),
          },
          summary({}, icon('down'), span({}, count === 0 ? w.more() : w.moreSet(count))),
          failure !== null && failed(failure, choices.value?.again),
          div(
            { class: 'filters' },
            byId && exactField('id', w.id()),
            known.map(name => fieldOf(name, found)),
          ),
          found?.more_keys === true && p({ class: 'hint' }, w.moreKeys()),
        ),
        isFiltered() && div({ class: 'row' }, clearButton()),
      )
    },
  }
}
