/**
 * Operations on an account's entries: top up, adjust, list. A list also shows charges, one line for each day of the
 * config's `zone`. An amount is booked once for each reference, so that a caller who got no answer may ask again.
 */
/**
 * An account's ledger as lines: its entries, and between them a line for the charges of each day. Charges belong to the
 * day on which they were booked, in the config's `zone`; their line stands after the last entry of that day. So the lines
 * of a day that has ended stay as they are for ever.
 */
/** A debit that somebody chose: it takes only what no process has charged or leased. */
import * as kind from '../../config/scalars.ts'
import { z } from 'zod'
import { pause } from '../../base/clock.ts'
import { type Micro, ZERO, formatMicro, parseMicro, subtract } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { HOUR_MS, hourInZone, offsetHours } from '../../base/zone.ts'
import {
  type BookPage,
  type Booked,
  type Entry,
  type NewEntry,
  type Purse,
  type Store,
  accountPurse,
} from '../../store/store.ts'
import type { Actor } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { act, entryActor, type OperationDeps, inForce } from '../deps.ts'
import { OperationError } from '../error.ts'
import { accountNamed } from '../lookups.ts'
import { type Sent, read } from '../read.ts'

/** References that begin so are given by the gateway itself. */
const RESERVED = /^(opening|settlement$|topup:|bsc:|refund:|freeze:|dispute:|release:|row:)/

const reference = kind.scalar(
  {
    zh: '凭证号:不是settlement、也不以opening、topup:、bsc:、refund:、freeze:、dispute:、release:或row:开头的名称',
    en: 'a reference: a name that is not settlement, and does not begin with opening, topup:, bsc:, refund:, freeze:, dispute:, release: or row:',
  },
  {},
  (value): string | undefined => {
    const name = kind.name.safeParse(value)
    return name.success && !RESERVED.test(name.data) ? name.data : undefined
  },
)

const MOST_NOTE = 1_000
/** Control characters, which have no place in a statement. */
const CONTROL = /\p{Cc}/u

export const topUpForm = z.strictObject({
  amount: kind.scalar(
    { zh: '大于0的人民币金额,最多6位小数', en: 'an amount of CNY above 0 with at most 6 decimal places' },
    {},
    (value): Micro | undefined => {
      const amount = parseMicro(value)
      return amount === null || amount <= 0 ? undefined : amount
    },
  ),
  reference,
})

/** Words that a statement or the log of actions can show. */
export const noteText = kind.scalar(
  {
    zh: `最多${MOST_NOTE}个字符、不含控制字符的文字`,
    en: `a text of at most ${MOST_NOTE} characters without control characters`,
  },
  {},
  (value): string | undefined =>
    typeof value === 'string' && value.length <= MOST_NOTE && value.isWellFormed() && !CONTROL.test(value)
      ? value.trim()
      : undefined,
)

export const adjustmentForm = z
  .strictObject({
    amount: kind.scalar(
      {
        zh: '不为0的人民币金额,最多6位小数,负数表示扣除',
        en: 'an amount of CNY with at most 6 decimal places, negative to take it away, not 0',
      },
      {},
      (value): Micro | undefined => {
        const amount = parseMicro(value)
        return amount === null || amount === 0 ? undefined : amount
      },
    ),
    reference,
    note: noteText.prefault(''),
    force: z.boolean('true or false').prefault(false),
  })
  .refine(({ force, note }) => !force || note !== '', {
    path: ['note'],
    ...kind.problem({ zh: '使用`force`时须说明原因', en: 'a reason, because of `force`' }),
  })

const MOST_LINES = 1_000
const LINES = 100

const day = kind.scalar({ zh: '日期,例如“2030-01-31”,或时间', en: 'a day like "2030-01-31", or a time' }, {}, readDay)

export const accountEntriesQuery = z.strictObject({
  from: day.optional(),
  to: day.optional(),
  limit: kind.whole(1, MOST_LINES).prefault(LINES),
  after: kind.scalar({ zh: '另一页的`next`', en: 'the `next` of another page' }, {}, readCursor).optional(),
})

export class Entries {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  /** Credits an amount once for each reference. `created` is false when this reference has credited the account before. */
  async topUp(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { amount, reference } = read(topUpForm, sent)
    const entry: NewEntry = { kind: 'topup', amount, reference, actor: entryActor(actor), note: '' }
    const { created } = this.#accepted(entry, await store.addEntry(account.id, entry, act(actor, 'entries.topUp')))
    const balance = await this.#balanceOf(account)
    await inForce(this.#deps)
    return { created, row: { account: name, amount: formatMicro(amount), reference, balance: formatMicro(balance) } }
  }

  /**
   * Adds a signed amount to the balance. Money is taken away only where no process has charged or leased it, or with
   * `force` in any case. `created` is false when the same adjustment was made before.
   */
  async adjust(name: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { amount, reference, note, force } = read(adjustmentForm, sent)
    const entry: NewEntry = { kind: 'adjustment', amount, reference, actor: entryActor(actor), note }
    const by = act(actor, 'entries.adjust')
    const booked = await debit(this.#deps, account.id, () => store.addEntry(account.id, entry, by, force && amount < 0))
    const { created, entry: there } = this.#accepted(entry, booked)
    const balance = await this.#balanceOf(account)
    await inForce(this.#deps)
    return { created, row: { account: name, ...showEntry(there, balance) } }
  }

  /** One page, newest first. `next` is the `after` of the following page; null on the last page. */
  async page(name: string, filter: Sent) {
    const { store, fleet, clock } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { from, to, limit, after } = read(accountEntriesQuery, filter)
    const { zone } = store
    const end = to?.(zone)
    // The end of a range is exclusive. A time within a day means the end of that day.
    const toMs = end === undefined ? Number.MAX_SAFE_INTEGER : end.given === end.beginMs ? end.beginMs : end.endMs
    const { lines } = await bookLines(
      store,
      zone,
      account.id,
      { fromMs: from?.(zone).beginMs ?? 0, toMs },
      limit,
      after,
    )
    const next = lines.length === limit ? formatCursor(cursorOf(lines.at(-1)!, zone)) : null
    return { data: lines.map(line => showLine(line, clock.now())), next }
  }

  #accepted({ reference }: NewEntry, booked: Booked): { created: boolean; entry: Entry } {
    if (booked.outcome === 'conflict')
      throw new OperationError('conflict', `reference ${reference} stands for another entry already`)
    if (booked.outcome === 'short') {
      const available = formatMicro(booked.available)
      throw new OperationError('conflict', `only ${available} CNY can be taken away now`, { available })
    }
    return { created: booked.outcome === 'created', entry: booked.entry }
  }

  async #balanceOf({ id }: Account): Promise<Micro> {
    const [purse] = await this.#deps.store.purses([accountPurse(id)])
    return purse === undefined ? ZERO : subtract(purse.credit ?? ZERO, purse.spent)
  }
}

/** A day of the zone; ms since 1970, the end exclusive. */
interface Day {
  beginMs: number
  endMs: number
}

/** A part of the ledger in whole days of the zone. */
export interface BookRange {
  fromMs: number
  /** Exclusive. */
  toMs: number
}

export type Line = (Entry | { kind: 'charges'; amount: Micro }) & { day: Day; balance: Micro }

/** The last line of a page: a day and, unless it is the line of that day's charges, the number of an entry. */
export interface Cursor {
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
export function readDay(value: unknown): ((zone: string) => Day & { given: number }) | undefined {
  const time = kind.time.safeParse(value)
  if (!time.success) return
  return zone => {
    const day = isDate(value) ? dayNamed(value, zone) : dayAt(time.data, zone)
    return { ...day, given: isDate(value) ? day.beginMs : time.data }
  }
}

/** `2030-01-31` for the line of that day's charges, `2030-01-31.57` for entry 57, which was booked on that day. */
export const cursorOf = (line: Line, zone: string): Cursor => ({
  day: nameOf(line.day, zone),
  seq: line.kind === 'charges' ? null : line.seq,
})

export const formatCursor = ({ day, seq }: Cursor): string => (seq === null ? day : `${day}.${seq}`)

export function readCursor(value: unknown): Cursor | undefined {
  const m = typeof value === 'string' ? /^(.{10})(?:\.(\d{1,15}))?$/.exec(value) : null
  const day = m?.[1]
  return isDate(day) ? { day, seq: m?.[2] === undefined ? null : Number(m[2]) } : undefined
}

/**
 * At most `limit` lines, newest first. `balance` is that after the newest line; without lines, that at their place.
 */
export async function bookLines(
  store: Store,
  zone: string,
  accountId: number,
  { fromMs, toMs }: BookRange,
  limit: number,
  after?: Cursor,
): Promise<{ lines: Line[]; balance: Micro }> {
  const last = after === undefined ? null : dayNamed(after.day, zone)
  const page = await store.book(accountId, {
    fromMs,
    toMs: Math.min(toMs, last?.endMs ?? toMs),
    chargesToMs: Math.min(toMs, last?.beginMs ?? toMs),
    ...(after?.seq == null ? {} : { beforeSeq: after.seq }),
    limit,
  })
  return { lines: [...merged(page, zone, limit)], balance: page.balance }
}

function* merged(page: BookPage, zone: string, limit: number): Generator<Line> {
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

/** A line as callers see it. Charges are shown at the last moment of their day, those of today at the moment `nowMs`. */
export function showLine(line: Line, nowMs: number) {
  if (line.kind !== 'charges') return showEntry(line, line.balance)
  return {
    seq: null,
    booked_at: new Date(Math.min(line.day.endMs - 1, nowMs)).toISOString(),
    kind: line.kind,
    reference: null,
    amount: formatMicro(line.amount),
    balance: formatMicro(line.balance),
    actor: null,
    note: null,
  }
}

export const showEntry = (entry: Entry, balance: Micro) => ({
  seq: entry.seq,
  booked_at: new Date(entry.bookedAtMs).toISOString(),
  kind: entry.kind,
  reference: entry.reference,
  amount: formatMicro(entry.amount),
  balance: formatMicro(balance),
  actor: entry.actor,
  note: entry.note,
})

/** How often, and at what interval, it is tried again while processes give back what they leased and do not need. */
const RECALL_TRIES = 12
const RECALL_WAIT_MS = 120

/** Tries it; when too little is free, the processes give back what they leased and do not need, and it is tried again. */
export async function debit<B extends { outcome: string }>(
  { store, clock, fleet }: OperationDeps,
  accountId: number,
  attempt: () => Promise<B>,
): Promise<B> {
  const purse = accountPurse(accountId)
  let booked = await attempt()
  for (let tries = 0; booked.outcome === 'short' && tries < RECALL_TRIES; tries++) {
    if (tries === 0) {
      await store.recall(purse)
      await fleet.changed().catch(() => {}) // the processes find the recall in the store all the same
    }
    const { leased } = (await store.purses([purse]))[0] as Purse
    if (leased > 0) await pause(clock, RECALL_WAIT_MS)
    booked = await attempt()
    if (leased <= 0) break
  }
  return booked
}
