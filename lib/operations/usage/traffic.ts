/**
 * What operators ask of refusals and of senders: which requests were refused and why, how many by whom, and who sends far more than
 * usual. Refusals of known keys are kept one by one, ten of a key and reason in a minute; all of them are counted by every process,
 * by the hour, and the counts added up here.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { HOUR_MS, MINUTE_MS, iso, isoOrNull } from '../../base/clock.ts'
import { formatMicro, type Micro } from '../../base/money.ts'
import { mergedTop, type TopTable } from '../../base/top-counts.ts'
import type { Store } from '../../store/store.ts'
import type { RefusedRequest } from '../../store/usage/queries.ts'
import { REFUSED_BY, type RefusedBy, SENDER_REASON, type TrafficHour } from '../../terms/traffic.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { accountNamed, namesOfAccounts } from '../lookups.ts'
import { type Sent, read } from '../read.ts'
import { operatorsRefusal } from './columns.ts'
import { refusalCountsFilter, refusalsFilter, sendersFilter } from './filters.ts'

type TrafficDeps = Pick<OperationDeps, 'store' | 'clock'>

const DAY_HOURS = 24
const KEPT_DAYS = 7

/** One page of the refusals that are kept, newest first. */
export async function refusedRequests({ store }: Pick<TrafficDeps, 'store'>, sent: Sent) {
  const { account, key, from: fromMs, to: toMs, limit, after, ...traits } = read(refusalsFilter, sent)
  const accountId = account === undefined ? undefined : (await accountNamed(store, account)).id
  const filter = {
    keyIds: key === undefined ? null : [key],
    ...withoutUndefined({ accountId, fromMs, toMs, ...traits }),
  }
  const { rows, next, scannedToMs } = await store.refusals.page(filter, { ...withoutUndefined({ after }), limit })
  return { data: await shown(store, rows), next, scanned_to: isoOrNull(scannedToMs) }
}

async function shown(store: Store, rows: readonly RefusedRequest[]) {
  const ids = rows.map(row => row.accountId)
  const names = await namesOfAccounts(store, ids)
  return rows.map(row => operatorsRefusal(row, names.get(row.accountId)).refused)
}

// --- counts

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

/** Totals by reason, the largest first. They are exact. */
function reasonsOf(hours: readonly TrafficHour[]): [reason: string, count: number][] {
  const totals = new Map<string, number>()
  for (const { traffic } of hours)
    for (const [reason, count] of Object.entries(traffic.refused)) totals.set(reason, (totals.get(reason) ?? 0) + count)
  return [...totals].sort((a, b) => b[1] - a[1])
}

/**
 * Refusals of whole hours, by reason, or by who was refused and why. `error`: by how much a count may be too large; `unnamed_most`:
 * how often one may have been refused at most that is not named.
 */
export async function refusalCounts({ store, clock }: TrafficDeps, sent: Sent) {
  const { by, from, to, account, key, address, reason, limit } = read(refusalCountsFilter, sent)
  const nowMs = await storeNow({ store, clock })
  const fromHour = Math.floor((from ?? nowMs - DAY_HOURS * HOUR_MS) / HOUR_MS)
  const toHour = Math.floor(((to ?? nowMs + 1) - 1) / HOUR_MS)
  const hours = await store.traffic.read(fromHour, toHour)
  const named = { account: account === undefined ? undefined : (await accountNamed(store, account)).id, key, address }
  const whose = REFUSED_BY.find(name => named[name] !== undefined)
  const wanted = by ?? whose ?? 'reason'
  const reasons = reasonsOf(hours).filter(([name]) => reason === undefined || name === reason)
  const answer = {
    from: iso(fromHour * HOUR_MS),
    to: iso((toHour + 1) * HOUR_MS),
    requests: sumOf(hours.map(({ traffic }) => traffic.requests)),
    refused: sumOf(reasons.map(([, count]) => count)),
  }
  if (wanted === 'reason' && whose === undefined) {
    const data = reasons.slice(0, limit).map(([name, count]) => ({ reason: name, count, error: 0 }))
    return { ...answer, unnamed_most: 0, data }
  }
  const dimension = wanted === 'reason' ? (whose as RefusedBy) : wanted
  const top = mergedTop(hours.map(({ traffic }) => traffic.by[dimension]))
  const rows = top.rows
    .map(([name, count, error]) => {
      const end = name.lastIndexOf(SENDER_REASON)
      return { who: name.slice(0, end), reason: name.slice(end + 1), count, error }
    })
    .filter(row => reason === undefined || row.reason === reason)
    .filter(({ who }) => named[dimension] === undefined || who === String(named[dimension]))
    .slice(0, limit)
  return { ...answer, unnamed_most: top.floor, data: await withNames(store, dimension, rows) }
}

async function withNames<T extends { who: string }>(store: Store, by: RefusedBy, rows: readonly T[]) {
  const names =
    by === 'account'
      ? await namesOfAccounts(
          store,
          rows.map(({ who }) => Number(who)),
        )
      : null
  return rows.map(({ who, ...row }) => {
    if (by === 'address') return { address: who, ...row }
    return by === 'key' ? { key: Number(who), ...row } : { account: names?.get(Number(who)) ?? `#${who}`, ...row }
  })
}

/** What is known of a request of which nothing is kept: how many were refused in its hour, and why. */
export async function refusedBeside({ store }: Pick<TrafficDeps, 'store'>, atMs: number): Promise<string> {
  const hour = Math.floor(atMs / HOUR_MS)
  const reasons = reasonsOf(await store.traffic.read(hour, hour))
  const all = sumOf(reasons.map(([, count]) => count))
  const at = iso(atMs)
  if (all === 0) return `it would have come at ${at}, in an hour of which no refusal is counted`
  const listed = reasons.map(([reason, count]) => `${reason} ${count}`).join(', ')
  return `if it came, at ${at}, it was refused and is not kept: of a key and reason ten a minute are, of unknown keys none. In that hour ${all} were refused: ${listed}`
}

// --- senders

/** Two hours at most count as the present: the one under way, and the one before it. */
const PRESENT_HOURS = 2

interface Rates {
  requests: number
  refused: number
  charge: number
}

interface SenderRow {
  who: string
  /** A minute. */
  now: Rates
  /** A minute, of the days or hours of the past in which it sent anything; null = it sent nothing. */
  usual: Rates | null
}

const rounded = (rate: number): number => Math.round(rate * 100) / 100
const loadOf = ({ requests, refused }: Rates): number => requests + refused
const aboveOf = ({ now, usual }: SenderRow): number => loadOf(now) - (usual === null ? 0 : loadOf(usual))

/** Who sends more than usual: the largest excess first. All figures are of a minute. */
export async function busiestSenders({ store, clock }: TrafficDeps, sent: Sent) {
  const { by, limit } = read(sendersFilter, sent)
  const nowMs = await storeNow({ store, clock })
  const hour = Math.floor(nowMs / HOUR_MS)
  const presentHour = hour - PRESENT_HOURS + 1
  const all = await store.traffic.read(hour - KEPT_DAYS * DAY_HOURS, hour)
  const past = all.filter(one => one.hour < presentHour)
  const present = all.filter(one => one.hour >= presentHour)
  const minutes = Math.max(1, (nowMs - presentHour * HOUR_MS) / MINUTE_MS)
  const rows =
    by === 'address'
      ? sendersByAddress(present, past, minutes)
      : await sendersByRow(store, by, { present, past, minutes, nowMs, nowFromMs: presentHour * HOUR_MS })
  rows.sort((a, b) => aboveOf(b) - aboveOf(a))
  const named = await withNames(store, by, rows.slice(0, limit))
  return {
    from: iso(presentHour * HOUR_MS),
    data: named.map(({ now, usual, ...who }) => ({ ...who, ...figures(now, usual) })),
  }
}

function figures(now: Rates, usual: Rates | null) {
  const before = usual === null ? 0 : loadOf(usual)
  return {
    requests: rounded(now.requests),
    requests_usual: usual === null ? null : rounded(usual.requests),
    refused: rounded(now.refused),
    refused_usual: usual === null ? null : rounded(usual.refused),
    charge: formatMicro(Math.round(now.charge) as Micro),
    charge_usual: usual === null ? null : formatMicro(Math.round(usual.charge) as Micro),
    times: before === 0 ? null : rounded(loadOf(now) / before),
  }
}

const HOUR_MINUTES = HOUR_MS / MINUTE_MS

interface Mean {
  sum: number
  hours: number
}

/** By name: what it counted in all, and in how many hours it was named. */
function meansOf(tables: readonly TopTable[], nameOf: (name: string) => string): Map<string, Mean> {
  const means = new Map<string, Mean>()
  for (const { rows } of tables) {
    const inHour = new Map<string, number>()
    for (const [name, count] of rows) inHour.set(nameOf(name), (inHour.get(nameOf(name)) ?? 0) + count)
    for (const [name, count] of inHour) {
      const mean = means.get(name) ?? { sum: 0, hours: 0 }
      means.set(name, { sum: mean.sum + count, hours: mean.hours + 1 })
    }
  }
  return means
}

const whole = (name: string): string => name
const withoutReason = (name: string): string => name.slice(0, name.lastIndexOf(SENDER_REASON))

/** Tables of all processes by the hour. */
function byHour(hours: readonly TrafficHour[], tableOf: (hour: TrafficHour) => TopTable): TopTable[] {
  const of = Map.groupBy(hours, ({ hour }) => hour)
  return [...of.values()].map(same => mergedTop(same.map(tableOf)))
}

const rateOf = (means: ReadonlyMap<string, Mean>, name: string): number => {
  const mean = means.get(name)
  return mean === undefined ? 0 : mean.sum / mean.hours / HOUR_MINUTES
}

/** Refusals a minute, of the present and of the hours of the past. */
function refusedRates(by: RefusedBy, present: readonly TrafficHour[], past: readonly TrafficHour[], minutes: number) {
  const now = meansOf([mergedTop(present.map(({ traffic }) => traffic.by[by]))], withoutReason)
  const usual = meansOf(
    byHour(past, ({ traffic }) => traffic.by[by]),
    withoutReason,
  )
  return {
    names: [...now.keys()],
    now: (name: string) => (now.get(name)?.sum ?? 0) / minutes,
    usual: (name: string) => rateOf(usual, name),
    known: (name: string) => usual.has(name),
  }
}

/** Addresses have no rows in the books, so that all is known of them by the counts. Their requests are those refused, too. */
function sendersByAddress(present: readonly TrafficHour[], past: readonly TrafficHour[], minutes: number): SenderRow[] {
  const refused = refusedRates('address', present, past, minutes)
  const senders = mergedTop(present.map(({ traffic }) => traffic.senders))
  const usual = meansOf(
    byHour(past, ({ traffic }) => traffic.senders),
    whole,
  )
  const ratesOf = (all: number, ofThem: number): Rates => ({
    requests: Math.max(0, all - ofThem),
    refused: ofThem,
    charge: 0,
  })
  return senders.rows.map(([who, count, error]) => ({
    who,
    now: ratesOf((count - error) / minutes, refused.now(who)),
    usual: usual.has(who) ? ratesOf(rateOf(usual, who), refused.usual(who)) : null,
  }))
}

interface Window {
  present: readonly TrafficHour[]
  past: readonly TrafficHour[]
  minutes: number
  nowMs: number
  nowFromMs: number
}

async function sendersByRow(store: Store, by: 'account' | 'key', window: Window): Promise<SenderRow[]> {
  const { present, past, minutes, nowMs, nowFromMs } = window
  const refused = refusedRates(by, present, past, minutes)
  const found = await store.usage.senders({ by, nowMs, nowFromMs, days: KEPT_DAYS })
  const rows = found.map(({ id, requests, charge, usual }): SenderRow => {
    const who = String(id)
    const dayMinutes = (usual?.days ?? 0) * DAY_HOURS * HOUR_MINUTES
    return {
      who,
      now: { requests: requests / minutes, refused: refused.now(who), charge: charge / minutes },
      usual:
        usual === null
          ? null
          : { requests: usual.requests / dayMinutes, refused: refused.usual(who), charge: usual.charge / dayMinutes },
    }
  })
  const known = new Set(rows.map(({ who }) => who))
  for (const who of refused.names) {
    if (known.has(who)) continue
    const usual = refused.known(who) ? { requests: 0, refused: refused.usual(who), charge: 0 } : null
    rows.push({ who, now: { requests: 0, refused: refused.now(who), charge: 0 }, usual })
  }
  return rows
}
