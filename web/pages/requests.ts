/** Requests: one row for each, newest first or oldest first, and those that were refused; with filters that stand in the address. */
import { effect, signal } from '@preact/signals'
import type { RefusedAnswer, RequestAnswer } from '../../lib/operations/usage/requests.ts'
import type { RequestsAnswer } from '../../lib/operations/usage/requests.ts'
import { hrefOf, query, setQuery } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { a, type Child, code, p, span } from '../base/element.ts'
import { type Loaded, load } from '../base/load.ts'
import { count, exactMoney } from '../base/money.ts'
import { actions, say, type View } from '../base/page.ts'
import { badge } from '../parts/badge.ts'
import { tick } from '../parts/field.ts'
import { type ListPage, listing } from '../parts/listing.ts'
import { periodOf, periodParameters } from '../parts/period.ts'
import { endedCell, names, took } from '../parts/request-words.ts'
import { empty, told } from '../parts/state.ts'
import { tabs } from '../parts/tabs.ts'
import { fileLinks } from '../parts/file-links.ts'
import { clearButton, isFiltered, sentFilters, usageFilters } from '../parts/usage-filters.ts'
import { accountPath } from '../base/session.ts'
import { moment, stamp } from '../base/time.ts'
import { inLanguage, words } from '../base/words.ts'

const w = words({
  list: ['请求', 'Requests'],
  lists: ['列表', 'Lists'],
  refused: ['被拒绝的请求', 'Refused requests'],
  refusedLead: [
    '在询问上游之前就被拒绝的请求，不收费。',
    'Requests that were refused before an upstream was asked. They cost nothing.',
  ],
  noRefused: ['没有被拒绝的请求。', 'No request was refused.'],
  chart: ['查看图表', 'Show as a chart'],
  files: ['导出', 'Export'],
  csv: ['CSV', 'CSV'],
  machine: ['CSV（固定列名）', 'CSV with fixed column names'],
  jsonl: ['JSONL', 'JSONL'],
  noneYet: ['还没有请求。请先连接一个客户端。', 'No request yet. Connect a client first.'],
  connect: ['连接客户端', 'Connect a client'],
  noneFits: ['没有符合筛选条件的请求', 'No request fits these filters'],
  pruned: [(day: string) => `${day} 之前的请求明细已删除`, (day: string) => `Requests of before ${day} are deleted`],
  scanned: [
    (at: string) => `已查看到 ${at}，可继续查看更早的请求。`,
    (at: string) => `Looked at everything since ${at}. Go on with older ones.`,
  ],
  scannedUp: [
    (at: string) => `已查看到 ${at}，可继续查看更新的请求。`,
    (at: string) => `Looked at everything up to ${at}. Go on with newer ones.`,
  ],
  live: ['实时', 'Live'],
  liveHint: ['新请求出现在最上面；查看列表时暂停', 'New requests come on top; it pauses while you read'],
  liveEnded: ['实时更新已停止，请重新打开', 'The live view has ended: switch it on again'],
  why: ['原因', 'Why'],
  todo: ['怎么办', 'What to do'],
})

const FALLBACK = 'all'
type Listed = 'all' | 'refused'
const listedNow = (): Listed => (query.value.get('list') === 'refused' ? 'refused' : 'all')
const at = (name: string): string | null => query.value.get(name)
const isOldestFirst = (): boolean => at('sort') === 'time'
/** The column by which both lists are put in order. */
const byTime = { name: 'time', down: true, usual: true }

/** Which of the two lists is in front; it stands in the address. */
function listInFront() {
  const listed = signal<string>(listedNow())
  listed.subscribe(name => {
    if (name !== listedNow()) setQuery({ list: name === 'refused' ? name : null, after: null }, true)
  })
  effect(() => {
    listed.value = listedNow()
  })
  return listed
}

/** Asks only for the list in front. */
const loadList = <T>(name: Listed, ask: () => Promise<T>): Loaded<T> =>
  load(() => (listedNow() === name ? ask() : new Promise<T>(() => {})))

export default function requests(): View {
  const loaded = loadList('all', () =>
    get<RequestsAnswer>(`${accountPath()}/requests`, {
      ...sentFilters('rows'),
      ...periodOf(FALLBACK),
      id: at('id'),
      sort: at('sort'),
      after: at('after'),
    }),
  )
  const refused = loadList('refused', () =>
    get<ListPage<RefusedAnswer>>(`${accountPath()}/refusals`, {
      ...sentFilters('refusals'),
      ...periodOf(FALLBACK),
      sort: at('sort'),
      after: at('after'),
    }),
  )
  const filters = usageFilters(FALLBACK, listedNow() === 'all' ? 'rows' : 'refusals')
  const listed = listInFront()
  const live = liveSwitch(() => (listedNow() === 'all' ? loaded : refused).again())
  actions.value = () =>
    a({ class: 'button', href: hrefOf('/usage', { ...sentFilters('rows'), ...periodParameters(FALLBACK) }) }, w.chart())
  return () => [
    filters.view(listedNow() === 'all' ? 'rows' : 'refusals', null, listedNow() === 'all'),
    live(),
    tabs('list', w.lists(), listed, [
      { id: 'all', title: w.list(), panel: () => listedNow() === 'all' && requestList(loaded) },
      { id: 'refused', title: w.refused(), panel: () => listedNow() === 'refused' && refusalList(refused) },
    ]),
  ]
}

/** Somebody has the pointer or the focus in the list: what is read must not move away. */
const isRead = (): boolean => document.querySelector('.listing table:is(:hover, :focus-within)') !== null

/** While it is on, the server says when there is something newer. A tab that nobody sees listens to nothing. */
function liveSwitch(again: () => void): View {
  const on = signal(false)
  const missed = signal(false)
  effect(() => {
    if (!on.value) return undefined
    let source: EventSource | null = null
    const refresh = () => {
      missed.value = isRead()
      if (!missed.value) again()
    }
    const listen = () => {
      source?.close()
      source = null
      if (document.hidden) return
      source = new EventSource(`/console/api${accountPath()}/requests/live`)
      source.addEventListener('open', refresh)
      source.addEventListener('changed', refresh)
      source.addEventListener('error', () => {
        if (source?.readyState !== EventSource.CLOSED) return
        on.value = false
        say(w.liveEnded(), 'failed')
      })
    }
    // what came while the list was read is shown when it is left
    const left = () => missed.peek() && refresh()
    document.addEventListener('visibilitychange', listen)
    document.addEventListener('pointermove', left)
    listen()
    return () => {
      source?.close()
      document.removeEventListener('visibilitychange', listen)
      document.removeEventListener('pointermove', left)
    }
  })
  return () =>
    at('after') === null && !isOldestFirst() && tick({ name: 'live', label: w.live(), hint: w.liveHint() }, on)
}

function requestList(loaded: Loaded<RequestsAnswer>): Child {
  const scannedTo = loaded.value.value?.scanned_to ?? null
  return [
    listing<RequestAnswer>({
      caption: w.list(),
      below: files(),
      loaded,
      empty: () => nothing(loaded.value.value),
      keyOf: row => row.request_id,
      columns: [
        {
          title: names.time(),
          order: byTime,
          cell: row => a({ href: hrefOf(`/requests/${row.request_id}`) }, moment(row.at, true)),
        },
        {
          title: names.model(),
          narrow: 'plain',
          cell: row => [
            code({ class: 'long' }, row.model),
            span({ class: 'under' }, `${row.key?.name ?? '–'} · ${row.protocol}`),
          ],
        },
        {
          title: names.outcome(),
          narrow: 'plain',
          cell: endedCell,
        },
        { title: names.charge(), narrow: 'beside', number: true, cell: row => exactMoney(row.charge) },
        { title: names.input(), number: true, cell: row => count(row.input) },
        { title: names.cacheRead(), number: true, cell: row => count(row.cache_read) },
        { title: names.output(), number: true, cell: row => count(row.output) },
        { title: names.firstByte(), number: true, cell: row => took(row.first_byte_ms) },
        { title: names.duration(), number: true, cell: row => took(row.duration_ms) },
      ],
    }),
    scannedTo !== null && told('plain', w[isOldestFirst() ? 'scannedUp' : 'scanned'](stamp(scannedTo))),
  ]
}

function files(): Child {
  const sort = at('sort')
  const parameters = { ...sentFilters('rows'), ...periodOf(FALLBACK), ...(sort === null ? {} : { sort }) }
  return fileLinks(w.files(), [
    { text: w.csv(), call: 'requests.csv', parameters },
    { text: w.machine(), call: 'requests.csv', parameters: { ...parameters, heads: 'machine' } },
    { text: w.jsonl(), call: 'requests.jsonl', parameters },
  ])
}

/** Why there is no request: none yet, none that fits, one that was refused, or those that fit are deleted. */
function nothing(page: RequestsAnswer | null): Child {
  if (page?.refusal)
    return told('warn', p({ class: 'strong' }, inLanguage(page.refusal.why)), p({}, inLanguage(page.refusal.todo)))
  if (page?.empty === 'none_yet')
    return empty('plug', w.noneYet(), a({ class: 'button main', href: hrefOf('/connect') }, w.connect()))
  if (page?.empty === 'pruned') return empty('list', w.pruned(stamp(page.pruned_before ?? '', false)))
  return empty('list', w.noneFits(), clearButton())
}

const refusalList = (refused: Loaded<ListPage<RefusedAnswer>>): Child =>
  listing<RefusedAnswer>({
    caption: w.refused(),
    bar: p({ class: 'soft' }, w.refusedLead()),
    loaded: refused,
    empty: () => (isFiltered() ? empty('list', w.noneFits(), clearButton()) : empty('check', w.noRefused())),
    keyOf: row => row.request_id,
    columns: [
      {
        title: names.time(),
        order: byTime,
        cell: row => a({ href: hrefOf(`/requests/${row.request_id}`) }, moment(row.at, true)),
      },
      { title: w.why(), narrow: 'plain', cell: row => [badge('bad', String(row.status)), ' ', inLanguage(row.why)] },
      { title: w.todo(), cell: row => inLanguage(row.todo) },
      { title: names.model(), cell: row => (row.model === null ? '–' : code({}, row.model)) },
      { title: names.key(), cell: row => row.key?.name ?? '–' },
    ],
  })
