/** What appears without a reload, in a browser: the live switch of the page Requests, and the first request on the Overview. */
import t from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import { fund, settlement, usageRow } from '../../support/store.ts'
import { until } from '../../support/wait.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

browserTest(
  t,
  'live: new requests come on top without a reload, and wait while the list is read',
  async (t, newcomer) => {
    const house = await openConsole(t)
    const { store, clock } = house
    await store.holders.register({ id: 'h', host: 'here', beat: 0 })
    const { account, key } = await fund(store, 'acme', 5_000_000)
    let made = 0
    const asks = async () => {
      const id = `${idAt(clock.now())}n0de${String(++made).padStart(7, '0')}`
      await store.books.settle([settlement(usageRow(id, key, 10), 'h', 0)])
      return id
    }
    await asks()
    const visitor = await newcomer({ language: 'en-US' })
    const { page } = visitor
    await giveSession(visitor, house, await house.person('ann@example.com', { in: { account, role: 'owner' } }))
    await visitor.visit(`${house.url}/console/requests`)
    await visitor.drawn()
    const rows = page.locator('tbody tr')
    const top = (id: string) => page.locator(`tbody tr:first-child a[href*="${id}"]`)
    const waiting = page.locator('main [aria-busy=true]')
    // a second question of the list waits ten seconds for the first one, which must not be over before that is answered
    const passes = (what: string, isSo: () => Promise<boolean>) =>
      until(what, async () => {
        if ((await waiting.count()) === 0) clock.advance(1_000)
        return isSo()
      })
    t.equal(await rows.count(), 1)
    await page.getByLabel('Live').check()
    // whatever the press has moved under it, the pointer is not in the list
    await page.mouse.move(5, 5)
    const second = await asks()
    await passes('the second stands on top', async () => (await top(second).count()) === 1)
    t.equal(await rows.count(), 2)

    await rows.first().hover()
    const third = await asks()
    for (let i = 0; i < 5; i++) await page.evaluate(() => new Promise(done => requestAnimationFrame(done)))
    clock.advance(1_000)
    t.equal(await top(third).count(), 0, 'not while the pointer is in the list')
    await passes('the third stands on top when the pointer has left', async () => {
      await page.mouse.move(5, made % 2 === 0 ? 5 : 6)
      return (await top(third).count()) === 1
    })
    await page.getByLabel('Live').uncheck()
    t.same(await visitor.axe(), [])
    t.same(visitor.complaints, [])
  },
)

browserTest(
  t,
  'the Overview shows a first request by itself, and asks only while somebody looks',
  async (t, newcomer) => {
    const house = await openConsole(t)
    const { store, clock } = house
    await store.holders.register({ id: 'h', host: 'here', beat: 0 })
    const { account, key } = await fund(store, 'acme', 5_000_000)
    const visitor = await newcomer({ language: 'en-US' })
    const { page } = visitor
    await giveSession(visitor, house, await house.person('ann@example.com', { in: { account, role: 'owner' } }))
    let asked = 0
    page.on('request', request => (asked += Number(/\/overview$/.test(new URL(request.url()).pathname))))
    const answered = async (what: () => Promise<unknown>) => {
      const answer = page.waitForResponse(response => response.url().endsWith(`${account.publicId}/overview`))
      await what()
      await (await answer).finished()
      // the page has read it, and has set its next timer
      await visitor.drawn()
    }
    const seen = (hidden: boolean) =>
      page.evaluate(value => {
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    const pass = () => page.clock.fastForward(6_000)
    await page.clock.install()
    await visitor.visit(`${house.url}/console/overview`)
    await visitor.drawn()
    const step = page.getByRole('link', { name: 'Send a first request' })
    await step.waitFor()
    await answered(pass)
    await seen(true)
    const before = asked
    await pass()
    t.equal(asked, before, 'not while the page is hidden')
    await store.books.settle([settlement(usageRow(`${idAt(clock.now())}n0de0000001`, key, 20_004), 'h', 0)])
    await answered(() => seen(false))
    await page.getByRole('heading', { name: 'Last requests' }).waitFor()
    t.equal(await step.count(), 0, 'the first steps are done')
    const figures = page.locator('.figures')
    t.match(await figures.innerText(), /Spent today\s+¥0\.02/)
    t.match(
      await figures.innerText(),
      /Balance\s+¥4\.97\s[\s\S]*Available\s+¥4\.97\s/,
      'no more than the 4.979996 there are',
    )
    const last = asked
    await pass()
    t.equal(asked, last, 'and the page asks no more')
    await visitor.visit(`${house.url}/console/billing`)
    await figures.waitFor()
    t.match(await figures.innerText(), /Balance\s+¥4\.97\s[\s\S]*Available\s+¥4\.97$/)
    t.same(visitor.complaints, [])
  },
)
