/**
 * The recipes "Add an operation" and "Add a console page" of CONTRIBUTING.md, followed in a copy of the tree: three new files
 * and a line or a row in each table. The copy passes the compiler and the tests that compare those tables, the page is
 * served, and both APIs answer the call.
 */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

const ADMIN_ROW = `  adminCall({
    id: 'letters.read',
    call: 'GET /accounts/{name}/letters',
    summary: 'How many letters the name of an account has.',
    query: lettersQuery,
    answer: lettersAnswer,
    run: ({ deps }, { path, query }) => lettersOf(deps, path.name, query.times),
  }),
`

/** The lines that the recipes add to tables: behind which text of which file. */
const LINES: [file: string, behind: string, line: string][] = [
  [
    'lib/admin/rows.ts',
    "import { z } from 'zod'\n",
    "import { lettersAnswer, lettersOf, lettersQuery } from '../operations/accounts/letters.ts'\n",
  ],
  ['lib/admin/rows.ts', 'const BOOKS = [\n', ADMIN_ROW],
  ['docs/admin.md', '|---|---|---|\n', '| `GET /admin/accounts/{name}/letters` | `times` | 200 `{letters}` |\n'],
  ['lib/console/api/rows.ts', "import { KEYS } from './keys.ts'\n", "import { LETTERS } from './letters.ts'\n"],
  ['lib/console/api/rows.ts', '  ...KEYS,\n', '  ...LETTERS,\n'],
  ['test/console/api/permissions.test.ts', "  'keys.list': READERS,\n", "  'letters.read': 'viewer owner operator',\n"],
  [
    'web/shared/sitemap.ts',
    'const rows = [\n',
    "  { name: 'letters', path: '/letters', area: 'account', title: { zh: '字母', en: 'Letters' }, icon: 'list' },\n",
  ],
  [
    'test/console/support/furnished.ts',
    'export const PLACES: Record<PageName, Place> = {\n',
    "  letters: () => ['/letters'],\n",
  ],
]

const FILES: [from: string, to: string][] = [
  ['operation.ts', 'lib/operations/accounts/letters.ts'],
  ['call.ts', 'lib/console/api/letters.ts'],
  ['../pages/support/recipe/page.ts', 'web/pages/letters.ts'],
]

/** What the recipes say, and nothing else. */
function follow(folder: string): void {
  for (const [from, to] of FILES) {
    const below = (at: string) => {
      const way = path.relative(path.dirname(to), at)
      return way.startsWith('.') ? way : `./${way}`
    }
    const text = readFileSync(path.join(import.meta.dirname, 'recipe', from), 'utf8')
      .replaceAll(/'(?:\.\.\/){3,}((?:lib|web)\/[^']+)'/g, (_, at: string) => `'${below(at)}'`)
      .replaceAll(/'[./]+(?:recipe\/)?operation\.ts'/g, `'${below('lib/operations/accounts/letters.ts')}'`)
    writeFileSync(path.join(folder, to), text)
  }
  for (const [file, behind, line] of LINES) {
    const at = path.join(folder, file)
    const text = readFileSync(at, 'utf8')
    t.ok(text.includes(behind), `${file} has ${behind.trim()}`)
    writeFileSync(
      at,
      text.replace(behind, () => behind + line),
    )
  }
}

/** Without the notes that the compiler keeps for the next time, which would be those of the tree. */
const compiled = (base: string, include: string) => ({
  extends: base,
  include: [include],
  compilerOptions: { incremental: false, tsBuildInfoFile: null },
})

t.test('an operation with its calls and its page is three new files and eight lines', async t => {
  const folder = t.testdir({})
  for (const name of ['lib', 'web', 'tools', 'bin', 'test', 'docs', 'package.json', 'tsconfig.json'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  follow(folder)

  for (const [file, base, include] of [
    ['lib.json', './tsconfig.json', 'lib'],
    ['web.json', './web/tsconfig.json', 'web'],
  ] as const) {
    writeFileSync(path.join(folder, file), JSON.stringify(compiled(base, include)))
    const compile = [path.join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '-p', file]
    await t.resolves(run(process.execPath, compile, { cwd: folder }), `the compiler asks for no more in ${include}`)
  }
  const tables = ['test/console/api/permissions.test.ts', 'test/console/roles.test.ts', 'test/admin/calls.test.ts']
  await t.resolves(run(process.execPath, ['test/run.ts', ...tables], { cwd: folder }), 'the tables agree')

  const gateway = await startGateway({ bin: path.join(folder, 'bin/gateway') })
  t.teardown(() => gateway.stop())
  const page = await fetch(`${gateway.main}/console/letters`, { headers: { 'accept-language': 'en' } })
  t.equal(page.status, 200)
  const html = await page.text()
  t.match(html, /<title>[^<]*Letters/)
  const module = /"(\/console\/a\/\w+\/pages\/letters\.js)"/.exec(html)?.[1]
  t.equal((await fetch(`${gateway.main}${module}`)).status, 200, 'its module is served')
  t.equal((await fetch(`${gateway.main}/console/api/accounts/x/letters`)).status, 401, 'the call wants somebody')
  t.same(await gateway.admin('GET', '/admin/accounts/rich/letters?times=2'), { letters: 8 })
  const ofConsole = (await (await fetch(`${gateway.main}/console/openapi.json`)).json()) as { paths: object }
  t.ok('/api/accounts/{account}/letters' in ofConsole.paths)
  t.ok('/accounts/{name}/letters' in ((await gateway.admin('GET', '/admin/openapi.json'))['paths'] as object))
})
