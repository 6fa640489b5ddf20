import t from 'tap'
import { until } from '../../support/wait.ts'
import { browserTest } from '../support/browser.ts'
import { KEY, MODELS, openSite } from '../support/site.ts'

browserTest(t, 'a key is checked, and kept nowhere', async (t, newcomer) => {
  const { at, asked } = await openSite(t)
  const { page, visit, complaints, requested } = await newcomer()
  await visit(`${at}/`)
  t.equal(new URL(page.url()).pathname, '/console')
  await visit(`${at}/console/connect`)
  t.equal(await page.locator('html').getAttribute('lang'), 'zh-CN')
  t.equal(await page.locator('h1').innerText(), '连接')
  const verdict = page.locator('#verdict')
  const check = async (key: string) => {
    await page.fill('#secret', key)
    await page
      .getByRole('button', { name: '检查', exact: true })
      .or(page.getByRole('button', { name: 'Check' }))
      .click()
    await page.locator('form button[type=submit]:enabled').waitFor()
    return verdict.innerText()
  }
  t.equal(await check(KEY), `密钥有效，可用模型 ${MODELS.length} 个`)
  t.same(await page.locator('#models li').allInnerTexts(), MODELS)
  t.equal(await page.locator('#models img').count(), 0, 'names are text')
  t.match(await check('sk-wrong'), /^401 无效的令牌 \(request id: r1\)$/)
  t.equal(await page.locator('#models li').count(), 0)
  t.match(await check('sk-page'), /^502/)
  t.match(await check('  sk-good-key '), /^密钥有效/, 'spaces around it are not part of it')
  const before = asked.length
  t.match(await check('密钥'), /完整的密钥/)
  t.equal(asked.length, before, 'and nobody was asked')

  await page.getByRole('button', { name: 'Switch to English' }).click()
  t.equal(await page.locator('html').getAttribute('lang'), 'en')
  t.equal(await page.title(), 'Connect · Model gateway')
  t.equal(await page.locator('#secret').inputValue(), '密钥', 'what was entered is still there')
  t.equal(await check('sk-wrong'), '401 Invalid token (request id: r1)')
  t.notOk(/\p{Script=Han}/u.test(await page.locator('main').innerText()), 'all of it')

  t.same(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0])
  t.equal(await page.evaluate(() => document.cookie), 'language=en')
  t.equal(await page.evaluate(() => location.search + location.hash), '', 'the key is in no address')
  t.ok(asked.every(({ url, headers }) => url === '/v1/models?limit=1000' && headers.referer === undefined))
  t.ok(
    requested.every(url => url.startsWith(at)),
    requested.join(' '),
  )
  t.same(complaints, [])
})

browserTest(t, 'addresses, clients and copying', async (t, newcomer) => {
  const { at } = await openSite(t)
  const { page, visit, context, complaints } = await newcomer({ language: 'en-US' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await visit(`${at}/console/connect`)
  const shown = page.locator('[role=tabpanel]:not([hidden])')
  t.same((await page.locator('[role=tab]').allInnerTexts()).slice(0, 4), [
    'curl',
    'Python (OpenAI SDK)',
    'JavaScript (OpenAI SDK)',
    'Claude Code',
  ])
  t.match(await shown.innerText(), /curl 'https:\/\/api\.example\/v1/)
  await page.getByText('https://direct.example', { exact: true }).click()
  t.match(await shown.innerText(), /curl 'https:\/\/direct\.example\/v1/)
  await page.click('#client-claude-code')
  t.match(await shown.innerText(), /ANTHROPIC_BASE_URL='https:\/\/direct\.example'\n/)
  await page.keyboard.press('ArrowRight')
  await page.locator('#client-codex:focus').waitFor()
  t.match(await shown.innerText(), /base_url = "https:\/\/direct\.example\/v1"\n/)
  await shown.getByRole('button', { name: 'Copy ~/.codex/config.toml' }).click()
  await shown.getByRole('button', { name: 'Copied ~/.codex/config.toml' }).waitFor()
  await page.getByRole('status').getByText('Copied').waitFor({ state: 'attached' })
  t.equal(await page.locator('.notice').count(), 0, 'what the button shows is not shown twice')
  t.match(await page.evaluate(() => navigator.clipboard.readText()), /^model = "MODEL"\nmodel_provider/)
  t.same(complaints, [])
})

browserTest(t, 'without a script everything can be read', async (t, newcomer) => {
  const { at } = await openSite(t)
  const { page } = await newcomer({ language: 'en-US', context: { javaScriptEnabled: false } })
  await page.goto(`${at}/console/connect`)
  t.equal(await page.locator('h1').innerText(), 'Connect')
  for (const text of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'])
    t.ok(await page.getByText(text).first().isVisible(), text)
})

browserTest(t, 'the theme is there with the first paint, and chosen by the reader', async (t, newcomer) => {
  const { at } = await openSite(t)
  const { page, visit } = await newcomer({ language: 'en-US', scheme: 'dark' })
  const shade = () =>
    page.evaluate(() =>
      (getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, n) => sum + +n, 0),
    )
  await visit(`${at}/console/connect`)
  t.ok((await shade()) < 150, 'as the system has it')
  await page.getByRole('button', { name: 'Theme: as the system' }).click()
  t.ok((await shade()) > 600, 'light now')
  await page.route('**/boot.js', route => route.abort())
  await page.reload()
  t.ok((await shade()) > 600, 'also before a script has run')
})

browserTest(t, 'what the policy refuses is heard of', async (t, newcomer) => {
  const { at } = await openSite(t)
  const { page, visit, complaints } = await newcomer()
  await visit(`${at}/console/connect`)
  t.same(complaints, [])
  const thrown = await page.evaluate(() => {
    try {
      document.body.insertAdjacentHTML('beforeend', '<b>no</b>')
      return false
    } catch {
      return true
    }
  })
  t.ok(thrown, 'text never becomes markup')
  await page.evaluate(() => {
    const script = document.createElement('img')
    script.src = 'https://elsewhere.example/x.png'
    document.body.append(script)
  })
  await until('the refused picture is told', () => complaints.some(text => text.startsWith('policy: img-src')))
  t.match(complaints.join('\n'), /policy: require-trusted-types-for/)
  t.match(complaints.join('\n'), /policy: img-src https:\/\/elsewhere\.example/)
})
