/** What readers set for themselves, on every page: larger text, wider spacing, less motion, colours of their own. */
import t from 'tap'
import { browserTest, type Visitor } from '../support/browser.ts'
import { furnish } from '../support/furnished.ts'
import { everywhere, tooWide } from './support/everywhere.ts'

const furnished = furnish(t)

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

browserTest(t, 'at 200 and 400 % and with the spacing that readers may set, nothing is lost', async (t, newcomer) =>
  // a browser at 200 % has a window of half as many pixels
  everywhere(t, await furnished, newcomer, { all: true, width: 720, language: 'en-US' }, async (visitor, path) => {
    const { page } = visitor
    t.same(await visitor.axe(), [], path)
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(
        '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }',
      )
      document.adoptedStyleSheets = [sheet]
    })
    for (const width of [720, 360]) {
      await page.setViewportSize({ width, height: 450 })
      const wide = await tooWide(visitor)
      t.ok(wide <= 0, `${path} is ${wide} wider than a window of ${width}`)
      t.same(await cutOff(visitor), [], `${path} ${width}`)
    }
  }),
)

browserTest(t, 'who wants less motion gets none, and forced colours leave the focus visible', async (t, newcomer) =>
  everywhere(
    t,
    await furnished,
    newcomer,
    { language: 'zh-CN', context: { reducedMotion: 'reduce', forcedColors: 'active' } },
    async ({ page }, path) => {
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
    },
  ),
)
