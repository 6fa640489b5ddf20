/** Orders in words. */
import type { VNode } from 'preact'
import type { ShownOrder } from '../../lib/console/answers.ts'
import { a, type Child, p, span } from '../base/element.ts'
import { type Icon, icon } from '../base/icons.ts'
import { money } from '../base/money.ts'
import { stamp } from '../base/time.ts'
import { words } from '../base/words.ts'
import { badge, type Tone } from './badge.ts'
import { told } from './state.ts'

const METHODS = words({
  alipay: ['支付宝', 'Alipay'],
  wechat: ['微信支付', 'WeChat Pay'],
  card: ['银行卡', 'Card'],
  usdt: ['USDT', 'USDT'],
})

export const ORDER_METHODS = Object.keys(METHODS) as (keyof typeof METHODS)[]
export const methodName = (method: keyof typeof METHODS): string => METHODS[method]()

const SIGNS = {
  alipay: 'payPhone',
  wechat: 'payTalk',
  card: 'payCard',
  usdt: 'payChain',
} as const satisfies Record<keyof typeof METHODS, Icon>

/** A sign by which people find a way to pay, in a colour that they know it by; its name stands beside it. */
export const methodMark = (method: keyof typeof METHODS): VNode =>
  span({ class: `sign ${method}` }, icon(SIGNS[method]))

const WAYS = words({
  alipay: ['打开支付宝', 'Open Alipay'],
  wechat: ['打开微信支付', 'Open WeChat Pay'],
  card: ['用银行卡支付', 'Pay by card'],
  usdt: ['用 USDT 支付', 'Pay with USDT'],
})

/** What the button says that leads to the provider. */
export const methodEntry = (method: keyof typeof WAYS): string => WAYS[method]()

const DEMO = words({
  play: ['扮演付款人（模拟支付）', 'Play the payer (simulated)'],
})

/** The way to the page that plays the payer of a demo. `query`: what is paid there. */
export const playPayer = (payer: string | null, query: string): Child =>
  payer !== null &&
  p({}, a({ class: 'button', href: `${payer}/?${query}`, target: '_blank', rel: 'noopener noreferrer' }, DEMO.play()))

const STATES = words({
  created: ['准备中', 'Being made'],
  pending: ['待支付', 'To be paid'],
  paid: ['已支付，正在入账', 'Paid, being credited'],
  credited: ['已入账', 'Credited'],
  expired: ['已关闭', 'Closed'],
  failed: ['未成功', 'Failed'],
  refunded: ['已退款', 'Refunded'],
  reversed: ['已撤销', 'Reversed'],
})

const TONES: Record<ShownOrder['state'], Tone> = {
  created: 'plain',
  pending: 'warn',
  paid: 'warn',
  credited: 'good',
  expired: 'plain',
  failed: 'bad',
  refunded: 'plain',
  reversed: 'bad',
}

export const ORDER_STATES = Object.keys(STATES) as ShownOrder['state'][]
export const stateName = (state: ShownOrder['state']): string => STATES[state]()
const MORE = words({
  held: ['已支付，暂缓入账', 'Paid, held'],
  waiting: ['等待入账', 'Waiting'],
  confirming: ['确认中', 'Being confirmed'],
  doubted: ['等待人工处理', 'Looked at by a person'],
})

/** The state in words: a transfer is not paid by anybody any more, and some orders wait for something that is known. */
function wordOf({ state, method, held_until, waits_for }: Badged): string {
  if (held_until !== null) return MORE.held()
  if (waits_for !== null) return MORE.waiting()
  if (method === 'usdt' && state === 'pending') return MORE.confirming()
  return method === 'usdt' && state === 'failed' ? MORE.doubted() : STATES[state]()
}

type Badged = Pick<ShownOrder, 'state' | 'method' | 'held_until' | 'waits_for'>

export const stateBadge = (order: Badged): VNode => badge(TONES[order.state], wordOf(order))

const w = words({
  making: ['支付服务商暂时没有回答，正在重试。', 'The payment provider did not answer yet; this page tries again.'],
  paid: ['已收到付款，正在入账。', 'The payment has arrived and is being credited.'],
  held: [
    (at: string) =>
      `已收到付款，将于 ${at} 前后自动入账。近期有银行对刷卡付款提出争议，因此新的刷卡付款会暂缓入账；您无需再做任何操作。`,
    (at: string) =>
      `The payment has arrived, and will be credited at ${at}. Banks have disputed card payments lately, so new ones wait for a while; there is nothing that you need to do.`,
  ],
  others: [
    '转账已确认，与其他转账合计达到最低金额后自动入账。',
    'The transfer is confirmed. It is credited when it comes to the minimum together with others.',
  ],
  rate: [
    '转账已确认，暂无汇率，汇率更新后自动入账。',
    'The transfer is confirmed, and waits until there is an exchange rate.',
  ],
  confirming: [
    '转账已在区块中，正在由第二个节点确认。',
    'The transfer stands in a final block; a second node is asked for it.',
  ],
  doubted: [
    '两个节点对这笔转账的说法不一致，运营方正在处理。',
    'Nodes do not agree about this transfer; a person looks at it.',
  ],
  credited: [(amount: string) => `${amount} 已入账。`, (amount: string) => `${amount} has been credited.`],
  late: [
    (amount: string) => `付款在订单结束后才到达，${amount} 已照常入账。`,
    (amount: string) => `The payment arrived after the order had ended. ${amount} has been credited all the same.`,
  ],
  expired: [
    '订单已取消或已过期，不能再支付。如果您已付款，款项到账后仍会自动入账；请勿重复支付。',
    'The order was cancelled or has expired, and cannot be paid any more. If you have paid it, the amount is still credited when the money arrives: do not pay twice.',
  ],
  failed: [
    '支付服务商没有接受该订单，没有扣款。请重新下单，或换一种支付方式。',
    'The payment provider did not take this order, and nothing was charged. Begin a new one, or choose another way to pay.',
  ],
  frozen: [
    (amount: string) => `其中 ${amount} 因退款或争议而冻结，等待支付服务商决定。`,
    (amount: string) => `${amount} of it is frozen for a refund or a dispute, until the payment provider has decided.`,
  ],
  refunded: [
    (amount: string) => `${amount} 已退回原支付方式。`,
    (amount: string) => `${amount} went back to where it was paid from.`,
  ],
  reversed: [
    (amount: string) => `${amount} 已被付款人的银行收回。`,
    (amount: string) => `The payer’s bank has taken ${amount} back.`,
  ],
})

const NOTHING = '0.000000'

/** What became of an order, in plain words. */
export function orderSaid(order: ShownOrder): Child {
  const { state, late, credited, frozen, refunded, reversed, method } = order
  const isTransfer = method === 'usdt'
  return [
    state === 'created' && told('plain', w.making()),
    state === 'pending' && isTransfer && told('plain', w.confirming()),
    state === 'paid' && told('plain', paidSaid(order)),
    state === 'credited' && told('good', late ? w.late(money(credited)) : w.credited(money(credited))),
    state === 'expired' && told('warn', w.expired()),
    state === 'failed' && told('warn', isTransfer ? w.doubted() : w.failed()),
    frozen !== NOTHING && told('warn', w.frozen(money(frozen))),
    refunded !== NOTHING && told('plain', w.refunded(money(refunded))),
    reversed !== NOTHING && told('bad', w.reversed(money(reversed))),
  ]
}

function paidSaid({ held_until, waits_for }: ShownOrder): string {
  if (waits_for !== null) return w[waits_for]()
  return held_until === null ? w.paid() : w.held(stamp(held_until, false))
}
