/** Overview: the money, what was spent, what came last, and what to do first. */
import type { OverviewAnswer } from '../../lib/operations/usage/usage.ts'
import { hrefOf } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { chart } from '../parts/charts/chart.ts'
import { a, code, dd, div, dl, dt, h2, li, ol, p, section } from '../base/element.ts'
import { follow, load } from '../base/load.ts'
import { exactMoney, money, moneyDown } from '../base/money.ts'
import type { View } from '../base/page.ts'
import { badge } from '../parts/badge.ts'
import { rows } from '../parts/listing.ts'
import { endedCell, names, took } from '../parts/request-words.ts'
import { told, whenLoaded } from '../parts/state.ts'
import { usageChart } from '../parts/usage-chart.ts'
import { account, accountPath } from '../base/session.ts'
import { moment } from '../base/time.ts'
import { inLanguage, words } from '../base/words.ts'
import { may } from '../shared/roles.ts'

const w = words({
  balance: ['余额', 'Balance'],
  held: [(amount: string) => `进行中的请求预扣 ${amount}`, (amount: string) => `${amount} held by open requests`],
  available: ['可用', 'Available'],
  daysLeft: [
    (left: number, days: number) => `按最近 ${days} 天的速度可用 ${left} 天`,
    (left: number, days: number) =>
      `Enough for ${left} days at the rate of the last ${days === 1 ? 'day' : `${days} days`}`,
  ],
  today: ['今日费用', 'Spent today'],
  month: ['本月费用', 'Spent this month'],
  before: [(amount: string) => `上月同期 ${amount}`, (amount: string) => `${amount} by this day last month`],
  low: ['余额低于您设置的提醒值。', 'The balance is below the amount at which you want to be warned.'],
  topUp: ['充值', 'Top up'],
  first: ['开始使用', 'First steps'],
  done: ['完成', 'Done'],
  open: ['待完成', 'To do'],
  money: ['为账户充值', 'Top up the account'],
  key: ['创建一个密钥', 'Make a key'],
  request: ['发送第一个请求', 'Send a first request'],
  last: ['最近的请求', 'Last requests'],
  failures: ['最近的失败', 'Last failures'],
})

/** An account without a request has nothing to add up, so its overview is cheap. */
const FOLLOW_MS = 5_000

export default function overview(): View {
  const loaded = load(() => get<OverviewAnswer>(`${accountPath()}/overview`))
  // whoever sends a first request, in a terminal beside the page, sees it arrive
  follow(loaded, FOLLOW_MS, ({ first_steps }) => !first_steps.request)
  const picture = chart()
  return () =>
    whenLoaded(loaded, value => [
      value.is_low && told('warn', p({}, w.low(), ' ', tops() && a({ href: hrefOf('/topup') }, w.topUp()))),
      figures(value),
      !Object.values(value.first_steps).every(Boolean) && firstSteps(value.first_steps),
      usageChart(picture, value.usage),
      value.requests !== null && value.requests.length > 0 && lastPanel(value.requests),
      value.failures !== null && value.failures.length > 0 && failuresPanel(value.failures),
    ])
}

const figure = (title: string, value: string, more?: string | null) =>
  div({ class: 'figure' }, dt({}, title), dd({}, value), more != null && dd({}, more))

const figures = ({ balance, held, available, days_left, rate_days, spent }: OverviewAnswer) =>
  dl(
    { class: 'figures' },
    figure(w.balance(), moneyDown(balance), w.held(money(held))),
    figure(w.available(), moneyDown(available), days_left === null ? null : w.daysLeft(days_left, rate_days ?? 0)),
    figure(w.today(), money(spent.today)),
    figure(w.month(), money(spent.month), w.before(money(spent.last_month_to_date))),
  )

/** Whether the reader may pay something into the account. */
const tops = () => may(account.value?.role, 'pay')

/** Where a step is taken. */
const stepTo: Record<'money' | 'key' | 'request', Parameters<typeof hrefOf>> = {
  money: ['/topup'],
  key: ['/keys', { make: 'first' }],
  request: ['/connect'],
}

const firstSteps = (steps: OverviewAnswer['first_steps']) =>
  section(
    { class: 'panel', 'aria-labelledby': 'first' },
    h2({ id: 'first' }, w.first()),
    ol(
      { class: 'steps' },
      (['money', 'key', 'request'] as const).map(step =>
        li(
          { key: step },
          div(
            { class: 'row' },
            badge(steps[step] ? 'good' : 'plain', steps[step] ? w.done() : w.open()),
            steps[step] || (step === 'money' && !tops()) ? w[step]() : a({ href: hrefOf(...stepTo[step]) }, w[step]()),
          ),
        ),
      ),
    ),
  )

const lastPanel = (requests: NonNullable<OverviewAnswer['requests']>) =>
  section(
    { class: 'panel', 'aria-labelledby': 'last' },
    h2({ id: 'last' }, w.last()),
    rows<(typeof requests)[number]>({
      caption: w.last(),
      rows: requests,
      keyOf: row => row.request_id,
      columns: [
        { title: names.time(), cell: row => a({ href: hrefOf(`/requests/${row.request_id}`) }, moment(row.at, true)) },
        { title: names.model(), narrow: 'plain', cell: row => code({ class: 'long' }, row.model) },
        { title: names.outcome(), narrow: 'plain', cell: endedCell },
        { title: names.duration(), number: true, cell: row => took(row.duration_ms) },
        { title: names.charge(), narrow: 'beside', number: true, cell: row => exactMoney(row.charge) },
      ],
    }),
  )

type Failure = NonNullable<OverviewAnswer['failures']>[number]
const idOf = ({ request, refusal }: Failure) => (request ?? refusal)?.request_id ?? ''

const failuresPanel = (failures: readonly Failure[]) =>
  section(
    { class: 'panel', 'aria-labelledby': 'failures' },
    h2({ id: 'failures' }, w.failures()),
    rows<Failure>({
      caption: w.failures(),
      rows: failures,
      keyOf: idOf,
      columns: [
        {
          title: names.time(),
          cell: row =>
            a({ href: hrefOf(`/requests/${idOf(row)}`) }, moment((row.request ?? row.refusal)?.at ?? '', true)),
        },
        { title: names.model(), narrow: 'beside', cell: row => code({}, (row.request ?? row.refusal)?.model ?? '–') },
        {
          title: names.outcome(),
          narrow: 'plain',
          cell: ({ request, refusal }) =>
            request !== null ? endedCell(request) : refusal !== null && inLanguage(refusal.why),
        },
      ],
    }),
  )
