/**
 * Looks at every page of the sitemap, with data: each address is opened once, and language, theme, width and what else a
 * reader sets are switched in place, because opening a page costs more than each thing that is looked at in it.
 */
import type { CDPSession, Page } from 'playwright-core'
import type { Test } from 'tap'
import { type Area, isOwn, type PageName, PAGES } from '../../../../web/shared/sitemap.ts'
import { until } from '../../../support/wait.ts'
import { browserTest, type Newcomer, type Visitor } from '../../support/browser.ts'
import { type Furnished, furnish, PLACES } from '../../support/furnished.ts'
import { giveSession } from '../../support/pages.ts'

const HEIGHT = 900
const PHONE = 360
const WIDTHS = [1440, 768, PHONE]
const AREAS: readonly Area[] = ['public', 'entry', 'account', 'person', 'operator']
type Language = 'zh' | 'en'

/** A page, open in the browser. */
interface Looked extends Visitor {
  name: PageName
  path: string
  /** Whether it is the first of the states in which the page looks different. */
  first: boolean
  /** A window of so many pixels, on a telephone with a finger. */
  resize(width: number, height?: number): Promise<void>
  speak(language: Language): Promise<void>
}

/** Every page once, in a language and a theme that take turns: what `npm test` has time for. */
export function glances(t: Test): void {
  browserTest(t, 'every page', async (t, newcomer) => {
    const at = await furnish(t)
    let turn = 0
    const look = (looked: Looked) => glance(t, looked, turn++)
    for (const area of AREAS) await everywhere(t, at, newcomer, area, look, true)
  })
}

/**
 * How the pages of these areas look in every state, language, theme and width. The areas share out among a few files, which
 * a machine can run beside each other.
 */
export function looks(t: Test, areas: readonly Area[]): void {
  const furnished = furnish(t)
  for (const area of areas)
    browserTest(t, `pages of the area ${area}`, async (t, newcomer) =>
      everywhere(t, await furnished, newcomer, area, async looked => {
        await inEveryLook(t, looked)
        if (looked.first) await calmAndForced(t, looked)
      }),
    )
}

async function everywhere(
  t: Test,
  at: Furnished,
  newcomer: Newcomer,
  wanted: Area,
  look: (looked: Looked) => Promise<void>,
  firstOnly = false,
): Promise<void> {
  const visitor = await newcomer({ pixels: 1 })
  const { page, context } = visitor
  const touch = await context.newCDPSession(page)
  for (const { name, area } of PAGES) {
    if (area !== wanted) continue
    if (isOwn(name)) await giveSession(visitor, at.house, at)
    for (const [i, path] of PLACES[name](at).entries()) {
      if (i > 0 && firstOnly) break
      await visitor.visit(`${at.house.url}/console${path}`)
      await visitor.drawn()
      await look({
        ...visitor,
        name,
        path,
        first: i === 0,
        resize: (width, height = HEIGHT) => resize(visitor, touch, width, height),
        speak: language => speak(visitor, language),
      })
    }
  }
  t.same(visitor.complaints, [])
  t.ok(visitor.requested.every(url => url.startsWith(at.house.url)))
}

async function resize({ page }: Visitor, touch: CDPSession, width: number, height: number): Promise<void> {
  await touch.send('Emulation.setTouchEmulationEnabled', { enabled: width === PHONE, maxTouchPoints: 1 })
  await page.setViewportSize({ width, height })
}

/** By the button that readers press. */
async function speak({ page, drawn }: Visitor, language: Language): Promise<void> {
  await page.evaluate(wanted => {
    if (!document.documentElement.lang.startsWith(wanted))
      document.querySelector<HTMLElement>('.corner button[lang]')?.click()
  }, language)
  // what the switch makes the page ask shows with the next frame
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
  await drawn()
}

/** Pixels by which the page is wider than the window. What is drawn to the width of the window follows it a frame later. */
async function tooWide({ page }: Visitor): Promise<number> {
  const pixels = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  await until('the page fits', async () => (await pixels()) <= 0).catch(() => {})
  return pixels()
}

/** Where axe looks: at what stands under a finger in one language, under a mouse in the other. */
const AXE_WIDTH: Record<Language, number> = { zh: 1440, en: PHONE }

async function glance(t: Test, looked: Looked, turn: number): Promise<void> {
  // a switch of the language draws the page anew, so two pages in a row have the same
  const language = turn % 4 < 2 ? 'en' : 'zh'
  await looked.speak(language)
  await fits(t, looked, language)
  if (language === 'en') t.same(await stillChinese(looked.page), [], `${looked.path} is in English`)
  await looked.resize(AXE_WIDTH[language])
  await looked.page.emulateMedia({ colorScheme: turn % 2 === 0 ? 'light' : 'dark' })
  t.same(await looked.axe(), [], `${looked.path} ${language}`)
}

async function fits(t: Test, looked: Looked, language: Language): Promise<void> {
  for (const width of WIDTHS) {
    await looked.resize(width)
    const wide = await tooWide(looked)
    t.ok(wide <= 0, `${looked.path} ${language} is ${wide} wider than a window of ${width}`)
  }
}

/** What people carry, and what stands on desks. */
const SCREENS = [375, 1280, 1920]

/** No table or chart hides a part behind a sideways scroll, no text is too small, and what matters first is seen at once. */
async function nothingAside(t: Test, looked: Looked, language: Language): Promise<void> {
  const { page, path, first, name } = looked
  for (const width of SCREENS) {
    await looked.resize(width, width === SCREENS[0] ? PHONE_HEIGHT : HEIGHT)
    await tooWide(looked)
    // a chart is drawn anew a moment after the window has its width
    await until('nothing is scrolled aside', async () => (await scrolledAside(page)).length === 0).catch(() => {})
    t.same(await scrolledAside(page), [], `${path} ${language} ${width}`)
    t.same(await tooSmall(page), [], `${path} ${language} ${width}: letters of at least ${LEAST_LETTERS} px`)
    for (const selector of first ? (FIRST[name] ?? []) : []) {
      const box = await page.locator(selector).first().boundingBox()
      const isSeen = box !== null && box.x >= 0 && box.x + box.width <= width
      t.ok(isSeen, `${path} ${language} ${width}: ${selector} is seen without a sideways scroll`)
    }
  }
}

const scrolledAside = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('main .scroll:not(pre)')]
      .filter(node => node.scrollWidth > node.clientWidth + 1)
      .map(node => `${node.getAttribute('aria-label')}: ${node.scrollWidth} in ${node.clientWidth}`),
  )

const PHONE_HEIGHT = 812
const LEAST_LETTERS = 11

const tooSmall = (page: Page) =>
  page.evaluate(least => {
    const small = new Set<string>()
    const texts = document.createTreeWalker(document.querySelector('main') as Node, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const at = text.parentElement as Element
      if (text.textContent?.trim() && Number.parseFloat(getComputedStyle(at).fontSize) < least) small.add(at.outerHTML)
    }
    return [...small]
  }, LEAST_LETTERS)

/** Of the pages with lists and charts, what people come for. */
const FIRST: Partial<Record<PageName, readonly string[]>> = {
  models: ['tbody tr th code', 'tbody tr .badge', 'tbody tr td.number'],
  overview: [
    '.figure dd',
    '.bar-slot:last-of-type',
    '[aria-labelledby=last] td.beside',
    '[aria-labelledby=last] .badge',
  ],
  usage: ['.figure dd', '.bar-slot:last-of-type', '.listing td.beside'],
  requests: ['.listing td.beside', '.listing .badge', '.listing tbody th'],
  billing: ['.figure dd', '.listing td.beside', '[aria-labelledby=months] td.beside'],
  statement: ['[aria-labelledby=models] td.beside', '[aria-labelledby=entries] td.beside'],
  keys: ['.listing td.beside', '.listing .badge'],
  topup: ['.listing td.beside', '.listing .badge'],
  payments: ['.listing td.beside', '.listing .badge'],
  receipt: ['[aria-labelledby=lines] td.beside'],
}

/**
 * In both languages, both themes and three widths: nothing that axe finds, nothing wider than the window, no Chinese in the
 * English page; enlarged and with wider spacing nothing is lost. Of a page's further states axe sees the English one.
 */
async function inEveryLook(t: Test, looked: Looked): Promise<void> {
  const { page } = looked
  const isChinese = await page.evaluate(() => document.documentElement.lang.startsWith('zh'))
  // a switch of the language draws the page anew, and asks for its data
  for (const language of isChinese ? (['zh', 'en'] as const) : (['en', 'zh'] as const)) {
    await looked.speak(language)
    if (looked.first || language === 'en') await noFindings(t, looked, language)
    await fits(t, looked, language)
    await nothingAside(t, looked, language)
    if (language === 'zh') continue
    t.same(await stillChinese(page), [], `${looked.path} is in English`)
    await enlarged(t, looked)
  }
}

/** Lines that stay Chinese, but for the name of the other language and the mark of Alipay: what the server says in words of its own comes anew after a switch, with its next answer. */
async function stillChinese(page: Page): Promise<string[]> {
  const chinese = async () => {
    const lines = (await page.locator('main').innerText()).replace(/中文|支/g, '').split('\n')
    return lines.filter(line => /\p{Script=Han}/u.test(line))
  }
  await until('the page is in English', async () => (await chinese()).length === 0).catch(() => {})
  return chinese()
}

/** Contrast alone depends on the theme. */
async function noFindings(t: Test, { page, path, axe, resize }: Looked, language: Language): Promise<void> {
  const width = AXE_WIDTH[language]
  await resize(width)
  t.same(await axe(), [], `${path} ${language} ${width} light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  t.same(await axe(['color-contrast']), [], `${path} ${language} ${width} dark`)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Larger text and wider spacing: a browser at 200 % has a window of half as many pixels. */
async function enlarged(t: Test, looked: Looked): Promise<void> {
  const { page, path } = looked
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(
      '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }',
    )
    document.adoptedStyleSheets = [sheet]
  })
  for (const width of [720, PHONE]) {
    await looked.resize(width, HEIGHT / 2)
    const wide = await tooWide(looked)
    t.ok(wide <= 0, `${path} is ${wide} wider than a window of ${width}, enlarged`)
    t.same(await cutOff(looked), [], `${path} ${width}, enlarged`)
  }
  await page.evaluate(() => {
    document.adoptedStyleSheets = []
  })
}

/** Texts that are cut off because their box is smaller. Boxes that scroll, or that say so by an ellipsis, are none of them. */
const cutOff = ({ page }: Visitor) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('main *, header *, nav *')]
      .filter(node => {
        const { overflowX, overflowY, clip, clipPath, position, textOverflow } = getComputedStyle(node)
        if (
          node.clientWidth <= 1 ||
          textOverflow === 'ellipsis' ||
          (position === 'absolute' && (clip !== 'auto' || clipPath !== 'none'))
        )
          return false
        return (
          (overflowX === 'hidden' && node.scrollWidth > node.clientWidth + 1) ||
          (overflowY === 'hidden' && node.scrollHeight > node.clientHeight + 1)
        )
      })
      .map(node => `${node.tagName} ${node.className}: ${node.textContent?.slice(0, 40)}`),
  )

/** Who wants less motion gets none, and colours of one's own leave the focus visible. */
async function calmAndForced(t: Test, { page, path }: Looked): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce', forcedColors: 'active' })
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter(node => {
        const { animationName, animationDuration, transitionDuration } = getComputedStyle(node)
        const seconds = (text: string) => Math.max(...text.split(',').map(Number.parseFloat))
        return (animationName !== 'none' && seconds(animationDuration) > 0.01) || seconds(transitionDuration) > 0.01
      })
      .map(node => `${node.tagName} ${node.getAttribute('class')}`),
  )
  t.same(moving, [], `${path} moves`)
  await page.keyboard.press('Tab')
  const outline = await page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement as Element)
    return outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth)
  })
  t.ok(outline >= 2, `${path}: the focus has an outline of ${outline}`)
  await page.emulateMedia({ reducedMotion: null, forcedColors: null })
}
