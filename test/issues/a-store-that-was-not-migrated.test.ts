/** Commands on a store whose schema is not that of the program showed an error of the engine (`no such table`), and no advice. */
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
  const command = commandLine(t)
  const run = (args: readonly string[]) => command([...args, '--config', file], folder)
  new DatabaseSync(store).close()
  const older = 'gateway: store: its schema is older than this program: run `gateway migrate`\n'
  for (const args of COMMANDS) t.match(await run(args), { status: 1, stdout: '', stderr: older }, `${args}: empty`)
  t.match(await run(['migrate']), { status: 0 })
  t.match(await run(['prices', 'list']), { status: 0, stderr: '' })
  const db = new DatabaseSync(store)
  db.exec("UPDATE meta SET value = value - 1 WHERE name = 'schema'")
  for (const args of COMMANDS.slice(0, 2))
    t.match(await run(args), { status: 1, stdout: '', stderr: older }, `${args}: older`)
  db.exec("UPDATE meta SET value = 99 WHERE name = 'schema'")
  db.close()
  t.match(await run(['audit']), {
    status: 1,
    stderr: /^gateway: store: its schema has version 99, this program knows up to \d+\n$/,
  })
})
