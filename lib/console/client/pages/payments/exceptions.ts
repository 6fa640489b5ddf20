/** What does not fit and waits for a person: a table, and the dialog that resolves one. */
import { type Signal, signal } from '@preact/signals'
import type { ShownException } from '../../../api/pay-desk.ts'
import { send } from '../../ask.ts'
import { a, button, type Child, code, dd, dl, dt, p, span } from '../../element.ts'
import { money } from '../../money.ts'
import { say } from '../../page.ts'
import { badge } from '../../parts/badge.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { exceptionName, exceptionTodo } from '../../parts/exception-words.ts'
import { selectField, textArea } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { rows } from '../../parts/listing.ts'
import { methodName } from '../../parts/order-words.ts'
import { told } from '../../parts/state.ts'
import { moment } from '../../time.ts'
import { words } from '../../words.ts'

const w = words({
  list: ['异常', 'Exceptions'],
  what: ['异常', 'What'],
  order: ['订单', 'Order'],
  amount: ['收到', 'Received'],
  detail: ['说明', 'Detail'],
  state: ['处理', 'Decision'],
  transaction: ['服务商流水号', 'Payment at the provider'],
  open: ['处理', 'Resolve'],
  openOf: [(id: string) => `处理异常 ${id}`, (id: string) => `Resolve exception ${id}`],
  title: [(id: string) => `异常 ${id}`, (id: string) => `Exception ${id}`],
  action: ['决定', 'Decision'],
  credit: [(amount: string) => `入账 ${amount}`, (amount: string) => `Credit ${amount}`],
  close: ['关闭，不入账', 'Close it, and credit nothing'],
  reason: ['原因', 'Reason'],
  kept: ['将与您的名字一起永久保存。', 'It is kept for ever, with your name.'],
  confirm: ['确认', 'Confirm'],
  done: ['已处理', 'Resolved'],
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
      { title: w.amount(), number: true, cell: row => received(row) },
      {
        title: w.state(),
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

const received = ({ amount, currency }: ShownException): string =>
  amount === null ? '–' : `${amount} ${currency ?? ''}`.trim()

export function resolveDialog(chosen: Signal<ShownException | null>, changed: () => void): () => Child {
  const action = signal('close')
  const reason = signal('')
  const form = formOf(async () => {
    const { id } = chosen.value as ShownException
    await send('POST', `/payments/exceptions/${id}/resolution`, { action: action.value, reason: reason.value.trim() })
    chosen.value = null
    say(w.done())
    changed()
  })
  chosen.subscribe(row => {
    action.value = row?.credit == null ? 'close' : 'credit'
    reason.value = ''
  })
  return () => {
    const row = chosen.value
    if (row === null) return null
    return dialogBox(
      w.title(row.id),
      () => (chosen.value = null),
      told('plain', p({ class: 'strong' }, exceptionName(row.kind)), p({}, exceptionTodo(row.kind))),
      dl(
        { class: 'pairs' },
        dt({}, w.amount()),
        dd({}, received(row)),
        dt({}, w.transaction()),
        dd({}, code({}, row.transaction ?? row.reference)),
        dt({}, w.detail()),
        dd({ lang: 'en' }, row.detail),
      ),
      form.view(
        'tall',
        selectField({ name: 'action', label: w.action(), error: form.error('action') }, action, [
          ...(row.credit === null ? [] : [{ value: 'credit', text: w.credit(money(row.credit)) }]),
          { value: 'close', text: w.close() },
        ]),
        textArea({ name: 'reason', label: w.reason(), hint: w.kept(), error: form.error('reason') }, reason),
        form.submit('main', w.confirm()),
      ),
    )
  }
}
