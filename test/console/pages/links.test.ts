/** Pages to which links with a secret lead. */
import t from 'tap'
import { firstSignInLink } from '../../../lib/operations/people/sign-in.ts'
import { UserAdmin } from '../../../lib/operations/people/users.ts'
import { signedInAs } from '../../support/people.ts'
import { browserTest } from '../support/browser.ts'
import { newPerson, openConsole, PASSWORD } from '../support/pages.ts'

/** The link at the address of the test, whatever the config says it is. */
const at = (base: string, link: string): string => base + link.slice(new URL(link).origin.length)

browserTest(t, 'a new password by a link: the password of before is dead, and so is the link', async (t, newcomer) => {
  const house = await openConsole(t)
  const ada = await newPerson(house.deps, 'ada@example.org', { name: 'Ada' })
  const operator = await newPerson(house.deps, 'op@example.org', { name: 'Op', operator: true })
  const { url } = await new UserAdmin(house.deps).makeReset(signedInAs(operator), ada)
  const { page, visit, axe, complaints } = await newcomer({ language: 'en-US' })
  await visit(at(house.url, url))
  await page.waitForURL(url => url.hash === '')
  t.same(await axe(), [])
  await page.fill('#password', 'short')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.locator('#password-error').waitFor()
  await page.waitForSelector('#password:focus')
  await page.fill('#password', 'another long and winding password')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByText('The password is set.').waitFor()
  // in the same tab this changes the fragment only
  await page.goto(at(house.url, url))
  await page.fill('#password', 'yet another long and winding password')
  await page.getByRole('button', { name: 'Set the password' }).click()
  t.match(await page.getByRole('alert').innerText(), /This link has expired, was used before, or was withdrawn/)
  await page.getByRole('link', { name: 'Go to the sign-in page' }).click()
  await page.fill('#email', ada.email)
  await page.fill('#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.locator('#password-error').waitFor()
  await page.fill('#password', 'another long and winding password')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${house.url}/console/overview`)
  t.same(complaints, [])
})

browserTest(t, 'a link without its secret says so', async (t, newcomer) => {
  const house = await openConsole(t)
  const { page, visit } = await newcomer({ language: 'zh-CN' })
  for (const name of ['reset', 'invitation', 'email', 'first-sign-in']) {
    await visit(`${house.url}/console/${name}`)
    await page.getByText('链接不完整').waitFor()
    t.equal(await page.locator('form').count(), 0, name)
  }
})

browserTest(t, 'the first sign-in of a machine: once, by a button', async (t, newcomer) => {
  const house = await openConsole(t)
  const link = await firstSignInLink(house.deps, { email: 'demo@example.org', operator: true, account: null })
  const local = { context: { extraHTTPHeaders: { 'x-test-ip': '127.0.0.1' } } }
  const { page, visit, complaints } = await newcomer({ language: 'en-US', ...local })
  await visit(at(house.url, link))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${house.url}/console/overview`)
  await page.locator('main').getByText('demo@example.org').waitFor()
  const other = await newcomer({ language: 'en-US', ...local })
  await other.visit(at(house.url, link))
  await other.page.getByRole('button', { name: 'Sign in' }).click()
  await other.page.getByRole('alert').waitFor()
  t.same([...complaints, ...other.complaints], [])
})
