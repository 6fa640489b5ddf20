/** The log of actions as a list: who, when, from where, what, and what it was before and after. */
import { query, setQuery } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { button, type Child, code, details, div, li, span, summary, ul } from '../base/element.ts'
import { load } from '../base/load.ts'
import type { View } from '../base/page.ts'
import type { Action } from '../base/shapes.ts'
import { moment, stamp } from '../base/time.ts'
import { words } from '../base/words.ts'
import { ALL_OPERATIONS, actorKind, OWN_OPERATIONS, operationName, subjectKind } from './action-words.ts'
import { filterField } from './filter.ts'
import { type ListPage, listing } from './listing.ts'
import { empty } from './state.ts'

const w = words({
  log: ['操作日志', 'Log of actions'],
  who: ['操作者', 'Who'],
  what: ['操作与时间', 'What and when'],
  operation: ['操作', 'What'],
  subject: ['对象', 'On what'],
  account: ['账户', 'Account'],
  change: ['变化', 'Before → after'],
  none: ['还没有操作记录。', 'Nothing was done yet.'],
  noMatch: ['没有符合条件的记录。', 'No line matches.'],
  clear: ['清除筛选', 'Clear the filters'],
  only: [(name: string) => `只看 ${name}`, (name: string) => `Only lines of ${name}`],
  fields: [(count: number) => `${count} 项`, (count: number) => `${count} fields`],
  made: ['新建', 'made'],
  gone: ['删除', 'deleted'],
})

/** `in`: an account, which operators look for; `account` is that of the page. */
const FILTERS = ['operation', 'user', 'in'] as const

/** `path`: the call that answers. `everything`: of the whole gateway, for operators. */
export function actionLog(path: () => string, everything: boolean): View {
  const of = (name: string) => query.value.get(name)
  const loaded = load(() =>
    get<ListPage<Action>>(path(), {
      operation: of('operation'),
      user: of('user'),
      ...(everything && { account: of('in') }),
      after: of('after'),
    }),
  )
  const operations = everything ? ALL_OPERATIONS : OWN_OPERATIONS
  const clear = () => setQuery({ operation: null, user: null, in: null, after: null })
  const filtered = () => FILTERS.some(name => of(name) !== null)
  const clearButton = () => button({ type: 'button', onClick: clear }, w.clear())
  return () =>
    listing<Action>({
      caption: w.log(),
      loaded,
      keyOf: ({ id }) => id,
      bar: div(
        { class: 'filters' },
        filterField(
          'operation',
          w.operation(),
          operations.map(value => ({ value, text: operationName(value) })),
        ),
        filtered() && clearButton(),
      ),
      empty: () => (filtered() ? empty('list', w.noMatch(), clearButton()) : empty('list', w.none())),
      columns: [
        {
          title: w.what(),
          cell: ({ operation, at }) => [
            span({ title: operation }, operationName(operation)),
            span({ class: 'under' }, moment(at, true)),
          ],
        },
        { title: w.who(), narrow: 'beside', cell: who },
        everything && { title: w.account(), cell: accountOf },
        {
          title: w.subject(),
          cell: ({ subject }) => [
            span({}, subject.name ?? subjectKind(subject.kind)),
            span(
              { class: 'under' },
              subject.name === null ? code({ class: 'said' }, subject.id) : subjectKind(subject.kind),
            ),
          ],
        },
        { title: w.change(), narrow: 'plain', cell: changes },
      ],
    })
}

const narrowed = (parameter: string, value: string, name: string): Child =>
  button(
    {
      type: 'button',
      class: 'link',
      'aria-label': w.only(name),
      onClick: () => setQuery({ [parameter]: value, after: null }, true),
    },
    name,
  )

const who = ({ by }: Action): Child => [
  by.id === null ? span({}, by.name ?? actorKind(by.kind)) : narrowed('user', by.id, by.name ?? actorKind(by.kind)),
  by.ip !== null && span({ class: 'under' }, by.ip),
]

const accountOf = ({ account }: Action): Child => (account === null ? '—' : narrowed('in', account.id, account.name))

/** The number of lines that stand in the table by themselves; more unfold. */
const SHOWN = 3
const LETTERS = 300

function changes({ before, after }: Action): Child {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  // a row that was made or deleted is written whole: what is empty in it says nothing
  const said = names.filter(name => (before !== null && after !== null) || (before ?? after)?.[name] != null)
  if (said.length === 0) return after === null ? w.gone() : w.made()
  const list = ul(
    { class: 'changes' },
    said.map(name =>
      li(
        { key: name },
        code({}, name),
        ' ',
        before !== null && after !== null && [value(before[name]), ' → '],
        value((after ?? before)?.[name]),
      ),
    ),
  )
  const title = before === null ? w.made() : after === null ? w.gone() : null
  if (said.length <= SHOWN) return [title !== null && span({ class: 'under' }, title), list]
  return details({}, summary({}, title === null ? w.fields(said.length) : `${title} · ${w.fields(said.length)}`), list)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

function value(field: unknown): string {
  const written = field == null ? '—' : typeof field === 'string' ? field : JSON.stringify(field)
  const text = TIME.test(written) ? stamp(written) : written
  return text.length > LETTERS ? `${text.slice(0, LETTERS)}…` : text
}
