/** Whoever tried what they may not do was refused, and the log did not tell. */
// The bug behind these rows: attempts that nobody sees.
import t from 'tap'
import { openConsole } from '../support/console.ts'

t.test('calls that are not allowed stand in the log, with who and from where', async t => {
  const house = await openConsole(t)
  const [account, other] = [await house.account('acme'), await house.account('other')]
  const eve = await house.person('eve@example.com', { in: { account, role: 'viewer' } })
  const token = await eve.token('read')
  const body = { name: 'k', group: 'default' }
  const rows: [what: string, call: () => Promise<{ status: number }>, code: string | null][] = [
    ['role', () => eve.call('keys.create', { account, body }), 'role'],
    ['an account of others', () => eve.call('keys.list', { account: other }), 'missing'],
    ['operators', () => eve.call('users.list'), 'operators_only'],
    ['scope', () => token.call('keys.create', { account, body }), 'scope'],
    ['session', () => token.call('me.delete'), 'session_only'],
    [
      'another site',
      () => eve.call('me.change', { body: {}, headers: { 'sec-fetch-site': 'cross-site' } }),
      'cross_origin',
    ],
    ['nobody yet', () => house.anybody().call('me.show'), null],
    ['no right of its own', () => eve.call('me.show'), null],
  ]
  for (const [what, call, code] of rows) {
    house.deps.logged.length = 0
    await call()
    const lines = house.deps.logged.filter(line => line.includes('a console request is not allowed'))
    t.equal(lines.length, code === null ? 0 : 1, what)
    if (code === null) continue
    const line = JSON.parse(String(lines[0])) as Record<string, unknown>
    t.match(line, { code, ip: '192.0.2.1' }, what)
    if (code !== 'cross_origin') t.equal(line['user'], eve.person.publicId, what)
    t.notMatch(String(lines[0]), /eve@example|gwp_[\w-]{8}/, 'neither a name nor a secret')
  }
})
