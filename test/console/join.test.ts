/** How modules are joined: what stands in which file, that it runs as the modules do, and what is refused. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { importsOf } from '../../lib/console/assets.ts'
import { joinedText, type Module, planOf } from '../../lib/console/join.ts'

const modulesOf = (texts: Record<string, string>): Map<string, Module> =>
  new Map(
    Object.entries(texts).map(([name, code]) => [
      name,
      {
        code,
        imports: importsOf(code).map(found => ({
          ...found,
          at: path.posix.join(path.posix.dirname(name), found.specifier),
        })),
      },
    ]),
  )

const PAGES = ['pages/a.ts', 'pages/b.ts']
const HOUSE = {
  'boot.ts': `import { count } from './base/count.ts'\nglobalThis.began = count()\nconst { default: page } = await import(\`./pages/\${globalThis.asked}.ts\`)\nglobalThis.done(page())\n`,
  'base/count.ts':
    '/** Comment. */\nconst state = { n: 0 }\nexport const count = () => ++state.n\nexport { state as kept }\n',
  'base/through.ts': "export { count as more } from './count.ts'\nexport function twice() {\n  return [1, 2]\n}\n",
  'parts/both.ts': "import { more } from '../base/through.ts'\nexport const both = () => 'both ' + more()\n",
  'parts/late.ts': "import { both } from './both.ts'\nexport class Late { text = both() }\n",
  'pages/a.ts':
    "import { both as used } from '../parts/both.ts'\nimport {\n  kept,\n} from '../base/count.ts'\nexport default async function a() {\n  const { Late } = await import('../parts/late.ts')\n  return [used(), new Late().text, kept.n, import.meta.url]\n}\n",
  'pages/b.ts': "import { twice } from '../base/through.ts'\nexport default () =>\n  twice()\n",
}

t.test('joined modules do what they do alone, and each runs once', async t => {
  const modules = modulesOf(HOUSE)
  const plan = planOf(modules, 'boot.ts', PAGES, 9)
  t.same(plan.files.get('boot.js'), ['base/count.ts', 'base/through.ts', 'parts/both.ts', 'boot.ts'])
  t.same(
    plan.files.get('pages/a.js'),
    ['pages/a.ts'],
    'what comes with a page and later, too, stands where all have it',
  )
  t.same(plan.files.get('parts/late.js'), ['parts/late.ts'])
  const folder = t.testdir({})
  const addressOf = (file: string) => path.join(folder, file)
  for (const file of plan.files.keys()) {
    mkdirSync(path.dirname(addressOf(file)), { recursive: true })
    const text = joinedText(file, plan, modules, addressOf)
    t.notMatch(text, /Comment/)
    writeFileSync(addressOf(file), text)
  }
  writeFileSync(addressOf('package.json'), '{"type":"module"}')
  const here = globalThis as Record<string, unknown>
  const { promise, resolve } = Promise.withResolvers<unknown>()
  Object.assign(here, { asked: 'a', done: resolve, location: { origin: 'http://x' } })
  t.teardown(() => {
    for (const name of ['asked', 'done', 'location', 'began']) delete here[name]
  })
  await import(pathToFileURL(addressOf('boot.js')).href)
  t.same(await promise, ['both 2', 'both 3', 3, `http://x${addressOf('pages/a.ts')}`])
  t.equal(here['began'], 1)
  const { default: b } = await import(pathToFileURL(addressOf('pages/b.js')).href)
  t.same(b(), [1, 2])
})

t.test('what many pages use stands in the file of all', async t => {
  const modules = modulesOf({
    ...HOUSE,
    'boot.ts': 'export const nothing = 1\n',
    'pages/a.ts': HOUSE['pages/b.ts'],
  })
  t.same(planOf(modules, 'boot.ts', PAGES, 3).files.get('pages/b.js')?.includes('base/through.ts'), true)
  t.same(planOf(modules, 'boot.ts', PAGES, 2).files.get('pages/b.js'), ['pages/b.ts'])
})

t.test('what would not be the same is refused', async t => {
  const rows: [because: RegExp, texts: Record<string, string>][] = [
    [/circle/, { 'boot.ts': "import './x.ts'\n", 'x.ts': "import './boot.ts'\n" }],
    [/cannot be joined/, { 'boot.ts': 'export let a = 1\n' }],
    [/cannot be joined/, { 'boot.ts': "import * as all from './x.ts'\n", 'x.ts': '' }],
    [/cannot be joined/, { 'boot.ts': "export * from './x.ts'\n", 'x.ts': '' }],
  ]
  for (const [because, texts] of rows) {
    const modules = modulesOf(texts)
    t.throws(() => joinedText('boot.js', planOf(modules, 'boot.ts', [], 2), modules, file => file), because)
  }
})
