/** Every page with times says once of which zone they are. */
import t from 'tap'
import { isOwn, PAGES } from '../../../web/shared/sitemap.ts'
import { browserTest, type Visitor } from '../support/browser.ts'
import { furnish, PLACES } from '../support/furnished.ts'
import { giveSession } from '../support/pages.ts'

const ZONE = 'Asia/Shanghai'

/** What a reader sees of the page's content; of a list of choices, the one that is chosen. */
const shownOn = ({ page }: Visitor) =>
  page.locator('main').evaluate(main => {
    const hidden = [...main.querySelectorAll('option:not(:checked), .unseen')]
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
    let text = ''
    while (texts.nextNode()) {
      const node = texts.currentNode
      if (!hidden.some(one => one.contains(node))) text += `${node.textContent} `
    }
    return { text, times: main.querySelectorAll('time').length }
  })

browserTest(t, 'each page with times names their zone exactly once', async (t, newcomer) => {
  const furnished = await furnish(t)
  const visitor = await newcomer({ language: 'en-US', context: { timezoneId: 'Asia/Tokyo' } })
  await giveSession(visitor, furnished.house, furnished)
  let withTimes = 0
  for (const page of PAGES.filter(({ name, area }) => area !== 'entry' && name !== 'missing')) {
    const place = PLACES[page.name](furnished)[0]
    await visitor.visit(`${furnished.house.url}/console${place}`)
    await visitor.drawn()
    const { text, times } = await shownOn(visitor)
    const hasZone = page.times !== undefined
    if (times > 0) t.ok(hasZone, `${page.name} has times, so it must name their zone`)
    if (hasZone) t.equal(text.split(ZONE).length - 1, 1, `${page.name} names the zone once`)
    const atTop = (await visitor.page.locator('main .heading').innerText()).includes(ZONE)
    t.equal(atTop, page.periods === true, `${page.name}: beside the heading only where figures are those of periods`)
    const choice = await visitor.page.locator('#zone').count()
    t.equal(choice, page.times === 'chosen' ? 1 : 0, `${page.name} offers another zone where that may be`)
    if (isOwn(page.name) && times > 0) withTimes++
  }
  t.ok(withTimes > 8, 'the pages were full')
  t.same(visitor.complaints, [])
})
