/** `gateway backup`: a sound copy of a store that is written meanwhile, or none. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { commandLine, runBin } from '../support/command-line.ts'

const command = commandLine()

async function create(t: Test, store = 'sqlite:books.db') {
  const folder = t.testdir({
    'c.yaml': JSON.stringify({ store, journal: 'j', admin_token: 'a-long-enough-token' }),
  })
  const run = (...args: string[]) => command([...args, '--config', 'c.yaml'], folder)
  return { folder, run }
}

t.test('the copy has what the store has, for its user only, and takes its place', async t => {
  const { folder, run } = await create(t)
  await run('migrate')
  await run('groups', 'create', '默认')
  const writer = new DatabaseSync(`${folder}/books.db`)
  t.teardown(() => writer.close())
  writer.exec("BEGIN IMMEDIATE; UPDATE meta SET value = value WHERE name = 'prune'")
  t.match(await run('backup', 'copy.db'), { status: 0, stdout: /^ok: copy\.db, 0\.\d MB, checked\n$/, stderr: '' })
  writer.exec('COMMIT')
  t.ok(existsSync(`${folder}/books.db.backed-up`), 'which metrics show the time of')
  t.match(await run('backup', 'copy.db'), { status: 5, stderr: 'gateway: copy.db is there already\n' })
  const json = runBin(['backup', 'other.db', '--json', '--config', 'c.yaml'], folder).stdout
  t.equal(statSync(`${folder}/other.db`).mode & 0o077, 0)
  t.same(JSON.parse(json), { file: 'other.db', bytes: statSync(`${folder}/other.db`).size })
  t.same(
    readdirSync(folder).filter(name => name.endsWith('.part')),
    [],
  )
  writeFileSync(`${folder}/c.yaml`, readFileSync(`${folder}/c.yaml`, 'utf8').replace('books.db', 'copy.db'))
  t.match(await run('groups', 'list'), { status: 0, stdout: /^默认\t/ })
  t.match(await run('audit'), { status: 0 })
})

t.test('a damaged store, one that is not there, and a server leave no copy', async t => {
  const { folder, run } = await create(t)
  t.match(await run('backup', 'copy.db'), { status: 1, stderr: /store: expected a store, found no file/ })
  await run('migrate')
  const bytes = readFileSync(`${folder}/books.db`)
  for (let page = 20; page < 60; page += 4) bytes.fill('damage', page * 4096, page * 4096 + 500)
  writeFileSync(`${folder}/books.db`, bytes)
  t.match(await run('backup', 'copy.db'), { status: 1, stderr: /books\.db is damaged, and its copy was not kept/ })
  t.notOk(existsSync(`${folder}/copy.db`))
  const server = await create(t, 'mysql://u:hunter2@127.0.0.1:1/d')
  t.match(await server.run('backup', 'copy.db'), { status: 2, stderr: /^gateway: store: (?!.*hunter2).*mariadb-dump/ })
})
