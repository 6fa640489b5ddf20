/** From the first visit to a key of one's own with the keyboard alone, and where the focus is after dialogs. */
import t from 'tap'
import { CLI, PASSWORD } from '../../support/people.ts'
import { until } from '../../support/wait.ts'
import { browserTest, type Visitor } from '../support/browser.ts'
import { furnish } from '../support/furnished.ts'
import { giveSession } from '../support/pages.ts'

/** More than any page has places for the focus. */
const MOST_TABS = 120

/** What has the focus, as screen readers name it. */
const focused = ({ page }: Visitor): Promise<string> =>
  page.evaluate(() => {
    const node = document.activeElement as HTMLElement
    return node.getAttribute('aria-label') ?? (node.id === '' ? node.innerText.trim() : `#${node.id}`)
  })

async function tabTo(visitor: Visitor, wanted: string): Promise<void> {
  const passed: string[] = []
  for (let i = 0; i < MOST_TABS; i++) {
    await visitor.page.keyboard.press('Tab')
    const now = await focused(visitor)
    if (now === wanted) return
    passed.push(now)
  }
  throw new Error(`no Tab leads to ${wanted}: ${passed.join(' | ')}`)
}

browserTest(t, 'from the first visit to a key', async (t, newcomer) => {
  const { house, account, owner } = await furnish(t)
  await house.store.people.credentials.set(owner.id, { passkeys: null }, CLI) // the password alone signs in
  const visitor = await newcomer({ language: 'en-US' })
  const { page, complaints } = visitor
  const { keyboard } = page
  const arrived = (path: string) => page.waitForURL(url => url.pathname === path)
  const before = await house.store.keys.page({ accountId: account.id, limit: 50 })
  await visitor.visit(house.url)
  await keyboard.press('Tab')
  t.equal(await focused(visitor), 'Skip to the content', 'the first of all')
  await keyboard.press('Enter')
  await page.locator('#main:focus').waitFor()
  await page.reload()
  await visitor.drawn()
  await tabTo(visitor, 'Sign in')
  await keyboard.press('Enter')
  await arrived('/console/sign-in')
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
  await tabTo(visitor, '#email')
  await keyboard.type('ada@example.org')
  await tabTo(visitor, '#password')
  await keyboard.type(PASSWORD)
  await keyboard.press('Enter')
  await page.waitForURL(url => url.pathname !== '/console/sign-in')
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
  await tabTo(visitor, 'Keys')
  await keyboard.press('Enter')
  await arrived('/console/keys')
  await page.getByRole('rowheader', { name: 'laptop' }).waitFor()
  // it is disabled, and no Tab leads to it, until the groups are known
  await page.getByRole('button', { name: 'New key', disabled: false }).waitFor()
  await tabTo(visitor, 'New key')
  await keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'New key' }).waitFor()
  await tabTo(visitor, '#name')
  await keyboard.type('typed')
  await tabTo(visitor, 'Make the key')
  await keyboard.press('Enter')
  await page.getByText('The key is shown only now').waitFor()
  await tabTo(visitor, 'I have kept it')
  await keyboard.press('Enter')
  await page.getByRole('rowheader', { name: 'typed' }).waitFor()
  t.equal((await house.store.keys.page({ accountId: account.id, limit: 50 })).length, before.length + 1)
  t.same(complaints, [])
})

browserTest(t, 'a dialog takes the focus, keeps it, and gives it back to what opened it', async (t, newcomer) => {
  const at = await furnish(t)
  const visitor = await newcomer({ language: 'en-US' })
  const { page } = visitor
  await giveSession(visitor, at.house, at)
  for (const [path, opener] of [
    ['/keys', 'New key'],
    ['/keys', 'Manage laptop'],
    ['/team', 'Invite somebody'],
    ['/team', 'Change Bob'],
    ['/security', 'New token'],
    ['/security', 'Add an app'],
    ['/security', 'Rename Ada’s laptop'],
    ['/security', 'Delete Ada’s laptop'],
  ] as const) {
    await visitor.visit(`${at.house.url}/console${path}`)
    await visitor.drawn()
    // a disabled one takes no focus
    const button = page.getByRole('button', { name: opener, exact: true, disabled: false }).first()
    await button.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    const inside = () => page.evaluate(() => document.activeElement?.closest('dialog') !== null)
    t.ok(await inside(), `${opener}: the focus goes into the dialog`)
    // the browser's own bar may have it between the last and the first, the page never
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press('Tab')
      t.ok((await inside()) || (await page.evaluate(() => document.activeElement === document.body)), `${opener} ${i}`)
    }
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until(`${opener}: the focus is back`, () => button.evaluate(node => node === document.activeElement))
  }
})
