/** What a person of an account sees first: the money, what was spent, what came last, and what to do next. */
import { z } from 'zod'
import { formatMicro, type Micro } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { HOUR_MS } from '../../base/zone.ts'
import type { Store } from '../../store/store.ts'
import type { AccountKeys } from '../../store/usage/queries.ts'
import { type BalanceDeps, balancesOf, shownBalance } from '../accounts/accounts.ts'
import { moneyOrNull, moneyText, wholeCount } from '../fields.ts'
import { ownRefusal, ownRow, refusalAnswer, requestAnswer } from './columns.ts'
import { type AccountReader, whoseKeys } from './scope.ts'
import { Usage, type UsageDeps, usageAnswer } from './usage.ts'

export const overviewAnswer = z
  .strictObject({
    zone: z.string(),
    balance: moneyText,
    held: moneyText,
    available: moneyText,
    low_balance: moneyText.nullable(),
    is_low: z.boolean(),
    spent: z.strictObject({ today: moneyText, month: moneyText, last_month_to_date: moneyText, week: moneyText }),
    days_left: wholeCount.nullable(),
    usage: usageAnswer,
    requests: z.array(requestAnswer).nullable(),
    failures: z
      .array(z.strictObject({ request: requestAnswer.nullable(), refusal: refusalAnswer.nullable() }))
      .nullable(),
    first_steps: z.strictObject({ money: z.boolean(), key: z.boolean(), request: z.boolean() }),
  })
  .meta({ id: 'Overview' })
export type OverviewAnswer = z.output<typeof overviewAnswer>

const LAST = 5
/** The most rows that a look at the newest failures reads. */
const LOOKED_AT = 10_000
const WEEK_DAYS = 7
const DAY_MS = 24 * HOUR_MS
const CHART = { by: 'day', stack: 'model' } as const

async function spentBetween(store: Store, { accountId, keyIds }: AccountKeys, fromMs: number, toMs: number) {
  const keys = keyIds === null ? {} : { keyIds }
  const [row] = await store.usage.summary({ accountId, ...keys, by: [], zone: store.zone, fromMs, toMs })
  return (row?.charge ?? 0) as Micro
}

/** Today, this month, and the last month up to the same day and hour. */
async function spending(store: Store, whose: AccountKeys, nowMs: number) {
  const { zone } = store
  const day = periodAt('day', nowMs, zone)
  const month = periodAt('month', nowMs, zone)
  const last = periodAt('month', month.beginMs - 1, zone)
  const toDate = Math.min(last.beginMs + (nowMs - month.beginMs), last.endMs)
  const [today, thisMonth, lastMonth, week] = await Promise.all([
    spentBetween(store, whose, day.beginMs, nowMs + 1),
    spentBetween(store, whose, month.beginMs, nowMs + 1),
    spentBetween(store, whose, last.beginMs, toDate),
    spentBetween(store, whose, nowMs - WEEK_DAYS * DAY_MS, nowMs + 1),
  ])
  return { today, thisMonth, lastMonth, week }
}

/** For how many days the money lasts at the rate of the last week; null = nothing was spent in it. */
const daysLeft = (available: Micro, week: Micro): number | null =>
  week <= 0 ? null : Math.max(0, Math.floor((available * WEEK_DAYS) / week))

/** The newest requests, and the newest of those that failed or were refused. */
async function lastOf(store: Store, whose: AccountKeys) {
  const [last, failed, refused] = await Promise.all([
    store.usage.requestPage(whose, { limit: LAST }),
    store.usage.requestPage({ ...whose, outcome: 'upstream' }, { limit: LAST, mostScanned: LOOKED_AT }),
    store.refusals.page(whose, { limit: LAST }),
  ])
  const rows = [...last.rows, ...failed.rows, ...refused.rows]
  const keyIds = rows.map(row => row.keyId)
  const labels = await store.keys.labels(whose.accountId, keyIds)
  const requests = last.rows.map(row => ownRow({ row, key: labels.get(row.keyId) }))
  const failures = [
    ...failed.rows.map(row => ({ request: ownRow({ row, key: labels.get(row.keyId) }), refusal: null })),
    ...refused.rows.map(row => ({ request: null, refusal: ownRefusal(row, labels.get(row.keyId)) })),
  ]
  const idOf = ({ request, refusal }: (typeof failures)[number]) => (request ?? refusal)!.request_id
  failures.sort((a, b) => (idOf(a) < idOf(b) ? 1 : -1))
  return { requests, failures: failures.slice(0, LAST) }
}

/** `single`: whether the reader may see single requests. */
export async function overview(
  deps: UsageDeps & BalanceDeps,
  reader: AccountReader,
  single: boolean,
): Promise<OverviewAnswer> {
  const { store, clock, fleet } = deps
  await fleet.settled()
  const { account } = reader
  const whose = await whoseKeys(store, reader, {})
  const nowMs = clock.now()
  const [balances, spend, usage, low, keys] = await Promise.all([
    balancesOf(deps, [account.id]),
    spending(store, whose, nowMs),
    new Usage(deps).own(reader, CHART),
    store.accounts.lowBalance(account.id),
    store.keys.page({ accountId: account.id, limit: 1 }),
  ])
  const money = balances(account.id)
  const last = single ? await lastOf(store, whose) : null
  const asked = last === null ? money.spent > 0 || usage.rows.length > 0 : last.requests.length > 0
  return {
    zone: store.zone,
    ...shownBalance(money),
    low_balance: moneyOrNull(low),
    is_low: low !== null && money.balance < low,
    spent: {
      today: formatMicro(spend.today),
      month: formatMicro(spend.thisMonth),
      last_month_to_date: formatMicro(spend.lastMonth),
      week: formatMicro(spend.week),
    },
    days_left: daysLeft(money.available, spend.week),
    usage,
    requests: last?.requests ?? null,
    failures: last?.failures ?? null,
    first_steps: { money: money.balance > 0 || money.spent > 0, key: keys.length > 0, request: asked },
  }
}
