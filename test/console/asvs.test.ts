/** The ASVS table in docs/console.md has a row for each requirement that applies, and each row names tests that exist. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/console.md', root), 'utf8')
const rows = page
  .split('## ASVS')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter(line => line.startsWith('| v5.0.0-'))

t.test('the tests of the ASVS table exist', async t => {
  t.ok(rows.length > 15)
  for (const row of rows) {
    const cell = row.split('|').at(-2) ?? ''
    const named = cell.split(';').map(one => /`([^`]+)`(?:: (.*?))?\s*$/.exec(one.replace(/, all\s*$/, '')))
    for (const one of named) {
      const file = new URL(`test/${one?.[1]}`, root)
      if (!t.ok(one !== null && existsSync(file), cell)) continue
      if (one?.[2] !== undefined)
        t.ok(readFileSync(file, 'utf8').includes(`'${one[2].trim()}'`), `${one[1]}: ${one[2]}`)
    }
  }
})

/** The requirements of levels 1 and 2 that apply to the console, and some of level 3. */
const WANTED: [section: string, ...numbers: number[]][] = [
  ['2.2', 1, 2, 3],
  ['2.3', 1, 2, 3, 4],
  ['2.4', 1],
  ['3.1', 1],
  ['3.2', 1, 2],
  ['3.3', 1, 2, 3, 4],
  ['3.4', 1, 2, 3, 4, 5, 6, 8],
  ['3.5', 1, 2, 3, 8],
  ['3.7', 2],
  ['6.1', 1],
  ['6.2', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  ['6.3', 1, 3, 8],
  ['6.4', 1, 3],
  ['6.5', 1, 2, 3, 4, 5],
  ['6.8', 1, 2, 4],
  ['7.1', 1, 2, 3],
  ['7.2', 1, 2, 3, 4],
  ['7.3', 1, 2],
  ['7.4', 1, 2, 3, 4, 5],
  ['7.5', 1, 2],
  ['8.1', 1, 2, 3, 4],
  ['8.2', 1, 2, 3, 4],
  ['8.3', 1, 2, 3],
  ['11.4', 2],
  ['11.5', 1],
  ['14.2', 1],
  ['16.2', 1, 2, 3, 4, 5],
  ['16.3', 1, 2, 3, 4],
  ['16.4', 1, 2, 3],
  ['16.5', 1, 2, 3],
]

/** `3.3.1 to 3.3.4, 3.3.8` as single requirements. */
const requirements = (cell: string): string[] =>
  cell.split(',').flatMap(part => {
    const [, section, from, to] = /^\s*(?:v5\.0\.0-)?(\d+\.\d+)\.(\d+)(?: to \1\.(\d+))?\s*$/.exec(part) ?? []
    if (section === undefined) throw new Error(`no requirement: ${part}`)
    const [first, last] = [Number(from), Number(to ?? from)]
    return Array.from({ length: last - first + 1 }, (_, i) => `${section}.${first + i}`)
  })

t.test('each requirement that applies has one row', async t => {
  const listed = rows.flatMap(row => requirements(row.split('|')[1] as string))
  t.equal(new Set(listed).size, listed.length)
  const wanted = WANTED.flatMap(([section, ...numbers]) => numbers.map(number => `${section}.${number}`))
  t.same(listed.sort(), wanted.sort())
})
