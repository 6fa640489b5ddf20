/** Each row of the ASVS table in docs/console.md names tests that exist. */
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
