/** The receipt of a payment, for the screen and for paper. */
import type { ShownOrder } from '../../lib/console/answers.ts'
import { hrefOf } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { a, button, type Child, code, dd, dl, dt, h2, section, strong } from '../base/element.ts'
import { load } from '../base/load.ts'
import { money } from '../base/money.ts'
import { actions, type View } from '../base/page.ts'
import { methodName, orderSaid, stateBadge } from '../parts/order-words.ts'
import { whenLoaded } from '../parts/state.ts'
import { account, accountPath } from '../base/session.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'

const w = words({
  back: ['充值', 'Top up'],
  print: ['打印', 'Print'],
  receipt: ['充值收据', 'Receipt of a payment'],
  order: ['订单号', 'Order'],
  account: ['账户', 'Account'],
  state: ['状态', 'State'],
  method: ['支付方式', 'Way to pay'],
  paid: ['支付金额', 'Paid'],
  credited: ['入账金额', 'Credited'],
  refunded: ['已退款', 'Refunded'],
  frozen: ['冻结', 'Frozen'],
  reversed: ['被银行撤销', 'Taken back by the bank'],
  begun: ['下单时间', 'Ordered'],
  creditedAt: ['入账时间', 'Credited at'],
  transaction: ['交易', 'Transaction'],
})

const idOf = () => decodeURIComponent(location.pathname.split('/').at(-1) ?? '')
const NOTHING = '0.000000'

export default function paid(): View {
  actions.value = () => [
    a({ class: 'button', href: hrefOf('/topup') }, w.back()),
    button({ type: 'button', onClick: () => print() }, w.print()),
  ]
  const id = idOf()
  const order = load(() => get<ShownOrder>(`${accountPath()}/orders/${encodeURIComponent(id)}`))
  return () => whenLoaded(order, ofOrder)
}

const pair = (title: string, value: Child): Child => [dt({}, title), dd({}, value)]
const sum = (title: string, amount: string): Child => amount !== NOTHING && pair(title, money(amount))

const receipt = (said: Child, ...pairs: Child[]): Child =>
  section(
    { class: 'panel', 'aria-labelledby': 'receipt' },
    h2({ id: 'receipt' }, w.receipt()),
    said,
    dl({ class: 'pairs' }, pair(w.account(), account.value?.name ?? '–'), pairs),
  )

const ofOrder = (order: ShownOrder): Child =>
  receipt(
    orderSaid(order),
    pair(w.order(), code({}, order.id)),
    order.transaction !== null && pair(w.transaction(), code({}, order.transaction)),
    pair(w.state(), stateBadge(order)),
    pair(w.method(), methodName(order.method)),
    order.credited_at !== null && pair(w.paid(), `${order.asked} ${order.currency}`),
    pair(w.credited(), strong({}, money(order.credited))),
    sum(w.refunded(), order.refunded),
    sum(w.frozen(), order.frozen),
    sum(w.reversed(), order.reversed),
    pair(w.begun(), moment(order.created_at, true)),
    order.credited_at !== null && pair(w.creditedAt(), moment(order.credited_at, true)),
  )
