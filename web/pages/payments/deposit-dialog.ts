/** The dialog in which an operator decides about a deposit: credits it, closes it, or sends tokens back. */
import { type Signal, signal } from '@preact/signals'
import type { AnyDeposit, DepositRefund } from '../../../lib/console/api/deposit-desk.ts'
import { send } from '../../base/ask.ts'
import { type Child, code, dd, dl, dt, p } from '../../base/element.ts'
import { exactMoney } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { copyable } from '../../parts/copy.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { selectField, textArea, textField, tick } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told } from '../../parts/state.ts'
import { words } from '../../base/words.ts'

const w = words({
  resolve: ['处理充值', 'Resolve the deposit'],
  resolveLead: [
    '先在区块浏览器中查看这笔交易。另一节点确认后才能入账。',
    'Look at the transaction on an explorer first. It is credited only when the other node confirms it.',
  ],
  release: ['立即入账', 'Credit it now'],
  releaseLead: [
    '该账户所有等待中的充值都会入账,即使合计低于最低金额。',
    'All that waits for this account is credited, also below the minimum.',
  ],
  refund: ['退还充值', 'Send tokens back'],
  refundLead: [
    '金额会先从账户余额中冻结。之后请从您自己的钱包转出代币,并填写交易哈希。',
    'The amount is taken out of the balance first. Then send the tokens from a wallet of your own, and enter its transaction here.',
  ],
  sent: ['退还的代币', 'Tokens to send'],
  sentLead: [
    '节点确认转账后,退款才算完成。一笔交易只能用于一次退款。',
    'A node has to confirm the transfer. A transaction counts for one refund only.',
  ],
  action: ['决定', 'Decision'],
  credit: ['入账', 'Credit it'],
  close: ['关闭,不入账', 'Close it, and credit nothing'],
  isSent: ['已转出', 'They were sent'],
  notSent: ['不转出,解冻款项', 'They are not sent: free the money'],
  tx: ['交易哈希', 'Hash of the transaction'],
  amount: ['金额(元)', 'Amount (CNY)'],
  receiver: ['收款地址', 'The payer’s address'],
  receiverHint: [
    '请向付款人索取:从交易所转来的代币不能退回原地址。',
    'Ask the payer for it: what came from an exchange cannot go back to where it came from.',
  ],
  tokens: ['数量(USDT)', 'USDT'],
  transaction: ['交易', 'Transaction'],
  account: ['账户', 'Account'],
  credited: ['入账', 'Credited'],
  reason: ['原因', 'Reason'],
  kept: ['将与您的名字一起永久保存。', 'It is kept for ever, with your name.'],
  force: ['即使已被使用也退款', 'Also money that is spent'],
  confirm: ['确认', 'Confirm'],
  done: ['已完成', 'Done'],
  toSend: ['款项已冻结,请转出代币', 'The money is frozen: send the tokens now'],
})

export type DepositAsked =
  | { what: 'resolve' | 'release' | 'refund'; deposit: AnyDeposit }
  | { what: 'sent'; refund: DepositRefund }

/** `asked`: what is being decided; null = the dialog is shut. */
export function depositDialog(asked: Signal<DepositAsked | null>, changed: () => void): () => Child {
  const [action, amount, receiver, reason, tx] = ['', '', '', '', ''].map(text => signal(text)) as [
    Signal<string>,
    Signal<string>,
    Signal<string>,
    Signal<string>,
    Signal<string>,
  ]
  const force = signal(false)
  /** One for each time the dialog is opened: sending it twice is one refund. */
  let reference = ''
  asked.subscribe(row => {
    action.value = row?.what === 'sent' ? 'sent' : 'close'
    for (const field of [amount, receiver, reason, tx]) field.value = ''
    force.value = false
    reference = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('')
  })
  const ask = async (row: DepositAsked): Promise<void> => {
    const why = reason.value.trim()
    if (row.what === 'sent') {
      const body = action.value === 'sent' ? { tx: tx.value.trim() } : { reason: why }
      await send('POST', `/deposits/refunds/${row.refund.id}/end`, body)
    } else if (row.what === 'resolve')
      await send('POST', `/deposits/${row.deposit.id}/resolution`, { action: action.value, reason: why })
    else if (row.what === 'release')
      await send('POST', '/deposits/release', { account: row.deposit.account.id, reason: why })
    else {
      const body = { amount: amount.value.trim(), receiver: receiver.value.trim(), reference, reason: why }
      await send('POST', `/deposits/${row.deposit.id}/refunds`, { ...body, force: force.value })
    }
  }
  const form = formOf(async () => {
    const row = asked.value as DepositAsked
    await ask(row)
    asked.value = null
    say(row.what === 'refund' ? w.toSend() : w.done())
    changed()
  })
  const reasonField = () =>
    textArea({ name: 'reason', label: w.reason(), hint: w.kept(), error: form.error('reason') }, reason)
  const choice = (options: { value: string; text: string }[]) =>
    selectField({ name: 'action', label: w.action(), error: form.error('action') }, action, options)
  const fields: Record<DepositAsked['what'], () => Child[]> = {
    resolve: () => [
      choice([
        { value: 'close', text: w.close() },
        { value: 'credit', text: w.credit() },
      ]),
      reasonField(),
    ],
    release: () => [reasonField()],
    refund: () => [
      textField({ name: 'amount', label: w.amount(), error: form.error('amount') }, amount, {
        inputMode: 'decimal',
        autoComplete: 'off',
      }),
      textField(
        { name: 'receiver', label: w.receiver(), hint: w.receiverHint(), error: form.error('receiver') },
        receiver,
        { autoComplete: 'off', spellcheck: false },
      ),
      reasonField(),
      tick({ name: 'force', label: w.force() }, force),
    ],
    sent: () => [
      choice([
        { value: 'sent', text: w.isSent() },
        { value: 'not', text: w.notSent() },
      ]),
      action.value === 'sent'
        ? textField({ name: 'tx', label: w.tx(), error: form.error('tx') }, tx, {
            autoComplete: 'off',
            spellcheck: false,
          })
        : reasonField(),
    ],
  }
  const LEADS = { resolve: w.resolveLead, release: w.releaseLead, refund: w.refundLead, sent: w.sentLead }
  return () => {
    const row = asked.value
    if (row === null) return null
    return dialogBox(
      w[row.what](),
      () => (asked.value = null),
      told('plain', p({}, LEADS[row.what]())),
      row.what === 'sent' ? aboutRefund(row.refund) : aboutDeposit(row.deposit),
      form.view('tall', ...fields[row.what](), form.submit('main', w.confirm())),
    )
  }
}

const pairs = (list: [string, Child][]): Child =>
  dl({ class: 'pairs' }, ...list.flatMap(([title, value]) => [dt({}, title), dd({}, value)]))

const aboutDeposit = ({ account, amount, credited, tx }: AnyDeposit): Child =>
  pairs([
    [w.account(), account.name],
    [w.tokens(), amount],
    [w.credited(), exactMoney(credited)],
    [w.transaction(), code({}, tx)],
  ])

const aboutRefund = ({ tokens, receiver, amount }: DepositRefund): Child =>
  pairs([
    [w.tokens(), copyable(tokens, w.tokens())],
    [w.receiver(), copyable(receiver, w.receiver())],
    [w.amount(), exactMoney(amount)],
  ])
