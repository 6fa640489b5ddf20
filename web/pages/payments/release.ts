/** The dialog by which an operator credits an order now that is paid and held. */
import { type Signal, signal } from '@preact/signals'
import type { WholeOrder } from '../../../lib/console/answers.ts'
import { send } from '../../base/ask.ts'
import { type Child, p } from '../../base/element.ts'
import { say } from '../../base/page.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { textArea } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told } from '../../parts/state.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['立即入账', 'Credit it now'],
  lead: [
    '款项已支付，因近期争议较多而暂缓入账。入账后付款人即可使用，之后若被银行追回，余额可能低于零。',
    'The money is paid, and held because payments were disputed lately. Once it is credited it can be spent; if a bank takes it back later, the balance may fall below zero.',
  ],
  othersLead: [
    '这笔转账已确认，但与其他转账合计仍低于最低金额。现在单独入账。',
    'The transfer is confirmed, but worth less than the minimum together with others. It is credited now all the same.',
  ],
  reason: ['原因', 'Reason'],
  kept: ['将与您的名字一起永久保存。', 'It is kept for ever, with your name.'],
  done: ['已入账', 'Credited'],
})

/** `order`: the one that is credited; null = the dialog is shut. */
export function releaseDialog(order: Signal<WholeOrder | null>, changed: () => void): () => Child {
  const reason = signal('')
  order.subscribe(() => (reason.value = ''))
  const form = formOf(async () => {
    const { id } = order.value as WholeOrder
    await send('POST', `/payments/orders/${id}/release`, { reason: reason.value.trim() })
    order.value = null
    say(w.done())
    changed()
  })
  return () =>
    order.value !== null &&
    dialogBox(
      w.title(),
      () => (order.value = null),
      told('plain', p({}, order.value.waits_for === null ? w.lead() : w.othersLead())),
      form.view(
        'tall',
        textArea({ name: 'reason', label: w.reason(), hint: w.kept(), error: form.error('reason') }, reason),
        form.submit('main', w.title()),
      ),
    )
}
