import { readFileSync } from 'node:fs'
import t from 'tap'
import { casesOf } from './cases.ts'
import { fixedCells, HEAD, type Line, rowsOf, withRows } from './matrix.ts'
import type { Tool } from './tool.ts'
import { TOOLS } from './tools/table.ts'

const tool = (name: string, more: Partial<Tool> = {}) =>
  ({ name, version: '1.2.3', protocol: 'chat', settings: '`URL`', ...more }) as Tool

const lines = (of: Tool, upstream: Line['upstream'], requests: number, more: Partial<Line> = {}): Line[] =>
  casesOf(of).map(test => ({ tool: of, upstream, test, requests, problems: [], isAnswered: true, ...more }))

t.test('the matrix of coding tools: a row for each that did all its cases, with FAILED where one failed', t => {
  const [whole, failing, part, less] = ['whole', 'failing', 'part', 'less'].map(name =>
    tool(name, name === 'less' ? { without: { tool: 'it has none' } } : {}),
  ) as [Tool, Tool, Tool, Tool]
  const rows = rowsOf(
    [
      ...lines(whole, 'chat', 1),
      ...lines(whole, 'messages', 3, { isAnswered: false }),
      ...lines(failing, 'chat', 1).map(line => (line.test.name === '429' ? { ...line, problems: ['too many'] } : line)),
      ...lines(part, 'chat', 1).slice(1),
      ...lines(less, 'chat', 1),
    ],
    'today',
  )
  const again = 'an error is shown or whole after a repeat'
  t.strictSame(rows, [
    `| whole 1.2.3 | chat | \`URL\` | chat, messages | 1 to 3 | 1 to 3 | – | – | ${again} | 1 to 3 | 1 to 3 | 1 to 3 | 1 to 3 | today |`,
    '| failing 1.2.3 | chat | `URL` | chat | 1 | 1 | – | – | whole after a repeat | 1 | 1 | FAILED | 1 | today |',
    '| less 1.2.3 | chat | `URL` | chat | 1 | – | – | – | whole after a repeat | 1 | 1 | 1 | 1 | today |',
  ])
  t.end()
})

t.test('rows of the matrix stand in the place of older versions, and the others stay', t => {
  const page = ['before', HEAD, '|---|', '| a 1.0 | x |', '| b 2.0 | y |', '', 'behind'].join('\n')
  t.equal(
    withRows(page, ['| b 2.1 | z |', '| c 1 | w |']),
    ['before', HEAD, '|---|', '| a 1.0 | x |', '| b 2.1 | z |', '| c 1 | w |', '', 'behind'].join('\n'),
  )
  t.throws(() => withRows('nothing', []), /has no table/)
  t.end()
})

t.test(
  'docs/clients.md has a row for each coding tool, with its version, protocol and settings, and none that FAILED',
  t => {
    const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
    for (const tool of TOOLS) t.ok(page.includes(`\n| ${fixedCells(tool).join(' | ')} | `), tool.name)
    t.notMatch(page, /^\|.*FAILED/m)
    t.end()
  },
)
