/** docs/ledger.md names every table of the store, and the files that write it. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { TABLES } from '../../lib/store/schema.ts'

const ROOM = new URL('../../lib/store/', import.meta.url)
const sources = readdirSync(ROOM, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .sort()
  .map(file => ({ file, text: readFileSync(new URL(file, ROOM), 'utf8') }))

/** A statement that sets a column to itself is a lock. */
const writes = (table: string) => new RegExp(`(?:INTO|UPDATE|DELETE FROM) ${table}\\b(?! SET (\\S+) = \\1 WHERE)`)
const ANY = /(?:INTO|UPDATE|DELETE FROM) \$\{table\}(?! SET (\S+) = \1 WHERE)/

const writersOf = (table: string): string[] =>
  sources
    .filter(({ text }) => writes(table).test(text) || (ANY.test(text) && text.includes(`'${table}'`)))
    .map(({ file }) => file.slice(0, -'.ts'.length))

t.test('every table stands there with its writers', async t => {
  const page = readFileSync(new URL('../../docs/ledger.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split('## Who writes which table\n')
  const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm)]
  const said = new Map(
    rows.map(([, table, files = '']) => [table, [...files.matchAll(/`([^`]+)`/g)].map(([, f]) => f)]),
  )
  t.ok(TABLES.length > 30)
  t.strictSame([...said.keys()].sort(), TABLES.map(({ name }) => name).sort())
  for (const { name } of TABLES) t.strictSame([...(said.get(name) ?? [])].sort(), writersOf(name), name)
})
