/** What does not fit and waits for a person. */
import { type Signal, signal } from '@preact/signals'
import type { ShownException } from '../../../lib/console/answers.ts'
import { a, button, type Child, code, span } from '../../base/element.ts'
import { badge } from '../../parts/badge.ts'
import { exceptionName, received } from '../../parts/exception-words.ts'
import { rows } from '../../parts/listing.ts'
import { methodName } from '../../parts/order-words.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  list: ['异常', 'Exceptions'],
  what: ['异常', 'What'],
  order: ['订单', 'Order'],
  amount: ['收到', 'Received'],
  state: ['处理', 'Decision'],
  open: ['处理', 'Resolve'],
  openOf: [(id: string) => `处理异常 ${id}`, (id: string) => `Resolve exception ${id}`],
  due: ['截止', 'Act before'],
  by: [(who: string) => `由 ${who}`, (who: string) => `by ${who}`],
})

/** `chosen`: the one that is being resolved. */
export const exceptionTable = (data: readonly ShownException[], chosen: Signal<ShownException | null>): Child =>
  rows<ShownException>({
    caption: w.list(),
    rows: data,
    keyOf: row => row.id,
    columns: [
      {
        title: w.what(),
        cell: row => [
          badge('warn', exceptionName(row.kind)),
          span({ class: 'under' }, methodName(row.method), ' · ', moment(row.at)),
          row.due_at !== null && span({ class: 'under' }, w.due(), ' ', moment(row.due_at, true)),
        ],
      },
      {
        title: w.order(),
        cell: ({ order }) => (order === null ? '–' : a({ href: `/console/payments/${order}` }, code({}, order))),
      },
      { title: w.amount(), narrow: 'beside', number: true, cell: row => received(row) },
      {
        title: w.state(),
        narrow: 'plain',
        cell: row =>
          row.resolved_at === null
            ? button(
                {
                  type: 'button',
                  class: 'small',
                  'aria-label': w.openOf(row.id),
                  onClick: () => (chosen.value = row),
                },
                w.open(),
              )
            : [row.resolution, span({ class: 'under' }, w.by(row.resolved_by ?? '–'))],
      },
    ],
  })

/** The dialog that resolves the one that is chosen. Its code is loaded when somebody chooses one for the first time. */
export function resolveDialog(chosen: Signal<ShownException | null>, changed: () => void): () => Child {
  const dialog = signal<{ view(): Child } | null>(null)
  chosen.subscribe(async row => {
    if (row === null || dialog.peek() !== null) return
    const { resolving } = await import('./resolve-dialog.ts')
    dialog.value ??= { view: resolving(chosen, changed) }
  })
  return () => dialog.value?.view()
}
