/** What the section `site` makes of pages: in every document, in files with their hash, and in nothing that programs read. */
import t from 'tap'
import { Brand, colorSheet } from '../../lib/console/branding.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { ZERO } from '../../lib/base/money.ts'
import { contrast } from '../../lib/config/site-schema.ts'
import { PAGES } from '../../web/shared/sitemap.ts'
import { TestClock } from '../support/clock.ts'
import { browserTest } from './support/browser.ts'
import { openConsole } from './support/console.ts'

const SITE = {
  name: { zh: '星河', en: 'Galaxy & <Sons>' },
  contact: 'help@galaxy.example',
  terms: 'https://galaxy.example/terms',
  privacy: 'https://galaxy.example/privacy',
  icp: '京ICP备12345678号-1',
  links: [{ text: { zh: '博客', en: 'Blog' }, url: 'https://galaxy.example/blog' }],
  colors: { light: '#7a1fa2', dark: '#f0a0ff' },
  announcements: [
    { text: { zh: '今晚维护', en: 'Maintenance tonight' }, level: 'warning' },
    { text: 'Only for the hidden ones', group: 'hidden' },
  ],
}

t.test('name, foot and announcements stand in every page, the hidden announcement in none', async t => {
  const house = await openConsole(t, JSON.stringify({ site: SITE }))
  for (const { path, name } of PAGES) {
    const address = `${house.url}/console${name === 'missing' ? '/nowhere' : path.replaceAll('*', 'x')}`
    const html = await (await fetch(address, { headers: { 'accept-language': 'en' } })).text()
    t.match(html, /<title>[^<]* · Galaxy &#38; &#60;Sons&#62;<\/title>/, name)
    for (const text of [
      'mailto:help@galaxy.example',
      SITE.terms,
      SITE.privacy,
      SITE.icp,
      'Blog',
      'Maintenance tonight',
    ])
      t.ok(html.includes(text), `${name} has ${text}`)
    t.notOk(html.includes('hidden ones'), name)
  }
})

t.test('announcements of a group are for its members, and who has put some away is drawn none', async t => {
  const house = await openConsole(t, JSON.stringify({ site: SITE }))
  const account = await house.store.accounts.create(
    { name: 'insiders', groups: ['hidden'], opening: { amount: ZERO, actor: 'cli' }, budget: null },
    { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' },
  )
  const inside = await house.person('in@example.com', { in: { account, role: 'viewer' } })
  const outside = await house.person('out@example.com')
  t.match((await inside.call('me.show')).json['announcements'], [{ text: { en: 'Only for the hidden ones' } }])
  t.same((await outside.call('me.show')).json['announcements'], [])
  const html = await (await fetch(`${house.url}/console`, { headers: { cookie: 'put_away=abc' } })).text()
  t.notMatch(html.split('id="root"')[1], /今晚维护/)
})

t.test('one language: pages and messages of the console keep to it, whatever the browser asks for', async t => {
  const house = await openConsole(t, JSON.stringify({ site: { languages: ['en'] } }))
  const html = await (
    await fetch(`${house.url}/console`, { headers: { 'accept-language': 'zh', cookie: 'language=zh' } })
  ).text()
  t.match(html, /<html lang="en"/)
  const reply = await fetch(`${house.url}/console/api/me`, { headers: { 'accept-language': 'zh' } })
  t.notMatch(((await reply.json()) as { error: { message: string } }).error.message, /\p{Script=Han}/u)
})

t.test('logo and colours are files with a hash that browsers keep; others are 404', async t => {
  const folder = t.testdir({ 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>' })
  const { site } = parseConfig(JSON.stringify({ site: { ...SITE, logo: `${folder}/logo.svg` } }), 'g.yaml', {})
  const house = await openConsole(t, JSON.stringify({ site: { ...SITE, logo: `${folder}/logo.svg` } }))
  const html = await (await fetch(`${house.url}/console`)).text()
  const addresses = [...new Set([...html.matchAll(/\/console\/site\/[^"]*/g)].map(([address]) => address))].sort()
  t.match(addresses, [/^\/console\/site\/[\da-f]{16}\/colors\.css$/, /^\/console\/site\/[\da-f]{16}\/logo$/])
  for (const address of addresses) {
    const reply = await fetch(house.url + address)
    t.equal(reply.status, 200)
    t.match(reply.headers.get('cache-control'), /immutable/)
    t.match(reply.headers.get('content-security-policy'), /default-src 'none'/, 'a script in a picture never runs')
    t.equal(reply.headers.get('x-content-type-options'), 'nosniff')
    t.ok((await reply.text()).length > 0)
    const other = await fetch(house.url + address.replace(/[\da-f]{16}/, '0'.repeat(16)))
    t.equal(other.status, 404)
    await other.text()
  }
  const sheet = colorSheet(site.colors) as string
  const value = (name: string, at: number) =>
    [...sheet.matchAll(new RegExp(`--${name}: (#\\w+)`, 'g'))][at]?.[1] as string
  for (const at of [0, 1])
    t.ok(contrast(value('accent-strong', at), value('tint', at)) >= 4.5, 'what is chosen can be read')
  t.equal(colorSheet({ light: null, dark: null }), null)
})

t.test('what is shown is made anew when an announcement begins or ends, and not before', async t => {
  const clock = new TestClock()
  const from = new Date(clock.now() + 60_000).toISOString()
  const text = JSON.stringify({ site: { announcements: [{ text: 'x', from }] } })
  const config = parseConfig(text, 'g.yaml', {})
  const brand = new Brand(
    () => config,
    () => false,
    clock,
  )
  const first = brand.now()
  t.equal(brand.now(), first)
  t.same(first.shown.announcements, [])
  clock.advance(60_000)
  t.equal(brand.now().shown.announcements.length, 1)
})

t.test(
  'without a script a page says that it needs one, and the front page describes itself to search engines',
  async t => {
    const about = 'Models for <everybody> & "more"'
    const house = await openConsole(t, JSON.stringify({ site: { about } }))
    const html = async (path: string) =>
      (await fetch(`${house.url}/console${path}`, { headers: { 'accept-language': 'en' } })).text()
    for (const path of ['/sign-in', '/keys', '/profile'])
      t.match(await html(path), /<noscript><p[^>]*>This page needs JavaScript/, path)
    for (const path of ['', '/models', '/connect']) t.notMatch(await html(path), /needs JavaScript/, path)
    t.match(await html(''), '<meta name="description" content="Models for &#60;everybody&#62; &#38; &#34;more&#34;">')
    t.notMatch(await html('/models'), /name="description"/)
  },
)

browserTest(t, 'a printed receipt says whose it is', async (t, newcomer) => {
  const house = await openConsole(t, JSON.stringify({ site: SITE }))
  const { page, visit } = await newcomer({ language: 'en-US' })
  await visit(`${house.url}/console/status`)
  await page.emulateMedia({ media: 'print' })
  t.ok(await page.locator('.brand').isVisible())
  t.notOk(await page.locator('.corner').isVisible())
})
