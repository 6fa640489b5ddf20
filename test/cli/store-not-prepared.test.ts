/** Commands on a store whose schema is not that of the program showed an error of the engine (`no such table`), and no advice. */
// The bug behind these rows: a store that was not migrated.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { commandLine } from '../support/command-line.ts'

const COMMANDS = [
  ['prices', 'list'],
  ['prices', 'show', 'm'],
  ['prices', 'set', 'm', 'input=1'],
  ['usage'],
  ['requests', 'show', '0'],
  ['audit'],
  ['statement', 'a', '--month', '2026-01'],
]

t.test('each says what to do', async t => {
  const folder = t.testdir()
  const file = path.join(folder, 'c.yaml')
  const store = path.join(folder, 'books.db')
  writeFileSync(file, JSON.stringify({ store: `sqlite:${store}` }))
  const command = commandLine()
  const run = (args: readonly string[]) => command([...args, '--config', file], folder)
  new DatabaseSync(store).close()
  const empty = 'gateway: store: it has no tables yet: run `gateway migrate`\n'
  for (const args of COMMANDS) t.match(await run(args), { status: 1, stdout: '', stderr: empty }, `${args}: empty`)
  t.match(await run(['migrate']), { status: 0 })
  t.match(await run(['prices', 'list']), { status: 0, stderr: '' })
  const db = new DatabaseSync(store)
  db.exec("UPDATE meta SET value = value - 1 WHERE name = 'schema'")
  db.close()
  const other = /^gateway: store: it was made by another version of this program.* Nothing was changed in it/
  for (const args of [...COMMANDS, ['migrate']])
    t.match(await run(args), { status: 1, stdout: '', stderr: other }, `${args}: another version`)
})
