import { createHash } from 'node:crypto'
import t from 'tap'
import { SETUP, settlement, usageRow } from '../support/store.ts'
import { openOps, type Row } from './support.ts'

const DEFAULTS = {
  account: 'acme',
  name: 'laptop',
  group: 'default',
  status: 'enabled',
  expires_at: null,
  cap: null,
  used: '0.000000',
  used_period: null,
  renews_at: null,
  allow_ips: null,
  models: null,
  last_used_at: null,
  last_used_from: null,
}

async function withAccount(t: Parameters<typeof openOps>[0]) {
  const ops = await openOps(t)
  await ops.store.catalogue.putGroup(
    { name: 'vip', multiplier: 500_000, rate: null, hedgeMs: 0, readOns: 256, public: false },
    SETUP,
  )
  await ops.admin('POST', '/admin/accounts', { name: 'acme', groups: ['default', 'vip'], balance: 10 })
  return ops
}

t.test('creating: the secret is shown once and kept as its hash', async t => {
  const ops = await withAccount(t)
  const made = await ops.admin('POST', '/admin/keys', { account: 'acme', name: 'laptop' })
  t.equal(made.status, 201)
  const { secret, ...row } = made.json as Row & { secret: string }
  t.match(secret, /^sk-[0-9A-Za-z]{48}$/)
  t.same(row, { id: row['id'], ...DEFAULTS, hint: `sk-…${secret.slice(-4)}` })
  const stored = await ops.store.keys.find(createHash('sha256').update(secret).digest('hex'))
  t.equal(stored?.key.id, row['id'])
  const listed = await ops.admin('GET', '/admin/keys?account=acme')
  t.same(listed.json, { data: [row], next: null })
  t.notMatch(listed.text, new RegExp(secret.slice(3, 40)))
  t.notOk(ops.logged.join('').includes(secret))
  t.equal(made.headers['cache-control'], 'no-store')
})

t.test('secrets: every character is as likely as any other', async t => {
  const ops = await withAccount(t)
  const seen = new Map<string, number>()
  const secrets = new Set<string>()
  for (let i = 0; i < 60; i++) {
    const { secret } = (await ops.admin('POST', '/admin/keys', { account: 'acme', name: `k${i}` })).json as {
      secret: string
    }
    secrets.add(secret)
    for (const character of secret.slice(3)) seen.set(character, (seen.get(character) ?? 0) + 1)
  }
  t.equal(secrets.size, 60)
  t.equal(seen.size, 62)
  // 2880 draws, 46 expected each: beyond six standard deviations something is wrong
  t.ok(
    [...seen.values()].every(count => count > 5 && count < 88),
    JSON.stringify([...seen]),
  )
})

t.test('creating: everything at once, and what is refused', async t => {
  const ops = await withAccount(t)
  const all = {
    account: 'acme',
    name: 'all',
    group: 'vip',
    status: 'disabled',
    expires_at: '2030-01-31T08:00:00+08:00',
    cap: '1.5',
    allow_ips: ['203.0.113.7', '10.0.0.0/8', '2001:db8::/32'],
    models: ['beta-4.7'],
  }
  const made = await ops.admin('POST', '/admin/keys', all)
  t.match(made.json, { ...all, expires_at: '2030-01-31T00:00:00.000Z', cap: '1.500000' })
  const nulls = { account: 'acme', name: 'nulls', expires_at: null, cap: null, allow_ips: null, models: null }
  t.match((await ops.admin('POST', '/admin/keys', nulls)).json, nulls)
  const rows: [change: object, status: number, text: RegExp][] = [
    [{ name: 'all' }, 409, /key of this name/],
    [{ name: undefined }, 400, /name: expected a name/],
    [{ account: 'nobody' }, 400, /account: there is no account nobody/],
    [{ account: undefined }, 400, /account: expected a name/],
    [{ group: 'nowhere' }, 400, /group: there is no group nowhere/],
    [{ expires_at: 'tomorrow' }, 400, /expires_at: expected a time/],
    [{ expires_at: 1 }, 400, /expires_at: expected a time/],
    [{ cap: '-1' }, 400, /cap: expected an amount/],
    [{ allow_ips: ['300.1.1.1'] }, 400, /allow_ips\[0\]: expected an address/],
    [{ allow_ips: '10.0.0.1' }, 400, /allow_ips: expected a list/],
    [{ models: [''] }, 400, /models\[0\]: expected a name/],
    [{ status: 'deleted' }, 400, /status: expected one of enabled, disabled/],
    [{ secret: 'sk-mine' }, 400, /secret: unknown field/],
  ]
  for (const [change, status, text] of rows) {
    const reply = await ops.admin('POST', '/admin/keys', { account: 'acme', name: 'other', ...change })
    t.equal(reply.status, status, JSON.stringify(change))
    t.match(reply.error.message, text)
    t.notMatch(reply.text, /sk-mine/)
  }
  t.equal((await ops.store.keys.list()).length, 2)
})

t.test('changing: what is sent changes, null clears, the rest stays', async t => {
  const ops = await withAccount(t)
  const { secret: _, ...row } = (await ops.admin('POST', '/admin/keys', { account: 'acme', name: 'laptop' })).json
  const path = `/admin/keys/${row['id']}`
  const steps: [change: object, expected: object][] = [
    [{ status: 'disabled' }, { ...row, status: 'disabled' }],
    [
      { status: 'enabled', cap: 2 },
      { ...row, cap: '2.000000' },
    ],
    [{ models: ['a', 'b'] }, { ...row, cap: '2.000000', models: ['a', 'b'] }],
    [{ cap: null, models: null }, row],
    [{ expires_at: '2030-01-01' }, { ...row, expires_at: '2030-01-01T00:00:00.000Z' }],
    [
      { expires_at: null, allow_ips: ['10.0.0.1'] },
      { ...row, allow_ips: ['10.0.0.1'] },
    ],
    [
      { allow_ips: null, name: 'desk', group: 'vip' },
      { ...row, name: 'desk', group: 'vip' },
    ],
    [{}, { ...row, name: 'desk', group: 'vip' }],
  ]
  for (const [change, expected] of steps) {
    const before = ops.fleet.changes
    const reply = await ops.admin('PATCH', path, change)
    t.equal(reply.status, 200, JSON.stringify(change))
    t.same(reply.json, expected, JSON.stringify(change))
    t.same((await ops.admin('GET', '/admin/keys?account=acme')).data, [expected])
    t.equal(ops.fleet.changes, before + 1)
  }
  const bad: [change: object, text: RegExp][] = [
    [{ name: null }, /name: expected/],
    [{ status: null }, /status: expected/],
    [{ group: 'nowhere' }, /group/],
    [{ account: 'other' }, /account: unknown field/],
    [{ used: 0 }, /used: unknown field/],
    [{ cap: 'x' }, /cap: expected/],
  ]
  for (const [change, text] of bad) {
    const reply = await ops.admin('PATCH', path, change)
    t.equal(reply.status, 400, JSON.stringify(change))
    t.match(reply.error.message, text)
  }
  for (const id of ['0', '-1', '1.5', 'x', '999', '9'.repeat(30)]) {
    t.equal((await ops.admin('PATCH', `/admin/keys/${id}`, {})).status, 404, id)
    t.equal((await ops.admin('DELETE', `/admin/keys/${id}`)).status, 404, id)
  }
})

t.test('deleting, and what a key has used', async t => {
  const ops = await withAccount(t)
  const { id } = (await ops.admin('POST', '/admin/keys', { account: 'acme', name: 'laptop' })).json as { id: number }
  const key = (await ops.store.keys.byId(id))!
  await ops.store.holders.register({ id: 'here', host: 'h', beat: 0 })
  await ops.store.books.settle([settlement(usageRow('r1', key, 150_000), 'here', 0)])
  t.match((await ops.admin('GET', '/admin/keys')).data, [{ id, account: 'acme', used: '0.150000' }])
  const gone = await ops.admin('DELETE', `/admin/keys/${id}`)
  t.equal(gone.status, 204)
  t.equal(gone.text, '')
  t.same((await ops.admin('GET', '/admin/keys')).json, { data: [], next: null })
  t.equal((await ops.admin('DELETE', `/admin/keys/${id}`)).status, 404)
  t.equal(await ops.store.keys.find(key.hash), null)
  t.match((await ops.admin('GET', '/admin/usage')).data, [{ key: id }], 'what it used stays in the log')
  t.equal((await ops.admin('POST', '/admin/keys', { account: 'acme', name: 'laptop' })).status, 201, 'the name is free')
})

t.test('listing', async t => {
  const ops = await withAccount(t)
  await ops.admin('POST', '/admin/accounts', { name: 'other' })
  for (const [account, name] of [
    ['acme', 'a'],
    ['other', 'b'],
    ['acme', 'c'],
  ]) {
    await ops.admin('POST', '/admin/keys', { account, name })
  }
  const names = async (query: string) =>
    (await ops.admin('GET', `/admin/keys${query}`)).data.map(k => `${k['account']}/${k['name']}`)
  t.same(await names(''), ['acme/a', 'other/b', 'acme/c'])
  t.same(await names('?account=acme'), ['acme/a', 'acme/c'])
  t.same(await names('?account='), ['acme/a', 'other/b', 'acme/c'])
  t.equal((await ops.admin('GET', '/admin/keys?acount=acme')).status, 400)
  t.equal((await ops.admin('GET', '/admin/keys?account=nobody')).status, 404)
})
