/** The table of docs/clients.md, which the run writes. */
import type { Protocol } from '../../lib/protocols/names.ts'
import { CASES, type Case, casesOf } from './cases.ts'
import type { Tool } from './tool.ts'

/** One run of a tool. */
export interface Line {
  tool: Tool
  upstream: Protocol
  test: Case
  /** To the upstream. */
  requests: number
  /** What is wrong; empty = nothing. */
  problems: readonly string[]
  /** It shows an answer, and no error. */
  isAnswered: boolean
}

const COLUMNS = ['tool', 'speaks', 'settings', 'upstreams', ...CASES.map(({ name }) => name), 'run']
export const HEAD = `| ${COLUMNS.join(' | ')} |`

const nameOf = ({ name, version }: Tool): string => `${name} ${version}`

/** Cells of one tool by column, without those that only a run knows. */
export const fixedCells = (tool: Tool): string[] => [nameOf(tool), tool.protocol, tool.settings]

/** A row for each tool that did all its cases at an upstream at least. */
export function rowsOf(lines: readonly Line[], date: string): string[] {
  return [...new Set(lines.map(({ tool }) => tool))].flatMap(tool => {
    const tests = casesOf(tool)
    const own = lines.filter(line => line.tool === tool)
    const upstreams = [...new Set(own.map(({ upstream }) => upstream))].filter(
      upstream => own.filter(line => line.upstream === upstream).length === tests.length,
    )
    if (upstreams.length === 0) return []
    const cells = CASES.map(test => {
      const of = own.filter(line => line.test === test && upstreams.includes(line.upstream))
      return of.length === 0 ? '–' : of.some(({ problems }) => problems.length > 0) ? 'FAILED' : cellOf(test, of)
    })
    return [`| ${[...fixedCells(tool), upstreams.join(', '), ...cells, date].join(' | ')} |`]
  })
}

function cellOf({ name }: Case, lines: readonly Line[]): string {
  if (name === 'cut') {
    const ways = new Set(lines.map(({ isAnswered }) => (isAnswered ? 'whole after a repeat' : 'an error is shown')))
    return [...ways].sort().join(' or ')
  }
  const counts = lines.map(({ requests }) => requests)
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  return least === most ? String(least) : `${least} to ${most}`
}

/** The page with these rows in the place of older ones of the same tools, or behind the others. */
export function withRows(page: string, rows: readonly string[]): string {
  const lines = page.split('\n')
  const head = lines.indexOf(HEAD)
  if (head < 0) throw new Error(`docs/clients.md has no table ${HEAD}`)
  let end = head + 2
  while (lines[end]?.startsWith('|')) end++
  const versionless = (row: string): string => (row.split(' | ')[0] as string).replace(/ [\d.]+$/, '')
  const table = new Map(lines.slice(head + 2, end).map(row => [versionless(row), row]))
  for (const row of rows) table.set(versionless(row), row)
  return [...lines.slice(0, head + 2), ...table.values(), ...lines.slice(end)].join('\n')
}
