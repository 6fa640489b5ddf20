/** What pages make of data before it is drawn: money, times, names, addresses, and elements as text. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { niceTop } from '../../../web/parts/charts/bars.ts'
import { seriesOf } from '../../../web/parts/charts/series.ts'
import { a, div, input, p, td } from '../../../web/base/element.ts'
import { compact, count, exactMoney, money, moneyDown, percent } from '../../../web/base/money.ts'
import { agentName } from '../../../web/pages/security/agent.ts'
import { ownPage } from '../../../web/shared/own-page.ts'
import { renderText } from '../../../web/document.ts'
import { DRAWN } from '../../../web/pages/drawn.ts'
import { PAGES, pageAt } from '../../../web/shared/sitemap.ts'
import { site } from '../../../web/base/site.ts'
import { dayBegan, enteredTime, relative, stamp, times, zoneName } from '../../../web/base/time.ts'
import { language, words } from '../../../web/base/words.ts'

t.afterEach(() => {
  language.value = 'zh'
  times.value = 'books'
})

t.test('money keeps every digit', async t => {
  const rows: [decimal: string, zh: string, en: string, exact: string][] = [
    ['0.000000', '¥0.00', '¥0.00', '¥0.000000'],
    ['0.001806', '¥0.001806', '¥0.001806', '¥0.001806'],
    ['-0.009999', '-¥0.009999', '-¥0.009999', '-¥0.009999'],
    ['0.010000', '¥0.01', '¥0.01', '¥0.010000'],
    ['12.345678', '¥12.35', '¥12.35', '¥12.345678'],
    ['-0.500000', '-¥0.50', '-¥0.50', '-¥0.500000'],
    ['1234567890123.000001', '¥1,234,567,890,123.00', '¥1,234,567,890,123.00', '¥1,234,567,890,123.000001'],
  ]
  for (const [decimal, zh, en, exact] of rows) {
    language.value = 'zh'
    t.equal(money(decimal), zh)
    language.value = 'en'
    t.equal(money(decimal), en)
    t.equal(exactMoney(decimal), exact)
  }
  t.same([count(1234567), compact(1_234_567), percent(0.1234)], ['1,234,567', '1.2M', '12.3%'])
  language.value = 'zh'
  t.same([compact(1_234_567), compact(9_946)], ['123.5万', '9,946'])
})

t.test('what is left is never shown as more', async t => {
  language.value = 'en'
  for (const [decimal, shown] of [
    ['0.000000', '¥0.00'],
    ['0.001806', '¥0.001806'],
    ['-0.001806', '-¥0.001806'],
    ['0.019999', '¥0.01'],
    ['49.998194', '¥49.99'],
    ['50.000000', '¥50.00'],
    ['-0.010000', '-¥0.01'],
    ['-0.600200', '-¥0.61'],
    ['1234567890123.009999', '¥1,234,567,890,123.00'],
  ] as const)
    t.equal(moneyDown(decimal), shown, decimal)
})

t.test('times', async t => {
  times.value = 'utc'
  t.equal(stamp('2026-11-22T03:04:05.678Z'), '2026-11-22 03:04:05')
  t.equal(stamp('2026-11-22T23:59:59.999Z', false), '2026-11-22 23:59')
  const now = Date.parse('2026-11-22T12:00:00Z')
  const rows: [iso: string, en: string, zh: string][] = [
    ['2026-11-22T11:59:30Z', '30 seconds ago', '30秒钟前'],
    ['2026-11-22T09:00:00Z', '3 hours ago', '3小时前'],
    ['2026-11-21T12:00:00Z', 'yesterday', '昨天'],
    ['2026-11-25T12:00:00Z', 'in 3 days', '3天后'],
  ]
  for (const [iso, en, zh] of rows) {
    language.value = 'en'
    t.equal(relative(iso, now), en)
    language.value = 'zh'
    t.equal(relative(iso, now), zh)
  }
})

t.test('times in the zone of the books, by day, also where clocks are changed', async t => {
  const rows: [zone: string, at: string, shown: string, threeDaysBefore: string][] = [
    ['Asia/Shanghai', '2026-11-22T18:04:00.000Z', '2026-11-23 02:04', '2026-11-19T16:00:00.000Z'],
    ['America/New_York', '2026-11-02T04:30:00.000Z', '2026-11-01 23:30', '2026-10-29T04:00:00.000Z'],
    ['Europe/Berlin', '2026-03-30T21:30:00.000Z', '2026-03-30 23:30', '2026-03-26T23:00:00.000Z'],
    ['UTC', '2026-01-01T00:00:00.000Z', '2026-01-01 00:00', '2025-12-29T00:00:00.000Z'],
  ]
  const before = site.value
  for (const [zone, at, shown, threeDaysBefore] of rows) {
    site.value = { ...before, zone }
    t.equal(zoneName(), zone)
    t.equal(stamp(at, false), shown)
    t.equal(enteredTime(shown.replace(' ', 'T')), at, 'what is entered means the same moment')
    t.equal(new Date(dayBegan(Date.parse(at), 3)).toISOString(), threeDaysBefore)
  }
  t.equal(enteredTime(''), null)
  site.value = before
})

t.test('words follow the language', async t => {
  const w = words({
    plain: ['甲', 'A'],
    many: [(n: number) => `${n} 个`, (n: number) => `${n} of them`],
  })
  t.same([w.plain(), w.many(3)], ['甲', '3 个'])
  language.value = 'en'
  t.same([w.plain(), w.many(3)], ['A', '3 of them'])
})

t.test('every pair is Chinese first and English second', async t => {
  const folder = path.resolve(import.meta.dirname, '../../../web')
  const han = /\p{Script=Han}/u
  let pairs = 0
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const text = readFileSync(path.join(folder, file), 'utf8')
    for (const [, zh = '', en = ''] of text.matchAll(/\[\s*'((?:[^'\\]|\\.)*)',\s*'((?:[^'\\]|\\.)*)',?\s*\],?\n/g)) {
      if (!han.test(zh) && !han.test(en)) continue
      pairs++
      if (zh.endsWith('English')) continue // what switches the language speaks the other one
      t.ok(han.test(zh), `${file}: ${zh}`)
      t.notOk(han.test(en), `${file}: ${en}`)
    }
  }
  t.ok(pairs > 100, `${pairs} pairs`)
})

t.test('elements as text, whatever stands in them', async t => {
  const rows: [node: unknown, html: string][] = [
    [p({}, 'a < b & "c"'), '<p>a &#60; b &#38; &#34;c&#34;</p>'],
    [a({ href: '"><script>' }, '</a>'), '<a href="&#34;&#62;&#60;script&#62;">&#60;/a&#62;</a>'],
    [input({ disabled: true, hidden: false, value: 'x' }), '<input disabled value="x">'],
    [
      div({ 'aria-hidden': 'true', onClick: () => {} }, false, null, [td({}, 0)]),
      '<div aria-hidden="true"><td>0</td></div>',
    ],
  ]
  for (const [node, html] of rows) t.equal(renderText(node), html)
})

t.test('browsers by name', async t => {
  const rows: [agent: string, name: string][] = [
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
      'Chrome · Windows',
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
      'Edge · Windows',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
      'Safari · macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
      'Safari · iPhone',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox · Linux'],
    ['curl/8.14.1', 'curl/8.14.1'],
    ['', '—'],
  ]
  for (const [agent, name] of rows) t.equal(agentName(agent), name)
})

t.test('a sign-in leads to a page of the console and nowhere else', async t => {
  const START = ownPage(null)
  for (const own of ['/console/team', '/console/security?account=a1', '/console/requests/r-1?from=2026-11-01T00:00'])
    t.equal(ownPage(own), own)
  for (const other of [
    'https://elsewhere.example',
    '//elsewhere.example',
    '/\\elsewhere.example',
    'javascript:alert(1)',
    '/console/../v1/models',
    '/console/api/sign-out',
    '/v1/models',
    '/console/a/b\nc',
    '',
  ])
    t.equal(ownPage(other), START, other)
})

t.test('pages by address', async t => {
  t.equal(pageAt('/connect')?.name, 'connect')
  for (const none of ['/', '/nowhere', '/connect/x', '/missing', '/__proto__']) t.equal(pageAt(none), null, none)
})

t.test('the steps of an axis are round', async t => {
  const rows: [most: number, top: number][] = [
    [0, 1],
    [3, 4],
    [7, 8],
    [9, 10],
    [37, 40],
    [0.9, 1],
    [1234, 2000],
  ]
  for (const [most, top] of rows) t.ok(Math.abs(niceTop(most) - top) < 1e-9, `${most}: ${niceTop(most)}`)
  t.same([0, 7, 8, 20].map(seriesOf), [1, 8, 9, 9])
})

t.test('pages that are written out are the public ones of the sitemap, each by its own module', async t => {
  // the reference of the console's API is made in the browser, of a document that it fetches
  const open = PAGES.filter(({ name, area }) => area === 'public' && name !== 'console-api').map(({ name }) => name)
  t.same(Object.keys(DRAWN).sort(), open.sort())
  for (const name of open) t.equal((await import(`../../../web/pages/${name}.ts`)).default, DRAWN[name], name)
})
