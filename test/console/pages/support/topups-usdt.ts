/** USDT on the page Top up in Chromium: from the address to the risen balance, with real transfers on a chain. */
import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import { systemClock } from '../../../../lib/base/clock.ts'
import { Rounds } from '../../../../lib/base/rounds.ts'
import { ANVIL_MISSING } from '../../../support/anvil.ts'
import { SETUP } from '../../../support/store.ts'
import { Node, TestChain, TOKEN } from '../../../pay/doubles/chain.ts'
import { newWallet } from '../../../pay/usdt-support.ts'
import { browserTest } from '../../support/browser.ts'
import { giveSession, openConsole } from '../../support/pages.ts'

/** How often the chain is read. */
const READ_MS = 300

const WORDS = {
  'zh-CN': {
    noRate: '暂无汇率',
    get: '获取充值地址',
    network: 'BEP-20',
    rate: '1 USDT =',
    fix: '锁定',
    quoted: '5.618 USDT',
    seen: '正在等待区块确认',
    waiting: '合计达到',
    state: '等待入账',
    credited: '已入账',
    back: '退款',
    end: '填写退款',
    confirm: '确认',
    receipt: /的收据$/,
  },
  'en-US': {
    noRate: 'There is no rate',
    get: 'Get an address',
    network: 'BEP-20',
    rate: '1 USDT is',
    fix: 'Fix it',
    quoted: '5.618 USDT',
    seen: 'on their way',
    waiting: 'when they come to',
    state: 'Waiting',
    credited: 'Credited',
    back: 'Refund',
    end: /^Enter the end/,
    confirm: 'Confirm',
    receipt: /^Receipt of/,
  },
} as const

export function ownerTopsUpByUsdt(t: Test, language: keyof typeof WORDS): void {
  if (ANVIL_MISSING !== null) t.pass(ANVIL_MISSING)
  else
    browserTest(t, `an owner tops up by USDT, ${language}`, async (t, newcomer) => {
      const say = WORDS[language]
      const chain = await TestChain.open(t)
      const nodes = [await Node.open(t, chain), await Node.open(t, chain)]
      const { xpub, first } = newWallet()
      const usdt = { xpub, check_address: first, endpoints: nodes.map(({ url }) => url), sandbox: true }
      const house = await openConsole(t, JSON.stringify({ pay: { usdt } }))
      const account = await house.store.accounts.create({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
      const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
      const visitor = await newcomer({ language })
      const { page, complaints, requested } = visitor
      const rounds = new Rounds(systemClock, READ_MS, async () => (await house.deps.pay()).chain(() => false))
      rounds.start()
      t.teardown(() => rounds.stop())
      await giveSession(visitor, house, ann)
      await visitor.visit(`${house.url}/console/topup`)
      await page.getByText(say.noRate).waitFor()
      const rate = { currency: 'USDT', rate: 7_120_000, fromMs: 0, untilMs: 8_000_000_000_000 }
      await house.store.pay.setPayRate(rate, SETUP)
      await page.getByRole('button', { name: say.get }).click()
      await page.locator('svg.qr').waitFor()
      const address = (await page.locator('.copyable code').innerText()).trim()
      t.equal(address.toLowerCase(), first)
      await page.getByText(say.network).first().waitFor()
      await page.getByText(say.rate).waitFor()
      t.same(await visitor.axe(), [])

      await page.fill('#quote-amount', '39')
      await page.getByRole('button', { name: say.fix, exact: true }).click()
      await page.locator('#quote-amount[aria-invalid=true]').waitFor()
      await page.fill('#quote-amount', '40')
      await page.getByRole('button', { name: say.fix, exact: true }).click()
      await page.getByText(say.quoted).waitFor()

      const paidBy = await chain.pay(address, 2n * TOKEN)
      await page.getByText(say.seen).waitFor()
      await chain.mine()
      await page.getByText(say.waiting).waitFor()
      await page.locator('.badge.warn', { hasText: say.state }).waitFor()
      t.same(await visitor.axe(), [])
      await chain.pay(address, 4n * TOKEN)
      await chain.mine()
      await page.waitForFunction(() => document.querySelectorAll('.badge.good').length === 2)
      // what waits is part of another answer than the orders, which may come after theirs
      await page.getByText(say.waiting).waitFor({ state: 'detached' })
      const { json } = await ann.call('balance.read', { account })
      t.equal(json['balance'], '42.720000')
      t.same(await visitor.axe(), [])
      t.same(complaints, [])
      t.same(
        requested.filter(url => !url.startsWith(house.url)),
        [],
        'the page asks nobody else',
      )

      await visitor.visit(`${house.url}/console/overview`)
      await page
        .locator('main')
        .getByText(/42\.72/)
        .first()
        .waitFor()

      const operator = await house.person('op@example.com', { operator: true, factor: true })
      const desk = await newcomer({ language })
      await giveSession(desk, house, operator)
      await desk.visit(`${house.url}/console/payments?method=usdt&state=credited`)
      const list = desk.page.locator('main tbody tr', { hasText: 'acme' })
      await list.nth(1).waitFor()
      t.equal(await list.count(), 2)
      const chainPanel = desk.page.locator('section[aria-labelledby=chain]')
      const download = desk.page.waitForEvent('download')
      await chainPanel.locator('a[download]').click()
      const csv = await readFile(await (await download).path(), 'utf8')
      t.match(csv, new RegExp(`0/0,${address},[^,]+,6,6\\b`, 'i'), 'what an operator sweeps')
      await chainPanel
        .getByText(String((await chain.head()) - 2))
        .first()
        .waitFor()
      const dialog = desk.page.getByRole('dialog')
      await list.first().getByRole('link').click()
      await desk.page.getByRole('button', { name: say.back, exact: true }).click()
      await dialog.locator('#amount').fill('7.12')
      await dialog.locator('#receiver').fill(chain.other)
      await dialog.locator('#reason').fill('asked for')
      t.same(await desk.axe(), [])
      await dialog.getByRole('button', { name: say.back, exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await desk.visit(`${house.url}/console/payments`)
      const panel = desk.page.locator('section[aria-labelledby=to-send]')
      await panel.getByRole('button', { name: say.end }).click()
      const paid = await chain.pay(chain.other, TOKEN)
      await chain.mine()
      await dialog.locator('#tx').fill(paid)
      t.same(await desk.axe(), [])
      await dialog.getByRole('button', { name: say.confirm }).click()
      await panel.waitFor({ state: 'detached' })
      t.equal((await ann.call('balance.read', { account })).json['balance'], '35.600000')
      await visitor.visit(`${house.url}/console/topup`)
      await page.getByRole('link', { name: say.receipt }).last().click()
      await page.locator('section[aria-labelledby=receipt]', { hasText: paidBy }).waitFor()
      t.same(await visitor.axe(), [])
      t.same(desk.complaints, [])
    })
}
