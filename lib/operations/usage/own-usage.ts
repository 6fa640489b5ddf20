/**
 * What an account used in a period: a chart by day or hour in stacks, and a table with the same numbers. Both are read from
 * the sums of usage, so that they answer at once however many requests there were. The chart names the largest stacks and
 * adds the others up.
 */
import type { Micro } from '../../base/money.ts'
import { formatMicro } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { HOUR_MS, hourInZone } from '../../base/zone.ts'
import type { Store } from '../../store/store.ts'
import { type SummaryQuery, type SummaryRow, SummaryRefused } from '../../store/usage/queries.ts'
import type { OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import { present, type Stack, type TotalsQuery } from './filters.ts'
import { iso } from './own-shown.ts'
import { addUp, shownTotals, takeAway } from './totals-shown.ts'
import { type Reader, shownKey, whoseKeys } from './whose.ts'

export { STACKS, totalsQuery } from './filters.ts'
export type { Reader } from './whose.ts'

const CHARTED = 8
const TABLED = 100
const DEFAULT_DAYS = 30
const DAY_MS = 24 * HOUR_MS

export type UsageDeps = Pick<OperationDeps, 'store' | 'clock'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

/** The first hour and the hour behind the last, ms since 1970. */
export function periodOf(sent: Pick<TotalsQuery, 'by' | 'from' | 'to'>, zone: string, nowMs: number) {
  const to = Math.ceil((sent.to ?? nowMs + 1) / HOUR_MS) * HOUR_MS
  if (sent.from !== undefined) return { fromMs: Math.floor(sent.from / HOUR_MS) * HOUR_MS, toMs: to }
  const last = sent.by === 'hour' ? to - DAY_MS : periodAt('day', to - 1 - (DEFAULT_DAYS - 1) * DAY_MS, zone).beginMs
  return { fromMs: last, toMs: to }
}

/** What can be wrong with a zone is found before anything is read with it. */
function checkedZone(store: Pick<Store, 'zone'>, zone: string | undefined, atMs: number): string {
  const name = zone ?? store.zone
  try {
    periodAt('day', atMs, name)
    return name
  } catch {
    throw new OperationError('invalid', { zh: 'zone: 应为整小时时区', en: 'zone: expected a zone with whole hours' })
  }
}

const REFUSED: Record<SummaryRefused['what'], { zh: string; en: string }> = {
  zone: { zh: 'zone: 应为整小时时区', en: 'zone: expected a zone with whole hours' },
  rows: { zh: '结果过多,请缩小范围', en: 'the report is too large: choose less' },
  period: { zh: 'from: 时间范围过长', en: 'from: the period is too long' },
}

export function refused(error: unknown): never {
  throw error instanceof SummaryRefused ? new OperationError('invalid', REFUSED[error.what]) : error
}

/** Limits a report to some stacks. */
const among = (stack: Stack, values: readonly (string | number)[]): Partial<SummaryQuery> => {
  if (stack === 'key') return { keyIds: values as number[] }
  if (stack === 'protocol') return {} // there are few
  return stack === 'model' ? { models: values as string[] } : { groups: values as string[] }
}

export const byCharge = (a: SummaryRow, b: SummaryRow) => b.charge - a.charge || b.requests - a.requests

interface Bucket {
  at: string
  charge: number[]
  requests: number[]
}

/** The values of each bucket, in the order of the stacks; the last of them is what the others come to. */
function bucketsOf(
  stacked: readonly SummaryRow[],
  all: readonly SummaryRow[],
  stacks: readonly (string | number)[],
  by: 'day' | 'hour',
) {
  const buckets = new Map<string | number, Bucket>()
  for (const row of all) {
    const at = by === 'hour' ? hourInZone(row.by[0] as number, row.offset) : String(row.by[0])
    const none = stacks.map(() => 0)
    buckets.set(row.by[0]!, { at, charge: [...none, row.charge], requests: [...none, row.requests] })
  }
  for (const row of stacked) {
    const bucket = buckets.get(row.by[0]!)
    const place = stacks.indexOf(row.by[1]!)
    if (bucket === undefined || place === -1) continue
    for (const name of ['charge', 'requests'] as const) {
      bucket[name][place]! += row[name]
      bucket[name][stacks.length]! -= row[name]
    }
  }
  return [...buckets.values()].map(({ at, charge, requests }) => ({
    at,
    charge: charge.map(value => formatMicro(value as Micro)),
    requests,
  }))
}

/** What a stack is called. */
export async function namesOf(store: Store, accountId: number, stack: Stack, values: readonly (string | number)[]) {
  if (stack !== 'key') return (value: string | number) => ({ name: String(value), key: null })
  const labels = await store.keys.labels(accountId, values as number[])
  return (value: string | number) => {
    const key = shownKey(labels.get(value as number))
    return { name: key?.name ?? '', key }
  }
}

/** What reads sums of what is asked for. */
export async function readSums({ store, clock, fleet }: UsageDeps, reader: Reader, sent: TotalsQuery) {
  await fleet.settled()
  const { model, group, protocol, outcome } = sent
  const zone = checkedZone(store, sent.zone, clock.now())
  const { fromMs, toMs } = periodOf(sent, zone, clock.now())
  const { accountId, keyIds } = await whoseKeys(store, reader, sent)
  const asked = {
    ...present({ accountId, keyIds: keyIds ?? undefined, model, group, protocol, outcome, fromMs, toMs }),
    zone,
    attempts: 'without',
  } as const
  const read = (query: Pick<SummaryQuery, 'by'> & Partial<SummaryQuery>) =>
    store.usage.summary({ ...asked, ...query }).catch(refused)
  return { accountId, zone, fromMs, toMs, read }
}

/** What rows are about, one name each. */
export const stacksOf = (rows: readonly SummaryRow[]): (string | number)[] =>
  rows.map(row => row.by[0] as string | number)

/** Everything that the page of usage shows. */
export async function ownUsage(deps: UsageDeps, reader: Reader, sent: TotalsQuery) {
  const { store } = deps
  const { by, stack } = sent
  const { accountId, zone, fromMs, toMs, read } = await readSums(deps, reader, sent)
  const ranked = stacksOf((await read({ by: [stack], brief: true })).sort(byCharge))
  const [charted, tabled] = [ranked.slice(0, CHARTED), ranked.slice(0, TABLED)]
  const none = charted.length === 0
  const [rows, stacked] = await Promise.all([
    none ? [] : read({ by: [stack], firstBytes: true, ...among(stack, tabled) }),
    none ? [] : read({ by: [by, stack], brief: true, ...among(stack, charted) }),
  ])
  // Read after their parts: settlements go on meanwhile, and no part may be more than the whole.
  const [all, [whole]] = await Promise.all([read({ by: [by], brief: true }), read({ by: [], firstBytes: true })])
  const named = await namesOf(store, accountId, stack, tabled)
  const totals = addUp(whole === undefined ? [] : [whole])
  const others = ranked.length - tabled.length
  return {
    zone,
    from: iso(fromMs),
    to: iso(toMs),
    by,
    stack,
    totals: shownTotals(totals),
    chart: {
      stacks: charted.map(named),
      others: ranked.length > CHARTED,
      buckets: bucketsOf(stacked, all, charted, by),
    },
    rows: rows.sort(byCharge).map(row => ({ ...named(row.by[0] as string | number), ...shownTotals(addUp([row])) })),
    rest: others === 0 ? null : { stacks: others, ...shownTotals(takeAway(totals, addUp(rows))) },
  }
}
