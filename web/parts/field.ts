/**
 * Fields of forms. Each has its label above it, its error and its hint below; the control names both for screen readers.
 */
import type { Signal } from '@preact/signals'
import type { JSX, VNode } from 'preact'
import { query, setQuery } from '../base/address.ts'
import { button, type Child, div, input, label, option, p, select, span, textarea } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { words } from '../base/words.ts'

const w = words({
  show: ['显示', 'Show'],
  optional: ['选填', 'optional'],
})

interface FieldRow {
  /** The name of the field in the call, by which errors find it, and its id. */
  name: string
  label: string
  hint?: Child
  error?: string | undefined
  /** True = the field may stay empty, and its label says so. */
  optional?: true
}

/** What a field points at, and what stands around it. */
export const field = ({ name, label: text, hint, error, optional }: FieldRow, control: Child): VNode =>
  div(
    { class: error === undefined ? 'field' : 'field wrong' },
    label({ for: name }, text, optional && span({ class: 'soft' }, ' · ', w.optional())),
    control,
    error !== undefined && p({ class: 'error', id: `${name}-error` }, icon('alert'), span({}, error)),
    hint && p({ class: 'hint', id: `${name}-hint` }, hint),
  )

/**
 * Attributes by which a control belongs to its field. It has an id and no name, so that no browser can ever put what was
 * entered into an address.
 */
export const belongs = ({ name, hint, error }: FieldRow) => ({
  id: name,
  'aria-invalid': error === undefined ? undefined : ('true' as const),
  'aria-describedby':
    [error === undefined ? '' : `${name}-error`, hint ? `${name}-hint` : ''].filter(id => id !== '').join(' ') ||
    undefined,
})

type InputAttributes = Omit<JSX.IntrinsicElements['input'], 'children' | 'value' | 'name' | 'id' | 'label'>

export const textField = (row: FieldRow, value: Signal<string>, attributes: InputAttributes = {}): VNode =>
  field(
    row,
    input({
      type: 'text',
      ...attributes,
      ...belongs(row),
      value: value.value,
      required: row.optional !== true,
      onInput: event => (value.value = event.currentTarget.value),
    }),
  )

/** `shown`: whether the characters can be read; the reader switches it. */
export const secretField = (
  row: FieldRow,
  value: Signal<string>,
  shown: Signal<boolean>,
  attributes: InputAttributes = {},
): VNode =>
  field(
    row,
    div(
      { class: 'joined' },
      input({
        autoComplete: 'off',
        ...attributes,
        ...belongs(row),
        type: shown.value ? 'text' : 'password',
        autoCapitalize: 'off',
        spellcheck: false,
        value: value.value,
        required: row.optional !== true,
        onInput: event => (value.value = event.currentTarget.value),
      }),
      button(
        {
          type: 'button',
          class: 'plain',
          'aria-pressed': shown.value ? 'true' : 'false',
          'aria-label': `${w.show()} ${row.label}`,
          onClick: () => (shown.value = !shown.value),
        },
        icon('eye'),
      ),
    ),
  )

export const textArea = (row: FieldRow, value: Signal<string>, rows = 3): VNode =>
  field(
    row,
    textarea({
      ...belongs(row),
      rows,
      value: value.value,
      required: row.optional !== true,
      onInput: event => (value.value = event.currentTarget.value),
    }),
  )

export interface Choice {
  value: string
  text: string
}

export const selectField = (row: FieldRow, value: Signal<string>, choices: readonly Choice[]): VNode =>
  field(
    row,
    select(
      { ...belongs(row), value: value.value, onChange: event => (value.value = event.currentTarget.value) },
      choices.map(choice =>
        option({ key: choice.value, value: choice.value, selected: choice.value === value.value }, choice.text),
      ),
    ),
  )

export const tick = (row: FieldRow, value: Signal<boolean>): VNode =>
  div(
    { class: 'tick' },
    input({
      ...belongs(row),
      type: 'checkbox',
      checked: value.value,
      onChange: event => (value.value = event.currentTarget.checked),
    }),
    label({ for: row.name }, row.label),
    row.error !== undefined && p({ class: 'error', id: `${row.name}-error` }, icon('alert'), span({}, row.error)),
    row.hint && p({ class: 'hint', id: `${row.name}-hint` }, row.hint),
  )

/** A filter that stands in the address. It follows the typing, a moment later. */
export const searchField = (parameter: string, text: string): VNode =>
  div(
    { class: 'search' },
    icon('search'),
    input({
      type: 'search',
      'aria-label': text,
      placeholder: text,
      value: query.value.get(parameter) ?? '',
      onInput: event => soon(parameter, event.currentTarget.value),
    }),
  )

/** Shorter than a reader notices, longer than between two keys. */
const TYPING_MS = 250
let waiting: ReturnType<typeof setTimeout> | undefined

function soon(parameter: string, value: string): void {
  clearTimeout(waiting)
  waiting = setTimeout(() => setQuery({ [parameter]: value.trim(), after: null }), TYPING_MS)
}
