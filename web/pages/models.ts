/**
 * Models: what the gateway offers, at what price. Everybody sees the public groups, a member the groups of the account.
 * Changing the group changes every price in place; up to four models can be held against each other.
 */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { CatalogueModel, GroupCatalogue } from '../../lib/operations/catalogue/public-catalogue.ts'
import { query, setQuery } from '../base/address.ts'
import { get, Refused } from '../base/ask.ts'
import { a, button, type Child, code, div, h2, input, label, p, section, span } from '../base/element.ts'
import { compact, count, percent } from '../base/money.ts'
import { say, scripted, type View } from '../base/page.ts'
import { copyButton } from '../parts/copy.ts'
import { selectField, textField, tick } from '../parts/field.ts'
import { lineNames } from '../parts/line-words.ts'
import { type Column, type Order, rows } from '../parts/listing.ts'
import { empty } from '../parts/state.ts'
import { account, accountPath } from '../base/session.ts'
import { listed, words } from '../base/words.ts'
import { within } from '../parts/request-words.ts'
import { type Choice, chosen, KINDS, modalitiesOf, priceOf } from './models/choose.ts'
import { CLASSES, cacheCell, classCell, otherCell, stateCell } from './models/price-cells.ts'

const w = words({
  lead: [
    '价格为人民币元，按每百万 token 计，已包含所选分组的倍率；扣费即按这些价格。',
    'Prices are in CNY per million tokens and include the chosen group’s multiplier. They are what is charged.',
  ],
  caption: ['模型与价格', 'Models and prices'],
  filters: ['筛选', 'Filters'],
  search: ['搜索', 'Search'],
  group: ['分组', 'Group'],
  groups: ['分组：', 'Groups: '],
  family: ['系列', 'Family'],
  protocol: ['协议', 'Protocol'],
  kind: ['计价方式', 'Priced by'],
  tokens: ['token', 'Tokens'],
  pictures: ['图片', 'Pictures'],
  pieces: ['次数、时长、字符', 'Pieces'],
  vendor: ['厂商', 'Vendor'],
  modality: ['输入 / 输出类型', 'Takes or gives'],
  modalities: ['类型', 'Takes → gives'],
  text: ['文本', 'Text'],
  image: ['图片', 'Pictures'],
  audio: ['音频', 'Sound'],
  embeddings: ['向量', 'Embeddings'],
  rerank: ['重排', 'Rankings'],
  context: ['上下文', 'Context'],
  contextOf: [(tokens: string) => `不少于 ${tokens}`, (tokens: string) => `At least ${tokens}`],
  mostOutput: [(tokens: string) => `最多输出 ${tokens}`, (tokens: string) => `output up to ${tokens}`],
  cache: ['缓存', 'Cache'],
  all: ['全部', 'All'],
  available: ['仅显示可用', 'Available only'],
  model: ['模型', 'Model'],
  other: ['其他', 'Other'],
  most: ['最大输出', 'Most output'],
  state: ['状态', 'State'],
  answered: ['7 天应答率', 'Answered, 7 d'],
  firstByte: ['首字节', 'First byte'],
  compare: ['对比', 'Compare'],
  compareModel: [(name: string) => `对比 ${name}`, (name: string) => `Compare ${name}`],
  four: ['最多同时对比 4 个模型', 'At most four models can be compared'],
  clear: ['清除筛选', 'Clear filters'],
  noMatch: ['没有符合条件的模型', 'No model matches'],
  none: ['目前没有对外公开的模型', 'No models are public at the moment'],
  shown: [(n: number) => `${n} 个模型`, (n: number) => (n === 1 ? '1 model' : `${n} models`)],
})

const MOST_COMPARED = 4
const CONTEXTS = [128_000, 200_000, 400_000, 1_000_000]
const MODALITIES = ['text', 'image', 'audio', 'embeddings', 'rerank'] as const
const FILTERS = ['q', 'family', 'vendor', 'protocol', 'modality', 'context', 'kind'] as const

/** What this page has no word for is shown as the API names it. */
const modalityName = (name: string): string => {
  const known = MODALITIES.find(modality => modality === name)
  return known === undefined ? name : w[known]()
}

export default function models(data: GroupCatalogue): View {
  const catalogue = signal(data)
  const fields = {
    q: signal(''),
    group: signal(data.group ?? ''),
    family: signal(''),
    vendor: signal(''),
    protocol: signal(''),
    modality: signal(''),
    context: signal(''),
    kind: signal(''),
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
    for (const name of FILTERS) fields[name].value = at.get(name) ?? ''
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
    for (const name of FILTERS) fields[name].value = ''
    fields.available.value = false
    keep()
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
    const { q: text, available, ...others } = fields
    const choice: Choice = { text: text.value, available: available.value, ...valuesOf(others) }
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
    const namesOf = (of: (model: CatalogueModel) => string | null | string[]) =>
      [...new Set(all.flatMap(model => of(model) ?? []))].sort()
    const chooser = (
      name: Exclude<(typeof FILTERS)[number], 'q'>,
      names: readonly string[],
      textOf = (name: string) => name,
    ) =>
      names.length > 1 &&
      selectField({ name, label: w[name]() }, fields[name], [
        { value: '', text: w.all() },
        ...names.map(value => ({ value, text: textOf(value) })),
      ])
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
      chooser(
        'vendor',
        namesOf(({ vendor }) => vendor),
      ),
      chooser(
        'family',
        namesOf(({ family }) => family),
      ),
      chooser('modality', namesOf(modalitiesOf), modalityName),
      chooser('context', CONTEXTS.map(String), tokens => w.contextOf(compact(Number(tokens)))),
      chooser(
        'protocol',
        namesOf(({ protocols }) => protocols),
      ),
      chooser('kind', KINDS, kind => w[kind as (typeof KINDS)[number]]()),
      tick({ name: 'available', label: w.available() }, fields.available),
    )
  }

  /** Keeps the choice in the address, and turns to another group. */
  function keep(): void {
    const { available, group, ...others } = fields
    setQuery({ ...valuesOf(others), available: available.value ? '1' : null })
    if (group.value !== (catalogue.value.group ?? '')) void turnTo(group.value)
  }

  function columns(): (Column<CatalogueModel> | false)[] {
    const all = catalogue.value.models
    const has = (value: (model: CatalogueModel) => unknown) => all.some(model => value(model))
    return [
      {
        title: w.model(),
        cell: model => nameCell(model, catalogue.value.group, open.has(model.name)),
        order: { name: 'name', of: ({ name }) => name },
      },
      has(({ vendor, family }) => vendor ?? family) && {
        title: w.vendor(),
        cell: vendorCell,
        order: { name: 'vendor', of: ({ vendor, family }) => vendor ?? family },
      },
      { title: w.modalities(), cell: modalityCell, order: { name: 'takes', of: modalityText } },
      {
        title: w.context(),
        cell: contextCell,
        number: true,
        order: { name: 'context', of: ({ context }) => context },
      },
      priceColumn('input'),
      priceColumn('output'),
      has(model => priceOf(model, 'cache_read')) && {
        title: w.cache(),
        cell: cacheCell,
        number: true,
        order: orderOf('cache_read'),
      },
      has(model => otherCell(model).length > 0) && { title: w.other(), cell: otherCell, narrow: 'plain' },
      {
        title: w.firstByte(),
        cell: ({ figures: { week } }) => within(week.first_byte_up_to_ms),
        number: true,
        order: { name: 'first-byte', of: ({ figures: { week } }) => week.first_byte_up_to_ms },
      },
      {
        title: w.answered(),
        cell: ({ figures: { week } }) => shareText(week.answered_share),
        number: true,
        order: { name: 'answered', of: ({ figures: { week } }) => week.answered_share },
      },
      {
        title: w.state(),
        cell: model => [stateCell(model), scripted.value && compareTick(model)],
        narrow: 'beside',
        order: { name: 'state', of: ({ state }) => state },
      },
    ]
  }

  function compareTick({ name }: CatalogueModel): Child {
    return label(
      { class: 'row' },
      input({
        type: 'checkbox',
        'aria-label': w.compareModel(name),
        checked: compared.value.includes(name),
        onChange: () => toggle(name),
      }),
      span({ class: 'soft' }, w.compare()),
    )
  }
}

const priceColumn = (name: (typeof CLASSES)[number]): Column<CatalogueModel> => ({
  title: lineNames[name](),
  cell: model => classCell(model, name),
  number: true,
  order: orderOf(name),
})

const orderOf = (name: (typeof CLASSES)[number]): Order<CatalogueModel> => ({
  name,
  of: model => (priceOf(model, name) === undefined ? null : Number(priceOf(model, name))),
})

const valuesOf = <N extends string>(fields: Record<N, Signal<string>>): Record<N, string> =>
  Object.fromEntries(Object.entries<Signal<string>>(fields).map(([name, { value }]) => [name, value])) as Record<
    N,
    string
  >

const modalityText = ({ input_modalities: takes, output_modalities: gives }: CatalogueModel): string => {
  const named = (names: readonly string[]) => listed(names.map(modalityName))
  return takes === null ? `→ ${named(gives)}` : `${named(takes)} → ${named(gives)}`
}

const modalityCell = (model: CatalogueModel): Child => [
  modalityText(model),
  span({ class: 'under long' }, model.protocols.join(' · ')),
]

const vendorCell = ({ vendor, family }: CatalogueModel): Child =>
  vendor === null ? (family ?? '–') : [vendor, family !== null && span({ class: 'under' }, family)]

const contextCell = ({ context, max_output }: CatalogueModel): Child => [
  context === null ? '–' : compact(context),
  max_output !== null && span({ class: 'under' }, w.mostOutput(compact(max_output))),
]

const nameCell = ({ name }: CatalogueModel, group: string | null, linked: boolean): Child => {
  const href = `/console/models/${encodeURIComponent(name)}?group=${encodeURIComponent(group ?? '')}`
  return div({ class: 'row' }, linked ? a({ href }, code({}, name)) : code({}, name), copyButton(name, name))
}

/** Without a script the groups are addresses. */
const groupLinks = (groups: readonly string[]): Child =>
  groups.length > 1 &&
  p(
    {},
    w.groups(),
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
    { title: w.modalities(), cell: modalityCell },
    { title: w.context(), cell: ({ context }) => (context === null ? '–' : count(context)) },
    { title: w.most(), cell: ({ max_output }) => (max_output === null ? '–' : count(max_output)) },
    { title: w.answered(), cell: ({ figures }) => shareText(figures.week.answered_share) },
    {
      title: w.firstByte(),
      cell: ({ figures: { week } }) => within(week.first_byte_up_to_ms),
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
