/** What the states of a deposit are called. */
import type { VNode } from 'preact'
import type { ShownDeposit } from '../../lib/console/api/deposits.ts'
import { words } from '../base/words.ts'
import { badge, type Tone } from './badge.ts'

const STATES = words({
  final: ['确认中', 'Being confirmed'],
  confirmed: ['等待入账', 'Waiting'],
  credited: ['已入账', 'Credited'],
  held: ['等待人工处理', 'Looked at by a person'],
  closed: ['不入账', 'Not credited'],
})
const TONES: Record<ShownDeposit['state'], Tone> = {
  final: 'warn',
  confirmed: 'warn',
  credited: 'good',
  held: 'bad',
  closed: 'plain',
}

export const DEPOSIT_STATES = Object.keys(STATES) as ShownDeposit['state'][]
export const depositStateName = (state: ShownDeposit['state']): string => STATES[state]()
export const depositBadge = (state: ShownDeposit['state']): VNode => badge(TONES[state], STATES[state]())
