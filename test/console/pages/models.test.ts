/** The pages Models and Status of a gateway with something to show. */
import t from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import { type Choice, chosen } from '../../../web/pages/models/choose.ts'
import type { CatalogueModel } from '../../../lib/operations/catalogue/public-catalogue.ts'
import { openStore } from '../../../lib/store/store.ts'
import type { OpenGateway } from '../../support/gateway.ts'
import { openGateway } from '../../support/open-gateway.ts'
import { settlement, usageRow } from '../../support/store.ts'
import { browserTest } from '../support/browser.ts'

const HOUR_MS = 3_600_000

const catalog = (upstream: string) => {
  const models = [
    {
      name: 'alpha-opus-5-5',
      family: 'alpha',
      context: 1_000_000,
      price: {
        input: 35,
        output: 175,
        cache_read: 3.5,
        cache_write_5m: 43.75,
        cache_write_1h: 70,
        over: [{ tokens: 200_000, input: 70, output: 262.5 }],
      },
      max_output: 64_000,
    },
    {
      name: 'alpha-haiku-5-5',
      family: 'alpha',
      price: { input: 7, output: 35, cache_read: 0.7, cache_write_5m: 8.75, cache_write_1h: 14 },
      max_output: 64_000,
    },
    {
      name: 'beta-4.7',
      family: 'beta',
      vendor: 'Beta Works',
      context: 400_000,
      price: { input: 12, output: 96, cache_read: 1.2, web_search: 0.07 },
      max_output: 128_000,
    },
    {
      name: 'gamma-image-2',
      family: 'gamma',
      price: { image: { default: 0.28, '1024x1536/high': 1.6 } },
      image_form: 'base64',
    },
    {
      name: 'gamma-3.8-flash',
      family: 'gamma',
      price: { input: 3.5, output: 21, cache_read: 0.35, input_audio: 7 },
      offline: true,
    },
  ]
  const channel = { base_url: upstream, key: 'up', groups: ['default', 'vip'] }
  const names = (...parts: string[]) =>
    models.map(({ name }) => name).filter(name => parts.some(part => name.includes(part)))
  return {
    groups: [
      { name: 'default', public: true },
      { name: 'vip', multiplier: 0.8, public: true },
    ],
    models,
    channels: [
      { ...channel, name: 'a', protocols: ['messages', 'chat'], models: names('alpha') },
      { ...channel, name: 'b', protocols: ['chat', 'responses'], models: names('beta') },
      { ...channel, name: 'c', protocols: ['generate', 'images'], models: names('gamma') },
    ],
    accounts: [{ name: 'rich', groups: ['default'], balance: 1000 }],
  }
}

/** Writes ninety days of use into the gateway's books. */
async function use(gateway: OpenGateway): Promise<void> {
  const store = openStore(`sqlite:${gateway.folder}/gateway.db`, { secret: 'x' })
  const account = await store.accounts.byName('rich')
  const key = { id: 1, accountId: account!.id } as never
  const now = Date.now()
  let made = 0
  for (let day = 0; day < 90; day++) {
    const rows = Array.from({ length: 40 }, (_, i) =>
      usageRow(`${idAt(now - day * 24 * HOUR_MS - 2 * HOUR_MS)}node00${String(made++).padStart(5, '0')}`, key, 0, {
        model: i % 2 === 0 ? 'beta-4.7' : 'alpha-opus-5-5',
        firstByteMs: 640,
        ...(day % 20 === 7 && i % 4 === 0 ? { end: 'upstream_error' as const, status: 502 } : {}),
      }),
    )
    await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  }
  await store.close()
}

const gateway = await openGateway({ catalog })
t.teardown(() => gateway.stop())
await use(gateway)

t.test('which models are shown', async t => {
  const all = ((await (await fetch(`${gateway.main}/console/models.json`)).json()) as { models: CatalogueModel[] })
    .models
  const none: Choice = {
    text: '',
    family: '',
    protocol: '',
    kind: '',
    vendor: '',
    modality: '',
    context: '',
    available: false,
  }
  const rows: [choice: Partial<Choice>, names: string[]][] = [
    [{}, ['alpha-haiku-5-5', 'alpha-opus-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2']],
    [{ text: 'OPUS alpha' }, ['alpha-opus-5-5']],
    [{ family: 'gamma' }, ['gamma-3.8-flash', 'gamma-image-2']],
    [{ family: 'gamma', available: true }, ['gamma-image-2']],
    [{ protocol: 'responses' }, ['alpha-haiku-5-5', 'alpha-opus-5-5', 'beta-4.7', 'gamma-3.8-flash']],
    [{ kind: 'pictures' }, ['gamma-image-2']],
    [{ kind: 'pieces' }, ['beta-4.7']],
    [{ kind: 'tokens' }, ['alpha-haiku-5-5', 'alpha-opus-5-5', 'beta-4.7', 'gamma-3.8-flash']],
    [{ vendor: 'Beta Works' }, ['beta-4.7']],
    [{ text: 'works' }, ['beta-4.7']],
    [{ modality: 'image' }, ['gamma-image-2']],
    [{ modality: 'audio' }, ['gamma-3.8-flash']],
    [{ context: '400000' }, ['alpha-opus-5-5', 'beta-4.7']],
    [{ text: 'nothing' }, []],
  ]
  for (const [choice, names] of rows)
    t.same(
      chosen(all, { ...none, ...choice }).map(({ name }) => name),
      names,
      JSON.stringify(choice),
    )
})

browserTest(t, 'search, filters in the address, the group, comparing', async (t, newcomer) => {
  const { page, visit, axe, complaints } = await newcomer({ language: 'en-US' })
  await visit(`${gateway.main}/console/models`)
  const names = () => page.locator('.listing tbody th code').allInnerTexts()
  const input = (model: string) =>
    page.locator('.listing tbody tr', { hasText: model }).locator('td[data-title=Input]').innerText()
  t.equal((await names()).length, 5)
  const inOrder = async (title: string) => {
    await page.getByRole('columnheader', { name: title }).getByRole('button').click()
    return [...(await names()), await page.getByRole('columnheader', { name: title }).getAttribute('aria-sort')]
  }
  const [flash, image, haiku, beta, opus] = [
    'gamma-3.8-flash',
    'gamma-image-2',
    'alpha-haiku-5-5',
    'beta-4.7',
    'alpha-opus-5-5',
  ]
  t.same(
    await inOrder('Input'),
    [opus, beta, haiku, flash, image, 'descending'],
    'the dearest first, what has none last',
  )
  t.same(await inOrder('Input'), [flash, haiku, beta, opus, image, 'ascending'])
  t.match(page.url(), /[?&]sort=input/)
  await visit(page.url())
  t.same((await names())[0], flash, 'the address brings the order back')
  t.same(await inOrder('Context'), [opus, beta, haiku, flash, image, 'descending'])
  t.match(await page.locator('tr', { hasText: beta }).innerText(), /Beta Works[\s\S]*400K[\s\S]*≤ [\d,]+ ms/)
  t.same(await inOrder('Model'), [haiku, opus, beta, flash, image, 'ascending'])
  t.match(await page.locator('tr', { hasText: 'gamma-image-2' }).innerText(), /pictures as base64 only/)
  t.match(await input('alpha-opus'), /^¥35\s*over 200K: ¥70$/)
  await page.getByLabel('Search').fill('alpha')
  await page.waitForURL(/[?&]q=alpha/)
  t.same(await names(), ['alpha-haiku-5-5', 'alpha-opus-5-5'])
  await page.getByLabel('Group').selectOption('vip')
  await page.waitForURL(/group=vip/)
  await page.getByText('¥28', { exact: true }).first().waitFor()
  t.match(await input('alpha-haiku'), /^¥5\.6$/)
  t.same(await names(), ['alpha-haiku-5-5', 'alpha-opus-5-5'], 'the search stays')
  await visit(page.url())
  await page.locator('.listing tbody tr').nth(2).waitFor({ state: 'detached' })
  t.same(await names(), ['alpha-haiku-5-5', 'alpha-opus-5-5'], 'the address brings it back')
  t.match(await input('alpha-haiku'), /^¥5\.6$/)
  await page.getByLabel('Search').fill('nothing like it')
  await page.getByText('No model matches').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  t.equal((await names()).length, 5)
  await page.getByLabel('Group').selectOption('default')
  await page.getByText('¥175', { exact: true }).waitFor()
  for (const name of ['alpha-opus-5-5', 'beta-4.7']) await page.getByLabel(`Compare ${name}`).check()
  const compared = page.locator('section[aria-labelledby=compared]')
  t.same(await compared.locator('thead th').allInnerTexts(), ['Model', 'alpha-opus-5-5', 'beta-4.7'])
  t.match(await compared.innerText(), /Answered, 7 d\s+\d/)
  t.same(await axe(), [], 'the comparison')
  for (const name of ['alpha-haiku-5-5', 'gamma-image-2']) await page.getByLabel(`Compare ${name}`).check()
  await page.getByLabel('Compare gamma-3.8-flash').click()
  await page.getByText('At most four models can be compared').first().waitFor()
  t.equal(await compared.locator('thead th').count(), 5)
  t.same(complaints, [])
})

browserTest(t, 'without a script: the rows of the chosen group, and the groups as links', async (t, newcomer) => {
  const { page } = await newcomer({ language: 'en-US', context: { javaScriptEnabled: false } })
  await page.goto(`${gateway.main}/console/models`)
  t.equal(await page.locator('tbody tr').count(), 5)
  await page.getByRole('link', { name: 'vip' }).click()
  await page.waitForURL(/group=vip/)
  t.match(await page.locator('main').innerText(), /¥28/)
  await page.goto(`${gateway.main}/console/models?group=nowhere`)
  t.match(await page.locator('main').innerText(), /¥35/)
  await page.goto(`${gateway.main}/console/status`)
  t.match(await page.locator('main').innerText(), /beta-4\.7[\s\S]*Incidents/)
})

browserTest(
  t,
  'a model: from the list to its page, prices by group, an example, snippets with its name',
  async (t, newcomer) => {
    const { page, visit, complaints } = await newcomer({ language: 'en-US' })
    await visit(`${gateway.main}/console/models`)
    await page.getByRole('link', { name: 'alpha-opus-5-5' }).click()
    await page.waitForURL(/\/console\/models\/alpha-opus-5-5\?group=default$/)
    await page.getByRole('heading', { level: 1, name: 'alpha-opus-5-5' }).waitFor()
    t.equal(await page.title(), 'alpha-opus-5-5 · Model gateway')
    const part = (name: string) => page.getByRole('region', { name, exact: true })
    t.match(await part('Prices in the group default').innerText(), /Input\s+¥35\s+over 200K: ¥70[\s\S]*¥175/)
    // 2,000 × 35 + 8,000 × 3.5 + 1,000 × 175, of a million
    t.match(await part('An example').innerText(), /Total ¥0\.273000/)
    t.match(await part('Price history').innerText(), /In force\s+¥35/)
    t.match(await part('Performance').innerText(), /7 days\s+\d/)
    const use = part('Use it')
    await use.getByRole('tab', { name: 'Claude Code' }).click()
    await use.getByRole('tab', { name: 'Claude Code', selected: true }).waitFor()
    t.match(await use.innerText(), /ANTHROPIC_BASE_URL='http:\/\/127/)
    await use.getByRole('tab', { name: 'curl' }).click()
    await use.getByRole('tab', { name: 'curl', selected: true }).waitFor()
    const shown = use.locator('[role=tabpanel]:not([hidden])')
    t.match(await shown.innerText(), /"model":"alpha-opus-5-5"/)
    const commands = shown.locator('figcaption:visible')
    const titles = async () => (await commands.allInnerTexts()).map(one => one.split('\n')[0])
    t.same(await titles(), ['chat'], 'one command to paste')
    await shown.getByText('By other protocols').click()
    await commands.nth(3).waitFor()
    t.same(await titles(), ['chat', 'messages', 'responses', 'generate'])
    await page.getByRole('link', { name: 'vip' }).click()
    await page.waitForURL(/group=vip$/)
    t.match(await part('Prices in the group vip').innerText(), /¥28/)
    t.same(complaints, [])
  },
)

browserTest(t, 'Connect offers the models of the group that a client can use', async (t, newcomer) => {
  const { page, visit, axe, complaints } = await newcomer({ language: 'en-US', width: 360 })
  await visit(`${gateway.main}/console/connect`)
  const shown = page.locator('[role=tabpanel]:not([hidden])')
  const offered = () => shown.getByLabel('Model', { exact: true }).locator('option').allInnerTexts()
  const alphas = ['alpha-haiku-5-5', 'alpha-opus-5-5']
  const all = [...alphas, 'beta-4.7']
  t.same(await offered(), [...all, 'gamma-image-2'], 'curl asks for all that is not offline')
  await page.getByRole('tab', { name: 'Claude Code' }).click()
  t.same(await offered(), all, 'also those that it reaches by translation, and none that is offline')
  t.match(await shown.innerText(), /alpha-haiku-5-5/)
  await page.getByRole('tab', { name: 'Codex' }).click()
  const native = ['beta-4.7', ...alphas]
  t.same(await offered(), native, 'what speaks its own protocol comes first, and there are no pictures')
  await shown.getByLabel('Model', { exact: true }).selectOption('beta-4.7')
  t.match(await shown.innerText(), /model = "beta-4\.7"/)
  await page.getByRole('tab', { name: 'curl' }).click()
  await shown.getByLabel('Model', { exact: true }).selectOption('alpha-opus-5-5')
  t.match(await shown.innerText(), /"model":"alpha-opus-5-5"/)
  await Promise.all([
    page.waitForResponse(/catalogue\/models\?group=vip/),
    page.getByLabel('Group', { exact: true }).selectOption('vip'),
  ])
  t.match(await shown.innerText(), /"model":"alpha-opus-5-5"/, 'what was chosen stays')
  t.same(await axe(), [])
  t.same(complaints, [])
})

browserTest(t, 'a model without a script, and none', async (t, newcomer) => {
  const { page } = await newcomer({ language: 'en-US', context: { javaScriptEnabled: false } })
  await page.goto(`${gateway.main}/console/models/gamma-image-2`)
  t.match(await page.locator('main').innerText(), /base64 only[\s\S]*picture ¥0\.28[\s\S]*Total ¥0\.280000/)
  t.equal((await page.goto(`${gateway.main}/console/models/secret`))?.status(), 404)
  t.match(await page.locator('h1').innerText(), /There is no such page/)
})
