/**
 * What was used in a period. People see a chart by day or hour in stacks, a table with the same numbers, and the overview of
 * their account; operators see sums by whatever they like. All are read from the sums of usage, so that they answer at once
 * however many requests there were. The chart names the largest stacks and adds the others up.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { DAY_MS, HOUR_MS, iso } from '../../base/clock.ts'
import { z } from 'zod'
import { ERRORS, type ErrorName } from '../../base/errors.ts'
import { type Micro, formatMicro } from '../../base/money.ts'
import type { Language } from '../../base/people.ts'
import { periodAt } from '../../base/periods.ts'
import { hourInZone, offsetHours } from '../../base/zone.ts'
import type { Store } from '../../store/store.ts'
import { type AccountKeys, type SummaryQuery, SummaryRefused, type SummaryRow } from '../../store/usage/queries.ts'
import { CLIENT_PROTOCOLS, type Protocol } from '../../protocols/names.ts'
import { type BalanceDeps, balancesOf, shownBalance } from '../accounts/accounts.ts'
import { type CsvColumn, CsvTable, forPeople, pagesOf } from '../csv.ts'
import type { OperationDeps } from '../deps.ts'
import { OperationError, type Words, both } from '../error.ts'
import { bothWords, idText, keyLabel, moneyOrNull, moneyText, timeText, wholeCount } from '../fields.ts'
import { namesOfAccounts } from '../lookups.ts'
import { type Sent, read } from '../read.ts'
import { ownRefusal, ownRow, refusalAnswer, requestAnswer, shownKey } from './columns.ts'
import {
  type ChoicesQuery,
  STACKS,
  type Stack,
  type TotalsFileQuery,
  type TotalsQuery,
  summaryFilter,
  toOperatorsFilter,
  type AccountReader,
  whoseKeys,
} from './filters.ts'
import {
  TOTAL_HEADS,
  type TotalsAnswer,
  addUp,
  operatorsTotals,
  ownTotals,
  sortedTotals,
  takeAway,
  totalFields,
} from './totals.ts'
import { REASONS } from './words.ts'

export { choicesQuery, STACKS, totalsFileQuery, totalsQuery } from './filters.ts'

const stackName = { name: z.string(), key: keyLabel.nullable() }
export const usageAnswer = z
  .strictObject({
    zone: z.string(),
    from: timeText,
    to: timeText,
    by: z.enum(['day', 'hour']),
    stack: z.enum(STACKS),
    totals: z.strictObject(totalFields).meta({ id: 'UsageTotals' }),
    chart: z.strictObject({
      stacks: z.array(z.strictObject(stackName)),
      others: z.boolean(),
      buckets: z.array(z.strictObject({ at: z.string(), charge: z.array(moneyText), requests: z.array(z.int()) })),
    }),
    rows: z.array(z.strictObject({ ...stackName, ...totalFields })),
    rest: z.strictObject({ stacks: wholeCount, ...totalFields }).nullable(),
  })
  .meta({ id: 'Usage' })
export type UsageAnswer = z.output<typeof usageAnswer>

export const choicesAnswer = z
  .strictObject({
    keys: z.array(keyLabel),
    /** Whether more keys were used than are listed. */
    more_keys: z.boolean(),
    models: z.array(z.string()),
    groups: z.array(z.string()),
    protocols: z.array(z.enum(CLIENT_PROTOCOLS)),
    members: z.array(z.strictObject({ id: idText, name: z.string() })).nullable(),
    reasons: z.array(z.strictObject({ name: z.string(), why: bothWords })),
  })
  .meta({ id: 'UsageChoices' })
export type ChoicesAnswer = z.output<typeof choicesAnswer>

const CHARTED = 8
const TABLED = 100
const DEFAULT_DAYS = 30
const SLICE = 500
/** Lists longer than that are no choice. */
const MOST_CHOICES = 200

const ZONE_WORDS = both('zone: 应为整小时时区', 'zone: expected a zone with whole hours')
/** What the store refuses, as people read it, and the field that operators sent. */
const REFUSED: Record<SummaryRefused['what'], [words: Words, field: string]> = {
  zone: [ZONE_WORDS, 'zone'],
  rows: [both('结果过多，请缩小范围', 'the report is too large: choose less'), 'by'],
  period: [both('from: 时间范围过长', 'from: the period is too long'), 'from'],
}

/** The first hour and the hour behind the last, ms since 1970. */
function hoursOf(sent: Pick<TotalsQuery, 'by' | 'from' | 'to'>, zone: string, nowMs: number) {
  const to = Math.ceil((sent.to ?? nowMs + 1) / HOUR_MS) * HOUR_MS
  if (sent.from !== undefined) return { fromMs: Math.floor(sent.from / HOUR_MS) * HOUR_MS, toMs: to }
  const last = sent.by === 'hour' ? to - DAY_MS : periodAt('day', to - 1 - (DEFAULT_DAYS - 1) * DAY_MS, zone).beginMs
  return { fromMs: last, toMs: to }
}

/** Finds what is wrong with a zone before anything is read with it. */
function checkedZone(store: Pick<Store, 'zone'>, zone: string | undefined, atMs: number): string {
  const name = zone ?? store.zone
  try {
    periodAt('day', atMs, name)
    return name
  } catch {
    throw new OperationError('invalid', ZONE_WORDS)
  }
}

function refused(error: unknown): never {
  throw error instanceof SummaryRefused ? new OperationError('invalid', REFUSED[error.what][0]) : error
}

/** Limits a report to some stacks. */
const among = (stack: Stack, values: readonly (string | number)[]): Partial<SummaryQuery> => {
  if (stack === 'key') return { keyIds: values as number[] }
  if (stack === 'protocol') return {} // there are few
  return stack === 'model' ? { models: values as string[] } : { groups: values as string[] }
}

const byCharge = (a: SummaryRow, b: SummaryRow) => b.charge - a.charge || b.requests - a.requests

/** The names of the stacks that rows are about. */
const stacksOf = (rows: readonly SummaryRow[]): (string | number)[] => rows.map(row => row.by[0] as string | number)

export type UsageDeps = Pick<OperationDeps, 'store' | 'clock'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

export class UsageSums {
  readonly #deps: UsageDeps

  constructor(deps: UsageDeps) {
    this.#deps = deps
  }

  /** For operators: sums over all accounts, or what they filter by. */
  async summary(sent: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account: name, by, zone = store.zone, sort, ...filter } = read(summaryFilter, sent)
    const account = name === undefined ? undefined : await store.accounts.byName(name)
    if (account === null) return { data: [] }
    const rows = await store.usage.summary({ ...toOperatorsFilter(filter, account?.id), by, zone }).catch(refusedField)
    const accountAt = by.indexOf('account')
    const accountIds = accountAt === -1 ? [] : rows.map(row => row.by[accountAt] as number)
    const names = await namesOfAccounts(store, accountIds)
    const data = rows.map(row => operatorsTotals(by, row, names))
    return { data: sort === undefined ? data : sortedTotals(data, sort) }
  }

  /** For people: everything that the page of usage shows. */
  async own(reader: AccountReader, sent: TotalsQuery): Promise<UsageAnswer> {
    const { by, stack } = sent
    const { accountId, zone, fromMs, toMs, sums, largest } = await this.#reads(reader, sent)
    const { values: tabled, count } = await largest(stack, TABLED)
    const charted = tabled.slice(0, CHARTED)
    const none = charted.length === 0
    const [rows, stacked] = await Promise.all([
      none ? [] : sums({ by: [stack], firstBytes: true, ...among(stack, tabled) }),
      none ? [] : sums({ by: [by, stack], brief: true, ...among(stack, charted) }),
    ])
    // Read after their parts: settlements go on meanwhile, and no part may be more than the whole.
    const [all, [whole]] = await Promise.all([sums({ by: [by], brief: true }), sums({ by: [], firstBytes: true })])
    const named = await this.#namesOf(accountId, stack, tabled)
    const totals = addUp(whole === undefined ? [] : [whole])
    const others = count - tabled.length
    return {
      zone,
      from: iso(fromMs),
      to: iso(toMs),
      by,
      stack,
      totals: ownTotals(totals),
      chart: {
        stacks: charted.map(named),
        others: count > CHARTED,
        buckets: bucketsOf(stacked, all, charted, by),
      },
      rows: rows.sort(byCharge).map(row => ({ ...named(row.by[0] as string | number), ...ownTotals(addUp([row])) })),
      rest: others === 0 ? null : { stacks: others, ...ownTotals(takeAway(totals, addUp(rows))) },
    }
  }

  /**
   * The table of usage as a CSV file, piece by piece: a line for each stack, also for those that the page has no room for.
   * What is wrong with the question is refused before anything is sent.
   */
  async file(reader: AccountReader, sent: TotalsFileQuery, language: Language): Promise<AsyncGenerator<string>> {
    const { heads, ...rest } = sent
    const { stack } = sent
    const { accountId, sums } = await this.#reads(reader, { ...rest, by: 'day' })
    const stacks = (await sums({ by: [stack], firstBytes: true })).sort(byCharge)
    const table = new CsvTable(columnsOf(stack), forPeople(heads, language))
    const namesOf = (names: (string | number)[]) => this.#namesOf(accountId, stack, names)
    return table.file(
      pagesOf(async (at: number | null) => {
        const [from, end] = [at ?? 0, (at ?? 0) + SLICE]
        const slice = stacks.slice(from, end)
        const names = stacksOf(slice)
        const named = await namesOf(names)
        const rows = slice.map((row, i) => ({ ...named(names[i]!), ...ownTotals(addUp([row])) }))
        return { rows, next: end < stacks.length ? end : null }
      }),
    )
  }

  /**
   * What usage can be filtered by: the keys, models, groups and protocols that were used in a period, largest charge first,
   * and the members of the account. `seesMembers`: whether the reader may know who is a member.
   */
  async choices(reader: AccountReader, sent: ChoicesQuery, seesMembers: boolean): Promise<ChoicesAnswer> {
    const { largest } = await this.#reads(reader, { from: sent.from, to: sent.to, by: 'day' })
    const used = async (by: Stack) => (await largest(by, MOST_CHOICES)).values.map(String)
    const [keys, models, groups, protocols] = await Promise.all([
      largest('key', MOST_CHOICES),
      used('model'),
      used('group'),
      used('protocol'),
    ])
    return {
      keys: await this.#choiceOfKeys(reader, keys.values as number[], sent.key),
      more_keys: keys.count > MOST_CHOICES,
      models,
      groups,
      protocols: CLIENT_PROTOCOLS.filter(name => protocols.includes(name)) as Protocol[],
      members: seesMembers ? await this.#members(reader) : null,
      reasons: (Object.keys(ERRORS) as ErrorName[]).map(name => ({ name, why: REASONS[name].why })),
    }
  }

  /** `chosen`: the key that is filtered by already, which may not have been used in the period. */
  async #choiceOfKeys(reader: AccountReader, ids: readonly number[], chosen: string | undefined) {
    const { store } = this.#deps
    const own = chosen === undefined ? [] : ((await whoseKeys(store, reader, { key: chosen })).keyIds ?? [])
    const all = [...new Set([...own, ...ids])]
    const labels = await store.keys.labels(reader.account.id, all)
    return all.flatMap(id => shownKey(labels.get(id)) ?? [])
  }

  async #members({ account }: AccountReader) {
    const members = await this.#deps.store.people.members.page(account.id, { limit: MOST_CHOICES })
    return members.map(({ person }) => ({ id: person.publicId, name: person.name }))
  }

  async #namesOf(accountId: number, stack: Stack, values: readonly (string | number)[]) {
    if (stack !== 'key') return (value: string | number) => ({ name: String(value), key: null })
    const labels = await this.#deps.store.keys.labels(accountId, values as number[])
    return (value: string | number) => {
      const key = shownKey(labels.get(value as number))
      return { name: key?.name ?? '', key }
    }
  }

  /** `sums` reads sums of what is asked for, and of nothing that the reader may not see, and `largest` what is largest in them. */
  async #reads(reader: AccountReader, sent: Omit<TotalsQuery, 'stack'>) {
    const { store, clock, fleet } = this.#deps
    await fleet.settled()
    const { model, group, protocol, outcome } = sent
    const zone = checkedZone(store, sent.zone, clock.now())
    const { fromMs, toMs } = hoursOf(sent, zone, clock.now())
    const { accountId, keyIds } = await whoseKeys(store, reader, sent)
    const asked = {
      ...withoutUndefined({ accountId, keyIds: keyIds ?? undefined, model, group, protocol, outcome, fromMs, toMs }),
      zone,
      attempts: 'without',
    } as const
    const sums = (query: Pick<SummaryQuery, 'by'> & Partial<SummaryQuery>) =>
      store.usage.summary({ ...asked, ...query }).catch(refused)
    const largest = (by: Stack, limit: number) => store.usage.largest({ ...asked, by: [by] }, limit).catch(refused)
    return { accountId, zone, fromMs, toMs, sums, largest }
  }
}

function refusedField(error: unknown): never {
  throw error instanceof SummaryRefused
    ? new OperationError('invalid', `${REFUSED[error.what][1]}: ${error.message}`)
    : error
}

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

const STACK_HEADS: Record<Stack, Words> = {
  model: both('模型', 'Model'),
  key: both('密钥', 'Key'),
  group: both('分组', 'Group'),
  protocol: both('协议', 'Protocol'),
}

type Row = TotalsAnswer & z.output<z.ZodObject<typeof stackName>>

const columnsOf = (stack: Stack): CsvColumn<Row>[] => [
  { name: stack, head: STACK_HEADS[stack], foreign: true, value: ({ name }) => name },
  ...(stack === 'key'
    ? [{ name: 'key_id', head: both('密钥编号', 'Key id'), value: ({ key }: Row) => key?.id ?? null }]
    : []),
  ...TOTAL_HEADS.map(([name, head]) => ({ name, head, value: (row: Row) => row[name] })),
]

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
    /** The days whose rate that is. */
    rate_days: wholeCount.nullable(),
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
const LONGEST_DAYS = 365
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

/**
 * For how many days the money lasts at the rate of the last week, or of the days since the account was first used. Nothing is said
 * after less than a day, or where it is more than a year, because then the rate tells nothing.
 */
function lasting(available: Micro, week: Micro, firstDay: string | undefined, { zone }: Store, nowMs: number) {
  const none = { days_left: null, rate_days: null }
  if (firstDay === undefined || week <= 0) return none
  const localMs = nowMs + (offsetHours(zone, nowMs) ?? 0) * HOUR_MS
  const days = Math.min(WEEK_DAYS, (localMs - Date.parse(firstDay)) / DAY_MS)
  const left = Math.max(0, Math.floor((available * days) / week))
  return days < 1 || left > LONGEST_DAYS ? none : { days_left: left, rate_days: Math.floor(days) }
}

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
export async function ownOverview(
  deps: UsageDeps & BalanceDeps,
  reader: AccountReader,
  single: boolean,
): Promise<OverviewAnswer> {
  const { store, clock, fleet } = deps
  await fleet.settled()
  const { account } = reader
  const whose = await whoseKeys(store, reader, {})
  const nowMs = clock.now()
  // before the sums: settlements go on meanwhile, and a request that is shown must be in them
  const last = single ? await lastOf(store, whose) : null
  const [balances, spend, usage, low, keys] = await Promise.all([
    balancesOf(deps, [account.id]),
    spending(store, whose, nowMs),
    new UsageSums(deps).own(reader, CHART),
    store.accounts.lowBalance(account.id),
    store.keys.page({ accountId: account.id, limit: 1 }),
  ])
  const money = balances(account.id)
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
    ...lasting(money.available, spend.week, usage.chart.buckets[0]?.at, store, nowMs),
    usage,
    requests: last?.requests ?? null,
    failures: last?.failures ?? null,
    first_steps: { money: money.balance > 0 || money.spent > 0, key: keys.length > 0, request: asked },
  }
}
