/** The log of actions in the browser: of an account for its owners, of everything for operators. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ALL_OPERATIONS, OWN_OPERATIONS, operationName } from '../../../web/parts/action-words.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const ODD = '<img src=x onerror=alert(1)>'

browserTest(t, 'owners see who changed what, and find it by person and operation', async (t, newcomer) => {
  const house = await openConsole(t)
  const account = await house.account('Acme')
  const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
  const { json } = await ada.call('keys.create', { account, body: { name: 'laptop', group: 'default' } })
  const { id } = json['key'] as { id: string }
  await ada.call('keys.change', { account, path: { id }, body: { name: ODD, cap: '2' } })
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await giveSession(visitor, house, ada)
  await visit(`${house.url}/console/actions`)
  const row = page.locator('tbody tr').first()
  await row.getByText('Changed a key').waitFor()
  t.match(await row.innerText(), /ada@example\.org[\s\S]*192\.0\.2\.1[\s\S]*name laptop → <img src=x/)
  t.equal(await page.locator('tbody img').count(), 0, 'names are text')
  t.same(await visitor.axe(), [])
  await page.locator('#by-operation').selectOption('keys.create')
  await page.waitForURL(/operation=keys\.create/)
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  await page.getByText(/^made · \d+ fields$/).click()
  await page.getByText('created_by').waitFor()
  await page.getByRole('button', { name: 'Only lines of ada@example.org' }).click()
  await page.waitForURL(/user=/)
  await page.locator('#by-operation').selectOption('members.leave')
  await page.getByText('No line matches.').waitFor()
  await page.getByRole('button', { name: 'Clear the filters' }).first().click()
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length > 2)
  t.same(complaints, [])
})

browserTest(t, 'operators see all accounts, and look at one', async (t, newcomer) => {
  const house = await openConsole(t)
  for (const name of ['One', 'Two']) await house.account(name)
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await giveSession(visitor, house, await house.person('op@example.org', { operator: true, factor: true }))
  await visit(`${house.url}/console/all-actions`)
  await page.getByRole('button', { name: 'Only lines of One' }).click()
  await page.waitForURL(/in=/)
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  t.match(await page.locator('tbody').innerText(), /The admin token[\s\S]*One/)
  t.same(complaints, [])
})

t.test('every operation that is logged has its words', async t => {
  const lib = path.resolve(import.meta.dirname, '../../../lib')
  const named = /\b(?:act|actBy)\([^'()]*'([a-z_]+\.[a-zA-Z_]+)'|\boperation: '([a-z_]+\.[a-zA-Z_]+)'/g
  const found = new Set<string>()
  for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.ts'))
      for (const [, one, other] of readFileSync(path.join(lib, file), 'utf8').matchAll(named))
        found.add((one ?? other) as string)
  t.ok(found.size > 20, [...found].join(' '))
  t.same([...found].filter(id => !ALL_OPERATIONS.includes(id)).sort(), [], 'they stand in parts/action-words.ts')
  t.ok(OWN_OPERATIONS.every(id => ALL_OPERATIONS.includes(id)))
  t.equal(operationName('nothing.known'), 'nothing.known')
})
