/** The files that pages load: which there are, how they are served, and how much a page weighs. */
import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { served, CLIENT, importsOf, readClientFiles } from '../../lib/console/assets.ts'
import { PAGES } from '../../web/shared/sitemap.ts'
import { openSite } from './support/site.ts'

/** What a page may weigh, compressed: its modules, their libraries and the style sheet. */
const PAGE_BYTES = 60 * 1024
/** The same for a page with a chart of lines, whose library is loaded with its data. */
const CHART_PAGE_BYTES = 105 * 1024
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

t.test('every file is served as the browser can run it', async t => {
  const { at } = await openSite(t)
  t.ok(client.files.size > 20)
  for (const [name, file] of client.files) {
    const { status, headers, body } = await ask(at + client.addressOf(name))
    t.equal(status, 200, name)
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    t.equal(headers['content-encoding'], undefined)
    t.equal(body.toString(), served(file))
    if (file.kind === 'style') t.equal(headers['content-type'], 'text/css; charset=utf-8')
    else if (file.kind === 'picture') t.equal(headers['content-type'], 'image/svg+xml')
    else {
      t.equal(headers['content-type'], 'text/javascript; charset=utf-8')
      if (file.kind === 'typescript')
        t.equal(served({ ...file, text: body.toString() }), body.toString(), `${name} has no types left`)
    }
  }
})

t.test('what is imported is served, and nothing of Node', async t => {
  const bare = JSON.parse(client.importMap).imports as Record<string, string>
  for (const [name, file] of client.files) {
    if (file.kind !== 'typescript' && file.kind !== 'script') continue
    for (const { specifier } of importsOf(served(file))) {
      if (!specifier.startsWith('.')) t.ok(specifier in bare, `${name} imports ${specifier}`)
      else t.ok(client.files.has(path.posix.join(path.posix.dirname(name), specifier)), `${name}: ${specifier}`)
    }
    t.notMatch(served(file), /\b(process|Buffer|__dirname)\.|\bfrom\s*['"]node:/, `${name} is for browsers`)
  }
  for (const address of Object.values(bare)) t.ok(client.files.has(address.split('/').slice(4).join('/')))
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

t.test('every file of the folder is served, stripped or not', async t => {
  const known = new Set([...client.files.keys()])
  for (const file of readdirSync(CLIENT, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const text = readFileSync(path.join(CLIENT, file), 'utf8')
    const stripped = served({ kind: 'typescript', text, imports: [] })
    t.equal(served({ kind: 'typescript', text: stripped, imports: [] }), stripped, file)
    // what is not sent makes documents on the server, consists of types, or waits for a page with money or a chart
    if (!known.has(file))
      t.match(
        file,
        /^(document|pages\/drawn|shared\/given|base\/shapes|base\/money|pages\/keys\/desk|parts\/charts\/\w+)\.ts$/,
      )
  }
})

t.test('compressed as the browser wants it', async t => {
  const { at } = await openSite(t)
  const url = at + client.addressOf('boot.ts')
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
  const address = at + client.addressOf('boot.ts')
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
    `${root}/nothing.ts`,
    `${root}/tsconfig.json`,
    `${root}/document.ts`,
    `${root}/../site.ts`,
    `${root}/..%2fsite.ts`,
    `${root}/pages/../../site.ts`,
    `${root}/%2e%2e/site.ts`,
    `${root}/constructor`,
    '/console/a/0000000000000000/boot.ts',
  ]) {
    const { status, headers } = await ask(at + wrong)
    t.equal(status, 404, wrong)
    t.match(headers['content-type'], /^text\/html/, 'with the page that says so')
  }
})

t.test('what a page weighs', async t => {
  const weight = (name: string) => gzipSync(served(client.files.get(name) as never), { level: 9 }).length
  const bare = (address: string) => address.split('/').slice(4).join('/')
  for (const page of PAGES) {
    const names = [...client.preloadOf(page.name).map(bare), 'style.css']
    const bytes = names.reduce((sum, name) => sum + weight(name), 0)
    const late = [...(client.files.get(`pages/${page.name}.ts`)?.text.matchAll(/uplot/g) ?? [])].length > 0
    t.ok(bytes <= (late ? CHART_PAGE_BYTES : PAGE_BYTES), `${page.name}: ${bytes} bytes in ${names.length} files`)
  }
  const style = client.files.get('style.css')?.text as string
  t.ok(style.length <= STYLE_BYTES, `the style sheet: ${style.length} bytes`)
})

t.test('the dark colours are the same whether the system or the reader chose them', async t => {
  const style = client.files.get('style.css')?.text as string
  const blocks = [...style.matchAll(/:root(?:\[data-theme="dark"\]|:not\(\[data-theme="light"\]\)) \{([^}]*)\}/g)]
  t.equal(blocks.length, 2)
  const [system, chosen] = blocks.map(block => (block[1] as string).replaceAll(/\s+/g, ' '))
  t.equal(system, chosen)
})

t.test('features that the oldest supported browsers lack', async t => {
  const TOO_NEW =
    /light-dark\(|oklch\(|color-mix\(|:has\(|\bpopover\b|withResolvers|Object\.groupBy|\.to(Sorted|Reversed|Spliced)\(|URL\.(canParse|parse)\(|Array\.fromAsync/
  for (const [name, file] of client.files) if (file.kind !== 'script') t.notMatch(file.text, TOO_NEW, name)
})

t.test('elements are made by element.ts alone', async t => {
  for (const [name, file] of client.files) {
    if (file.kind !== 'typescript' || name === 'base/element.ts') continue
    t.notMatch(
      file.text,
      /\b(h|(?<!document\.)createElement|html)\(\s*['"`]|innerHTML|insertAdjacentHTML|document\.write|eval\(/,
      name,
    )
    const fromPreact = [...file.text.matchAll(/import \{([^}]*)\} from 'preact'/g)].map(found => found[1] as string)
    for (const names of fromPreact) t.notMatch(names, /\bh\b|createElement/, name)
  }
})
