/** What a command loads of packages whose paths are not looked up: `lib/cli.ts` leaves out zod's messages in other languages, and nothing else. */
import { spawnSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { BIN } from '../support/gateway.ts'

/** Runs in the process of the command: writes at its end what was loaded, and what zod says of a wrong value. */
const WATCHER = `
import { writeFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
const urls = []
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
process.once('exit', () => {
  const zod = urls.find(url => url.endsWith('/zod/index.js'))
  const { z } = createRequire(zod)(fileURLToPath(zod))
  const { issues } = z.strictObject({ a: z.string(), b: z.number() }).safeParse({ a: 1, b: Infinity, c: 0 }).error
  writeFileSync(FILE, JSON.stringify({ urls, said: issues.map(issue => issue.message), locales: Object.keys(z.locales) }))
})
`
const ENGLISH = [
  'Invalid input: expected string, received number',
  'Invalid input: expected number, received Infinity',
  'Unrecognized key: "c"',
]

t.test('of the messages of zod, only the English ones are loaded', async t => {
  const dir = t.testdir({ 'gateway.yaml': 'listen: 7\n' })
  const at = (name: string) => path.join(dir, name)
  const watcher = `data:text/javascript,${encodeURIComponent(WATCHER.replace('FILE', JSON.stringify(at('loaded.json'))))}`
  const { stderr, stdout } = spawnSync(BIN, ['check', '--config', at('gateway.yaml')], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], NODE_OPTIONS: `--import=${watcher}` },
  })
  t.match(stdout + stderr, 'listen: expected a map, found a single value')
  const { urls, said, locales } = JSON.parse(readFileSync(at('loaded.json'), 'utf8'))
  t.same(said, ENGLISH)
  t.same(locales, [], 'nothing of the program may use these')
  const zod = new Set<string>(urls.filter((url: string) => url.includes('/node_modules/zod/')))
  t.same(
    [...zod].filter(url => url.includes('/locales/')).map(url => path.basename(url)),
    ['en.js'],
  )
  for (const file of ['zod/v4/core/schemas.js', 'yaml/dist/compose/composer.js']) {
    const found = pathToFileURL(realpathSync(path.resolve(BIN, '../../node_modules', file))).href
    t.ok(urls.includes(found), `${file} is loaded by the path that Node itself would find`)
  }
})
