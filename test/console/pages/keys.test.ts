/** The page Keys: a key from its making to its end, by mouse and by keyboard, and what must never be kept of it. */
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { micro } from '../../../lib/base/money.ts'
import { environment, importHref } from '../../../web/pages/keys/handed-out.ts'
import { snippetsFor } from '../../../web/shared/fill.ts'
import { CLIENTS } from '../../../lib/console/clients.ts'
import { MODEL_DEFAULTS } from '../../../lib/catalog-file/schema.ts'
import { hashOf } from '../../../lib/base/secrets.ts'
import type { Role } from '../../../lib/base/people.ts'
import { channel, SETUP, settlement, usageRow } from '../../support/store.ts'
import { browserTest, type Newcomer } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

const MODELS = { 'alpha-sonnet': 'a', 'beta-mini': 'b', '<img src=x>': 'c' }
const ODD = '<b>"laptop"</b>'

async function open(t: Test, newcomer: Newcomer, role: Role = 'owner') {
  const house = await openConsole(t)
  const account = await house.account('Acme', micro(5_000_000))
  const limits = { maxOutput: null, defaultOutput: 4096, inputFactor: 1_000_000 }
  for (const name of Object.keys(MODELS))
    await house.store.catalogue.putModel({ ...MODEL_DEFAULTS, ...limits, name, price: { input: 1, output: 1 } }, SETUP)
  await house.store.catalogue.putChannel(channel({ models: MODELS, protocols: ['chat', 'messages'] }), SETUP)
  await house.deps.fleet.changed()
  const ada = await house.person('ada@example.org', { in: { account, role } })
  const visitor = await newcomer({ language: 'en-US' })
  await giveSession(visitor, house, ada)
  const make = async (name: string, body: object = {}) => {
    const { json } = await ada.call('keys.create', { account, body: { name, group: 'default', ...body } })
    return json as { key: { id: string }; secret: string }
  }
  const expire = (id: string) =>
    ada.call('keys.change', { account, path: { id }, body: { expires_at: '2001-01-01T00:00:00Z' } })
  return { house, account, ada, visitor, make, expire, at: `${house.url}/console/keys` }
}

browserTest(t, 'a key is made, shown once, and kept nowhere', async (t, newcomer) => {
  const { house, visitor, at, account, make } = await open(t, newcomer)
  const { page, visit, complaints, requested } = visitor
  await visit(at)
  await page.getByText('Clients ask models with a key: make one to begin.').waitFor()
  t.same(await visitor.axe(), [], 'without keys')
  await page.locator('.empty').getByRole('button', { name: 'New key' }).click()
  const form = page.getByRole('dialog', { name: 'New key' })
  t.equal(
    await form.getByRole('link', { name: 'Prices of default (×1)' }).getAttribute('href'),
    '/console/models?group=default',
  )
  await form.locator('#name:focus').waitFor()
  const submit = form.getByRole('button', { name: 'Make the key' })
  await submit.click()
  await form.locator('#name-error').waitFor()
  // the focus goes to what is wrong
  await form.locator('#name:focus').waitFor()
  await form.locator('#name').fill(ODD)
  await form.locator('#expires_at').selectOption('30')
  await form.locator('#cap').fill('much')
  await submit.click()
  await form.locator('#cap-error').waitFor()
  await form.locator('#cap:focus').waitFor()
  await form.locator('#cap').fill('2.5')
  await form.locator('#every').selectOption('day')
  await form.getByText('Only from certain addresses').click()
  await form.getByText('The list of addresses is empty: nobody can use this key.').waitFor()
  t.same(await visitor.axe(), [], 'the form')
  await submit.click()
  await form.locator('#confirm-error').waitFor()
  await form.locator('#allow_ips').fill('10.0.0.0/8\nnowhere')
  await form.getByRole('button', { name: 'Add my address' }).click()
  await submit.click()
  await form.locator('#allow_ips-error').waitFor()
  await form.locator('#allow_ips').fill('10.0.0.0/8\n192.0.2.1')
  await form.getByText('Only certain models').click()
  t.equal(await form.getByText('The list is kept').count(), 0, 'there is no list yet')
  await form.locator('#models').fill('img')
  await form.getByText('<img src=x>').click()
  await form.getByText('The list is kept').waitFor()
  await submit.click()

  const made = page.getByRole('dialog', { name: ODD })
  const secret = await made.locator('.copyable code').innerText()
  t.match(secret, /^sk-[0-9A-Za-z]{48}$/)
  const clients = await made.locator('#client option').allInnerTexts()
  t.same([...clients.slice(0, 3), clients.at(-1)], ['curl', 'Python (OpenAI SDK)', 'JavaScript (OpenAI SDK)', '.env'])
  t.ok((await made.locator('.snippet:visible').innerText()).includes(secret), 'curl, and one command of it')
  await made.locator('#client').selectOption('.env')
  t.ok((await made.locator('.snippet').innerText()).includes(`OPENAI_API_KEY='${secret}'`))
  await made.locator('#client').selectOption('claude-code')
  t.ok((await made.locator('.snippet').first().innerText()).includes(`ANTHROPIC_AUTH_TOKEN='${secret}'`))
  t.match(await made.getByRole('link', { name: 'Import into CC Switch' }).getAttribute('href'), `apiKey=${secret}`)
  t.same(await visitor.axe(), [], 'the secret')
  await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await made.locator('.copyable button').click()
  await made.getByRole('status').getByText('Copied').waitFor({ state: 'attached' })
  t.equal(await made.locator('.notice').count(), 0, 'the button says it already')
  await page.evaluate(() =>
    Object.defineProperty(navigator.clipboard, 'writeText', { value: () => Promise.reject(new Error('refused')) }),
  )
  await made.locator('.copyable button').click()
  const notice = made.locator('[role=status] .notice', { hasText: 'The browser does not allow it' })
  await notice.waitFor()
  t.ok(
    await notice.evaluate(element => {
      const { left, top, width, height } = element.getBoundingClientRect()
      // it takes no clicks, so nothing is found at its place unless it does
      element.style.pointerEvents = 'auto'
      const found = document.elementFromPoint(left + width / 2, top + height / 2)
      element.style.pointerEvents = ''
      return element.closest('dialog') !== null && element.contains(found)
    }),
    'what is said lies over the dialog, not under its veil',
  )
  await page.keyboard.press('Escape')
  t.ok(await made.isVisible(), 'it is not closed by accident')
  await make('meanwhile')
  await made.getByRole('button', { name: 'I have kept it' }).click()
  await page.getByRole('rowheader', { name: ODD }).waitFor()
  await page.getByRole('rowheader', { name: 'meanwhile' }).waitFor() // the list is of now, not of before the dialog
  t.match(await page.locator('tbody').innerText(), /Enabled[\s\S]*IP-bound[\s\S]*Model-bound[\s\S]*¥0\.00 \/ ¥2\.50/)

  const key = (await house.store.keys.find(hashOf(secret)))?.key
  t.match(key, { name: ODD, allowIps: ['10.0.0.0/8', '192.0.2.1'], models: ['<img src=x>'] })
  t.equal(key?.accountId, account.id)
  t.notOk((await page.content()).includes(secret), 'the page has forgotten it')
  t.same(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0])
  t.notOk(requested.some(url => url.includes(secret)))
  t.notOk((await page.evaluate(() => document.cookie + location.href)).includes(secret))
  t.same(complaints, [])
})

browserTest(
  t,
  'who is led to the page to make a first key is asked for its name at once, and once',
  async (t, newcomer) => {
    const { house, visitor, at } = await open(t, newcomer)
    const { page, visit, complaints } = visitor
    await visit(`${house.url}/console/overview`)
    await page.getByRole('link', { name: 'Make a key' }).click()
    await page.getByRole('dialog', { name: 'New key' }).locator('#name:focus').waitFor()
    t.notMatch(page.url(), /make/, 'the address leads to the list')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await visit(at)
    await page.getByRole('button', { name: 'New key', disabled: false }).first().waitFor()
    t.equal(await page.getByRole('dialog').count(), 0)
    t.same(complaints, [])
  },
)

browserTest(t, 'who may not make keys is not asked for one', async (t, newcomer) => {
  const { visitor, at } = await open(t, newcomer, 'viewer')
  await visitor.visit(`${at}?make=first`)
  await visitor.page.getByText('There is no key here yet.').waitFor()
  t.equal(await visitor.page.getByRole('dialog').count(), 0)
})

browserTest(t, 'a key is changed, tried out, rolled and deleted', async (t, newcomer) => {
  const { house, visitor, at, make } = await open(t, newcomer)
  const { page, visit, complaints } = visitor
  const { key, secret } = await make('desk', { models: ['alpha-sonnet'], restricted: true })
  await visit(at)
  const manage = async (name: string, action: string) => {
    await page.getByRole('button', { name: `Manage ${name}`, exact: true }).click()
    const details = page.getByRole('dialog', { name, exact: true })
    await details.getByText('The whole key is shown only').waitFor()
    await details.getByRole('button', { name: action, exact: true }).click()
  }
  await page.getByRole('button', { name: 'Manage desk' }).click()
  t.same(await visitor.axe(), [], 'the details')
  const usage = page.getByRole('dialog').getByRole('link', { name: 'Usage' })
  t.match(await usage.getAttribute('href'), `key=${key.id}`)
  await page.keyboard.press('Escape')
  // the focus is back
  await page.locator('[aria-label="Manage desk"]:focus').waitFor()

  await manage('desk', 'Test')
  const trial = page.getByRole('dialog', { name: 'Test desk' })
  await trial.getByRole('button', { name: 'Test', exact: true }).click()
  await trial.locator('.told').getByText('A request from 192.0.2.1 would be answered.').waitFor()
  await trial.locator('#model').selectOption('beta-mini')
  await trial.getByRole('button', { name: 'Test', exact: true }).click()
  await trial.locator('.told').getByText('refused at “the model” (403)').waitFor()
  await trial.getByText('The key may not use this model.').waitFor()
  await trial.getByText('Look at the list of models under “Edit”').waitFor()
  t.same(await visitor.axe(), [], 'the trial')
  await trial.getByRole('button', { name: 'Close' }).last().click()

  await manage('desk', 'Edit')
  const form = page.getByRole('dialog', { name: 'Edit desk' })
  await form.locator('#name').fill('table')
  await form.getByText('Only certain models').click()
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('rowheader', { name: 'table' }).waitFor()
  t.match(await house.store.keys.byPublicId(key.id), { name: 'table', models: null, modelsOff: ['alpha-sonnet'] })

  await manage('table', 'Disable')
  await page.locator('tbody').getByText('Disabled').waitFor()
  await manage('table', 'Enable')
  await page.locator('tbody').getByText('Enabled').waitFor()

  await manage('table', 'Roll')
  const roll = page.getByRole('dialog', { name: 'Roll table' })
  await roll.locator('#grace').selectOption('1h')
  await roll.getByRole('button', { name: 'Roll', exact: true }).click()
  const rolled = page.getByRole('dialog', { name: 'table' })
  await rolled.getByText('The old secret ends at').waitFor()
  const fresh = await rolled.locator('.copyable code').innerText()
  t.not(fresh, secret)
  for (const one of [fresh, secret]) t.equal((await house.store.keys.find(hashOf(one)))?.key.publicId, key.id)
  await rolled.getByRole('button', { name: 'I have kept it' }).click()

  await manage('table', 'Delete')
  const end = page.getByRole('dialog', { name: 'Delete table?' })
  await end.locator('#typed:focus').waitFor()
  await end.locator('#typed').fill('tables')
  await end.getByRole('button', { name: 'Delete' }).click()
  await end.locator('#typed-error').waitFor()
  await end.locator('#typed:focus').waitFor()
  await end.locator('#typed').fill('table')
  await end.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Clients ask models with a key').waitFor()
  t.equal(await house.store.keys.byPublicId(key.id), null)
  t.same(complaints, [])
})

browserTest(t, 'filters stand in the address, pages are turned, several are changed at once', async (t, newcomer) => {
  const { visitor, at, make, expire, house, account } = await open(t, newcomer)
  const { page, visit, complaints } = visitor
  for (let i = 0; i < 53; i++) {
    const { key } = await make(`key ${i}`)
    if (i % 10 === 0) await expire(key.id)
  }
  await visit(at)
  await page.getByRole('rowheader', { name: 'key 52' }).waitFor()
  t.equal(await page.locator('tbody tr').count(), 50)
  await page.getByRole('button', { name: 'Older' }).click()
  await page.getByRole('rowheader', { name: 'key 0' }).waitFor()
  await page.getByRole('button', { name: 'Newer' }).click()
  await page.getByRole('rowheader', { name: 'key 52' }).waitFor()
  const first = page.locator('tbody tr').first()
  t.match(await page.locator('tfoot').innerText(), /53 keys in all[\s\S]*¥0\.00 used in all/)
  const busy = (await house.store.keys.byName(account.id, 'key 30'))!
  await house.store.holders.register({ id: 'h', host: 'here', beat: 0 })
  await house.store.books.settle([settlement(usageRow('0'.repeat(21), busy, 2_500_000), 'h', 0)])
  for (const [head, way, name] of [
    ['Key', 'ascending', 'key 0'],
    ['Key', 'descending', 'key 9'],
    ['Used / cap', 'descending', 'key 30'],
    ['Last used', 'descending', 'key 52'],
    ['Created', 'descending', 'key 52'],
    ['Created', 'ascending', 'key 0'],
  ] as const) {
    await page.getByRole('columnheader', { name: head }).getByRole('button').click()
    await page.locator(`thead th[aria-sort=${way}]`, { hasText: head }).waitFor()
    await first.getByText(name, { exact: true }).waitFor()
  }
  await page.getByRole('button', { name: 'Next' }).click()
  await first.getByText('key 50', { exact: true }).waitFor()
  t.match(await page.locator('tfoot').innerText(), /53 keys in all[\s\S]*¥2\.50 used in all/, 'of all pages')
  await page.getByRole('button', { name: 'Previous' }).click()
  await first.getByText('key 0', { exact: true }).waitFor()
  await page.getByRole('searchbox').fill('key 5')
  await page.locator('tfoot').getByText('4 keys in all').waitFor()
  const saved = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV', exact: true }).click()
  t.equal((await (await saved).failure()) ?? '', '')
  t.match(await readFile(await (await saved).path(), 'utf8'), /key 52.*\r\n[\s\S]*key 5,.*\r\n# rows: 4\r\n$/)
  await page.getByRole('searchbox').fill('')
  await page.locator('tfoot').getByText('53 keys in all').waitFor()
  await page.getByRole('columnheader', { name: 'Created' }).getByRole('button').click()
  await first.getByText('key 52', { exact: true }).waitFor()
  await page.locator('#by-state').selectOption('expired')
  await page.waitForURL(/state=expired/)
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 6)
  await page.reload()
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 6)
  await page.getByRole('searchbox').fill('key 5')
  await page.waitForURL(/q=key/)
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  await page.getByRole('searchbox').fill('nothing of the kind')
  await page.getByText('No key matches.').waitFor()
  await page.getByRole('button', { name: 'Clear the filters' }).click()
  await page.getByRole('rowheader', { name: 'key 52' }).waitFor()
  t.equal(await page.getByRole('searchbox').inputValue(), '')

  await page.getByLabel('Select key 52').check()
  await page.getByLabel('Select key 51').check()
  await page.getByText('2 selected').waitFor()
  await page.getByRole('button', { name: 'Disable', exact: true }).click()
  await visitor.told('Keys disabled: 2')
  await page.getByLabel('Select this page').check()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  const end = page.getByRole('dialog', { name: 'Delete 50 keys?' })
  await end.locator('#typed').fill('50')
  await end.getByRole('button', { name: 'Delete' }).click()
  await visitor.told('Keys deleted: 50')
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 3)
  t.equal((await house.store.keys.page({ limit: 100 })).length, 3)
  t.same(complaints, [])
})

browserTest(t, 'a key is made with the keyboard alone', async (t, newcomer) => {
  const { visitor, at, house } = await open(t, newcomer)
  const { page, visit } = visitor
  const tabTo = async (name: string) => {
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab')
      const text = await page.evaluate(() => (document.activeElement as HTMLElement | null)?.innerText.trim())
      if (text === name) return
    }
    throw new Error(`no Tab leads to ${name}`)
  }
  await visit(at)
  // it is disabled, and no Tab leads to it, until the groups are known
  await page.locator('.empty').getByRole('button', { name: 'New key', disabled: false }).waitFor()
  await tabTo('New key')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'New key' }).waitFor()
  await page.keyboard.type('typed')
  await page.keyboard.press('Enter')
  await page.getByText('The key is shown only now').waitFor()
  await tabTo('I have kept it')
  await page.keyboard.press('Enter')
  await page.getByRole('rowheader', { name: 'typed' }).waitFor()
  t.equal((await house.store.keys.page({ limit: 10 })).length, 1)
})

browserTest(t, 'viewers look and change nothing, billing sees no keys', async (t, newcomer) => {
  const { visitor, at, house, account } = await open(t, newcomer, 'viewer')
  const { page, visit, complaints } = visitor
  const owner = await house.person('olga@example.org', { in: { account, role: 'owner' } })
  await owner.call('keys.create', { account, body: { name: 'k', group: 'default' } })
  await visit(at)
  await page.getByRole('button', { name: 'Look at k' }).click()
  const details = page.getByRole('dialog', { name: 'k' })
  await details.getByText('olga@example.org').waitFor()
  t.same(await details.getByRole('button').allInnerTexts(), ['Close'])
  t.equal(await page.getByRole('button', { name: 'New key' }).count(), 0)
  const clerk = await newcomer({ language: 'en-US' })
  await giveSession(clerk, house, await house.person('bill@example.org', { in: { account, role: 'billing' } }))
  await clerk.visit(at)
  await clerk.page.getByText('which does not have this page').waitFor()
  t.equal(await clerk.page.locator('tbody').count(), 0)
  t.same(complaints, [])
})

t.test('what is handed out with a key', async t => {
  const values = { base: 'https://api.example', key: "sk-it's", model: 'm', name: '网关' }
  t.equal(environment(values, []), "OPENAI_BASE_URL='https://api.example/v1'\nOPENAI_API_KEY='sk-it'\\''s'")
  t.match(
    environment(values, [{ protocols: ['messages', 'generate'] }]),
    /^ANTHROPIC_BASE_URL=[\s\S]*\nGEMINI_API_KEY=/,
  )
  const row = (id: string) => CLIENTS.find(one => one.id === id)!
  const titles = (client: string, protocols: string[], translated: string[] = []) =>
    snippetsFor(row(client), { protocols, translated }).map(({ title }) => title)
  t.same(titles('curl', ['chat', 'messages']), ['chat', 'messages'])
  t.same(titles('curl', ['chat', 'messages'], ['chat']), ['messages', 'chat'], 'what it speaks itself comes first')
  t.same(titles('curl', ['images']), ['images'])
  t.same(titles('claude-code', ['messages']), ['macOS · Linux', 'PowerShell', 'cmd', '~/.claude/settings.json'])
  const [link] = row('cherry-studio').links
  const data = new URL(importHref(link!, values)).searchParams.get('data') ?? ''
  t.match(JSON.parse(Buffer.from(data, 'base64').toString()), {
    name: '网关',
    baseUrl: 'https://api.example',
    apiKey: "sk-it's",
  })
})
