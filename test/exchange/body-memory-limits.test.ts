/** What request bodies take of the memory: in chunks of one byte, unfinished, of accounts without money, all together. */
// The bug behind these rows: bodies that fill the memory.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import net, { type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Buffered } from '../../lib/access/open-requests.ts'
import { BodyPages } from '../../lib/exchange/stages/body.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { KEY, MODEL, NOTHING_LEFT, open, OTHER_KEY, POOR_KEY, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH } from './support/speech.ts'
import { until } from '../support/wait.ts'

const MiB = 2 ** 20
const CHAT = '/v1/chat/completions'

t.test('a body of any chunks takes a few parts and a few times its length', async t => {
  for (const size of [1, 7, 1400, 16_383, 16_384, 100_000]) {
    const parts: Buffer[] = []
    const pages = new BodyPages(part => parts.push(part))
    // eight pages of small chunks, of which each one costs, show what 64 pages do
    const count = Math.ceil((size < 1000 ? MiB / 8 : MiB) / size)
    const sent: Buffer[] = []
    for (let i = 0; i < count; i++) {
      const chunk = Buffer.alloc(size, i)
      sent.push(chunk)
      pages.add(chunk)
    }
    pages.flush()
    t.ok(Buffer.concat(sent).equals(Buffer.concat(parts)), `chunks of ${size}`)
    const memory = new Set(parts.map(part => part.buffer))
    const bytes = [...memory].reduce((sum, one) => sum + one.byteLength, 0)
    t.ok(parts.length <= 2 + (2 * count * size) / 16_384, `chunks of ${size}: ${parts.length} parts`)
    t.ok(bytes <= 3 * count * size, `chunks of ${size}: ${bytes} bytes`)
  }
  const parts: Buffer[] = []
  const pages = new BodyPages(part => parts.push(part))
  for (let i = 0; i < 1000; i++) {
    pages.add(Buffer.alloc(1, 1))
    pages.add(Buffer.alloc(16_384, 2))
    if (i % 3 === 0) pages.flush()
  }
  t.equal(Buffer.concat(parts).length, 1000 * 16_385)
  t.ok(parts.length <= 2001)
})

/** Every byte a chunk, with a chunk's extension at some. */
function inBytes(body: string): string {
  let wire = ''
  for (let i = 0; i < body.length; i++) wire += `1${i % 1000 === 0 ? ';of=this' : ''}\r\n${body[i]}\r\n`
  return `${wire}0\r\n\r\n`
}

const bearer = (key: string) => `authorization: Bearer ${key}\r\ncontent-type: application/json\r\n`

/** A client that writes what it likes and keeps what it hears. */
class Bare {
  readonly socket: Socket
  heard = ''

  /** `allowHalfOpen`: it goes on writing when the gateway has ended its side. */
  constructor(s: Scene, head: string, allowHalfOpen = false) {
    this.socket = net.connect({ port: Number(new URL(s.urls.main).port), host: '127.0.0.1', allowHalfOpen })
    this.socket.on('error', () => {})
    this.socket.on('data', data => (this.heard += data))
    this.socket.write(`${head}\r\n`)
  }

  get status(): number {
    return Number(this.heard.slice(9, 12))
  }

  async answered(): Promise<number> {
    await until('an answer', () => this.heard.includes('\r\n\r\n'))
    return this.status
  }
}

const post = (key: string, framing: string, path = CHAT) => `POST ${path} HTTP/1.1\r\n${bearer(key)}${framing}\r\n`
const CHUNKED = 'transfer-encoding: chunked'

t.test('a body in chunks of one byte arrives as it was sent', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const body = JSON.stringify({ max_tokens: 100, messages: ['é'.repeat(30_000)], model: MODEL, stream_options: null })
  const client = new Bare(s, post(KEY, CHUNKED))
  client.socket.write(inBytes(Buffer.from(body).toString('latin1')), 'latin1')
  t.equal(await client.answered(), 200)
  const call = await s.at('a').call()
  t.equal(call.body, body)
  t.equal(call.header('content-length'), String(Buffer.byteLength(body)))
  client.socket.destroy()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  t.equal(s.services.buffered.bytes, 0)
})

t.test('the limit of all bodies: 503, and everything is given back', async t => {
  const s = await open(t, { config: { limits: { buffered: '64KiB' } } })
  s.at('a').script = answers(100, 10)
  const wide = s.ask(document({ messages: ['x'.repeat(80 * 1024)] }))
  t.equal(await wide.end(), 'whole')
  t.equal(wide.status, 503)
  t.equal(wide.answer.headers.get('retry-after'), '2')
  t.match(wide.text, /服务暂时不可用,请稍后再试/)
  const fits = s.ask(document({ messages: ['x'.repeat(50 * 1024)] }))
  await fits.end()
  t.equal(fits.status, 200, 'a single one may take most of it')

  const slow = new Bare(s, post(KEY, CHUNKED))
  slow.socket.write(`6000\r\n{"x":"${'x'.repeat(0x6000 - 6)}\r\n`)
  await until('it is here', () => s.services.buffered.bytes === 0x6000)
  const second = s.ask(document({ messages: ['x'.repeat(12 * 1024)] }))
  await second.end()
  t.equal(second.status, 503, 'several of one account may take half of it')
  const small = s.ask(document())
  await small.end()
  t.equal(small.status, 200)
  slow.socket.destroy()
  await until('it is given back', () => s.services.buffered.bytes === 0)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('own answers that nobody reads count as well, by account, and are given back', async t => {
  const many = Array.from({ length: 400 }, (_, i) => `${'m'.repeat(100)}${i}`)
  const prices = Object.fromEntries(many.map(name => [name, { input: 1, output: 1 }]))
  const options = {
    channels: { a: { models: [MODEL, ...many] } },
    prices: { [MODEL]: { input: 1, output: 1 }, ...prices },
  }
  const s = await open(t, { ...options, config: { limits: { buffered: '2MiB' } } })
  const list = async (key: string) => {
    const answer = await fetch(`${s.urls.main}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    return { status: answer.status, text: await answer.text() }
  }
  const { length } = (await list(KEY)).text
  t.ok(length > 262_144 && length < 524_288, `${length} bytes: two of them fit into half of the room, three do not`)
  const unread: Bare[] = []
  for (let i = 0; i < 2; i++) {
    const accepted = once(s.servers[0] as Server, 'connection') as Promise<[Socket]>
    const bare = new Bare(s, `GET /v1/models HTTP/1.1\r\n${bearer(POOR_KEY)}\r\n`.repeat(90))
    bare.socket.pause()
    unread.push(bare)
    const [at] = await accepted
    await until('an answer waits', () => at.writableLength > 0)
  }
  t.equal(s.services.buffered.bytes, 2 * length)
  t.equal((await list(POOR_KEY)).status, 503)
  t.equal((await list(KEY)).status, 200, 'another account gets its own')
  for (const { socket } of unread) socket.destroy()
  await until('it is given back', () => s.services.buffered.bytes === 0 && s.services.openCount === 0)
})

t.test('two accounts that fill what they may keep nobody else out', async t => {
  const s = await open(t, { config: { limits: { buffered: '256KiB' } } })
  s.at('a').script = answers(100, 10)
  const uploads: Bare[] = []
  for (const key of [OTHER_KEY, POOR_KEY])
    for (let i = 0; i < 40; i++) {
      const one = new Bare(s, post(key, CHUNKED))
      one.socket.write(`1000\r\n{"x":"${'x'.repeat(0x1000 - 6)}\r\n`)
      uploads.push(one)
    }
  await until('they have what they may', () => s.services.buffered.bytes >= 0x20000 + 0xf000)
  const fits = s.ask(document({ messages: ['x'.repeat(20 * 1024)] }))
  await fits.end()
  t.equal(fits.status, 200)
  for (const { socket } of uploads) socket.destroy()
  await until('it is given back', () => s.services.buffered.bytes === 0)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('a body is kept until an upstream answers, also where the stream has begun before', async t => {
  for (const early of ['1s', '0s']) {
    const s = await open(t, { config: { keepalive: { early } } })
    const { ask, first, rest } = SPEECH.messages
    const client = s.ask(ask)
    const call = await s.at('a').call()
    t.ok(s.services.buffered.bytes > 0)
    s.clock.advance(2000)
    if (early !== '0s') await client.sees('\n')
    t.ok(s.services.buffered.bytes > 0)
    call.stream()
    call.chunk(first)
    await client.sees('Good morning')
    t.equal(s.services.buffered.bytes, 0, `early: ${early}`)
    call.chunk(rest)
    call.end()
    t.equal(await client.end(), 'whole')
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test('the limit is shared by accounts', async t => {
  const buffered = new Buffered()
  t.ok(buffered.take(1, 0, 90, 100), 'one body may be as large as the limit')
  t.notOk(buffered.take(2, 0, 20, 100))
  buffered.give(1, 60)
  t.ok(buffered.take(1, 0, 20, 100))
  t.notOk(buffered.take(1, 20, 1, 100), 'several: half of it')
  t.notOk(buffered.take(2, 0, 26, 100), 'another one: half of what is left')
  t.ok(buffered.take(2, 0, 25, 100), 'others find room')
  t.notOk(buffered.take(2, 25, 1, 100))
  t.same([buffered.isLargest(1, 1), buffered.isLargest(2, 1), buffered.isLargest(2, 25)], [true, false, true])
  for (const [account, bytes] of [50, 25, 12, 6].entries())
    t.ok(account < 2 || buffered.take(1 + account, 0, bytes, 100))
  t.ok(buffered.take(9, 0, 1, 100), 'and so does one more, whatever many have taken')
  for (const [account, bytes] of [50, 25, 12, 6].entries()) buffered.give(1 + account, bytes)
  buffered.give(9, 1)
  t.equal(buffered.bytes, 0)
})

t.test(
  'of an account without money a large body is refused before it is read to its end, a small one in order',
  async t => {
    const s = await open(t)
    const announced = new Bare(s, post(POOR_KEY, `content-length: ${63 * MiB}`))
    t.equal(await announced.answered(), 403)
    t.match(announced.heard, /用户额度不足, 剩余额度: ¥0\.000000/)

    const chunked = new Bare(s, post(POOR_KEY, CHUNKED))
    chunked.socket.write('{"x":"'.replace(/^/, '6\r\n').concat('\r\n'))
    const piece = `8000\r\n${'x'.repeat(0x8000)}\r\n`
    let most = 0
    for (let sent = 0; sent < 3 * MiB && chunked.heard === ''; sent += 0x8000) {
      chunked.socket.write(piece)
      await s.settled()
      most = Math.max(most, s.services.buffered.bytes)
    }
    t.equal(await chunked.answered(), 403)
    t.match(chunked.heard, /用户额度不足/)
    t.ok(most <= MiB + 0x10000, `${most} bytes were kept`)
    t.equal(s.services.buffered.bytes, 0)

    const poor = { authorization: `Bearer ${POOR_KEY}` }
    for (const [body, status] of [
      ['{"x":', 400],
      [{ model: 'nobody knows it' }, 400],
      [{ model: MODEL, max_tokens: 1, messages: ['x'.repeat(MiB - 200)] }, 403],
      [{ model: MODEL, max_tokens: 1, messages: ['x'.repeat(3 * MiB)] }, 403],
    ] as const) {
      const client = s.ask({ path: CHAT, headers: poor, body })
      t.equal(await client.end(), 'whole')
      t.equal(client.status, status)
    }
    t.equal(s.at('a').calls.length, 0)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  },
)

t.test('a refused upload is cut after 256 MiB', async t => {
  const s = await open(t, { config: { limits: { body: '1GiB' } } })
  const piece = Buffer.alloc(MiB)
  for (const what of ['the store is asked', 'the answer is known']) {
    const client = new Bare(s, post(POOR_KEY, `content-length: ${1000 * MiB}`), true)
    t.equal(await client.answered(), 403, what)
    const closed = once(client.socket, 'close').catch(() => {})
    let sent = 0
    while (!client.socket.destroyed && sent < 400) {
      sent++
      if (!client.socket.write(piece))
        await Promise.race([new Promise(resolve => client.socket.once('drain', resolve)), closed])
    }
    t.ok(sent > 250 && sent < 300, `${sent} MiB were sent`)
    client.socket.destroy()
  }
})

t.test('counting is refused to nobody for money: what is not kept is estimated here', async t => {
  const s = await open(t)
  s.at('a').script = call => call.whole(200, { input_tokens: 42 })
  const count = async (text: string) => {
    const body = { model: MODEL, messages: [text] }
    const client = s.ask({ path: '/v1/messages/count_tokens', headers: { 'x-api-key': POOR_KEY }, body })
    await client.end()
    t.equal(client.status, 200)
    return (JSON.parse(client.text) as { input_tokens: number }).input_tokens
  }
  t.equal(await count('hi'), 42)
  t.ok((await count('x'.repeat(3 * MiB))) > 500_000)
  t.equal(s.at('a').calls.length, 1)
  t.equal(s.services.buffered.bytes, 0)
})

/** As many as a hostile client opens. */
async function unfinished(t: Test, s: Scene, key: string, paths: readonly string[]): Promise<Bare[]> {
  const clients: Bare[] = []
  for (const path of paths) {
    const client = new Bare(s, post(key, `content-length: ${63 * MiB}`, path))
    client.socket.write('{"x":"')
    t.teardown(async () => void client.socket.destroy())
    clients.push(client)
    await s.settled()
  }
  return clients
}

t.test('uploads that do not end count as open requests', async t => {
  const s = await open(t, { config: { limits: { concurrency: 3 } } })
  const clients = await unfinished(t, s, KEY, [CHAT, '/v1/responses/input_tokens', CHAT, CHAT, CHAT, '/v1/responses'])
  await until('the rest is refused', () => clients.filter(client => client.status === 429).length === 3)
  t.equal(clients.filter(client => client.heard === '').length, 3)
  const more = s.ask(SPEECH.messages.ask)
  await more.end()
  t.equal(more.status, 429)
  t.match(more.text, /您已达到并发数限制:最多同时进行3个请求/)
  // one after the other: what has been refused for money no longer counts, though its upload has not ended
  for (let i = 0; i < 12; i++) {
    const [poor] = await unfinished(t, s, POOR_KEY, [CHAT])
    t.equal(await poor?.answered(), 403)
  }
  for (const client of clients) client.socket.destroy()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  t.equal(s.services.buffered.bytes, 0)
})

t.test('a million tools that ask other models are not kept, and refused', async t => {
  for (const count of [16, 17, 1_000_000]) {
    const scan = protocolRow('messages').body.scan('application/json')
    scan.feed(Buffer.from(`{"tools":[${'{"type":"advisor_1"},'.repeat(count - 1)}{"type":"advisor_1"}]}`))
    const facts = scan.end()
    t.equal(facts?.advisors.length, 16)
    t.equal(facts?.invalid, count > 16 ? 'tools' : null)
  }
})

const LONG = JSON.stringify({
  model: MODEL,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'x'.repeat(16 * MiB) }],
})
const LONG_ASK = { ...document(), body: LONG }
const EVENTS_ASK = { ...document(), body: LONG.replace('{', '{"stream":true,') }

/** The bytes of bodies that come from now on and are kept in memory of their own: 0 each when it was given back. */
function watchParts(t: Test): () => number {
  const parts: Buffer[] = []
  const { add } = BodyPages.prototype
  BodyPages.prototype.add = function (chunk) {
    if (chunk.length === chunk.buffer.byteLength) parts.push(chunk)
    add.call(this, chunk)
  }
  t.teardown(() => {
    BodyPages.prototype.add = add
  })
  return () => parts.reduce((sum, { length }) => sum + length, 0)
}

const ALL = 0.9 * LONG.length
const LITTLE = 0.1 * LONG.length

t.test(
  'the memory of a long body is given back when the answer to it begins, and not by a collection later',
  async t => {
    for (const then of ['it ends', 'the client leaves', 'the upstream breaks off']) {
      const s = await open(t)
      const bytes = watchParts(t)
      const client = s.ask(EVENTS_ASK)
      const call = await s.at('a').call()
      await s.settled()
      t.ok(bytes() > ALL, `${bytes()} bytes wait for the answer`)
      call.stream()
      call.chunk(SPEECH.chat.first)
      await until('the answer begins', () => client.text.includes('data:'))
      t.ok(bytes() < LITTLE, `${bytes()} bytes are kept`)
      if (then === 'the client leaves') client.leave()
      await s.settled()
      if (then === 'the upstream breaks off') call.reset()
      else {
        call.chunk(SPEECH.chat.rest)
        call.end()
      }
      if (then !== 'the client leaves') t.equal(await client.end(), then === 'it ends' ? 'whole' : 'cut', then)
      t.ok(call.body.includes(LONG.slice(1, -1)))
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT }, then)
      t.equal(s.services.buffered.bytes, 0)
    }
  },
)

t.test('a body that came compressed gives its memory back as well', async t => {
  const s = await open(t)
  const bytes = watchParts(t)
  s.at('a').script = answers(100, 10)
  const text = randomBytes(3 * MiB).toString('base64')
  const body = LONG.replace('xxx', text)
  const packed = gzipSync(body)
  const client = new Bare(s, post(KEY, `content-encoding: gzip\r\ncontent-length: ${packed.length}\r\n`).slice(0, -2))
  client.socket.write(packed)
  t.equal(await client.answered(), 200)
  t.ok((await s.at('a').call()).body === body)
  t.ok(bytes() < LITTLE, `${bytes()} bytes are kept`)
  client.socket.destroy()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

for (const [what, status] of [
  ['is answered', 200],
  ['is refused, and another one answers,', 500],
] as const)
  t.test(`a long body that ${what} before all of it was sent keeps its memory, and goes on as it is`, async t => {
    const s = await open(t, { channels: { a: {}, b: {} } })
    const bytes = watchParts(t)
    const [a, b] = [s.at('a'), s.at('b')]
    const paused = new Promise<Socket>(resolve => {
      a.begun = socket => {
        a.begun = () => {}
        socket.pause()
        const body = status === 200 ? SPEECH.chat.first + SPEECH.chat.rest : '{}'
        const type = status === 200 ? 'text/event-stream' : 'application/json'
        socket.write(`HTTP/1.1 ${status} Any\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        resolve(socket)
      }
    })
    b.script = answers(100, 10)
    const client = s.ask(LONG_ASK)
    const unread = await paused
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 200)
    t.ok(bytes() > ALL, `${bytes()} bytes are kept`)
    unread.resume()
    await until('the rest comes, or the end', () => a.calls.length > 0 || unread.closed)
    t.ok(a.calls.every(({ body }) => body === LONG))
    t.ok((b.calls[0]?.body ?? LONG) === LONG)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  })

t.test('a long body that two upstreams got keeps its memory: one may still be sending it', async t => {
  for (const how of ['after the other', 'beside the other']) {
    const s = await open(t, { hedge: '5s', channels: { a: {}, b: {} } })
    const bytes = watchParts(t)
    s.at('b').script = answers(100, 10)
    const client = s.ask(LONG_ASK)
    const first = await s.at('a').call()
    if (how === 'after the other') first.whole(500, '{}')
    else s.clock.advance(6_000)
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 200)
    t.ok(first.body === LONG, how)
    t.ok((await s.at('b').call()).body === LONG, how)
    t.ok(bytes() > ALL, `${bytes()} bytes are kept`)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})
