/**
 * Models: what the gateway offers, at what price. Everybody sees the public groups, a member the groups of the account.
 * Changing the group changes every price in place; up to four models can be held against each other.
 */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { CatalogueModel, GroupCatalogue } from '../../lib/operations/catalogue/public-catalogue.ts'
import { query, setQuery } from '../base/address.ts'
import { get, Refused } from '../base/ask.ts'
import { a, button, type Child, code, div, h2, input, p, section, span } from '../base/element.ts'
import { count, percent } from '../base/money.ts'
import { say, scripted, type View } from '../base/page.ts'
import { copyButton } from '../parts/copy.ts'
import { selectField, textField, tick } from '../parts/field.ts'
import { lineNames } from '../parts/line-words.ts'
import { type Column, rows } from '../parts/listing.ts'
import { empty } from '../parts/state.ts'
import { account, accountPath } from '../base/session.ts'
import { words } from '../base/words.ts'
import { chosen, KINDS, SORTS } from './models/choose.ts'
import { CLASSES, classCell, otherCell, stateCell } from './models/price-cells.ts'

const w = words({
  lead: [
    '价格为人民币元，按每百万 token 计，已包含所选分组的倍率；扣费即按这些价格。',
    'Prices are in CNY per million tokens and include the chosen group’s multiplier. They are what is charged.',
  ],
  caption: ['模型与价格', 'Models and prices'],
  filters: ['筛选', 'Filters'],
  search: ['搜索', 'Search'],
  group: ['分组', 'Group'],
  groups: ['分组：', 'Groups:'],
  family: ['系列', 'Family'],
  protocol: ['协议', 'Protocol'],
  kind: ['计价方式', 'Priced by'],
  tokens: ['token', 'Tokens'],
  pictures: ['图片', 'Pictures'],
  pieces: ['次数、时长、字符', 'Pieces'],
  sort: ['排序', 'Order'],
  name: ['名称', 'Name'],
  cheapest: ['价格从低到高', 'Cheapest first'],
  dearest: ['价格从高到低', 'Dearest first'],
  all: ['全部', 'All'],
  available: ['仅显示可用', 'Available only'],
  model: ['模型', 'Model'],
  protocols: ['协议', 'Protocols'],
  other: ['其他', 'Other'],
  most: ['最大输出', 'Most output'],
  state: ['状态', 'State'],
  answered: ['7 天应答率', 'Answered, 7 d'],
  firstByte: ['首字节中位数', 'First byte, median'],
  ms: [(ms: string) => `${ms} 毫秒`, (ms: string) => `${ms} ms`],
  compare: ['对比', 'Compare'],
  compareModel: [(name: string) => `对比 ${name}`, (name: string) => `Compare ${name}`],
  four: ['最多同时对比 4 个模型', 'At most four models can be compared'],
  clear: ['清除筛选', 'Clear filters'],
  noMatch: ['没有符合条件的模型', 'No model matches'],
  none: ['目前没有对外公开的模型', 'No models are public at the moment'],
  shown: [(n: number) => `${n} 个模型`, (n: number) => (n === 1 ? '1 model' : `${n} models`)],
})

const MOST_COMPARED = 4
/** What everybody looks for stands where a narrow window still shows it. */
const FIRST: readonly (typeof CLASSES)[number][] = ['input', 'output']

export default function models(data: GroupCatalogue): View {
  const catalogue = signal(data)
  const fields = {
    q: signal(''),
    group: signal(data.group ?? ''),
    family: signal(''),
    protocol: signal(''),
    kind: signal(''),
    sort: signal('name'),
    available: signal(false),
  }
  const compared = signal<readonly string[]>([])
  /** Models of a group of one's own have no page that everybody may see. */
  const open = new Set(data.models.map(({ name }) => name))
  let own = false
  let adopted = false

  /** Takes the choice from the address. What the server has drawn is taken over as it is, so the address counts afterwards. */
  function adopt(): void {
    if (adopted || !scripted.value) return
    adopted = true
    const at = query.peek()
    for (const name of ['q', 'family', 'protocol', 'kind', 'sort'] as const)
      fields[name].value = at.get(name) ?? fields[name].value
    fields.available.value = at.get('available') === '1'
  }

  async function turnTo(group: string): Promise<void> {
    try {
      const path = own ? `${accountPath()}/models` : '/catalogue/models'
      catalogue.value = await get<GroupCatalogue>(path, { group })
      fields.group.value = catalogue.value.group ?? ''
      setQuery({ group })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      say(error.message, 'failed')
    }
  }
  /** A member sees the groups of the account as soon as it is known which that is. */
  function follow(): void {
    if (own || account.value === null) return
    own = true
    queueMicrotask(() => void turnTo(''))
  }
  const clear = () => {
    for (const name of ['q', 'family', 'protocol', 'kind'] as const) fields[name].value = ''
    fields.available.value = false
    setQuery({ q: null, family: null, protocol: null, kind: null, available: null })
  }
  const toggle = (name: string) => {
    const others = compared.value.filter(other => other !== name)
    if (others.length < compared.value.length) compared.value = others
    else if (others.length >= MOST_COMPARED) say(w.four(), 'failed')
    else compared.value = [...others, name]
  }

  return () => {
    adopt()
    follow()
    const { models: all, groups } = catalogue.value
    const choice = {
      text: fields.q.value,
      family: fields.family.value,
      protocol: fields.protocol.value,
      kind: fields.kind.value,
      available: fields.available.value,
      sort: fields.sort.value,
    }
    const shown = chosen(all, choice)
    const held = all.filter(({ name }) => compared.value.includes(name))
    return [
      p({ class: 'lead' }, w.lead()),
      held.length > 0 && comparison(held),
      section(
        { class: 'panel listing', 'aria-label': w.caption() },
        div({ class: 'bar' }, scripted.value ? filters(all, groups) : groupLinks(groups)),
        shown.length > 0
          ? rows({ caption: w.caption(), columns: columns(), keyOf: ({ name }) => name, rows: shown })
          : all.length > 0
            ? empty('search', w.noMatch(), button({ type: 'button', onClick: clear }, w.clear()))
            : empty('box', w.none()),
        div({ class: 'older' }, span({ class: 'soft', role: 'status' }, w.shown(shown.length))),
      ),
    ]
  }

  function filters(all: readonly CatalogueModel[], groups: readonly string[]): VNode {
    const families = [...new Set(all.flatMap(({ family }) => family ?? []))].sort()
    const protocols = [...new Set(all.flatMap(({ protocols }) => protocols))].sort()
    const choices = (names: readonly string[]) => [
      { value: '', text: w.all() },
      ...names.map(name => ({ value: name, text: name })),
    ]
    return div(
      {
        class: 'filters',
        role: 'search',
        'aria-label': w.filters(),
        onInput: () => queueMicrotask(keep),
        onChange: () => queueMicrotask(keep),
      },
      textField({ name: 'q', label: w.search() }, fields.q, { type: 'search', required: false }),
      groups.length > 1 &&
        selectField(
          { name: 'group', label: w.group() },
          fields.group,
          groups.map(group => ({ value: group, text: group })),
        ),
      families.length > 0 && selectField({ name: 'family', label: w.family() }, fields.family, choices(families)),
      selectField({ name: 'protocol', label: w.protocol() }, fields.protocol, choices(protocols)),
      selectField({ name: 'kind', label: w.kind() }, fields.kind, [
        { value: '', text: w.all() },
        ...KINDS.map(kind => ({ value: kind, text: w[kind]() })),
      ]),
      selectField(
        { name: 'sort', label: w.sort() },
        fields.sort,
        SORTS.map(sort => ({ value: sort, text: w[sort]() })),
      ),
      tick({ name: 'available', label: w.available() }, fields.available),
    )
  }

  /** Keeps the choice in the address, and turns to another group. */
  function keep(): void {
    const { q, family, protocol, kind, sort, available, group } = fields
    const at = { q: q.value, family: family.value, protocol: protocol.value, kind: kind.value }
    setQuery({ ...at, sort: sort.value === 'name' ? null : sort.value, available: available.value ? '1' : null })
    if (group.value !== (catalogue.value.group ?? '')) void turnTo(group.value)
  }

  function columns(): Column<CatalogueModel>[] {
    return [
      { title: w.model(), cell: model => nameCell(model, catalogue.value.group, open.has(model.name)) },
      ...FIRST.map(priceColumn),
      { title: w.state(), cell: stateCell },
      ...CLASSES.filter(name => !FIRST.includes(name)).map(priceColumn),
      { title: w.other(), cell: otherCell },
      { title: w.protocols(), cell: ({ protocols }) => protocols.join(' · ') },
      { title: w.most(), cell: ({ max_output }) => (max_output === null ? '–' : count(max_output)), number: true },
      ...(scripted.value ? [{ title: w.compare(), cell: compareCell }] : []),
    ]
  }

  function compareCell({ name }: CatalogueModel): Child {
    const label = w.compareModel(name)
    return input({
      type: 'checkbox',
      'aria-label': label,
      checked: compared.value.includes(name),
      onChange: () => toggle(name),
    })
  }
}

const priceColumn = (name: (typeof CLASSES)[number]): Column<CatalogueModel> => ({
  title: lineNames[name](),
  cell: model => classCell(model, name),
  number: true,
})

const nameCell = ({ name, family }: CatalogueModel, group: string | null, linked: boolean): Child => {
  const href = `/console/models/${encodeURIComponent(name)}?group=${encodeURIComponent(group ?? '')}`
  return [
    div({ class: 'row' }, linked ? a({ href }, code({}, name)) : code({}, name), copyButton(name, name)),
    family !== null && div({ class: 'hint' }, family),
  ]
}

/** Without a script the groups are addresses. */
const groupLinks = (groups: readonly string[]): Child =>
  groups.length > 1 &&
  p(
    {},
    w.groups(),
    ' ',
    groups.map(group => a({ key: group, href: `/console/models?group=${encodeURIComponent(group)}` }, group, ' ')),
  )

/** Up to four models side by side: a line for each thing that can differ. */
function comparison(models: readonly CatalogueModel[]): VNode {
  interface Line {
    title: string
    cell: (model: CatalogueModel) => Child
  }
  const lines: Line[] = [
    { title: w.state(), cell: stateCell },
    ...CLASSES.map(name => ({ title: lineNames[name](), cell: (model: CatalogueModel) => classCell(model, name) })),
    { title: w.other(), cell: otherCell },
    { title: w.protocols(), cell: ({ protocols }) => protocols.join(' · ') },
    { title: w.most(), cell: ({ max_output }) => (max_output === null ? '–' : count(max_output)) },
    { title: w.answered(), cell: ({ figures }) => shareText(figures.week.answered_share) },
    {
      title: w.firstByte(),
      cell: ({ figures: { week } }) => (week.first_byte_ms === null ? '–' : w.ms(count(week.first_byte_ms))),
    },
  ]
  return section(
    { class: 'panel', 'aria-labelledby': 'compared' },
    h2({ id: 'compared' }, w.compare()),
    rows({
      caption: w.compare(),
      columns: [
        { title: w.model(), cell: ({ title }: Line) => title },
        ...models.map(model => ({ title: model.name, cell: ({ cell }: Line) => cell(model) })),
      ],
      keyOf: ({ title }) => title,
      rows: lines,
    }),
  )
}

const shareText = (share: number | null): string => (share === null ? '–' : percent(share))
