/**
 * On a telephone the list of models showed no price at all, and on a wide screen not that of output; names in the first
 * column of tables were broken into syllables, and clients at the end of the row of tabs were cut off.
 */
// The bug behind these rows: what a window does not show.
import t from 'tap'
import { browserTest, type Visitor } from '../support/browser.ts'
import { furnish, PLACES } from '../support/furnished.ts'
import { giveSession } from '../support/pages.ts'

const furnished = furnish(t)

/** The names among these that do not stand wholly in the box that scrolls them, or in the window. */
const hidden = ({ page }: Visitor, selector: string): Promise<string[]> =>
  page.locator(selector).evaluateAll(nodes =>
    nodes
      .filter(node => {
        const page = node.ownerDocument.documentElement.getBoundingClientRect()
        const frame = node.closest('.scroll, [role=tablist]')?.getBoundingClientRect() ?? page
        const { left, right } = node.getBoundingClientRect()
        return right > Math.min(page.right, frame.right) + 1 || left < 0
      })
      .map(node => node.textContent as string),
  )

for (const width of [360, 768, 1440])
  browserTest(t, `the prices of input and output stand in a window of ${width} pixels`, async (t, newcomer) => {
    const at = await furnished
    const visitor = await newcomer({ language: 'en-US', width })
    await visitor.visit(`${at.house.url}/console/models`)
    const unseen = await hidden(visitor, '.listing thead th')
    t.same(
      ['Model', 'Input', 'Output'].filter(name => unseen.includes(name)),
      [],
    )
  })

browserTest(
  t,
  'what a line of a receipt is about stands in words, which are whole on a telephone',
  async (t, newcomer) => {
    const at = await furnished
    const visitor = await newcomer({ language: 'zh-CN', width: 360 })
    await giveSession(visitor, at.house, at)
    await visitor.visit(`${at.house.url}/console${PLACES.receipt(at)[0]}`)
    await visitor.drawn()
    const charge = visitor.page.locator('section[aria-labelledby=about] dt').first()
    t.equal(await charge.innerText(), '费用')
    t.ok(((await charge.boundingBox())?.y ?? 999) < 500, 'what it cost is seen first')
    const names = visitor.page.locator('section[aria-labelledby=lines] tbody th')
    t.same(
      (await names.allInnerTexts()).map(text => text.trim()),
      ['输入', '缓存读取', '输出'],
    )
    for (const name of await names.all()) t.ok(((await name.boundingBox())?.width ?? 0) >= 120)
  },
)

browserTest(
  t,
  'a dialog on a telephone ends in its buttons, and its title stands beside the cross',
  async (t, newcomer) => {
    const at = await furnished
    const visitor = await newcomer({ language: 'en-US', width: 375 })
    const { page } = visitor
    await giveSession(visitor, at.house, at)
    await page.setViewportSize({ width: 375, height: 667 })
    await visitor.visit(`${at.house.url}/console/keys?make=first`)
    const dialog = page.getByRole('dialog', { name: 'New key' })
    await dialog.locator('#name:focus').waitFor()
    const middle = ({ y, height }: { y: number; height: number }) => y + height / 2
    const frame = (await dialog.boundingBox())!
    t.ok(
      await dialog.evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight),
      'it is longer than the window',
    )
    const inSight = async (name: string) => {
      const { y, height } = (await dialog.getByRole('button', { name }).boundingBox())!
      return y >= frame.y && y + height + 8 < frame.y + frame.height
    }
    t.same([await inSight('Make the key'), await inSight('Cancel')], [true, true])
    const [title, cross] = [
      dialog.getByRole('heading', { name: 'New key' }),
      dialog.getByRole('button', { name: 'Close' }),
    ]
    t.ok(Math.abs(middle((await title.boundingBox())!) - middle((await cross.boundingBox())!)) <= 4)
  },
)

for (const width of [360, 1440])
  browserTest(t, `all clients can be chosen in a window of ${width} pixels`, async (t, newcomer) => {
    const at = await furnished
    const visitor = await newcomer({ language: 'en-US', width })
    await visitor.visit(`${at.house.url}/console/connect`)
    t.ok((await visitor.page.locator('[role=tab]').count()) > 8)
    t.same(await hidden(visitor, '[role=tab]'), [])
  })
