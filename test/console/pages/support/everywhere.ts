/** Looks at every page of the sitemap, with data. */
import type { Test } from 'tap'
import { isOwn, PAGES } from '../../../../lib/console/client/sitemap.ts'
import { browserTest, type Newcomer, type Visitor, type VisitorOptions } from '../../support/browser.ts'
import { type Furnished, furnish, PLACES } from '../../support/furnished.ts'
import { giveSession } from '../../support/pages.ts'

/** Visits the pages of nobody, then those that are somebody's. `all`: every state of a page, and not the first alone. */
export async function everywhere(
  t: Test,
  at: Furnished,
  newcomer: Newcomer,
  { all = false, ...options }: VisitorOptions & { all?: boolean },
  look: (visitor: Visitor, path: string) => Promise<void>,
): Promise<void> {
  const visitor = await newcomer(options)
  const visit = async (own: boolean) => {
    for (const page of PAGES)
      if (isOwn(page.name) === own)
        for (const path of PLACES[page.name](at).slice(0, all ? undefined : 1)) {
          await visitor.visit(`${at.house.url}/console${path}`)
          await visitor.drawn()
          await look(visitor, path)
        }
  }
  await visit(false)
  await giveSession(visitor, at.house, at)
  await visit(true)
  t.same(visitor.complaints, [])
  t.ok(visitor.requested.every(url => url.startsWith(at.house.url)))
}

/** Pixels by which the page is wider than the window. */
export const tooWide = ({ page }: Visitor) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

const WIDTHS: [first: number, ...wider: number[]][] = [[360], [1440, 768]]

/**
 * In both themes and three widths: nothing that axe finds, nothing wider than the window, no Chinese in the English page,
 * no complaint of the browser, no request elsewhere.
 */
export function looks(t: Test, language: 'zh-CN' | 'en-US'): void {
  const furnished = furnish(t)
  for (const [first, ...wider] of WIDTHS)
    browserTest(t, `${language}, ${[first, ...wider].join(' and ')} wide`, async (t, newcomer) =>
      everywhere(t, await furnished, newcomer, { width: first, language }, async (visitor, path) => {
        const { page } = visitor
        for (const width of [first, ...wider]) {
          if (wider.length > 0) await page.setViewportSize({ width, height: 900 })
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme })
            // nothing but contrast depends on the theme
            const found = await visitor.axe(colorScheme === 'dark' ? ['color-contrast'] : undefined)
            t.same(found, [], `${path} ${width} ${colorScheme}`)
          }
          const wide = await tooWide(visitor)
          t.ok(wide <= 0, `${path} is ${wide} wider than a window of ${width}`)
        }
        if (language === 'zh-CN') return
        const text = await page.locator('main').innerText()
        t.notOk(/\p{Script=Han}/u.test(text.replace('中文', '')), `${path} is in English`)
      }),
    )
}
