/**
 * Links to pictures, through a whole gateway: which answers get them, what the client is told and pays, and that nothing
 * fails and nothing stays behind when a picture cannot be kept, or nobody waits for it any more.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import v8 from 'node:v8'
import vm from 'node:vm'
import t, { type Test } from 'tap'
import { PICTURE } from '../../tools/simulator/dialects/images.ts'
import { seeded } from '../support/random.ts'
import { until } from '../support/wait.ts'
import type { Ask } from './support/client.ts'
import { KEY, MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import type { Call } from './support/upstream.ts'

v8.setFlagsFromString('--expose-gc')
/** Takes what is garbage out of the memory that is measured. */
const collect = vm.runInNewContext('gc') as () => void

const DAY_MS = 86_400_000
const ASK: Ask = {
  path: '/v1/images/generations',
  headers: { authorization: `Bearer ${KEY}`, host: 'pictures.example:8080' },
  body: { model: MODEL, prompt: 'a cat' },
}
const asking = (more: object): Ask => ({ ...ASK, body: { ...(ASK.body as object), ...more } })
const LINK = /^http:\/\/pictures\.example:8080\/files\/[0-9a-z]{10}-[0-9a-z]+-[\w-]{32}$/

type Json = Record<string, unknown>

async function openWithLinks(t: Test, images: Json = {}, config: Json = {}) {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'pictures-')), 'kept')
  t.teardown(() => rmSync(path.dirname(folder), { recursive: true, force: true }))
  const s = await open(t, { config: { images: { links: folder, ...images }, ...config } })
  return Object.assign(s, {
    folder,
    files: () => (existsSync(folder) ? readdirSync(folder) : []),
    get: (link: string, init: RequestInit = {}) => fetch(s.urls.main + new URL(link).pathname, init),
  })
}

const documentOf = (pictures: readonly Buffer[], more: Json = {}): string =>
  JSON.stringify({ created: 7, data: pictures.map(picture => ({ b64_json: picture.toString('base64') })), ...more })

const linksIn = (text: string): string[] => (JSON.parse(text) as { data: { url: string }[] }).data.map(({ url }) => url)

/** Asks, lets the upstream answer, and waits for the end. */
async function answered(s: Scene, ask: Ask, answer: (call: Call) => void, listener: 'main' | 'direct' = 'main') {
  const client = s.ask(ask, listener)
  const { calls } = s.at('a')
  answer(await s.at('a').call(calls.length))
  const end = await client.end()
  return { end, status: client.status, text: client.text, headers: client.answer.headers }
}

const whole =
  (body: string, headers = {}) =>
  (call: Call) =>
    call.whole(200, body, headers)

t.test('a client that did not ask for base64 gets links, and pays the same', async t => {
  const s = await openWithLinks(t)
  const pictures = [PICTURE, Buffer.concat([PICTURE, Buffer.alloc(100_001, 7)])]
  const usage = { input_tokens: 10, output_tokens: 20 }
  const document = documentOf(pictures, { usage })
  const { end, status, text, headers } = await answered(s, ASK, whole(document))
  t.match({ end, status }, { end: 'whole', status: 200 })
  t.equal(headers.get('content-length'), undefined, 'the length that the upstream said is not ours')
  const links = linksIn(text)
  t.equal(text, JSON.stringify({ created: 7, data: links.map(url => ({ url })), usage }))
  for (const [i, link] of links.entries()) {
    t.match(link, LINK)
    const answer = await s.get(link)
    t.equal(answer.status, 200)
    t.same(Buffer.from(await answer.arrayBuffer()), pictures[i])
  }
  t.equal(s.files().length, 2)
  const inline = await answered(s, asking({ response_format: 'b64_json' }), whole(document))
  t.equal(inline.text, document)
  t.equal(inline.headers.get('content-length'), String(document.length))
  t.equal(s.files().length, 2)
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.equal(rows.length, 2)
  t.equal(rows[0]?.charge, rows[1]?.charge)
  t.match(rows[0], { images: 2, basis: 'reported', end: 'completed' })
  t.equal(await s.metric('gateway_pictures_total', { outcome: 'kept' }), 2)
})

t.test('which answers have links, and where these lead', async t => {
  const s = await openWithLinks(t)
  const one = documentOf([PICTURE])
  const form = `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${MODEL}\r\n--b\r\ncontent-disposition: form-data; name="image"; filename="x.png"\r\n\r\nxyz\r\n`
  const multipart = (more: string): Ask => ({
    path: '/v1/images/edits',
    headers: { ...ASK.headers, 'content-type': 'multipart/form-data; boundary=b' },
    body: `${form}${more}--b--\r\n`,
  })
  const format = (value: string) => `--b\r\ncontent-disposition: form-data; name="response_format"\r\n\r\n${value}\r\n`
  const rows: [what: string, ask: Ask, document: string, links: number][] = [
    ['edits', multipart(''), one, 1],
    ['edits as links', multipart(format('url')), one, 1],
    ['edits as base64', multipart(format('b64_json')), one, 0],
    ['variations', { ...ASK, path: '/v1/images/variations' }, one, 1],
    ['links were asked for', asking({ response_format: 'url' }), one, 1],
    ['null was asked for', asking({ response_format: null }), one, 1],
    ['base64 in capitals', asking({ response_format: 'B64_JSON' }), one, 0],
    ['no picture', ASK, '{"created":1,"data":[]}', 0],
    ['a link of the upstream', ASK, '{"data":[{"url":"https://up.example/1"}]}', 0],
    ['an empty picture', ASK, '{"data":[{"b64_json":""}]}', 0],
    ['no base64', ASK, '{"data":[{"b64_json":"data:image/png;base64,AAAA"}]}', 0],
    ['base64 and then no base64', ASK, `{"data":[{"b64_json":"${'AAAA'.repeat(9)}\\/AA?"}]}`, 0],
    ['base64 without an end', ASK, '{"data":[{"b64_json":"AAAAA"}]}', 0],
  ]
  for (const [what, ask, document, links] of rows) {
    const before = s.files().length
    const { text, end } = await answered(s, ask, whole(document))
    t.equal(end, 'whole', what)
    t.equal(s.files().length - before, links, what)
    if (links > 0) for (const link of linksIn(text)) t.match(link, LINK, what)
    else t.same(JSON.parse(text), JSON.parse(document), what)
  }
  t.equal(await s.metric('gateway_pictures_total', { outcome: 'not_base64' }), 3)

  const event = 'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"AAAA"}\n\n'
  const stream = await answered(s, asking({ stream: true }), call => {
    call.stream()
    call.chunk(event)
    call.end()
  })
  t.equal(stream.text, event, 'events pass as they come')
  const error = '{"error":{"message":"no"},"data":[{"b64_json":"AAAA"}]}'
  const refused = await answered(s, ASK, call => call.whole(400, error))
  t.match(refused, { status: 400, text: error })

  const [direct] = linksIn((await answered(s, ASK, whole(one), 'direct')).text)
  t.match(direct, 'http://127.0.0.1:3000/files/', 'the direct address serves no files')
  t.equal((await fetch(s.urls.direct + new URL(direct ?? '').pathname)).status, 404)
  const [odd] = linksIn((await answered(s, { ...ASK, headers: { ...ASK.headers, host: 'a"b' } }, whole(one))).text)
  t.match(odd, 'http://127.0.0.1:3000/files/', 'a host that is none')
})

t.test('the address that the config names', async t => {
  const s = await openWithLinks(t, {}, { public: { main: 'https://api.example/base/' } })
  for (const listener of ['main', 'direct'] as const) {
    const { text } = await answered(s, ASK, whole(documentOf([PICTURE])), listener)
    t.match(linksIn(text)[0], /^https:\/\/api\.example\/base\/files\//)
  }
})

t.test('without a folder answers pass byte for byte, and no file is served', async t => {
  const s = await open(t)
  const document = documentOf([PICTURE])
  t.equal((await answered(s, ASK, whole(document))).text, document)
  const answer = await fetch(`${s.urls.main}/files/x`)
  t.equal(answer.status, 404)
  t.match(await answer.text(), 'Invalid URL')
})

t.test('in chunks that are cut anywhere, with escapes', async t => {
  const s = await openWithLinks(t)
  const random = seeded(t)
  for (let round = 0; round < 15; round++) {
    const pictures = Array.from({ length: random.int(1, 4) }, () =>
      Buffer.from(Array.from({ length: random.int(1, 3000) }, () => random.int(0, 255))),
    )
    const document = documentOf(pictures).replaceAll('/', random.pick(['/', '\\/', '\\u002f']))
    const { text } = await answered(s, ASK, async call => {
      call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
      for (let at = 0; at < document.length; ) {
        const size = random.int(1, random.pick([3, 100, 5000]))
        call.chunk(document.slice(at, at + size))
        at += size
        if (random.next() < 0.2) await s.settled()
      }
      call.end()
    })
    const got = await Promise.all(linksIn(text).map(async link => Buffer.from(await (await s.get(link)).arrayBuffer())))
    t.same(got, pictures)
  }
})

t.test('a picture that cannot be kept stays in its answer', async t => {
  const big = Buffer.alloc(900_000, 'picture')
  const small = Buffer.from('small')
  const document = documentOf([small, big, big, small])

  t.test('no room', async t => {
    const s = await openWithLinks(t, { size: '1MiB' })
    const { text, end } = await answered(s, ASK, whole(document))
    t.equal(end, 'whole')
    const { data } = JSON.parse(text) as { data: { url?: string; b64_json?: string }[] }
    t.same(
      data.map(one => Object.keys(one)),
      [['url'], ['url'], ['b64_json'], ['url']],
    )
    t.equal(data[2]?.b64_json, big.toString('base64'))
    t.equal(s.files().length, 3, 'and nothing unfinished')
    t.equal(await s.metric('gateway_pictures_total', { outcome: 'no_room' }), 1)
    t.match(
      s.logged.filter(({ msg }) => /not kept/.test(String(msg))),
      [{ level: 'warn' }],
    )
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ images: 4 }] })
  })

  const noLimit = spawnSync('prlimit', ['--version']).status === 0 ? {} : { skip: 'no prlimit on this machine' }
  t.test('the disk takes only a part', noLimit, async t => {
    const prlimit = (size: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${size}:`])
    process.on('SIGXFSZ', () => {})
    const s = await openWithLinks(t)
    prlimit('300001') // so a write ends in the middle, as on a full disk
    try {
      const { text, end } = await answered(s, ASK, whole(document))
      t.equal(end, 'whole')
      const { data } = JSON.parse(text) as { data: { url?: string; b64_json?: string }[] }
      t.same(
        data.map(one => Object.keys(one)),
        [['url'], ['b64_json'], ['b64_json'], ['url']],
      )
      for (const i of [1, 2]) t.equal(data[i]?.b64_json, big.toString('base64'))
    } finally {
      prlimit('unlimited')
    }
    t.equal(s.files().length, 2)
    t.equal(await s.metric('gateway_pictures_total', { outcome: 'failed' }), 2)
    t.match(
      s.logged.filter(({ msg }) => /not kept/.test(String(msg))),
      [{ err: { code: 'EFBIG' } }],
    )
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })

  t.test('the folder cannot be used', async t => {
    const s = await openWithLinks(t)
    writeFileSync(s.folder, 'a file') // also root cannot write below it
    t.equal((await answered(s, ASK, whole(document))).text, document)
    rmSync(s.folder)
    t.equal(linksIn((await answered(s, ASK, whole(documentOf([small])))).text).length, 1, 'and it is made again')
    if (process.getuid?.() === 0) return
    chmodSync(s.folder, 0o500)
    t.equal((await answered(s, ASK, whole(document))).text, document)
  })
})

t.test('an answer that breaks off leaves nothing behind', async t => {
  const s = await openWithLinks(t)
  const head = '{"data":[{"b64_json":"'
  const start = (call: Call) => {
    call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    call.chunk(head + 'QUJD'.repeat(50_000))
  }
  const unfinished = () => until('a file', () => s.files().some(file => file.endsWith('.part')))
  const nothing = () => until('no file', () => s.files().length === 0)

  const left = s.ask(ASK)
  start(await s.at('a').call(0))
  await unfinished()
  left.leave()
  await nothing()
  const call = await s.at('a').call(0)
  call.chunk('QUJD"}],"usage":{}}')
  call.end()

  const broken = s.ask(ASK)
  const second = await s.at('a').call(1)
  start(second)
  await unfinished()
  await s.goOn()
  second.reset()
  t.equal(await broken.end(), 'cut')
  await nothing()

  const back = s.ask(ASK)
  const third = await s.at('a').call(2)
  third.start(200, { 'content-type': 'application/json', 'content-length': '100000' })
  third.raw(`{"data":[{"b64_json":"QUJD`)
  third.halfClose()
  await back.end()
  await nothing()

  const { ok, left: still, failures, rows } = await s.books()
  t.match({ ok, still, failures }, { ok: true, still: NOTHING_LEFT, failures: [] })
  t.match(rows, [{ end: 'client_gone', images: 1 }, { end: 'upstream_cut', images: 1 }, {}])
})

t.test('an answer that ends in a picture, whole by HTTP: all of it arrives', async t => {
  const s = await openWithLinks(t)
  const text = `{"data":[{"b64_json":"${'QUJD'.repeat(9)}QU`
  const { text: got } = await answered(s, ASK, whole(text))
  t.equal(got, text)
  t.same(s.files(), [])
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('a huge picture takes bounded memory, and so does one that a slow client gets after all', async t => {
  const s = await openWithLinks(t)
  const bytes = 48 * 1024 * 1024
  const piece = 'QUJD'.repeat(64 * 1024)
  const pieces = bytes / ((piece.length / 4) * 3)
  for (const [nth, last] of ['', '?'].entries()) {
    const headers = { ...ASK.headers, 'content-length': String(JSON.stringify(ASK.body).length) }
    const req = http.request(s.urls.main + ASK.path, { method: 'POST', headers }).end(JSON.stringify(ASK.body))
    const call = await s.at('a').call(nth)
    call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    call.chunk('{"data":[{"b64_json":"')
    await s.goOn()
    const [answer] = (await once(req, 'response')) as [http.IncomingMessage]
    collect()
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    const look = () => {
      collect()
      collect() // what the first one found is freed by another thread, for which the second one waits
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    for (let i = 0; i < pieces; i++) {
      if (!call.chunk(piece)) await once(call.socket, 'drain')
      if (i % 128 === 127) look()
    }
    call.chunk(`${last}"}]}`) // what is no base64 makes all that was written go to the client
    call.end()
    let length = 0
    let lookedAt = 0
    const got = createHash('sha256')
    for await (const chunk of answer) {
      length += chunk.length
      got.update(chunk)
      if (length - lookedAt > bytes / 4) {
        lookedAt = length
        look()
      }
    }
    t.ok(most < bytes / 2, `${most} bytes in memory at most`)
    if (last === '') {
      t.ok(length < 1000)
      t.match(s.files(), [`-${bytes.toString(36)}-`])
    } else {
      const expected = createHash('sha256').update('{"data":[{"b64_json":"')
      for (let i = 0; i < pieces; i++) expected.update(piece)
      t.equal(got.digest('hex'), expected.update('?"}]}').digest('hex'))
      t.equal(s.files().length, 1)
    }
  }
})

t.test('links end with their time, and when a reload says so', async t => {
  const s = await openWithLinks(t, { keep: '24h' })
  const [link = ''] = linksIn((await answered(s, ASK, whole(documentOf([PICTURE])))).text)
  const look = async (): Promise<[number, string | null]> => {
    const answer = await s.get(link)
    return [answer.status, answer.headers.get('cache-control')]
  }
  t.same(await look(), [200, 'private, max-age=86400'])
  s.clock.step(DAY_MS - 1500)
  t.same(await look(), [200, 'private, max-age=1'])
  s.clock.step(1499)
  t.same(await look(), [200, 'private, max-age=0'])
  s.clock.step(1)
  t.same(await look(), [404, 'no-store'])
  const { settings } = s.services.pictures
  s.services.pictures.settings = settings && { ...settings, keepMs: 2 * DAY_MS }
  t.same(await look(), [200, 'private, max-age=86400'])
  s.services.pictures.settings = null
  t.equal((await look())[0], 404)
})
