/** Delete my user: who asks is made sure of, and nothing of the person is left but what was done, without a name. */
import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { giveSession, newPerson, openConsole, signInBrowser } from '../support/pages.ts'

const EMAIL = 'eve@example.org'
const SETUP = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' } as const

browserTest(t, 'delete my user: the e-mail is typed, and the log of actions keeps no name', async (t, newcomer) => {
  const house = await openConsole(t)
  const { store, clock } = house
  const account = await house.account('acme')
  const ann = await house.person('ann@example.org', { in: { account, role: 'owner' } })
  const eve = await newPerson(house.deps, EMAIL, { name: 'Eve' })
  await store.people.members.add({ userId: eve.id, accountId: account.id, role: 'member' }, clock.now(), SETUP)
  const visitor = await newcomer({ language: 'en-US' })
  const { page } = visitor
  await signInBrowser(visitor, house.url, eve)
  await page.getByRole('button', { name: 'Delete your user' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('ann@example.org')
  await dialog.getByRole('button', { name: 'Delete your user' }).click()
  await dialog.getByText('That is not your e-mail').waitFor()
  t.ok(await store.people.users.byEmail(EMAIL), 'nothing has happened yet')
  await dialog.getByRole('textbox').fill(EMAIL)
  await dialog.getByRole('button', { name: 'Delete your user' }).click()
  await page.waitForURL(`${house.url}/console`)
  await page.getByRole('heading', { name: 'One key for many models' }).waitFor()
  t.same(
    (await visitor.context.cookies()).filter(({ name }) => name !== 'language' && name !== 'theme'),
    [],
    'the session has ended in the browser, too',
  )
  t.equal(await store.people.users.byEmail(EMAIL), null)

  const operator = await house.person('root@example.org', { operator: true, factor: true })
  const log = await operator.call('actions.all')
  t.match(log.text, /"operation":"me\.delete"/)
  for (const { text } of [log, await ann.call('actions.list', { account }), await operator.call('users.list')])
    t.notMatch(text, /eve@|"Eve"/)
  await giveSession(visitor, house, operator)
  await visitor.visit(`${house.url}/console/all-actions`)
  await visitor.drawn()
  t.match(await page.locator('main').innerText(), /Deleted the own user/)
  t.notMatch(await page.locator('main').innerText(), /eve@/)
  t.same(visitor.complaints, [])
})

t.test('delete my user: the last owner of an account cannot, and is told why', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.org', { in: { account, role: 'owner' } })
  t.match(await ann.call('me.delete'), { status: 409, json: { error: { message: /owner/ } } })
  t.ok(await house.store.people.users.byEmail('ann@example.org'))
})
