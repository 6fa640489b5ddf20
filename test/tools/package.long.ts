/** What `npm pack` makes, installed as `npm i -g` does in an empty prefix, with the oldest Node that it runs on and with this one. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { PAGES } from '../../web/shared/sitemap.ts'
import { freePorts } from '../support/ports.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const LEAST = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'gateway/node-least/bin')
const MOST_BYTES = 40e6
const KEY = 'sk-0123456789abcdef'
const PACKED = ['.npmrc', 'bin', 'config', 'lib', 'web', 'tools', 'LICENSE', 'package.json', 'package-lock.json']

const PATH = process.env['PATH']!

function copyOfTree(tree: string): void {
  for (const name of PACKED) cpSync(path.join(ROOT, name), path.join(tree, name), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(tree, 'node_modules'))
}

function makePackage(t: Test, tree: string): string {
  copyOfTree(tree)
  const before = readFileSync(path.join(tree, 'package.json'), 'utf8')
  execFileSync('npm', ['pack'], { cwd: tree, stdio: 'pipe' })
  t.equal(readFileSync(path.join(tree, 'package.json'), 'utf8'), before, 'package.json is as it was')
  return path.join(tree, readdirSync(tree).find(name => name.endsWith('.tgz'))!)
}

const bytesOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + Math.ceil(statSync(path.join(parentPath, name)).size / 4096) * 4096, 0)

async function started(
  t: Test,
  bin: string,
  args: string[],
  at: { cwd: string; env: NodeJS.ProcessEnv },
  said: RegExp,
) {
  const child = spawn(bin, args, { ...at, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
  })
  let text = ''
  return new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', piece => {
        text += piece
        const found = said.exec(text)
        if (found !== null) resolve(found[1] ?? '')
      })
    child.once('exit', code => reject(new Error(`${args[0]} ended with ${code}: ${text}`)))
  })
}

/** Every page, and whatever its files name in turn: scripts that are loaded later too. Node parses each script as a module. */
async function pagesAreServed(t: Test, base: string): Promise<void> {
  const read = async (at: string): Promise<string> => {
    const answer = await fetch(base + at)
    t.equal(answer.status, 200, at)
    return answer.text()
  }
  const files = new Set<string>()
  // nothing has the address of the page `missing`
  const pages = PAGES.filter(({ name }) => name !== 'missing')
  for (const { path: at } of pages) {
    const found = filesIn(await read(`/console${at.replaceAll('*', 'beta-4.7')}`))
    t.equal(found.filter(file => file.endsWith('.js')).length, 2, `${at} names the script of all pages and its own`)
    for (const file of found) files.add(file)
  }
  for (const file of files) {
    const text = await read(file)
    if (!file.endsWith('.js')) continue
    t.match(spawnSync(process.execPath, ['--input-type=module', '--check'], { input: text }), { status: 0 }, file)
    for (const later of filesIn(text)) files.add(later)
  }
  for (const { name } of pages)
    t.ok(
      [...files].some(file => file.endsWith(`/pages/${name}.js`)),
      name,
    )
}

const filesIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/["'](\/console\/a\/[^"']+\.(?:js|css|svg))["']/g)].map(([, file]) => file as string)),
]

async function serves(t: Test, bin: string, env: NodeJS.ProcessEnv): Promise<void> {
  const cwd = t.testdir({})
  const upstream = await started(t, bin, ['simulate', '--listen', '127.0.0.1:0'], { cwd, env }, /(http:\/\/\S+)/)
  const [main, direct, ops] = await freePorts(3)
  const config = {
    listen: { main: `127.0.0.1:${main}`, direct: `127.0.0.1:${direct}`, ops: `127.0.0.1:${ops}` },
    store: 'sqlite:books.db',
    journal: 'journal',
    admin_token: 'a-long-enough-token',
    catalog: 'catalog.yaml',
  }
  const catalog = {
    groups: [{ name: 'default', public: true }],
    models: [{ name: 'beta-4.7', price: { input: 1, output: 2 } }],
    channels: [
      { name: 'c', base_url: upstream, protocols: ['chat'], key: 'up', groups: ['default'], models: ['beta-4.7'] },
    ],
    accounts: [{ name: 'a', balance: 7 }],
    keys: [{ account: 'a', name: 'k', secret: KEY }],
  }
  mkdirSync(path.join(cwd, 'config'))
  writeFileSync(path.join(cwd, 'config/gateway.yaml'), JSON.stringify(config))
  writeFileSync(path.join(cwd, 'config/catalog.yaml'), JSON.stringify(catalog))
  await started(t, bin, ['serve'], { cwd, env }, /"msg":"ready"/)
  const answer = await fetch(`http://127.0.0.1:${main}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  t.equal(answer.status, 200, await answer.text())
  await pagesAreServed(t, `http://127.0.0.1:${main}`)
  t.equal(statSync(path.join(cwd, 'books.db')).mode & 0o077, 0, 'the books are for nobody else')
  t.match(spawnSync(bin, ['audit'], { cwd, env, encoding: 'utf8' }), { status: 0 })
}

t.test('npm pack: the package needs at most 40 MB, and serves with the oldest Node and with this one', async t => {
  const folder = t.testdir({ tree: {}, prefix: {}, old: { node: '#!/bin/sh\necho 22.1.0\n' } })
  const tarball = makePackage(t, path.join(folder, 'tree'))
  const prefix = path.join(folder, 'prefix')
  execFileSync('npm', ['install', '--global', '--offline', '--prefix', prefix, tarball], { stdio: 'pipe' })
  const bytes = bytesOf(prefix)
  t.ok(bytes <= MOST_BYTES, `${(bytes / 1e6).toFixed(1)} MB`)
  const bin = path.join(prefix, 'bin/gateway')
  const nodes = [path.dirname(process.execPath), LEAST]
  for (const node of nodes) {
    if (!existsSync(node)) {
      t.comment('not tried with the oldest Node, which is not on this machine: .ci/node-least fetches it')
      t.notOk(process.env['CI'], 'CI has it')
      continue
    }
    const env = { PATH: `${node}:/usr/bin:/bin` }
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
    await t.test(execFileSync(path.join(node, 'node'), ['--version'], { encoding: 'utf8' }).trim(), async t => {
      t.equal(spawnSync(bin, ['--version'], { env, encoding: 'utf8' }).stdout, `${version}\n`)
      await serves(t, bin, env)
    })
  }
  const old = path.join(folder, 'old')
  chmodSync(path.join(old, 'node'), 0o755)
  t.match(spawnSync(bin, ['--version'], { env: { PATH: `${old}:/usr/bin:/bin` }, encoding: 'utf8' }), {
    status: 1,
    stderr: /Node\.js 24\.7 or newer is needed, .* is 22\.1\.0: install it/,
  })
})

t.test('npm run release: the package, the list of what is in it, and checksums that fit', async t => {
  const tree = t.testdir({})
  copyOfTree(tree)
  execFileSync(process.execPath, ['tools/package/release.ts'], { cwd: tree, stdio: 'pipe' })
  const folder = path.join(tree, 'release')
  const checked = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' })
  t.match(checked, { status: 0, stdout: /^gateway-\S+\.cdx\.json: OK\ngateway-\S+\.tgz: OK\n$/ }, checked.stderr)
  const [list] = readdirSync(folder).filter(name => name.endsWith('.cdx.json'))
  const { components } = JSON.parse(readFileSync(path.join(folder, list!), 'utf8')) as {
    components: { name: string; version: string; licenses?: object[] }[]
  }
  const { dependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const [name, version] of Object.entries(dependencies))
    t.ok(
      components.some(one => one.name === name && one.version === version && one.licenses),
      `${name} ${version}`,
    )
  t.notOk(
    components.some(({ name }) => name === 'tap'),
    'nothing that only tests need',
  )
})

t.test('a checkout without its packages says what to run', async t => {
  const tree = t.testdir({})
  for (const name of ['bin', 'lib', 'package.json'])
    cpSync(path.join(ROOT, name), path.join(tree, name), { recursive: true })
  t.match(spawnSync(path.join(tree, 'bin/gateway'), ['check'], { env: { PATH }, encoding: 'utf8' }), {
    status: 1,
    stderr: /packages that the gateway needs are not installed: run 'npm ci' in /,
  })
})
