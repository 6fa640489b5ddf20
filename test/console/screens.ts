/**
 * `npm run screens [-- --only NAME]`: makes the pictures of docs/screens, one of every page of the console, in languages,
 * themes and widths that take turns. Look at each before it is committed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { isOwn, PAGES } from '../../web/shared/sitemap.ts'
import { scriptOptions } from '../support/script.ts'
import { CHROMIUM } from './support/browser.ts'
import { type Furnished, furnish, PLACES, PLAIN } from './support/furnished.ts'
import { SCREEN_BYTES, SCREENS } from './support/screens.ts'

const WIDE = { width: 1160, height: 640 }
const PHONE = { width: 390, height: 844 }
/** Every so many pages the picture is of a telephone. */
const PHONES = 4
const STYLES = [
  { locale: 'zh-CN', colorScheme: 'light' },
  { locale: 'en-US', colorScheme: 'dark' },
  { locale: 'en-US', colorScheme: 'light' },
  { locale: 'zh-CN', colorScheme: 'dark' },
] as const

const { only } = scriptOptions(import.meta.filename, { only: { type: 'string' } })

async function shoot(browser: Browser, at: Furnished, index: number): Promise<void> {
  const { name } = PAGES[index] as (typeof PAGES)[number]
  const isPhone = index % PHONES === PHONES - 1
  const context = await browser.newContext({
    ...(STYLES[index % STYLES.length] as (typeof STYLES)[number]),
    timezoneId: 'Asia/Shanghai',
    viewport: isPhone ? PHONE : WIDE,
    isMobile: isPhone,
  })
  const url = at.house.url
  if (isOwn(name))
    await context.addCookies([...at.cookies].map(([name, value]) => ({ name, value, url, httpOnly: true })))
  const page = await context.newPage()
  // what is shown of a page that leads in is what its link shows
  const [first, linked] = PLACES[name](at)
  await page.goto(`${url}/console${linked?.includes('#') ? linked : first}`)
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
  await page.locator('main .skeleton, main [aria-busy=true]').first().waitFor({ state: 'detached' })
  const picture = await page.screenshot({ animations: 'disabled' })
  await context.close()
  writeFileSync(path.join(SCREENS, `${name}.png`), picture)
  console.log(`${name}: ${picture.length} bytes`)
  if (picture.length > SCREEN_BYTES) process.exitCode = 1
}

const ends: (() => unknown)[] = []
const browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox', '--disable-gpu'] })
try {
  mkdirSync(SCREENS, { recursive: true })
  const at = await furnish({ teardown: end => void ends.push(end) }, PLAIN, false)
  for (const [index, { name }] of PAGES.entries())
    if (only === undefined || only === name) await shoot(browser, at, index)
} finally {
  await browser.close()
  for (const end of ends) await end()
}
