/** What a newcomer meets at a first start said an errno at best; `audit` made an empty store where none was, and found it in order. */
// The bug behind these rows: starts that fail without advice.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import t from 'tap'
import { commandLine, runBin } from '../support/command-line.ts'
import { BIN } from '../support/gateway.ts'

const ANY_PORT = '127.0.0.1:0'
const CATALOG = new URL('../../config/catalog.yaml', import.meta.url).pathname

const run = commandLine()

t.test('each fails with a line that names the setting and says what to do', async t => {
  const folder = t.testdir({ elsewhere: { 'catalog.yaml': '{}' }, file: 'text' })
  const taken = net.createServer()
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as net.AddressInfo
  const rows: [string, command: string, config: object, said: RegExp][] = [
    [
      'port taken',
      'serve',
      { listen: { main: `127.0.0.1:${port}`, direct: ANY_PORT, ops: ANY_PORT } },
      /listen\.main: cannot listen on 127\.0\.0\.1:\d+: another process listens there/,
    ],
    [
      'no such address',
      'serve',
      { listen: { main: ANY_PORT, direct: ANY_PORT, ops: '192.0.2.1:3002' } },
      /listen\.ops: .* this host has no such address/,
    ],
    [
      'the journal below a file',
      'serve',
      { journal: 'file/journal' },
      /gateway\.yaml: journal: the folder .*file\/journal cannot be made \(ENOTDIR\)/,
    ],
    [
      'pictures below a file',
      'serve',
      { images: { links: 'file/pictures' } },
      /gateway\.yaml: images\.links: the folder .*file\/pictures cannot be made \(ENOTDIR\)/,
    ],
    [
      'the store is a folder',
      'serve',
      { store: 'sqlite:elsewhere' },
      /store: expected a file, found something else at/,
    ],
    [
      'the store is away',
      'serve',
      { store: 'mysql://gateway:a-password@127.0.0.1:1/gateway' },
      /the store cannot be used: .*ECONNREFUSED.*Does it run/,
    ],
    ['no catalogue', 'serve', { catalog: 'nowhere.yaml' }, /nowhere\.yaml: expected a readable file, found none/],
    [
      'no catalogue, checked',
      'check',
      { catalog: 'nowhere.yaml' },
      /nowhere\.yaml: expected a readable file, found none/,
    ],
    [
      'no store to audit',
      'audit',
      { store: 'sqlite:missing.db' },
      /store: expected a store, found no file .*missing\.db .*gateway migrate/,
    ],
  ]
  for (const [name, command, change, said] of rows) {
    const config = {
      listen: { main: ANY_PORT, direct: ANY_PORT, ops: ANY_PORT },
      store: 'sqlite:books.db',
      journal: 'journal',
      admin_token: 'a-token-for-tests',
      ...change,
    }
    writeFileSync(`${folder}/gateway.yaml`, JSON.stringify(config))
    const args = [command, '--config', 'gateway.yaml']
    const { status, stderr } = command === 'serve' ? runBin(args, folder) : await run(args, folder)
    t.equal(status, 1, name)
    t.match(stderr, said, name)
    t.notMatch(stderr, /a-password|\n {4}at /, 'no secret and no stack')
  }
  t.notOk(existsSync(`${folder}/missing.db`), 'a command that only reads makes no store')
})

t.test('a key without the address that it is for', async t => {
  const folder = t.testdir({
    'gateway.yaml': JSON.stringify({ listen: { main: ANY_PORT, direct: ANY_PORT, ops: ANY_PORT }, catalog: CATALOG }),
  })
  const demo = spawnSync(BIN, ['demo', '--config', 'gateway.yaml'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, UPSTREAM_KEY: 'a-password', UPSTREAM_URL: '' },
    timeout: 60_000, // it ends only one that serves
  })
  t.equal(demo.status, 1)
  t.match(demo.stderr, /UPSTREAM_KEY is set and UPSTREAM_URL is not: set UPSTREAM_URL to the address/)
  t.notMatch(demo.stderr, /a-password|\n {4}at /)
  t.notOk(existsSync(`${folder}/data`), 'nothing was begun')
})

t.test('a relative catalogue is beside the config that names it, from wherever it is checked', async t => {
  const folder = t.testdir({ config: { 'gateway.yaml': 'catalog: catalog.yaml', 'catalog.yaml': '{}' } })
  mkdirSync(`${folder}/other`)
  for (const cwd of [folder, `${folder}/other`, '/']) {
    const { status, stderr } = await run(['check', '--config', `${folder}/config/gateway.yaml`], cwd)
    t.equal(status, 0, stderr)
  }
})
