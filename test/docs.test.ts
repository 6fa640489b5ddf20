/** Lists of the pages against the code that they tell about, where no test beside that code does it. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { CLIENT_PROTOCOLS, PROTOCOLS } from '../lib/protocols/names.ts'
import { protocolRow } from '../lib/protocols/table.ts'
import { BASES, ENDS } from '../lib/terms/usage-row.ts'

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(found => found[1] as string)
/** The text between two marks. */
const part = (text: string, from: string, to: string): string => text.split(from)[1]?.split(to)[0] ?? ''
/** Cells of a table's first column. */
const firsts = (table: string): string[] => all(table, /^\| `?([\w=]+)/gm).slice(1)

t.test('the stages of a request', async t => {
  const plans = read('lib/exchange/plans.ts')
  const steps = (plan: string) => all(part(plans, `const ${plan} = `, '\n\n'), /\.step\((\w+)\)/g)
  const stages = [...steps('known'), ...steps('relay')]
  t.ok(stages.length > 10)
  const table = part(read('docs/lifecycle.md'), 'a compile error.', '## The relay')
  const rows = firsts(table)
  t.same(rows, ['route', ...stages])
  const line = part(read('README.md'), 'the stages, in order:', 'lib/protocols')
  t.same(line.match(/\w+/g), stages)
})

t.test('the stages of the plans beside the first one', async t => {
  const plans = read('lib/exchange/plans.ts')
  const steps = (plan: string) => all(part(plans, `const ${plan} = `, '\n\n'), /\.step\((\w+)\)/g)
  const names = all(plans, /^const (\w+) = /gm).filter(plan => plan !== 'known' && plan !== 'relay')
  t.ok(names.length > 4)
  const known = new Set(all(plans, /\.step\((\w+)\)/g))
  const table = part(read('docs/lifecycle.md'), '## The other plans', '## What waits')
  const rows = table
    .split('\n')
    .map(row => (row.split('|')[2]?.match(/\w+/g) ?? []).filter(word => known.has(word)).join(' '))
  for (const plan of names) {
    const stages = [...(plans.includes(`const ${plan} = known`) ? steps('known') : []), ...steps(plan)].join(' ')
    t.ok(
      rows.some(row => row === stages || row.split(' ').includes(stages)),
      `${plan}: ${stages}`,
    )
  }
})

t.test('what is read at start only', async t => {
  const names = all(part(read('lib/process/prepare.ts'), 'READ_AT_START = {', '}'), /^ {2}(\w+):/gm)
  const [sentence = ''] = /^.*\bare read at start only\b/m.exec(read('docs/operating.md')) ?? []
  t.same(all(sentence, /`(\w+)`/g).sort(), names.sort())
})

t.test('the options of a MySQL address', async t => {
  const known = all(part(read('lib/store/engines/mysql-url.ts'), 'const KNOWN = [', ']'), /'(\w+)'/g)
  const table = part(read('docs/engines.md'), '## The URL', '\nA connection keeps')
  t.same(
    firsts(table).map(option => option.split('=')[0]),
    known,
  )
})

t.test('why a settlement is set aside', async t => {
  const reasons = all(part(read('lib/ledger/dead-letters.ts'), 'const REASONS = {', '\n}'), /^ {2}(\w+):/gm)
  const table = part(read('docs/ledger.md'), '**Set aside.**', 'Records that cannot be read')
  t.same(firsts(table), reasons)
})

t.test('what the log says of upstreams', async t => {
  const code = read('lib/exchange/record/upstream-log.ts')
  const page = part(read('docs/upstreams.md'), '## What the log says', '\nEach channel writes')
  const lines = all(code, /'((?:attempt|answer|another|what|channel) [a-z ]+)'/g)
  t.equal(lines.length, 6)
  for (const line of lines) t.ok(page.includes(`\`${line}\``), line)
})

t.test('how a request ends, and on what a charge rests', async t => {
  const rows = part(read('docs/charging.md'), '## How a request ends', '\n- A reported number').split('\n')
  const cells = (column: number) => [...new Set(rows.flatMap(row => all(row.split('|')[column] ?? '', /`(\w+)`/g)))]
  t.same(
    cells(4)
      .filter(name => name !== 'end')
      .sort(),
    [...ENDS].sort(),
  )
  t.same(
    cells(3)
      .filter(name => name !== 'basis')
      .sort(),
    [...BASES].sort(),
  )
})

t.test('the protocols, wherever a page lists them', async t => {
  const label = all(read('docs/metrics.md'), /^\| `protocol` \| (.*), or `none`/gm)[0] ?? ''
  t.same(all(label, /`([\w-]+)`/g), CLIENT_PROTOCOLS, 'the label in docs/metrics.md')
  const sentence = part(read('README.md'), '**Many protocols**: ', '. ')
  for (const name of CLIENT_PROTOCOLS) t.ok(new RegExp(`\\b${name}\\b`).test(sentence), `README.md names ${name}`)
  t.equal(sentence.split(',').length, CLIENT_PROTOCOLS.length, 'and no other')
  const charging = read('docs/charging.md')
  const priced = part(charging, '| protocol | needs one of |\n|---|---|\n', '\n\n').split('\n')
  const said = priced.flatMap(row => {
    const [, names = '', prices = ''] = row.split('|')
    const covers = (prices.split('. ')[0] ?? '').split(';').map(one => all(one, /`(\w+)`/g).sort())
    return names.split(',').map(name => [name.replace(/\(.*/, '').trim(), covers.sort()])
  })
  const known = PROTOCOLS.map(name => [
    name,
    protocolRow(name)
      .price.cover.map(one => [...one].sort())
      .sort(),
  ])
  t.same(Object.fromEntries(said), Object.fromEntries(known), 'what counts as priced, in docs/charging.md')
  const section = part(charging, '## What is read of an answer', '\n## ').toLowerCase()
  for (const name of PROTOCOLS)
    t.match(
      section,
      new RegExp(`[|*] ?${name}\\b|\\*\\*[\\w, ]*\\b${name}\\b`),
      `docs/charging.md says what is read of ${name}`,
    )
})

t.test('files and commands that pages and comments name are there', async t => {
  const list = (folder: string): string[] =>
    readdirSync(new URL(`../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' }).map(
      file => `${folder}/${file}`,
    )
  const files = ['lib', 'web', 'tools', 'test', 'bench', 'config', 'docs', 'bin', '.ci'].flatMap(list)
  // by its whole path, or by the end of it
  const known = new Set(files.flatMap(file => file.split('/').map((_, i, steps) => steps.slice(i).join('/'))))
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const pages = ['README.md', 'CONTRIBUTING.md', ...files.filter(file => /^docs\/[\w-]+\.md$/.test(file))]
  for (const page of pages) {
    t.notMatch(read(page), /^(<<<<<<<|>>>>>>>) /m, `${page} has no leftovers of a merge`)
    // measurements of other days speak of the files of those days
    const text = page === 'docs/performance.md' ? '' : read(page)
    for (const name of all(text, /`((?:[\w.-]+\/)*[\w.-]+\.(?:long|test)?\.?ts)`/g))
      t.ok(/[A-Z]{3}|…|\*/.test(name) || known.has(name), `${page} names ${name}`)
    for (const name of all(text, /`((?:lib|web|tools|test|bench)\/[\w/-]+)`/g))
      t.ok(/[A-Z]{3}/.test(name) || known.has(name) || known.has(`${name}.ts`), `${page} names ${name}`)
    for (const name of all(text, /npm run ([\w:-]+)/g)) t.ok(name in scripts, `${page} names npm run ${name}`)
  }
  const sources = files.filter(file => /^(lib|web|tools)\/.*\.ts$/.test(file))
  for (const file of sources)
    for (const name of all(read(file), /^ *(?:\*|\/\/|\/\*\*).*`((?:[\w.-]+\/)*[\w-]+\.ts)`/gm))
      t.ok(
        /[A-Z]{3}/.test(name) || known.has(name) || files.some(one => one.endsWith(`/${name}`)),
        `${file} names ${name}`,
      )
})

t.test("the coding tool's gateway protocol: each row of the page names a test", async t => {
  const table = part(read('docs/clients.md'), "## The coding tool's gateway protocol", '\n# ')
  const titles = all(read('test/exchange/coding-tool-gateway.test.ts'), /t\.test\(\s*'([^']+)'/g)
  const named = all(table, /^\| `.* \| ([^|]+) \|$/gm)
  t.equal(named.length, 8)
  for (const title of named) t.ok(titles.includes(title), title)
})
