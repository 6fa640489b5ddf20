/** The front door, and what somebody finds who may not have a page: by role, by account, and in no account at all. */
import t from 'tap'
import { ROLES } from '../../../lib/base/people.ts'
import { mayOpen, PAGES } from '../../../web/shared/sitemap.ts'
import { browserTest } from '../support/browser.ts'
import { furnish, PLACES } from '../support/furnished.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const SITE = {
  name: { zh: '星河', en: 'Galaxy' },
  contact: { zh: '微信 galaxy', en: 'help@galaxy.example' },
  announcements: [{ text: { zh: '今晚维护', en: 'Maintenance tonight' }, level: 'warning' }],
}

browserTest(t, 'a stranger is told what this is, what it costs and how to begin', async (t, newcomer) => {
  const { house } = await furnish(t)
  const visitor = await newcomer({ language: 'en-US' })
  const { page } = visitor
  await visitor.visit(house.url)
  t.equal(new URL(page.url()).pathname, '/console')
  t.equal(await page.title(), 'One key for many models · Model gateway')
  await page.getByRole('heading', { name: 'Begin in three steps' }).waitFor()
  t.same(await page.locator('main ol h3').allInnerTexts(), ['1. Register', '2. Top up', '3. Paste'])
  const first = page.locator('table tbody tr').first()
  t.match(await first.innerText(), /alpha-haiku-5-5\s+¥7\s+¥35/)
  t.notMatch(await page.locator('table').innerText(), /gamma-3\.8-flash/, 'what is offline is not offered')
  t.ok(await page.getByRole('link', { name: 'See all 6 models' }).isVisible())
  t.same(await visitor.axe(), [])
  await page.locator('main').getByRole('link', { name: 'Register' }).click()
  await page.waitForURL('**/console/register')
  await page.locator('#email:focus').waitFor()
  await page.keyboard.type('grcae@example.org')
  await page.keyboard.press('Enter')
  await page.getByText('A letter is on its way to grcae@example.org.').waitFor() // a slip of the fingers is seen
  t.same(visitor.complaints, [])
})

browserTest(t, 'who cannot register is told how to come in, and whom to ask', async (t, newcomer) => {
  const house = await openConsole(t, JSON.stringify({ site: SITE }))
  const visitor = await newcomer({ language: 'en-US' })
  const { page } = visitor
  await visitor.visit(`${house.url}/console`)
  t.equal(await page.locator('main').getByRole('link', { name: 'Register' }).count(), 0)
  t.match(await page.locator('main').innerText(), /New users are invited.*Contact the operator: help@galaxy\.example/)
  t.equal(await page.locator('.brand').innerText(), 'Galaxy')
  const told = page.locator('.announcements')
  t.match(await told.innerText(), /Maintenance tonight/)
  await told.getByRole('button').click()
  await told.waitFor({ state: 'detached' })
  await visitor.visit(`${house.url}/console/status`)
  t.equal(await told.count(), 0, 'what was put away stays away')
  t.same(visitor.complaints, [])
})

browserTest(t, 'navigation has the pages of the role, and no page is a red box', async (t, newcomer) => {
  const at = await furnish(t)
  for (const role of ROLES) {
    const client = await at.house.person(`${role}-at-pages@example.org`, { in: { account: at.account, role } })
    const visitor = await newcomer({ language: 'en-US', pixels: 0.2 })
    await giveSession(visitor, at.house, client)
    const { page } = visitor
    // a single request is one of others to a member
    for (const row of PAGES.filter(({ area, name }) => area === 'account' && name !== 'receipt')) {
      await visitor.visit(`${at.house.url}/console${PLACES[row.name](at)[0]}`)
      await visitor.drawn()
      t.same(await page.locator('main .told.bad').allInnerTexts(), [], `${role} ${row.name}`)
      t.equal(
        await page.getByText(`Your role in the account “${at.account.name}” is`).count(),
        mayOpen(row, role) ? 0 : 1,
        `${role} ${row.name}`,
      )
    }
    const shown = await page
      .locator('nav.side a')
      .evaluateAll(all => all.map(link => (link as HTMLAnchorElement).pathname))
    const wanted = PAGES.filter(row => row.area === 'account' && row.listed !== false && mayOpen(row, role))
    t.same(
      shown.filter(path => PAGES.some(row => row.area === 'account' && path === `/console${row.path}`)),
      wanted.map(({ path }) => `/console${path}`),
      role,
    )
    t.same(visitor.complaints, [])
  }
})

browserTest(
  t,
  'somebody in no account is told what to do next, and so is who names an account of others',
  async (t, newcomer) => {
    const house = await openConsole(t, JSON.stringify({ site: SITE }))
    const visitor = await newcomer({ language: 'en-US' })
    const { page } = visitor
    const lone = await house.person('lone@example.com', { operator: true })
    await giveSession(visitor, house, lone)
    await visitor.visit(`${house.url}/console/keys`)
    await page.getByRole('heading', { name: 'You are in no account yet' }).waitFor()
    t.match(await page.locator('main').innerText(), /invite lone@example\.com[\s\S]*help@galaxy\.example/)
    t.equal(await page.locator('nav.side').getByRole('link', { name: 'Keys' }).count(), 0)
    t.equal(
      await page.locator('main').getByRole('link', { name: 'Payments' }).count(),
      1,
      'and operators find their pages',
    )
    t.same(await visitor.axe(), [])
    await house.person('other@example.com', { in: { account: await house.account('others'), role: 'owner' } })
    const account = await house.account('own')
    const by = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' } as const
    const member = { userId: lone.person.id, accountId: account.id, role: 'owner' } as const
    await house.store.people.members.add(member, house.clock.now(), by)
    await visitor.visit(`${house.url}/console/keys?account=nobody`)
    await page.getByText('There is no such account').waitFor()
    await page.locator('main').getByRole('link', { name: 'own' }).click()
    await page.locator('main').getByRole('button', { name: 'New key' }).first().waitFor()
    t.same(visitor.complaints, [])
  },
)
