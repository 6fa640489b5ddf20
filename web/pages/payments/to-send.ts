/** Refunds whose tokens an operator sends: the money is frozen, and somebody has to say by which transaction they were sent. */
import { signal } from '@preact/signals'
import type { ShownRefund } from '../../../lib/console/answers.ts'
import { get } from '../../base/ask.ts'
import { a, button, type Child, code, h2, section, span } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { money } from '../../base/money.ts'
import { rows } from '../../parts/listing.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['待转出的退款', 'Tokens to send back'],
  tokens: ['数量（USDT）', 'Amount (USDT)'],
  receiver: ['收款地址', 'To'],
  worth: ['金额', 'Amount'],
  order: ['订单', 'Order'],
  decision: ['处理', 'Decision'],
  end: ['填写结果', 'Enter the end'],
  endOf: [(id: string) => `填写退款 ${id} 的结果`, (id: string) => `Enter the end of refund ${id}`],
})

/** Nothing is drawn where nothing is to be sent. */
export function toSendPanel(): () => Child {
  const loaded = load(() => get<{ data: ShownRefund[] }>('/payments/refunds'))
  const ending = signal<ShownRefund | null>(null)
  // its code is loaded when somebody ends a refund for the first time
  const dialog = signal<{ view(): Child } | null>(null)
  const end = async (row: ShownRefund): Promise<void> => {
    ending.value = row
    const { sentDialog } = await import('./sent.ts')
    dialog.value ??= { view: sentDialog(ending, loaded.again) }
  }
  return () => {
    const data = loaded.value.value?.data ?? []
    return [
      data.length > 0 &&
        section(
          { class: 'panel', 'aria-labelledby': 'to-send' },
          h2({ id: 'to-send' }, w.title()),
          rows<ShownRefund>({
            caption: w.title(),
            rows: data,
            keyOf: row => row.id,
            columns: [
              { title: w.tokens(), number: true, cell: row => row.tokens },
              { title: w.receiver(), cell: row => [code({}, row.receiver), span({ class: 'under' }, moment(row.at))] },
              { title: w.worth(), narrow: 'beside', number: true, cell: row => money(row.amount) },
              { title: w.order(), cell: row => a({ href: `/console/payments/${row.order}` }, code({}, row.order)) },
              {
                title: w.decision(),
                narrow: 'plain',
                cell: row =>
                  button(
                    { type: 'button', class: 'small', 'aria-label': w.endOf(row.id), onClick: () => end(row) },
                    w.end(),
                  ),
              },
            ],
          }),
        ),
      dialog.value?.view(),
    ]
  }
}
