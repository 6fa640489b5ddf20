/** A choice that narrows a list and stands in the address. */
import type { VNode } from 'preact'
import { query, setQuery } from '../address.ts'
import { option, select } from '../element.ts'
import { words } from '../words.ts'
import { belongs, type Choice, field } from './field.ts'

const w = words({
  all: ['全部', 'All'],
})

/** A list that is narrowed begins at its first page again. */
export function filterField(parameter: string, label: string, choices: readonly Choice[]): VNode {
  const row = { name: `by-${parameter}`, label }
  const value = query.value.get(parameter) ?? ''
  return field(
    row,
    select(
      {
        ...belongs(row),
        value,
        onChange: event => setQuery({ [parameter]: event.currentTarget.value, after: null }, true),
      },
      [{ value: '', text: w.all() }, ...choices].map(choice =>
        option({ key: choice.value, value: choice.value, selected: choice.value === value }, choice.text),
      ),
    ),
  )
}
