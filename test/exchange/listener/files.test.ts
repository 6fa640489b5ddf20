/**
 * Kept pictures as they are served: what they are shown as, who gets what, that no name leads anywhere else, and what slow
 * and greedy clients cost.
 */
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { fileOf, newName } from '../../../lib/exchange/pictures/folder.ts'
import { PICTURE } from '../../../tools/simulator/dialects/images.ts'
import { browserTest } from '../../console/support/browser.ts'
import { open } from '../support/gateway.ts'
import { until } from '../../support/wait.ts'

async function openWithFiles(t: Test) {
  const folder = mkdtempSync(path.join(tmpdir(), 'files-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const s = await open(t, { config: { images: { links: folder } } })
  const put = (bytes: Buffer | string): string => {
    const name = newName(s.clock.now(), Buffer.byteLength(bytes))
    writeFileSync(fileOf(folder, name), bytes)
    return name
  }
  const get = (name: string, init: RequestInit = {}) => fetch(`${s.urls.main}/files/${name}`, init)
  return Object.assign(s, { folder, put, get })
}

/** Bytes that no client library has a hand in. */
async function raw(url: string, request: string): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(request)
  return (await buffer(socket)).toString('latin1')
}

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>window.ran = true</script></svg>'
const HTML = '<!DOCTYPE html><script>window.ran = true</script>'

const TYPES: [what: string, bytes: Buffer, type: string][] = [
  ['PNG', Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1'), 'image/png'],
  ['JPEG', Buffer.from('\xff\xd8\xff\xe0 and more', 'latin1'), 'image/jpeg'],
  ['GIF', Buffer.from('GIF89a and more'), 'image/gif'],
  ['old GIF', Buffer.from('GIF87a'), 'image/gif'],
  ['WebP', Buffer.from('RIFF1234WEBPVP8 '), 'image/webp'],
  ['sound', Buffer.from('RIFF1234WAVEfmt '), ''],
  ['SVG', Buffer.from(SVG), ''],
  ['SVG as XML', Buffer.from(`<?xml version="1.0"?>${SVG}`), ''],
  ['HTML', Buffer.from(HTML), ''],
  ['a space before a PNG', Buffer.from(' \x89PNG\r\n\x1a\n', 'latin1'), ''],
  ['a PNG that is a page too', Buffer.from(`\x89PNG\r\n\x1a\n${HTML}`, 'latin1'), 'image/png'],
  ['the beginning of a PNG', Buffer.from('\x89PNG', 'latin1'), ''],
  ['one byte', Buffer.from('G'), ''],
  ['PDF', Buffer.from('%PDF-1.7'), ''],
]

t.test('the type is that of the bytes, and nothing runs', async t => {
  const s = await openWithFiles(t)
  for (const [what, bytes, type] of TYPES) {
    const name = s.put(bytes)
    for (const method of ['GET', 'HEAD']) {
      const answer = await s.get(name, { method, headers: { origin: 'https://elsewhere.example' } })
      t.equal(answer.status, 200, what)
      t.match(Object.fromEntries(answer.headers), {
        'content-type': type || 'application/octet-stream',
        'content-length': String(bytes.length),
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
        'cache-control': 'private, max-age=86400',
        'referrer-policy': 'no-referrer',
        'access-control-allow-origin': '*',
      })
      t.equal(answer.headers.get('content-disposition'), type === '' ? 'attachment' : null, what)
      t.same(Buffer.from(await answer.arrayBuffer()), method === 'HEAD' ? Buffer.alloc(0) : bytes, what)
    }
  }
  const { 'access-control-allow-origin': anybody } = Object.fromEntries((await s.get(s.put('x'))).headers)
  t.equal(anybody, undefined)
})

t.test('every name without a picture gets the same answer', async t => {
  const s = await openWithFiles(t)
  mkdirSync(path.join(s.folder, 'inside'))
  writeFileSync(path.join(s.folder, 'secret.picture'), 'secret')
  writeFileSync(path.join(s.folder, '..', `${path.basename(s.folder)}.picture`), 'secret')
  t.teardown(() => rmSync(`${s.folder}.picture`))
  const kept = s.put('a picture')
  const old = newName(s.clock.now() - 86_400_000, 1)
  writeFileSync(fileOf(s.folder, old), 'x')
  const short = s.put('a longer picture')
  truncateSync(fileOf(s.folder, short), 3)
  const linked = newName(s.clock.now(), 6)
  symlinkSync(path.join(s.folder, 'secret.picture'), fileOf(s.folder, linked))
  const unfinished = 'A'.repeat(32)
  linkSync(fileOf(s.folder, kept), path.join(s.folder, `${unfinished}.part`))
  const paths = [
    newName(s.clock.now(), 9),
    `${kept.slice(0, -1)}${kept.endsWith('A') ? 'B' : 'A'}`,
    kept.toUpperCase(),
    `${kept}.picture`,
    `${kept}/`,
    `${kept}%00`,
    old,
    short,
    linked,
    unfinished,
    '',
    '.',
    '..',
    '../secret',
    '..%2fsecret',
    '%2e%2e/secret',
    `../${path.basename(s.folder)}`,
    '..\\secret',
    'inside',
    'inside/..',
    `inside/../${kept}`,
    `/${kept}`,
    'secret',
    'x'.repeat(9000),
  ]
  const answers = new Set<string>()
  for (const name of paths) {
    const heard = await raw(s.urls.main, `GET /files/${name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    answers.add(heard.replace(/^date: .*$/im, ''))
  }
  t.equal(answers.size, 1, [...answers].join('\n---\n'))
  t.match([...answers][0], /^HTTP\/1\.1 404 Not Found\r\n[\s\S]*not found\n$/)
  t.equal((await s.get(`${kept}?download=1`)).status, 200, 'a query says nothing')
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await s.get(kept, { method })
    t.equal(answer.status, 404, method)
    t.match(await answer.text(), `Invalid URL (${method} /files/${kept})`)
  }
  t.equal((await s.get(kept, { method: 'OPTIONS', headers: { origin: 'https://a.example' } })).status, 204)
  t.equal((await fetch(`${s.urls.direct}/files/${kept}`)).status, 404, 'not on the direct address')
})

t.test(
  'slow clients: a few have the same picture at once, for a while, and the rest is told to come again',
  async t => {
    const s = await openWithFiles(t)
    const name = s.put(Buffer.alloc(30_000_000))
    const slow = Array.from({ length: 16 }, () => {
      const socket = net.connect(Number(new URL(s.urls.main).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.pause()
      socket.write(`GET /files/${name} HTTP/1.1\r\nhost: x\r\n\r\n`)
      return socket
    })
    await until('all are under way', () => s.services.openCount === 16)
    const refused = await s.get(name)
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('retry-after'), '2')
    t.equal((await s.get(s.put('another'))).status, 200)
    slow.pop()?.destroy()
    await until('one has left', () => s.services.openCount === 15)
    t.equal((await (await s.get(name)).arrayBuffer()).byteLength, 30_000_000)
    await until('it is over', () => s.services.openCount === 15)
    s.clock.advance(600_000)
    await until('the others were cut', () => s.services.openCount === 0)
    const { ok } = await s.books()
    t.ok(ok)
    for (const socket of slow) socket.destroy()
  },
)

t.test('a file that cannot be opened is no reason to forget it', async t => {
  const s = await openWithFiles(t)
  const name = newName(s.clock.now(), 0)
  mkdirSync(fileOf(s.folder, name)) // reading a folder fails, also for root
  t.equal((await s.get(name)).status, 404, 'a folder has another length')
  const empty = s.put('')
  t.equal((await s.get(empty)).status, 503)
  t.match(s.logged.at(-1), { msg: 'a kept picture could not be read' })
})

browserTest(
  t,
  'in a browser: a picture shows on pages elsewhere, and none of them runs anything here',
  async (t, newcomer) => {
    const s = await openWithFiles(t)
    const { page } = await newcomer({ language: 'en-US' })
    await page.goto(`${s.urls.main}/files/${s.put(PICTURE)}`)
    t.equal(await page.evaluate('document.images[0].naturalWidth'), 1)
    t.equal(await page.evaluate('self.origin'), 'null', 'an origin of its own')
    await page.goto(`${s.urls.main}/files/${s.put(Buffer.concat([PICTURE, Buffer.from(HTML)]))}`)
    t.equal(await page.evaluate('typeof window.ran'), 'undefined')
    const elsewhere = http.createServer((_req, res) => {
      res.setHeader('content-type', 'text/html').end(`<img src="${s.urls.main}/files/${s.put(PICTURE)}">`)
    })
    await new Promise<void>(resolve => elsewhere.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      elsewhere.closeAllConnections()
      elsewhere.close()
    })
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`)
    t.equal(await page.evaluate('document.images[0].naturalWidth'), 1)
    const download = page.waitForEvent('download')
    await page.goto(`${s.urls.main}/files/${s.put(SVG)}`).catch(() => {}) // a navigation that becomes a download is none
    await download
  },
)
