/** The dialog in which an operator ends a refund of tokens: by the transaction that sent them, or by why they are not sent. */
import { type Signal, signal } from '@preact/signals'
import type { ShownRefund } from '../../../lib/console/answers.ts'
import { send } from '../../base/ask.ts'
import { type Child, dd, dl, dt, p } from '../../base/element.ts'
import { exactMoney } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { copyable } from '../../parts/copy.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { selectField, textArea, textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told } from '../../parts/state.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['退还的代币', 'Tokens to send'],
  lead: [
    '节点确认转账后，退款才算完成。一笔交易只能用于一次退款。',
    'A node has to confirm the transfer. A transaction counts for one refund only.',
  ],
  action: ['决定', 'Decision'],
  isSent: ['已转出', 'They were sent'],
  notSent: ['不转出，解冻款项', 'They are not sent: free the money'],
  tx: ['交易哈希', 'Hash of the transaction'],
  tokens: ['数量（USDT）', 'USDT'],
  receiver: ['收款地址', 'The payer’s address'],
  amount: ['金额（元）', 'Amount (CNY)'],
  reason: ['原因', 'Reason'],
  kept: ['将与您的名字一起永久保存。', 'It is kept for ever, with your name.'],
  confirm: ['确认', 'Confirm'],
  done: ['已完成', 'Done'],
})

/** `ending`: the refund that is ended; null = the dialog is shut. */
export function sentDialog(ending: Signal<ShownRefund | null>, changed: () => void): () => Child {
  const [action, reason, tx] = [signal('sent'), signal(''), signal('')]
  ending.subscribe(() => {
    action.value = 'sent'
    reason.value = ''
    tx.value = ''
  })
  const form = formOf(async () => {
    const { id } = ending.value as ShownRefund
    const body = action.value === 'sent' ? { tx: tx.value.trim() } : { reason: reason.value.trim() }
    await send('POST', `/payments/refunds/${id}/end`, body)
    ending.value = null
    say(w.done())
    changed()
  })
  return () => {
    const row = ending.value
    if (row === null) return null
    return dialogBox(
      w.title(),
      () => (ending.value = null),
      told('plain', p({}, w.lead())),
      dl(
        { class: 'pairs' },
        dt({}, w.tokens()),
        dd({}, copyable(row.tokens ?? '', w.tokens())),
        dt({}, w.receiver()),
        dd({}, copyable(row.receiver ?? '', w.receiver())),
        dt({}, w.amount()),
        dd({}, exactMoney(row.amount)),
      ),
      form.view(
        'tall',
        selectField({ name: 'action', label: w.action(), error: form.error('action') }, action, [
          { value: 'sent', text: w.isSent() },
          { value: 'not', text: w.notSent() },
        ]),
        action.value === 'sent'
          ? textField({ name: 'tx', label: w.tx(), error: form.error('tx') }, tx, {
              autoComplete: 'off',
              spellcheck: false,
            })
          : textArea({ name: 'reason', label: w.reason(), hint: w.kept(), error: form.error('reason') }, reason),
        form.submit('main', w.confirm()),
      ),
    )
  }
}
