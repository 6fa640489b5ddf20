/** Usage: what was spent in a period, as cards, as a chart, and as a table with the same numbers. */
import type { UsageAnswer } from '../../lib/operations/usage/usage.ts'
import { hrefOf, query } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { chart } from '../parts/charts/chart.ts'
import { a, type Child, dd, div, dl, dt, p, section } from '../base/element.ts'
import { load } from '../base/load.ts'
import { compact, count, exactMoney, money, percent } from '../base/money.ts'
import { actions, type View } from '../base/page.ts'
import { choiceField } from '../parts/filter.ts'
import { type Column, rows } from '../parts/listing.ts'
import { daysIn, periodOf, periodParameters } from '../parts/period.ts'
import { names, took, within } from '../parts/request-words.ts'
import { empty, told, whenLoaded } from '../parts/state.ts'
import { usageChart } from '../parts/usage-chart.ts'
import { fileLinks } from '../parts/file-links.ts'
import { clearButton, filterNames, rowFilters, sentFilters, usageFilters } from '../parts/usage-filters.ts'
import { account, accountPath } from '../base/session.ts'
import { chartZone, stamp, zoneName } from '../base/time.ts'
import { words } from '../base/words.ts'
import { may } from '../shared/roles.ts'

const w = words({
  stack: ['分组方式', 'Stacked by'],
  by: ['图表单位', 'One bar for'],
  day: ['一天', 'a day'],
  hour: ['一小时', 'an hour'],
  tokens: ['输入 / 输出', 'Input / output'],
  cached: ['缓存命中', 'From the cache'],
  median: [(ms: string) => `半数请求 ${ms}`, (ms: string) => `half of them ${ms}`],
  table: ['明细', 'Details'],
  rest: [(stacks: number) => `其余 ${stacks} 项未列出`, (stacks: number) => `${stacks} more are not listed`],
  span: [
    (from: string, to: string) => `${from} 至 ${to}，按整小时统计。`,
    (from: string, to: string) => `From ${from} to ${to}, in whole hours.`,
  ],
  otherZone: [
    (own: string, zone: string) => `${own} 与 UTC 的时差不是整小时，图表按 ${zone} 的日期统计。`,
    (own: string, zone: string) => `${own} is not whole hours from UTC, so the chart has the days of ${zone}.`,
  ],
  rowsOnly: [
    (list: string) => `只适用于单个请求和导出文件，不影响此处的合计与图表：${list}。`,
    (list: string) =>
      `The totals and the chart leave these filters out, which are for single requests and files: ${list}.`,
  ],
  requests: ['查看请求', 'Show the requests'],
  nothing: [
    '这段时间没有用量。请选择更长的时间，或先连接一个客户端。',
    'Nothing was used in this time. Choose a longer one, or connect a client.',
  ],
  connect: ['连接客户端', 'Connect a client'],
  noneFits: ['没有符合筛选条件的用量', 'No usage fits these filters'],
  files: ['导出', 'Export'],
  tableFile: ['明细 CSV', 'The table as CSV'],
  csv: ['请求 CSV', 'Requests as CSV'],
  jsonl: ['请求 JSONL', 'Requests as JSONL'],
})

const STACKS = ['model', 'key', 'group', 'protocol'] as const
const FALLBACK = 'month'
/** Longer reports have no bars of an hour, and those up to a few days have no others unless the reader wants them. */
const HOURLY_DAYS = 8
const FINE_DAYS = 2

const stackNow = (): UsageAnswer['stack'] => STACKS.find(stack => stack === query.value.get('stack')) ?? 'model'
const daysNow = (): number => daysIn(periodOf(FALLBACK)) ?? Number.POSITIVE_INFINITY

function barNow(): UsageAnswer['by'] {
  const named = query.value.get('by')
  if (daysNow() > HOURLY_DAYS) return 'day'
  return named === 'hour' || named === 'day' ? named : daysNow() <= FINE_DAYS ? 'hour' : 'day'
}

/** Who reads totals only sees no single request. */
const seesRequests = (): boolean => account.value === null || may(account.value.role, 'readRequests')

export default function usage(): View {
  const loaded = load(() =>
    get<UsageAnswer>(`${accountPath()}/usage`, {
      ...sentFilters('sums'),
      ...periodOf(FALLBACK),
      stack: stackNow(),
      by: barNow(),
      zone: chartZone(),
    }),
  )
  const filters = usageFilters(FALLBACK, 'sums')
  const picture = chart()
  actions.value = () => seesRequests() && a({ class: 'button', href: requestsOf({}) }, w.requests())
  return () => [
    filters.view('sums', [
      choiceField('stack', w.stack(), textsOf(STACKS, names), stackNow()),
      daysNow() <= HOURLY_DAYS && choiceField('by', w.by(), textsOf(['day', 'hour'] as const, w), barNow()),
    ]),
    rowFilters().length > 0 && told('plain', p({}, w.rowsOnly(filterNames(rowFilters())))),
    whenLoaded(loaded, value => [
      p({ class: 'soft' }, w.span(stamp(value.from, false), stamp(value.to, false)), otherZone(value)),
      value.totals.requests === 0 ? nothing() : [cards(value), usageChart(picture, value), table(value)],
    ]),
  ]
}

const textsOf = <T extends string>(all: readonly T[], texts: { [K in T]: () => string }) =>
  all.map(value => ({ value, text: texts[value]() }))

const otherZone = ({ zone }: UsageAnswer): Child => chartZone() === null && [' ', w.otherZone(zoneName(), zone)]

const nothing = (): Child =>
  section(
    { class: 'panel', 'aria-label': w.table() },
    Object.keys(sentFilters('sums')).length > 0
      ? empty('chart', w.noneFits(), clearButton())
      : empty('chart', w.nothing(), a({ class: 'button main', href: hrefOf('/connect') }, w.connect())),
  )

/** The requests that the numbers of this page are of. */
const requestsOf = (more: Record<string, string>): string =>
  hrefOf('/requests', { ...sentFilters('rows'), ...periodParameters(FALLBACK), ...more })

type Row = UsageAnswer['rows'][number]

function table(value: UsageAnswer): Child {
  const { stack } = value
  const only = ({ name, key }: Row) => ({ [stack]: stack === 'key' ? (key?.id ?? '') : name })
  const linked = (text: string, parameters: Record<string, string>) =>
    seesRequests() ? a({ href: requestsOf(parameters) }, text) : text
  const counted = (title: string, name: 'requests' | 'input' | 'cache_read' | 'output'): Column<Row> => ({
    title,
    number: true,
    cell: row => count(row[name]),
    total: count(value.totals[name]),
    order: { name, of: row => row[name] },
  })
  return section(
    { class: 'panel listing', 'aria-label': w.table() },
    rows<Row>({
      caption: w.table(),
      rows: value.rows,
      keyOf: row => row.key?.id ?? row.name,
      columns: [
        {
          title: names[stack](),
          cell: row => linked(row.name, only(row)),
          order: { name: 'name', of: ({ name }) => name },
        },
        counted(names.requests(), 'requests'),
        {
          title: names.failed(),
          number: true,
          cell: row =>
            row.failed === 0
              ? share(row.failed_share)
              : linked(share(row.failed_share), { ...only(row), outcome: 'upstream' }),
        },
        counted(names.input(), 'input'),
        counted(names.cacheRead(), 'cache_read'),
        counted(names.output(), 'output'),
        { title: names.firstByte(), number: true, cell: row => within(row.first_byte_p50_up_to_ms) },
        {
          title: names.charge(),
          narrow: 'beside',
          number: true,
          cell: row => exactMoney(row.charge),
          total: exactMoney(value.totals.charge),
          order: { name: 'charge', of: ({ charge }) => Number(charge) },
        },
      ],
    }),
    value.rest !== null && p({ class: 'soft' }, w.rest(value.rest.stacks)),
    files(stack),
  )
}

function files(stack: string): Child {
  const period = periodOf(FALLBACK)
  const ofRows = { ...sentFilters('rows'), ...period }
  return fileLinks(w.files(), [
    { text: w.tableFile(), call: 'usage.csv', parameters: { ...sentFilters('sums'), ...period, stack } },
    ...(seesRequests()
      ? [
          { text: w.csv(), call: 'requests.csv', parameters: ofRows },
          { text: w.jsonl(), call: 'requests.jsonl', parameters: ofRows },
        ]
      : []),
  ])
}

const share = (value: number | null): string => (value === null ? '–' : percent(value))

const cards = ({ totals }: UsageAnswer) =>
  dl(
    { class: 'figures six' },
    figure(names.charge(), money(totals.charge)),
    figure(names.requests(), compact(totals.requests)),
    figure(names.failed(), compact(totals.failed), share(totals.failed_share)),
    figure(w.tokens(), `${compact(totals.input + totals.cache_read)} / ${compact(totals.output)}`),
    figure(w.cached(), share(totals.cache_hit_share)),
    figure(names.firstByte(), took(totals.first_byte_ms), w.median(within(totals.first_byte_p50_up_to_ms))),
  )

const figure = (title: string, value: string, more?: string) =>
  div({ class: 'figure' }, dt({}, title), dd({}, value), more !== undefined && dd({}, more))
