/** The page Top up in Chromium: from the amount to the risen balance, against a provider that verifies what it is asked. */
import t from 'tap'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { SETUP } from '../../support/store.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const WORDS = {
  'zh-CN': { amount: '金额', pay: '去支付', credited: '已入账', due: '待支付', none: '运营方尚未开通' },
  'en-US': { amount: 'Amount', pay: 'Go on to pay', credited: 'Credited', due: 'To be paid', none: 'no way to pay' },
} as const

for (const language of ['zh-CN', 'en-US'] as const)
  browserTest(t, `an owner tops up by Alipay, ${language}`, async (t, newcomer) => {
    const say = WORDS[language]
    const alipay = await AlipayDouble.open(t)
    const house = await openConsole(t, JSON.stringify({ pay: { alipay: alipay.section } }))
    alipay.ledger.now = () => house.clock.now()
    const account = await house.store.createAccount({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
    const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
    const visitor = await newcomer({ language })
    const { page, complaints, requested } = visitor
    await giveSession(visitor, house, ann)
    await visitor.visit(`${house.url}/console/topup`)
    await page.fill('#amount', '4.99')
    await page.getByRole('button', { name: say.pay }).click()
    await page.locator('#amount[aria-invalid=true]').waitFor()
    t.equal((await house.store.pay.orders({ limit: 9 })).length, 0, 'below the minimum there is no order')

    await page.fill('#amount', '20')
    await page.getByRole('button', { name: say.pay }).click()
    await page.getByText(say.due).first().waitFor()
    const [order] = await house.store.pay.orders({ limit: 9 })
    t.match(order, { amount: 20_000_000, state: 'pending', accountId: account.id })
    const link = page.locator('a.button.main')
    t.match(await link.getAttribute('href'), /gateway\.do\?.*out_trade_no/)
    t.match(await link.getAttribute('rel'), /noopener noreferrer/)
    t.equal(await page.locator('svg.qr').count(), 1)
    t.same(await visitor.axe(), [])

    alipay.ledger.scan(order!.id)
    alipay.ledger.pay(order!.id)
    house.clock.advance(6_000)
    await page.locator('.badge.good', { hasText: say.credited }).first().waitFor()
    t.equal(await link.count(), 0, 'what is paid is not offered again')
    const { json } = await ann.call('balance.read', { account })
    t.equal(json['balance'], '20.000000')
    await page.reload()
    await page.locator('.badge.good', { hasText: say.credited }).first().waitFor()
    t.same(await visitor.axe(), [])
    t.same(complaints, [])
    t.same(
      requested.filter(url => !url.startsWith(house.url)),
      [],
      'the page asks nobody else',
    )
  })

browserTest(t, 'without a way to pay the page says so, and a viewer begins no order', async (t, newcomer) => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  for (const [role, told] of [
    ['owner', true],
    ['viewer', false],
  ] as const) {
    const person = await house.person(`${role}@example.com`, { in: { account, role } })
    const visitor = await newcomer()
    await giveSession(visitor, house, person)
    await visitor.visit(`${house.url}/console/topup`)
    await visitor.page.waitForFunction(() => document.querySelector('main .skeleton') === null)
    t.equal((await visitor.page.locator('main').innerText()).includes(WORDS['zh-CN'].none), told, role)
    t.equal(await visitor.page.locator('#amount').count(), 0)
    t.same(await visitor.axe(), [])
  }
})
