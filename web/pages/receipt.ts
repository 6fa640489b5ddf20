/** The receipt of a request: what it cost and why, line by line, with the arithmetic to be done again in the page. */
import { signal } from '@preact/signals'
import type { ReceiptAnswer } from '../../lib/operations/usage/requests.ts'
import { hrefOf } from '../base/address.ts'
import { get } from '../base/ask.ts'
import {
  a,
  button,
  type Child,
  code,
  dd,
  details,
  div,
  dl,
  dt,
  h2,
  p,
  pre,
  section,
  span,
  strong,
  summary,
} from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { load } from '../base/load.ts'
import { count, exactMoney } from '../base/money.ts'
import { actions, type View } from '../base/page.ts'
import { copy, copyable, snippet } from '../parts/copy.ts'
import { lineName } from '../parts/line-words.ts'
import { rows } from '../parts/listing.ts'
import { names, outcomeBadge, took } from '../parts/request-words.ts'
import { told, whenLoaded } from '../parts/state.ts'
import { chargeOf, microOf } from './receipt/sum.ts'
import { accountPath } from '../base/session.ts'
import { moment } from '../base/time.ts'
import { inLanguage, words } from '../base/words.ts'

const w = words({
  back: ['全部请求', 'All requests'],
  print: ['打印', 'Print'],
  about: ['请求', 'Request'],
  id: ['编号', 'Id'],
  ownId: ['客户端编号', 'Your own id'],
  lines: ['计费明细', 'What it cost'],
  class: ['项目', 'Class'],
  amount: ['数量', 'Count'],
  price: ['单价', 'Price'],
  tier: ['系数', 'Factor'],
  product: ['金额', 'Amount'],
  perMillion: [(price: string) => `${price} / 百万`, (price: string) => `${price} per million`],
  since: [(version: number) => `价格版本 ${version}，自`, (version: number) => `Price version ${version}, since`],
  sum: ['合计', 'Sum'],
  multiplier: ['分组倍率', 'Multiplier of the group'],
  rounded: ['合计 × 倍率，向上取整到 0.000001 元', 'Sum × multiplier, rounded up to 0.000001 CNY'],
  held: ['预扣', 'Held'],
  released: ['释放', 'Released'],
  recompute: ['重新计算', 'Recompute'],
  equal: [
    (charge: string) => `重新计算得到 ${charge}，一致`,
    (charge: string) => `Recomputed: ${charge}, which is equal`,
  ],
  differs: [
    (charge: string) => `重新计算得到 ${charge}，与费用不一致，请联系运营方`,
    (charge: string) => `Recomputed: ${charge}, which differs: tell the operator`,
  ],
  noLines: ['没有计费明细。', 'There are no lines.'],
  course: ['时间', 'Timeline'],
  received: ['收到请求', 'Received'],
  asked: ['询问上游', 'Upstream asked'],
  attempts: ['尝试次数', 'Attempts'],
  internal: ['仅运营人员可见', 'For operators only'],
  refused: ['请求被拒绝', 'The request was refused'],
  copyJson: ['复制为 JSON', 'Copy as JSON'],
  json: ['JSON 格式', 'As JSON'],
})

const idOf = () => decodeURIComponent(location.pathname.split('/').at(-1) ?? '')

export default function receipt(): View {
  const id = idOf()
  const loaded = load(() => get<ReceiptAnswer>(`${accountPath()}/requests/${encodeURIComponent(id)}`))
  const verdict = signal<Child>(null)
  actions.value = () => [
    a({ class: 'button', href: hrefOf('/requests') }, w.back()),
    button({ type: 'button', onClick: () => print() }, w.print()),
    loaded.value.value?.request != null && button({ type: 'button', onClick: copyJson }, icon('copy'), w.copyJson()),
  ]
  const recompute = ({ lines, multiplier, charge }: NonNullable<ReceiptAnswer['request']>) => {
    const found = chargeOf(lines, multiplier ?? '1')
    const same = found === microOf(charge)
    const text = exactMoney((Number(found) / 1e6).toFixed(6))
    verdict.value = told(same ? 'good' : 'bad', p({}, same ? w.equal(text) : w.differs(text)))
  }
  return () =>
    whenLoaded(loaded, ({ request, refusal, internal }) => [
      refusal !== null &&
        told(
          'warn',
          p({ class: 'strong' }, w.refused()),
          p({}, inLanguage(refusal.why)),
          p({}, inLanguage(refusal.todo)),
        ),
      request !== null && [
        aboutPanel(request),
        section(
          { class: 'panel', 'aria-labelledby': 'lines' },
          h2({ id: 'lines' }, w.lines()),
          linesOf(request),
          p({}, inLanguage(request.rests_on)),
          p({ class: 'soft' }, inLanguage(request.ended)),
          request.lines.length > 0 &&
            div({ class: 'row' }, button({ type: 'button', onClick: () => recompute(request) }, w.recompute())),
          div({ role: 'status' }, verdict.value),
        ),
        coursePanel(request),
        details(
          { class: 'unfolding panel', id: JSON_ID },
          summary({}, icon('down'), span({}, w.json())),
          snippet(jsonOf(request), w.json()),
        ),
        internal !== null &&
          section(
            { class: 'panel', 'aria-labelledby': 'internal' },
            h2({ id: 'internal' }, w.internal()),
            pre({ class: 'scroll', tabIndex: 0 }, JSON.stringify(internal, null, 2)),
          ),
      ],
    ])
}

type Shown = NonNullable<ReceiptAnswer['request']>

const JSON_ID = 'json'
const jsonOf = (request: Shown): string => JSON.stringify(request, null, 2)

/** What is copied is shown too, so that it can be selected where a page may not write it. */
function copyJson(): void {
  const place = document.getElementById(JSON_ID) as HTMLDetailsElement
  place.open = true
  const text = place.querySelector('code') as HTMLElement
  void copy(text.textContent ?? '', text)
}

const pair = (title: string, value: Child): Child => [dt({}, title), dd({}, value)]

const aboutPanel = (request: Shown): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'about' },
    h2({ id: 'about' }, w.about()),
    dl(
      { class: 'pairs' },
      pair(names.charge(), strong({}, exactMoney(request.charge))),
      pair(w.id(), copyable(request.request_id, w.id())),
      request.client_request_id !== null && pair(w.ownId(), code({}, request.client_request_id)),
      pair(names.time(), moment(request.at, true)),
      pair(names.key(), request.key?.name ?? '–'),
      pair(names.model(), code({}, request.model)),
      pair(names.group(), request.group),
      pair(names.protocol(), request.protocol),
      pair(names.outcome(), [outcomeBadge(request.outcome), ' ', String(request.status)]),
    ),
  )

const linesOf = (request: Shown): Child =>
  request.lines.length === 0
    ? p({ class: 'soft' }, w.noLines())
    : [
        rows<Shown['lines'][number]>({
          caption: w.lines(),
          rows: request.lines,
          keyOf: line => `${line.model} ${line.class} ${line.list} ${line.tier_name} ${line.price_row}`,
          columns: [
            {
              title: w.class(),
              cell: line => [
                lineName(line.class),
                line.price_row !== null && ` ${line.price_row}`,
                line.model !== request.model && ` ${line.model}`,
              ],
            },
            { title: w.amount(), number: true, cell: line => count(line.count) },
            {
              title: w.price(),
              number: true,
              cell: line => (line.per === 1 ? exactMoney(line.price) : w.perMillion(exactMoney(line.price))),
            },
            { title: w.tier(), number: true, cell: line => `× ${line.tier}` },
            { title: w.product(), narrow: 'beside', number: true, cell: line => line.amount },
          ],
        }),
        dl(
          { class: 'pairs' },
          pair(w.sum(), request.sum),
          pair(w.multiplier(), `× ${request.multiplier ?? '–'}`),
          pair(w.rounded(), strong({}, exactMoney(request.charge))),
          request.held !== null && pair(w.held(), exactMoney(request.held)),
          request.released !== null && pair(w.released(), exactMoney(request.released)),
        ),
        request.lines[0]?.price_version != null &&
          request.lines[0].price_since !== null &&
          p({ class: 'soft' }, w.since(request.lines[0].price_version), ' ', moment(request.lines[0].price_since)),
      ]

const coursePanel = (request: Shown): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'course' },
    h2({ id: 'course' }, w.course()),
    dl(
      { class: 'pairs' },
      pair(w.received(), moment(request.at, true)),
      pair(w.asked(), took(request.asked_ms)),
      pair(names.firstByte(), took(request.first_byte_ms)),
      pair(names.duration(), took(request.duration_ms)),
      pair(w.attempts(), count(request.attempts)),
    ),
  )
