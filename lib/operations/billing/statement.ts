/**
 * The statement of an account for one month of the config's `zone`: opening balance, lines, closing balance. Entries and
 * charges count by the time at which they were booked, so the statement of a month that has ended never changes. The
 * account's people and operators read the same lines; only operators see the numbers of entries and who booked them.
 */
import { iso } from '../../base/clock.ts'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { escaped } from '../../base/html.ts'
import { formatMicro, type Micro, micro, subtract, ZERO } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import { hourInZone, offsetHours } from '../../base/zone.ts'
import * as kind from '../../config/scalars.ts'
import type { Language } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'
import { type CsvColumn, CsvTable, FOR_PROGRAMS, forPeople, type Heads, pagesOf } from '../csv.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { OperationError } from '../error.ts'
import { wholeCount, moneyText, timeText } from '../fields.ts'
import { accountNamed } from '../lookups.ts'
import { read, type Sent } from '../read.ts'
import {
  cursorOf,
  entryAnswer,
  type LedgerCursor,
  type LedgerLine,
  ledgerPage,
  ledgerRow,
  ofAccount,
} from './account-ledger.ts'

/** From 1970 to 2999: calendars of time zones do not reckon with every year that can be written. */
const MONTH = /^(19[7-9]\d|2\d{3})-(0[1-9]|1[0-2])$/

export const monthName = kind.scalar(
  { zh: '月份，例如“2030-01”', en: 'a month like "2030-01"' },
  { type: 'string', pattern: MONTH.source },
  value => kind.matched(MONTH, value)?.[0],
)

export const statementQuery = z.strictObject({
  month: monthName,
  format: kind.oneOf('json', 'csv', 'html').prefault('json'),
})
export const monthsQuery = z.strictObject({ after: monthName.optional() })
export const statementFileQuery = z.strictObject({ heads: kind.oneOf('words', 'machine').prefault('words') })

const monthText = z.string().regex(/^\d{4}-\d\d$/)
const monthFields = {
  month: monthText,
  from: timeText,
  to: timeText,
  closed: z.boolean(),
  opening: moneyText,
  closing: moneyText,
}

export const monthsAnswer = z.strictObject({
  zone: z.string(),
  data: z.array(z.strictObject(monthFields).meta({ id: 'Month' })),
  next: monthText.nullable(),
})
export const statementAnswer = z
  .strictObject({
    account: z.string(),
    zone: z.string(),
    ...monthFields,
    credits: moneyText,
    charges: moneyText,
    lines: z.array(entryAnswer),
    models: z.array(
      z.strictObject({
        model: z.string(),
        requests: wholeCount,
        input: wholeCount,
        cache_read: wholeCount,
        cache_write_5m: wholeCount,
        cache_write_1h: wholeCount,
        output: wholeCount,
        charge: moneyText,
      }),
    ),
    shifted: moneyText,
  })
  .meta({ id: 'Statement' })

export type MonthsAnswer = z.output<typeof monthsAnswer>
export type StatementAnswer = z.output<typeof statementAnswer>

/** A statement as operators see it. */
export interface Statement extends Pick<StatementAnswer, 'account' | 'zone' | keyof typeof monthFields> {
  /** Oldest first. */
  lines: ReturnType<typeof ledgerRow>[]
}

const PAGE_MONTHS = 12
const PAGE_LINES = 1_000
const MOST_LINES = 100_000
/** A transaction reads the store's time some moments before it commits, so a month is closed a little after its end. */
const CLOSED_AFTER_MS = 600_000

type StatementDeps = Pick<OperationDeps, 'store'> & {
  clock: Pick<Clock, 'now'>
  fleet: Pick<OperationDeps['fleet'], 'settled'>
}

const periodOfMonth = (month: string, zone: string) => periodAt('month', Date.parse(`${month}-15`), zone)
const monthAt = (beginMs: number, zone: string) => hourInZone(beginMs, offsetHours(zone, beginMs) ?? 0).slice(0, 7)

export class Statements {
  readonly #deps: StatementDeps

  constructor(deps: StatementDeps) {
    this.#deps = deps
  }

  /** For operators: the statement, and the form in which the caller wants it. */
  async read(name: string, sent: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const account = await accountNamed(store, name)
    const { month, format } = read(statementQuery, sent)
    const { lines, statement, nowMs } = await this.#ofMonth(account, month)
    return { statement: { ...statement, lines: lines.map(line => ledgerRow(line, nowMs)) } satisfies Statement, format }
  }

  /** For the people of the account, with the charges by model. */
  async own(account: Account, month: string): Promise<StatementAnswer> {
    const { fleet } = this.#deps
    await fleet.settled()
    const { lines, statement, period, nowMs } = await this.#ofMonth(account, month)
    const sumOf = (fits: (line: LedgerLine) => boolean) =>
      micro(lines.filter(fits).reduce((sum, { amount }) => sum + amount, 0))
    const charges = subtract(
      ZERO,
      sumOf(line => line.kind === 'charges'),
    )
    return {
      ...statement,
      lines: lines.map(line => ofAccount(ledgerRow(line, nowMs))),
      credits: formatMicro(sumOf(line => line.kind !== 'charges')),
      charges: formatMicro(charges),
      ...(await this.#byModel(account.id, period, charges)),
    }
  }

  /** The statement as CSV. Throws OperationError before the first piece where there is no such statement. */
  async file(account: Account, month: string, heads: Heads, language: Language): Promise<AsyncGenerator<string>> {
    const { from, to, opening, closing, lines } = await this.own(account, month)
    const table = new CsvTable(OWN_COLUMNS, forPeople(heads, language))
    async function* text(): AsyncGenerator<string> {
      yield table.head()
      yield table.lines([{ booked_at: from, balance: opening }, ...lines, { booked_at: to, balance: closing }])
      yield table.end(lines.length)
    }
    return text()
  }

  /** The whole ledger, oldest first, with the columns of a statement. */
  async ledgerFile(account: Account, heads: Heads, language: Language): Promise<AsyncGenerator<string>> {
    const { fleet, clock } = this.#deps
    await fleet.settled()
    const { lines } = await this.#allLines(account.id, 0, Number.MAX_SAFE_INTEGER)
    const rows = lines.toReversed().map(line => ofAccount(ledgerRow(line, clock.now())))
    return new CsvTable(OWN_COLUMNS, forPeople(heads, language)).file([rows])
  }

  /** The months that have a statement, newest first. */
  async months(account: Account, after: string | undefined): Promise<MonthsAnswer> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { zone } = store
    const nowMs = await storeNow(this.#deps)
    const sinceMs = (await store.entries.firstBookedMs(account.id)) ?? nowMs
    const last = after === undefined ? nowMs : periodOfMonth(after, zone).beginMs - 1
    const data = []
    let { beginMs, endMs } = periodAt('month', Math.min(last, nowMs), zone)
    for (; endMs > sinceMs && data.length < PAGE_MONTHS; { beginMs, endMs } = periodAt('month', beginMs - 1, zone)) {
      const balanceAt = async (atMs: number) =>
        formatMicro((await store.entries.page(account.id, { fromMs: atMs, toMs: atMs, limit: 1 })).balance)
      data.push({
        month: monthAt(beginMs, zone),
        from: iso(beginMs),
        to: iso(endMs),
        closed: nowMs >= endMs + CLOSED_AFTER_MS,
        opening: await balanceAt(beginMs),
        closing: await balanceAt(endMs),
      })
    }
    return { zone, data, next: endMs > sinceMs ? (data.at(-1)?.month ?? null) : null }
  }

  /** `lines`: oldest first. */
  async #ofMonth({ id, name }: Account, month: string) {
    const { zone } = this.#deps.store
    const { beginMs: fromMs, endMs: toMs } = periodOfMonth(month, zone)
    const { lines, closing } = await this.#allLines(id, fromMs, toMs)
    const oldest = lines.at(-1)
    const nowMs = await storeNow(this.#deps)
    const statement = {
      account: name,
      month,
      zone,
      from: iso(fromMs),
      to: iso(toMs),
      closed: nowMs >= toMs + CLOSED_AFTER_MS,
      opening: formatMicro(oldest === undefined ? closing : subtract(oldest.balance, oldest.amount)),
      closing: formatMicro(closing),
    }
    return { lines: lines.reverse(), statement, period: { fromMs, toMs }, nowMs }
  }

  /** All lines, newest first. What is booked while the pages are read is newer than the first page. */
  async #allLines(accountId: number, fromMs: number, toMs: number) {
    const { store } = this.#deps
    let closing: Micro | undefined
    const pages = pagesOf(async (after: LedgerCursor | null) => {
      const page = await ledgerPage(store, accountId, { fromMs, toMs, limit: PAGE_LINES, after })
      closing ??= page.balance
      return {
        rows: page.lines,
        next: page.lines.length < PAGE_LINES ? null : cursorOf(page.lines.at(-1)!, store.zone),
      }
    })
    const lines: LedgerLine[] = []
    for await (const rows of pages)
      if (lines.push(...rows) > MOST_LINES)
        throw new OperationError('invalid', `there are more than ${MOST_LINES} lines: read the entries by pages`)
    return { lines, closing: closing! }
  }

  /** Charges by model go by the arrival of requests; `shifted` is what was booked in another month. */
  async #byModel(accountId: number, period: { fromMs: number; toMs: number }, charges: Micro) {
    const { store } = this.#deps
    const rows = await store.usage.summary({
      accountId,
      by: ['model'],
      zone: store.zone,
      ...period,
      attempts: 'without',
    })
    const arrived = micro(rows.reduce((sum, row) => sum + row.charge, 0))
    const models = rows
      .sort((a, b) => b.charge - a.charge)
      .map(({ by, requests, input, cache_read, cache_write_5m, cache_write_1h, output, charge }) => ({
        model: String(by[0]),
        ...{ requests, input, cache_read, cache_write_5m, cache_write_1h, output, charge: formatMicro(micro(charge)) },
      }))
    return { models, shifted: formatMicro(subtract(charges, arrived)) }
  }
}

type Row = Partial<Record<keyof ReturnType<typeof ledgerRow>, string | number | null>>

/** `seq` and `actor` are for operators only. */
const COLUMNS: readonly (CsvColumn<Row> & { name: keyof Row })[] = [
  { name: 'seq', value: row => row.seq },
  { name: 'booked_at', head: { zh: '时间（UTC）', en: 'Time (UTC)' }, value: row => row.booked_at },
  { name: 'kind', head: { zh: '类型', en: 'Kind' }, value: row => row.kind },
  { name: 'reference', head: { zh: '参考号', en: 'Reference' }, foreign: true, value: row => row.reference },
  { name: 'amount', head: { zh: '金额（元）', en: 'Amount (CNY)' }, value: row => row.amount },
  { name: 'balance', head: { zh: '余额（元）', en: 'Balance (CNY)' }, value: row => row.balance },
  { name: 'actor', foreign: true, value: row => row.actor },
  { name: 'note', head: { zh: '备注', en: 'Note' }, foreign: true, value: row => row.note },
]
const OWN_COLUMNS = COLUMNS.filter(({ name }) => name !== 'seq' && name !== 'actor')

/** The rows of both forms for operators: the opening balance, the lines, the closing balance. */
const rowsOf = ({ from, to, opening, closing, lines }: Statement): Row[] => [
  { booked_at: from, kind: 'opening balance', balance: opening },
  ...lines,
  { booked_at: to, kind: 'closing balance', balance: closing },
]

export function statementCsv(statement: Statement): string {
  const table = new CsvTable(COLUMNS, FOR_PROGRAMS)
  return table.head() + table.lines(rowsOf(statement))
}

const STYLE =
  'body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse;width:100%}' +
  'th,td{border-bottom:1px solid #ccc;padding:.3em .6em;text-align:left;overflow-wrap:anywhere}' +
  '.amount{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}' +
  'thead{display:table-header-group}tr{break-inside:avoid}@page{size:A4;margin:15mm}'

/** A page for paper. Texts that customers wrote must not act in it. */
export function statementHtml(statement: Statement): string {
  const { account, month, zone, closed, opening, closing } = statement
  const cell = (tag: 'td' | 'th', name: string, text: string): string =>
    `<${tag}${name === 'amount' || name === 'balance' ? ' class="amount"' : ''}>${text}</${tag}>`
  const row = (cells: Row) =>
    `<tr>${COLUMNS.map(({ name, value }) => cell('td', name, escaped(String(value(cells) ?? '')))).join('')}</tr>`
  const title = `Statement ${escaped(account)} ${escaped(month)}`
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style></head>`,
    `<body><h1>${title}</h1>`,
    `<p>CNY, days of ${escaped(zone)}. Opening balance ${opening}, closing balance ${closing}.`,
    closed ? '</p>' : ' The month has not ended: more may be added.</p>',
    `<table><thead><tr>${COLUMNS.map(({ name }) => cell('th', name, name)).join('')}</tr></thead><tbody>`,
    ...rowsOf(statement).map(row),
    '</tbody></table></body></html>\n',
  ].join('\n')
}
