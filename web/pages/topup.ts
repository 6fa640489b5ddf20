/** Top up: begin an order, pay it, and see it credited without reloading; below, what became of earlier orders. */
import { type Signal, signal } from '@preact/signals'
import type { ShownMethods, ShownOrder, ShownOrders } from '../../lib/console/answers.ts'
import { hrefOf, query, setQuery } from '../base/address.ts'
import { get, send } from '../base/ask.ts'
import { a, button, type Child, code, div, fieldset, h2, input, label, legend, section, span } from '../base/element.ts'
import { follow, load } from '../base/load.ts'
import { money } from '../base/money.ts'
import type { View } from '../base/page.ts'
import { badge } from '../parts/badge.ts'
import { textField } from '../parts/field.ts'
import { fileLinks } from '../parts/file-links.ts'
import { formOf } from '../parts/form.ts'
import { listing } from '../parts/listing.ts'
import { methodMark, methodName, stateBadge } from '../parts/order-words.ts'
import { contact } from '../parts/operator.ts'
import { empty, told, whenLoaded } from '../parts/state.ts'
import { account, accountPath, me } from '../base/session.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'
import { orderPanel } from './topup/order.ts'
import { usdtPanel } from './topup/usdt.ts'
import { may } from '../shared/roles.ts'

const w = words({
  begin: ['发起充值', 'New order'],
  amount: ['金额（元）', 'Amount (CNY)'],
  presets: ['常用金额', 'Usual amounts'],
  method: ['支付方式', 'Way to pay'],
  free: ['无手续费，付多少到多少', 'No fee: what you pay is what you get'],
  exchanged: [
    (currency: string) => `以 ${currency} 扣款，您的银行可能收取货币兑换费`,
    (currency: string) => `Charged in ${currency}: your bank may ask for a fee`,
  ],
  simulated: [
    '这是测试支付：付款是模拟的，不会扣真实的钱，额度只记入此测试账户。',
    'These are test payments: nobody pays real money, and the credit is for this test account only.',
  ],
  pay: ['去支付', 'Continue to payment'],
  least: [
    (from: string, to: string) => `每次 ${from} 至 ${to}。`,
    (from: string, to: string) => `From ${from} to ${to} at a time.`,
  ],
  none: ['运营方尚未开通在线充值，请联系运营方。', 'The operator offers no way to pay here: please get in touch.'],
  noneOperator: [
    '尚未配置支付方式。在配置文件的 pay 部分加入一种（见 docs/topups.md），然后重新加载配置。',
    'No way to pay is configured. Add one to the section pay of the configuration (docs/topups.md), then reload it.',
  ],
  receiptOf: [(id: string) => `订单 ${id} 的收据`, (id: string) => `Receipt of order ${id}`],
  receipt: ['收据', 'Receipt'],
  orders: ['充值记录', 'Orders'],
  order: ['订单与创建时间', 'Order, created'],
  state: ['状态', 'State'],
  noOrders: ['还没有充值记录', 'There are no orders yet'],
  late: ['晚到', 'Late'],
  files: ['导出', 'Export'],
  csv: ['CSV', 'CSV'],
  machine: ['CSV（固定列名）', 'CSV with fixed column names'],
})

const PRESETS = ['10', '50', '100', '500', '1000']

export default function topup(): View {
  const methods = load(() => get<ShownMethods>(`${accountPath()}/pay-methods`))
  const at = (name: string) => query.value.get(name)
  const orders = load(() => get<ShownOrders>(`${accountPath()}/orders`, { sort: at('sort'), after: at('after') }))
  const pays = may(account.value?.role, 'pay')
  const payer = () => methods.value.value?.payer ?? null
  const open = orderPanel(orders.again, pays, payer)
  const begin = beginPanel(orders.again)
  // while an order of the list may still change
  follow(orders, FOLLOW_MS, ({ data }) => data.some(({ state }) => UNDECIDED.includes(state)))
  const usdt = usdtPanel(pays, orders, payer)
  return () => [
    at('order') !== null && open(),
    pays &&
      whenLoaded(methods, value =>
        value.data.length > 0 ? begin(value) : usdt.offered() === false && nothingOffered(),
      ),
    usdt.view(),
    listing<ShownOrder>({
      caption: w.orders(),
      below: files(at('sort')),
      loaded: orders,
      keyOf: ({ id }) => id,
      empty: () => empty('wallet', w.noOrders()),
      columns: [
        {
          title: w.order(),
          order: { name: 'created', down: true, usual: true },
          cell: ({ id, created_at }) => [
            button({ type: 'button', class: 'plain link', onClick: () => setQuery({ order: id }, true) }, code({}, id)),
            span({ class: 'under' }, moment(created_at)),
          ],
        },
        { title: w.method(), narrow: 'plain', cell: ({ method }) => methodName(method) },
        {
          title: w.state(),
          narrow: 'plain',
          cell: row => div({ class: 'row' }, stateBadge(row), row.late && badge('warn', w.late())),
        },
        {
          title: w.amount(),
          narrow: 'beside',
          number: true,
          cell: row => [money(row.amount), row.transaction !== null && span({ class: 'under' }, `${row.asked} USDT`)],
        },
        {
          title: w.receipt(),
          narrow: 'plain',
          cell: ({ id, credited_at }) =>
            credited_at !== null && a({ href: hrefOf(`/topup/${id}`), 'aria-label': w.receiptOf(id) }, w.receipt()),
        },
      ],
    }),
  ]
}

function files(sort: string | null): Child {
  const parameters: Record<string, string> = sort === null ? {} : { sort }
  return fileLinks(w.files(), [
    { text: w.csv(), call: 'orders.csv', parameters },
    { text: w.machine(), call: 'orders.csv', parameters: { ...parameters, heads: 'machine' } },
  ])
}

const FOLLOW_MS = 15_000
const UNDECIDED: readonly ShownOrder['state'][] = ['created', 'pending', 'paid']

const nothingOffered = () =>
  me.value?.operator === true ? told('plain', w.noneOperator()) : told('plain', w.none(), ' ', contact())

/** The ways to pay as buttons, each with its mark and with what it costs the payer beside the amount. */
const ways = (data: ShownMethods['data'], chosen: Signal<string>): Child =>
  fieldset(
    { class: 'ways' },
    legend({}, w.method()),
    data.map(({ method, currency }) =>
      label(
        { key: method, class: chosen.value === method ? 'way chosen' : 'way' },
        input({
          type: 'radio',
          name: 'method',
          value: method,
          checked: chosen.value === method,
          onChange: () => (chosen.value = method),
        }),
        methodMark(method),
        span({}, methodName(method), span({ class: 'under' }, currency === 'CNY' ? w.free() : w.exchanged(currency))),
      ),
    ),
  )

const fits = (preset: string, { minimum, maximum }: ShownMethods['data'][number]): boolean =>
  Number(preset) >= Number(minimum) && Number(preset) <= Number(maximum)

function beginPanel(begun: () => void) {
  const amount = signal('')
  const method = signal('')
  const form = formOf(async () => {
    const order = await send<ShownOrder>('POST', `${accountPath()}/orders`, {
      method: method.value,
      amount: amount.value.trim(),
    })
    setQuery({ order: order.id }, true)
    begun()
    // what is paid at the provider alone needs no second press; "back" leads to the order
    if (order.redirect !== null && order.qr === null) location.assign(order.redirect)
  })
  return ({ data }: ShownMethods) => {
    const chosen = data.find(row => row.method === method.value) ?? data[0]
    if (chosen !== undefined && method.value !== chosen.method) method.value = chosen.method
    return section(
      { class: 'panel', 'aria-labelledby': 'begin' },
      h2({ id: 'begin' }, w.begin()),
      div(
        { class: 'row', role: 'group', 'aria-label': w.presets() },
        PRESETS.filter(preset => chosen === undefined || fits(preset, chosen)).map(preset =>
          button(
            {
              key: preset,
              type: 'button',
              class: 'small',
              'aria-pressed': amount.value === preset ? 'true' : 'false',
              onClick: () => (amount.value = preset),
            },
            money(`${preset}.000000`),
          ),
        ),
      ),
      form.view(
        'tall narrow',
        textField(
          {
            name: 'amount',
            label: w.amount(),
            error: form.error('amount'),
            hint: chosen && w.least(money(chosen.minimum), money(chosen.maximum)),
          },
          amount,
          { inputMode: 'decimal', autoComplete: 'off' },
        ),
        ways(data, method),
        data.some(row => row.sandbox) && told('warn', w.simulated()),
        // beside an open order, the page stands at that, and the button would cover the amount
        form.submit(query.value.get('order') === null ? 'main stays' : 'main', w.pay()),
      ),
    )
  }
}
