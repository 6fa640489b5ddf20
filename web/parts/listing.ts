/**
 * A list as a table: a bar with filters above it, the rows, and "older" and "newer" below. Pages are found by their last
 * row (`after` in the address), so turning one costs the same at any depth, and nothing is counted.
 */
import type { VNode } from 'preact'
import { depth, query, setQuery } from '../base/address.ts'
import { button, type Child, caption, div, section, span, table, tbody, td, th, thead, tr } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import type { Loaded } from '../base/load.ts'
import { stamp, zoneName } from '../base/time.ts'
import { words } from '../base/words.ts'
import { whenLoaded } from './state.ts'

const w = words({
  older: ['更早', 'Older'],
  newer: ['更新', 'Newer'],
  newest: ['回到最新', 'To the newest'],
  read: [
    (at: string, zone: string) => `读取于 ${at}（${zone}）`,
    (at: string, zone: string) => `Read at ${at} (${zone})`,
  ],
})

export interface Column<T> {
  title: string
  cell: (row: T) => Child
  /** Figures stand at the right, so that their places are under each other. */
  number?: boolean
}

export interface ListPage<T> {
  data: readonly T[]
  next: string | null
}

interface Listing<T> {
  /** What the table holds, for screen readers. */
  caption: string
  columns: readonly (Column<T> | false)[]
  keyOf: (row: T) => string | number
  loaded: Loaded<ListPage<T>>
  /** Filters and the like. */
  bar?: Child
  /** Shown instead of a table without rows. */
  empty: () => Child
}

export const listing = <T>({ bar, loaded, empty, ...rest }: Listing<T>): VNode =>
  section(
    { class: 'panel listing', 'aria-label': rest.caption },
    bar && div({ class: 'bar' }, bar),
    whenLoaded(loaded, page => [
      page.data.length === 0 ? empty() : rows({ ...rest, rows: page.data }),
      turning(page.next, loaded.at.value),
    ]),
  )

export interface Rows<T> extends Pick<Listing<T>, 'caption' | 'columns' | 'keyOf'> {
  rows: readonly T[]
}

/** The table alone: for lists that have one page. */
export function rows<T>({ caption: name, columns, keyOf, rows }: Rows<T>): VNode {
  const shown = columns.filter(column => column !== false)
  const kind = ({ number }: Column<T>) => (number === true ? 'number' : undefined)
  return div(
    { class: 'scroll', role: 'group', 'aria-label': name, tabIndex: 0 },
    table(
      {},
      caption({ class: 'unseen' }, name),
      thead(
        {},
        tr(
          {},
          shown.map(column => th({ key: column.title, scope: 'col', class: kind(column) }, column.title)),
        ),
      ),
      tbody(
        {},
        rows.map(row =>
          tr(
            { key: keyOf(row) },
            shown.map((column, at) =>
              at === 0
                ? th({ key: at, scope: 'row', class: kind(column) }, column.cell(row))
                : td({ key: at, class: kind(column) }, column.cell(row)),
            ),
          ),
        ),
      ),
    ),
  )
}

function turning(next: string | null, at: Date | null): Child {
  const after = query.value.get('after')
  return div(
    { class: 'older' },
    span({ class: 'soft' }, at !== null && w.read(stamp(at.toISOString()), zoneName())),
    (after !== null || next !== null) &&
      div(
        { class: 'row' },
        after !== null &&
          button(
            {
              type: 'button',
              class: 'small',
              onClick: () => (depth() > 0 ? history.back() : setQuery({ after: null })),
            },
            icon('left'),
            depth() > 0 ? w.newer() : w.newest(),
          ),
        next !== null &&
          button(
            { type: 'button', class: 'small', onClick: () => setQuery({ after: next }, true) },
            w.older(),
            icon('right'),
          ),
      ),
  )
}
