/** The commands about prices, as processes over one store. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { truncateSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const GATEWAY = fileURLToPath(new URL('../../bin/gateway', import.meta.url))
const LIST = fileURLToPath(new URL('../operations/price-import/litellm.json', import.meta.url))
const CATALOG = {
  models: [
    { name: 'm', price: { input: 1, output: 2 }, max_output: 9 },
    { name: '组/一', price: { request: 0.05 } },
    { name: 'unset' },
  ],
}

function create(t: Test) {
  const folder = t.testdir({
    'c.yaml': JSON.stringify({ store: 'sqlite:books.db', journal: 'j', admin_token: 'a-long-enough-token' }),
    'cat.yaml': JSON.stringify(CATALOG),
  })
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(GATEWAY, [...args, '--config', 'c.yaml'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }
  run('apply', 'cat.yaml')
  return { folder, run: (...args: string[]) => run('prices', ...args) }
}

t.test('help', async t => {
  const { run } = create(t)
  const all = spawnSync(GATEWAY, ['prices', '--help'], { encoding: 'utf8' })
  for (const name of ['list', 'show', 'history', 'set', 'import']) {
    t.match(all.stdout, `  ${name} `)
    t.match(run(name, '--help'), { status: 0, stdout: new RegExp(`^Usage: gateway prices ${name} `), stderr: '' })
  }
})

t.test('list, show, set, history', async t => {
  const { run } = create(t)
  t.match(run('list'), { status: 0, stdout: 'm\t1\t1\t2\t-\t\n组/一\t2\t-\t-\t-\trequest 0.05\n', stderr: '' })
  t.match(JSON.parse(run('list', '--json').stdout), {
    data: [
      { model: 'm', version: 1, actor: 'file', price: { input: 1, output: 2 } },
      { model: '组/一', version: 2 },
    ],
  })
  t.match(run('list', '--at', '2020-01-01'), { status: 0, stdout: '', stderr: '' })
  t.match(run('show', 'm'), {
    status: 0,
    stdout: 'input\t1\tper million tokens\noutput\t2\tper million tokens\n',
    stderr: /^m: version 1, since .*Z, by file\n$/,
  })
  t.match(run('show', 'unset'), { status: 0, stdout: '', stderr: 'unset has no price, so nobody can use it\n' })

  const over = ['over.200000.input=4', 'over.200000.output=5', 'tiers.flex=0.5']
  const shown = 'm\tinput\t1\t2\nm\ttiers.flex\t-\t0.5\nm\tover.200000.input\t-\t4\nm\tover.200000.output\t-\t5\n'
  t.match(run('set', 'm', 'input=2', ...over, '--dry-run'), {
    status: 0,
    stdout: shown,
    stderr: /^nothing was changed/,
  })
  t.match(run('set', 'm', 'input=2', ...over), { status: 0, stdout: shown, stderr: '' })
  t.match(run('set', 'm', 'input=2', ...over), { status: 0, stdout: '', stderr: 'm has this price already\n' })
  t.strictSame(JSON.parse(run('set', 'm', 'tiers.flex=', '--json').stdout), {
    model: 'm',
    changes: { 'tiers.flex': { before: '0.5', after: null } },
  })
  const history = run('history', 'm')
    .stdout.split('\n')
    .map(line => line.split('\t'))
  t.strictSame(
    history.slice(0, 3).map(([version, , , by, changes]) => [version, by, changes]),
    [
      ['4', 'cli', 'no tiers.flex'],
      ['3', 'cli', 'input 2, tiers.flex 0.5, over.200000.input 4, over.200000.output 5'],
      ['1', 'file', 'input 1, output 2'],
    ],
  )
  t.equal(history[0]![2], '-', 'the newest is in force')
  t.match(run('history', 'm', '--limit', '1'), { stderr: /there are more: --limit/ })
})

t.test('what is refused, and changes nothing', async t => {
  const { folder, run } = create(t)
  writeFileSync(`${folder}/bad.json`, '{"m": {"mode": "chat", "input_cost_per_token": "x"}}')
  writeFileSync(`${folder}/latin.csv`, Buffer.from([0x6d, 0xff]))
  writeFileSync(`${folder}/large.json`, '')
  truncateSync(`${folder}/large.json`, 20 * 1024 * 1024 + 1)
  for (const [args, status, stderr] of [
    [['set', 'n', 'input=1'], 3, /there is no model n/],
    [['set', 'm', 'inputs=1'], 2, /inputs: unknown field/],
    [['set', 'm', 'input=-1'], 2, /input: expected a price/],
    [['set', 'm', 'input='], 2, /input: expected a price of input beside/],
    [['set', 'm', 'input'], 2, /input: expected NAME=VALUE/],
    [['set', 'm'], 2, /missing required argument/],
    [['show', 'n'], 3, /there is no model n/],
    [['history', 'n'], 3, /there is no model n/],
    [['list', '--at', 'soon'], 2, /--at: expected a time/],
    [['import', 'bad.json'], 2, /--rate: expected/],
    [['import', 'bad.json', '--rate', '7'], 1, /^bad\.json: m\.input_cost_per_token: expected a number/],
    [['import', 'none.json', '--rate', '7'], 1, /ENOENT/],
    [['import', 'large.json', '--rate', '7'], 1, /^large\.json: expected a file of at most 20 MiB/],
    [['import', 'latin.csv'], 1, /^latin\.csv: expected text in UTF-8/],
    [['import', 'bad.json', '--format', 'xml'], 2, /Allowed choices are litellm, gateway, csv/],
  ] as const)
    t.match(run(...args), { status, stdout: '', stderr }, args.join(' '))
  t.match(run('list', '--json').stdout, /"version":1,.*"version":2,/)
})

t.test('import: shown first, then done once', async t => {
  const { folder, run } = create(t)
  const args = ['import', LIST, '--rate', '7.1', '--factor', '1.15', '--match', 'chat-tiers']
  const dry = run(...args, '--dry-run')
  t.match(dry, { status: 0, stdout: /^chat-tiers\tinput\t-\t10\.20625\n/ })
  t.match(dry.stderr, /^chat-tiers: not imported: regional_processing_uplift_multiplier_eu: 1\.1\n/)
  t.match(dry.stderr, /models: 1 made, 0 changed, 0 as before, 0 skipped, 0 not in the catalogue\nnothing was changed/)
  t.match(run('show', 'chat-tiers'), { status: 3 })
  const wet = run(...args)
  t.equal(wet.stdout, dry.stdout)
  t.match(run(...args), { status: 0, stdout: '', stderr: /0 made, 0 changed, 1 as before/ })
  writeFileSync(`${folder}/own.json`, run('list', '--json').stdout)
  t.match(run('import', 'own.json', '--format', 'gateway'), { stdout: '', stderr: /0 made, 0 changed, 3 as before/ })
  writeFileSync(`${folder}/own.csv`, 'model,input,output\nm,3,2\nnobody,1,1\n')
  t.match(run('import', 'own.csv', '--existing'), { status: 0, stdout: 'm\tinput\t1\t3\n', stderr: /1 not in the cat/ })
  t.match(JSON.parse(run('import', 'own.csv', '--dry-run', '--json').stdout), {
    models: [
      { model: 'm', outcome: 'same', changes: {}, notes: [] },
      { model: 'nobody', outcome: 'new', changes: { input: { before: null, after: '1' } } },
    ],
  })
})

t.test('processes that change one price at the same time undo nothing of each other', async t => {
  const { folder, run } = create(t)
  const paths = ['input', 'output', 'cache_read', 'image']
  const processes = paths.map((path, i) =>
    spawn(GATEWAY, ['prices', 'set', 'm', `${path}=${i + 5}`, '--config', 'c.yaml'], { cwd: folder, stdio: 'ignore' }),
  )
  for (const [status] of await Promise.all(processes.map(one => once(one, 'exit')))) t.equal(status, 0)
  t.match(JSON.parse(run('show', 'm', '--json').stdout), {
    data: [{ version: 6, price: { input: 5, output: 6, cache_read: 7, image: 8 } }],
  })
})
