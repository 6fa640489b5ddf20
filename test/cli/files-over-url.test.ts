// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
/** `apply` and `prices import` say the same on the store of this machine and over the admin API (`--url`), with secrets by variables and files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { commandLine } from '../support/command-line.ts'
import { ADMIN_TOKEN } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const run = commandLine()

const CATALOG = {
  groups: [{ name: 'staff' }],
  models: [{ name: 'm-url', price: { input: 2, output: 8 }, context: 100_000 }],
  channels: [
    {
      name: 'c-url',
      base_url: 'http://127.0.0.1:9',
      protocols: ['chat'],
      keys: [{ key: '${OPS_TEST_KEY}' }, { key: '${file:key.txt}' }],
      groups: ['staff'],
      models: ['m-url'],
    },
  ],
  accounts: [{ name: 'acme', groups: ['staff'], balance: 5 }],
  keys: [{ account: 'acme', name: 'k', secret: '${OPS_TEST_SECRET:-sk-0123456789-of-url}', group: 'staff' }],
}

t.test('the same answers here and there', async t => {
  const env = { OPS_TEST_KEY: 'up-secret-by-variable', GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN }
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-url-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string, content: string | object) =>
    writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content, null, 1))
  file('c.yaml', { store: 'sqlite:b.db', journal: 'j', admin_token: ADMIN_TOKEN })
  file('key.txt', 'up-secret-by-file\n')
  file('cat.yaml', CATALOG)
  file('no-group.yaml', { ...CATALOG, accounts: [{ name: 'acme', groups: ['stafff'] }] })
  file('no-variable.yaml', { ...CATALOG, channels: [{ ...CATALOG.channels[0], keys: [{ key: '${OPS_NOT_SET}' }] }] })
  file('loss.yaml', {
    models: [{ name: 'm-url', price: { input: 2, output: 8 } }],
    channels: [{ ...CATALOG.channels[0], cost: 9 }],
  })
  file('more.yaml', { ...CATALOG, groups: [{ name: 'staff', multiplier: 0.5 }, { name: 'guests' }] })
  file('prices.csv', 'model,input,output\nm-url,3,9\nm-new,1,2\n')
  file('bad.csv', 'model,input,output\nm-url,much,9\n')
  file('list.json', { 'm-url': { mode: 'chat', input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 } })
  file('variable.yaml', { models: [{ name: 'm-url', price: { input: '${OPS_TEST_KEY}' } }] })

  const gateway = await openGateway()
  t.teardown(() => gateway.stop())
  const both = async (typed: string) => {
    const words = typed.split(' ')
    const here = await run([...words, '--config', 'c.yaml'], folder, { env })
    const there = await run([...words, '--url', gateway.ops], folder, { env })
    return { here, there }
  }
  const steps: [typed: string, status: number, said: RegExp][] = [
    ['apply cat.yaml', 0, /^channels\s+created c-url, 0 unchanged$/m],
    ['apply cat.yaml', 0, /^keys\s+1 unchanged$/m],
    ['apply cat.yaml --json', 0, /"channels":\{"created":\[\],"updated":\[\],"kept":\[\],"same":1\}/],
    ['apply more.yaml --dry-run', 0, /^groups\s+created guests, updated staff, 0 unchanged$/m],
    ['apply more.yaml --dry-run --json', 0, /"updated":\["staff"\]/],
    ['apply no-group.yaml', 1, /no-group\.yaml:\d+:\d+: accounts\[0\]\.groups\[0\]: expected one of the groups/],
    ['apply no-variable.yaml', 1, /expected the environment variable OPS_NOT_SET to be set/],
    ['apply loss.yaml', 1, /loss\.yaml:\d+:\d+: .*\[/],
    ['apply none.yaml', 1, /none\.yaml: expected a readable file/],
    ['prices import prices.csv --dry-run', 0, /m-new/],
    ['prices import prices.csv', 0, /m-url/],
    ['prices import prices.csv --json', 0, /"outcome":"same"/],
    ['prices import bad.csv', 1, /bad\.csv/],
    ['prices import list.json', 2, /--rate: expected how many CNY one USD is/],
    ['prices import list.json --rate 7 --existing --dry-run', 0, /m-url/],
    ['prices import variable.yaml', 1, /variable\.yaml/],
  ]
  for (const [typed, status, said] of steps) {
    const { here, there } = await both(typed)
    t.equal(here.status, status, `${typed}: ${here.stderr}`)
    t.equal(there.status, status, `${typed}: ${there.stderr}`)
    t.match(here.stdout + here.stderr, said, typed)
    const alike = ({ stdout, stderr }: typeof here) => ({
      stdout,
      stderr: stderr.replaceAll(/one of the groups .*/g, ''),
    })
    // the gateway that runs has models and accounts of its own, which the rules of sense compare with
    t.same(alike(there).stdout, alike(here).stdout, typed)
    if (status !== 0 && !typed.includes('loss')) t.same(alike(there).stderr, alike(here).stderr, typed)
    for (const secret of ['up-secret-by-variable', 'up-secret-by-file'])
      t.notMatch(here.stdout + here.stderr + there.stdout + there.stderr, secret, typed)
  }
  const exported = await run(['export', '--url', gateway.ops], folder, { env })
  t.match(exported.stdout, /c-url/)

  const post = async (call: string, body: object) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const answer = await fetch(`${gateway.ops}/admin/${call}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: answer.status, text: await answer.text() }
  }
  t.test('nothing of the machine of the gateway is looked up for a file that was sent', async t => {
    const channel = { ...CATALOG.channels[0], name: 'thief', keys: undefined }
    for (const [name, change] of [
      ['a variable', { key: '${HOME}' }],
      ['a file', { key: '${file:/etc/hostname}' }],
      ['a file of certificates', { key: 'k', ca: '/etc/ssl/certs/ca-certificates.crt' }],
      ['a member of every object', { key: '${constructor}' }],
    ] as const) {
      const text = JSON.stringify({ channels: [{ ...channel, ...change }] })
      t.match(
        await post('catalogue', { text, file: 'x.yaml' }),
        { status: 400, text: /x\.yaml:1:\d+: channels\[0\]/ },
        name,
      )
    }
    const models = JSON.stringify({ models: [{ name: '${HOME}', price: { input: 1 } }] })
    const list = { text: models, file: 'x.yaml', format: 'gateway', dry_run: true }
    t.match(await post('prices/import', list), { status: 200, text: /"model":"\$\{HOME\}"/ }, 'a list has no variables')
  })
  t.test('bodies are bounded, each by its row', async t => {
    const text = 'x'.repeat(2 * 2 ** 20)
    t.match(await post('catalogue', { text, file: 'x' }), { status: 413, text: /1MiB/ })
    t.match(await post('prices/import', { text, file: 'x', format: 'csv' }), { status: 400 })
    t.match(await post('catalogue', { text: 'a: [', file: 'x' }), { status: 400, text: /x:1:\d+: expected YAML/ })
    t.match(await post('catalogue', { text: '{}', file: 'x', env: { A: 1 } }), { status: 400, text: /env/ })
  })
})
