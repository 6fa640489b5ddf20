/** A model: what it costs in a public group, what a request comes to, what it has cost, how it fares, and how to use it. */
import type { ModelData } from '../../lib/console/answers.ts'
import { a, type Child, code, dd, div, dl, dt, h2, p, section } from '../base/element.ts'
import { count, exactMoney, percent, unitPrice } from '../base/money.ts'
import { heading, type View } from '../base/page.ts'
import { clientTabs } from '../parts/client-tabs.ts'
import { copyButton } from '../parts/copy.ts'
import { lineNames } from '../parts/line-words.ts'
import { rows } from '../parts/listing.ts'
import { within } from '../parts/request-words.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'
import { canBeAsked } from '../shared/fill.ts'
import { type Example, exampleOf } from './models/example.ts'
import { CLASSES, classCell, otherCell, stateCell } from './models/price-cells.ts'

const w = words({
  name: ['模型名称', 'Name'],
  state: ['状态', 'State'],
  family: ['系列', 'Family'],
  protocols: ['协议', 'Protocols'],
  translated: ['经协议转换', 'By translation'],
  mostInput: ['最大输入', 'Largest prompt'],
  mostOutput: ['最大输出', 'Most output'],
  tokens: [(n: string) => `${n} token`, (n: string) => `${n} tokens`],
  pictures: ['图片形式', 'Pictures come as'],
  url: ['链接，可要求 base64', 'links, or base64 when asked'],
  base64: ['仅 base64', 'base64 only'],
  prices: [(group: string) => `分组 ${group} 的价格`, (group: string) => `Prices in the group ${group}`],
  lead: [
    '价格为人民币元，按每百万 token 计，已包含分组的倍率；扣费即按这些价格。',
    'Prices are in CNY per million tokens and include the group’s multiplier. They are what is charged.',
  ],
  groups: ['其他分组：', 'Other groups: '],
  other: ['其他', 'Other'],
  tier: [(name: string) => `${name} 系数`, (name: string) => `Factor for ${name}`],
  example: ['示例', 'An example'],
  exampleLead: ['一个请求的费用：', 'What one request comes to:'],
  part: ['项目', 'Item'],
  amount: ['数量', 'Count'],
  price: ['单价', 'Price'],
  image: ['图片', 'Picture'],
  total: [(total: string) => `合计 ${total}`, (total: string) => `Total ${total}`],
  rounding: [
    '每个请求的合计向上取整到百万分之一元。',
    'The sum of a request is rounded up to a millionth of a CNY, once.',
  ],
  history: ['价格历史', 'Price history'],
  from: ['开始', 'From'],
  until: ['结束', 'Until'],
  now: ['现行', 'In force'],
  figures: ['表现', 'Performance'],
  answered: ['应答率', 'Answered'],
  firstByte: ['首字节中位数', 'First byte, median'],
  span: ['时间范围', 'Period'],
  day: ['24 小时', '24 hours'],
  week: ['7 天', '7 days'],
  use: ['使用', 'Use it'],
  all: ['全部模型', 'All models'],
})

export default function model(data: ModelData): View {
  heading.value = () => data.model.name
  const clients = clientTabs(data, () => data.model)
  const example = data.model.price === null ? null : exampleOf(data.model.price)
  return () => [
    aboutPanel(data),
    pricePanel(data),
    example && examplePanel(example),
    historyPanel(data),
    figuresPanel(data),
    canBeAsked(data.model) &&
      section({ class: 'panel', 'aria-labelledby': 'use' }, h2({ id: 'use' }, w.use()), clients()),
    p({}, a({ href: '/console/models' }, w.all())),
  ]
}

const pair = (title: string, value: Child): Child => [dt({ key: `${title} name` }, title), dd({ key: title }, value)]

const aboutPanel = ({ model }: ModelData): Child =>
  section(
    { class: 'panel', 'aria-label': model.name },
    dl(
      { class: 'pairs' },
      pair(w.name(), div({ class: 'row' }, code({}, model.name), copyButton(model.name, model.name))),
      pair(w.state(), stateCell(model)),
      model.family !== null && pair(w.family(), model.family),
      pair(w.protocols(), model.protocols.join(' · ')),
      model.translated.length > 0 && pair(w.translated(), model.translated.join(' · ')),
      pair(w.mostInput(), w.tokens(count(model.max_input))),
      model.max_output !== null && pair(w.mostOutput(), w.tokens(count(model.max_output))),
      model.image_form !== null && pair(w.pictures(), w[model.image_form]()),
    ),
  )

function pricePanel({ model, group, groups }: ModelData): Child {
  const others = groups.filter(name => name !== group)
  const here = `/console/models/${encodeURIComponent(model.name)}`
  return section(
    { class: 'panel', 'aria-labelledby': 'prices' },
    h2({ id: 'prices' }, w.prices(group)),
    p({ class: 'soft' }, w.lead()),
    dl(
      { class: 'pairs' },
      CLASSES.filter(name => model.price?.lists.some(({ prices }) => prices[name] !== undefined)).map(name =>
        pair(lineNames[name](), classCell(model, name)),
      ),
      otherCell(model).length > 0 && pair(w.other(), otherCell(model)),
      Object.entries(model.price?.tiers ?? {}).map(([name, factor]) => pair(w.tier(name), `× ${Number(factor)}`)),
    ),
    others.length > 0 &&
      p(
        {},
        w.groups(),
        others.map(name => a({ key: name, href: `${here}?group=${encodeURIComponent(name)}` }, name, ' ')),
      ),
  )
}

const examplePanel = ({ lines, total }: Example): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'example' },
    h2({ id: 'example' }, w.example()),
    p({ class: 'soft' }, w.exampleLead()),
    rows<Example['lines'][number]>({
      caption: w.example(),
      rows: lines,
      keyOf: ({ name }) => name,
      columns: [
        { title: w.part(), cell: ({ name }) => (name === 'image' ? w.image() : lineNames[name]()) },
        { title: w.amount(), number: true, cell: line => count(line.count) },
        { title: w.price(), narrow: 'beside', number: true, cell: ({ price }) => unitPrice(price) },
      ],
    }),
    p({ class: 'strong' }, w.total(exactMoney(total))),
    p({ class: 'soft' }, w.rounding()),
  )

const historyPanel = ({ history, model }: ModelData): Child =>
  history.length > 0 &&
  section(
    { class: 'panel', 'aria-labelledby': 'history' },
    h2({ id: 'history' }, w.history()),
    rows<(typeof history)[number]>({
      caption: w.history(),
      rows: history,
      keyOf: ({ from }) => from,
      columns: [
        { title: w.from(), cell: ({ from }) => moment(from) },
        { title: w.until(), cell: ({ until }) => (until === null ? w.now() : moment(until)) },
        ...CLASSES.filter(name => history.some(({ price }) => price.lists[0]?.prices[name] !== undefined)).map(
          name => ({
            title: lineNames[name](),
            number: true,
            cell: ({ price }: (typeof history)[number]) => classCell({ price }, name),
          }),
        ),
        { title: w.other(), cell: ({ price }) => otherCell({ price, image_form: model.image_form }) },
      ],
    }),
  )

const figuresPanel = ({ model: { figures } }: ModelData): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'figures' },
    h2({ id: 'figures' }, w.figures()),
    rows<'day' | 'week'>({
      caption: w.figures(),
      rows: ['day', 'week'],
      keyOf: span => span,
      columns: [
        { title: w.span(), cell: span => w[span]() },
        {
          title: w.answered(),
          narrow: 'beside',
          number: true,
          cell: span => (figures[span].answered_share === null ? '–' : percent(figures[span].answered_share)),
        },
        {
          title: w.firstByte(),
          number: true,
          cell: span => within(figures[span].first_byte_up_to_ms),
        },
      ],
    }),
  )
