import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

browserTest(t, 'a token is made, shown once, works, and is revoked', async (t, newcomer) => {
  const house = await openConsole(t)
  const ada = await house.person('ada@example.org')
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, axe, complaints } = visitor
  await giveSession(visitor, house, ada)
  await visit(`${house.url}/console/security`)
  await page.getByRole('button', { name: 'New token' }).click()
  const dialog = page.getByRole('dialog', { name: 'New token' })
  t.same(await axe(), [], 'the dialog')
  await dialog.locator('#name').fill('nightly report')
  await dialog.locator('#allow_ips').fill('192.0.2.0/24\nno address')
  await dialog.getByRole('button', { name: 'New token' }).click()
  await dialog.locator('#allow_ips-error').waitFor()
  await dialog.locator('#allow_ips').fill('192.0.2.0/24')
  await dialog.getByRole('button', { name: 'New token' }).click()
  const made = page.getByRole('dialog', { name: 'nightly report' })
  const secret = await made.locator('.copyable code').innerText()
  t.match(secret, /^gwp_/)
  await made.getByRole('button', { name: 'I have kept it' }).click()
  const ask = () => fetch(`${house.url}/console/api/me`, { headers: { authorization: `Bearer ${secret}` } })
  t.equal((await ask()).status, 200)
  t.notOk((await page.content()).includes(secret), 'it is gone from the page')
  await page.getByRole('button', { name: 'Revoke nightly report' }).click()
  await page.getByText('There is no token yet.').waitFor()
  t.equal((await ask()).status, 401)
  t.same(complaints, [])
})
