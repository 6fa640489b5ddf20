/**
 * The recipe "Add a protocol" of CONTRIBUTING.md, followed in a copy of the tree: one new file, one new line. The copy
 * passes the compiler and serves the new protocol, with its own paths, body, answers and prices.
 */
import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { startGateway, testCatalog } from '../support/gateway.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const KEY = 'sk-of-the-morse-account-01'
const ANSWER = Buffer.from([0x00, 0xff, 0x0a, 0x0d, 0x22, 0x7b, 0x80])
/** CNY per million tokens of output: 7 tokens cost 91 micro-CNY. */
const OUTPUT_PRICE = 13

/** What the recipe says, and nothing else. */
function follow(folder: string): void {
  const own = readFileSync(path.join(import.meta.dirname, 'recipe/morse.ts'), 'utf8')
  writeFileSync(path.join(folder, 'lib/protocols/morse.ts'), own.replaceAll('../../../lib/protocols/', './'))
  const rows = path.join(folder, 'lib/protocols/rows.ts')
  writeFileSync(rows, `${readFileSync(rows, 'utf8')}export { morse } from './morse.ts'\n`)
}

function copyTree(folder: string): void {
  for (const name of ['lib', 'web', 'tools', 'bin', 'package.json', 'tsconfig.json'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
}

/** Of `lib` only, and without the notes that the compiler keeps for the next time, which would be those of the tree. */
const COMPILED = { extends: './tsconfig.json', include: ['lib'], compilerOptions: { incremental: false } }

/** Files of the copy that differ from the tree, with the lines that are new in each and those that are gone. */
function differences(folder: string): [file: string, added: number, gone: number][] {
  const files = readdirSync(path.join(folder, 'lib'), { recursive: true, encoding: 'utf8' })
  const linesOf = (root: string, file: string): string[] => {
    try {
      return readFileSync(path.join(root, 'lib', file), 'utf8').split('\n')
    } catch {
      return []
    }
  }
  return files
    .filter(file => file.endsWith('.ts'))
    .flatMap(file => {
      const before = linesOf(ROOT, file)
      const after = linesOf(folder, file)
      if (before.join('\n') === after.join('\n')) return []
      const added = before.length === 0 ? -1 : after.filter(line => !before.includes(line)).length
      return [[file, added, before.filter(line => !after.includes(line)).length]]
    })
}

/** Answers everything with the same bytes, and keeps what it was asked. */
async function upstream(t: Test) {
  const asked: { url: string; type: string; key: string; body: string }[] = []
  const server = http.createServer((req, res) => {
    const parts: Buffer[] = []
    req.on('data', part => parts.push(part))
    req.on('end', () => {
      const body = Buffer.concat(parts).toString('latin1')
      const { 'content-type': type = '', 'x-morse-key': key } = req.headers
      asked.push({ url: req.url ?? '', type, key: String(key), body })
      res.writeHead(200, { 'content-type': 'audio/morse' }).end(ANSWER)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

t.test('a new protocol is one new file and one new line', async t => {
  const folder = t.testdir({})
  copyTree(folder)
  follow(folder)
  t.same(differences(folder).sort(), [
    ['protocols/morse.ts', -1, 0],
    ['protocols/rows.ts', 1, 0],
  ])
  writeFileSync(path.join(folder, 'lib.json'), JSON.stringify(COMPILED))
  const compile = [path.join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '--checkers', '1', '-p', 'lib.json']
  // as `npm run types`, it collects no garbage
  const env = { ...process.env, GOGC: 'off' }
  await t.resolves(
    promisify(execFile)(process.execPath, compile, { cwd: folder, env }),
    'the compiler asks for no more',
  )

  const { url, asked } = await upstream(t)
  const catalog = (simulated: string) => ({
    ...testCatalog(simulated),
    models: [{ name: 'dots', price: { input: 0, output: OUTPUT_PRICE } }],
    channels: [
      { name: 'm', base_url: url, protocols: ['morse'], key: 'up', groups: ['default'], models: { dots: 'dashes' } },
    ],
    keys: [{ account: 'rich', name: 'k', secret: KEY, group: 'default' }],
  })
  const gateway = await startGateway({ bin: path.join(folder, 'bin/gateway'), catalog })
  t.teardown(() => gateway.stop())

  const form = new FormData()
  form.set('model', 'dots')
  form.set('file', new Blob(['dit dah dit']), 'sound.wav')
  const headers = { authorization: `Bearer ${KEY}` }
  const answer = await fetch(`${gateway.main}/v1/morse/fast`, { method: 'POST', headers, body: form })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'audio/morse')
  t.same(Buffer.from(await answer.arrayBuffer()), ANSWER)

  const [request] = asked
  t.match(request, { url: '/v1/morse/fast', type: /^multipart\/form-data; boundary=/, key: 'up' })
  t.match(request?.body, /name="model"\r\n\r\ndashes\r\n/)
  t.match(request?.body, /dit dah dit/)

  const row = await gateway.usageRow({ protocol: 'morse' })
  t.match(row, { model: 'dots', output: ANSWER.length, basis: 'reported', end: 'completed' })
  t.equal(Math.round(Number(row['charge']) * 1e6), ANSWER.length * OUTPUT_PRICE, 'charged to the micro-unit')

  const refused = await fetch(`${gateway.main}/v1/morse/slow`, { method: 'POST', headers, body: '{"model":"dots"}' })
  t.equal(refused.status, 400, 'a body of another form')
})
