/** Billing: balance, the amount at which people want to be warned, the ledger, and the months that have a statement. */
import { signal } from '@preact/signals'
import type { BalanceAnswer } from '../../lib/operations/accounts/accounts.ts'
import type { EntriesAnswer } from '../../lib/operations/billing/entries.ts'
import type { MonthsAnswer } from '../../lib/operations/billing/statement.ts'
import { hrefOf, query } from '../base/address.ts'
import { get, send } from '../base/ask.ts'
import { a, dd, div, dl, dt, h2, section, span } from '../base/element.ts'
import { load } from '../base/load.ts'
import { exactMoney, money, moneyDown } from '../base/money.ts'
import { actions, say, type View } from '../base/page.ts'
import { kindName } from '../parts/entry-words.ts'
import { textField } from '../parts/field.ts'
import { formOf } from '../parts/form.ts'
import { listing, rows } from '../parts/listing.ts'
import { names } from '../parts/request-words.ts'
import { empty, whenLoaded } from '../parts/state.ts'
import { fileLinks } from '../parts/file-links.ts'
import { account, accountPath } from '../base/session.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'
import { may } from '../shared/roles.ts'

const w = words({
  topUp: ['充值', 'Top up'],
  balance: ['余额', 'Balance'],
  held: ['预扣', 'Held'],
  available: ['可用', 'Available'],
  warn: ['余额提醒', 'Low balance'],
  below: ['低于此金额时提醒（元）', 'Warn below (CNY)'],
  hint: ['留空表示不提醒。', 'Leave it empty for no warning.'],
  save: ['保存', 'Save'],
  saved: ['已保存', 'Saved'],
  months: ['月结单', 'Statements'],
  month: ['月份', 'Month'],
  opening: ['期初', 'Opening'],
  closing: ['期末', 'Closing'],
  ledger: ['账目', 'Ledger'],
  kind: ['类型', 'Kind'],
  reference: ['参考号', 'Reference'],
  amount: ['金额', 'Amount'],
  none: ['还没有账目', 'There are no entries yet'],
  files: ['导出', 'Export'],
  csv: ['CSV', 'CSV'],
  machine: ['CSV（固定列名）', 'CSV with fixed column names'],
})

export default function billing(): View {
  const balance = load(() => get<BalanceAnswer>(`${accountPath()}/balance`))
  const months = load(() => get<MonthsAnswer>(`${accountPath()}/statements`))
  const entries = load(() => get<EntriesAnswer>(`${accountPath()}/entries`, { after: query.value.get('after') }))
  const warn = warnPanel()
  const pays = may(account.value?.role, 'pay')
  if (pays) actions.value = () => a({ class: 'button main', href: hrefOf('/topup') }, w.topUp())
  return () => [
    whenLoaded(balance, value =>
      dl(
        { class: 'figures' },
        (['balance', 'held', 'available'] as const).map(name =>
          div(
            { key: name, class: 'figure' },
            dt({}, w[name]()),
            dd({}, (name === 'held' ? money : moneyDown)(value[name])),
          ),
        ),
      ),
    ),
    pays && balance.value.value !== null && warn(balance.value.value),
    section(
      { class: 'panel', 'aria-labelledby': 'months' },
      h2({ id: 'months' }, w.months()),
      whenLoaded(months, ({ data }) =>
        rows<MonthsAnswer['data'][number]>({
          caption: w.months(),
          rows: data,
          keyOf: row => row.month,
          columns: [
            { title: w.month(), cell: row => a({ href: hrefOf(`/billing/${row.month}`) }, row.month) },
            { title: w.opening(), number: true, cell: row => exactMoney(row.opening) },
            { title: w.closing(), narrow: 'beside', number: true, cell: row => exactMoney(row.closing) },
          ],
        }),
      ),
    ),
    listing<EntriesAnswer['data'][number]>({
      caption: w.ledger(),
      below: fileLinks(w.files(), [
        { text: w.csv(), call: 'entries.csv', parameters: {} },
        { text: w.machine(), call: 'entries.csv', parameters: { heads: 'machine' } },
      ]),
      loaded: entries,
      empty: () => empty('wallet', w.none()),
      keyOf: row => `${row.booked_at} ${row.kind} ${row.reference}`,
      columns: [
        { title: names.time(), cell: row => moment(row.booked_at) },
        { title: w.kind(), narrow: 'plain', cell: row => kindName(row.kind) },
        { title: w.reference(), cell: row => span({ class: 'long' }, row.reference ?? '–') },
        { title: w.amount(), narrow: 'beside', number: true, cell: row => exactMoney(row.amount) },
        { title: w.balance(), number: true, cell: row => exactMoney(row.balance) },
      ],
    }),
  ]
}

function warnPanel() {
  const amount = signal('')
  let filled = false
  const form = formOf(async () => {
    await send('PUT', `${accountPath()}/low-balance`, {
      amount: amount.value.trim() === '' ? null : amount.value.trim(),
    })
    say(w.saved())
  })
  return ({ low_balance }: BalanceAnswer) => {
    if (!filled) amount.value = low_balance ?? ''
    filled = true
    return section(
      { class: 'panel', 'aria-labelledby': 'warn' },
      h2({ id: 'warn' }, w.warn()),
      form.view(
        'line narrow',
        textField(
          { name: 'amount', label: w.below(), hint: w.hint(), optional: true, error: form.error('amount') },
          amount,
          {
            inputMode: 'decimal',
          },
        ),
        form.submit('main', w.save()),
      ),
    )
  }
}
