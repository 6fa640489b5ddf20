/** The section `site` of the config: what it becomes, and what is refused. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { stringify } from 'yaml'
import { announced, ConfigError, mixed, parseConfig } from '../../lib/config/config.ts'
import { contrast, GROUNDS } from '../../lib/config/site-schema.ts'

const folder = t.testdir({ 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"></svg>', 'logo.txt': 'a text' })
writeFileSync(
  path.join(folder, 'large.png'),
  Buffer.concat([Buffer.from('\x89PNG\r\n', 'latin1'), Buffer.alloc(65_536)]),
)
writeFileSync(path.join(folder, 'small.png'), Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
const FILE = path.join(folder, 'g.yaml')

const siteOf = (site: object) => parseConfig(stringify({ site }), FILE, {}).site
function problem(site: object): string {
  try {
    siteOf(site)
    return ''
  } catch (error) {
    return error instanceof ConfigError ? error.message : String(error)
  }
}

t.test('what is written, and what it becomes', async t => {
  const rows: [written: object, becomes: object][] = [
    [{ name: 'Galaxy' }, { name: { zh: 'Galaxy', en: 'Galaxy' } }],
    [{ about: { zh: '一句话', en: 'A sentence' } }, { about: { zh: '一句话', en: 'A sentence' } }],
    [{ logo: 'logo.svg' }, { logo: { type: 'image/svg+xml' } }],
    [{ logo: path.join(folder, 'small.png') }, { logo: { type: 'image/png', base64: 'iVBORw0KGgo=' } }],
    [{ colors: { light: '#2A5BD0' } }, { colors: { light: '#2a5bd0', dark: null } }],
    [{ terms: 'https://a.example/terms' }, { terms: 'https://a.example/terms', privacy: null }],
    [{ icp: '京ICP备12345678号-1' }, { icp: '京ICP备12345678号-1' }],
    [{ languages: ['en', 'en'] }, { languages: ['en'] }],
    [
      { announcements: [{ text: 'x', from: '2030-01-01', until: '2030-01-02', group: 'vip' }] },
      { announcements: [{ level: 'info', fromMs: Date.UTC(2030, 0, 1), untilMs: Date.UTC(2030, 0, 2), group: 'vip' }] },
    ],
  ]
  for (const [written, becomes] of rows) t.match(siteOf(written), becomes, JSON.stringify(written))
})

t.test(
  'what is refused: other schemes, control and bidi characters, colours without contrast, files that are no pictures',
  async t => {
    const rows: [site: object, about: RegExp][] = [
      [{ name: '' }, /site\.name: expected a text/],
      [{ name: 'a\u202eb' }, /site\.name/],
      [{ name: { zh: 'x' } }, /site\.name/],
      [{ name: { zh: 'x', en: 'y', fr: 'z' } }, /site\.name/],
      [{ about: 'a\nb' }, /site\.about/],
      [{ contact: 'x'.repeat(201) }, /site\.contact/],
      [{ terms: 'http://a.example' }, /site\.terms: expected an https/],
      [{ privacy: 'javascript:alert(1)' }, /site\.privacy/],
      [{ links: [{ text: 'a', url: 'https://u:p@a.example' }] }, /site\.links\[0\]\.url/],
      [{ links: Array.from({ length: 6 }, () => ({ text: 'a', url: 'https://a.example' })) }, /site\.links/],
      [{ colors: { light: '#8ab4ff' } }, /site\.colors\.light: expected a colour .* 4\.5/],
      [{ colors: { dark: '#2a5bd0' } }, /site\.colors\.dark/],
      [{ colors: { light: 'red' } }, /site\.colors\.light/],
      [{ logo: 'logo.txt' }, /site\.logo: expected a readable file/],
      [{ logo: 'large.png' }, /site\.logo/],
      [{ logo: 'nowhere.png' }, /site\.logo/],
      [{ languages: [] }, /site\.languages/],
      [{ languages: ['fr'] }, /site\.languages/],
      [{ announcements: [{ text: 'x', from: '2030-01-02', until: '2030-01-02' }] }, /until: expected a time after/],
      [{ announcements: Array.from({ length: 21 }, () => ({ text: 'x' })) }, /site\.announcements/],
    ]
    for (const [site, about] of rows) t.match(problem(site), about, JSON.stringify(site).slice(0, 80))
  },
)

t.test('announcements have their time, and those of a group are for the group alone', async t => {
  const site = siteOf({
    announcements: [
      { text: 'always' },
      { text: 'later', from: '2030-01-02' },
      { text: 'over', until: '2030-01-01' },
      { text: 'vip', group: 'vip' },
    ],
  })
  const at = (day: number, groups: string[] | null) =>
    announced(site, Date.UTC(2030, 0, day), groups).map(({ text }) => text.en)
  t.same(at(1, null), ['always'])
  t.same(at(2, null), ['always', 'later'])
  t.same(at(1, ['vip', 'other']), ['vip'])
  t.same(at(1, ['other']), [])
})

t.test('colours are measured on grounds of the style sheet, and their shades can be read', async t => {
  const css = readFileSync(new URL('../../web/style/tokens.css', import.meta.url), 'utf8')
  const [light, dark] = css.split('@media') as [string, string]
  for (const [theme, block] of [
    ['light', light],
    ['dark', dark],
  ] as const)
    t.ok(block.includes(GROUNDS[theme]), theme)
  t.equal(contrast('#000000', '#ffffff'), 21)
  t.equal(mixed('#000000', '#ffffff', 0.5), '#808080')
})
