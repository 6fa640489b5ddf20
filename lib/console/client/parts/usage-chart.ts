/** Spending by day or hour, in stacks: the chart of the pages Usage and Overview. */
import type { VNode } from 'preact'
import type { Usage } from '../../api/usage-answers.ts'
import { type Bar, stackedBars } from '../charts/bars.ts'
import type { Chart } from '../charts/chart.ts'
import { count, exactMoney, money } from '../money.ts'
import { words } from '../words.ts'
import { names } from './request-words.ts'

const w = words({
  title: [(zone: string) => `费用（${zone}）`, (zone: string) => `Spending (${zone})`],
  sentence: [
    (total: string, requests: string, peak: string, most: string) =>
      `共 ${total}，${requests} 个请求；最高 ${most}（${peak}）。`,
    (total: string, requests: string, peak: string, most: string) =>
      `${total} in all for ${requests} requests; the most was ${most} on ${peak}.`,
  ],
  nothing: ['这段时间没有用量。', 'Nothing was used in this time.'],
  others: ['其他', 'Others'],
  bar: [
    (at: string, total: string, parts: string) => `${at}:${total}。${parts}`,
    (at: string, total: string, parts: string) => `${at}: ${total}. ${parts}`,
  ],
  total: ['合计', 'Total'],
})

type Bucket = Usage['chart']['buckets'][number]

const total = ({ charge }: Bucket): number => charge.reduce((sum, one) => sum + Number(one), 0)
const shortly = (at: string) => (at.length === 10 ? at.slice(5) : at.slice(5, 13).replace('T', ' '))

export function usageChart(chart: Chart, { chart: data, totals, zone }: Usage): VNode {
  const series = [...data.stacks.map(({ name }) => name), ...(data.others ? [w.others()] : [])]
  const bars = data.buckets.map((bucket): Bar => {
    const parts = series.map((name, at) => `${name} ${exactMoney(bucket.charge[at] ?? '0')}`).join(', ')
    return {
      label: shortly(bucket.at),
      sentence: w.bar(bucket.at, money(String(total(bucket))), parts),
      values: series.map((_, at) => Number(bucket.charge[at] ?? 0)),
    }
  })
  const peak = data.buckets.reduce<Bucket | null>(
    (most, one) => (most === null || total(one) > total(most) ? one : most),
    null,
  )
  const sentence =
    peak === null
      ? w.nothing()
      : w.sentence(money(totals.charge), count(totals.requests), peak.at, money(String(total(peak))))
  const title = w.title(zone)
  return chart.view<Bucket>(
    {
      title,
      sentence,
      series,
      table: {
        keyOf: bucket => bucket.at,
        rows: data.buckets,
        columns: [
          { title: names.time(), cell: bucket => bucket.at },
          ...series.map((name, at) => ({
            title: name,
            number: true,
            cell: (bucket: Bucket) => exactMoney(bucket.charge[at] ?? '0'),
          })),
          { title: w.total(), number: true, cell: bucket => exactMoney(total(bucket).toFixed(6)) },
        ],
      },
    },
    () => stackedBars({ bars, name: title, axis: value => money(String(value)) }),
  )
}
