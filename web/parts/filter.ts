/** Choices and numbers that narrow a list and stand in the address. */
import type { VNode } from 'preact'
import { query, setQuery } from '../base/address.ts'
import { input, option, select } from '../base/element.ts'
import { words } from '../base/words.ts'
import { belongs, type Choice, field } from './field.ts'

const w = words({
  all: ['全部', 'All'],
})

/**
 * A list that is narrowed begins at its first page again. What the address names is among the choices, also while those are
 * on their way. `unchosen`: what the list shows without the parameter.
 */
export function filterField(
  parameter: string,
  label: string,
  choices: readonly Choice[],
  unchosen: string = w.all(),
): VNode {
  const row = { name: `by-${parameter}`, label }
  const value = query.value.get(parameter) ?? ''
  const named = value === '' || choices.some(choice => choice.value === value) ? [] : [{ value, text: value }]
  return field(
    row,
    select(
      {
        ...belongs(row),
        value,
        onChange: event => setQuery({ [parameter]: event.currentTarget.value, after: null }, true),
      },
      [{ value: '', text: unchosen }, ...named, ...choices].map(choice =>
        option({ key: choice.value, value: choice.value, selected: choice.value === value }, choice.text),
      ),
    ),
  )
}

/** One of several ways to show a page. `value`: what is shown where the address says nothing, or something else. */
export function choiceField(parameter: string, label: string, choices: readonly Choice[], value: string): VNode {
  const row = { name: `by-${parameter}`, label }
  return field(
    row,
    select(
      { ...belongs(row), value, onChange: event => setQuery({ [parameter]: event.currentTarget.value }) },
      choices.map(choice =>
        option({ key: choice.value, value: choice.value, selected: choice.value === value }, choice.text),
      ),
    ),
  )
}

/** The least of something. `unit`: how many of the address's are one that is entered. */
export function leastField(parameter: string, label: string, unit = 1): VNode {
  const row = { name: `by-${parameter}`, label }
  const value = query.value.get(parameter)
  const least = ({ valueAsNumber }: HTMLInputElement) =>
    setQuery(
      { [parameter]: valueAsNumber > 0 ? String(Math.round(valueAsNumber * unit * 1e6) / 1e6) : null, after: null },
      true,
    )
  return field(
    row,
    input({
      ...belongs(row),
      type: 'number',
      min: 0,
      step: 'any',
      inputMode: 'decimal',
      value: value === null ? '' : String(Number(value) / unit),
      onChange: event => least(event.currentTarget),
    }),
  )
}

/** A text that is looked for as it stands. */
export function exactField(parameter: string, label: string): VNode {
  const row = { name: `by-${parameter}`, label }
  return field(
    row,
    input({
      ...belongs(row),
      type: 'search',
      value: query.value.get(parameter) ?? '',
      onChange: event => setQuery({ [parameter]: event.currentTarget.value.trim(), after: null }, true),
    }),
  )
}
