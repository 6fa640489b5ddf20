/**
 * Who had lost the right to be in an account had ways back: an invitation that was made before, a request whose body was
 * still under way, and the keys of a user that was deleted.
 */
// The bug behind these rows: ways back for who has left.
import { once } from 'node:events'
import http from 'node:http'
import t from 'tap'
import type { Account } from '../../../lib/terms/records.ts'
import { openConsole, type PersonClient } from '../../console/support/console.ts'

const INVITES = 'registration: { mode: invite }'
const PASSWORD = 'a long and winding password'

const tokenIn = (url: unknown): string => String(url).split('#')[1] as string

async function invitation(by: PersonClient, account: Account, email: string): Promise<string> {
  const { json } = await by.call('invitations.create', { account, body: { email, role: 'owner' } })
  return tokenIn(json['url'])
}

t.test('an invitation works as long as its maker could make it', async t => {
  const house = await openConsole(t, INVITES)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const look = (token: string) => house.anybody().call('invitations.look', { body: { token } })
  const accept = (token: string) =>
    house.anybody().call('invitations.accept', { body: { token, name: 'Somebody', password: PASSWORD } })
  const losses: [what: string, lose: (eve: PersonClient) => Promise<unknown>][] = [
    ['removed', eve => ann.call('members.remove', { account, path: { id: eve.person.publicId } })],
    [
      'viewer',
      eve => ann.call('members.change', { account, path: { id: eve.person.publicId }, body: { role: 'viewer' } }),
    ],
    ['deleted', eve => eve.call('me.delete')],
    [
      'disabled',
      eve =>
        house.store.people.users.update(
          eve.person.id,
          { status: 'disabled' },
          {
            actor: { kind: 'cli', userId: null, name: 'cli', ip: null },
            operation: 'test',
          },
        ),
    ],
  ]
  for (const [what, lose] of losses) {
    const eve = await house.person(`eve-${what}@example.com`, { in: { account, role: 'owner' } })
    const token = await invitation(eve, account, `mallory-${what}@example.com`)
    t.equal((await look(token)).status, 200, what)
    await lose(eve)
    t.equal((await look(token)).status, 410, what)
    t.equal((await accept(token)).status, 410, what)
    t.equal(await house.store.people.users.byEmail(`mallory-${what}@example.com`), null, what)
  }
  t.equal((await accept(await invitation(ann, account, 'bob@example.com'))).status, 204)

  const root = await house.person('root@example.com', { operator: true, factor: true })
  const made = async () =>
    tokenIn((await root.call('users.invite', { body: { email: 'next@example.com', role: 'operator' } })).json['url'])
  const token = await made()
  t.equal((await look(token)).status, 200)
  await root.call('me.delete')
  t.equal((await accept(token)).status, 410, 'nor among the operators')
})

t.test('another invitation to the same person ends with the first one, and with the membership', async t => {
  const house = await openConsole(t, INVITES)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const bob = await house.person('bob@example.com')
  const [first, second] = [
    await invitation(ann, account, 'bob@example.com'),
    await invitation(ann, account, 'bob@example.com'),
  ]
  t.equal((await bob.call('invitations.accept', { body: { token: first } })).status, 204)
  const third = await invitation(ann, account, 'bob@example.com')
  await ann.call('members.remove', { account, path: { id: bob.person.publicId } })
  for (const token of [second, third])
    t.equal((await house.anybody().call('invitations.look', { body: { token } })).status, 410)
})

/** A call that has sent half of its body. `finish` sends the rest, and resolves with the status. */
function slowly(url: string, path: string, headers: http.OutgoingHttpHeaders, body: string) {
  const req = http.request(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
    agent: false,
  })
  req.write(body.slice(0, 1))
  return async () => {
    const answered = once(req, 'response')
    req.end(body.slice(1))
    const [res] = (await answered) as [http.IncomingMessage]
    res.resume()
    return res.statusCode
  }
}

t.test('what a sender may do is asked again when the body is there', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const { people } = house.store
  const asked = Promise.withResolvers<void>()
  const role = people.members.role.bind(people.members)
  people.members.role = async (...args) => {
    const found = await role(...args)
    asked.resolve()
    return found
  }
  const eve = await house.person('eve@example.com', { in: { account, role: 'member' } })
  const finish = slowly(
    house.url,
    `/console/api/accounts/${account.publicId}/keys`,
    { cookie: `session=${eve.cookies.get('session')}`, 'sec-fetch-site': 'same-origin' },
    JSON.stringify({ name: 'for later', group: 'default' }),
  )
  await asked.promise
  await ann.call('members.remove', { account, path: { id: eve.person.publicId } })
  t.equal(await finish(), 401)
  t.same(await house.store.keys.page({ accountId: account.id, limit: 9 }), [])
})

t.test('the keys of a user that is deleted are disabled', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const eve = await house.person('eve@example.com', { in: { account, role: 'member' } })
  await eve.call('keys.create', { account, body: { name: 'mine', group: 'default' } })
  t.match(await house.store.keys.page({ accountId: account.id, limit: 9 }), [{ status: 'enabled' }])
  t.equal((await eve.call('me.delete')).status, 204)
  t.match(await house.store.keys.page({ accountId: account.id, limit: 9 }), [{ status: 'disabled' }])
})
