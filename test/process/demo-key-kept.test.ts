// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
// The bug behind these rows: yesterdays key is dead.
/** `npm start` for the second time, and a secret that was rotated: what is shown, and what works. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { openOps } from '../admin/support.ts'

const GATEWAY = fileURLToPath(new URL('../../bin/gateway', import.meta.url))
const CATALOG = fileURLToPath(new URL('../../config/catalog.yaml', import.meta.url))
const ANY_PORT = '127.0.0.1:0'
const CHANNEL = {
  base_url: 'https://up.example',
  protocols: ['chat'],
  groups: ['default'],
  models: ['m'],
  key: 'up-secret',
  headers: { 'x-team': '=core', 'x-api-key': '=up-constant' },
}

t.test('npm start twice: the same key and token, and nothing to warn of', async t => {
  const folder = t.testdir({
    'c.yaml': JSON.stringify({
      listen: { main: ANY_PORT, direct: ANY_PORT, ops: ANY_PORT },
      store: 'sqlite:data/g.db',
      journal: 'data/journal',
      catalog: CATALOG,
      admin_token: '${GATEWAY_ADMIN_TOKEN}',
    }),
  })
  const { GATEWAY_ADMIN_TOKEN: _, UPSTREAM_KEY: __, ...env } = process.env
  const start = async () => {
    const child = spawn(GATEWAY, ['demo', '--config', 'c.yaml'], { cwd: folder, env })
    let output = ''
    for await (const data of child.stdout) {
      output += data
      if (output.includes('demo.json')) break
    }
    child.kill()
    await once(child, 'exit')
    const found = (pattern: RegExp) => pattern.exec(output)?.[1]
    return {
      key: found(/ key +(\S+)/),
      token: found(/ admin token +(\S+)/),
      warnings: output.match(/"level":"warn".*/g),
    }
  }
  const first = await start()
  t.match(first, { key: /^sk-\w{48}$/, token: /^\S{32}$/, warnings: null })
  t.same(await start(), first)
  t.equal(statSync(`${folder}/data/demo.json`).mode & 0o777, 0o600)
  writeFileSync(`${folder}/data/demo.json`, '{broken')
  t.not((await start()).key, first.key, 'a file that cannot be read is made anew')
})

t.test('a channel whose secrets cannot be read says so, and takes new ones', async t => {
  const file = `${t.testdir()}/store.db`
  const before = openStore(`sqlite:${file}`, { secret: 'the first secret' })
  await before.migrate()
  const opened = await openOps(t, () => before)
  await opened.admin('PUT', '/admin/channels/c', { ...CHANNEL, proxy: 'http://u:hunter2@127.0.0.1:1' })
  await before.close()
  const store = openStore(`sqlite:${file}`, { secret: 'the second secret' })
  t.teardown(() => store.close())
  const ops = await openOps(t, () => store)
  const shown = (await ops.admin('GET', '/admin/channels/c')).json
  t.match(shown, { status: 'enabled', state: 'sealed under another secret', proxy: '…' })
  for (const [sent, expected] of [
    [shown, /^proxy: expected the address once more, or null/],
    [{ ...shown, key: 'new', proxy: null }, /^headers: expected a map/],
    [{ ...shown, headers: {}, proxy: null }, /^key: expected an upstream key/],
  ] as const)
    t.match((await ops.admin('PUT', '/admin/channels/c', sent)).error.message, expected)
  const { json } = await ops.admin('PUT', '/admin/channels/c', { ...CHANNEL, key: 'new', proxy: null })
  t.match(json, { status: 'enabled', state: 'closed', proxy: null })
  t.notMatch(JSON.stringify([shown, json]) + ops.logged.join(''), /up-secret|up-constant|hunter2|new/)
})

t.test('constants that are credentials are hidden, and stay when they are sent back so', async t => {
  const ops = await openOps(t)
  const { json } = await ops.admin('PUT', '/admin/channels/c', CHANNEL)
  t.same(json['headers'], { 'x-team': '=core', 'x-api-key': '=…' })
  const again = (await ops.admin('PUT', '/admin/channels/c', { ...json, weight: 3 })).json
  t.same(again, { ...json, weight: 3 })
  t.same((await ops.store.catalogue.read()).channels[0]?.headers, CHANNEL.headers)
  const headers = { ...(json['headers'] as object), authorization: '=…' }
  t.equal((await ops.admin('PUT', '/admin/channels/c', { ...json, headers })).status, 400, 'there is none to keep')
})
