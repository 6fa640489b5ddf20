/** Tables whose rows are evidence: no statement in the code changes or deletes a row of them. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../lib/', import.meta.url)
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => ({ file, text: readFileSync(new URL(file, root), 'utf8') }))

/** Files with a statement that changes rows all the same. */
const CHANGED: Record<string, string[]> = { actions: ['store/people/throttles.ts'] }

const files = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file)

for (const table of ['actions', 'entries', 'pay_proofs', 'pay_rates', 'price_versions'])
  t.test(table, async t => {
    t.not(files(new RegExp(`INSERT INTO ${table} `)).length, 0, 'rows are inserted by a statement of this form')
    t.same(files(new RegExp(`(UPDATE|DELETE FROM|REPLACE INTO|TRUNCATE|DROP TABLE) ${table}\\b`)), CHANGED[table] ?? [])
  })

t.test('a line of the log of actions loses its address in time, and nothing else', async t => {
  const [{ text }] = sources.filter(({ file }) => CHANGED['actions']?.includes(file)) as [(typeof sources)[number]]
  const statements = [...text.matchAll(/(?:UPDATE|DELETE FROM) actions\b[^'"`]*/g)].map(([statement]) => statement)
  t.same(statements, ['UPDATE actions SET ip = NULL WHERE seq > ? AND seq <= ?'])
})
