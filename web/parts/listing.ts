/**
 * A list as a table: a bar with filters above it, the rows, and "older" and "newer" below, or "next" and "previous" where the reader
 * has chosen another order. Pages are found by their last row (`after` in the address), so turning one costs the same at any depth.
 */
import type { VNode } from 'preact'
import { depth, query, setQuery } from '../base/address.ts'
import {
  button,
  type Child,
  caption,
  div,
  section,
  span,
  table,
  tbody,
  td,
  tfoot,
  th,
  thead,
  tr,
} from '../base/element.ts'
import { icon } from '../base/icons.ts'
import type { Loaded } from '../base/load.ts'
import { scripted } from '../base/page.ts'
import { stamp } from '../base/time.ts'
import { words } from '../base/words.ts'
import { whenLoaded } from './state.ts'

const w = words({
  total: ['合计', 'Total'],
  older: ['更早', 'Older'],
  newer: ['更新', 'Newer'],
  newest: ['回到最新', 'To the newest'],
  following: ['下一页', 'Next'],
  before: ['上一页', 'Previous'],
  first: ['回到首页', 'To the first page'],
  read: [(at: string) => `读取于 ${at}`, (at: string) => `Read at ${at}`],
})

/**
 * In a narrow place a row has no columns: the first cell stands at the beginning of a line, those that are `beside` at its
 * end, and the others below, each behind its title unless it is `plain`, which says by itself what it is.
 */
export interface Column<T> {
  title: string
  cell: (row: T) => Child
  /** Figures stand at the right, so that their places are under each other. */
  number?: boolean
  narrow?: 'beside' | 'plain'
  /** Rows can be put in the order of this column. */
  order?: Order<T>
  /** What the column comes to. */
  total?: Child
}

export interface Order<T> {
  /** The column as the address names it: `sort=name`, or `sort=-name` for the largest first. */
  name: string
  /** Texts are looked through from the first letter, figures from the largest, and so are others of which this is true. */
  down?: boolean
  /** Whether the rows stand in this order, its first way, where the address names none. */
  usual?: boolean
  /** What is compared; null stands last. Absent where whoever gave the rows has put them in order. */
  of?: (row: T) => string | number | null
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
  /** What is rarely wanted, such as files. */
  below?: Child
  /** Shown instead of a table without rows. */
  empty: () => Child
}

export const listing = <T>({ bar, below, loaded, empty, ...rest }: Listing<T>): VNode =>
  section(
    { class: 'panel listing', 'aria-label': rest.caption },
    bar && div({ class: 'bar' }, bar),
    whenLoaded(loaded, page => [
      page.data.length === 0 ? empty() : rows({ ...rest, rows: page.data }),
      turning(page.next, loaded),
    ]),
    // of nothing there is no file
    (loaded.value.value?.data.length ?? 0) > 0 && below,
  )

export interface Rows<T> extends Pick<Listing<T>, 'caption' | 'columns' | 'keyOf'> {
  rows: readonly T[]
}

const FEW = 3
const MANY = 7
const MOST = 10

/** The table alone: for lists that have one page. */
export function rows<T>({ caption: name, columns, keyOf, rows }: Rows<T>): VNode {
  const shown = columns.filter(column => column !== false)
  const size = shown.length <= FEW ? ' few' : shown.length >= MOST ? ' many most' : shown.length >= MANY ? ' many' : ''
  const hasOrder = shown.some(({ order }) => order !== undefined)
  return div(
    { class: `scroll rows${size}`, role: 'group', 'aria-label': name, tabIndex: 0 },
    table(
      {},
      caption({ class: 'unseen' }, name),
      thead({ class: hasOrder ? 'ordered' : undefined }, tr({}, shown.map(headOf))),
      tbody(
        {},
        inOrder(rows, shown).map(row =>
          tr(
            { key: keyOf(row) },
            shown.map((column, at) => cellOf(column, at, column.cell(row))),
          ),
        ),
      ),
      shown.some(({ total }) => total !== undefined) &&
        tfoot(
          {},
          tr(
            {},
            shown.map((column, at) => cellOf(column, at, column.total ?? (at === 0 && w.total()))),
          ),
        ),
    ),
  )
}

function cellOf<T>({ title, number, narrow }: Column<T>, at: number, content: Child): VNode {
  const kinds = [number === true && 'number', narrow].filter(Boolean).join(' ')
  const attributes = { key: at, class: kinds || undefined }
  if (at === 0) return th({ ...attributes, scope: 'row' }, content)
  return td({ ...attributes, 'data-title': narrow === undefined ? title : undefined }, content)
}

/** The column by which rows are in order, with a minus before it where the largest comes first. */
const orderNow = (): string => (scripted.value && query.value.get('sort')) || ''

const SORTS = { '': 'none', up: 'ascending', down: 'descending' } as const

function headOf<T>({ title, number, order }: Column<T>): VNode {
  const kind = number === true ? 'number' : undefined
  if (order === undefined || !scripted.value) return th({ key: title, scope: 'col', class: kind }, title)
  const { name, down = number, usual = false } = order
  const first = down === true ? `-${name}` : name
  const other = down === true ? name : `-${name}`
  const now = orderNow() || (usual ? first : '')
  const way = now === name ? 'up' : now === `-${name}` ? 'down' : ''
  const next = now === first ? other : first
  return th(
    { key: title, scope: 'col', class: kind, 'aria-sort': SORTS[way] },
    button(
      {
        type: 'button',
        class: `order ${way}`,
        onClick: () => setQuery({ sort: usual && next === first ? null : next, after: null }),
      },
      title,
      icon('down'),
    ),
  )
}

function inOrder<T>(rows: readonly T[], columns: readonly Column<T>[]): readonly T[] {
  const now = orderNow()
  const order = columns.find(column => column.order?.name === now.replace('-', ''))?.order
  if (order?.of === undefined) return rows
  const { of } = order
  const sign = now.startsWith('-') ? -1 : 1
  return [...rows].sort((a, b) => compare(of(a), of(b), sign))
}

function compare(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return sign * (typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b))
}

/** `next` leads on from the rows that are shown. While the page asks for others, in another order say, it leads nowhere. */
function turning(next: string | null, { at: { value: at }, stale }: Loaded<unknown>): Child {
  const after = query.value.get('after')
  const isChosen = orderNow() !== ''
  return div(
    { class: 'older' },
    span({ class: 'soft' }, at !== null && w.read(stamp(at.toISOString()))),
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
            depth() > 0 ? w[isChosen ? 'before' : 'newer']() : w[isChosen ? 'first' : 'newest'](),
          ),
        next !== null &&
          button(
            {
              type: 'button',
              class: 'small',
              'aria-disabled': stale.value ? 'true' : undefined,
              onClick: () => stale.value || setQuery({ after: next }, true),
            },
            w[isChosen ? 'following' : 'older'](),
            icon('right'),
          ),
      ),
  )
}
