/** The statement of a month, for the screen and for paper. */
import type { StatementAnswer } from '../../lib/operations/billing/statement.ts'
import { hrefOf } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { a, button, code, dd, dl, dt, h2, p, section, span } from '../base/element.ts'
import { load } from '../base/load.ts'
import { count, exactMoney } from '../base/money.ts'
import { actions, heading, type View } from '../base/page.ts'
import { kindName } from '../parts/entry-words.ts'
import { rows } from '../parts/listing.ts'
import { names } from '../parts/request-words.ts'
import { told, whenLoaded } from '../parts/state.ts'
import { accountPath } from '../base/session.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'

const w = words({
  title: [(month: string) => `${month} 月结单`, (month: string) => `Statement of ${month}`],
  back: ['账单', 'Billing'],
  csv: ['导出 CSV', 'Export as CSV'],
  print: ['打印', 'Print'],
  open: ['本月尚未结束，之后还会有账目。', 'The month has not ended: more may be added.'],
  account: ['账户', 'Account'],
  opening: ['期初余额', 'Opening balance'],
  credits: ['收入', 'Credits'],
  charges: ['用量', 'Charges'],
  closing: ['期末余额', 'Closing balance'],
  models: ['各模型费用', 'Charges by model'],
  shifted: [
    (amount: string) => `另有 ${amount} 属于跨月入账的请求。`,
    (amount: string) => `${amount} more belong to requests that arrived in one month and were booked in another.`,
  ],
  lines: ['账目', 'Entries'],
  kind: ['类型', 'Kind'],
  reference: ['参考号', 'Reference'],
  amount: ['金额', 'Amount'],
  balance: ['余额', 'Balance'],
})

export default function statement(): View {
  const month = decodeURIComponent(location.pathname.split('/').at(-1) ?? '')
  const path = () => `${accountPath()}/statements/${encodeURIComponent(month)}`
  const loaded = load(() => get<StatementAnswer>(path()))
  heading.value = () => w.title(month)
  actions.value = () => [
    a({ class: 'button', href: hrefOf('/billing') }, w.back()),
    a({ class: 'button', href: `/console/api${path()}/csv`, download: `statement-${month}.csv` }, w.csv()),
    button({ type: 'button', onClick: () => print() }, w.print()),
  ]
  return () =>
    whenLoaded(loaded, value => [
      !value.closed && told('plain', p({}, w.open())),
      section(
        { class: 'panel', 'aria-label': w.title(month) },
        dl(
          { class: 'pairs' },
          dt({}, w.account()),
          dd({}, value.account),
          (['opening', 'credits', 'charges', 'closing'] as const).map(name => [
            dt({ key: `${name} title` }, w[name]()),
            dd({ key: name }, exactMoney(value[name])),
          ]),
        ),
      ),
      section(
        { class: 'panel', 'aria-labelledby': 'models' },
        h2({ id: 'models' }, w.models()),
        rows<StatementAnswer['models'][number]>({
          caption: w.models(),
          rows: value.models,
          keyOf: row => row.model,
          columns: [
            { title: names.model(), cell: row => code({}, row.model) },
            { title: names.requests(), number: true, cell: row => count(row.requests) },
            { title: names.input(), number: true, cell: row => count(row.input) },
            { title: names.output(), number: true, cell: row => count(row.output) },
            { title: names.charge(), narrow: 'beside', number: true, cell: row => exactMoney(row.charge) },
          ],
        }),
        value.shifted !== '0.000000' && p({ class: 'soft' }, w.shifted(exactMoney(value.shifted))),
      ),
      section(
        { class: 'panel', 'aria-labelledby': 'entries' },
        h2({ id: 'entries' }, w.lines()),
        rows<StatementAnswer['lines'][number]>({
          caption: w.lines(),
          rows: value.lines,
          keyOf: row => `${row.booked_at} ${row.kind} ${row.reference}`,
          columns: [
            { title: names.time(), cell: row => moment(row.booked_at) },
            { title: w.kind(), narrow: 'plain', cell: row => kindName(row.kind) },
            {
              title: w.reference(),
              cell: row => [
                span({ class: 'long' }, row.reference ?? '–'),
                row.note !== '' && row.note !== null && span({ class: 'under' }, row.note),
              ],
            },
            { title: w.amount(), narrow: 'beside', number: true, cell: row => exactMoney(row.amount) },
            { title: w.balance(), number: true, cell: row => exactMoney(row.balance) },
          ],
        }),
      ),
    ])
}
