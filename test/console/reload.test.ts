/** In a checkout, whoever changes a page only reloads it a moment later: files and what the server draws are new without a restart. */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { until } from '../support/wait.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** Serves the pages of a copy of the tree, says its port, and lives until its input ends. */
const PROGRAM = `
import http from 'node:http'
import { createSite } from './lib/console/site.ts'
import { parseConfig } from './lib/config/config.ts'
import { createLogger } from './lib/base/log.ts'
import { systemClock } from './lib/base/clock.ts'
const config = parseConfig('{}', 'test.yaml', {})
const catalogue = async () => ({ models: async () => ({ data: [], groups: [], group: null }) })
const pages = createSite({ config: () => config, log: createLogger('error'), clock: systemClock, ipOf: () => '192.0.2.1', catalogue })
const server = http.createServer((req, res) => pages(req, res)).listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.on('end', () => process.exit()).resume()
`

t.test('a page that was changed is new a moment later, drawn by the server and in its script', async t => {
  const tree = t.testdir({})
  for (const folder of ['lib', 'web']) cpSync(path.join(ROOT, folder), path.join(tree, folder), { recursive: true })
  cpSync(path.join(ROOT, 'package.json'), path.join(tree, 'package.json'))
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(tree, 'node_modules'))
  mkdirSync(path.join(tree, 'test'))
  writeFileSync(path.join(tree, 'serve.ts'), PROGRAM)
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'serve.ts'], { cwd: tree })
  t.teardown(() => child.kill())
  const port = await new Promise<string>(resolve => child.stdout.once('data', data => resolve(String(data).trim())))
  const get = async (at: string) => (await fetch(`http://127.0.0.1:${port}${at}`)).text()
  const scripts = async () => {
    const html = await get('/console/forgotten')
    const own = /"(\/console\/a\/[^"]*\/pages\/forgotten\.js)"/.exec(html)?.[1] as string
    return { title: /<h1>(.*?)<\/h1>/.exec(html)?.[1], own, text: await get(own) }
  }
  const before = await scripts()
  const page = path.join(tree, 'web/pages/forgotten.ts')
  writeFileSync(page, `${readFileSync(page, 'utf8')}\nexport const changed = 'a word that is new'\n`)
  const map = path.join(tree, 'web/shared/sitemap.ts')
  writeFileSync(map, readFileSync(map, 'utf8').replaceAll('重置密码', '密码重置'))
  let after = before
  await until('both files are read', async () => {
    after = await scripts()
    return after.title !== before.title && after.text.includes('a word that is new')
  })
  t.not(after.own, before.own)
  t.notMatch(before.text, 'a word that is new')
  t.equal(before.title, '重置密码')
  t.equal(after.title, '密码重置')
  t.equal((await scripts()).own, after.own, 'and nothing is made anew when nothing has changed')
})
