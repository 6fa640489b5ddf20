/** A personal token that may only read accepted invitations in its user's place, and got a session of an operator for it. */
// The bug behind these rows: a token that does more than it may.
import t from 'tap'
import { openConsole } from '../support/console.ts'

t.test('calls that anybody may make do no more for a token', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const root = await house.person('root@example.com', { operator: true, factor: true })
  const ann = await house.person('ann@example.com')
  const token = await ann.token('read')
  const invited = async (form: object): Promise<string> => {
    const { json } = await root.call('users.invite', { body: { email: 'ann@example.com', ...form } })
    return String(json['url']).split('#')[1] as string
  }
  const into = await invited({ account: 'acme', role: 'owner' })
  const among = await invited({ role: 'operator' })
  for (const link of [into, among]) {
    const answer = await token.call('invitations.accept', { body: { token: link } })
    t.match(answer, { status: 403, code: 'session_only' })
    t.notOk(answer.headers['set-cookie'])
  }
  t.equal(await house.store.people.members.role(ann.person.id, account.id), null)
  t.match(await house.store.people.users.byId(ann.person.id), { operator: false })
  t.equal((await token.call('sign_in.ways')).status, 200, 'what it may read it reads')
  t.equal((await token.call('me.show')).status, 200)
  t.equal((await ann.call('invitations.accept', { body: { token: into } })).status, 204)
})
