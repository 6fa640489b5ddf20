/** One order: where it is paid, and what became of it. While it is open the page asks about it, less and less often. */
import { effect, signal } from '@preact/signals'
import type { ShownOrder } from '../../../api/orders.ts'
import { query, setQuery } from '../../address.ts'
import { get } from '../../ask.ts'
import { a, button, div, h2, p, section } from '../../element.ts'
import { icon } from '../../icons.ts'
import { load } from '../../load.ts'
import { money } from '../../money.ts'
import { say } from '../../page.ts'
import { methodName, stateBadge } from '../../parts/order-words.ts'
import { qr } from '../../parts/qr.ts'
import { told, whenLoaded } from '../../parts/state.ts'
import { accountPath } from '../../session.ts'
import { stamp, zoneName } from '../../time.ts'
import { words } from '../../words.ts'

const w = words({
  order: [(id: string) => `订单 ${id}`, (id: string) => `Order ${id}`],
  amount: ['充值金额', 'Amount'],
  asked: [
    (asked: string, currency: string) => `支付 ${currency} ${asked}`,
    (asked: string, currency: string) => `You pay ${currency} ${asked}`,
  ],
  scan: [(method: string) => `用${method}扫描二维码`, (method: string) => `Scan this code with ${method}`],
  open: [(method: string) => `前往${method}`, (method: string) => `Go to ${method}`],
  until: [
    (at: string, zone: string) => `请在 ${at}（${zone}）前支付。`,
    (at: string, zone: string) => `Pay it before ${at} (${zone}).`,
  ],
  leave: [
    '支付后无需停留在此页面：付款一经确认即自动入账，可随时回来查看。',
    'You need not stay here after paying: the amount is credited as soon as the payment is confirmed, and you can come back at any time.',
  ],
  making: ['支付服务商暂时没有回答，正在重试。', 'The payment provider did not answer yet; this page tries again.'],
  credited: [(amount: string) => `${amount} 已入账。`, (amount: string) => `${amount} has been credited.`],
  paid: ['已收到付款，正在入账。', 'The payment has arrived and is being credited.'],
  over: [
    '该订单已不能支付。如果您已付款，款项到账后仍会自动入账。',
    'This order cannot be paid any more. If you have paid it, the amount is still credited when the money arrives.',
  ],
  back: ['这笔款项已退回。', 'This money has gone back.'],
  close: ['关闭', 'Close'],
})

const FIRST_MS = 3_000
const MOST_MS = 20_000
const OPEN: readonly ShownOrder['state'][] = ['created', 'pending', 'paid']

export function orderPanel(changed: () => void) {
  const order = load(() => {
    const id = query.value.get('order')
    return id === null ? Promise.resolve(null) : get<ShownOrder>(`${accountPath()}/orders/${encodeURIComponent(id)}`)
  })
  const state = signal<string | null>(null)
  let waitMs = FIRST_MS
  effect(() => {
    const value = order.value.value
    if (value === null) return
    if (state.peek() !== null && state.peek() !== value.state) {
      if (value.state === 'credited') say(w.credited(money(value.credited)))
      changed()
    }
    state.value = value.state
    void order.at.value // asks again after every answer, also after one that says the same
    if (!OPEN.includes(value.state)) return
    const timer = setTimeout(() => (document.hidden ? waitForReader(order.again) : order.again()), waitMs)
    waitMs = Math.min(MOST_MS, waitMs * 1.3)
    return () => clearTimeout(timer)
  })
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'order' },
      whenLoaded(order, value => value && shown(value)),
    )
}

/** A page that nobody looks at asks nothing. */
function waitForReader(again: () => void): void {
  document.addEventListener('visibilitychange', again, { once: true })
}

function shown(order: ShownOrder) {
  const method = methodName(order.method)
  return [
    div({ class: 'row' }, h2({ id: 'order' }, w.order(order.id)), stateBadge(order.state)),
    p({}, w.amount(), ' ', money(order.amount)),
    order.currency !== 'CNY' && p({ class: 'soft' }, w.asked(order.asked, order.currency)),
    order.state === 'created' && told('plain', w.making()),
    order.state === 'paid' && told('plain', w.paid()),
    order.state === 'credited' && told('good', w.credited(money(order.credited))),
    (order.state === 'expired' || order.state === 'failed') && told('warn', w.over()),
    (order.state === 'refunded' || order.state === 'reversed') && told('plain', w.back()),
    order.qr !== null && div({ class: 'stack' }, p({}, w.scan(method)), qr(order.qr, w.scan(method))),
    order.redirect !== null &&
      p(
        {},
        a({ class: 'button main', href: order.redirect, target: '_blank', rel: 'noopener noreferrer' }, w.open(method)),
      ),
    order.state === 'pending' && [
      p({ class: 'soft' }, w.until(stamp(order.expires_at), zoneName())),
      p({ class: 'soft' }, w.leave()),
    ],
    div(
      { class: 'row' },
      button({ type: 'button', class: 'small', onClick: () => setQuery({ order: null }) }, icon('left'), w.close()),
    ),
  ]
}
