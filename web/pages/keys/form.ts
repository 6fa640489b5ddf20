/** The fields of a key: what is entered, and what is sent of it. */
import { type Signal, signal } from '@preact/signals'
import { get } from '../../base/ask.ts'
import { load } from '../../base/load.ts'
import { accountPath } from '../../base/session.ts'
import { enteredTime } from '../../base/time.ts'
import type { Key, OwnModels } from '../../base/shapes.ts'

export const DAYS = [7, 30, 90, 365] as const
const DAY_MS = 86_400_000

/** What is being entered. */
export interface Draft {
  name: Signal<string>
  group: Signal<string>
  /** `never`, `kept` (as it is), `date`, or a number of days. */
  life: Signal<string>
  /** The value of an input for date and time, in the zone of the page. */
  until: Signal<string>
  cap: Signal<string>
  /** '' = once for all. */
  every: Signal<string>
  bound: Signal<boolean>
  networks: Signal<string>
  restricted: Signal<boolean>
  models: Signal<ReadonlySet<string>>
  find: Signal<string>
  confirmed: Signal<boolean>
  offered: ReturnType<typeof load<OwnModels>>
}

/** A decimal as people write it. */
const plain = (decimal = ''): string => (decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal)

/** `key`: null = a new one. */
export function draftOf(key: Key | null, group: string): Draft {
  const chosen = signal(key?.group ?? group)
  return {
    name: signal(key?.name ?? ''),
    group: chosen,
    life: signal(key?.expires_at ? 'kept' : 'never'),
    until: signal(''),
    cap: signal(plain(key?.cap?.amount)),
    every: signal(key?.cap?.every ?? ''),
    bound: signal(key !== null && key.allow_ips !== null),
    networks: signal((key?.allow_ips ?? []).join('\n')),
    restricted: signal(key?.restricted ?? false),
    models: signal(new Set(key?.models ?? [])),
    find: signal(''),
    confirmed: signal(false),
    offered: load(() => get<OwnModels>(`${accountPath()}/models`, { group: chosen.value })),
  }
}

const networksOf = ({ networks }: Draft): string[] => networks.value.split(/[\s,，;；]+/).filter(Boolean)

/** The lists that would let nobody use the key. */
export const locks = (draft: Draft): ('allow_ips' | 'models')[] => [
  ...(draft.bound.value && networksOf(draft).length === 0 ? (['allow_ips'] as const) : []),
  ...(draft.restricted.value && draft.models.value.size === 0 ? (['models'] as const) : []),
]

function expiryOf({ life, until }: Draft, key: Key | null): string | null {
  if (life.value === 'never') return null
  if (life.value === 'kept') return key?.expires_at ?? null
  if (life.value === 'date') return enteredTime(until.value)
  return new Date(Date.now() + Number(life.value) * DAY_MS).toISOString()
}

type Cap = string | { amount: string; every: string } | null

const capOf = (amount: string, every: string): Cap => {
  if (amount === '') return null
  return every === '' ? amount : { amount, every }
}

/** The body of the call that makes a key. */
export function bodyOf(draft: Draft, key: Key | null): Record<string, unknown> {
  const { name, group, cap, every, bound, restricted, models } = draft
  return {
    name: name.value.trim(),
    group: group.value,
    expires_at: expiryOf(draft, key),
    cap: capOf(cap.value.trim(), every.value),
    allow_ips: bound.value ? networksOf(draft) : null,
    restricted: restricted.value,
    models: [...models.value],
    ...(locks(draft).length > 0 ? { confirm: true } : {}),
  }
}

/** The fields that differ from those of the key. */
export function changesOf(draft: Draft, key: Key): Record<string, unknown> {
  const before: Record<string, unknown> = { ...key, cap: capOf(plain(key.cap?.amount), key.cap?.every ?? '') }
  return Object.fromEntries(
    Object.entries(bodyOf(draft, key)).filter(
      ([field, value]) => JSON.stringify(before[field]) !== JSON.stringify(value),
    ),
  )
}
