/** Deposits of USDT of all accounts, what is to be sent back of them, and the list of addresses for sweeping. */
import { signal } from '@preact/signals'
import type { AnyDeposit, DepositRefund } from '../../../lib/console/api/deposit-desk.ts'
import { query } from '../../base/address.ts'
import { get } from '../../base/ask.ts'
import { a, button, type Child, code, div, h2, h3, p, section, span } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { money } from '../../base/money.ts'
import { DEPOSIT_STATES, depositBadge, depositStateName } from '../../parts/deposit-words.ts'
import { filterField } from '../../parts/filter.ts'
import { type ListPage, rows } from '../../parts/listing.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import type { DepositAsked } from './deposit-dialog.ts'

const w = words({
  title: ['USDT 充值', 'Deposits of USDT'],
  state: ['状态', 'State'],
  sweep: ['归集地址清单（CSV）', 'Addresses for sweeping (CSV)'],
  none: ['没有符合条件的充值', 'No deposit matches'],
  more: ['仅显示最新的 100 条。', 'Only the newest 100 are shown.'],
  transaction: ['交易', 'Transaction'],
  account: ['账户', 'Account'],
  address: ['充值地址', 'Address'],
  tokens: ['数量（USDT）', 'Amount (USDT)'],
  credited: ['入账', 'Credited'],
  decision: ['处理', 'Decision'],
  by: [(who: string) => `由 ${who}`, (who: string) => `by ${who}`],
  resolve: ['处理', 'Resolve'],
  resolveOf: [(id: string) => `处理充值 ${id}`, (id: string) => `Resolve deposit ${id}`],
  release: ['立即入账', 'Credit now'],
  releaseOf: [(id: string) => `立即入账充值 ${id}`, (id: string) => `Credit deposit ${id} now`],
  refund: ['退还', 'Send back'],
  refundOf: [(id: string) => `退还充值 ${id}`, (id: string) => `Send deposit ${id} back`],
  back: [(amount: string) => `退还 ${amount}`, (amount: string) => `${amount} back`],
  toSend: ['待转出的退款', 'Tokens to send back'],
  receiver: ['收款地址', 'To'],
  worth: ['金额', 'Amount'],
  end: ['填写结果', 'Enter the end'],
  endOf: [(id: string) => `填写退款 ${id} 的结果`, (id: string) => `Enter the end of refund ${id}`],
})

const HASH_SHOWN = 12
const NOTHING = '0.000000'

/** Nothing is drawn where USDT is not offered. */
export function depositsPanel(): () => Child {
  const loaded = load(() => get<ListPage<AnyDeposit>>('/deposits', { state: query.value.get('deposits') }))
  const toSend = load(() => get<{ data: DepositRefund[] }>('/deposits/refunds'))
  const asked = signal<DepositAsked | null>(null)
  // its code is loaded when somebody decides something for the first time
  const dialog = signal<{ view(): Child } | null>(null)
  const ask = async (next: DepositAsked): Promise<void> => {
    asked.value = next
    const { depositDialog } = await import('./deposit-dialog.ts')
    dialog.value ??= { view: depositDialog(asked, changed) }
  }
  const changed = () => {
    loaded.again()
    toSend.again()
  }
  return () => {
    const value = loaded.value.value
    if (value === null) return null
    return section(
      { class: 'panel', 'aria-labelledby': 'deposits' },
      h2({ id: 'deposits' }, w.title()),
      div(
        { class: 'filters' },
        filterField(
          'deposits',
          w.state(),
          DEPOSIT_STATES.map(state => ({ value: state, text: depositStateName(state) })),
        ),
        a({ class: 'button', href: '/console/api/deposits/addresses/csv', download: 'usdt-addresses.csv' }, w.sweep()),
      ),
      value.data.length === 0 ? p({ class: 'soft' }, w.none()) : table(value.data, ask),
      value.next !== null && p({ class: 'soft' }, w.more()),
      (toSend.value.value?.data.length ?? 0) > 0 && [
        h3({}, w.toSend()),
        sendTable(toSend.value.value?.data as DepositRefund[], ask),
      ],
      dialog.value?.view(),
    )
  }
}

type Ask = (next: DepositAsked) => unknown

const small = (text: string, name: string, onClick: () => void): Child =>
  button({ type: 'button', class: 'small', 'aria-label': name, onClick }, text)

/** What can be decided about a deposit, by its state, and what somebody has decided. */
function decision(row: AnyDeposit, ask: Ask): Child {
  const able = (what: 'resolve' | 'release' | 'refund') =>
    small(w[what](), w[`${what}Of`](row.id), () => ask({ what, deposit: row }))
  const done = row.decided_by !== null && span({ class: 'under' }, row.decision, ' ', w.by(row.decided_by))
  if (row.state === 'held') return able('resolve')
  if (row.state === 'confirmed') return able('release')
  return row.state === 'credited' ? [able('refund'), done] : done || '–'
}

const sendTable = (data: readonly DepositRefund[], ask: Ask): Child =>
  rows<DepositRefund>({
    caption: w.toSend(),
    rows: data,
    keyOf: row => row.id,
    columns: [
      { title: w.tokens(), number: true, cell: row => row.tokens },
      { title: w.receiver(), cell: row => [code({}, row.receiver), span({ class: 'under' }, moment(row.at))] },
      { title: w.worth(), number: true, cell: row => money(row.amount) },
      {
        title: w.decision(),
        cell: row => small(w.end(), w.endOf(row.id), () => ask({ what: 'sent', refund: row })),
      },
    ],
  })

const table = (data: readonly AnyDeposit[], ask: Ask): Child =>
  rows<AnyDeposit>({
    caption: w.title(),
    rows: data,
    keyOf: row => row.id,
    columns: [
      {
        title: w.transaction(),
        cell: row => [
          code({ title: row.tx }, `${row.tx.slice(0, HASH_SHOWN)}…`),
          span({ class: 'under' }, moment(row.at)),
        ],
      },
      { title: w.account(), cell: row => row.account.name },
      { title: w.address(), cell: row => code({ title: row.address }, `${row.address.slice(0, HASH_SHOWN)}…`) },
      { title: w.state(), cell: row => depositBadge(row.state) },
      { title: w.tokens(), number: true, cell: row => row.amount },
      {
        title: w.credited(),
        number: true,
        cell: row => [
          money(row.credited),
          [row.refunded, row.frozen].map(
            amount => amount !== NOTHING && span({ class: 'under' }, w.back(money(amount))),
          ),
        ],
      },
      { title: w.decision(), cell: row => decision(row, ask) },
    ],
  })
