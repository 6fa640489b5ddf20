/** Requests: one row for each, newest first, with filters that stand in the address. */
import { type Signal, signal } from '@preact/signals'
import type { Refusal, Request, Requests } from '../../api/usage-answers.ts'
import { hrefOf, query, setQuery } from '../address.ts'
import { get } from '../ask.ts'
import { a, button, type Child, code, div, p, section, span } from '../element.ts'
import { load } from '../load.ts'
import { count, exactMoney } from '../money.ts'
import type { View } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { selectField, textField } from '../parts/field.ts'
import { listing, rows } from '../parts/listing.ts'
import { names, outcomeBadge, outcomeName, took } from '../parts/request-words.ts'
import { empty, told, whenLoaded } from '../parts/state.ts'
import { accountPath } from '../session.ts'
import { moment, stamp } from '../time.ts'
import { inLanguage, words } from '../words.ts'

const w = words({
  list: ['请求', 'Requests'],
  refused: ['被拒绝的请求', 'Refused requests'],
  refusedLead: [
    '在询问上游之前就被拒绝的请求，不收费。',
    'Requests that were refused before an upstream was asked. They cost nothing.',
  ],
  noRefused: ['没有被拒绝的请求', 'No request was refused'],
  id: ['编号', 'Id'],
  apply: ['筛选', 'Filter'],
  clear: ['清除筛选', 'Clear the filters'],
  csv: ['导出 CSV', 'Export as CSV'],
  jsonl: ['导出 JSONL', 'Export as JSONL'],
  noneYet: ['还没有请求。请先连接一个客户端。', 'No request yet. Connect a client first.'],
  connect: ['连接客户端', 'Connect a client'],
  noneFits: ['没有符合筛选条件的请求', 'No request fits these filters'],
  pruned: [(day: string) => `${day} 之前的请求明细已删除`, (day: string) => `Requests of before ${day} are deleted`],
  scanned: [
    (at: string) => `已查看到 ${at}，可继续查看更早的请求。`,
    (at: string) => `Looked at everything since ${at}. Go on with older ones.`,
  ],
  why: ['原因', 'Why'],
  todo: ['怎么办', 'What to do'],
})

const FILTERS = ['id', 'model', 'outcome', 'status'] as const
const STATUSES = ['2xx', '4xx', '5xx']

const sent = () => Object.fromEntries([...query.value].filter(([name]) => name !== 'account'))
const fileOf = (format: 'csv' | 'jsonl') => {
  const { after: _, id: __, ...filters } = sent()
  return `/console/api${accountPath()}/requests.${format}?${new URLSearchParams(filters)}`
}

export default function requests(): View {
  const loaded = load(() => get<Requests>(`${accountPath()}/requests`, sent()))
  const refused = load(() => get<{ data: Refusal[]; next: string | null }>(`${accountPath()}/refusals`, { limit: 10 }))
  const fields = Object.fromEntries(FILTERS.map(name => [name, signal(query.peek().get(name) ?? '')])) as Record<
    (typeof FILTERS)[number],
    Signal<string>
  >
  const apply = () =>
    setQuery({ ...Object.fromEntries(FILTERS.map(name => [name, fields[name].value.trim()])), after: null }, true)
  const clear = () => {
    for (const name of FILTERS) fields[name].value = ''
    apply()
  }

  const bar = (): Child =>
    div(
      { class: 'filters' },
      textField({ name: 'id', label: w.id(), optional: true }, fields.id),
      textField({ name: 'model', label: names.model(), optional: true }, fields.model),
      selectField({ name: 'outcome', label: names.outcome() }, fields.outcome, [
        { value: '', text: names.all() },
        ...(['ok', 'client', 'upstream'] as const).map(value => ({ value, text: outcomeName(value) })),
      ]),
      selectField({ name: 'status', label: names.status() }, fields.status, [
        { value: '', text: names.all() },
        ...STATUSES.map(value => ({ value, text: value })),
      ]),
      button({ type: 'button', class: 'main', onClick: apply }, w.apply()),
      a({ class: 'button', href: fileOf('csv'), download: 'requests.csv' }, w.csv()),
      a({ class: 'button', href: fileOf('jsonl'), download: 'requests.jsonl' }, w.jsonl()),
    )

  const nothing = (): Child => {
    const page = loaded.value.value
    if (page?.refusal) return found(page.refusal)
    if (page?.empty === 'none_yet')
      return empty('plug', w.noneYet(), a({ class: 'button main', href: hrefOf('/connect') }, w.connect()))
    if (page?.empty === 'pruned') return empty('list', w.pruned(stamp(page.pruned_before ?? '', false)))
    return empty('list', w.noneFits(), button({ type: 'button', onClick: clear }, w.clear()))
  }
  const found = (refusal: Refusal): Child =>
    told('warn', p({ class: 'strong' }, inLanguage(refusal.why)), p({}, inLanguage(refusal.todo)))

  return () => [
    listing<Request>({
      caption: w.list(),
      bar: bar(),
      loaded,
      empty: nothing,
      keyOf: row => row.request_id,
      columns: [
        {
          title: names.time(),
          cell: row => a({ href: hrefOf(`/requests/${row.request_id}`) }, moment(row.at, true)),
        },
        {
          title: names.model(),
          cell: row => [code({}, row.model), span({ class: 'under' }, `${row.key?.name ?? '–'} · ${row.protocol}`)],
        },
        { title: names.outcome(), cell: row => [outcomeBadge(row.outcome), span({ class: 'under' }, row.status)] },
        { title: names.input(), number: true, cell: row => count(row.input) },
        { title: names.cacheRead(), number: true, cell: row => count(row.cache_read) },
        { title: names.output(), number: true, cell: row => count(row.output) },
        { title: names.charge(), number: true, cell: row => exactMoney(row.charge) },
        { title: names.firstByte(), number: true, cell: row => took(row.first_byte_ms) },
        { title: names.duration(), number: true, cell: row => took(row.duration_ms) },
      ],
    }),
    loaded.value.value?.scanned_to != null && told('plain', w.scanned(stamp(loaded.value.value.scanned_to))),
    section(
      { class: 'panel', 'aria-label': w.refused() },
      div({}, p({ class: 'strong' }, w.refused()), p({ class: 'soft' }, w.refusedLead())),
      whenLoaded(refused, page =>
        page.data.length === 0
          ? p({ class: 'soft' }, w.noRefused())
          : rows<Refusal>({
              caption: w.refused(),
              rows: page.data,
              keyOf: row => row.request_id,
              columns: [
                { title: names.time(), cell: row => moment(row.at, true) },
                { title: w.why(), cell: row => [badge('bad', String(row.status)), ' ', inLanguage(row.why)] },
                { title: w.todo(), cell: row => inLanguage(row.todo) },
                { title: names.model(), cell: row => row.model ?? '–' },
                { title: names.key(), cell: row => row.key?.name ?? '–' },
              ],
            }),
      ),
    ),
  ]
}
