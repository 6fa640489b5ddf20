/** Payments, for operators: what waits for a person, how ways to pay fare, and the orders of all accounts. */
import { signal } from '@preact/signals'
import type { ListedOrder, PayHealth, ShownException } from '../../lib/console/answers.ts'
import { query, setQuery } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { a, button, type Child, code, dd, div, dl, dt, h2, p, section, span } from '../base/element.ts'
import { load } from '../base/load.ts'
import { count, money } from '../base/money.ts'
import type { View } from '../base/page.ts'
import { badge } from '../parts/badge.ts'
import { EXCEPTION_KINDS, exceptionName } from '../parts/exception-words.ts'
import { filterField } from '../parts/filter.ts'
import { type ListPage, listing } from '../parts/listing.ts'
import { methodName, ORDER_METHODS, ORDER_STATES, stateBadge, stateName } from '../parts/order-words.ts'
import { empty, whenLoaded } from '../parts/state.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'
import { chainPanel } from './payments/chain.ts'
import { exceptionTable, resolveDialog } from './payments/exceptions.ts'
import { methodsPanel } from './payments/methods.ts'
import { ratesPanel } from './payments/rates.ts'
import { toSendPanel } from './payments/to-send.ts'

const w = words({
  waiting: ['待处理异常', 'Open exceptions'],
  uncredited: ['已付款未入账', 'Paid, not credited'],
  uncreditedNote: ['应为 0', 'should be 0'],
  held: ['暂缓入账', 'Paid and held'],
  heldUntil: ['入账时间', 'credited at'],
  open: ['待支付订单', 'Orders to be paid'],
  oldest: ['最早', 'oldest'],
  exceptions: ['异常', 'Exceptions'],
  which: ['显示', 'Show'],
  resolved: ['已处理', 'Resolved'],
  every: ['全部', 'Open and resolved'],
  kind: ['类型', 'Kind'],
  none: ['没有待处理的异常', 'Nothing waits for a decision'],
  more: ['仅显示最新的 50 条。', 'Only the newest 50 are shown.'],
  orders: ['订单', 'Orders'],
  order: ['订单与创建时间', 'Order, created'],
  account: ['账户', 'Account'],
  method: ['支付方式', 'Way to pay'],
  state: ['状态', 'State'],
  age: ['创建已超过', 'Older than'],
  amount: ['金额', 'Amount'],
  credited: ['入账', 'Credited'],
  back: ['退回或冻结', 'Back or frozen'],
  late: ['晚到', 'Late'],
  sandbox: ['测试', 'Test'],
  noOrders: ['没有订单', 'There are no orders'],
  noMatch: ['没有符合条件的订单', 'No order matches'],
  clear: ['清除筛选', 'Clear the filters'],
  only: [(name: string) => `只看 ${name}`, (name: string) => `Only orders of ${name}`],
})

const AGES = words({
  '10m': ['10 分钟', '10 minutes'],
  '1h': ['1 小时', 'An hour'],
  '24h': ['1 天', 'A day'],
  '7d': ['7 天', '7 days'],
})
const FILTERS = ['state', 'method', 'older', 'of'] as const

export default function payments(): View {
  const of = (name: string) => query.value.get(name)
  const health = load(() => get<PayHealth>('/payments'))
  const exceptions = load(() =>
    get<ListPage<ShownException>>('/payments/exceptions', { state: of('exceptions') ?? 'open', kind: of('kind') }),
  )
  const orders = load(() =>
    get<ListPage<ListedOrder>>('/payments/orders', {
      state: of('state'),
      method: of('method'),
      older: of('older'),
      sort: of('sort'),
      account: of('of'),
      after: of('after'),
    }),
  )
  const rates = ratesPanel()
  const toSend = toSendPanel()
  const chosen = signal<ShownException | null>(null)
  const resolve = resolveDialog(chosen, () => {
    exceptions.again()
    health.again()
    orders.again()
  })
  return () => [
    whenLoaded(health, figures),
    section(
      { class: 'panel', 'aria-labelledby': 'exceptions' },
      h2({ id: 'exceptions' }, w.exceptions()),
      exceptionFilters(),
      whenLoaded(exceptions, ({ data, next }) => [
        data.length === 0 ? p({ class: 'soft' }, w.none()) : exceptionTable(data, chosen),
        next !== null && p({ class: 'soft' }, w.more()),
      ]),
    ),
    health.value.value !== null && methodsPanel(health.value.value),
    health.value.value !== null && chainPanel(health.value.value),
    rates(),
    toSend(),
    orderList(orders),
    resolve(),
  ]
}

const figures = ({ exceptions, uncredited, held, orders }: PayHealth): Child => {
  const pending = orders.find(({ state }) => state === 'pending')
  return dl(
    { class: 'figures' },
    div({ class: 'figure' }, dt({}, w.waiting()), dd({}, count(exceptions))),
    div({ class: 'figure' }, dt({}, w.uncredited()), dd({}, count(uncredited)), dd({}, w.uncreditedNote())),
    held.orders > 0 &&
      div({ class: 'figure' }, dt({}, w.held()), dd({}, count(held.orders)), dd({}, money(held.amount))),
    div(
      { class: 'figure' },
      dt({}, w.open()),
      dd({}, count(pending?.count ?? 0)),
      pending !== undefined && dd({}, w.oldest(), ' ', moment(pending.oldest_at)),
    ),
  )
}

const exceptionFilters = (): Child =>
  div(
    { class: 'filters' },
    filterField(
      'exceptions',
      w.which(),
      [
        { value: 'resolved', text: w.resolved() },
        { value: 'all', text: w.every() },
      ],
      w.waiting(),
    ),
    filterField(
      'kind',
      w.kind(),
      EXCEPTION_KINDS.map(value => ({ value, text: exceptionName(value) })),
    ),
  )

function orderList(loaded: ReturnType<typeof load<ListPage<ListedOrder>>>): Child {
  const filtered = FILTERS.some(name => query.value.get(name) !== null)
  const clear = () => setQuery({ ...Object.fromEntries(FILTERS.map(name => [name, null])), after: null })
  const clearButton = button({ type: 'button', onClick: clear }, w.clear())
  return listing<ListedOrder>({
    caption: w.orders(),
    loaded,
    keyOf: row => row.id,
    bar: div(
      { class: 'filters' },
      filterField(
        'state',
        w.state(),
        ORDER_STATES.map(value => ({ value, text: stateName(value) })),
      ),
      filterField(
        'method',
        w.method(),
        ORDER_METHODS.map(value => ({ value, text: methodName(value) })),
      ),
      filterField(
        'older',
        w.age(),
        (Object.keys(AGES) as (keyof typeof AGES)[]).map(value => ({ value, text: AGES[value]() })),
      ),
      filtered && clearButton,
    ),
    empty: () => (filtered ? empty('list', w.noMatch(), clearButton) : empty('wallet', w.noOrders())),
    columns: [
      {
        title: w.order(),
        order: { name: 'created', down: true, usual: true },
        cell: row => [
          a({ href: `/console/payments/${row.id}` }, code({}, row.id)),
          span({ class: 'under' }, moment(row.created_at)),
        ],
      },
      { title: w.account(), cell: accountOf },
      {
        title: w.method(),
        narrow: 'plain',
        cell: row => [methodName(row.method), ' ', row.sandbox && badge('plain', w.sandbox())],
      },
      {
        title: w.state(),
        narrow: 'plain',
        cell: row => [
          div({ class: 'row' }, stateBadge(row), row.late && badge('warn', w.late())),
          row.held_until !== null && span({ class: 'under' }, w.heldUntil(), ' ', moment(row.held_until)),
        ],
      },
      {
        title: w.amount(),
        narrow: 'beside',
        number: true,
        cell: row => [money(row.amount), row.transaction !== null && span({ class: 'under' }, `${row.asked} USDT`)],
      },
      { title: w.credited(), number: true, cell: row => money(row.credited) },
      { title: w.back(), number: true, cell: backOf },
    ],
  })
}

const accountOf = ({ account }: ListedOrder): Child =>
  account === null
    ? '–'
    : button(
        {
          type: 'button',
          class: 'link',
          'aria-label': w.only(account.name),
          onClick: () => setQuery({ of: account.id, after: null }, true),
        },
        account.name,
      )

const NOTHING = '0.000000'
const backOf = ({ refunded, reversed, frozen }: ListedOrder): Child =>
  [refunded, reversed, frozen]
    .filter(amount => amount !== NOTHING)
    .map(money)
    .join(' + ') || '–'
