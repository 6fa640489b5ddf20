import t from 'tap'
import { openOps, type Row } from './support.ts'

const CHANNEL = {
  base_url: 'https://up.example/',
  protocols: ['chat'],
  groups: ['default'],
  models: ['m'],
  key: 'up-secret',
}

/** Of a model, what is assumed of what a request brings beside its text. */
const BESIDE = {
  max_input: 200_000,
  media_input: 2000,
  tool_input: 16_000,
  max_searches: 10,
  searches: null,
  context: 2_000_000,
  overhead_input: 4096,
  picture_input_max: 65_536,
  image_form: null,
  thinking: null,
  efforts: [],
  sampling: 'all',
  system_turns: false,
  family: null,
  vendor: null,
  offline: false,
}

/** A price with all that there is. It is shown in the form in which it was set. */
const PRICE = {
  input: 2,
  input_audio: 3.5,
  output: 8,
  image: { sizes: { default: 0.28, '1024x1536/high': 1.6 } },
  web_search: 0.07,
  second: 0.001,
  character: 110,
  search_unit: 'prompt',
  over: [{ tokens: 200_000, input: 4, output: 12, cache_read: 0.4, image: { default: 0.5 } }],
  tiers: { priority: 2, 'geo:us': 1.1 },
}

t.test('rows: as written, as shown, as shown again after a PUT of what was shown', async t => {
  const rows: [path: string, sent: object, shown: object][] = [
    ['groups/vip', {}, { name: 'vip', multiplier: 1, rate: null, hedge: null, read_ons: 256, public: false }],
    [
      'groups/vip',
      { multiplier: '0.5', rate: { requests: 3 }, hedge: { after: '2s' }, read_ons: 256, public: true },
      {
        name: 'vip',
        multiplier: 0.5,
        rate: { requests: 3, minutes: 1 },
        hedge: { after: '2000ms' },
        read_ons: 256,
        public: true,
      },
    ],
    [
      'groups/vip',
      { rate: null },
      { name: 'vip', multiplier: 1, rate: null, hedge: null, read_ons: 256, public: false },
    ],
    [
      'models/m',
      { price: { input: 21, output: '105', cache_read: 2.1, image: 0.010001 } },
      {
        name: 'm',
        price: { input: 21, output: 105, cache_read: 2.1, image: 0.010001 },
        max_output: null,
        default_output: 4096,
        input_factor: 1.1,
        ...BESIDE,
      },
    ],
    [
      'models/m',
      { price: { request: '0.10', image: null }, max_output: 100, default_output: 5, input_factor: 1.3, tool_input: 9 },
      {
        name: 'm',
        price: { request: 0.1 },
        max_output: 100,
        default_output: 5,
        input_factor: 1.3,
        ...BESIDE,
        tool_input: 9,
      },
    ],
    [
      'models/m',
      { price: { image: 0.28 }, image_form: 'base64' },
      {
        name: 'm',
        price: { image: 0.28 },
        max_output: null,
        default_output: 4096,
        input_factor: 1.1,
        ...BESIDE,
        image_form: 'base64',
      },
    ],
    [
      'models/m',
      { price: { input: 1, output: 2 }, family: 'beta', offline: ['vip', 'default'] },
      {
        name: 'm',
        price: { input: 1, output: 2 },
        max_output: null,
        default_output: 4096,
        input_factor: 1.1,
        ...BESIDE,
        family: 'beta',
        offline: ['vip', 'default'],
      },
    ],
    [
      'models/m',
      { offline: true },
      { name: 'm', price: null, max_output: null, default_output: 4096, input_factor: 1.1, ...BESIDE, offline: true },
    ],
    [
      'models/m',
      { price: PRICE },
      { name: 'm', price: PRICE, max_output: null, default_output: 4096, input_factor: 1.1, ...BESIDE },
    ],
    [
      'models/m',
      { price: null, max_output: null },
      { name: 'm', price: null, max_output: null, default_output: 4096, input_factor: 1.1, ...BESIDE },
    ],
    [
      'channels/one',
      CHANNEL,
      {
        name: 'one',
        base_url: 'https://up.example',
        kind: null,
        paths: {},
        query: {},
        protocols: ['chat'],
        auth: null,
        headers: {},
        pass_headers: [],
        groups: ['default'],
        models: { m: 'm' },
        weight: 1,
        priority: 0,
        max_concurrency: 0,
        proxy: null,
        ca: null,
        http2: false,
        private: false,
        cost: null,
        budget: null,
        translate: true,
        cache_marks: 'off',
        finish: 'strict',
        reads_max: [],
        thoughts: null,
        searches: null,
        status: 'enabled',
        state: 'closed',
        balance: null,
      },
    ],
    [
      'channels/one',
      {
        ...CHANNEL,
        auth: { header: 'X-Api-Key' },
        headers: { 'Alpha-Version': 'anthropic-version', 'x-team': '=core' },
        pass_headers: ['X-Trace'],
        models: { m: 'upstream/m' },
        weight: 0,
        priority: -1,
        max_concurrency: 4,
        cost: { m: PRICE },
        budget: { amount: '7.5', from: '2026-11-01', warn_below: 1 },
        translate: ['messages'],
        cache_marks: 'auto',
        finish: 'lenient',
        reads_max: ['max_completion_tokens'],
        thoughts: 'within',
        status: 'disabled',
      },
      {
        name: 'one',
        base_url: 'https://up.example',
        kind: null,
        paths: {},
        query: {},
        protocols: ['chat'],
        auth: { header: 'x-api-key' },
        headers: { 'alpha-version': 'anthropic-version', 'x-team': '=core' },
        pass_headers: ['x-trace'],
        groups: ['default'],
        models: { m: 'upstream/m' },
        weight: 0,
        priority: -1,
        max_concurrency: 4,
        proxy: null,
        ca: null,
        http2: false,
        private: false,
        cost: { m: PRICE },
        budget: { amount: 7.5, from: '2026-11-01T00:00:00.000Z', warn_below: 1 },
        translate: ['messages'],
        cache_marks: 'auto',
        finish: 'lenient',
        reads_max: ['max_completion_tokens'],
        thoughts: 'within',
        searches: null,
        status: 'disabled',
        state: 'closed',
        balance: {
          source: 'budget',
          state: 'ok',
          amount: '7.500000',
          currency: 'CNY',
          warn_below: 1,
          reason: null,
          at: '2026-11-01T00:00:00.000Z',
          spent: '0.000000',
          uncosted: '0.000000',
        },
      },
    ],
  ]
  const ops = await openOps(t)
  for (const [path, sent, shown] of rows) {
    const put = await ops.admin('PUT', `/admin/${path}`, sent)
    t.ok(put.status === 200 || put.status === 201, put.text)
    t.same(put.json, shown, path)
    const { health: _, traffic: __, ...one } = (await ops.admin('GET', `/admin/${path}`)).json
    t.same(one, shown, path)
    const listed = path.startsWith('channels/') ? { ...shown, health: null } : shown // no process of this test has the channel
    t.same((await ops.admin('GET', `/admin/${path.split('/')[0]}`)).json, { data: [listed] })
    const changes = await ops.store.changes.seq()
    t.same((await ops.admin('PUT', `/admin/${path}`, shown)).json, shown, 'what was shown may be sent')
    t.equal(await ops.store.changes.seq(), changes, 'and changes nothing')
  }
})

t.test('the name is the path’s, the state the gateway’s', async t => {
  const ops = await openOps(t)
  await ops.admin('PUT', '/admin/channels/one', { ...CHANNEL, name: 'two', state: 'open' })
  t.match((await ops.admin('GET', '/admin/channels/one')).json, { name: 'one', state: 'closed' })
  t.equal((await ops.admin('GET', '/admin/channels/two')).status, 404)
  for (const state of ['open', 'half_open', 'closed'] as const) {
    ops.fleet.states = new Map([['one', { state, keys: [state], open: 0 }]])
    t.equal((await ops.admin('GET', '/admin/channels/one')).json['state'], state)
    t.equal((await ops.admin('GET', '/admin/channels')).data[0]?.['state'], state)
  }
  const strange = encodeURIComponent('组/一 %')
  t.equal((await ops.admin('PUT', `/admin/groups/${strange}`, {})).json['name'], '组/一 %')
})

t.test('several keys: shown as places, written back as they were read, each kept or replaced in its place', async t => {
  const ops = await openOps(t)
  const stored = async () =>
    (await ops.store.catalogue.read()).channels[0]?.keys.map(({ key, maxConcurrency }) => `${key}:${maxConcurrency}`)
  const { key: _, ...keyless } = CHANNEL
  const keys = [{ key: 'up-secret-1' }, { key: 'up-secret-2', max_concurrency: 5 }]
  const first = (await ops.admin('PUT', '/admin/channels/one', { ...keyless, keys })).json
  t.same(first['keys'], [
    { max_concurrency: 0, state: 'closed' },
    { max_concurrency: 5, state: 'closed' },
  ])
  t.notMatch(JSON.stringify(first), /up-secret/)
  await ops.admin('PUT', '/admin/channels/one', first)
  t.same(await stored(), ['up-secret-1:0', 'up-secret-2:5'])
  await ops.admin('PUT', '/admin/channels/one', { ...keyless, keys: [{ max_concurrency: 7 }, { key: 'up-new' }] })
  t.same(await stored(), ['up-secret-1:7', 'up-new:0'])
  const shown = (await ops.admin('GET', '/admin/channels/one')).json
  await ops.admin('PUT', '/admin/channels/one', { ...shown, key: 'up-only' })
  t.same(await stored(), ['up-only:0'])
  for (const [sent, problem] of [
    [{ key: 'a', keys }, /either key or keys/],
    [{ keys: [] }, /keys/],
    [{ keys: [{ max_concurrency: 1 }, { max_concurrency: 1 }] }, /keys\[1\]/],
    [{ keys: [{ key: 'a' }, { key: 'a' }] }, /differ/],
  ] as const) {
    const { status, error } = await ops.admin('PUT', '/admin/channels/one', { ...keyless, ...sent })
    t.equal(status, 400)
    t.match(error.message, problem)
  }
})

t.test('a proxy: shown without its credentials, which stay when that is sent back; reserved addresses', async t => {
  const ops = await openOps(t)
  const stored = async () => (await ops.store.catalogue.read()).channels[0]?.proxy
  const put = (change: object) => ops.admin('PUT', '/admin/channels/one', { ...CHANNEL, ...change })
  const first = (await put({ proxy: 'http://user:hunter2@proxy.example:3128' })).json
  t.equal(first['proxy'], 'http://proxy.example:3128/')
  await ops.admin('PUT', '/admin/channels/one', first)
  t.equal(await stored(), 'http://user:hunter2@proxy.example:3128/')
  await put({ weight: 7 })
  t.equal(await stored(), 'http://user:hunter2@proxy.example:3128/', 'what is not sent stays')
  await put({ proxy: 'socks5://other.example:1080' })
  t.equal(await stored(), 'socks5://other.example:1080')
  t.equal((await put({ proxy: null })).json['proxy'], null)
  t.equal(await stored(), null)
  const reserved = await put({ proxy: 'socks5://user:hunter2@2852039166:1080' })
  t.match(reserved.error.message, /^proxy: expected an address that is not/)
  t.notMatch(reserved.text, /hunter2/)
  t.match((await put({ proxy: 'ftp://user:hunter2@x' })).error.message, /^proxy: expected a proxy as http/)
  t.notMatch((await put({ proxy: 'ftp://user:hunter2@x' })).text, /hunter2/)
  t.match((await put({ ca: 'no such file' })).error.message, /^ca: expected PEM certificates/)
  t.match(
    (await put({ base_url: 'http://169.254.169.254/' })).error.message,
    /^base_url: expected an address that is not/,
  )
  t.equal((await put({ base_url: 'http://169.254.169.254/', private: true })).status, 200)
  t.match((await put({ proxy: 'socks5://[fe80::1]:1080' })).error.message, /^proxy: expected an address that is not/)
  t.match((await put({ proxy: 'http://169.254.169.254:80' })).error.message, /^proxy: expected an address that is not/)
})

t.test('a channel’s key: never shown, kept when absent, replaced when sent', async t => {
  const ops = await openOps(t)
  const keyOf = async () => (await ops.store.catalogue.read()).channels[0]?.keys[0]?.key
  const { key: _, ...keyless } = CHANNEL
  const first = await ops.admin('PUT', '/admin/channels/one', keyless)
  t.equal(first.status, 400)
  t.match(first.error.message, /^key: expected an upstream key/)
  const all: Row[] = [(await ops.admin('PUT', '/admin/channels/one', CHANNEL)).json]
  t.equal(await keyOf(), 'up-secret')
  all.push((await ops.admin('PUT', '/admin/channels/one', { ...keyless, weight: 5 })).json)
  t.equal(await keyOf(), 'up-secret')
  all.push((await ops.admin('PUT', '/admin/channels/one', { ...keyless, key: null })).json)
  t.equal(await keyOf(), 'up-secret', 'no channel is without a key')
  all.push((await ops.admin('PUT', '/admin/channels/one', { ...keyless, key: 'up-other' })).json)
  t.equal(await keyOf(), 'up-other')
  all.push((await ops.admin('GET', '/admin/channels')).json, (await ops.admin('GET', '/admin/channels/one')).json)
  t.notMatch(JSON.stringify(all) + ops.logged.join(''), /up-secret|up-other/)
  const wrong = await ops.admin('PUT', '/admin/channels/one', { ...keyless, key: 'has spaces in it' })
  t.equal(wrong.status, 400)
  t.notMatch(wrong.text, /has spaces/)
})

t.test('what is refused names the field and changes nothing', async t => {
  const ops = await openOps(t)
  await ops.admin('PUT', '/admin/channels/one', CHANNEL)
  await ops.admin('PUT', '/admin/models/m', { price: { input: 1 } })
  await ops.admin('PUT', '/admin/groups/vip', {})
  const before = await ops.store.catalogue.read()
  const rows: [path: string, sent: object, text: RegExp][] = [
    ['groups/vip', { multiplier: -1 }, /multiplier: expected a factor/],
    ['groups/vip', { multiplier: 1.0000001 }, /multiplier: expected a factor/],
    ['groups/vip', { rate: { minutes: 1 } }, /rate\.requests: expected a whole number/],
    ['groups/vip', { multiplayer: 1 }, /multiplayer: unknown field/],
    ['models/m', { prise: { input: 1 } }, /prise: unknown field/],
    ['models/m', { price: { inputs: 1 } }, /price\.inputs: unknown field/],
    ['models/m', { price: { input: -1 } }, /price\.input: expected a price/],
    ['models/m', { price: {} }, /price: expected at least one price/],
    ['models/m', { price: { output: 1 } }, /price\.input: expected a price of input/],
    ['models/m', { price: 5 }, /price: expected an object/],
    ['models/m', { price: { input: 1 }, input_factor: 0 }, /input_factor: expected a factor above 0/],
    ['models/m', { max_output: 0 }, /max_output: expected a whole number/],
    ['channels/one', {}, /base_url: expected.*protocols: expected a list.*groups: expected a list.*models: expected/],
    ['channels/one', { ...CHANNEL, base_url: 'up.example' }, /base_url: expected an http/],
    ['channels/one', { ...CHANNEL, protocols: ['smoke'] }, /protocols\[0\]: expected one of messages/],
    ['channels/one', { ...CHANNEL, protocols: [] }, /protocols: expected at least 1 entry/],
    ['channels/one', { ...CHANNEL, groups: ['nowhere'] }, /groups: there is no group nowhere/],
    ['channels/one', { ...CHANNEL, weight: 1.5 }, /weight: expected a whole number/],
    ['channels/one', { ...CHANNEL, auth: { headers: 'x' } }, /auth\.headers: unknown field/],
    ['channels/one', { ...CHANNEL, headers: { host: 'x' } }, /headers: expected/],
    ['groups/%20', {}, /name: expected a name/],
  ]
  for (const [path, sent, text] of rows) {
    const reply = await ops.admin('PUT', `/admin/${path}`, sent)
    t.equal(reply.status, 400, `${path} ${JSON.stringify(sent)}`)
    t.match(reply.error.message, text)
  }
  t.same(await ops.store.catalogue.read(), before)
})

t.test('deleting', async t => {
  const ops = await openOps(t)
  await ops.admin('PUT', '/admin/groups/vip', { multiplier: 0.5 })
  await ops.admin('PUT', '/admin/models/m', { price: { input: 1 } })
  await ops.admin('PUT', '/admin/channels/one', { ...CHANNEL, groups: ['default', 'vip'] })
  await ops.admin('POST', '/admin/accounts', { name: 'acme', groups: ['vip'] })
  await ops.admin('POST', '/admin/keys', { account: 'acme', name: 'laptop', group: 'vip' })
  const rows: [method: string, path: string, body: object | undefined, status: number][] = [
    ['DELETE', 'groups/vip', undefined, 409],
    ['DELETE', 'channels/one', undefined, 204],
    ['DELETE', 'channels/one', undefined, 404],
    ['GET', 'channels/one', undefined, 404],
    ['DELETE', 'groups/vip', undefined, 409],
    ['PATCH', 'accounts/acme', { groups: ['default'] }, 200],
    ['DELETE', 'groups/vip', undefined, 409],
    ['PATCH', 'keys/1', { group: 'default' }, 200],
    ['DELETE', 'groups/vip', undefined, 204],
    ['DELETE', 'groups/vip', undefined, 404],
    ['DELETE', 'models/m', undefined, 204],
    ['DELETE', 'models/m', undefined, 404],
    ['GET', 'models/m', undefined, 404],
  ]
  for (const [method, path, body, status] of rows) {
    t.equal((await ops.admin(method, `/admin/${path}`, body)).status, status, `${method} ${path}`)
  }
  t.same(await ops.store.catalogue.read(), {
    groups: [],
    models: [],
    channels: [],
    priceVersions: new Map(),
    offlineSince: new Map(),
  })
})
