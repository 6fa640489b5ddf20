/** The log of actions by the API: what owners see of their account, and operators of everything. */
import t, { type Test } from 'tap'
import { micro } from '../../../lib/base/money.ts'
import { SETUP } from '../../support/store.ts'
import { type Json, openConsole } from '../support/console.ts'

async function open(t: Test) {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const other = await house.account('other')
  const olga = await house.person('olga@example.com', { in: { account, role: 'owner' } })
  const otto = await house.person('otto@example.com', { in: { account: other, role: 'owner' } })
  const operator = await house.person('op@example.com', { operator: true, factor: true })
  const lines = async (query: Record<string, string> = {}) =>
    (await olga.call('actions.list', { account, query })).json['data'] as Json[]
  const all = async (query: Record<string, string> = {}) =>
    (await operator.call('actions.all', { query })).json['data'] as Json[]
  return { house, account, other, olga, otto, operator, lines, all }
}

t.test('owners read who changed what in their account, and nothing of others', async t => {
  const { house, account, other, olga, otto, operator, lines } = await open(t)
  const { json } = await olga.call('keys.create', { account, body: { name: 'k', group: 'default' } })
  const { key, secret } = json as { key: { id: string }; secret: string }
  await otto.call('keys.create', { account: other, body: { name: 'theirs', group: 'default' } })
  await olga.call('keys.change', { account, path: { id: key.id }, body: { name: 'l' } })
  const byOperator = { kind: 'user', userId: operator.person.id, name: '', ip: '198.51.100.9' } as const
  await house.store.accounts.update(
    account.id,
    { status: 'banned' },
    { actor: byOperator, operation: 'accounts.change' },
  )
  const found = await lines()
  t.match(found[0], {
    operation: 'accounts.change',
    by: { kind: 'operators', id: null, name: null, ip: null },
    account: { id: account.publicId, name: 'acme' },
    before: { status: 'active' },
    after: { status: 'banned' },
  })
  t.match(found[1], {
    operation: 'keys.change',
    by: { kind: 'user', id: olga.person.publicId, name: 'olga@example.com', ip: '192.0.2.1' },
    subject: { kind: 'key', id: key.id, name: 'l' },
    before: { name: 'k' },
    after: { name: 'l' },
  })
  t.match(found[2], { operation: 'keys.create', before: null, after: { name: 'k', created_by: 'olga@example.com' } })
  t.ok(found.every(({ account: shown }) => (shown as Json)['name'] === 'acme'))
  const text = JSON.stringify(found)
  for (const hidden of ['theirs', '198.51.100.9', 'op@example.com', secret]) t.notOk(text.includes(hidden), hidden)
  t.notOk(
    found.some(({ by }) => (by as Json)['kind'] === 'cli'),
    'whoever is outside the account has no name',
  )
})

t.test('owners are not told how many entries and quotes the gateway has made', async t => {
  const { house, account, olga, lines, all } = await open(t)
  const { store } = house
  const entry = { kind: 'topup', amount: micro(7_000_000), reference: 'order 7', actor: 'boss', note: '' } as const
  await store.entries.add(account.id, entry, SETUP)
  const quote = { accountId: account.id, amount: micro(1), wei: 1n, rate: 7_000_000, fromMs: 1, untilMs: 2 }
  await store.chain.makeQuote(quote, 1, SETUP)
  await store.chain.issueAddress(
    { chainId: 56, wallet: 'w', accountId: account.id, fromBlock: 1 },
    n => `0x${n}`,
    SETUP,
  )
  const seen = (found: Json[]) => found.map(({ subject, after }) => ({ subject, after })).slice(0, 3)
  t.match(seen(await all()), [
    { subject: { id: '0x0' }, after: { number: 0 } },
    { subject: { id: 'quote:1' } },
    { subject: { id: '1' }, after: { reference: 'order 7' } },
  ])
  const own = seen(await lines())
  t.same(
    own.map(({ subject }) => (subject as Json)['id']),
    ['0x0', 'quote', 'order 7'],
  )
  t.notMatch(own[0], { after: { number: 0 } })
  t.equal((await olga.call('actions.list', { account })).status, 200)
})

t.test('an operator who is in the account is one of its people', async t => {
  const { house, account, operator, lines } = await open(t)
  await house.store.people.members.add(
    { userId: operator.person.id, accountId: account.id, role: 'owner' },
    house.clock.now(),
    SETUP,
  )
  await operator.call('keys.create', { account, body: { name: 'k', group: 'default' } })
  t.match((await lines())[0], { by: { kind: 'user', name: 'op@example.com', ip: '192.0.2.1' } })
})

t.test('filters and pages', async t => {
  const { account, other, olga, lines, all } = await open(t)
  for (const name of ['a', 'b', 'c']) await olga.call('keys.create', { account, body: { name, group: 'default' } })
  const names = (found: Json[]) => found.map(({ subject }) => (subject as Json)['name'])
  t.same(names(await lines({ operation: 'keys.create' })), ['c', 'b', 'a'])
  t.same(names(await lines({ operation: 'keys.create', user: olga.person.publicId })), ['c', 'b', 'a'])
  t.same(await lines({ operation: 'keys.create', user: 'x'.repeat(20) }), [], 'somebody who does not exist')
  const query = { operation: 'keys.create', limit: '2' }
  const first = (await olga.call('actions.list', { account, query })).json
  t.same(names(first['data'] as Json[]), ['c', 'b'])
  t.same(names(await lines({ ...query, after: String(first['next']) })), ['a'])
  t.equal((await olga.call('actions.list', { account, query: { account: other.publicId } })).status, 400)
  t.match((await all({ account: other.publicId })).at(-1), { operation: 'test', account: { name: 'other' } })
  t.same(await all({ account: 'x'.repeat(20) }), [], 'an account that does not exist is not every account')
  t.match((await all({ operation: 'keys.create' }))[0], { by: { ip: '192.0.2.1' }, account: { name: 'acme' } })
  t.ok((await all()).some(({ by }) => (by as Json)['kind'] === 'cli'))
})
