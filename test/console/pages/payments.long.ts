/** The page Payments in Chromium: an operator finds orders, resolves an exception and sends money back. */
import t, { type Test } from 'tap'
import type { PayMethod, Payment } from '../../../lib/pay/method.ts'
import type { Order } from '../../../lib/terms/pay.ts'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { proofOf } from '../../support/orders.ts'
import { SETUP } from '../../support/store.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const WORDS = {
  'zh-CN': {
    resolve: '处理异常',
    confirm: '确认',
    none: '没有待处理的异常',
    credited: '已入账',
    refund: '退款',
    done: '已退回',
    payments: '支付',
    until: /证书有效期至 20\d\d-/,
    held: '已支付，暂缓入账',
    release: '立即入账',
  },
  'en-US': {
    resolve: 'Resolve exception',
    confirm: 'Confirm',
    none: 'Nothing waits for a decision',
    credited: 'Credited',
    refund: 'Refund',
    done: 'Gone back',
    payments: 'Payments',
    until: /Certificates valid until 20\d\d-/,
    held: 'Paid, held',
    release: 'Credit it now',
  },
} as const

/** A console with a credited order, and one whose payment was less than was asked for. */
async function open(t: Test) {
  const alipay = await AlipayDouble.open(t, true)
  const house = await openConsole(t, JSON.stringify({ pay: { alipay: alipay.section } }))
  house.clock.step(Date.now() - house.clock.now())
  alipay.ledger.now = () => house.clock.now()
  const account = await house.store.accounts.create({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const desk = await house.deps.pay()
  const method = (await desk.methods()).get('alipay') as PayMethod
  const paid = async (amount: string, change: object) => {
    const { json } = await ann.call('orders.create', { account, body: { method: 'alipay', amount } })
    const id = String(json['id'])
    alipay.ledger.scan(id)
    alipay.ledger.pay(id)
    const said = (await method.query((await house.store.pay.order(id)) as Order)) as Payment
    await desk.notices.take('alipay', { ...said, ...change }, 'query')
    return id
  }
  /** An order that is paid, and held. */
  const hold = async () => {
    const { json } = await ann.call('orders.create', { account, body: { method: 'alipay', amount: '10' } })
    const id = String(json['id'])
    const until = { disputes: 0, sinceMs: 0, untilMs: house.clock.now() + 86_400_000 }
    await house.store.pay.proveOrder(proofOf(id, `tx-${id}`, { amount: 1_000 }), until)
    return id
  }
  return { house, account, ann, hold, whole: await paid('100', {}), less: await paid('50', { amount: 4_000 }) }
}

for (const language of ['zh-CN', 'en-US'] as const)
  browserTest(t, `an operator looks after payments, ${language}`, async (t, newcomer) => {
    const say = WORDS[language]
    const { house, account, ann, hold, whole, less } = await open(t)
    const op = await house.person('op@example.com', { operator: true, factor: true })
    const visitor = await newcomer({ language })
    const { page } = visitor
    await giveSession(visitor, house, op)
    await visitor.visit(`${house.url}/console/payments`)
    await visitor.drawn()
    t.equal(await page.locator('tbody tr a', { hasText: whole }).count(), 1)
    t.match(await page.locator('section[aria-labelledby=methods]').innerText(), say.until)
    const oldest = (await house.store.pay.orders({ limit: 9 })).at(-1)!
    await page.locator('th[aria-sort=descending]').getByRole('button').click()
    await page.locator('th[aria-sort=ascending]').waitFor()
    await page.locator('.listing tbody tr:first-child', { hasText: oldest.id }).waitFor()
    t.match(page.url(), /sort=created/)
    await page.selectOption('#by-state', 'credited')
    await page.waitForURL(/state=credited/)
    await page.locator('section.listing tbody tr').nth(1).waitFor({ state: 'detached' })
    await page.reload()
    await visitor.drawn()
    t.equal(await page.locator('section.listing tbody tr').count(), 1, 'the filter stands in the address')

    await page.getByRole('button', { name: say.resolve }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    t.same(await visitor.axe(), [])
    t.equal(await dialog.locator('#action').inputValue(), 'credit')
    await dialog.getByRole('button', { name: say.confirm }).click()
    await dialog.locator('#reason[aria-invalid=true]').waitFor()
    t.equal((await house.store.pay.order(less))?.state, 'pending', 'nothing without a reason')
    await dialog.locator('#reason').fill('a coupon 优惠')
    await dialog.getByRole('button', { name: say.confirm }).click()
    await page.getByText(say.none).waitFor()
    t.match(await house.store.pay.order(less), { state: 'credited', credited: 40_000_000 })

    await page.locator('section.listing tbody tr a', { hasText: whole }).click()
    await page.waitForURL(url => url.pathname.endsWith(whole))
    await visitor.drawn()
    t.same(await visitor.axe(), [])
    await page.getByRole('button', { name: say.refund, exact: true }).click()
    await dialog.locator('#amount').fill('100.01')
    await dialog.locator('#reason').fill('asked for')
    await dialog.getByRole('button', { name: say.refund, exact: true }).click()
    await dialog.locator('.told.bad').waitFor()
    t.same(await visitor.axe(), [])
    await dialog.locator('#amount').fill('30')
    await dialog.getByRole('button', { name: say.refund, exact: true }).click()
    await page.locator('.badge', { hasText: say.done }).waitFor()
    t.equal((await ann.call('balance.read', { account })).json['balance'], '110.000000')
    t.equal((await house.store.pay.refunds(whole)).length, 1)

    const held = await hold()
    await visitor.visit(`${house.url}/console/payments/${held}`)
    await page.locator('.badge', { hasText: say.held }).waitFor()
    await page.getByRole('button', { name: say.release, exact: true }).click()
    await dialog.waitFor()
    t.same(await visitor.axe(), [])
    await dialog.locator('#reason').fill('known payer 熟客')
    await dialog.getByRole('button', { name: say.release, exact: true }).click()
    await page.locator('.badge', { hasText: say.credited }).waitFor()
    t.equal((await ann.call('balance.read', { account })).json['balance'], '120.000000')
    t.same(
      visitor.complaints.filter(line => !/409/.test(line)),
      [],
    )
  })

browserTest(t, 'what moves money asks again who it is, and owners see no such page', async (t, newcomer) => {
  const say = WORDS['en-US']
  const { house, ann, whole } = await open(t)
  const op = await house.person('op@example.com', { operator: true, factor: true })
  house.clock.advance(11 * 60_000)
  const operator = await newcomer({ language: 'en-US' })
  await giveSession(operator, house, op)
  await operator.visit(`${house.url}/console/payments/${whole}`)
  await operator.page.getByRole('button', { name: say.refund, exact: true }).click()
  await operator.page.getByRole('dialog').locator('#reason').fill('asked for')
  await operator.page.getByRole('dialog').getByRole('button', { name: say.refund, exact: true }).click()
  await operator.page.getByText('This needs a fresh proof').waitFor()
  t.same(await house.store.pay.refunds(whole), [])

  const owner = await newcomer({ language: 'en-US' })
  await giveSession(owner, house, ann)
  await owner.visit(`${house.url}/console/payments`)
  await owner.page.locator('.told.bad').first().waitFor()
  t.equal(await owner.page.getByText(whole).count(), 0)
  t.equal(await owner.page.locator('nav').getByRole('link', { name: say.payments, exact: true }).count(), 0)
})
