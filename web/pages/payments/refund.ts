/** The dialog by which an operator sends money of an order back to the payer. */
import { type Signal, signal } from '@preact/signals'
import type { WholeOrder } from '../../../lib/console/answers.ts'
import { send } from '../../base/ask.ts'
import { type Child, p } from '../../base/element.ts'
import { moneyDown } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { textArea, textField, tick } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told } from '../../parts/state.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['退款', 'Refund'],
  lead: [
    '金额会先从账户余额中冻结，再请求支付服务商退款。服务商未作出决定前，款项保持冻结。',
    'The amount is taken out of the balance first; then the provider is asked to send it back. It stays frozen until the provider has decided.',
  ],
  tokensLead: [
    '金额会先从账户余额中冻结。之后请从您自己的钱包转出代币，并在“支付”页面填写交易哈希。',
    'The amount is taken out of the balance first. Then send the tokens from a wallet of your own, and enter its transaction on the page Payments.',
  ],
  receiver: ['收款地址', 'The payer’s address'],
  receiverHint: [
    '请向付款人索取：从交易所转来的代币不能退回原地址。',
    'Ask the payer for it: what came from an exchange cannot go back to where it came from.',
  ],
  toSend: ['款项已冻结，请转出代币', 'The money is frozen: send the tokens now'],
  most: [(amount: string) => `目前最多可退 ${amount}。`, (amount: string) => `At most ${amount} can go back now.`],
  amount: ['金额（元）', 'Amount (CNY)'],
  reason: ['原因', 'Reason'],
  kept: ['将与您的名字一起永久保存。', 'It is kept for ever, with your name.'],
  force: ['即使已被使用也退款', 'Also money that is spent'],
  forceNote: [
    '账户余额可能低于零，在补足之前无法使用。',
    'The balance may fall below zero, and nothing is let through until it is above again.',
  ],
  send: ['退款', 'Refund'],
  done: ['退款已完成', 'The money went back'],
  waiting: ['退款已提交，等待服务商处理', 'The refund is on its way; the provider has not decided yet'],
  released: ['服务商没有退款，款项已解冻', 'The provider did not send it back; the money is free again'],
})

/** `order`: the one whose money goes back; null = the dialog is shut. */
export function refundDialog(order: Signal<WholeOrder | null>, changed: () => void): () => Child {
  const amount = signal('')
  const receiver = signal('')
  const reason = signal('')
  const force = signal(false)
  /** One for each time the dialog is opened: sending it twice is one refund. */
  let reference = ''
  order.subscribe(row => {
    amount.value = row === null ? '' : row.method === 'usdt' ? row.refundable : row.refundable.slice(0, -4)
    receiver.value = ''
    reason.value = ''
    force.value = false
    reference = Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join(
      '',
    )
  })
  const form = formOf(async () => {
    const { id, method } = order.value as WholeOrder
    const to = method === 'usdt' ? { receiver: receiver.value.trim() } : {}
    const body = { amount: amount.value.trim(), reason: reason.value.trim(), force: force.value, reference, ...to }
    const { state } = await send<{ state: 'frozen' | 'done' | 'released' }>(
      'POST',
      `/payments/orders/${id}/refunds`,
      body,
    )
    order.value = null
    say(
      { done: w.done, frozen: method === 'usdt' ? w.toSend : w.waiting, released: w.released }[state](),
      state === 'released' ? 'failed' : 'done',
    )
    changed()
  })
  return () => {
    const row = order.value
    if (row === null) return null
    return dialogBox(
      w.title(),
      () => (order.value = null),
      told('plain', p({}, row.method === 'usdt' ? w.tokensLead() : w.lead())),
      form.view(
        'tall',
        textField(
          { name: 'amount', label: w.amount(), hint: w.most(moneyDown(row.refundable)), error: form.error('amount') },
          amount,
          { inputMode: 'decimal', autoComplete: 'off' },
        ),
        row.method === 'usdt' &&
          textField(
            { name: 'receiver', label: w.receiver(), hint: w.receiverHint(), error: form.error('receiver') },
            receiver,
            { autoComplete: 'off', spellcheck: false },
          ),
        textArea({ name: 'reason', label: w.reason(), hint: w.kept(), error: form.error('reason') }, reason),
        tick({ name: 'force', label: w.force(), hint: w.forceNote() }, force),
        form.submit('danger main', w.send()),
      ),
    )
  }
}
