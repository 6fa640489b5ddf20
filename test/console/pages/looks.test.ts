/**
 * Every page in both languages, both themes and three widths: nothing that axe finds, nothing wider than the window, no
 * Chinese in the English page, no complaint of the browser, no request elsewhere.
 */
import t from 'tap'
import { CLI } from '../../support/people.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const PUBLIC = [
  '',
  '/models',
  '/status',
  '/connect',
  '/api-reference',
  '/nowhere',
  '/sign-in',
  '/forgotten',
  '/register',
  '/email',
  '/reset',
  '/invitation',
]
const OWN = ['/keys', '/actions', '/all-actions', '/team', '/profile', '/security', '/connect']

for (const width of [360, 768, 1440])
  for (const scheme of ['light', 'dark'] as const)
    for (const language of ['zh-CN', 'en-US'] as const)
      browserTest(t, `${width} ${scheme} ${language}`, async (t, newcomer) => {
        const house = await openConsole(t)
        const account = await house.account('An account whose name is rather long for a telephone')
        const ada = await house.person('ada@example.org', { operator: true, in: { account, role: 'owner' } })
        await house.store.people.addMember(
          { userId: ada.person.id, accountId: (await house.account('Another')).id, role: 'viewer' },
          house.clock.now(),
          CLI,
        )
        const visitor = await newcomer({ width, scheme, language })
        const look = async (path: string) => {
          await visitor.visit(`${house.url}/console${path}`)
          t.same(await visitor.axe(), [], path)
          const wide = await visitor.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          t.ok(wide <= 0, `${path} is ${wide} wider than the window`)
          const text = await visitor.page.locator('main').innerText()
          if (language === 'en-US') t.notOk(/\p{Script=Han}/u.test(text.replace('中文', '')), `${path} is in English`)
        }
        for (const path of PUBLIC) await look(path)
        await giveSession(visitor, house, ada)
        for (const path of OWN) await look(path)
        t.same(visitor.complaints, [])
        t.ok(visitor.requested.every(url => url.startsWith(house.url)))
      })
