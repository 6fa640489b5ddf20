/**
 * Links to pictures through a whole gateway with two workers, as the official SDK sees them, in front of an upstream that
 * has base64 only; over reloads of its config, and a restart.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { fileOf, newName } from '../../lib/exchange/pictures/folder.ts'
import { PICTURE } from '../../tools/simulator/dialects/images.ts'
import { KEY, startGateway, testCatalog } from '../support/gateway.ts'
import { childrenOf, servingOf } from '../support/processes.ts'
import { until } from '../support/wait.ts'

const BIG = Buffer.concat([PICTURE, Buffer.alloc(1_200_000, 'the rest of a large picture')])
/** It answers in base64, whatever is asked. */
const upstream = http.createServer((req, res) => {
  req.resume().on('end', () => {
    const data = [PICTURE, BIG].map(picture => ({ b64_json: picture.toString('base64') }))
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ created: 1, data }))
  })
})
await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
t.teardown(() => upstream.close())

const folder = path.join(mkdtempSync(path.join(tmpdir(), 'links-')), 'kept')
t.teardown(() => rmSync(path.dirname(folder), { recursive: true, force: true }))
const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const catalog = () => testCatalog(url)
const images = { links: folder, keep: '1h', size: '64MiB' }
const gateway = await startGateway({ catalog, config: { workers: 2, images } })
t.teardown(() => gateway.stop())
const primary = servingOf(gateway.child.pid as number)
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
const ASK = { model: 'gamma-image-2', prompt: 'a cat' }

/** On a connection of its own, so that either worker may serve it. */
async function get(link: string): Promise<{ status: number; type: string; bytes: Buffer }> {
  const answer = await fetch(link, { headers: { connection: 'close' } })
  const type = answer.headers.get('content-type') ?? ''
  return { status: answer.status, type, bytes: Buffer.from(await answer.arrayBuffer()) }
}

let links: string[] = []

t.test('the SDK gets links, and either worker serves them', async t => {
  for (const ask of [
    () => openai.images.generate(ASK),
    () => openai.images.generate({ ...ASK, response_format: 'url' }),
    async () => openai.images.edit({ ...ASK, image: await toFile(PICTURE, 'x.png', { type: 'image/png' }) }),
  ]) {
    const { data = [] } = await ask()
    links = data.map(one => one.url ?? '')
    t.same(
      data.map(one => Object.keys(one)),
      [['url'], ['url']],
    )
    for (const [i, link] of links.entries()) {
      t.ok(link.startsWith(`${gateway.main}/files/`))
      for (let again = 0; again < 6; again++)
        t.same(await get(link), { status: 200, type: 'image/png', bytes: [PICTURE, BIG][i] })
    }
  }
  const { data = [] } = await openai.images.generate({ ...ASK, response_format: 'b64_json' })
  t.equal(data[1]?.b64_json, BIG.toString('base64'))
  const rows = await gateway.usage('rich', 4)
  t.same(
    rows.map(row => row['charge']),
    Array.from({ length: 4 }, () => '0.560000'),
  )
  t.match(await (await fetch(`${gateway.ops}/metrics`)).text(), 'gateway_pictures_total{outcome="kept"} 6')
})

t.test('pictures whose time is over are deleted, once', async t => {
  const old = fileOf(folder, newName(Date.now() - 3_600_001, 3))
  writeFileSync(old, 'old')
  await until('the old picture is gone', () => !existsSync(old))
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text()
  t.match(metrics, 'gateway_pictures_deleted_total{cause="keep"} 1\n')
  t.match(metrics, `gateway_pictures_bytes ${3 * (4096 + Math.ceil(BIG.length / 4096) * 4096)}\n`)
  t.equal(readdirSync(folder).length, 6)
})

/** Changes the config file and has it read again. */
async function reload(change: object): Promise<void> {
  const file = path.join(gateway.folder, 'gateway.yaml')
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...change }))
  const before = childrenOf(primary)
  process.kill(primary, 'SIGHUP')
  await until('two new workers', () => {
    const now = childrenOf(primary)
    return now.length === 2 && now.every(pid => !before.includes(pid))
  })
}

t.test('reloads: off, and on again with what was kept', async t => {
  await reload({ images: {} })
  const { data = [] } = await openai.images.generate(ASK)
  t.equal(data[0]?.b64_json, PICTURE.toString('base64'))
  for (const link of links) t.equal((await get(link)).status, 404)
  await reload({ images })
  for (const link of links) t.equal((await get(link)).status, 200)
  await reload({ images: { ...images, keep: '10m', size: '1MiB' } })
  await until('all were swept, because the newest is too large', () => readdirSync(folder).length === 0)
  for (const link of links) t.equal((await get(link)).status, 404)
  const { data: small = [] } = await openai.images.generate(ASK)
  t.same(
    small.map(one => Object.keys(one)),
    [['url'], ['b64_json']],
    'the large one has no room any more',
  )
})

t.test('a folder that cannot be made: the reload is refused', async t => {
  const logged: string[] = []
  gateway.child.stdout?.on('data', chunk => logged.push(String(chunk)))
  const file = path.join(gateway.folder, 'gateway.yaml')
  const config = readFileSync(file, 'utf8')
  writeFileSync(file, config.replace(JSON.stringify(folder), JSON.stringify(`${file}/pictures`)))
  process.kill(primary, 'SIGHUP')
  await until('the log says so', () => /reload refused.*/.test(logged.join('')))
  t.match(logged.join(''), /images\.links: the folder .*gateway\.yaml\/pictures cannot be made/)
  t.same(Object.keys((await openai.images.generate(ASK)).data?.[0] ?? {}), ['url'])
})

t.test('another gateway on the same folder, later: nothing has to be remembered', async t => {
  const { data = [] } = await openai.images.generate(ASK)
  const name = new URL(data[0]?.url ?? '').pathname
  const next = await startGateway({ catalog, config: { images } })
  t.teardown(() => next.stop())
  t.same((await get(next.main + name)).bytes, PICTURE)
})
