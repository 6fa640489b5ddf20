/**
 * The statement of an account for one month of the config's `zone`: opening balance, lines, closing balance. Entries and
 * charges count by the time at which they were booked, so the statement of a month that has ended never changes.
 */
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { formatMicro, type Micro, subtract } from '../../base/money.ts'
import { periodAt } from '../../base/periods.ts'
import type { Store } from '../../store/store.ts'
import * as kind from '../../config/scalars.ts'
import { type BookRange, bookLines, type Cursor, cursorOf, type Line, showLine } from './entries.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { OperationError } from '../error.ts'
import { csvCell } from '../csv.ts'
import { accountNamed } from '../lookups.ts'
import { read, type Sent } from '../read.ts'

/** From 1970 to 2999: calendars of time zones do not reckon with every year that can be written. */
const MONTH = /^(19[7-9]\d|2\d{3})-(0[1-9]|1[0-2])$/

/** The name of a month, as text. */
export const monthName = kind.scalar(
  { zh: '月份,例如“2030-01”', en: 'a month like "2030-01"' },
  { type: 'string', pattern: MONTH.source },
  value => kind.matched(MONTH, value)?.[0],
)

const month = monthName.transform(name => {
  const [year = 0, number = 0] = name.split('-').map(Number)
  return { name, middleMs: Date.UTC(year, number - 1, 15) }
})

export const statementQuery = z.strictObject({ month, format: kind.oneOf('json', 'csv', 'html').prefault('json') })

const PAGE_LINES = 1_000
const MOST_LINES = 100_000
/** A transaction reads the store's time some moments before it commits, so a month is closed a little after its end. */
const CLOSED_AFTER_MS = 600_000

export interface Statement {
  account: string
  month: string
  zone: string
  from: string
  to: string
  /** Whether the month has ended, so that nothing will be added. */
  closed: boolean
  opening: string
  closing: string
  /** Oldest first. */
  lines: ReturnType<typeof showLine>[]
}

type StatementDeps = Pick<OperationDeps, 'store'> & {
  clock: Pick<Clock, 'now'>
  fleet: Pick<OperationDeps['fleet'], 'settled'>
}

/** The statement, and the form in which the caller wants it. */
export async function readStatement({ store, clock, fleet }: StatementDeps, name: string, sent: Sent) {
  await fleet.settled()
  const { id } = await accountNamed(store, name)
  const { month, format } = read(statementQuery, sent)
  const { zone } = store
  const { beginMs: fromMs, endMs: toMs } = periodAt('month', month.middleMs, zone)
  const { lines, closing } = await allLines(store, zone, id, { fromMs, toMs })
  const oldest = lines.at(-1)
  const nowMs = await storeNow({ store, clock })
  const statement: Statement = {
    account: name,
    month: month.name,
    zone,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    closed: nowMs >= toMs + CLOSED_AFTER_MS,
    opening: formatMicro(oldest === undefined ? closing : subtract(oldest.balance, oldest.amount)),
    closing: formatMicro(closing),
    lines: lines.reverse().map(line => showLine(line, nowMs)),
  }
  return { statement, format }
}

/** All lines, newest first. What is booked while the pages are read is newer than the first page. */
async function allLines(store: Store, zone: string, accountId: number, range: BookRange) {
  const lines: Line[] = []
  let closing: Micro | undefined
  for (let after: Cursor | undefined; ; ) {
    const page = await bookLines(store, zone, accountId, range, PAGE_LINES, after)
    closing ??= page.balance
    lines.push(...page.lines)
    if (page.lines.length < PAGE_LINES) return { lines, closing }
    if (lines.length >= MOST_LINES)
      throw new OperationError('invalid', `the month has more than ${MOST_LINES} lines: read the entries by pages`)
    after = cursorOf(lines.at(-1) as Line, zone)
  }
}

const COLUMNS = ['seq', 'booked_at', 'kind', 'reference', 'amount', 'balance', 'actor', 'note'] as const
type Cells = Partial<Record<(typeof COLUMNS)[number], string | number | null>>

/** The rows of both forms: the opening balance, the lines, the closing balance. */
const rowsOf = ({ from, to, opening, closing, lines }: Statement): Cells[] => [
  { booked_at: from, kind: 'opening balance', balance: opening },
  ...lines,
  { booked_at: to, kind: 'closing balance', balance: closing },
]

/** Columns whose texts are chosen by people. */
const FOREIGN = new Set(['reference', 'actor', 'note'])

export const statementCsv = (statement: Statement): string =>
  [COLUMNS, ...rowsOf(statement).map(row => COLUMNS.map(name => csvCell(row[name], FOREIGN.has(name))))]
    .map(cells => `${cells.join(',')}\n`)
    .join('')

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (value: string | number | null | undefined): string =>
  String(value ?? '').replace(/[&<>"']/g, character => ESCAPES[character] as string)

const STYLE =
  'body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse;width:100%}' +
  'th,td{border-bottom:1px solid #ccc;padding:.3em .6em;text-align:left;overflow-wrap:anywhere}' +
  '.amount{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}' +
  'thead{display:table-header-group}tr{break-inside:avoid}@page{size:A4;margin:15mm}'

const cell = (tag: 'td' | 'th', column: string, text: string): string =>
  `<${tag}${column === 'amount' || column === 'balance' ? ' class="amount"' : ''}>${text}</${tag}>`

export function statementHtml(statement: Statement): string {
  const { account, month, zone, closed, opening, closing } = statement
  const row = (cells: Cells) => `<tr>${COLUMNS.map(name => cell('td', name, escaped(cells[name]))).join('')}</tr>`
  const title = `Statement ${escaped(account)} ${escaped(month)}`
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style></head>`,
    `<body><h1>${title}</h1>`,
    `<p>CNY, days of ${escaped(zone)}. Opening balance ${opening}, closing balance ${closing}.`,
    closed ? '</p>' : ' The month has not ended: more may be added.</p>',
    `<table><thead><tr>${COLUMNS.map(name => cell('th', name, name)).join('')}</tr></thead><tbody>`,
    ...rowsOf(statement).map(row),
    '</tbody></table></body></html>\n',
  ].join('\n')
}
