/** Each change by the admin API stands in the log of actions, with what it was called, and from where. */
import t from 'tap'
import { SETUP } from '../support/store.ts'
import { openOps } from './support.ts'

const CHANNEL = { base_url: 'http://127.0.0.1:9', protocols: ['chat'], key: 'up', groups: ['default'], models: ['m'] }

t.test('every changing call writes a line', async t => {
  const ops = await openOps(t)
  const calls: [method: string, path: string, body: object | undefined, operation: string][] = [
    ['POST', '/admin/accounts', { name: 'acme', groups: ['default'], balance: 5 }, 'accounts.create'],
    ['PATCH', '/admin/accounts/acme', { status: 'banned' }, 'accounts.change'],
    ['POST', '/admin/accounts/acme/topups', { amount: 1, reference: 'a' }, 'entries.topUp'],
    ['POST', '/admin/accounts/acme/adjustments', { amount: 1, reference: 'b' }, 'entries.adjust'],
    ['POST', '/admin/keys', { account: 'acme', name: 'k' }, 'keys.create'],
    ['PATCH', '/admin/keys/1', { name: 'l' }, 'keys.change'],
    ['DELETE', '/admin/keys/1', undefined, 'keys.remove'],
    ['PUT', '/admin/groups/vip', { multiplier: 2 }, 'groups.put'],
    ['DELETE', '/admin/groups/vip', undefined, 'groups.remove'],
    ['PUT', '/admin/models/m', { price: { input: 1 } }, 'models.put'],
    ['DELETE', '/admin/models/m', undefined, 'models.remove'],
    ['PUT', '/admin/channels/c', CHANNEL, 'channels.put'],
    ['DELETE', '/admin/channels/c', undefined, 'channels.remove'],
  ]
  for (const [method, path, body, operation] of calls) {
    const reply = await ops.admin(method, path, body)
    t.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    const secret = (reply.json as { secret?: string } | undefined)?.secret
    const { data, text } = await ops.admin('GET', '/admin/actions')
    t.match(data[0], { operation, actor: { kind: 'token', name: 'token', user: null, ip: '127.0.0.1' } })
    if (secret !== undefined) t.notOk(text.includes(secret.slice(3, -4)))
    t.notMatch(text, /"up"/)
  }
  const { data } = await ops.admin('GET', '/admin/actions')
  t.equal(data.length, calls.length)
  t.match(data.at(-1), { account: 'acme', before: null, after: { name: 'acme', balance: '5.000000' } })
})

t.test('filters, pages and what is refused', async t => {
  const ops = await openOps(t)
  for (const name of ['one', 'two', 'three']) await ops.admin('POST', '/admin/accounts', { name })
  await ops.admin('PATCH', '/admin/accounts/two', { groups: [] })
  const names = async (query: string) =>
    (await ops.admin('GET', `/admin/actions${query}`)).data.map(line => `${line['operation']} ${line['account']}`)
  t.same(await names('?account=two'), ['accounts.change two', 'accounts.create two'])
  t.same(await names('?operation=accounts.change'), ['accounts.change two'])
  t.same(await names('?user=7'), [])
  const first = await ops.admin('GET', '/admin/actions?limit=3')
  t.same(
    first.data.map(line => line['account']),
    ['two', 'three', 'two'],
  )
  const next = String(first.json['next'])
  t.same(await names(`?limit=3&after=${next}`), ['accounts.create one'])
  t.equal((await ops.admin('GET', `/admin/actions?limit=3&after=${next}`)).json['next'], null)
  for (const [query, status] of [
    ['?account=nobody', 404],
    ['?limit=0', 400],
    ['?limit=1001', 400],
    ['?operation=a%20b', 400],
    ['?before=1', 400],
  ])
    t.equal((await ops.admin('GET', `/admin/actions${query}`)).status, status, String(query))
})

t.test('what a person did is found by the id of the person', async t => {
  const { store, admin } = await openOps(t)
  const user = { email: 'ann@example.com', name: 'Ann', password: null, operator: false, language: null, atMs: 1 }
  const { id, publicId } = await store.people.users.create(user, SETUP)
  const actor = { kind: 'user', userId: id, name: 'ann@example.com', ip: '192.0.2.1' } as const
  await store.accounts.create({ name: 'acme', groups: [] }, { actor, operation: 'accounts.create' })
  const { data } = await admin('GET', `/admin/actions?user=${publicId}`)
  t.equal(data.length, 1)
  t.match(data[0], {
    operation: 'accounts.create',
    actor: { kind: 'user', name: 'ann@example.com', ip: '192.0.2.1', user: publicId },
  })
})
