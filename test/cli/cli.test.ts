import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { openStore } from '../../lib/store/store.ts'
import { commandLine, runBin } from '../support/command-line.ts'
import { BIN as GATEWAY } from '../support/gateway.ts'
import { settlement, usageRow } from '../support/store.ts'
import { lastingMonth } from '../support/wait.ts'

const TOKEN = 'a-long-enough-token'
const CATALOG = {
  groups: [{ name: 'default', multiplier: 1, public: true }],
  models: [{ name: 'm', max_output: 4096, price: { request: 1 } }],
  channels: [
    { name: 'c', base_url: 'http://127.0.0.1:9', protocols: ['chat'], key: 'up', groups: ['default'], models: ['m'] },
  ],
  accounts: [{ name: 'a', balance: 7 }],
  keys: [{ account: 'a', name: 'k', secret: 'sk-0123456789abcdef' }],
}

const command = commandLine()

/** A folder with a config and a catalogue, and how to run commands in it. */
function create(t: Test, config: object = {}, catalog: object = CATALOG) {
  const folder = t.testdir({
    'c.yaml': JSON.stringify({
      store: 'sqlite:books.db',
      journal: 'j',
      admin_token: TOKEN,
      catalog: 'cat.yaml',
      ...config,
    }),
    'cat.yaml': JSON.stringify(catalog),
  })
  const withConfig = (args: string[]) => [...args, '--config', 'c.yaml']
  return {
    folder,
    run: (...args: string[]) => command(withConfig(args), folder),
    bin: (...args: string[]) => runBin(withConfig(args), folder),
  }
}

t.test('help and wrong usage', async t => {
  const { folder } = create(t)
  const commands = ['serve', 'check', 'migrate', 'apply', 'audit', 'usage', 'prune', 'statement', 'simulate', 'demo']
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  t.match(runBin(['--version'], folder), { status: 0, stdout: `${version}\n`, stderr: '' })
  const all = await command(['--help'], folder)
  t.match(all, { status: 0, stderr: '' })
  for (const name of commands) {
    t.match(all.stdout, `  ${name} `)
    const help = await command([name, '--help'], folder)
    t.match(help, { status: 0, stdout: new RegExp(`^Usage: gateway ${name} `), stderr: '' }, `${name} --help`)
    t.match(help.stdout, '--config <file>')
  }
  for (const [args, expected] of [
    [['nope'], /unknown command 'nope'\n\(`gateway help` lists/],
    [[], /Usage: gateway/],
    [['check', '--nope'], /unknown option '--nope'/],
    [['apply'], /missing required argument 'file'/],
    [['simulate', '--listen', 'x'], /Expected host:port/],
    [['simulate', '--latency', '5'], /Expected a duration/],
    [['simulate', '--error-rate', '2'], /Expected a number from 0 to 1/],
  ] as const) {
    t.match(await command([...args], folder), { status: 2, stdout: '', stderr: expected }, args.join(' '))
  }
})

t.test('check', async t => {
  const good = create(t)
  t.strictSame(await good.run('check'), {
    status: 0,
    stdout: 'ok: c.yaml, catalogue cat.yaml: 1 group, 1 model, 1 channel, 1 account, 1 key\n',
    stderr: '',
  })
  writeFileSync(`${good.folder}/cat.yaml`, JSON.stringify({ ...CATALOG, accounts: [] }))
  t.match(await good.run('check'), {
    status: 1,
    stdout: '',
    stderr: /^cat\.yaml:1:\d+: keys\[0\]\.account: expected .*, found "a"\n$/,
  })
  writeFileSync(`${good.folder}/c.yaml`, 'limits:\n  body: 12 bananas\nnope: 1\n')
  t.match(await good.run('check'), {
    status: 1,
    stdout: '',
    stderr: /^c\.yaml:2:9: limits\.body: .*\nc\.yaml:3:1: nope: .*\n$/,
  })
})

t.test('check warns of links to pictures that will not do, and makes nothing', async t => {
  const main = 'https://api.example'
  const rows: [config: object, said: RegExp][] = [
    [{ images: { links: 'new' }, public: { main } }, /^(?!.*images)/],
    [{ images: { links: 'cat.yaml' }, public: { main } }, /images\.links: .*cat\.yaml is not a folder/],
    [{ images: { links: 'new' } }, /images\.links: without public\.main, links lead to the host/],
  ]
  for (const [config, said] of rows) {
    const { folder, run } = create(t, config)
    t.match(await run('check'), { status: 0, stderr: said })
    t.notOk(existsSync(`${folder}/new`))
  }
})

t.test('migrate, apply, audit', async t => {
  const { folder, run, bin } = create(t)
  t.strictSame(bin('migrate'), { status: 0, stdout: 'ok: the schema of sqlite:books.db is current\n', stderr: '' })
  const would = await run('apply', 'cat.yaml', '--dry-run')
  t.match(would, { status: 0, stderr: 'nothing was changed: this was a dry run\n' })
  const done = await run('apply', 'cat.yaml')
  t.match(done, { status: 0, stdout: /^models\tcreated m, 0 unchanged$/m, stderr: '' })
  t.equal(would.stdout, done.stdout)
  t.match(await run('apply', 'cat.yaml'), { status: 0, stdout: /^keys\t1 unchanged$/m, stderr: '' })
  const books = { accounts: 1, credits: '7.000000', charges: '0.000000', balances: '7.000000', leased: '0.000000' }
  t.strictSame(JSON.parse((await run('audit', '--json')).stdout), {
    ok: true,
    ...books,
    imbalance: '0.000000',
    by_hand: '7.000000',
    proven: '0.000000',
    set_aside: 0,
    broken: 0,
    unfit: [],
    findings: [],
  })
  t.match(await run('audit'), { status: 0, stdout: /^credits\t7\.000000$/m, stderr: 'the books balance\n' })

  const store = new DatabaseSync(`${folder}/books.db`)
  store.exec("UPDATE purses SET credit = credit + 1 WHERE id LIKE 'a%'")
  store.close()
  t.match(bin('audit'), {
    status: 1,
    stdout: /^imbalance\t0\.000001$/m,
    stderr:
      /^the books do not balance: 1 accounts\n\w+: the entries of the account are the credit of its purse: expected 7\.000000, found 7\.000001 \(0\.000001\)\n {4}mended by: /,
  })
  const again = new DatabaseSync(`${folder}/books.db`)
  again.exec(
    'INSERT INTO entries (account_id, kind, reference, payment, amount, booked_at_ms, actor, note) ' +
      "VALUES (1, 'payment', 'bsc:56:gone:1', 'bsc:56:gone:1', 1, 1, '', '')",
  )
  again.close()
  t.match(
    await run('audit'),
    { status: 1, stderr: /^payments that do not fit: bsc:56:gone:1$/m },
    'what is wrong is named',
  )
  const broken = await run('audit', '--json')
  t.equal(broken.status, 1)
  t.match(JSON.parse(broken.stdout), { ok: false, imbalance: '0.000002' })
})

t.test('the statement of an account', async t => {
  const { run } = create(t)
  const month = await lastingMonth()
  await run('migrate')
  await run('apply', 'cat.yaml')
  const csv = await run('statement', 'a', '--month', month)
  t.match(csv, {
    status: 0,
    stderr: '',
    stdout: /,opening,opening,7\.000000,7\.000000,catalogue,\n.*closing balance,,,7\.000000,,\n$/,
  })
  t.match((await run('statement', 'a', '--month', month, '--format', 'html')).stdout, /^<!doctype html>/)
  t.match(JSON.parse((await run('statement', 'a', '--month', month, '--format', 'json')).stdout), {
    account: 'a',
    closed: false,
  })
  t.match(await run('statement', 'b', '--month', month), { status: 3, stderr: 'gateway: there is no account b\n' })
  t.match(await run('statement', 'a', '--month', '2026-13'), {
    status: 2,
    stderr: /^gateway: --month: expected a month/,
  })
  t.equal((await run('statement', 'a')).status, 2)
})

t.test('usage, requests, rollups, prune', async t => {
  const { folder, run } = create(t)
  await run('migrate')
  await run('apply', 'cat.yaml')
  const store = openStore(`sqlite:${folder}/books.db`, { secret: 'x' })
  t.teardown(() => store.close())
  const [key] = await store.keys.list()
  const ids = [1, 2].map(day => `${idAt(Date.UTC(2026, 0, day))}n0de0000001`)
  await store.books.settle(ids.map(id => settlement(usageRow(id, key!, 3), 'h', 0)))
  const parsed = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as object)
  const newest = ['usage', '--account', 'a', '--from', '2026-01-02']
  t.match(parsed((await run(...newest, '--json')).stdout), [
    { data: [{ request_id: ids[1], charge: '0.000003' }], next: null },
  ])
  t.match(await run(...newest), {
    status: 0,
    stdout: `2026-01-02T00:00:00.000Z\ta\tbeta-4.7\t0.000003\t${ids[1]}\t200\tok\tone\t1\t2\t5\t6\t-\t1\n`,
    stderr: '',
  })
  t.match(await run('usage', '--limit', '1'), { status: 0, stderr: 'there are more: --limit prints more of them\n' })
  t.match(parsed((await run('usage', '--by', 'model', '--json')).stdout), [
    { data: [{ model: 'beta-4.7', requests: 2 }] },
  ])
  t.equal(
    (await run('usage', '--by', 'model,day')).stdout.split('\n')[0],
    'beta-4.7\t2026-01-01\t0.000003\t-\t-\t0\t1\t0\t1\t2\t5\t6',
  )
  t.match(parsed((await run('usage', '--jsonl')).stdout), [
    { request_id: ids[1] },
    { request_id: ids[0] },
    { count: 2 },
  ])
  t.match((await run('usage', '--csv')).stdout, /^request_id,[\s\S]*\n# rows: 2\n$/)
  t.match(await run('usage', '--outcome', 'bad'), {
    status: 2,
    stdout: '',
    stderr: /^[^\n]*outcome: expected one of[^\n]*\n$/,
  })
  t.match(JSON.parse((await run('requests', 'show', ids[0]!, '--json')).stdout), { request_id: ids[0], lines: [] })
  t.match(await run('requests', 'show', '0'), { status: 3, stderr: /there is no request 0/ })
  t.match((await run('rollups', 'rebuild')).stdout, /^ok: /)
  t.equal((await run('rollups', 'rebuild', '--json')).stdout, '{"corrected":0}\n')
  const before = ['prune', '--before', '2026-01-02']
  t.equal((await run(...before, '--dry-run')).stdout, '1 rows would be deleted, which charged 0.000003 CNY together\n')
  t.equal((await run(...before, '--dry-run', '--json')).stdout, '{"rows":1,"charge":"0.000003"}\n')
  t.match(await run(...before), { status: 2, stderr: 'gateway: prune: without a terminal, say --yes\n' })
  t.equal((await run(...before, '--yes', '--json')).stdout, '{"deleted":1}\n')
  t.equal((await run(...before, '--yes')).stdout, '0 rows deleted\n')
  t.match(JSON.parse((await run('requests', 'show', ids[0]!, '--json')).stdout), {
    pruned: { day: '2026-01-01', requests: 1 },
  })
  t.match(await run('audit'), { status: 0 })
  t.match(await run('prune'), { status: 2, stderr: /required option '--before/ })
})

t.test('what is typed is judged before anything is opened', async t => {
  const { run } = create(t) // there is no store
  for (const args of [
    'usage --from yesterday',
    'usage --by colour',
    'usage --csv --key x',
    'prune --yes --before soon',
  ])
    t.match(await run(...args.split(' ')), { status: 2, stderr: /^gateway: .*: expected / }, args)
})

t.test('failures are one clear line', async t => {
  const table: [args: string[], config: object, expected: RegExp][] = [
    [['serve'], { admin_token: '' }, /^[^\n]*admin_token: expected [^\n]*\n$/],
    [['apply', 'cat.yaml'], { admin_token: '' }, /^c\.yaml: secret: expected a secret or an admin_token[^\n]*\n$/],
    [['apply', 'gone.yaml'], {}, /^gone\.yaml: expected a readable file[^\n]*\n$/],
    [['audit'], {}, /^c\.yaml: store: expected a store, found no file [^\n]*\n$/],
    [
      ['migrate'],
      { store: 'mysql://u:hunter2@127.0.0.1:1/d' },
      /^gateway: the store cannot be used: (?!.*hunter2)[^\n]*\n$/,
    ],
    [['migrate'], { store: 'mysql://u:hunter2@h/d?nope=1' }, /^gateway: (?!.*hunter2)[^\n]*\n$/],
  ]
  for (const [args, config, expected] of table) {
    const { run, bin } = create(t, config)
    t.match(
      args[0] === 'serve' ? bin(...args) : await run(...args),
      { status: 1, stdout: '', stderr: expected },
      `${args} ${JSON.stringify(config)}`,
    )
  }
})

t.test('the config file is the one named, else that of GATEWAY_CONFIG, /etc/gateway or the working folder', async t => {
  const { folder } = create(t)
  const check = (env: Record<string, string>, ...args: string[]) => runBin(['check', ...args], folder, GATEWAY, env)
  const PATH = process.env['PATH']!
  t.match(check({ PATH, GATEWAY_CONFIG: 'nowhere.yaml' }), { status: 1, stderr: /^nowhere\.yaml: / })
  t.match(check({ PATH, GATEWAY_CONFIG: 'nowhere.yaml' }, '--config', 'c.yaml'), { status: 0, stdout: 'ok: c.yaml, ' })
  if (existsSync('/etc/gateway/gateway.yaml')) return t.comment('this machine has a config, which comes first')
  t.match(check({ PATH }), { status: 1, stderr: /no config file: there is none at .*--config or GATEWAY_CONFIG/ })
  mkdirSync(`${folder}/config`)
  for (const file of ['config/gateway.yaml', 'gateway.yaml']) {
    const text = readFileSync(`${folder}/c.yaml`, 'utf8').replace('cat.yaml', `${folder}/cat.yaml`)
    writeFileSync(`${folder}/${file}`, text)
    t.match(check({ PATH }), { status: 0, stdout: `ok: ${file}, ` })
  }
})

t.test('bin/gateway follows links and finds a Node', async t => {
  const { folder } = create(t)
  symlinkSync(GATEWAY, `${folder}/first`)
  mkdirSync(`${folder}/bin`)
  symlinkSync('../first', `${folder}/bin/second`)
  t.equal(runBin(['--help'], folder, `${folder}/bin/second`).status, 0)

  copyFileSync(GATEWAY, `${folder}/bin/gateway`)
  mkdirSync(`${folder}/path`)
  const path = { PATH: `${folder}/path` }
  const bare = runBin(['--help'], folder, `${folder}/bin/gateway`, path)
  t.match(bare, {
    status: 1,
    stdout: '',
    stderr: /^gateway: Node\.js 24\.7 or newer is needed and none was found: [^\n]*\n$/,
  })
  for (const [version, status, expected] of [
    ['20.20.2', 1, /^gateway: Node\.js 24\.7 or newer is needed, .* is 20\.20\.2: install it [^\n]*\n$/],
    ['24.6.1', 1, /24\.7 or newer is needed, .* is 24\.6\.1: /],
    ['24.7.0', 0, /^$/],
    ['24.12.0', 0, /^$/],
    ['26.0.0', 0, /^$/],
  ] as const) {
    writeFileSync(`${folder}/path/node`, `#!/bin/sh\n[ "$1" = -p ] && echo ${version} && exit\necho "$@"\n`)
    chmodSync(`${folder}/path/node`, 0o755)
    t.match(runBin(['a b', 'c'], folder, `${folder}/bin/gateway`, path), { status, stderr: expected }, version)
  }
})
