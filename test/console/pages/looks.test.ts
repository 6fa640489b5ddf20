/**
 * Every page in both languages, both themes and three widths: nothing that axe finds, nothing wider than the window, no
 * Chinese in the English page, no complaint of the browser, no request elsewhere.
 */
import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { openSite } from '../support/site.ts'

const PAGES = ['/console', '/console/connect', '/console/nowhere']

for (const width of [360, 768, 1440])
  for (const scheme of ['light', 'dark'] as const)
    for (const language of ['zh-CN', 'en-US'] as const)
      browserTest(t, `${width} ${scheme} ${language}`, async (t, newcomer) => {
        const { at } = await openSite(t)
        const { page, visit, axe, complaints, requested } = await newcomer({ width, scheme, language })
        for (const path of PAGES) {
          await visit(at + path)
          t.same(await axe(), [], path)
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          t.ok(wide <= 0, `${path} is ${wide} wider than the window`)
          if (language === 'en-US') {
            const text = await page.locator('main').innerText()
            t.notOk(/\p{Script=Han}/u.test(text), `${path} is in English`)
          }
        }
        t.same(complaints, [])
        t.ok(requested.every(url => url.startsWith(at)))
      })
