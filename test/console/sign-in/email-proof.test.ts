/**
 * Whoever owns an account could make users for any e-mail where owners invite: with mail, the letter goes to the address
 * and the owner never sees the link; without, the operator who decided so is told what that means.
 */
// The bug behind these rows: an email that nobody proved.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { check } from '../../../lib/cli/check.ts'
import { openConsole } from '../support/console.ts'
import { startMailServer } from '../../../tools/simulator/mail-server.ts'
import { PASSWORD } from '../../support/people.ts'
import { until } from '../../support/wait.ts'

t.test('with mail, only who has the address becomes a user with it', async t => {
  const { port, letters } = await startMailServer(t)
  const smtp = `smtp: { host: 127.0.0.1, port: ${port}, security: none, from: gateway@example.com }`
  const house = await openConsole(t, `${smtp}\nregistration: { mode: invite }`)
  const account = await house.account('acme')
  const eve = await house.person('eve@example.com', { in: { account, role: 'owner' } })
  const asked = { account, body: { email: 'victim@example.com', role: 'owner' } }
  const made = await eve.call('invitations.create', asked)
  t.match(made, { status: 201, json: { url: null } })
  const { json, text } = await eve.call('invitations.list', { account })
  t.match(json, { data: [{ email: 'victim@example.com' }] })
  await until('the letter', () => letters.length === 1)
  t.equal(letters[0]?.to, 'victim@example.com')
  const token = /#([\w-]+)/.exec(letters[0]?.text ?? '')?.[1] as string
  t.ok(token.length > 20)
  for (const shown of [made.text, text, house.deps.logged.join('')]) t.notOk(shown.includes(token))
  const accept = { token, name: 'The victim', password: PASSWORD }
  t.equal((await house.anybody().call('invitations.accept', { body: accept })).status, 204)
  t.ok(await house.store.people.users.byEmail('victim@example.com'))
})

t.test('check tells an operator what an invitation without mail proves', async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-check-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const smtp = 'smtp: { host: mail.example.com, from: gateway@example.com }\n'
  const rows: [what: string, settings: string, warned: boolean][] = [
    ['invite', 'registration: { mode: invite }\n', true],
    ['invite by mail', `registration: { mode: invite }\n${smtp}`, false],
    ['closed', 'registration: { mode: closed }\n', false],
    ['open', `registration: { mode: open }\n${smtp}`, false],
  ]
  for (const [what, settings, warned] of rows) {
    const file = path.join(folder, 'gateway.yaml')
    writeFileSync(file, `store: sqlite:${folder}/none.db\n${settings}`)
    const { warnings } = await check(file, {})
    t.equal(
      warnings.some(text => text.includes('invite')),
      warned,
      what,
    )
  }
})
