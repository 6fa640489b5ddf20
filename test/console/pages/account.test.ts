/** The pages of an account: from the overview to a receipt that adds up, and the statement of a month. */
import t, { type Test } from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import { micro } from '../../../lib/base/money.ts'
import { chargeOf, microOf } from '../../../web/pages/receipt/sum.ts'
import type { Role } from '../../../lib/base/people.ts'
import { chargeOfLines } from '../../support/receipt.ts'
import { fund, receiptLine, SETUP, settlement, usageRow } from '../../support/store.ts'
import { browserTest, type Visitor } from '../support/browser.ts'
import type { House } from '../support/console.ts'
import { newPerson, openConsole, signInBrowser } from '../support/pages.ts'

const LINES = [
  receiptLine('input', 1_001, { model: 'gpt', price: 2_000_000 }),
  receiptLine('output', 21, { model: 'gpt', price: 8_143_000 }),
]
const MULTIPLIER = 1_077_777

/** An account with some requests of today, and a person who may read it. */
async function filled({ deps }: House, role: Role) {
  const { store, clock } = deps
  const person = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
  const { account, key } = await fund(store, 'acme', 5_000_000)
  await store.people.members.add({ userId: person.id, accountId: account.id, role }, clock.now(), SETUP)
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const ids = Array.from({ length: 12 }, (_, i) => `${idAt(clock.now() - (i + 1) * 3_600_000)}n0de0000${10 + i}`)
  const rows = ids.map((id, i) =>
    usageRow(id, key, Number(chargeOfLines({ lines: LINES, multiplier: MULTIPLIER })), {
      model: i % 3 === 0 ? 'claude' : 'gpt',
      ...(i === 4 ? { status: 502, end: 'upstream_error' as const } : {}),
      lines: LINES,
      multiplier: MULTIPLIER,
      held: micro(9_000),
      firstByteMs: 300 + i,
      durationMs: 4_000,
      channel: 'secret-channel',
    }),
  )
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  const refusal = { requestId: `${idAt(clock.now())}n0de0000001`, atMs: clock.now(), accountId: account.id }
  await store.refusals.record([
    { ...refusal, keyId: key.id, model: 'gpt', reason: 'quota', status: 403, address: '::1' },
  ])
  return { person, ids, account }
}

/** A decimal of the page in CNY × 10^-18. */
const exact = (decimal: string): bigint => {
  const [whole = '', places = ''] = decimal.replaceAll(/[^\d.]/g, '').split('.')
  return BigInt(whole + places.padEnd(18, '0'))
}
const MICRO = 10n ** 12n

/** Does the sums of a receipt with the numbers that stand in the page. */
async function addsUp(t: Test, { page }: Visitor): Promise<void> {
  const panel = page.locator('section[aria-labelledby=lines]')
  const rows = await panel
    .locator('tbody tr')
    .evaluateAll(all => all.map(row => [...row.children].map(cell => cell.textContent ?? '')))
  let sum = 0n
  for (const [name, count = '', price = '', factor = '', amount = ''] of rows) {
    const each = (exact(count) * exact(price.replace(/ per million$/, ''))) / 1_000_000n / 10n ** 18n
    t.equal((each * exact(factor)) / 10n ** 18n, exact(amount), `the line ${name}`)
    sum += exact(amount)
  }
  const said = async (title: RegExp) =>
    exact(await panel.locator('dt', { hasText: title }).locator('xpath=following-sibling::dd[1]').innerText())
  t.equal(await said(/^Sum$/), sum, 'the sum of the lines')
  const charge = (sum * (await said(/^Multiplier/))) / 10n ** 18n
  t.equal(await said(/rounded up/), ((charge + MICRO - 1n) / MICRO) * MICRO, 'the charge')
  t.equal((await said(/^Held$/)) - (await said(/^Released$/)), await said(/rounded up/), 'what was held')
}

const text = ({ page }: Visitor) => page.locator('main').innerText()

browserTest(t, 'an owner follows the money from the overview to a receipt that adds up', async (t, newcomer) => {
  const open = await openConsole(t)
  const { person, ids } = await filled(open, 'owner')
  const visitor = await newcomer({ language: 'en-US' })
  const { page, complaints } = visitor
  await signInBrowser(visitor, open.url, person, '/console/overview')
  await page.getByRole('heading', { name: 'Last requests' }).waitFor()
  t.match(await text(visitor), /Balance[\s\S]*¥4\.97[\s\S]*Last failures[\s\S]*used up/)
  await page.getByRole('link', { name: 'Requests' }).first().click()
  await page.getByRole('region', { name: 'Requests' }).first().waitFor()
  await page.waitForFunction(() => document.querySelectorAll('.listing tbody tr').length === 12)
  await page.getByText('More filters').click()
  await page.getByLabel('Outcome').selectOption('upstream')
  await page.waitForURL(/outcome=upstream/)
  await page.waitForFunction(() => document.querySelectorAll('.listing tbody tr').length === 1)
  await page.getByLabel('Id', { exact: true }).fill('nobody')
  await page.keyboard.press('Enter')
  await page.getByText('No request fits these filters').waitFor()
  await page.goBack()
  await page.waitForFunction(() => document.querySelectorAll('.listing tbody tr').length === 1)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('CSV', { exact: true }).click()])
  t.equal(download.suggestedFilename(), 'requests.csv')

  await visitor.visit(`${open.url}/console/requests/${ids[0]}`)
  await page.getByRole('button', { name: 'Recompute' }).click()
  await page.getByText('which is equal').waitFor()
  t.notMatch(await text(visitor), /secret-channel/)
  await addsUp(t, visitor)
  await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy as JSON' }).click()
  await visitor.told('Copied')
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
  t.match(copied, { request_id: ids[0], lines: [{ class: 'input' }, { class: 'output' }], multiplier: '1.077777' })
  await page.emulateMedia({ media: 'print' })
  t.notOk(await page.getByRole('button', { name: 'Recompute' }).isVisible(), 'paper has no buttons')
  await page.emulateMedia({ media: 'screen' })

  await visitor.visit(`${open.url}/console/billing`)
  await page.fill('#amount', '6')
  await page.getByRole('button', { name: 'Save' }).click()
  await visitor.told('Saved')
  const month = new Date(open.deps.clock.now()).toISOString().slice(0, 7)
  await visitor.visit(`${open.url}/console/billing/${month}`)
  await page.getByRole('heading', { name: /^Statement of \d{4}-\d\d$/ }).waitFor()
  await page.getByRole('heading', { name: 'Charges by model' }).waitFor()
  await visitor.visit(`${open.url}/console/overview`)
  await page.getByText('The balance is below').waitFor()
  t.same(complaints, [])
})

t.test('the arithmetic of a receipt', async t => {
  const of = (count: number, price: string, per = 1_000_000, tier = '1') => ({ count, price, per, tier })
  for (const [lines, multiplier, micros] of [
    [[], '1', 0n],
    [[of(1, '0.000001')], '1', 1n],
    [[of(1_000_000, '0.000001')], '1', 1n],
    [[of(1_000_001, '0.000001')], '1', 2n],
    [[of(1, '1', 1)], '0.333333', 333_333n],
    [[of(3, '0.01', 1), of(500, '2', 1_000_000, '0.5')], '1.5', 45_750n],
    [[of(1, '0.000001', 1)], '1.000001', 2n],
  ] as [Parameters<typeof chargeOf>[0], string, bigint][])
    t.equal(chargeOf(lines, multiplier), micros, JSON.stringify(lines))
  t.equal(microOf('12.345678'), 12_345_678n)
})
