/** How the facts of a key are shown, in the list and in its dialog. */
import type { VNode } from 'preact'
import { type Child, div, meter, span } from '../../base/element.ts'
import { money } from '../../base/money.ts'
import { badge, type Tone } from '../../parts/badge.ts'
import type { Key } from '../../base/shapes.ts'
import { moment, stamp } from '../../base/time.ts'
import { words } from '../../base/words.ts'

export const stateName = words({
  enabled: ['可用', 'Enabled'],
  disabled: ['已停用', 'Disabled'],
  expired: ['已过期', 'Expired'],
  used_up: ['额度已用尽', 'Cap used up'],
  ip_bound: ['限 IP', 'IP-bound'],
  model_bound: ['限模型', 'Model-bound'],
})

export const everyName = words({
  once: ['总计', 'In all'],
  day: ['每天', 'Each day'],
  week: ['每周', 'Each week'],
  month: ['每月', 'Each month'],
})

const w = words({
  locked: ['名单为空，无法使用', 'Locked by an empty list'],
  used: ['已用额度', 'Share of the cap that is used'],
  noCap: ['不限额', 'No cap'],
  renews: [(at: string) => `${at} 重置`, (at: string) => `Renews at ${at}`],
  never: ['从未', 'Never'],
  forever: ['永久', 'Never'],
})

const TONES: Record<Key['state'], Tone> = { enabled: 'good', disabled: 'plain', expired: 'bad', used_up: 'bad' }

/** Whether an empty list lets nobody use it. */
const isLocked = ({ restricted, models, allow_ips }: Pick<Key, 'restricted' | 'models' | 'allow_ips'>): boolean =>
  (restricted && models.length === 0) || allow_ips?.length === 0

export const stateBadges = (key: Key): VNode =>
  div(
    { class: 'row' },
    badge(TONES[key.state], stateName[key.state]()),
    isLocked(key) && badge('warn', w.locked()),
    key.allow_ips !== null && badge('plain', stateName.ip_bound()),
    key.restricted && badge('plain', stateName.model_bound()),
  )

export function usedOf({ cap, used, used_period, renews_at }: Key): Child {
  if (cap === null) return [span({}, money(used)), span({ class: 'under' }, w.noCap())]
  const counted = used_period ?? used
  const most = Number(cap.amount)
  // a cap of 0 is used up from the beginning
  const share = most === 0 ? 1 : Math.min(1, Number(counted) / most)
  return div(
    { class: 'used' },
    span({}, money(counted), span({ class: 'soft' }, ' / ', money(cap.amount))),
    meter({ 'aria-label': w.used(), min: 0, max: 1, high: 0.9, optimum: 0, value: share }),
    span(
      { class: 'under' },
      cap.every === null
        ? everyName.once()
        : [everyName[cap.every](), renews_at !== null && ` · ${w.renews(stamp(renews_at, false))}`],
    ),
  )
}

export const lastUse = ({ last_used_at, last_used_from }: Key): Child =>
  last_used_at === null
    ? span({ class: 'soft' }, w.never())
    : [moment(last_used_at), last_used_from !== null && span({ class: 'under' }, last_used_from)]

export const expiry = ({ expires_at }: Key): Child =>
  expires_at === null ? span({ class: 'soft' }, w.forever()) : moment(expires_at)
