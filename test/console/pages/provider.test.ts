/** Sign-in by an OpenID provider, as people do it: linked, signed in with, asked for a proof, unlinked. */
import t, { type Test } from 'tap'
import { CLIENT, startOpenidProvider } from '../../support/openid-provider.ts'
import { CLI } from '../../support/people.ts'
import { browserTest } from '../support/browser.ts'
import { newPerson, openConsole, PASSWORD, signInBrowser } from '../support/pages.ts'
import { codeOf } from '../support/totp.ts'

async function open(t: Test, mode = 'closed') {
  const provider = await startOpenidProvider(t, () => Date.now())
  const oidc = { issuer: provider.issuer, name: 'Company', client_id: CLIENT.id, client_secret: CLIENT.secret }
  const smtp = { host: '127.0.0.1', security: 'none', from: 'gateway@example.org' }
  const house = await openConsole(t, JSON.stringify({ oidc, smtp, registration: { mode } }))
  // the provider sends browsers to the address by which people reach the console, and its port is known only now
  Object.assign(house.deps.config().public, { main: house.url })
  provider.claims = { sub: 'subject-1', email: 'ada@example.org', email_verified: true, name: 'Ada' }
  return { house, provider }
}

browserTest(t, 'linked in Security, then the way in, then unlinked', async (t, newcomer) => {
  const { house } = await open(t)
  const ada = await newPerson(house.deps, 'ada@example.org', { name: 'Ada' })
  const stranger = await newcomer({ language: 'en-US', width: 360 })
  await stranger.visit(`${house.url}/console/sign-in?next=%2Fconsole%2Fsecurity%3Fx%3D1`)
  t.same(await stranger.axe(), [], 'the page for signing in')
  await stranger.page.getByRole('button', { name: 'Continue with Company' }).click()
  await stranger.page.getByText('No user here is linked to that identity.').waitFor()
  t.same(await stranger.axe(), [], 'with what came of it')

  const visitor = await newcomer({ language: 'en-US' })
  await signInBrowser(visitor, house.url, ada, '/console/security')
  await visitor.page.getByRole('button', { name: 'Link Company' }).click()
  await visitor.page.getByText('Linked: you can sign in with it from now on.').waitFor()
  await visitor.page.getByRole('button', { name: /^Unlink http/ }).waitFor()
  t.same(await visitor.axe(), [], 'Security')

  await stranger.visit(`${house.url}/console/sign-in?next=%2Fconsole%2Fsecurity%3Fx%3D1`)
  await stranger.page.getByRole('button', { name: 'Continue with Company' }).click()
  await stranger.page.waitForURL(`${house.url}/console/security?x=1`)
  await stranger.page.getByRole('heading', { name: 'Sign-in by a provider' }).waitFor()
  t.same(await stranger.axe(), [], 'Security on a telephone')

  await visitor.page.getByRole('button', { name: /^Unlink http/ }).click()
  await visitor.told('Unlinked')
  t.same(await house.store.people.identities.list(ada.id), [])
  t.same([...stranger.complaints, ...visitor.complaints], [])
})

browserTest(t, 'who has no password proves it at the provider, and then sets one', async (t, newcomer) => {
  const { house, provider } = await open(t, 'open')
  const { page, visit, told, axe, complaints } = await newcomer({ language: 'zh-CN', width: 360 })
  await visit(`${house.url}/console/sign-in?next=/console/security`)
  await page.getByRole('button', { name: '使用 Company 继续' }).click()
  await page.waitForURL(`${house.url}/console/security`)
  await page.locator('#new').waitFor()
  t.equal(await page.locator('#old').count(), 0)
  await page.fill('#new', PASSWORD)
  house.clock.advance(3_600_000)
  const set = page.getByRole('button', { name: '设置密码' })
  await set.click()
  const dialog = page.getByRole('dialog', { name: '请确认是您本人' })
  const goOn = dialog.getByRole('button', { name: '使用 Company 继续' })
  await goOn.waitFor()
  t.same(await axe(), [], 'the dialog')
  provider.claims = { ...provider.claims, auth_time: Math.floor(Date.now() / 1000) }
  await Promise.all([page.waitForEvent('load'), goOn.click()])
  await page.waitForURL(`${house.url}/console/security`)
  await page.locator('#new').fill(PASSWORD)
  await set.click()
  await told('密码已设置')
  t.equal((await house.store.people.users.byEmail('ada@example.org'))?.hasPassword, true)
  t.same(complaints, [])
})

browserTest(t, 'the second factor is asked for here, and its secret leaves the address', async (t, newcomer) => {
  const { house, provider } = await open(t)
  const ada = await newPerson(house.deps, 'ada@example.org', { name: 'Ada' })
  const secret = 'JBSWY3DPEHPK3PXP'
  const identity = { issuer: provider.issuer, subject: 'subject-1', userId: ada.id, atMs: house.clock.now() }
  await house.store.people.identities.add(identity, CLI)
  await house.store.people.credentials.startTotp(ada.id, secret)
  await house.store.people.credentials.set(ada.id, { totp: { confirmedStep: 1 } }, CLI)
  const { page, visit, complaints } = await newcomer({ language: 'en-US' })
  await visit(`${house.url}/console/sign-in?next=/console/security`)
  await page.getByRole('button', { name: 'Continue with Company' }).click()
  await page.fill('#code', codeOf(secret, house.clock.now()))
  await page.waitForURL(url => url.hash === '')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${house.url}/console/security`)
  t.same(complaints, [])
})
