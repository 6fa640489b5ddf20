/**
 * Every page in both languages, both themes and three widths: nothing that axe finds, nothing wider than the window, no
 * Chinese in the English page, no complaint of the browser, no request elsewhere.
 */
import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { newPerson, openConsole, signInBrowser } from '../support/pages.ts'

const PUBLIC = ['/console', '/console/connect', '/console/nowhere', '/console/sign-in', '/console/email']
const OWN = ['/console/profile', '/console/security', '/console/connect']

for (const width of [360, 768, 1440])
  for (const scheme of ['light', 'dark'] as const)
    for (const language of ['zh-CN', 'en-US'] as const)
      browserTest(t, `${width} ${scheme} ${language}`, async (t, newcomer) => {
        const { at, deps } = await openConsole(t)
        const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada', operator: true })
        const visitor = await newcomer({ width, scheme, language })
        const look = async (path: string) => {
          await visitor.visit(at + path)
          t.same(await visitor.axe(), [], path)
          const wide = await visitor.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          t.ok(wide <= 0, `${path} is ${wide} wider than the window`)
          const text = await visitor.page.locator('main').innerText()
          if (language === 'en-US') t.notOk(/\p{Script=Han}/u.test(text.replace('中文', '')), `${path} is in English`)
        }
        for (const path of PUBLIC) await look(path)
        await signInBrowser(visitor, at, ada)
        for (const path of OWN) await look(path)
        t.same(visitor.complaints, [])
        t.ok(visitor.requested.every(url => url.startsWith(at)))
      })
