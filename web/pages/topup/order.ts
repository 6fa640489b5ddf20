/** One order: where it is paid, and what became of it. While it is open the page asks about it, less and less often. */
import { computed, effect, signal } from '@preact/signals'
import type { ShownOrder } from '../../../lib/console/answers.ts'
import { hrefOf, query, setQuery } from '../../base/address.ts'
import { get, send } from '../../base/ask.ts'
import { a, button, type Child, code, div, h2, p, section } from '../../base/element.ts'
import { icon } from '../../base/icons.ts'
import { load, whenSeen } from '../../base/load.ts'
import { money } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { lateQr } from '../../parts/late-qr.ts'
import { methodEntry, methodName, orderSaid, playPayer, stateBadge } from '../../parts/order-words.ts'
import { whenLoaded } from '../../parts/state.ts'
import { account, accountPath } from '../../base/session.ts'
import type { KeyPage } from '../../base/shapes.ts'
import { stamp } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import { may } from '../../shared/roles.ts'

const w = words({
  order: ['订单', 'Order'],
  amount: ['充值金额', 'Amount'],
  asked: [
    (asked: string, currency: string) => `支付 ${currency} ${asked}`,
    (asked: string, currency: string) => `You pay ${currency} ${asked}`,
  ],
  scan: [(method: string) => `用${method}扫描二维码`, (method: string) => `Scan this code with ${method}`],
  oneOf: ['二选一即可：扫描此码，或前往下方页面支付。', 'Either of the two will do: this code, or the page below.'],
  until: [(at: string) => `请在 ${at} 前支付。`, (at: string) => `Pay it before ${at}.`],
  leave: [
    '支付后无需停留在此页面：付款一经确认即自动入账，可随时回来查看。',
    'You need not stay here after paying: the amount is credited as soon as the payment is confirmed, and you can come back at any time.',
  ],
  credited: [(amount: string) => `${amount} 已入账。`, (amount: string) => `${amount} has been credited.`],
  close: ['返回', 'Back'],
  cancel: ['取消订单', 'Cancel this order'],
  cancelled: ['订单已取消', 'The order is cancelled'],
  onPhone: [
    (method: string) =>
      `在手机上：保存二维码图片，打开${method}的“扫一扫”，从相册中选取；也可以在另一台设备上打开此页面再扫码。`,
    (method: string) =>
      `On a phone: save the code as a picture, open the scanner of ${method}, and choose the picture from the album. Or open this page on another device and scan it there.`,
  ],
  save: ['保存二维码图片', 'Save the code as a picture'],
  receipt: ['收据', 'Receipt'],
  key: ['创建第一个密钥', 'Make a first key'],
  overview: ['前往概览', 'To the overview'],
})

const FIRST_MS = 3_000
const MOST_MS = 20_000
const SLOWER = 1.3
const OPEN: readonly ShownOrder['state'][] = ['created', 'pending', 'paid']

/** `changed`: the order of the address has got another state. `pays`: the reader may cancel it. `payer`: the page that plays one. */
export function orderPanel(changed: () => void, pays: boolean, payer: () => string | null) {
  const order = load(() => {
    const id = query.value.get('order')
    return id === null ? Promise.resolve(null) : get<ShownOrder>(`${accountPath()}/orders/${encodeURIComponent(id)}`)
  })
  const seen = signal<ShownOrder | null>(null)
  let waitMs = FIRST_MS
  effect(() => {
    const value = order.value.value
    // asks again after every answer, also after one that says the same, and after none
    void order.at.value
    void order.failure.value
    if (value === null) return
    const before = seen.peek()
    seen.value = value
    if (before?.id !== value.id) {
      waitMs = FIRST_MS
      // who has begun it at the foot of a phone's screen would not see it appear above
      requestAnimationFrame(() => document.getElementById('order')?.scrollIntoView({ block: 'nearest' }))
    } else if (before.state !== value.state) {
      if (value.state === 'credited') say(w.credited(money(value.credited)))
      changed()
    }
    if (!OPEN.includes(value.state)) return
    const timer = setTimeout(() => whenSeen(order.again), waitMs)
    waitMs = Math.min(MOST_MS, waitMs * SLOWER)
    return () => clearTimeout(timer)
  })
  const isCredited = computed(() => seen.value?.state === 'credited')
  // a balance alone answers no request
  const lacksKey = load(async () => {
    if (!isCredited.value) return null
    if (!may(account.value?.role, 'makeKeys')) return false
    return (await get<KeyPage>(`${accountPath()}/keys`)).data.length === 0
  })
  const cancelling = signal(false)
  const cancel = (id: string) =>
    act(async () => {
      cancelling.value = true
      try {
        const { state } = await send<ShownOrder>('POST', `${accountPath()}/orders/${encodeURIComponent(id)}/cancel`)
        if (state === 'expired') say(w.cancelled())
      } finally {
        cancelling.value = false
        order.again()
        changed()
      }
    })
  const cancelButton = ({ id, state, transaction }: ShownOrder): Child =>
    pays &&
    (state === 'created' || state === 'pending') &&
    transaction === null &&
    button({ type: 'button', class: 'small', disabled: cancelling.value, onClick: () => cancel(id) }, w.cancel())
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'order' },
      whenLoaded(order, value => value && shown(value, cancelButton(value), payer(), lacksKey.value.value)),
    )
}

/** A phone cannot scan what it shows. */
const phoneHint = (order: ShownOrder, code: string): Child =>
  div(
    { class: 'handheld stack' },
    p({ class: 'soft' }, w.onPhone(methodName(order.method))),
    button(
      {
        type: 'button',
        class: 'small',
        onClick: () => act(async () => (await import('../../parts/qr.ts')).saveQr(code, order.id)),
      },
      w.save(),
    ),
  )

function shown(order: ShownOrder, cancel: Child, payer: string | null, lacksKey: boolean | null): Child {
  const method = methodName(order.method)
  return [
    div({ class: 'row' }, h2({ id: 'order' }, w.order(), ' ', code({}, order.id)), stateBadge(order)),
    p({}, w.amount(), ' ', money(order.amount)),
    order.currency !== 'CNY' && p({ class: 'soft' }, w.asked(order.asked, order.currency)),
    orderSaid(order),
    order.qr !== null &&
      div({ class: 'stack' }, p({}, w.scan(method)), lateQr(order.qr, w.scan(method)), phoneHint(order, order.qr)),
    order.qr !== null && order.redirect !== null && p({ class: 'soft' }, w.oneOf()),
    order.qr !== null && playPayer(payer, `order=${order.id}`),
    order.redirect !== null &&
      // in this tab, as the provider leads back to the console: one of two tabs would stay behind
      p({}, a({ class: 'button main', href: order.redirect }, methodEntry(order.method))),
    order.state === 'pending' &&
      order.transaction === null && [
        p({ class: 'soft' }, w.until(stamp(order.expires_at))),
        p({ class: 'soft' }, w.leave()),
      ],
    div(
      { class: 'row' },
      // what the money is for
      order.credited_at !== null &&
        lacksKey !== null &&
        (lacksKey
          ? a({ class: 'button main small', href: hrefOf('/keys', { make: 'first' }) }, w.key())
          : a({ class: 'button main small', href: hrefOf('/overview') }, w.overview())),
      order.credited_at !== null && a({ class: 'button small', href: hrefOf(`/topup/${order.id}`) }, w.receipt()),
      button({ type: 'button', class: 'small', onClick: () => setQuery({ order: null }) }, icon('left'), w.close()),
      cancel,
    ),
  ]
}
