/** The files that pages load: which there are, how they are served, and how much a page weighs. */
import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from 'node:zlib'
import t from 'tap'
import { CLIENT, runnable, importsOf, readClientFiles } from '../../lib/console/assets.ts'
import { PAGES } from '../../web/shared/sitemap.ts'
import { openSite } from './support/site.ts'

/** What a page may weigh, compressed: its modules, their libraries and the style sheet. The document and its data come to it. */
const PAGE_BYTES = 50 * 1024
const STYLE_BYTES = 28 * 1024

const client = await readClientFiles()

/** As `fetch` does not do it: headers as they are given, and the body as it came. */
const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const request = http.request(url, { method, headers }, async reply =>
      resolve({ status: reply.statusCode as number, headers: reply.headers, body: await buffer(reply) }),
    )
    request.on('error', reject).end()
  })

/** The text of a file, and of every module that pages may load. */
const textOf = (name: string) => (client.files.get(name) as { text(): Promise<string> }).text()
const MODULES = readdirSync(CLIENT, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
const source = (file: string) => readFileSync(path.join(CLIENT, file), 'utf8')

t.test('every file is served as the browser can run it', async t => {
  const { at } = await openSite(t)
  t.ok(client.files.size > 20)
  for (const [name, file] of client.files) {
    const { status, headers, body } = await ask(at + client.addressOf(name))
    t.equal(status, 200, name)
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    t.equal(headers['content-encoding'], undefined)
    t.equal(body.toString(), await file.text())
    if (file.kind === 'style') t.equal(headers['content-type'], 'text/css; charset=utf-8')
    else if (file.kind === 'picture') t.equal(headers['content-type'], 'image/svg+xml')
    else {
      t.equal(headers['content-type'], 'text/javascript; charset=utf-8')
      t.equal(runnable(`${name}.ts`, body.toString()), body.toString(), `${name} has no types left`)
    }
  }
})

t.test('what is imported is served, and nothing of Node', async t => {
  for (const [name, file] of client.files) {
    if (file.kind !== 'script') continue
    const text = await file.text()
    for (const [, early, from = early] of text.matchAll(/^import\{[^}]*\}from'([^']*)'|\bimport\('([^']*)'\)/gm))
      if (from !== undefined) t.ok(client.files.has(from.split('/').slice(4).join('/')), `${name} imports ${from}`)
    t.notMatch(text, /\b(process|Buffer|__dirname)\.|\bfrom\s*['"]node:|import\.meta/, `${name} is for browsers`)
  }
})

t.test('imports as the server finds them', async t => {
  const rows: [text: string, found: string[]][] = [
    ["import { a } from './a.ts'", ['./a.ts']],
    ["import type { A } from '../../terms/a.ts'\nimport { b } from './b.ts'", ['./b.ts']],
    ["import './a.ts'\nexport { c } from './c.ts'", ['./a.ts', './c.ts']],
    ["import {\n  a,\n  type B,\n} from './a.ts'", ['./a.ts']],
    ["const x = await import('./late.ts')", ['./late.ts']],
    ['import{a as b}from"preact";export{c}from"other";', ['preact', 'other']],
    ["const text = 'nothing from here'", []],
  ]
  for (const [text, found] of rows)
    t.same(
      importsOf(text).map(({ specifier }) => specifier),
      found,
      text,
    )
})

t.test('every module of the folder is in a file, and in one only of those that a page loads', async t => {
  const scripts = [...client.files].filter(([, { kind }]) => kind === 'script').map(([name]) => name)
  const texts = new Map(await Promise.all(scripts.map(async name => [name, await textOf(name)] as const)))
  /** A line that tells a module from all others. */
  const lineOf = (file: string) =>
    runnable(file, source(file))
      .split('\n')
      .find(
        line =>
          /^ {2,}[^\s/*].{30}/.test(line) &&
          !line.includes('import(') &&
          MODULES.filter(other => source(other).includes(line)).length === 1,
      )
  for (const file of MODULES) {
    const line = lineOf(file)?.trimEnd()
    if (line === undefined) continue
    const found = scripts.filter(name => texts.get(name)?.includes(line))
    // what is not sent makes documents on the server, consists of types, or waits for a page with a chart
    if (/^(document|pages\/drawn|shared\/given|base\/shapes|parts\/charts\/\w+)\.ts$/.test(file)) continue
    if (found.length !== 1) {
      t.ok(found.length > 0, `${file} is sent`)
      t.ok(
        found.every(name => name.startsWith('pages/')),
        `${file} is in ${found}`,
      )
    }
  }
})

t.test('compressed as the browser wants it', async t => {
  const { at } = await openSite(t)
  const url = at + client.addressOf('boot.js')
  const plain = (await ask(url)).body.toString()
  const rows: [accepted: string, encoding: string | undefined, back: (body: Buffer) => Buffer][] = [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
    ['identity', undefined, body => body],
    ['*', undefined, body => body],
  ]
  for (const [accepted, encoding, back] of rows) {
    const { headers, body } = await ask(url, { 'accept-encoding': accepted })
    t.equal(headers['content-encoding'], encoding, accepted)
    t.equal(headers['content-length'], String(body.length))
    t.equal(headers.vary, 'accept-encoding')
    t.equal(back(body).toString(), plain)
  }
})

t.test('kept by the browser, asked for by head, and never anything else of the disk', async t => {
  const { at } = await openSite(t)
  const address = at + client.addressOf('boot.js')
  const first = await ask(address)
  const again = await ask(address, { 'if-none-match': first.headers.etag as string })
  t.same([again.status, again.body.length], [304, 0])
  const head = await ask(address, {}, 'HEAD')
  t.same([head.status, head.body.length], [200, 0])
  t.equal(head.headers['content-length'], String(first.body.length))
  const root = `/console/a/${client.hash}`
  for (const wrong of [
    '/console/a/',
    `/console/a/${client.hash}`,
    `${root}/`,
    `${root}/nothing.js`,
    `${root}/tsconfig.json`,
    `${root}/document.js`,
    `${root}/../site.ts`,
    `${root}/..%2fsite.ts`,
    `${root}/pages/../../site.ts`,
    `${root}/%2e%2e/site.ts`,
    `${root}/constructor`,
    '/console/a/0000000000000000/boot.js',
  ]) {
    const { status, headers } = await ask(at + wrong)
    t.equal(status, 404, wrong)
    t.match(headers['content-type'], /^text\/html/, 'with the page that says so')
  }
})

t.test('what a page weighs', async t => {
  const known = new Map<string, number>()
  const weight = async (name: string): Promise<number> => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
    const size = known.get(name) ?? brotliCompressSync(await textOf(name), { params }).length
    known.set(name, size)
    return size
  }
  const bare = (address: string) => address.split('/').slice(4).join('/')
  for (const page of PAGES) {
    const names = [...client.scriptsOf(page.name).map(bare), 'style.css']
    const sizes = await Promise.all(names.map(weight))
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    t.ok(bytes <= PAGE_BYTES, `${page.name}: ${bytes} bytes`)
  }
  const style = await textOf('style.css')
  t.ok(style.length <= STYLE_BYTES, `the style sheet: ${style.length} bytes`)
})

t.test('the dark colours are the same whether the system or the reader chose them', async t => {
  const style = await textOf('style.css')
  const blocks = [...style.matchAll(/:root(?:\[data-theme="dark"\]|:not\(\[data-theme="light"\]\)) \{([^}]*)\}/g)]
  t.equal(blocks.length, 2)
  const [system, chosen] = blocks.map(block => (block[1] as string).replaceAll(/\s+/g, ' '))
  t.equal(system, chosen)
})

t.test('features that the oldest supported browsers lack', async t => {
  const TOO_NEW =
    /light-dark\(|oklch\(|color-mix\(|:has\(|\bpopover\b|withResolvers|Object\.groupBy|\.to(Sorted|Reversed|Spliced)\(|URL\.(canParse|parse)\(|Array\.fromAsync/
  for (const file of MODULES) t.notMatch(source(file), TOO_NEW, file)
  t.notMatch(await textOf('style.css'), TOO_NEW)
})

t.test('elements are made by element.ts alone', async t => {
  for (const file of MODULES) {
    if (file === 'base/element.ts' || file === 'document.ts') continue
    const text = source(file)
    t.notMatch(
      text,
      /\b(h|(?<!document\.)createElement|html)\(\s*['"`]|innerHTML|insertAdjacentHTML|document\.write|eval\(/,
      file,
    )
    const fromPreact = [...text.matchAll(/import \{([^}]*)\} from 'preact'/g)].map(found => found[1] as string)
    for (const names of fromPreact) t.notMatch(names, /\bh\b|createElement/, file)
  }
})
