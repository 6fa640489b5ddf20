/** A statement as a file: CSV for spreadsheets, HTML for paper. Both hold text that customers wrote, which must not act. */
import { csvCell } from './csv.ts'
import type { Statement } from './statement.ts'

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
