// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
import t from 'tap'
import { type CatalogFile, loadCatalog, parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { ConfigError } from '../../lib/config/config.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'

const FILE = new URL('../../config/catalog.yaml', import.meta.url).pathname
const NOTHING = { accounts: [], groups: [] }

const CHANNEL = {
  name: 'c',
  base_url: 'http://127.0.0.1:9',
  protocols: ['chat'],
  key: 'k',
  groups: ['default'],
  models: ['m'],
}
const KEY = { account: 'a', name: 'k', secret: 'sk-0123456789' }

const parse = (document: unknown, env: NodeJS.ProcessEnv = {}): CatalogFile =>
  parseCatalog(typeof document === 'string' ? document : JSON.stringify(document), 'cat.yaml', env)

function problemsOf(document: unknown): readonly string[] {
  try {
    parse(document).checkReferences(NOTHING)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
}

const OTHER = { price: null, maxOutput: null, defaultOutput: 4096, inputFactor: 1_100_000, ...MODEL_DEFAULTS }

t.test('records, with every default', async t => {
  const file = parse({
    groups: [
      { name: 'default' },
      { name: 'vip', multiplier: '0.5', rate: { requests: 3, minutes: 2 }, hedge: { after: '2s' }, public: true },
    ],
    models: [
      { name: 'm', price: { input: 2.1, output: '0.000001' } },
      {
        name: 'n',
        max_output: 5,
        default_output: 6,
        input_factor: 1.3,
        max_input: 7,
        max_searches: 0,
        context: 8,
        overhead_input: 0,
        picture_input_max: 9,
      },
      { name: 'o', family: 'beta', offline: true },
      { name: 'p', offline: ['vip', 'vip'] },
      { name: 'q', offline: 'false' },
      { name: 'r', image_form: 'base64' },
    ],
    channels: [CHANNEL],
    accounts: [{ name: 'a' }, { name: 'b', groups: ['vip'], balance: 0.5, budget: { amount: '3', every: 'month' } }],
    keys: [KEY],
  })
  t.strictSame(file.groups, [
    { name: 'default', multiplier: 1_000_000, rate: null, hedgeMs: 0, readOns: 256, public: false },
    { name: 'vip', multiplier: 500_000, rate: { requests: 3, minutes: 2 }, hedgeMs: 2000, readOns: 256, public: true },
  ])
  t.strictSame(file.models, [
    {
      name: 'm',
      price: { input: 2_100_000, output: 1 },
      maxOutput: null,
      defaultOutput: 4096,
      inputFactor: 1_100_000,
      ...MODEL_DEFAULTS,
    },
    {
      name: 'n',
      price: null,
      maxOutput: 5,
      defaultOutput: 6,
      inputFactor: 1_300_000,
      ...MODEL_DEFAULTS,
      maxInput: 7,
      maxSearches: 0,
      context: 8,
      overheadInput: 0,
      pictureInputMax: 9,
    },
    { ...OTHER, name: 'o', family: 'beta', offline: true },
    { ...OTHER, name: 'p', offline: ['vip'] },
    { ...OTHER, name: 'q' },
    { ...OTHER, name: 'r', imageForm: 'base64' },
  ])
  t.strictSame(file.channels, [
    {
      name: 'c',
      baseUrl: 'http://127.0.0.1:9',
      kind: null,
      paths: {},
      query: {},
      protocols: ['chat'],
      keys: [{ key: 'k', maxConcurrency: 0 }],
      authHeader: null,
      headers: {},
      passHeaders: [],
      groups: ['default'],
      models: { m: 'm' },
      weight: 1,
      priority: 0,
      maxConcurrency: 0,
      proxy: null,
      ca: null,
      http2: false,
      private: false,
      cost: null,
      budget: null,
      translate: true,
      cacheMarks: 'off',
      finish: 'strict',
      readsMax: [],
      thoughts: null,
      searches: null,
      status: 'enabled',
    },
  ])
  t.strictSame(file.accounts, [
    { name: 'a', groups: ['default'], balance: null, budget: null },
    { name: 'b', groups: ['vip'], balance: 500_000, budget: { amount: 3_000_000, every: 'month' } },
  ])
  t.strictSame(file.keys, [
    {
      account: 'a',
      name: 'k',
      secret: 'sk-0123456789',
      group: 'default',
      expiresAtMs: null,
      cap: null,
      allowIps: null,
      models: null,
      status: 'enabled',
    },
  ])
})

t.test('optional settings', async t => {
  const channel = {
    ...CHANNEL,
    base_url: '${URL:-https://upstream.example/}',
    auth: { header: 'X-Api-Key' },
    headers: { 'Alpha-Version': 'anthropic-version', 'x-title': '=Our title' },
    pass_headers: ['X-Session'],
    models: { 'beta-4.7': 'upstream/beta' },
    weight: 0,
    priority: -1,
    status: 'disabled',
  }
  const key = {
    ...KEY,
    expires_at: '2030-01-31T00:00:00Z',
    cap: 1,
    allow_ips: ['10.0.0.0/8'],
    models: [],
    status: 'disabled',
  }
  const file = parse({ channels: [channel], keys: [key] })
  t.match(file.channels[0], {
    baseUrl: 'https://upstream.example',
    authHeader: 'x-api-key',
    headers: { 'alpha-version': 'anthropic-version', 'x-title': '=Our title' },
    passHeaders: ['x-session'],
    models: { 'beta-4.7': 'upstream/beta' },
    weight: 0,
    priority: -1,
    status: 'disabled',
  })
  t.match(file.keys[0], {
    expiresAtMs: 1_896_048_000_000,
    cap: { amount: 1_000_000, every: null },
    allowIps: ['10.0.0.0/8'],
    models: [],
    status: 'disabled',
  })
})

t.test('problems', async t => {
  const table: [document: unknown, ...problems: RegExp[]][] = [
    [
      { models: [{ name: 'm', price: { input: -1 } }] },
      /^cat\.yaml:1:\d+: models\[0\]\.price\.input: expected a price .*, found -1$/,
    ],
    [
      { models: [{ name: 'm', prise: { input: 1 } }] },
      /models\[0\]\.prise: expected one of name, price, .*did you mean price/,
    ],
    [{ models: [{ name: 'm', price: { inputs: 1 } }] }, /models\[0\]\.price\.inputs: .*did you mean input/],
    [{ models: [{ name: 'm', price: {} }] }, /models\[0\]\.price: expected at least one price, found a map/],
    [
      { models: [{ name: 'm', price: { output: 1, image: 1 } }] },
      /models\[0\]\.price\.input: expected a price of input beside the other prices of tokens/,
    ],
    [{ models: [{ name: 'm', price: { cache_read: 0 } }] }, /models\[0\]\.price\.input: expected/],
    [{ models: [{ price: { input: 1 } }] }, /models\[0\]\.name: expected a name .*, found nothing/],
    [
      { models: [{ name: 'm' }, { name: 'm' }] },
      /models\[1\]\.name: expected something else than models\[0\]\.name has, found "m"/,
    ],
    [{ models: [{ name: 'm', input_factor: 0 }] }, /models\[0\]\.input_factor: expected a factor above 0/],
    [{ models: [{ name: 'm', offline: 'today' }] }, /models\[0\]\.offline: expected true, false, or a list of groups/],
    [{ models: [{ name: 'm', offline: [''] }] }, /models\[0\]\.offline: expected true, false, or a list of groups/],
    [
      { models: [{ name: 'm', offline: ['default', 'gone'] }] },
      /models\[0\]\.offline\[1\]: expected one of the groups default, found "gone"/,
    ],
    [{ groups: [{ name: 'g', public: 1 }] }, /groups\[0\]\.public: expected true or false, found 1/],
    [{ groups: [{ name: 'g', multiplier: -1 }] }, /groups\[0\]\.multiplier: expected a factor, 0 or more/],
    [
      { channels: [{ ...CHANNEL, base_url: 'not a url' }] },
      /channels\[0\]\.base_url: expected an http.*, found something else \(not shown/,
    ],
    [{ channels: [{ ...CHANNEL, base_url: 'http://x?key=1' }] }, /channels\[0\]\.base_url: expected .* without query/],
    [
      { channels: [{ ...CHANNEL, protocols: ['smoke'] }] },
      /channels\[0\]\.protocols\[0\]: expected one of messages, .*, found "smoke"/,
    ],
    [
      { channels: [{ ...CHANNEL, protocols: [] }] },
      /channels\[0\]\.protocols: expected at least 1 entry, found a list/,
    ],
    [{ channels: [{ ...CHANNEL, key: undefined }] }, /channels\[0\].key: expected an upstream key, or a list/],
    [{ channels: [{ ...CHANNEL, keys: [{ key: 'b' }] }] }, /channels\[0\].key: expected either key or keys/],
    [
      { channels: [{ ...CHANNEL, key: undefined, keys: [{ key: 'b' }, { key: 'b' }] }] },
      /channels\[0\].key: expected keys that differ/,
    ],
    [{ channels: [{ ...CHANNEL, key: '' }] }, /channels\[0\]\.key: expected an upstream key/],
    [{ channels: [{ ...CHANNEL, models: 'm' }] }, /channels\[0\]\.models: expected a list of model names, or a map/],
    [{ channels: [{ ...CHANNEL, models: [''] }] }, /channels\[0\]\.models: expected a list of model names, or a map/],
    [{ channels: [{ ...CHANNEL, headers: { host: 'x' } }] }, /channels\[0\]\.headers: expected a map of header names/],
    [{ channels: [{ ...CHANNEL, headers: { 'x-api-key': 'x-other' } }] }, /channels\[0\]\.headers: expected/],
    [{ channels: [{ ...CHANNEL, headers: { 'x-a': '=a\nb' } }] }, /channels\[0\]\.headers: expected/],
    [
      { channels: [{ ...CHANNEL, pass_headers: ['authorization'] }] },
      /channels\[0\]\.pass_headers\[0\]: expected a header name that is neither/,
    ],
    [
      { channels: [{ ...CHANNEL, groups: ['default', 'gone'] }] },
      /channels\[0\]\.groups\[1\]: expected one of the groups default, found "gone"/,
    ],
    [{ channels: [CHANNEL, CHANNEL] }, /channels\[1\]\.name: /],
    [
      { accounts: [{ name: 'a', groups: ['gone'] }] },
      /accounts\[0\]\.groups\[0\]: expected one of the groups default, found "gone"/,
    ],
    [{ accounts: [{ name: 'a', balance: '1.0000001' }] }, /accounts\[0\]\.balance: expected an amount of CNY/],
    [{ accounts: [{ name: 'a', budget: { amount: 1 } }] }, /accounts\[0\]\.budget: expected an amount of CNY/],
    [{ accounts: [{ name: 'a', budget: { amount: 1, every: 'year' } }] }, /\.budget: expected .* day \| week \| month/],
    [{ accounts: [{ name: 'a', budget: { amount: -1, every: 'day' } }] }, /\.budget: expected/],
    [{ accounts: [{ name: 'a', budget: { amount: 1, every: 'day', from: 2 } }] }, /\.budget: expected/],
    [
      { accounts: [{ name: 'a' }], keys: [{ ...KEY, account: 'nobody' }] },
      /^cat\.yaml:\d+:\d+: keys\[0\]\.account: expected one of the accounts a, found "nobody"$/,
    ],
    [
      { accounts: [{ name: 'a' }], keys: [{ ...KEY, group: 'gone' }] },
      /keys\[0\]\.group: expected one of the groups default, found "gone"/,
    ],
    [
      { accounts: [{ name: 'a' }], keys: [KEY, { ...KEY, secret: 'sk-other' }] },
      /keys\[1\]\.name: expected something else than keys\[0\]\.name has, found "k"/,
    ],
    [
      { keys: [KEY, { ...KEY, name: 'l' }] },
      /keys\[1\]\.secret: expected something else than keys\[0\]\.secret has, found something else \(not shown/,
    ],
    [{ keys: [{ ...KEY, secret: 'pk-1' }] }, /keys\[0\]\.secret: expected a secret that begins with "sk-"/],
    [{ keys: [{ ...KEY, allow_ips: ['1.2.3'] }] }, /keys\[0\]\.allow_ips\[0\]: expected an address or a CIDR/],
    [{ keys: [{ ...KEY, expires_at: 'never' }] }, /keys\[0\]\.expires_at: expected a time/],
    ['{broken', /^cat\.yaml:1:\d+: expected YAML/],
  ]
  for (const [document, ...expected] of table) {
    const problems = problemsOf(document)
    t.equal(problems.length, expected.length, JSON.stringify(document))
    for (const [i, one] of expected.entries()) t.match(problems[i], one)
  }
})

t.test('secrets are not shown', async t => {
  const env = { SECRET: 'hunter2 x' }
  for (const row of [
    { keys: [{ ...KEY, secret: 'hunter2' }] },
    { keys: [{ ...KEY, secret: '${SECRET}' }] },
    { channels: [{ ...CHANNEL, key: 'hunter2 x' }] },
  ]) {
    t.throws(() => parse(row, env), /not shown/)
    t.throws(() => parse(row, env), { message: /^(?!.*hunter2)/s })
  }
})

t.test('references may be to what the store has', async t => {
  const file = parse({ channels: [{ ...CHANNEL, groups: ['stored'] }], keys: [{ ...KEY, group: 'stored' }] })
  t.doesNotThrow(() => file.checkReferences({ accounts: ['a'], groups: ['stored'] }))
  t.throws(() => parse({ keys: [KEY] }).checkReferences({ accounts: ['b'], groups: [] }), /accounts b, found "a"/)
})

t.test('a model may be routed without being described', async t => {
  t.strictSame(problemsOf({ channels: [CHANNEL] }), [])
})

t.test('the file in the checkout', async t => {
  const file = loadCatalog(FILE, {})
  file.checkReferences(NOTHING)
  t.ok(file.models.length >= 7)
  t.equal(file.keys.length, 0, 'no key that everyone knows')
  const routed = new Set(file.channels.flatMap(channel => Object.keys(channel.models)))
  t.strictSame(routed, new Set(file.models.map(model => model.name)))
  for (const model of file.models) t.ok(model.price, model.name)
  for (const channel of file.channels)
    t.match(channel, { baseUrl: 'http://127.0.0.1:3999', keys: [{ key: 'simulated' }] })
  const real = loadCatalog(FILE, { UPSTREAM_URL: 'https://upstream.example', UPSTREAM_KEY: 'real' })
  for (const channel of real.channels)
    t.match(channel, { baseUrl: 'https://upstream.example', keys: [{ key: 'real' }] })
})

t.test('where no upstream and no proxy may be: the row is named, what is secret is not', async t => {
  const of = (change: object) =>
    problemsOf({
      groups: [{ name: 'default' }],
      models: [{ name: 'm', price: { input: 1 } }],
      channels: [{ ...CHANNEL, ...change }],
    })
  const rows: [change: object, problem: RegExp][] = [
    [{ base_url: 'http://2852039166/' }, /channels\[0\]\.base_url: expected an address that is not link-local/],
    [{ proxy: 'http://user:hunter2@169.254.169.254' }, /channels\[0\]\.proxy: expected an address that is not/],
    [{ proxy: 'socks5://user:hunter2@0xA9FEA9FE:1' }, /channels\[0\]\.proxy: expected an address that is not/],
    [{ proxy: 'ftp://user:hunter2@x' }, /channels\[0\]\.proxy: expected a proxy as http/],
    [{ ca: '/nowhere.pem' }, /channels\[0\]\.ca: expected PEM certificates.*\/nowhere\.pem/],
  ]
  for (const [change, problem] of rows) {
    const problems = of(change)
    t.equal(problems.length, 1)
    t.match(problems[0], problem)
    t.notMatch(problems[0], /hunter2/)
    if (!('ca' in change) && !/ftp/.test(JSON.stringify(change))) t.same(of({ ...change, private: true }), [])
  }
})
