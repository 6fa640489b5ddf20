/** Deposits of USDT of all accounts, and the list of addresses for sweeping. */
import type { AnyDeposit } from '../../../api/deposits.ts'
import { query } from '../../address.ts'
import { get } from '../../ask.ts'
import { a, type Child, code, div, h2, p, section, span } from '../../element.ts'
import { load } from '../../load.ts'
import { money } from '../../money.ts'
import { DEPOSIT_STATES, depositBadge, depositStateName } from '../../parts/deposit-words.ts'
import { filterField } from '../../parts/filter.ts'
import { type ListPage, rows } from '../../parts/listing.ts'
import { moment } from '../../time.ts'
import { words } from '../../words.ts'

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
})

const HASH_SHOWN = 12

/** Nothing is drawn where USDT is not offered. */
export function depositsPanel(): () => Child {
  const loaded = load(() => get<ListPage<AnyDeposit>>('/deposits', { state: query.value.get('deposits') }))
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
      value.data.length === 0 ? p({ class: 'soft' }, w.none()) : table(value.data),
      value.next !== null && p({ class: 'soft' }, w.more()),
    )
  }
}

const table = (data: readonly AnyDeposit[]): Child =>
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
      { title: w.credited(), number: true, cell: row => money(row.credited) },
    ],
  })
