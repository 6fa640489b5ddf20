/** The dialog in which an operator resolves an exception: credits what was received, or closes it. */
import { type Signal, signal } from '@preact/signals'
import type { ShownException } from '../../../lib/console/answers.ts'
import { send } from '../../base/ask.ts'
import { type Child, code, dd, dl, dt, p } from '../../base/element.ts'
import { money } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { exceptionName, exceptionTodo, received } from '../../parts/exception-words.ts'
import { selectField, textArea } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told } from '../../parts/state.ts'
import { words } from '../../base/words.ts'

const w = words({
  amount: ['收到', 'Received'],
  detail: ['说明', 'Detail'],
  transaction: ['服务商流水号', 'Payment at the provider'],
  title: [(id: string) => `异常 ${id}`, (id: string) => `Exception ${id}`],
  action: ['决定', 'Decision'],
  credit: [(amount: string) => `入账 ${amount}`, (amount: string) => `Credit ${amount}`],
  close: ['关闭，不入账', 'Close it, and credit nothing'],
  reason: ['原因', 'Reason'],
  kept: ['将与您的名字一起永久保存。', 'It is kept for ever, with your name.'],
  confirm: ['确认', 'Confirm'],
  done: ['已处理', 'Resolved'],
})

/** `chosen`: the one that is being resolved; null = the dialog is shut. */
export function resolving(chosen: Signal<ShownException | null>, changed: () => void): () => Child {
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
