/** Status: how each model is now, how it fared on each of the last days, and when it failed. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { GroupStatus } from '../../lib/operations/catalogue/public-catalogue.ts'
import { setQuery } from '../base/address.ts'
import { get, Refused } from '../base/ask.ts'
import { a, type Child, code, div, h2, li, p, rect, section, span, svg, svgTitle, ul } from '../base/element.ts'
import { percent } from '../base/money.ts'
import { say, scripted, type View } from '../base/page.ts'
import { selectField } from '../parts/field.ts'
import { empty } from '../parts/state.ts'
import { stamp } from '../base/time.ts'
import { words } from '../base/words.ts'
import { stateCell } from './models/price-cells.ts'

const w = words({
  lead: [
    '每根柱表示一天中得到应答的请求所占的比例。请求很少的日子不作统计。',
    'Each bar is a day, and shows the share of requests that were answered. Days with few requests are left out.',
  ],
  group: ['分组', 'Group'],
  groups: ['分组：', 'Groups: '],
  models: ['模型', 'Models'],
  incidents: ['故障记录', 'Incidents'],
  noIncidents: ['最近 90 天没有故障', 'No incidents in the last 90 days'],
  none: ['目前没有对外公开的模型', 'No models are public at the moment'],
  days: [
    (n: number, share: string) => `最近 90 天中有 ${n} 天的数据，最差一天的应答率为 ${share}`,
    (n: number, share: string) => `${n} of the last 90 days have figures; on the worst of them ${share} were answered`,
  ],
  noDays: ['最近 90 天的请求太少，无法统计', 'Too few requests in the last 90 days to tell'],
  day: [(day: string, share: string) => `${day}：${share}`, (day: string, share: string) => `${day}: ${share}`],
  noFigure: ['无数据', 'no figures'],
  from: ['90 天前', '90 days ago'],
  today: ['今天', 'Today'],
  over: [
    (from: string, until: string, share: string) => `${from} 至 ${until}，最差一小时的应答率为 ${share}`,
    (from: string, until: string, share: string) => `${from} to ${until}; ${share} answered in the worst hour`,
  ],
  open: [
    (from: string, share: string) => `自 ${from} 起，可能尚未结束；最差一小时的应答率为 ${share}`,
    (from: string, share: string) => `since ${from}, may not be over; ${share} answered in the worst hour`,
  ],
})

const DAY_MS = 86_400_000
const BAR = 8
const HEIGHT = 28
/** From here on a day is good, and from here on it is fair. */
const GOOD = 0.99
const FAIR = 0.9

export default function status(data: GroupStatus): View {
  const shown = signal(data)
  const group = signal(data.group ?? '')

  async function turnTo(name: string): Promise<void> {
    try {
      shown.value = await get<GroupStatus>('/catalogue/status', { group: name })
      setQuery({ group: name })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      say(error.message, 'failed')
    }
  }

  return () => {
    const { groups, models, incidents, from } = shown.value
    return [
      p({ class: 'lead' }, w.lead()),
      groups.length > 1 &&
        (scripted.value
          ? div(
              { class: 'filters', onChange: () => queueMicrotask(() => void turnTo(group.value)) },
              selectField(
                { name: 'group', label: w.group() },
                group,
                groups.map(name => ({ value: name, text: name })),
              ),
            )
          : p(
              {},
              w.groups(),
              groups.map(name =>
                a({ key: name, href: `/console/status?group=${encodeURIComponent(name)}` }, name, ' '),
              ),
            )),
      section(
        { class: 'panel', 'aria-labelledby': 'now' },
        h2({ id: 'now' }, w.models()),
        models.length === 0
          ? empty('box', w.none())
          : ul(
              { class: 'stack' },
              models.map(model => li({ key: model.name }, modelRow(model, from))),
            ),
      ),
      section(
        { class: 'panel', 'aria-labelledby': 'incidents' },
        h2({ id: 'incidents' }, w.incidents()),
        incidents.length === 0
          ? p({ class: 'soft' }, w.noIncidents())
          : [
              ul(
                { class: 'stack' },
                incidents.map(one =>
                  li({ key: `${one.model} ${one.from}` }, code({}, one.model), ' ', span({}, incidentText(one))),
                ),
              ),
            ],
      ),
    ]
  }
}

function incidentText({ from, until, answered_share: share }: GroupStatus['incidents'][number]): string {
  const start = stamp(from, false)
  return until === null ? w.open(start, percent(share)) : w.over(start, stamp(until, false), percent(share))
}

function modelRow(model: GroupStatus['models'][number], from: string): Child {
  return [
    div({ class: 'spread' }, code({}, model.name), div({ class: 'row' }, stateCell(model))),
    bars(model.days, from),
    div({ class: 'spread hint', 'aria-hidden': 'true' }, span({}, w.from()), span({}, w.today())),
  ]
}

/** Height tells the share as well as colour does. */
function bars(days: readonly (number | null)[], from: string): VNode {
  const known = days.filter(share => share !== null)
  const name = known.length === 0 ? w.noDays() : w.days(known.length, percent(Math.min(...known)))
  const dayOf = (at: number) => new Date(Date.parse(from) + at * DAY_MS).toISOString().slice(0, 10)
  return svg(
    {
      class: 'days',
      viewBox: `0 0 ${days.length * BAR} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': name,
    },
    days.map((share, at) => {
      const height = share === null ? 4 : share >= GOOD ? HEIGHT : share >= FAIR ? HEIGHT * 0.75 : HEIGHT * 0.5
      const tone = share === null ? 'none' : share >= GOOD ? 'good' : share >= FAIR ? 'fair' : 'bad'
      return rect(
        { key: at, class: tone, x: at * BAR, y: HEIGHT - height, width: BAR - 2, height },
        svgTitle({}, w.day(dayOf(at), share === null ? w.noFigure() : percent(share))),
      )
    }),
  )
}
