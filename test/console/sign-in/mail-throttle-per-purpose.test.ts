/**
 * All letters to an address counted together. Whoever asked for a new password of somebody who is no user yet, which sends
 * nothing, kept invitations and registration from that address for as long as they liked.
 */
// The bug behind these rows: letters kept from somebody.
import t from 'tap'
import { openConsole } from '../support/console.ts'
import { startMailServer } from '../../../tools/simulator/mail-server.ts'
import { until } from '../../support/wait.ts'

t.test('asking for one letter keeps no other one back', async t => {
  const { port, letters } = await startMailServer(t)
  const house = await openConsole(
    t,
    `smtp: { host: 127.0.0.1, port: ${port}, security: none, from: gateway@example.com }\nregistration: { mode: open }`,
  )
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const email = 'bob@example.com'
  const asks = []
  for (let i = 0; i < 5; i++) asks.push((await house.anybody().call('resets.ask', { body: { email } })).status)
  t.strictSame([asks[0], asks.at(-1)], [202, 429])
  t.equal((await house.anybody().call('registration.ask', { body: { email } })).status, 202)
  t.equal((await ann.call('invitations.create', { account, body: { email, role: 'viewer' } })).status, 201)
  await until('both letters', () => letters.length === 2)
  t.strictSame(
    letters.map(({ to }) => to),
    [email, email],
  )
})
