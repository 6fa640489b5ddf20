/** The page Top up in Chromium; `topup.long.ts` has it with each provider in the other language. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'
import { beginInPage, open, ownerTopsUp, WORDS, whatBecame } from './support/topups.ts'

ownerTopsUp(t, 'alipay', 'zh-CN')
ownerTopsUp(t, 'wechat', 'en-US')
ownerTopsUp(t, 'card', 'zh-CN')
whatBecame(t, 'en-US')

browserTest(t, 'the page goes on asking after an answer that did not come', async (t, newcomer) => {
  const { provider, house, ann } = await open(t, 'wechat')
  const visitor = await newcomer()
  const { page } = visitor
  await giveSession(visitor, house, ann)
  await visitor.visit(`${house.url}/console/topup`)
  let [isPaid, asked] = [false, 0]
  const isLost = () => isPaid && asked++ < 2
  await page.route('**/orders/T*', async route => {
    if (isLost()) return route.abort()
    const response = await route.fetch()
    // a question that was on its way when it was paid
    return isLost() ? route.abort() : route.fulfill({ response })
  })
  const order = await beginInPage(visitor, house, '20', WORDS['zh-CN'].pay)
  isPaid = true
  provider.pay(order)
  house.clock.advance(6_000)
  await page.locator('section[aria-labelledby=order] .badge.good', { hasText: WORDS['zh-CN'].credited }).waitFor()
  t.ok(asked > 2)
})

browserTest(t, 'Billing, and the hint that the balance is low, lead here', async (t, newcomer) => {
  const { house, account, ann } = await open(t, 'wechat')
  await ann.call('low-balance.set', { account, body: { amount: '10' } })
  const viewer = await house.person('viewer@example.com', { in: { account, role: 'viewer' } })
  for (const [person, links] of [
    [ann, true],
    [viewer, false],
  ] as const) {
    const visitor = await newcomer()
    await giveSession(visitor, house, person)
    for (const path of ['overview', 'billing']) {
      await visitor.visit(`${house.url}/console/${path}`)
      await visitor.drawn()
      const link = visitor.page.locator('#main a[href*="/console/topup"], main a[href*="/console/topup"]')
      t.equal((await link.count()) > 0, links, `${path}, ${links ? 'owner' : 'viewer'}`)
    }
  }
})

browserTest(t, 'without a way to pay the page says so, and a viewer begins no order', async (t, newcomer) => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  for (const [role, operator, told] of [
    ['owner', false, 'none'],
    ['owner', true, 'configure'],
    ['viewer', false, null],
  ] as const) {
    const person = await house.person(`${role}-${operator}@example.com`, { in: { account, role }, operator })
    const visitor = await newcomer()
    await giveSession(visitor, house, person)
    await visitor.visit(`${house.url}/console/topup`)
    await visitor.drawn()
    const text = await visitor.page.locator('main').innerText()
    for (const name of ['none', 'configure'] as const)
      t.equal(text.includes(WORDS['zh-CN'][name]), told === name, `${role} ${operator} ${name}`)
    t.equal(await visitor.page.locator('#amount').count(), 0)
    t.same(await visitor.axe(), [])
  }
})

browserTest(
  t,
  'an order is cancelled, the way to pay is a button, and a phone is told how to pay its own code',
  async (t, newcomer) => {
    const { provider, house, account, ann } = await open(t, 'wechat')
    const visitor = await newcomer({ width: 375 })
    const { page } = visitor
    await giveSession(visitor, house, ann)
    await visitor.visit(`${house.url}/console/topup`)
    await visitor.drawn()
    const way = page.getByRole('radio', { name: /微信支付/ })
    t.ok(await way.isChecked())
    t.equal(
      await page.getByRole('heading', { name: '充值', exact: true }).count(),
      1,
      'the page and its form have names of their own',
    )
    t.match(await page.locator('.way').innerText(), /无手续费/)
    await page.getByText('这是测试支付').waitFor()
    await page.setViewportSize({ width: 375, height: 667 })
    await page.getByRole('button', { name: '¥50.00' }).click()
    await way.check()
    await page.evaluate(() => scrollTo(0, 0))
    const pay = (await page.getByRole('button', { name: WORDS['zh-CN'].pay }).boundingBox())!
    t.ok(pay.y > 0 && pay.y + pay.height <= 667, `the button that goes on is in sight: ${JSON.stringify(pay)}`)
    const strip = await page.locator('.stays').evaluate(button => {
      const { boxShadow, bottom } = getComputedStyle(button)
      return [/ 0px 0px 0px ([\d.]+px)/.exec(boxShadow)?.[1], bottom]
    })
    t.same(strip, ['12px', '12px'], 'what it hides does not look out below it')
    await page.setViewportSize({ width: 375, height: 900 })
    const order = await beginInPage(visitor, house, '20', WORDS['zh-CN'].pay)
    await page.getByText('从相册中选取').waitFor()
    await page.getByText(/^请在 [-\d: ]+ 前支付。$/).waitFor()
    const main = await page.locator('main').innerText()
    t.equal(main.split('Asia/Shanghai').length - 1, 1, 'the zone is named once')
    t.match(await page.locator('main .heading').innerText(), 'Asia/Shanghai', 'above the last time to pay')
    const id = page.locator('#order code')
    t.equal(await id.innerText(), order.id)
    t.ok(((await id.boundingBox())?.height ?? 99) < 30, 'the number of the order is one line')
    await page.waitForFunction(() => {
      const { top = -1 } = document.getElementById('order')?.getBoundingClientRect() ?? {}
      return top >= 0 && top < innerHeight / 2
    })
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: '保存二维码图片' }).click()
    const file = await saved
    t.equal(file.suggestedFilename(), `${order.id}.png`)
    t.match(
      readFileSync(await file.path())
        .subarray(1, 4)
        .toString(),
      'PNG',
    )
    t.same(await visitor.axe(), [])
    await page.getByRole('button', { name: '取消订单' }).click()
    await page.locator('section[aria-labelledby=order] .told', { hasText: WORDS['zh-CN'].expired }).waitFor()
    await page.locator('table .badge', { hasText: '已关闭' }).waitFor()
    t.equal(await page.locator('svg.qr').count(), 0)

    house.clock.advance(1_000)
    // the page must not hear of the payment before it asks to cancel, not even by a question that is on its way
    let isPaid = false
    await page.route('**/orders/T*', async route => {
      if (route.request().method() !== 'GET') return route.continue()
      const response = await route.fetch()
      return isPaid ? route.abort() : route.fulfill({ response })
    })
    const other = await beginInPage(visitor, house, '30', WORDS['zh-CN'].pay)
    await page.locator('section[aria-labelledby=order] h2', { hasText: other.id }).waitFor()
    isPaid = true
    provider.pay(other)
    const answered = page.waitForResponse(answer => answer.url().endsWith('/cancel'))
    await page.getByRole('button', { name: '取消订单' }).click()
    await answered
    await page.unroute('**/orders/T*')
    await page.locator('section[aria-labelledby=order] .badge.good', { hasText: WORDS['zh-CN'].credited }).waitFor()
    await page.locator('table .badge.good').waitFor()
    const paid = page.locator('section[aria-labelledby=order]')
    t.match(
      await paid.getByRole('link', { name: '创建第一个密钥' }).getAttribute('href'),
      /^\/console\/keys\?.*make=first$/,
    )
    t.equal(await paid.getByRole('link', { name: '前往概览' }).count(), 0, 'one step at a time')
    await ann.call('keys.create', { account, body: { name: 'k', group: 'default' } })
    await page.reload()
    await paid.getByRole('link', { name: '前往概览' }).click()
    await page.waitForURL(/\/console\/overview/)
    const wide = await newcomer()
    await giveSession(wide, house, ann)
    await wide.visit(`${house.url}/console/topup`)
    await beginInPage(wide, house, '40', WORDS['zh-CN'].pay)
    t.notOk(await wide.page.getByText('从相册中选取').isVisible(), 'what has a mouse is told nothing of phones')

    const [newest, , oldest] = await house.store.pay.orders({ limit: 9 })
    const begins = (id: string) => wide.page.locator('.listing tbody tr:first-child', { hasText: id }).waitFor()
    await begins(newest!.id)
    await wide.page.locator('th[aria-sort=descending]', { hasText: '订单与创建时间' }).getByRole('button').click()
    await wide.page.locator('th[aria-sort=ascending]').waitFor()
    await begins(oldest!.id)
    t.match(wide.page.url(), /sort=created/)
    const href = await wide.page.getByRole('link', { name: 'CSV', exact: true }).getAttribute('href')
    const text = await wide.page.evaluate(async address => (await fetch(address)).text(), href as string)
    t.ok(text.indexOf(oldest!.id) < text.indexOf(newest!.id), 'so does the file')
    t.same(await wide.axe(), [])
    t.same(wide.complaints, [])
  },
)
