/** Spending by day or hour, in stacks: the chart of the pages Usage and Overview. */
import type { VNode } from 'preact'
import type { UsageAnswer } from '../../lib/operations/usage/usage.ts'
import { type Bar, stackedBars } from './charts/bars.ts'
import type { Chart } from './charts/chart.ts'
import { count, exactMoney, money, unitPrice } from '../base/money.ts'
import { listed, words } from '../base/words.ts'
import { names } from './request-words.ts'

/** A line between two cents is named in full, but not with six places, for which the axis has no room. */
const tick = (value: number): string =>
  Math.abs(value * 100 - Math.round(value * 100)) > 1e-6 ? unitPrice(String(value)) : money(String(value))

const w = words({
  title: ['费用', 'Spending'],
  sentence: [
    (total: string, requests: string, peak: string, most: string) =>
      `共 ${total}，${requests} 个请求；最高 ${most}（${peak}）。`,
    (total: string, requests: string, peak: string, most: string) =>
      `${total} in all for ${requests === '1' ? 'one request' : `${requests} requests`}; the most was ${most} on ${peak}.`,
  ],
  nothing: ['这段时间没有用量。', 'Nothing was used in this time.'],
  others: ['其他', 'Others'],
  bar: [
    (at: string, total: string, parts: string) => `${at}：${total}。${parts}`,
    (at: string, total: string, parts: string) => `${at}: ${total}. ${parts}`,
  ],
  total: ['合计', 'Total'],
})

type Bucket = UsageAnswer['chart']['buckets'][number]

const total = ({ charge }: Bucket): number => charge.reduce((sum, one) => sum + Number(one), 0)
/** `2026-11-22`, or `2026-11-22 15:00`. */
const fully = (at: string) => at.slice(0, 16).replace('T', ' ')
const shortly = (at: string) => fully(at).slice(5)

const HOUR_MS = 3_600_000
/** In a chart of more bars than that nobody sees a gap. */
const MOST_BARS = 400

/** With the days and hours in which nothing was used, which the API leaves out: a bar stands where its time is. */
function withGaps({ chart: { buckets }, by, from, to, zone }: UsageAnswer): Bucket[] {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
  const bars = (toMs - fromMs) / HOUR_MS / (by === 'day' ? 24 : 1)
  if (bars > MOST_BARS) return buckets
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('sv', { ...parts, timeZone: zone })
  const letters = (by === 'day' ? '2026-11-22' : '2026-11-22 15').length
  const left = [...buckets]
  const all: Bucket[] = []
  // hour by hour, because days have 23 to 25 of them
  for (let ms = fromMs; ms < toMs; ms += HOUR_MS) {
    const at = format.format(ms).slice(0, letters)
    const isNext = left[0] !== undefined && fully(left[0].at).slice(0, letters) === at
    if (isNext) all.push(left.shift() as Bucket)
    else if (all.length === 0 || fully((all.at(-1) as Bucket).at).slice(0, letters) !== at)
      all.push({ at: by === 'day' ? at : `${at}:00`, charge: [], requests: [] })
  }
  return left.length > 0 ? buckets : all
}

export function usageChart(chart: Chart, usage: UsageAnswer): VNode {
  const { chart: data, totals } = usage
  const series = [...data.stacks.map(({ name }) => name), ...(data.others ? [w.others()] : [])]
  const bars = withGaps(usage).map((bucket): Bar => {
    const parts = listed(series.map((name, at) => `${name} ${exactMoney(bucket.charge[at] ?? '0')}`))
    return {
      label: shortly(bucket.at),
      sentence: w.bar(fully(bucket.at), money(String(total(bucket))), parts),
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
      : w.sentence(money(totals.charge), count(totals.requests), fully(peak.at), money(String(total(peak))))
  const title = w.title()
  return chart.view<Bucket>(
    {
      title,
      sentence,
      series,
      table: {
        keyOf: bucket => bucket.at,
        rows: data.buckets,
        columns: [
          { title: names.time(), cell: bucket => fully(bucket.at) },
          ...series.map((name, at) => ({
            title: name,
            number: true,
            cell: (bucket: Bucket) => exactMoney(bucket.charge[at] ?? '0'),
          })),
          { title: w.total(), narrow: 'beside', number: true, cell: bucket => exactMoney(total(bucket).toFixed(6)) },
        ],
      },
    },
    room => stackedBars({ bars, room, name: title, axis: tick }),
  )
}
