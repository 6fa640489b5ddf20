/** Keys: all that the reader may see, what each has used, and everything that is done with them. */
import { effect, signal } from '@preact/signals'
import type { ClientsData } from '../../lib/console/answers.ts'
import { query, setQuery } from '../base/address.ts'
import { get, send } from '../base/ask.ts'
import { button, type Child, code, div, input, label, span } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { type Loaded, load } from '../base/load.ts'
import { count, money } from '../base/money.ts'
import { actions, say, type View } from '../base/page.ts'
import { act } from '../parts/act.ts'
import { searchField } from '../parts/field.ts'
import { fileLinks } from '../parts/file-links.ts'
import { filterField } from '../parts/filter.ts'
import { type Column, listing } from '../parts/listing.ts'
import { empty } from '../parts/state.ts'
import { account, accountPath } from '../base/session.ts'
import type { AccountGroup, Key, KeyPage } from '../base/shapes.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'
import { deleteDialog } from './keys/delete.ts'
import type { Desk } from './keys/desk.ts'
import { detailsDialog } from './keys/details.ts'
import { newKeyDialog } from './keys/edit.ts'
import { expiry, lastUse, stateBadges, stateName, usedOf } from './keys/shown.ts'
import { may, seesOwnOnly } from '../shared/roles.ts'

const w = words({
  keys: ['密钥', 'Keys'],
  key: ['密钥', 'Key'],
  group: ['分组', 'Group'],
  state: ['状态', 'State'],
  used: ['已用 / 额度', 'Used / cap'],
  lastUsed: ['最近使用', 'Last used'],
  created: ['创建', 'Created'],
  all: [
    (keys: number) => `共 ${count(keys)} 个密钥`,
    (keys: number) => (keys === 1 ? '1 key' : `${count(keys)} keys in all`),
  ],
  spent: [(sum: string) => `累计已用 ${sum}`, (sum: string) => `${sum} used in all`],
  files: ['导出', 'Export'],
  csv: ['CSV', 'CSV'],
  machine: ['CSV（固定列名）', 'CSV with fixed column names'],
  expires: ['到期', 'Expires'],
  manageOf: [(name: string) => `管理 ${name}`, (name: string) => `Manage ${name}`],
  lookOf: [(name: string) => `查看 ${name}`, (name: string) => `Look at ${name}`],
  make: ['新建密钥', 'New key'],
  none: ['客户端用密钥调用模型：创建一个就能开始。', 'Clients ask models with a key: make one to begin.'],
  nobody: ['这里还没有密钥。', 'There is no key here yet.'],
  noMatch: ['没有符合条件的密钥。', 'No key matches.'],
  clear: ['清除筛选', 'Clear the filters'],
  find: ['按名称或尾号查找', 'Find by name or ending'],
  choose: [(name: string) => `选择 ${name}`, (name: string) => `Select ${name}`],
  chooseAll: ['选择本页全部', 'Select this page'],
  chosen: [(count: number) => `已选 ${count} 个`, (count: number) => `${count} selected`],
  enable: ['启用', 'Enable'],
  disable: ['停用', 'Disable'],
  delete: ['删除', 'Delete'],
  enabled: [(count: number) => `已启用 ${count} 个密钥`, (count: number) => `Keys enabled: ${count}`],
  disabled: [(count: number) => `已停用 ${count} 个密钥`, (count: number) => `Keys disabled: ${count}`],
})

const FILTERS = ['state', 'group', 'q'] as const
const STATES = ['enabled', 'disabled', 'expired', 'used_up', 'ip_bound', 'model_bound'] as const

export default function keys(site: ClientsData): View {
  const of = (name: string) => query.value.get(name)
  const all = load(() =>
    get<KeyPage>(`${accountPath()}/keys`, {
      state: of('state'),
      group: of('group'),
      q: of('q'),
      sort: of('sort'),
      after: of('after'),
    }),
  )
  const groups = load(() => get<{ data: AccountGroup[] }>(`${accountPath()}/groups`))
  const role = account.value?.role
  const managing = may(role, 'makeKeys')
  const shown = signal<{ view: View; count: number } | null>(null)
  const desk: Desk = {
    site,
    managing,
    groups: () => groups.value.value?.data ?? [],
    open: view => (shown.value = { view, count: (shown.peek()?.count ?? 0) + 1 }),
    close: () => (shown.value = null),
    changed: all.again,
  }
  const make = () => desk.open(newKeyDialog(desk))
  const makeButton = () =>
    button(
      { type: 'button', class: 'main', disabled: groups.value.value === null, onClick: make },
      icon('plus'),
      w.make(),
    )
  if (managing) actions.value = makeButton
  // who was led here to make the first key need not press the same again
  effect(() => {
    if (!managing || groups.value.value === null || query.value.get('make') === null) return
    setQuery({ make: null })
    make()
  })
  const chosen = signal<ReadonlySet<string>>(new Set())
  const several = severalBar(desk, all, chosen)
  return () => [
    listing<Key>({
      caption: w.keys(),
      loaded: all,
      keyOf: ({ id }) => id,
      bar: div({ class: 'stack' }, filters(groups.value.value?.data ?? []), managing && several()),
      empty: () => nothing(managing ? makeButton : null),
      below: files(),
      columns: columns(desk, all.value.value?.totals ?? null, chosen),
    }),
    // each dialog has an element of its own, so that each takes the focus
    shown.value && div({ class: 'layer', key: shown.value.count }, shown.value.view()),
  ]
}

const filters = (groups: readonly AccountGroup[]): Child =>
  div(
    { class: 'filters' },
    searchField('q', w.find()),
    filterField(
      'state',
      w.state(),
      STATES.map(value => ({ value, text: stateName[value]() })),
    ),
    filterField(
      'group',
      w.group(),
      groups.map(({ name }) => ({ value: name, text: name })),
    ),
  )

function nothing(makeButton: View | null): Child {
  if ([...FILTERS, 'after'].some(name => query.value.get(name) !== null)) {
    const clear = () => setQuery({ state: null, group: null, q: null, after: null })
    return empty('key', w.noMatch(), button({ type: 'button', onClick: clear }, w.clear()))
  }
  return makeButton === null ? empty('key', w.nobody()) : empty('key', w.none(), makeButton())
}

type Chosen = ReturnType<typeof signal<ReadonlySet<string>>>

const columns = (desk: Desk, totals: KeyPage['totals'] | null, chosen: Chosen): (Column<Key> | false)[] => [
  {
    title: w.key(),
    cell: key => named(desk, key, chosen),
    order: { name: 'name' },
    total: totals === null ? null : w.all(totals.keys),
  },
  { title: w.state(), narrow: 'plain', cell: stateBadges },
  { title: w.group(), cell: ({ group }) => group },
  {
    title: w.used(),
    narrow: 'beside',
    cell: usedOf,
    order: { name: 'spent', down: true },
    total: totals === null ? null : w.spent(money(totals.used)),
  },
  { title: w.lastUsed(), cell: lastUse, order: { name: 'last_used', down: true } },
  { title: w.expires(), cell: expiry },
  { title: w.created(), cell: made, order: { name: 'created', down: true, usual: true } },
]

/** Members see keys of nobody else. */
const made = ({ created_at, created_by }: Key): Child => [
  moment(created_at),
  created_by !== null && !seesOwnOnly(account.value?.role) && span({ class: 'under' }, created_by.name),
]

function files(): Child {
  const parameters = Object.fromEntries(
    FILTERS.flatMap(name => {
      const value = query.value.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  return fileLinks(w.files(), [
    { text: w.csv(), call: 'keys.csv', parameters },
    { text: w.machine(), call: 'keys.csv', parameters: { ...parameters, heads: 'machine' } },
  ])
}

const named = (desk: Desk, key: Key, chosen: Chosen): Child =>
  div(
    { class: 'named' },
    desk.managing &&
      input({
        type: 'checkbox',
        'aria-label': w.choose(key.name),
        checked: chosen.value?.has(key.id) === true,
        onChange: event => toggle(chosen, [key.id], event.currentTarget.checked),
      }),
    div(
      {},
      button(
        {
          type: 'button',
          class: 'link',
          'aria-label': desk.managing ? w.manageOf(key.name) : w.lookOf(key.name),
          onClick: () => desk.open(detailsDialog(desk, key)),
        },
        key.name,
      ),
      code({ class: 'under' }, key.hint),
    ),
  )

function toggle(chosen: Chosen, ids: readonly string[], on: boolean): void {
  const next = new Set(chosen.value)
  for (const id of ids) on ? next.add(id) : next.delete(id)
  chosen.value = next
}

/** What is done with the selected keys of this page. */
function severalBar(desk: Desk, all: Loaded<KeyPage>, chosen: Chosen): View {
  const setAll = async (ids: string[], action: 'enable' | 'disable') => {
    const { data } = await send<{ data: { done: boolean }[] }>('POST', `${accountPath()}/keys/several`, { ids, action })
    chosen.value = new Set()
    desk.changed()
    say(w[`${action}d`](data.filter(({ done }) => done).length))
  }
  return () => {
    const page = all.value.value?.data ?? []
    if (page.length === 0) return null
    const picked = page.filter(({ id }) => chosen.value?.has(id))
    const ids = picked.map(({ id }) => id)
    const doing = (text: string, work: () => void, danger = false) =>
      button(
        { type: 'button', class: danger ? 'small danger' : 'small', disabled: picked.length === 0, onClick: work },
        text,
      )
    return div(
      { class: 'row' },
      label(
        { class: 'row' },
        input({
          type: 'checkbox',
          checked: picked.length === page.length,
          onChange: event =>
            toggle(
              chosen,
              page.map(({ id }) => id),
              event.currentTarget.checked,
            ),
        }),
        picked.length === 0 ? w.chooseAll() : w.chosen(picked.length),
      ),
      doing(w.enable(), () => act(() => setAll(ids, 'enable'))),
      doing(w.disable(), () => act(() => setAll(ids, 'disable'))),
      doing(w.delete(), () => desk.open(deleteDialog(desk, picked)), true),
    )
  }
}
