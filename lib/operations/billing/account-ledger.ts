/**
 * An account's ledger as lines: its entries, and between them a line for the charges of each day. Charges belong to the
 * day on which they were booked, in the config's `zone`; their line stands after the last entry of that day. So the lines
 * of a day that has ended stay as they are for ever.
 */
import { HOUR_MS, iso } from '../../base/clock.ts'
import { z } from 'zod'
import { formatMicro, type Micro, subtract, ZERO } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { hourInZone, offsetHours } from '../../base/zone.ts'
import * as kind from '../../config/scalars.ts'
import type { Store } from '../../store/store.ts'
import type { BookPage, Entry } from '../../store/books/entries.ts'
import { moneyText, timeText } from '../fields.ts'

/** A day of the zone; ms since 1970, the end exclusive. */
interface Day {
  beginMs: number
  endMs: number
}

export type LedgerLine = (Entry | { kind: 'charges'; amount: Micro }) & { day: Day; balance: Micro }

/** The last line of a page: a day and, unless it is the line of that day's charges, the number of an entry. */
export interface LedgerCursor {
  day: string
  seq: number | null
}

const dayAt = (atMs: number, zone: string): Day => periodAt('day', atMs, zone)
const NOON_MS = 12 * HOUR_MS

/** `name` is a date that exists. */
function dayNamed(name: string, zone: string): Day {
  const noon = Date.parse(name) + NOON_MS
  return dayAt(noon - (offsetHours(zone, noon) ?? 0) * HOUR_MS, zone)
}

const nameOf = ({ beginMs }: Day, zone: string): string =>
  hourInZone(beginMs, offsetHours(zone, beginMs) ?? 0).slice(0, 10)

/** A date by itself, whose zone is known later. */
const isDate = (value: unknown): value is string =>
  typeof value === 'string' && value.length === 10 && kind.time.safeParse(value).success

/** A date, or a time within a day, as the day of the zone. */
function readDay(value: unknown): ((zone: string) => Day & { given: number }) | undefined {
  const time = kind.time.safeParse(value)
  if (!time.success) return
  return zone => {
    const day = isDate(value) ? dayNamed(value, zone) : dayAt(time.data, zone)
    return { ...day, given: isDate(value) ? day.beginMs : time.data }
  }
}

/** `2030-01-31` for the line of that day's charges, `2030-01-31.57` for entry 57, which was booked on that day. */
export const cursorOf = (line: LedgerLine, zone: string): LedgerCursor => ({
  day: nameOf(line.day, zone),
  seq: line.kind === 'charges' ? null : line.seq,
})

const formatCursor = ({ day, seq }: LedgerCursor): string => (seq === null ? day : `${day}.${seq}`)

function readCursor(value: unknown): LedgerCursor | undefined {
  const m = typeof value === 'string' ? /^(.{10})(?:\.(\d{1,15}))?$/.exec(value) : null
  const day = m?.[1]
  return isDate(day) ? { day, seq: m?.[2] === undefined ? null : Number(m[2]) } : undefined
}

const day = kind.scalar(
  { zh: '日期，例如“2030-01-31”，或时间', en: 'a day like "2030-01-31", or a time' },
  { type: 'string' },
  readDay,
)

/** What callers send to read a ledger, in pages of `lines` by default and at most `mostLines`. */
export const ledgerQuery = (lines: number, mostLines: number) =>
  z.strictObject({
    from: day.optional(),
    to: day.optional(),
    limit: kind.whole(1, mostLines).prefault(lines),
    after: kind
      .scalar({ zh: '另一页的next', en: 'the `next` of another page' }, { type: 'string' }, readCursor)
      .optional(),
  })
export type LedgerQuery = z.output<ReturnType<typeof ledgerQuery>>

/** One page of what was asked for, newest first. `next` is the `after` of the following page; null on the last page. */
export async function ledgerAnswer(
  store: Store,
  accountId: number,
  { from, to, limit, after }: LedgerQuery,
  nowMs: number,
) {
  const { zone } = store
  const end = to?.(zone)
  // The end of a range is exclusive. A time within a day means the end of that day.
  const toMs = end === undefined ? Number.MAX_SAFE_INTEGER : end.given === end.beginMs ? end.beginMs : end.endMs
  const { lines } = await ledgerPage(store, accountId, {
    fromMs: from?.(zone).beginMs ?? 0,
    toMs,
    limit,
    after: after ?? null,
  })
  const next = lines.length === limit ? formatCursor(cursorOf(lines.at(-1)!, zone)) : null
  return { data: lines.map(line => ledgerRow(line, nowMs)), next }
}

interface LedgerRange {
  /** In whole days of the zone, the end exclusive. */
  fromMs: number
  toMs: number
  limit: number
  after: LedgerCursor | null
}

/** At most `limit` lines, newest first. `balance` is that after the newest line; without lines, that at their place. */
export async function ledgerPage(
  store: Store,
  accountId: number,
  { fromMs, toMs, limit, after }: LedgerRange,
): Promise<{ lines: LedgerLine[]; balance: Micro }> {
  const { zone } = store
  const last = after === null ? null : dayNamed(after.day, zone)
  const page = await store.entries.page(accountId, {
    fromMs,
    toMs: Math.min(toMs, last?.endMs ?? toMs),
    chargesToMs: Math.min(toMs, last?.beginMs ?? toMs),
    ...(after?.seq == null ? {} : { beforeSeq: after.seq }),
    limit,
  })
  return { lines: [...merged(page, zone, limit)], balance: page.balance }
}

function* merged(page: BookPage, zone: string, limit: number): Generator<LedgerLine> {
  const entries = page.entries.map(entry => ({ ...entry, day: dayAt(entry.bookedAtMs, zone) }))
  const days = chargedDays(page, zone)
  let { balance } = page
  for (let count = 0, [e, d] = [0, 0]; count < limit; count++) {
    const [entry, charges] = [entries[e], days[d]]
    const chargesFirst = charges !== undefined && (entry === undefined || charges.day.beginMs >= entry.day.beginMs)
    const line = chargesFirst ? charges : entry
    if (line === undefined) return
    if (chargesFirst) d++
    else e++
    yield { ...line, balance }
    balance = subtract(balance, line.amount)
  }
}

/** The charges of each day, newest first. */
function chargedDays({ charges }: BookPage, zone: string) {
  const days: { kind: 'charges'; day: Day; amount: Micro }[] = []
  for (const { atMs, charge } of charges) {
    const latest = days.at(-1)
    if (latest !== undefined && atMs >= latest.day.beginMs) latest.amount = subtract(latest.amount, charge)
    else days.push({ kind: 'charges', day: dayAt(atMs, zone), amount: subtract(ZERO, charge) })
  }
  return days
}

/** A line as operators see it. Charges are shown at the last moment of their day, those of today at the moment `nowMs`. */
export function ledgerRow(line: LedgerLine, nowMs: number) {
  if (line.kind !== 'charges') return entryRow(line, formatMicro(line.balance))
  return {
    seq: null,
    booked_at: iso(Math.min(line.day.endMs - 1, nowMs)),
    kind: line.kind,
    reference: null,
    amount: formatMicro(line.amount),
    balance: formatMicro(line.balance),
    actor: null,
    note: null,
  }
}

export const entryRow = (entry: Entry, balance: string) => ({
  seq: entry.seq,
  booked_at: iso(entry.bookedAtMs),
  kind: entry.kind,
  reference: entry.reference,
  amount: formatMicro(entry.amount),
  balance,
  actor: entry.actor,
  note: entry.note,
})

/** The row as the people of the account see it: who of the operators booked it, and how many entries there are, is not told. */
export const ofAccount = ({ seq: _, actor: __, ...row }: ReturnType<typeof ledgerRow>) => row

export const entryAnswer = z
  .strictObject({
    booked_at: timeText,
    kind: z.string(),
    reference: z.string().nullable(),
    amount: moneyText,
    balance: moneyText,
    note: z.string().nullable(),
  })
  .meta({ id: 'Entry' })
