// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
// The bug behind these rows: slips that check passes.
/** What a check must say of a catalogue file, and where secrets come from and stay. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { applyCatalog, applyWithSense } from '../../lib/operations/catalogue/apply.ts'
import { openStore } from '../../lib/store/store.ts'
import { loadCatalog, parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { loadConfig, parseConfig } from '../../lib/config/config.ts'
import { sayOfCatalog } from '../sense/support.ts'
import { commandLine } from '../support/command-line.ts'

type Json = Record<string, unknown>

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CHANNEL = {
  name: 'c',
  base_url: 'http://127.0.0.1:9',
  protocols: ['chat'],
  key: 'up',
  groups: ['default'],
  models: ['beta-4.7'],
}
const FILE = {
  groups: [{ name: 'vip', public: true }],
  models: [{ name: 'beta-4.7', price: { input: 1, output: 2 }, max_output: 64000 }],
  channels: [CHANNEL],
  accounts: [{ name: 'acme', groups: ['default'] }],
  keys: [{ account: 'acme', name: 'k', secret: 'sk-0123456789abcdef' }],
}
const NOTHING = { accounts: [], groups: [] }
const parse = (change: Json) => parseCatalog(JSON.stringify({ ...FILE, ...change }, null, 1), 'cat.yaml', {})
/** A gateway at which everybody may register, so that a catalogue is shown to strangers. */
const OPEN = parseConfig(
  JSON.stringify({ registration: { mode: 'open' }, smtp: { host: 'mail', from: 'a@b.example' } }),
  'c.yaml',
  {},
)
const warned = (change: Json) => sayOfCatalog(parse(change), OPEN)

t.test('what can be applied and is probably not meant', async t => {
  const [key] = FILE.keys
  const rows: [change: Json, ...expected: RegExp[]][] = [
    [{}],
    [
      { channels: [{ ...CHANNEL, models: ['beta-4.7', 'beta-47'] }] },
      /^cat\.yaml:\d+:\d+: channels\[0\]\.models\[1\]: expected a model that has a price \(did you mean beta-4\.7\?\), found "beta-47" \[unpriced\]$/,
    ],
    [
      { channels: [{ ...CHANNEL, models: { 'beta-4.7': 'x', other: 'y' } }] },
      /channels\[0\]\.models\.other: expected a model that has a price, found "other" \[unpriced\]$/,
    ],
    [
      { models: [...FILE.models, { name: 'free' }], channels: [{ ...CHANNEL, models: ['beta-4.7', 'free'] }] },
      /channels\[0\]\.models\[1\]: expected a model that has a price, found "free" \[unpriced\]$/,
    ],
    [
      { models: [...FILE.models, { name: 'beta-5', price: { request: 1 } }] },
      /models\[1\]\.name: expected a model that an enabled channel serves, found "beta-5" \[unserved\]$/,
    ],
    [
      { channels: [{ ...CHANNEL, status: 'disabled' }] },
      /models\[0\]\.name: expected a model that an enabled channel serves, found "beta-4\.7" \[unserved\]$/,
    ],
    ...(
      ['/v1/chat/completions', '/v1/messages', '/v1/responses', '/v1beta/models', '/v1/images/generations'] as const
    ).map((path): [Json, RegExp] => [
      { channels: [{ ...CHANNEL, base_url: `http://127.0.0.1:9${path}` }] },
      /channels\[0\]\.base_url: expected an address without the path of (chat|messages|responses|generate|images), /,
    ]),
    [
      {
        channels: [
          { ...CHANNEL, weight: 0 },
          { ...CHANNEL, name: 'd', weight: 0 },
        ],
      },
      /channels\[0\]\.weight: expected a weight above 0 at one of the channels/,
    ],
    [
      {
        channels: [
          { ...CHANNEL, weight: 0 },
          { ...CHANNEL, name: 'd', weight: 0, priority: 1 },
        ],
      },
      /channels\[0\]\.weight: expected a weight above 0 at one of the channels/,
    ],
    [
      {
        channels: [
          { ...CHANNEL, weight: 0 },
          { ...CHANNEL, name: 'd' },
        ],
      },
    ],
    [
      { groups: [{ name: 'vip' }, { name: 'new', public: 'false' }] },
      /^registration\.mode: expected a group with public: true in the catalogue, .*\[nothing_public\]$/,
    ],
    [{ groups: [{ name: 'vip' }], channels: [] }, /models\[0\]\.name: expected a model that an enabled channel serves/],
    [
      { keys: [{ ...key, group: 'vip' }] },
      /keys\[0\]\.group: expected a group of account acme \(default\), found "vip" \[key_group\]$/,
    ],
    [
      { keys: [{ ...key, models: ['beta-4.6'] }] },
      /keys\[0\]\.models\[0\]: expected a model that an enabled channel serves \(did you mean beta-4\.7\?\), found "beta-4\.6" \[key_model\]$/,
    ],
  ]
  for (const [change, ...expected] of rows) {
    const found = warned(change)
    t.match(found, expected, JSON.stringify(change))
    t.equal(found.length, expected.length, JSON.stringify(found))
  }
  t.same(sayOfCatalog(loadCatalog(`${ROOT}config/catalog.yaml`, {}), OPEN), [], 'the example is clean')
})

t.test('names that stand nowhere are refused, with what was probably meant', async t => {
  const [key] = FILE.keys
  for (const [change, expected] of [
    [
      { channels: [{ ...CHANNEL, groups: ['vp'] }] },
      /channels\[0\]\.groups\[0\]: expected one of the groups default, vip \(did you mean vip\?\), found "vp"$/,
    ],
    [
      { keys: [{ ...key, account: 'acmee' }] },
      /keys\[0\]\.account: expected one of the accounts acme \(did you mean acme\?\), found "acmee"$/,
    ],
    [
      { channels: [{ ...CHANNEL, protocols: ['chta'] }] },
      /protocols\[0\]: expected one of .*\(did you mean chat\?\), found "chta"$/,
    ],
  ] as const)
    t.throws(() => parse(change).checkReferences(NOTHING), expected)
  const many = { accounts: Array.from({ length: 3000 }, (_, i) => `customer-${i}`), groups: [] }
  t.throws(() => parse({ keys: [{ ...key, account: 'customer-7x' }] }).checkReferences(many), /^.{1,600}$/)
})

t.test('apply knows what the store has beside the file', async t => {
  const store = openStore('sqlite::memory:', { secret: 'a test secret' })
  t.teardown(() => store.close())
  await store.migrate()
  const models = { models: FILE.models, groups: FILE.groups, channels: [], accounts: [], keys: [] }
  await applyCatalog(store, parse(models), systemClock)
  const channels = { ...models, models: [], groups: [], channels: [CHANNEL] }
  await applyCatalog(store, parse(channels), systemClock)
  const terms = { config: null, configBefore: null, machine: null, force: false }
  for (const file of [models, channels])
    t.same((await applyWithSense(store, parse(file), systemClock, terms)).warnings, [])
})

const command = commandLine()
const run = (folder: string, ...args: string[]) => command([...args, '--config', 'c.yaml'], folder)
const config = (more: Json) => JSON.stringify({ store: 'sqlite:s.db', journal: 'j', catalog: 'cat.yaml', ...more })

t.test('an address of the store that is none is shown, unless a password may stand in it', async t => {
  const problem = (store: string) => {
    try {
      parseConfig(JSON.stringify({ store }), 'c.yaml', {})
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  t.match(problem('postgres://db/x'), /store: expected .*, found "postgres:\/\/db\/x"$/)
  for (const store of ['postgres://u:hunter2@h/d', 'mysql://u:hunter2/d', 'hunter2@h', 'mysql://hunter2@h'])
    t.notMatch(problem(store), /"[^"]*hunter2@?h?\/?d?"$/, store)
  t.match(problem('postgres://u:hunter2@h/d'), /not shown/)
})

t.test('check prints warnings and goes on; secrets that cannot be read are said', async t => {
  const folder = t.testdir({
    'c.yaml': config({ admin_token: 'the-first-token' }),
    'cat.yaml': JSON.stringify({ ...FILE, channels: [{ ...CHANNEL, models: ['beta-4.7', 'beta-47'] }] }),
  })
  const slip = /^warning: cat\.yaml:1:\d+: channels\[0\]\.models\[1\]: .*\(did you mean beta-4\.7\?\)/
  t.match(await run(folder, 'check'), { status: 0, stdout: /^ok: /, stderr: slip })
  t.match(await run(folder, 'apply', 'cat.yaml'), { status: 0, stderr: slip })
  writeFileSync(`${folder}/c.yaml`, config({ admin_token: 'the-second-token' }))
  t.match((await run(folder, 'check')).stderr, /^warning: store: channel c: sealed under another secret/m)
  writeFileSync(`${folder}/c.yaml`, config({ admin_token: 'the-second-token', secret_previous: 'the-first-token' }))
  t.notMatch((await run(folder, 'check')).stderr, /sealed/)
})

t.test('secrets from files, named from the folder of the file that names them, and read again', async t => {
  const folder = t.testdir({
    conf: {
      'c.yaml': 'admin_token: ${file:secrets/token}\ncatalog: cat.yaml\n',
      'cat.yaml': JSON.stringify({ ...FILE, channels: [{ ...CHANNEL, key: '${file:secrets/up}' }] }),
      secrets: { token: 'a-token-from-a-file\n', up: 'up-from-a-file\r\n' },
    },
  })
  const { adminToken, catalog } = loadConfig(`${folder}/conf/c.yaml`, {})
  t.equal(adminToken, 'a-token-from-a-file')
  t.equal(catalog, `${folder}/conf/cat.yaml`)
  const key = () => loadCatalog(catalog as string, {}).channels[0]?.keys[0]?.key
  t.equal(key(), 'up-from-a-file')
  writeFileSync(`${folder}/conf/secrets/up`, 'up-changed')
  t.equal(key(), 'up-changed')
  writeFileSync(`${folder}/conf/secrets/up`, 'x'.repeat(70_000))
  t.throws(key, /channels\[0\]\.key: expected secrets\/up to be a readable file of at most 64 KiB, found /)
  writeFileSync(`${folder}/conf/c.yaml`, 'admin_token: ${file:gone}')
  t.throws(
    () => loadConfig(`${folder}/conf/c.yaml`, {}),
    /c\.yaml:1:14: admin_token: expected gone to be a readable file/,
  )
  const pem = readFileSync(new URL('../../node_modules/node/package.json', import.meta.url), 'utf8')
  mkdirSync(`${folder}/conf/certs`)
  writeFileSync(`${folder}/conf/certs/ca.pem`, pem)
  writeFileSync(`${folder}/conf/cat.yaml`, JSON.stringify({ channels: [{ ...CHANNEL, ca: 'certs/ca.pem' }] }))
  t.throws(key, /channels\[0\]\.ca: expected PEM certificates, or a file of them, found "certs\/ca\.pem"/)
})

t.test('a header that is the transport’s carries no key, and no text of a client', t => {
  const channel = (more: object) => ({
    channels: [
      {
        name: 'a',
        base_url: 'https://a.example',
        protocols: ['chat'],
        key: 'k',
        groups: ['default'],
        models: ['m'],
        ...more,
      },
    ],
  })
  const read = (more: object) => () => parseCatalog(JSON.stringify(channel(more)), 'catalog', {})
  for (const name of ['content-length', 'Transfer-Encoding', 'host', 'expect', 'keep-alive', 'proxy-connection']) {
    t.throws(read({ auth: { header: name } }), { message: /auth\.header: expected a header name that is not about/ })
    t.throws(read({ pass_headers: [name] }), { message: /pass_headers\[0\]/ })
    t.throws(read({ headers: { 'x-a': name } }), { message: /headers/ })
    t.throws(() => parseConfig(JSON.stringify({ wire: { 'alpha-beta': [name] } }), 'config', {}), { message: /wire/ })
  }
  t.doesNotThrow(read({ auth: { header: 'X-Key' } }))
  t.end()
})
