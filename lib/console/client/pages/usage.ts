/** Usage: what was spent in a period, as cards, as a chart, and as a table with the same numbers. */
import { signal } from '@preact/signals'
import type { Usage } from '../../api/usage-answers.ts'
import { hrefOf, query, setQuery } from '../address.ts'
import { get } from '../ask.ts'
import { chart } from '../charts/chart.ts'
import { a, dd, div, dl, dt, p, section } from '../element.ts'
import { load } from '../load.ts'
import { compact, count, exactMoney, money, percent } from '../money.ts'
import type { View } from '../page.ts'
import { selectField } from '../parts/field.ts'
import { rows } from '../parts/listing.ts'
import { names, took } from '../parts/request-words.ts'
import { whenLoaded } from '../parts/state.ts'
import { usageChart } from '../parts/usage-chart.ts'
import { accountPath } from '../session.ts'
import { words } from '../words.ts'

const w = words({
  period: ['时间', 'Period'],
  day: ['最近 24 小时', 'Last 24 hours'],
  week: ['最近 7 天', 'Last 7 days'],
  month: ['最近 30 天', 'Last 30 days'],
  quarter: ['最近 90 天', 'Last 90 days'],
  stack: ['分组方式', 'In stacks of'],
  tokens: ['输入 / 输出', 'Input / output'],
  cached: ['缓存命中', 'From the cache'],
  median: [(ms: string) => `中位数 ${ms}`, (ms: string) => `Median ${ms}`],
  table: ['明细', 'In numbers'],
  rest: [(stacks: number) => `其余 ${stacks} 项未列出`, (stacks: number) => `${stacks} more are not listed`],
})

const HOUR_MS = 3_600_000
const PERIODS = { day: 24, week: 168, month: 720, quarter: 2_160 } as const
type Period = keyof typeof PERIODS
const isPeriod = (text: string | null): text is Period => text !== null && Object.hasOwn(PERIODS, text)
const periodNow = (): Period => {
  const named = query.value.get('period')
  return isPeriod(named) ? named : 'month'
}
const stackNow = () => query.value.get('stack') ?? 'model'

export default function usage(): View {
  const loaded = load(() => {
    const period = periodNow()
    const from = new Date(Date.now() - PERIODS[period] * HOUR_MS).toISOString()
    return get<Usage>(`${accountPath()}/usage`, { stack: stackNow(), by: period === 'day' ? 'hour' : 'day', from })
  })
  const period = signal<string>(periodNow())
  const stack = signal(stackNow())
  period.subscribe(value => value !== periodNow() && setQuery({ period: value }))
  stack.subscribe(value => value !== stackNow() && setQuery({ stack: value }))
  const picture = chart()
  return () => [
    div(
      { class: 'filters' },
      selectField(
        { name: 'period', label: w.period() },
        period,
        (Object.keys(PERIODS) as Period[]).map(value => ({ value, text: w[value]() })),
      ),
      selectField({ name: 'stack', label: w.stack() }, stack, [
        { value: 'model', text: names.model() },
        { value: 'key', text: names.key() },
        { value: 'group', text: names.group() },
      ]),
    ),
    whenLoaded(loaded, value => [
      cards(value),
      usageChart(picture, value),
      section(
        { class: 'panel listing', 'aria-label': w.table() },
        rows<Usage['rows'][number]>({
          caption: w.table(),
          rows: value.rows,
          keyOf: row => row.key?.id ?? row.name,
          columns: [
            { title: names[value.stack](), cell: row => linked(value.stack, row) },
            { title: names.requests(), number: true, cell: row => count(row.requests) },
            { title: names.failed(), number: true, cell: row => share(row.failed_share) },
            { title: names.input(), number: true, cell: row => count(row.input) },
            { title: names.cacheRead(), number: true, cell: row => count(row.cache_read) },
            { title: names.output(), number: true, cell: row => count(row.output) },
            { title: names.firstByte(), number: true, cell: row => took(row.first_byte_p50_ms) },
            { title: names.charge(), number: true, cell: row => exactMoney(row.charge) },
          ],
        }),
        value.rest !== null && p({ class: 'soft' }, w.rest(value.rest.stacks)),
      ),
    ]),
  ]
}

const share = (value: number | null): string => (value === null ? '–' : percent(value))

const linked = (stack: Usage['stack'], { name, key }: Usage['rows'][number]) =>
  a({ href: hrefOf('/requests', { [stack]: stack === 'key' ? (key?.id ?? '') : name }) }, name)

const cards = ({ totals }: Usage) =>
  dl(
    { class: 'figures' },
    figure(names.charge(), money(totals.charge)),
    figure(names.requests(), compact(totals.requests)),
    figure(names.failed(), compact(totals.failed), share(totals.failed_share)),
    figure(w.tokens(), `${compact(totals.input + totals.cache_read)} / ${compact(totals.output)}`),
    figure(w.cached(), share(totals.cache_hit_share)),
    figure(names.firstByte(), took(totals.first_byte_ms), w.median(took(totals.first_byte_p50_ms))),
  )

const figure = (title: string, value: string, more?: string) =>
  div({ class: 'figure' }, dt({}, title), dd({}, value), more !== undefined && dd({}, more))
