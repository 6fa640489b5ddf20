/** The calls about keys: what people see, make, change, roll and delete, and what they are refused. */
import t, { type Test } from 'tap'
import { micro } from '../../../lib/base/money.ts'
import { periodAt, periodName } from '../../../lib/base/periods.ts'
import { limitPurse } from '../../../lib/store/books/purses.ts'
import { KeyList, ownKeysQuery } from '../../../lib/operations/accounts/key-list.ts'
import { MODEL_DEFAULTS } from '../../../lib/catalog-file/schema.ts'
import { hashOf } from '../../../lib/base/secrets.ts'
import { channel, SETUP, settlement, usageRow } from '../../support/store.ts'
import { type House, type Json, openConsole, type PersonClient } from '../support/console.ts'

interface Shown extends Json {
  id: string
  name: string
}

async function open(t: Test) {
  const house = await openConsole(t)
  const account = await house.account('acme', micro(5_000_000))
  const join = (name: string, role: 'owner' | 'member' | 'viewer' | 'billing') =>
    house.person(`${name}@example.com`, { in: { account, role } })
  const owner = await join('olga', 'owner')
  const call = (who: PersonClient, id: string, sent: object = {}) => who.call(id, { account, ...sent })
  const create = async (who: PersonClient, body: object) => {
    const reply = await call(who, 'keys.create', { body: { group: 'default', ...body } })
    t.equal(reply.status, 201, reply.text)
    return reply.json as { key: Shown; secret: string }
  }
  const change = (who: PersonClient, id: string, body: object) => call(who, 'keys.change', { path: { id }, body })
  const names = async (who: PersonClient, query: Record<string, string> = {}) =>
    ((await call(who, 'keys.list', { query })).json['data'] as Shown[]).map(key => key.name)
  return { house, account, owner, join, call, create, change, names }
}

t.test('a key from its making to its end', async t => {
  const { house, account, owner, call, create, change } = await open(t)
  const { key, secret } = await create(owner, { name: 'laptop' })
  t.match(secret, /^sk-[0-9A-Za-z]{48}$/)
  const shown = {
    id: key.id,
    name: 'laptop',
    hint: `sk-…${secret.slice(-4)}`,
    group: 'default',
    status: 'enabled',
    state: 'enabled',
    expires_at: null,
    cap: null,
    used: '0.000000',
    used_period: null,
    renews_at: null,
    allow_ips: null,
    restricted: false,
    models: [],
    created_at: key.created_at,
    created_by: { id: owner.person.publicId, name: 'olga@example.com' },
    last_used_at: null,
    last_used_from: null,
  }
  t.same(key, shown)
  t.ok(Math.abs(Date.parse(String(key.created_at)) - Date.now()) < 60_000, 'by the clock of the store')
  t.equal((await house.store.keys.find(hashOf(secret)))?.account.id, account.id)
  t.same((await call(owner, 'keys.show', { path: { id: key.id } })).json, shown)

  const changed = await change(owner, key.id, {
    name: 'desk',
    expires_at: '2100-01-01T00:00:00Z',
    cap: { amount: '2.5', every: 'month' },
    allow_ips: ['10.0.0.0/8'],
    models: ['m'],
    restricted: true,
  })
  t.match(changed.json, {
    name: 'desk',
    expires_at: '2100-01-01T00:00:00.000Z',
    cap: { amount: '2.500000', every: 'month' },
    used_period: '0.000000',
    renews_at: /Z$/,
    allow_ips: ['10.0.0.0/8'],
    restricted: true,
    models: ['m'],
  })
  t.match(
    (await change(owner, key.id, { restricted: false })).json,
    { restricted: false, models: ['m'] },
    'the list stays',
  )
  t.match((await change(owner, key.id, { models: ['m', 'n'] })).json, { restricted: false, models: ['m', 'n'] })
  t.match((await change(owner, key.id, { restricted: true })).json, { restricted: true, models: ['m', 'n'] })
  t.match((await change(owner, key.id, { expires_at: null, cap: null, allow_ips: null })).json, {
    expires_at: null,
    cap: null,
    allow_ips: null,
    models: ['m', 'n'],
  })

  const rolled = await call(owner, 'keys.roll', { path: { id: key.id }, body: { grace: '24h' } })
  const next = rolled.json as unknown as { secret: string; key: Shown; old_secret_ends_at: string }
  t.equal(rolled.status, 201)
  t.match(next.old_secret_ends_at, /Z$/)
  t.equal(next.key.id, key.id)
  t.not(await house.store.keys.find(hashOf(secret)), null)
  t.not(await house.store.keys.find(hashOf(next.secret)), null)

  t.equal((await call(owner, 'keys.delete', { path: { id: key.id } })).status, 204)
  t.equal((await call(owner, 'keys.show', { path: { id: key.id } })).status, 404)
  t.equal(await house.store.keys.find(hashOf(secret)), null)

  const lines = await house.store.actions.page({ accountId: account.id, limit: 100 })
  const done = lines.map(line => line.operation)
  t.same(done.filter(name => name.startsWith('keys.')).slice(-1), ['keys.create'])
  t.same(done.slice(0, 2), ['keys.remove', 'keys.roll'])
  t.match(lines[0]?.actor, { kind: 'user', userId: owner.person.id, name: 'olga@example.com', ip: '192.0.2.1' })
  const everything = JSON.stringify(lines) + house.deps.logged.join('')
  for (const one of [secret, next.secret]) t.notOk(everything.includes(one.slice(3, -4)), 'no secret is kept')
})

t.test('who sees whose keys', async t => {
  const { account, owner, join, call, create, names } = await open(t)
  const [mia, max, vic] = [await join('mia', 'member'), await join('max', 'member'), await join('vic', 'viewer')]
  const of = new Map<string, Shown>()
  for (const [who, name] of [
    [owner, 'olgas'],
    [mia, 'mias'],
    [max, 'maxs'],
  ] as const)
    of.set(name, (await create(who, { name })).key)
  t.same(await names(owner), ['maxs', 'mias', 'olgas'])
  t.same(await names(vic), ['maxs', 'mias', 'olgas'])
  t.same(await names(mia), ['mias'])
  t.same(await names(owner, { creator: max.person.publicId }), ['maxs'])
  t.same(await names(owner, { creator: 'x'.repeat(20) }), [])
  t.same(await names(mia, { creator: max.person.publicId }), [], 'not even by asking for them')

  const foreign = { id: of.get('maxs')!.id }
  const unknown = { id: 'x'.repeat(20) }
  const bodies: [id: string, body?: object][] = [
    ['keys.show'],
    ['keys.change', { name: 'mine' }],
    ['keys.roll', { grace: 0 }],
    ['keys.delete'],
    ['keys.test', { model: 'm', protocol: 'chat' }],
  ]
  for (const [id, body] of bodies) {
    const [one, other] = [await call(mia, id, { path: foreign, body }), await call(mia, id, { path: unknown, body })]
    const told = ({ status, text }: typeof one) => `${status} ${text.replace(/request id: \w+/, '')}`
    t.equal(one.status, 404, id)
    t.equal(told(one), told(other), id)
  }
  const several = await call(mia, 'keys.several', {
    body: { ids: [foreign.id, unknown.id, of.get('mias')!.id], action: 'disable' },
  })
  t.same(several.json['data'], [
    { id: foreign.id, done: false },
    { id: unknown.id, done: false },
    { id: of.get('mias')!.id, done: true },
  ])
  t.same(await names(owner, { state: 'disabled' }), ['mias'])
  t.equal((await call(await join('bill', 'billing'), 'keys.list')).code, 'role')
  t.equal((await call(vic, 'keys.change', { path: foreign, body: {} })).code, 'role')
  const token = await owner.token('read')
  const listed = await token.call('keys.list', { account })
  t.equal((listed.json['data'] as Shown[]).length, 3, 'a token sees what its user sees')
  t.equal((await token.call('keys.create', { account, body: { name: 'x', group: 'default' } })).code, 'scope')
})

t.test(
  "the end of a new key is compared with the clock of the store, which may differ from this machine's",
  async t => {
    const { house, owner, call } = await open(t)
    for (const [aheadMs, livesMs, status] of [
      [0, 1, 201],
      [7_200_000, 3_600_000, 400],
      [-7_200_000, -3_600_000, 201],
    ] as const) {
      house.store.now = async () => house.clock.now() + aheadMs
      const expires_at = new Date(house.clock.now() + livesMs).toISOString()
      const reply = await call(owner, 'keys.create', { body: { name: `k${aheadMs}`, group: 'default', expires_at } })
      t.equal(reply.status, status, `${aheadMs}`)
    }
  },
)

t.test('what is refused, and where', async t => {
  const { house, owner, call, create, change } = await open(t)
  const { key } = await create(owner, { name: 'laptop' })
  const rows: [body: object, code: string, field: string | null][] = [
    [{ name: 'laptop' }, 'conflict', null],
    [{ name: '' }, 'invalid', 'name'],
    [{ name: 'x', group: 'vip' }, 'invalid', 'group'],
    [{ name: 'x', allow_ips: ['300.1.1.1'] }, 'invalid', 'allow_ips[0]'],
    [{ name: 'x', cap: '-1' }, 'invalid', 'cap'],
    [{ name: 'x', expires_at: 'soon' }, 'invalid', 'expires_at'],
    [{ name: 'x', expires_at: new Date(house.clock.now()).toISOString() }, 'invalid', 'expires_at'],
    [{ name: 'turned \u202e round' }, 'invalid', 'name'],
    [{ name: 'x', secret: 'sk-mine-0123456789' }, 'invalid', 'secret'],
    [{ name: 'x', models: [] }, 'invalid', 'models'],
    [{ name: 'x', restricted: true }, 'invalid', 'models'],
    [{ name: 'x', allow_ips: [] }, 'invalid', 'allow_ips'],
    [{ name: 'x', models: Array(501).fill('m') }, 'invalid', 'models'],
  ]
  for (const [body, code, field] of rows) {
    const reply = await call(owner, 'keys.create', { body: { group: 'default', ...body } })
    t.equal(reply.code, code, JSON.stringify(body).slice(0, 80))
    const { error } = reply.json as { error: { fields?: { field: string }[] } }
    if (field !== null) t.match(error.fields, [{ field }])
  }
  t.match((await create(owner, { name: 'locked', models: [], confirm: true })).key, { restricted: true, models: [] })
  t.match((await create(owner, { name: 'unlocked', models: [], restricted: false })).key, { restricted: false })
  t.equal((await change(owner, key.id, { allow_ips: [] })).code, 'invalid')
  t.match((await change(owner, key.id, { allow_ips: [], confirm: true })).json, { allow_ips: [] })
  t.match((await change(owner, key.id, { name: 'still locked' })).status, 200, 'what was confirmed is not asked again')
  t.equal((await change(owner, key.id, { name: 'locked' })).code, 'conflict')
  for (const ids of [[], ['x'], Array(101).fill(key.id)])
    t.equal((await call(owner, 'keys.several', { body: { ids, action: 'delete' } })).code, 'invalid')
  for (let n = 0; n < 3; n++) {
    const body = { ids: Array(100).fill(key.id), action: 'enable' }
    t.equal(
      (await call(owner, 'keys.several', { body })).status,
      200,
      'one key is one change, however often it is named',
    )
  }
  const chinese = await call(owner, 'keys.create', {
    body: { name: 'locked', group: 'default' },
    headers: { 'accept-language': 'zh-CN' },
  })
  t.match((chinese.json['error'] as Json)['message'], /已有同名密钥/)
})

t.test(
  'a key expires by the clock of the store, as it does for requests, however far the clock of this machine is off',
  async t => {
    const { house, account, owner, create } = await open(t)
    const { store, clock } = house
    const madeMs = clock.now()
    await create(owner, { name: 'old', expires_at: new Date(madeMs + 3_600_000).toISOString() })
    const list = new KeyList({ store, clock, fleet: { settled: async () => {} } }, { account, madeBy: null })
    const states = async (state: string) => (await list.page(ownKeysQuery.parse({ state }))).data.map(key => key.state)
    store.now = async () => madeMs + 7_200_000
    t.same([await states('expired'), await states('enabled')], [['expired'], []], 'this machine is behind')
    house.clock.advance(7_200_000)
    store.now = async () => madeMs
    t.same([await states('expired'), await states('enabled')], [[], ['enabled']], 'and ahead')
  },
)

t.test('states, and pages by state', async t => {
  const { house, account, owner, create, change, call, names } = await open(t)
  const made = new Map<string, Shown>()
  for (const [name, body] of [
    ['plain', {}],
    ['off', {}],
    ['old', { expires_at: new Date(house.clock.now() + 1_000).toISOString() }],
    ['spent', { cap: '0.000005' }],
    ['spent today', { cap: { amount: '0.000005', every: 'day' } }],
    ['half', { cap: '0.00001' }],
    ['bound', { allow_ips: ['10.0.0.1'], models: ['m'] }],
  ] as const)
    made.set(name, (await create(owner, { name, ...body })).key)
  await change(owner, made.get('off')!.id, { status: 'disabled' })
  house.clock.advance(1_000)
  const { store } = house
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const now = (await store.now()) ?? house.clock.now()
  for (const [i, name] of ['spent', 'spent today', 'half'].entries()) {
    const key = (await store.keys.byName(account.id, name))!
    const settled = settlement(usageRow(`${'0'.repeat(20)}${i}`, key, 5), 'h', 0)
    const day = name === 'spent today' ? await dayPurse(store, key.id, now) : null
    await store.books.settle([day === null ? settled : { ...settled, limits: [{ purse: day, fromLease: micro(0) }] }])
  }
  const cases: [state: string, names: string[]][] = [
    ['enabled', ['bound', 'half', 'plain']],
    ['disabled', ['off']],
    ['expired', ['old']],
    ['used_up', ['spent today', 'spent']],
    ['ip_bound', ['bound']],
    ['model_bound', ['bound']],
  ]
  for (const [state, expected] of cases) t.same(await names(owner, { state }), expected, state)
  t.same(await names(owner, { q: 'SPENT' }), ['spent today', 'spent'])
  t.same(await names(owner, { group: 'vip' }), [])

  const pages: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const query: Record<string, string> = { limit: '2', state: 'enabled', ...(after === '' ? {} : { after }) }
    const { json } = await call(owner, 'keys.list', { query })
    pages.push((json['data'] as Shown[]).map(key => key.name).join())
    after = json['next'] as string | null
  }
  t.same(pages, ['bound,half', 'plain'])
  for (const query of [
    { limit: '201' },
    { state: 'odd' },
    { after: 'x' },
    { after: `${'0'.repeat(20)}x` },
    { sort: 'age' },
  ])
    t.equal((await call(owner, 'keys.list', { query })).code, 'invalid')
})

t.test('the list in each order, what all of it comes to, and as a file', async t => {
  const { house, account, owner, join, call, create } = await open(t)
  const mia = await join('mia', 'member')
  for (const name of ['b', 'a,=1', 'Cee']) await create(owner, { name })
  await create(mia, { name: 'of mia', cap: '0.00005' })
  const { store } = house
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const spent: [name: string, charge: number][] = [
    ['b', 20],
    ['of mia', 70],
    ['Cee', 20],
  ]
  for (const [i, [name, charge]] of spent.entries()) {
    const key = (await store.keys.byName(account.id, name))!
    await store.books.settle([settlement(usageRow(`${'0'.repeat(20)}${i}`, key, charge), 'h', 0)])
    await store.keys.recordUses([{ keyId: key.id, atMs: 9 - i, ip: '10.0.0.1' }])
  }
  const orders: Record<string, string> = {
    '': 'of mia|Cee|a,=1|b',
    created: 'b|a,=1|Cee|of mia',
    name: 'a,=1|b|Cee|of mia',
    '-name': 'of mia|Cee|b|a,=1',
    '-spent': 'of mia|Cee|b|a,=1',
    spent: 'a,=1|b|Cee|of mia',
    '-last_used': 'b|of mia|Cee|a,=1',
    last_used: 'a,=1|Cee|of mia|b',
  }
  for (const [sort, expected] of Object.entries(orders)) {
    const found: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const query = { limit: '1', ...(sort && { sort }), ...(after && { after }) }
      const { json } = await call(owner, 'keys.list', { query })
      found.push(...(json['data'] as Shown[]).map(({ name }) => name))
      t.same(json['totals'], { keys: 4, used: '0.000110' }, 'of all pages')
      after = json['next'] as string | null
    }
    t.equal(found.join('|'), expected, sort)
  }
  const totals = async (who: PersonClient, query: Record<string, string>) =>
    (await call(who, 'keys.list', { query })).json['totals']
  t.same(await totals(owner, { q: 'of mia' }), { keys: 1, used: '0.000070' })
  t.same(await totals(owner, { state: 'used_up' }), { keys: 1, used: '0.000070' })
  t.same(await totals(mia, {}), { keys: 1, used: '0.000070' }, 'a member sees what its keys come to')
  t.same(await totals(mia, { creator: owner.person.publicId }), { keys: 0, used: '0.000000' })
  const { data, next } = (await call(owner, 'keys.list', { query: { sort: '-spent', limit: '2' } })).json
  t.equal(next, `${(data as Shown[])[1]!.id}.20`)
  const anew = await call(owner, 'keys.list', { query: { sort: 'name', after: next as string } })
  t.same(
    (anew.json['data'] as Shown[]).map(({ name }) => name),
    ['a,=1', 'b', 'Cee', 'of mia'],
    'of another order',
  )

  const file = async (who: PersonClient, query: Record<string, string>) =>
    (await call(who, 'keys.csv', { query })).text.replace('\uFEFF', '').trim().split('\r\n')
  const [head, ...lines] = await file(owner, { heads: 'machine' })
  t.match(head, /^id,name,hint,group,state,used,cap,cap_every,used_period,created_at,created_by,last_used_at,/)
  t.same(lines.map(line => line.split(',').slice(1, -14).join()).slice(0, -1), ['of mia', 'Cee', '"a,=1"', 'b'])
  t.match(
    lines[0],
    /^\w{20},of mia,sk-…\w{4},default,used_up,0\.000070,0\.000050,,,20.*Z,mia@example.com,1970-01-01T00:00:00.008Z,10\.0\.0\.1,,,$/,
  )
  t.equal(lines.at(-1), '# rows: 4')
  t.equal((await file(owner, { q: 'cee' })).length, 3)
  t.same((await file(mia, { heads: 'machine' })).length, 3, 'a member has a file of its own keys')
  t.match((await file(owner, {}))[0], /Name,Ending,Group/)
})

/** The purse of a cap that renews is made by a lease. */
async function dayPurse(store: House['store'], keyId: number, atMs: number) {
  const purse = limitPurse('k', keyId, periodName(periodAt('day', atMs, store.zone)))
  await store.books.lease(purse, 'h', micro(0), micro(0), true)
  return purse
}

t.test('trying a key out: the stage that would refuse, in the words that a client would read', async t => {
  const { house, account, owner, call, create, change } = await open(t)
  const { store } = house
  await store.catalogue.putChannel(
    channel({ models: { m: 'm', free: 'free' }, protocols: ['chat', 'generate'] }),
    SETUP,
  )
  const limits = { maxOutput: null, defaultOutput: 4096, inputFactor: 1_000_000 }
  await store.catalogue.putModel({ ...MODEL_DEFAULTS, ...limits, name: 'm', price: { input: 1, output: 1 } }, SETUP)
  const { key } = await create(owner, { name: 'k' })
  const path = { id: key.id }
  const tried = async (body: object = {}, headers: object = {}) =>
    (await call(owner, 'keys.test', { path, body: { model: 'm', protocol: 'chat', ...body }, headers })).json
  const fine = { ok: true, stage: null, status: null, message: null, why: null, address: '192.0.2.1' }
  t.same(await tried(), fine)
  t.same(await tried({ protocol: 'generate' }), fine)

  t.match(await tried({ model: 'nope' }), { ok: false, stage: 'candidates', status: 400 })
  t.match(await tried({ protocol: 'images' }), { ok: false, stage: 'candidates' })
  t.match(await tried({ model: 'free' }), { ok: false, stage: 'price', status: 400 })
  await change(owner, key.id, { allow_ips: ['10.0.0.0/8'] })
  t.same(await tried(), {
    ok: false,
    stage: 'admit',
    status: 403,
    message: '您的 IP 不在令牌允许访问的列表中',
    why: { zh: '请求来自该密钥不允许的 IP。', en: 'The request came from an IP that the key does not allow.' },
    address: '192.0.2.1',
  })
  t.match(await tried({}, { 'x-test-ip': '10.1.2.3' }), { ok: true, address: '10.1.2.3' })
  await change(owner, key.id, { allow_ips: null, models: ['other'], restricted: true })
  t.match(await tried(), { stage: 'model', status: 403, message: '该令牌无权访问模型 m' })
  await change(owner, key.id, { restricted: false, expires_at: new Date(house.clock.now()).toISOString() })
  t.match(await tried(), { stage: 'authenticate', status: 401, message: 'Invalid token' })
  await change(owner, key.id, { expires_at: null })
  await store.entries.add(
    account.id,
    { kind: 'adjustment', amount: micro(-5_000_000), reference: 'x', actor: 'x', note: '' },
    SETUP,
  )
  t.match(await tried(), { stage: 'reserve', status: 403 })
  await store.accounts.update(account.id, { status: 'banned' }, SETUP)
  t.match(await tried(), { stage: 'admit', message: '用户已被封禁' })

  t.equal((await store.usage.page({ limit: 10 })).length, 0, 'nothing was asked and nothing charged')
  t.equal((await store.audit()).ok, true)
  t.equal((await store.books.purses([`a${account.id}`]))[0]?.leased, 0, 'and nothing is held')
})

t.test('groups, and the address that a list would see', async t => {
  const { house, account, owner, call } = await open(t)
  await house.store.catalogue.putGroup(
    { name: 'a/b', multiplier: 500_000, rate: null, hedgeMs: 0, readOns: 256, public: false },
    SETUP,
  )
  await house.store.accounts.update(account.id, { groups: ['default', 'a/b'] }, SETUP)
  t.same((await call(owner, 'groups.list')).json['data'], [
    { name: 'default', multiplier: 1, prices: '/console/models?group=default' },
    { name: 'a/b', multiplier: 0.5, prices: '/console/models?group=a%2Fb' },
  ])
  t.same((await owner.call('address.show', { headers: { 'x-test-ip': '2001:db8::7' } })).json, {
    address: '2001:db8::7',
  })
})
