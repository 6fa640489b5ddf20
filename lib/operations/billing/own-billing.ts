/** The ledger and the statements of an account, and the balance of which its people want to be warned. */
import { z } from 'zod'
import { formatMicro, type Micro, micro, parseMicro, subtract, ZERO } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { hourInZone, offsetHours } from '../../base/zone.ts'
import type { SummaryRow } from '../../store/store.ts'
import * as kind from '../../config/scalars.ts'
import type { Act, Language } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { type BalanceDeps, balanceOf } from '../accounts/accounts.ts'
import { bookLines, cursorOf, formatCursor, readCursor, readDay, showLine } from './entries.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { type Column, csvEnd, csvHead, csvLines, type Heads } from '../csv.ts'
import { iso } from '../fields.ts'
import { monthName, readStatement } from './statement.ts'

export type BillingDeps = BalanceDeps & Pick<OperationDeps, 'store' | 'clock' | 'fleet'>

const DAY_WORDS = { zh: '日期,例如“2030-01-31”,或时间', en: 'a day like "2030-01-31", or a time' }
const PAGE_LINES = 50
const MOST_LINES = 200
const PAGE_MONTHS = 12
/** A month is closed a little after its end, as for statements. */
const CLOSED_AFTER_MS = 600_000

export const entriesQuery = z.strictObject({
  from: kind.scalar(DAY_WORDS, { type: 'string' }, readDay).optional(),
  to: kind.scalar(DAY_WORDS, { type: 'string' }, readDay).optional(),
  limit: kind.whole(1, MOST_LINES).prefault(PAGE_LINES),
  after: kind
    .scalar({ zh: '另一页的next', en: 'the `next` of another page' }, { type: 'string' }, readCursor)
    .optional(),
})
export const monthsQuery = z.strictObject({ after: monthName.optional() })
export const statementFileQuery = z.strictObject({ heads: kind.oneOf('words', 'machine').prefault('words') })
export const lowBalanceBody = z.strictObject({
  amount: kind
    .scalar(
      { zh: '不小于0的金额,最多6位小数', en: 'an amount of CNY, 0 or more, with at most 6 decimal places' },
      { type: 'string' },
      (value): Micro | undefined => {
        const amount = typeof value === 'string' ? parseMicro(value) : null
        return amount === null || amount < 0 ? undefined : amount
      },
    )
    .nullable(),
})

type Shown = ReturnType<typeof showLine>

/** Who of the operators booked an entry, and how many entries the gateway has, is not told. */
const ofAccount = ({ seq: _, actor: __, ...line }: Shown) => line

/** One page of the ledger, newest first, with the balance after each line. */
export async function ownEntries(
  { store, clock, fleet }: BillingDeps,
  account: Account,
  sent: z.output<typeof entriesQuery>,
) {
  await fleet.settled()
  const { zone } = store
  const { from, to, limit, after } = sent
  const end = to?.(zone)
  const toMs = end === undefined ? Number.MAX_SAFE_INTEGER : end.given === end.beginMs ? end.beginMs : end.endMs
  const range = { fromMs: from?.(zone).beginMs ?? 0, toMs }
  const { lines } = await bookLines(store, zone, account.id, range, limit, after)
  return {
    zone,
    data: lines.map(line => ofAccount(showLine(line, clock.now()))),
    next: lines.length === limit ? formatCursor(cursorOf(lines.at(-1)!, zone)) : null,
  }
}

export async function ownBalance(deps: BillingDeps, account: Account) {
  await deps.fleet.settled()
  const { balance, held, available } = await balanceOf(deps, account.id)
  const low = await deps.store.lowBalance(account.id)
  return {
    balance: formatMicro(balance),
    held: formatMicro(held),
    available: formatMicro(available),
    low_balance: low === null ? null : formatMicro(low),
  }
}

export async function setLowBalance({ store }: BillingDeps, account: Account, amount: Micro | null, act: Act) {
  await store.setLowBalance(account.id, amount, act)
  return { low_balance: amount === null ? null : formatMicro(amount) }
}

const monthAt = (atMs: number, zone: string) => periodAt('month', atMs, zone)
const nameOf = (beginMs: number, zone: string) => hourInZone(beginMs, offsetHours(zone, beginMs) ?? 0).slice(0, 7)

/** The months that have a statement, newest first. */
export async function ownMonths({ store, clock, fleet }: BillingDeps, account: Account, after: string | undefined) {
  await fleet.settled()
  const { zone } = store
  const nowMs = await storeNow({ store, clock })
  const sinceMs = (await store.firstBookedMs(account.id)) ?? nowMs
  const last = after === undefined ? nowMs : monthAt(Date.parse(`${after}-15`), zone).beginMs - 1
  const data = []
  let { beginMs, endMs } = monthAt(Math.min(last, nowMs), zone)
  for (; endMs > sinceMs && data.length < PAGE_MONTHS; { beginMs, endMs } = monthAt(beginMs - 1, zone)) {
    const balanceAt = async (atMs: number) =>
      formatMicro((await store.book(account.id, { fromMs: atMs, toMs: atMs, limit: 1 })).balance)
    data.push({
      month: nameOf(beginMs, zone),
      from: iso(beginMs),
      to: iso(endMs),
      closed: nowMs >= endMs + CLOSED_AFTER_MS,
      opening: await balanceAt(beginMs),
      closing: await balanceAt(endMs),
    })
  }
  return { zone, data, next: endMs > sinceMs ? (data.at(-1)?.month ?? null) : null }
}

/** The charges of a month by model. They go by the arrival of requests; `shifted` is what was booked in another month. */
async function chargesByModel({ store }: BillingDeps, accountId: number, fromMs: number, toMs: number, charges: Micro) {
  const rows = await store.summary({ accountId, by: ['model'], zone: store.zone, fromMs, toMs, attempts: 'without' })
  const arrived = micro(rows.reduce((sum, row) => sum + row.charge, 0))
  const models = rows.sort((a, b) => b.charge - a.charge).map(row => ({ model: String(row.by[0]), ...briefly(row) }))
  return { models, shifted: formatMicro(subtract(charges, arrived)) }
}

function briefly({ requests, input, cache_read, cache_write_5m, cache_write_1h, output, charge }: SummaryRow) {
  return { requests, input, cache_read, cache_write_5m, cache_write_1h, output, charge: formatMicro(charge as Micro) }
}

export async function ownStatement(deps: BillingDeps, account: Account, month: string) {
  const { statement } = await readStatement(deps, account.name, { month })
  const sumOf = (fits: (line: Shown) => boolean) =>
    micro(statement.lines.filter(fits).reduce((sum, { amount }) => sum + (parseMicro(amount) ?? ZERO), 0))
  const charges = subtract(
    ZERO,
    sumOf(line => line.kind === 'charges'),
  )
  const { models, shifted } = await chargesByModel(
    deps,
    account.id,
    Date.parse(statement.from),
    Date.parse(statement.to),
    charges,
  )
  return {
    ...statement,
    lines: statement.lines.map(ofAccount),
    credits: formatMicro(sumOf(line => line.kind !== 'charges')),
    charges: formatMicro(charges),
    models,
    shifted,
  }
}

type Line = Partial<Record<'booked_at' | 'kind' | 'reference' | 'amount' | 'balance' | 'note', string | null>>
const COLUMNS: readonly Column<Line>[] = [
  { name: 'booked_at', head: { zh: '时间(UTC)', en: 'Time (UTC)' }, value: line => line.booked_at ?? null },
  { name: 'kind', head: { zh: '类型', en: 'Kind' }, value: line => line.kind ?? null },
  { name: 'reference', head: { zh: '参考号', en: 'Reference' }, foreign: true, value: line => line.reference ?? null },
  { name: 'amount', head: { zh: '金额(元)', en: 'Amount (CNY)' }, value: line => line.amount ?? null },
  { name: 'balance', head: { zh: '余额(元)', en: 'Balance (CNY)' }, value: line => line.balance ?? null },
  { name: 'note', head: { zh: '备注', en: 'Note' }, foreign: true, value: line => line.note ?? null },
]

/** The same as CSV. What is wrong with the question is refused before the first piece. */
export const ownStatementFile = async (
  deps: BillingDeps,
  account: Account,
  month: string,
  heads: Heads,
  language: Language,
): Promise<AsyncGenerator<string>> => statementFile(await ownStatement(deps, account, month), heads, language)

/** The opening balance, the lines, the closing balance. */
async function* statementFile(
  { from, to, opening, closing, lines }: Record<'from' | 'to' | 'opening' | 'closing', string> & { lines: Line[] },
  heads: Heads,
  language: Language,
): AsyncGenerator<string> {
  yield csvHead(COLUMNS, heads, language)
  yield csvLines(COLUMNS, [{ booked_at: from, balance: opening }, ...lines, { booked_at: to, balance: closing }])
  yield csvEnd(lines.length)
}
