/** What requests and their parts are called, wherever pages show them. */

import type { VNode } from 'preact'
import type { RequestAnswer } from '../../lib/operations/usage/requests.ts'
import { type Child, span } from '../base/element.ts'
import { words } from '../base/words.ts'
import { badge, type Tone } from './badge.ts'

const w = words({
  ok: ['成功', 'Answered'],
  client: ['客户端原因', 'Client side'],
  upstream: ['失败', 'Failed'],
  completed: ['完整返回', 'Complete'],
  refused: ['上游拒绝了请求', 'The upstream refused it'],
  client_gone: ['客户端断开', 'The client left'],
  upstream_error: ['上游报错', 'Error of the upstream'],
  upstream_cut: ['上游中断', 'The upstream broke off'],
  reported: ['上游报告', 'Reported by the upstream'],
  counted: ['网关计数', 'Counted by the gateway'],
  none: ['不收费', 'Nothing charged'],
})

const TONES: Record<RequestAnswer['outcome'], Tone> = { ok: 'good', client: 'warn', upstream: 'bad' }

export const outcomeBadge = (outcome: RequestAnswer['outcome']): VNode => badge(TONES[outcome], w[outcome]())
/** How a request ended, and why where it did not end well: an answer with status 200 may have broken off. */
export const endedCell = ({ outcome, status, end }: Pick<RequestAnswer, 'outcome' | 'status' | 'end'>): Child => [
  outcomeBadge(outcome),
  span({ class: 'under' }, outcome === 'ok' ? status : `${status} · ${end === 'completed' ? w.refused() : w[end]()}`),
]
export const outcomeName = (outcome: RequestAnswer['outcome']): string => w[outcome]()
export const ENDS_IN_WORDS = [
  'completed',
  'client_gone',
  'upstream_error',
  'upstream_cut',
] as const satisfies RequestAnswer['end'][]
export const endName = (end: RequestAnswer['end']): string => w[end]()
export const basisName = (basis: RequestAnswer['basis']): string => w[basis]()

export const names = words({
  time: ['时间', 'Time'],
  key: ['密钥', 'Key'],
  model: ['模型', 'Model'],
  group: ['分组', 'Group'],
  protocol: ['协议', 'Protocol'],
  outcome: ['结果', 'Outcome'],
  status: ['状态码', 'Status'],
  charge: ['费用', 'Charge'],
  requests: ['请求数', 'Requests'],
  failed: ['失败', 'Failed'],
  input: ['输入', 'Input'],
  cacheRead: ['缓存读取', 'Cache read'],
  output: ['输出', 'Output'],
  firstByte: ['首字节', 'First byte'],
  duration: ['总时长', 'Duration'],
  all: ['全部', 'All'],
  deleted: ['已删除', 'deleted'],
})

/** The bound within which half of some times stayed; null = not known, or above the largest bound. */
export const within = (ms: number | null): string => (ms === null ? '–' : `≤ ${took(ms)}`)

/** Milliseconds as people read them. */
export const took = (ms: number | null): string =>
  ms === null ? '–' : ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
