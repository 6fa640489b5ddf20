import t from 'tap'
import { CLI } from '../../support/people.ts'
import { browserTest } from '../support/browser.ts'
import { newPerson, openConsole, PASSWORD, signInBrowser } from '../support/pages.ts'
import { codeOf } from '../support/totp.ts'

browserTest(t, 'a page of one’s own asks for a sign-in and is there afterwards', async (t, newcomer) => {
  const { url: at, deps } = await openConsole(t)
  const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
  const visitor = await newcomer({ language: 'en-US' })
  const { page, complaints } = visitor
  await page.goto(`${at}/console/security?x=1`)
  await page.waitForURL(/sign-in\?next=/)
  await visitor.drawn()
  await page.locator('#email:focus').waitFor()
  await page.keyboard.type(ada.email)
  await page.fill('#password', 'wrong')
  await page.keyboard.press('Enter')
  await page.locator('#password-error').waitFor()
  t.equal(await page.locator('#password-error').innerText(), 'The e-mail or the password is not right.')
  t.match(await page.locator('#password:focus').getAttribute('aria-describedby'), /password-error/)
  await page.fill('#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/console/security?x=1`)
  await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
  await page.getByText('Your menu').locator('..').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${at}/console`)
  await page.goto(`${at}/console/security`)
  await page.waitForURL(/sign-in\?next=/)
  t.same(complaints, [])
})

browserTest(
  t,
  'a new browser takes language and theme from the user, unless somebody chose there',
  async (t, newcomer) => {
    const { url: at, deps } = await openConsole(t)
    const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
    await deps.store.people.users.update(ada.id, { language: 'en', theme: 'dark' }, CLI)
    const fresh = await newcomer({ language: 'zh-CN' })
    await signInBrowser(fresh, at, ada)
    await fresh.page.getByRole('heading', { name: 'Profile' }).waitFor()
    t.equal(await fresh.page.locator('html').getAttribute('data-theme'), 'dark')
    t.equal(await fresh.page.locator('#theme').inputValue(), 'dark', 'the page itself begins with them')
    const { hostname } = new URL(at)
    const cookies = Object.fromEntries((await fresh.context.cookies()).map(({ name, value }) => [name, value]))
    t.match(cookies, { language: 'en', theme: 'dark' }, 'the next page comes in them from the server')
    const chosen = await newcomer({ language: 'zh-CN' })
    await chosen.context.addCookies([{ name: 'language', value: 'zh', domain: hostname, path: '/' }])
    await signInBrowser(chosen, at, ada)
    await chosen.page.getByRole('heading', { name: '个人资料' }).waitFor()
    t.equal(await chosen.page.locator('html').getAttribute('data-theme'), 'dark')
    t.same([...fresh.complaints, ...chosen.complaints], [])
  },
)

browserTest(t, 'empty fields are said at the field, in the language of the page', async (t, newcomer) => {
  const { url: at } = await openConsole(t)
  const { page, visit } = await newcomer({ language: 'zh-CN' })
  await visit(`${at}/console/sign-in`)
  await page.getByRole('button', { name: '登录', exact: true }).click()
  await page.locator('#email-error').waitFor()
  t.equal(await page.locator('#email-error').innerText(), '请填写此项')
  await page.waitForSelector('#email:focus')
})

browserTest(t, 'a second factor: switched on, asked for, and gone with a recovery code', async (t, newcomer) => {
  const { url: at, deps } = await openConsole(t)
  const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
  const visitor = await newcomer({ language: 'en-US' })
  const { page, complaints } = visitor
  await signInBrowser(visitor, at, ada, '/console/security')
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByRole('img', { name: 'QR code for the app' }).waitFor()
  const secret = await page.locator('dialog .copyable code').innerText()
  await page.fill('#code', codeOf(secret, deps.clock.now()))
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.locator('.codes li').first().waitFor()
  const codes = await page.locator('.codes li').allInnerTexts()
  t.equal(codes.length, 10)
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await page.getByRole('button', { name: 'New recovery codes' }).waitFor()

  const other = await newcomer({ language: 'en-US' })
  await other.visit(`${at}/console/sign-in`)
  await other.page.fill('#email', ada.email)
  await other.page.fill('#password', PASSWORD)
  await other.page.keyboard.press('Enter')
  await other.page.fill('#code', codes[0] as string)
  await other.page.keyboard.press('Enter')
  await other.page.waitForURL(`${at}/console/overview`)
  t.same([...complaints, ...other.complaints], [])
})

browserTest(
  t,
  'a session that ends in the middle asks in a dialog, and keeps what was entered',
  async (t, newcomer) => {
    const { url: at, deps } = await openConsole(t)
    const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
    const visitor = await newcomer({ language: 'en-US' })
    const { page, context } = visitor
    await signInBrowser(visitor, at, ada)
    await page.fill('#name', 'Ada Lovelace')
    await context.clearCookies({ name: 'session' })
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.waitFor()
    t.equal(await dialog.locator('#email').inputValue(), ada.email, 'who it was is filled in')
    await dialog.locator('#password').fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await visitor.told('Saved')
    t.equal((await deps.store.people.users.byId(ada.id))?.name, 'Ada Lovelace')
  },
)

browserTest(t, 'what is dangerous asks for a proof, and goes on with it', async (t, newcomer) => {
  const { url: at, deps } = await openConsole(t)
  const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
  const visitor = await newcomer({ language: 'en-US' })
  const { page } = visitor
  await signInBrowser(visitor, at, ada, '/console/security')
  deps.clock.advance(3_600_000)
  const opener = page.getByRole('button', { name: 'Switch on' })
  await opener.click()
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  // the focus is back
  await page.locator('button:focus', { hasText: 'Switch on' }).waitFor()
  await opener.click()
  await dialog.locator('#proof').fill('wrong')
  await page.keyboard.press('Enter')
  await dialog.locator('#proof-error').waitFor()
  await dialog.locator('#proof').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('img', { name: 'QR code for the app' }).waitFor()
})

browserTest(t, 'a password is masked, and can be shown and pasted', async (t, newcomer) => {
  const { url: at } = await openConsole(t)
  const { page, visit, context } = await newcomer({ language: 'en-US' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await visit(`${at}/console/sign-in`)
  await page.evaluate(text => navigator.clipboard.writeText(text), PASSWORD)
  const field = page.locator('#password')
  await field.focus()
  await page.keyboard.press('ControlOrMeta+V')
  await page.waitForFunction(() => (document.querySelector('#password') as HTMLInputElement).value !== '')
  t.equal(await field.inputValue(), PASSWORD)
  t.equal(await field.getAttribute('type'), 'password')
  await field.locator('..').getByRole('button').click()
  t.equal(await field.getAttribute('type'), 'text')
})
