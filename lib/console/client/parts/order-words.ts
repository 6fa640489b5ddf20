/** Orders in words. */
import type { VNode } from 'preact'
import type { ShownOrder } from '../../api/orders.ts'
import { words } from '../words.ts'
import { badge, type Tone } from './badge.ts'

const METHODS = words({
  alipay: ['支付宝', 'Alipay'],
  wechat: ['微信支付', 'WeChat Pay'],
  card: ['银行卡', 'Card'],
})

export const methodName = (method: ShownOrder['method']): string => METHODS[method]()

const STATES = words({
  created: ['准备中', 'Being made'],
  pending: ['待支付', 'To be paid'],
  paid: ['已支付，正在入账', 'Paid, being credited'],
  credited: ['已入账', 'Credited'],
  expired: ['已过期', 'Expired'],
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

export const stateBadge = (state: ShownOrder['state']): VNode => badge(TONES[state], STATES[state]())
