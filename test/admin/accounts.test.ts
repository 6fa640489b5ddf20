import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { accountPurse, type PurseId } from '../../lib/store/books/purses.ts'
import { newKey, SETUP, settlement, usageRow } from '../support/store.ts'
import { lastingMonth } from '../support/wait.ts'
import { openOps } from './support.ts'

const FRESH = {
  name: 'acme',
  status: 'active',
  groups: ['default'],
  rate: null,
  budget: null,
  sandbox: false,
  used_period: null,
  renews_at: null,
}

t.test('creating', async t => {
  const ops = await openOps(t)
  await ops.store.catalogue.putGroup(
    { name: 'vip', multiplier: 500_000, rate: null, hedgeMs: 0, readOns: 256, public: false },
    SETUP,
  )
  const made = await ops.admin('POST', '/admin/accounts', { name: 'acme', groups: ['vip', 'default'], balance: '12.5' })
  const row = { ...FRESH, groups: ['vip', 'default'], balance: '12.500000', held: '0.000000', available: '12.500000' }
  t.equal(made.status, 201)
  t.same(made.json, row)
  t.equal(ops.fleet.changes, 1, 'in force at once')
  t.same((await ops.admin('GET', '/admin/accounts/acme')).json, row)
  t.same((await ops.admin('GET', '/admin/accounts')).json, { data: [row], next: null })

  const rows: [body: object, status: number, text: RegExp][] = [
    [{ name: 'acme' }, 409, /acme exists already \(request id: /],
    [{}, 400, /name: expected a name/],
    [{ name: '' }, 400, /name: expected a name/],
    [{ name: 'x'.repeat(191) }, 400, /name: expected a name/],
    [{ name: 'x', groups: 'default' }, 400, /groups: expected a list/],
    [{ name: 'x', groups: ['nowhere'] }, 400, /groups: there is no group nowhere/],
    [{ name: 'x', balance: -1 }, 400, /balance: expected an amount/],
    [{ name: 'x', balance: '1e3' }, 400, /balance: expected an amount/],
    [{ name: 'x', balance: '1.0000001' }, 400, /balance: expected an amount/],
    [{ name: 'x', credit: 1, id: 2 }, 400, /credit: unknown field; id: unknown field/],
  ]
  for (const [body, status, text] of rows) {
    const reply = await ops.admin('POST', '/admin/accounts', body)
    t.equal(reply.status, status, JSON.stringify(body).slice(0, 60))
    t.match(reply.error.message, text)
  }
  t.equal((await ops.store.accounts.list()).length, 1)
  t.equal(ops.fleet.changes, 1, 'refusals change nothing')
  t.match((await ops.admin('POST', '/admin/accounts', { name: '张 三/?' })).json, {
    groups: ['default'],
    balance: '0.000000',
  })
  t.equal((await ops.admin('GET', `/admin/accounts/${encodeURIComponent('张 三/?')}`)).json['name'], '张 三/?')
  const typed = 'Ame\u0301lie'
  t.equal((await ops.admin('POST', '/admin/accounts', { name: typed })).status, 201)
  t.equal((await ops.admin('GET', `/admin/accounts/${encodeURIComponent(typed)}`)).json['name'], 'Am\u00e9lie')
  t.equal((await ops.admin('GET', '/admin/accounts/nobody')).status, 404)
})

t.test('changing', async t => {
  const ops = await openOps(t)
  await ops.store.catalogue.putGroup(
    { name: 'vip', multiplier: 500_000, rate: null, hedgeMs: 0, readOns: 256, public: false },
    SETUP,
  )
  await ops.admin('POST', '/admin/accounts', { name: 'acme' })
  const good: [change: object, expected: object][] = [
    [{ status: 'banned' }, { status: 'banned', groups: ['default'], rate: null }],
    [{ groups: ['vip'] }, { status: 'banned', groups: ['vip'] }],
    [{ rate: { requests: 5, minutes: 2 } }, { groups: ['vip'], rate: { requests: 5, minutes: 2 } }],
    [{ rate: { requests: 7 } }, { rate: { requests: 7, minutes: 1 } }],
    [{}, { status: 'banned', rate: { requests: 7, minutes: 1 } }],
    [
      { status: 'active', rate: null },
      { status: 'active', rate: null },
    ],
    [{ groups: [] }, { groups: [] }],
  ]
  for (const [change, expected] of good) {
    const reply = await ops.admin('PATCH', '/admin/accounts/acme', change)
    t.equal(reply.status, 200, JSON.stringify(change))
    t.match(reply.json, expected)
    t.match((await ops.admin('GET', '/admin/accounts/acme')).json, expected)
  }
  const before = (await ops.admin('GET', '/admin/accounts/acme')).json
  const bad: [change: object, text: RegExp][] = [
    [{ status: 'gone' }, /status: expected one of active, banned/],
    [{ status: null }, /status: expected/],
    [{ groups: null }, /groups: expected a list/],
    [{ groups: ['x'] }, /no group x/],
    [{ rate: { requests: -1 } }, /rate\.requests: expected a whole number/],
    [{ rate: { requests: 1, hours: 1 } }, /rate\.hours: unknown field/],
    [{ rate: 5 }, /rate: expected an object/],
    [{ budget: { amount: 1, every: 'hour' } }, /budget: expected an amount of CNY/],
    [{ name: 'other' }, /name: unknown field/],
    [{ balance: '5' }, /balance: unknown field/],
  ]
  for (const [change, text] of bad) {
    const reply = await ops.admin('PATCH', '/admin/accounts/acme', change)
    t.equal(reply.status, 400, JSON.stringify(change))
    t.match(reply.error.message, text)
  }
  t.same((await ops.admin('GET', '/admin/accounts/acme')).json, before)
  t.equal((await ops.admin('PATCH', '/admin/accounts/nobody', {})).status, 404)
})

t.test('top-ups: once per reference', async t => {
  const ops = await openOps(t)
  await ops.admin('POST', '/admin/accounts', { name: 'acme' })
  await ops.admin('POST', '/admin/accounts', { name: 'other' })
  const rows: [body: object, status: number, balance: string][] = [
    [{ amount: '5.000000', reference: 'r1' }, 201, '5.000000'],
    [{ amount: '5', reference: 'r1' }, 200, '5.000000'],
    [{ amount: 5, reference: 'r1' }, 200, '5.000000'],
    [{ amount: '6', reference: 'r1' }, 409, '5.000000'],
    [{ amount: 0.000001, reference: '二' }, 201, '5.000001'],
    [{ amount: '0', reference: 'x' }, 400, '5.000001'],
    [{ amount: '-5', reference: 'x' }, 400, '5.000001'],
    [{ amount: 'abc', reference: 'x' }, 400, '5.000001'],
    [{ amount: '1.0000001', reference: 'x' }, 400, '5.000001'],
    [{ amount: '1e3', reference: 'x' }, 400, '5.000001'],
    [{ amount: '', reference: 'x' }, 400, '5.000001'],
    [{ amount: null, reference: 'x' }, 400, '5.000001'],
    [{ amount: '1' }, 400, '5.000001'],
    [{ amount: '1', reference: '' }, 400, '5.000001'],
    [{ amount: '1', reference: 'x'.repeat(201) }, 400, '5.000001'],
    [{ amount: '1', reference: 'x', note: 'y' }, 400, '5.000001'],
    [{ amount: '999999999.999999', reference: 'large' }, 201, '1000000005.000000'],
  ]
  for (const [body, status, balance] of rows) {
    t.equal((await ops.admin('POST', '/admin/accounts/acme/topups', body)).status, status, JSON.stringify(body))
    t.equal((await ops.admin('GET', '/admin/accounts/acme')).json['balance'], balance, JSON.stringify(body))
  }
  const other = await ops.admin('POST', '/admin/accounts/other/topups', { amount: '6', reference: 'r1' })
  t.equal(other.status, 201, 'references are the account’s own')
  t.same(other.json, { account: 'other', amount: '6.000000', reference: 'r1', balance: '6.000000' })
  t.equal((await ops.admin('POST', '/admin/accounts/nobody/topups', { amount: '6', reference: 'r1' })).status, 404)
  t.equal((await ops.admin('GET', '/admin/audit')).json['ok'], true)
})

t.test('money: balance, what all gateways hold, what is left; and the audit', async t => {
  const ops = await openOps(t)
  const { store, fleet } = ops
  await ops.admin('POST', '/admin/accounts', { name: 'acme', balance: 10 })
  const { id } = (await store.accounts.byName('acme'))!
  const purse: PurseId = accountPurse(id)
  const key = await store.keys.create(newKey(id), SETUP)
  for (const holder of ['here', 'elsewhere']) {
    await store.holders.register({ id: holder, host: 'h', beat: 0 })
    await store.books.lease(purse, holder, micro(1_000_000), micro(1_000_000), false)
  }
  await store.books.settle([settlement(usageRow('r1', key, 250_000), 'here', 250_000)])
  await store.holders.reportHeld('elsewhere', new Map([[purse, micro(300_000)]]))
  await store.holders.reportHeld('here', new Map([[purse, micro(77)]]))
  fleet.heldHere = new Map([[purse, micro(20_000)]])
  t.match(
    (await ops.admin('GET', '/admin/accounts/acme')).json,
    { balance: '9.750000', held: '0.320000', available: '9.430000' },
    'what this gateway holds is asked of it, not of its last report',
  )
  await store.books.settle([settlement(usageRow('r2', key, 10_000_000), 'here', 0)])
  t.match((await ops.admin('GET', '/admin/accounts/acme')).json, { balance: '-0.250000', available: '-0.570000' })
  t.same((await ops.admin('GET', '/admin/audit')).json, {
    ok: true,
    accounts: 1,
    credits: '10.000000',
    charges: '10.250000',
    balances: '-0.250000',
    leased: '1.750000',
    imbalance: '0.000000',
    by_hand: '10.000000',
    proven: '0.000000',
    set_aside: 0,
    broken: 0,
    unfit: [],
    findings: [],
  })
})

t.test('lists have pages and can be searched', async t => {
  const ops = await openOps(t)
  const names = ['Acme', 'acme 2', '100%', 'a_b', 'axb', '张三', '!']
  for (const name of names) await ops.store.accounts.create({ name, groups: ['default'] }, SETUP)
  for (const [i, name] of ['Laptop', 'phone', 'lap!'].entries())
    for (const account of ['Acme', '张三'])
      await ops.admin('POST', '/admin/keys', { account, name: `${name}${i}`, group: 'default' })
  const pages = async (kind: string, query: string) => {
    const found: unknown[][] = []
    for (let after = ''; ; ) {
      const { json, data } = await ops.admin('GET', `/admin/${kind}?${query}&after=${after}`)
      found.push(data.map(row => row['name']))
      if (json['next'] === null) return found
      after = String(json['next'])
    }
  }
  const tables: [kind: string, query: string, pages: unknown[][]][] = [
    ['accounts', '', [names]],
    ['accounts', 'limit=3', [names.slice(0, 3), names.slice(3, 6), names.slice(6)]],
    ['accounts', 'limit=7', [names, []]],
    ['accounts', 'q=ACME', [['Acme', 'acme 2']]],
    ['accounts', 'q=ACME&limit=1', [['Acme'], ['acme 2'], []]],
    ['accounts', 'q=%25', [['100%']]],
    ['accounts', 'q=_', [['a_b']]],
    ['accounts', 'q=!', [['!']]],
    ['accounts', `q=${encodeURIComponent('张')}`, [['张三']]],
    ['accounts', 'q=nobody', [[]]],
    ['keys', 'q=lap', [['Laptop0', 'Laptop0', 'lap!2', 'lap!2']]],
    ['keys', 'q=lap&account=Acme&limit=1', [['Laptop0'], ['lap!2'], []]],
  ]
  for (const [kind, query, wanted] of tables) t.strictSame(await pages(kind, query), wanted, `${kind} ${query}`)
  const hint = String((await ops.admin('GET', '/admin/keys')).data[0]!['hint']).slice(-4)
  t.ok((await ops.admin('GET', `/admin/keys?q=${hint}`)).data.length > 0, 'by the end of a secret')
  for (const query of ['limit=0', 'limit=1001', 'after=x', 'other=1', `q=${'x'.repeat(191)}`])
    t.equal((await ops.admin('GET', `/admin/accounts?${query}`)).status, 400, query)
})

t.test('adjustments, entries and statements over HTTP', async t => {
  const ops = await openOps(t)
  const month = await lastingMonth()
  ops.clock.advance(Date.now() - ops.clock.now())
  await ops.store.accounts.create({ name: 'acme', groups: ['default'] }, SETUP)
  const path = '/admin/accounts/acme'
  const post = (body: object) => ops.admin('POST', `${path}/adjustments`, body)
  t.match(await post({ amount: '5', reference: 'a', note: '=1' }), {
    status: 201,
    json: { amount: '5.000000', balance: '5.000000' },
  })
  t.match(await post({ amount: 5, reference: 'a', note: '=1' }), { status: 200 })
  t.equal((await post({ amount: 6, reference: 'a' })).status, 409)
  t.equal((await ops.admin('POST', `${path}/topups`, { amount: 5, reference: 'a' })).status, 409, 'of another kind')
  t.equal((await post({ amount: 0, reference: 'b' })).status, 400)
  t.match(await post({ amount: -6, reference: 'b' }), {
    status: 409,
    error: { available: '5.000000', code: '', type: 'gateway_api_error' },
  })
  t.match(await post({ amount: -6, reference: 'b', force: true, note: 'lost' }), { status: 201 })
  t.match((await ops.admin('GET', `${path}/entries?limit=1`)).json, {
    data: [
      { kind: 'adjustment', amount: '-6.000000', balance: '-1.000000', actor: 'admin', note: 'lost', reference: 'b' },
    ],
    next: /^\d{4}-\d\d-\d\d\.\d+$/,
  })
  t.match((await ops.admin('GET', `${path}/statement?month=${month}`)).json, {
    opening: '0.000000',
    closing: '-1.000000',
  })
  const csv = await ops.admin('GET', `${path}/statement?month=${month}&format=csv`)
  t.match(csv, { status: 200, text: /,'=1\n/, headers: { 'content-type': 'text/csv; charset=utf-8' } })
  const html = await ops.admin('GET', `${path}/statement?month=${month}&format=html`)
  t.match(html.headers, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': /default-src 'none'/ })
  t.equal((await ops.admin('GET', `${path}/statement`)).status, 400)
})
