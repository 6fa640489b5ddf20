/** Top-ups in Chromium, against providers that verify what they are asked. */
import type { Test } from 'tap'
import type { Order } from '../../../../lib/terms/pay.ts'
import { AlipayDouble } from '../../../pay/doubles/alipay.ts'
import { StripeDouble } from '../../../pay/doubles/stripe.ts'
import { WechatDouble } from '../../../pay/doubles/wechat.ts'
import { proofOf } from '../../../support/orders.ts'
import { SETUP } from '../../../support/store.ts'
import { browserTest, type Visitor } from '../../support/browser.ts'
import type { House } from '../../support/console.ts'
import { giveSession, openConsole } from '../../support/pages.ts'

export const WORDS = {
  'zh-CN': {
    pay: '去支付',
    credited: '已入账',
    due: '待支付',
    none: '运营方尚未开通',
    configure: '尚未配置支付方式',
    receipt: '收据',
    expired: '订单已取消或已过期',
    late: '付款在订单结束后才到达',
    held: '已收到付款，将于',
    failed: '支付服务商没有接受该订单',
    refunded: '已退回原支付方式',
  },
  'en-US': {
    pay: 'Continue to payment',
    credited: 'Credited',
    due: 'To be paid',
    none: 'no way to pay here: please',
    configure: 'No way to pay is configured',
    receipt: 'Receipt',
    expired: 'has expired, and cannot be paid',
    late: 'arrived after the order had ended',
    held: 'The payment has arrived, and will be credited at',
    failed: 'did not take this order',
    refunded: 'went back to where it was paid from',
  },
} as const

/** A provider beside a console: its section of the config, and what the payer does. */
interface Played {
  section: object
  /** The provider's clock is that of the house. */
  follow(house: House): void
  pay(order: Order): void
}

const PROVIDERS: Record<'alipay' | 'wechat' | 'card', (t: Test) => Promise<Played>> = {
  async alipay(t) {
    const double = await AlipayDouble.open(t)
    return {
      section: double.section,
      follow: house => (double.ledger.now = () => house.clock.now()),
      pay({ id }) {
        double.ledger.scan(id)
        double.ledger.pay(id)
      },
    }
  },
  async wechat(t) {
    const clock = { now: Date.now }
    const double = await WechatDouble.open(t, () => clock.now())
    return {
      section: double.config,
      follow: house => (clock.now = () => house.clock.now()),
      pay: ({ id }) => double.pay(id),
    }
  },
  async card(t) {
    const clock = { now: Date.now }
    const double = await StripeDouble.open(t, { now: () => clock.now() })
    // a browser follows it
    double.ledger.pageOf = id => `${double.url}/pay/${id}`
    return {
      section: double.section(),
      follow: house => (clock.now = () => house.clock.now()),
      pay: ({ providerId }) => void double.ledger.pay(providerId as string),
    }
  },
}

export async function open(t: Test, name: keyof typeof PROVIDERS) {
  const provider = await PROVIDERS[name](t)
  const house = await openConsole(t, JSON.stringify({ pay: { [name]: provider.section } }))
  house.clock.step(Date.now() - house.clock.now())
  provider.follow(house)
  const account = await house.store.accounts.create({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  return { provider, house, account, ann }
}

export async function beginInPage({ page }: Visitor, house: House, amount: string, pay: string): Promise<Order> {
  const orderOf = (url: URL) => url.searchParams.get('order')
  const before = orderOf(new URL(page.url()))
  await page.fill('#amount', amount)
  await page.getByRole('button', { name: pay }).click()
  // the order of before stays in the address until there is another
  await page.waitForURL(url => orderOf(url) !== before || url.origin !== new URL(house.url).origin)
  const order = (await house.store.pay.orders({ limit: 1 }))[0] as Order
  if (order.shown?.redirect != null && order.shown.qr == null) {
    // the press has led to the provider, in this tab; who comes back finds the order
    await page.waitForURL(url => url.origin !== new URL(house.url).origin)
    await page.goBack()
  }
  await page.locator('section[aria-labelledby=order] h2').waitFor()
  return order
}

/** From the amount to the risen balance and its receipt. */
export function ownerTopsUp(t: Test, name: keyof typeof PROVIDERS, language: keyof typeof WORDS): void {
  browserTest(t, `an owner tops up by ${name}, ${language}`, async (t, newcomer) => {
    const say = WORDS[language]
    const { provider, house, account, ann } = await open(t, name)
    const visitor = await newcomer({ language })
    const { page, complaints, requested } = visitor
    await giveSession(visitor, house, ann)
    await visitor.visit(`${house.url}/console/topup`)
    await page.fill('#amount', '4.99')
    await page.getByRole('button', { name: say.pay }).click()
    await page.locator('#amount[aria-invalid=true]').waitFor()
    t.equal((await house.store.pay.orders({ limit: 9 })).length, 0, 'below the minimum there is no order')

    const order = await beginInPage(visitor, house, '20', say.pay)
    await page.getByText(say.due).first().waitFor()
    t.match(order, { amount: 20_000_000, state: 'pending', accountId: account.id, method: name })
    const [link, code] = [page.locator('section[aria-labelledby=order] p > a.button.main'), page.locator('svg.qr')]
    t.equal(await link.count(), name === 'wechat' ? 0 : 1)
    if (name === 'card') t.equal(await code.count(), 0)
    else await code.waitFor()
    if (name !== 'wechat') {
      const seen = await ann.call('orders.read', { account, path: { order: order.id } })
      t.equal(await link.getAttribute('href'), seen.json['redirect'])
      t.equal(await link.getAttribute('target'), null, 'no second tab of the console stays behind')
    }
    t.equal(requested.includes(String(order.shown?.redirect)), name === 'card', 'no second press is needed')
    t.same(await visitor.axe(), [])

    provider.pay(order)
    house.clock.advance(6_000)
    const panel = page.locator('section[aria-labelledby=order]')
    // the list below it is asked for by itself, and may say so first
    await panel.locator('.badge.good', { hasText: say.credited }).waitFor()
    t.equal((await link.count()) + (await code.count()), 0, 'what is paid is not offered again')
    t.equal((await ann.call('balance.read', { account })).json['balance'], '20.000000')
    await page.reload()
    await page.locator('.badge.good', { hasText: say.credited }).first().waitFor()
    t.same(await visitor.axe(), [])

    const toKeys = panel.locator('a[href*="/console/keys"]')
    await toKeys.waitFor()
    await ann.call('keys.create', { account, body: { name: 'laptop', group: 'default' } })
    const keys = page.waitForResponse(answer => new URL(answer.url()).pathname.endsWith('/keys'))
    await page.reload()
    await (await keys).finished()
    await panel.getByRole('link', { name: say.receipt }).waitFor()
    t.equal(await toKeys.count(), 0, 'who has a key is not told to make a first one')

    await panel.getByRole('link', { name: say.receipt }).click()
    await page.waitForURL(/\/topup\/T/)
    await page.locator('main code', { hasText: order.id }).waitFor()
    t.match(await page.locator('main').innerText(), /20\.00 CNY/)
    t.same(await visitor.axe(), [])
    await visitor.visit(`${house.url}/console/overview`)
    await page
      .locator('main')
      .getByText(/20\.00/)
      .first()
      .waitFor()
    t.same(complaints, [])
    t.same(
      requested.filter(url => !url.startsWith(house.url) && url !== order.shown?.redirect),
      [],
      'the page asks nobody else',
    )
  })
}

export function whatBecame(t: Test, language: keyof typeof WORDS): void {
  browserTest(t, `what became of an order, in plain words, ${language}`, async (t, newcomer) => {
    const say = WORDS[language]
    const { provider, house, account, ann } = await open(t, 'wechat')
    const begin = async () => {
      const { json } = await ann.call('orders.create', { account, body: { method: 'wechat', amount: '20' } })
      return (await house.store.pay.order(String(json['id']))) as Order
    }
    const [expired, late, failed, refunded] = [await begin(), await begin(), await begin(), await begin()]
    const held = await begin()
    const desk = await house.deps.pay()
    const method = (await desk.methods()).get('wechat')!
    provider.pay(refunded)
    await desk.orders.ask(refunded, method)
    const { id } = await desk.refunds.begin(refunded.id, '5', 'asked for', false, SETUP)
    await house.store.pay.endFreeze('wechat', id, 'done', SETUP)
    await house.store.pay.endOrder(failed.id, 'failed', null)
    for (const { id } of [expired, late]) await house.store.pay.endOrder(id, 'expired', null)
    provider.pay(late)
    await desk.orders.ask(late, method)
    const hold = { disputes: 0, sinceMs: 0, untilMs: house.clock.now() + 86_400_000 }
    await house.store.pay.proveOrder(proofOf(held.id, 'held', { method: 'wechat', amount: held.asked }), hold)
    const visitor = await newcomer({ language })
    await giveSession(visitor, house, ann)
    for (const [order, text] of [
      [expired, say.expired],
      [late, say.late],
      [held, say.held],
      [failed, say.failed],
      [refunded, say.refunded],
    ] as const) {
      await visitor.visit(
        `${house.url}/console/topup?account=${account.publicId}&order=${order.id}&trade_status=TRADE_SUCCESS`,
      )
      const panel = visitor.page.locator('section[aria-labelledby=order]')
      await panel.locator('.told', { hasText: text }).waitFor()
      t.same(await visitor.axe(), [], text)
    }
    const { json } = await ann.call('balance.read', { account })
    t.equal(json['balance'], '35.000000', 'whatever the address of a return claims')
  })
}
