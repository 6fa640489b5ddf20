/** The page API, which everybody reads, also without a script: the paths by which models are asked. */
import t from 'tap'
import { PUBLISHED } from '../../../lib/exchange/paths.ts'
import { browserTest } from '../support/browser.ts'
import { openSite, URLS } from '../support/site.ts'

browserTest(t, 'the paths of models, found by words, with examples', async (t, newcomer) => {
  const { at } = await openSite(t)
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await visit(`${at}/console/api-reference`)
  const panels = page.locator('main article')
  t.equal(await panels.count(), PUBLISHED.length)
  const chat = page.getByRole('article', { name: 'POST /v1/chat/completions' })
  t.match(
    await chat.innerText(),
    /authorization: Bearer · Can be streamed[\s\S]*messages array required[\s\S]*What is charged/,
  )
  await chat.getByText('Examples').click()
  t.match(await chat.locator('pre').first().innerText(), `curl '${URLS.main}/v1/chat/completions'`)
  t.match(await page.locator('#errors ~ ul li').first().innerText(), /^403/, 'an empty balance comes first')
  t.same(await visitor.axe(), [])
  const find = page.getByRole('searchbox')
  await find.fill('tokens count_tokens')
  await page.waitForFunction(() => document.querySelectorAll('main article').length === 1)
  await find.fill('x-gateway-charge')
  await page.getByRole('heading', { name: 'Headers' }).waitFor()
  t.equal(await panels.count(), 0)
  await find.fill('nothing of the kind')
  await page.getByText('Nothing matches.').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('link', { name: 'Console API' }).click()
  await page.waitForURL('**/console/console-api')
  t.notOk((await page.getByRole('navigation').first().innerText()).includes('Console API'))
  t.same(complaints, [])

  const plain = await newcomer({ context: { javaScriptEnabled: false } })
  await plain.page.goto(`${at}/console/api-reference`)
  t.equal(await plain.page.locator('main article').count(), PUBLISHED.length)
  t.match(await plain.page.locator('main').innerText(), /余额或预算已用完/)
})
