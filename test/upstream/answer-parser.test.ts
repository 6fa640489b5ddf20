import net from 'node:net'
import t from 'tap'
import { Client } from 'undici'
import { AnswerParser } from '../../lib/upstream/http1-connection.ts'
import { cut, type Random, seeded } from '../support/random.ts'
import { ask, listen } from './support.ts'

const MOST = 2048

interface Told {
  status: number
  headers: Record<string, unknown>
  body: string
  ended: boolean
  /** The bytes that were told last were said to be the last ones. */
  last: boolean
  error: string | null
  keepAlive: boolean
}

/** What a reader tells of an answer that comes in these pieces; `pauses`: it is paused by each event, and resumed later. */
function read(pieces: readonly Buffer[], closes: boolean, pauses = false): Told {
  const told: Told = { status: 0, headers: {}, body: '', ended: false, last: false, error: null, keepAlive: false }
  let paused = false
  const reader = new AnswerParser(
    {
      onHead(status, headers) {
        if (told.status !== 0) told.error = 'two heads'
        Object.assign(told, { status, headers: { ...headers } })
        paused = pauses
      },
      onBody(bytes, isLast) {
        if (told.ended || told.last) told.error = 'body behind the end'
        told.last = isLast
        told.body += bytes.toString('latin1')
        paused = pauses
      },
      onEnd() {
        if (told.ended) told.error = 'two ends'
        told.ended = true
      },
      get paused() {
        return paused
      },
    },
    MOST,
  )
  reader.expect()
  const resume = () => {
    while (paused) {
      paused = false
      reader.resume()
    }
  }
  try {
    for (const piece of pieces) {
      reader.feed(Buffer.from(piece)) // it moves what it is given
      if (told.last && !told.ended && !paused) told.error = 'no end behind the last bytes'
      resume()
      if (told.ended) break
    }
    if (closes) reader.close()
    if (closes && !told.ended) told.error = 'closed'
  } catch (error) {
    told.error = (error as Error).message
  }
  told.keepAlive = told.ended && reader.keepAlive
  return told
}

const whole = (text: string, closes = true) => read([Buffer.from(text, 'latin1')], closes)

t.test('the last bytes are told as such where the end comes with them, and the end follows at once', async t => {
  const sized = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n'
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'
  const rows: [pieces: string[], last: boolean][] = [
    [[`${sized}hello`], true],
    [[`${sized}he`, 'llo'], true],
    [[`${chunked}0\r\n\r\n`], true],
    [[chunked, '0\r\n\r\n'], false],
    [['HTTP/1.1 200 OK\r\n\r\nhello'], false],
  ]
  for (const [pieces, last] of rows) {
    const bytes = pieces.map(piece => Buffer.from(piece, 'latin1'))
    for (const pauses of [false, true])
      t.match(read(bytes, true, pauses), { body: 'hello', ended: true, last, error: null }, pieces.join('|'))
  }
})

t.test('answers', async t => {
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const rows: [text: string, body: string, keepAlive: boolean, more?: Partial<Told>][] = [
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 'hello', true, { status: 200 }],
    ['HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', '', true],
    ['HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok', false],
    ['HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: Keep-Alive\r\n\r\nok', 'ok', true],
    ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: x, Close\r\n\r\nok', 'ok', false],
    ['HTTP/1.1 200 OK\r\n\r\nto the end', 'to the end', false],
    ['HTTP/1.1 204 No Content\r\n\r\n', '', true, { status: 204 }],
    ['HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n', '', true, { status: 304 }],
    ['HTTP/1.1 204 No Content\r\ncontent-length: 9\r\n\r\n', '', false, { status: 204 }],
    ['HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n', '', false, { status: 204 }],
    ['HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n0\r\n\r\n', '', false],
    [
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
      'ok',
      true,
    ],
    [`${chunked}5\r\nhello\r\n0\r\n\r\n`, 'hello', true],
    [`${chunked}5;a="b"\r\nhello\r\n00A; x\r\n0123456789\r\n0\r\nx-trailer: y\r\nx: \r\n\r\n`, 'hello0123456789', true],
    [`HTTP/1.1 200 OK\r\nTransfer-Encoding:\t Chunked \r\n\r\n1\r\nx\r\n0\r\n\r\n`, 'x', true],
    ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok\r\n', 'ok', false, {}],
    [
      'HTTP/1.1 429 Too Many\r\nRetry-After:  7 \r\nx-a: 1\r\nX-A: 2\r\n__proto__: z\r\ncontent-length: 0\r\n\r\n',
      '',
      true,
      { status: 429, headers: { 'retry-after': '7', 'x-a': ['1', '2'] } as Record<string, unknown> },
    ],
  ]
  for (const [text, body, keepAlive, more = {}] of rows) {
    const want = { body, keepAlive, ended: true, error: null, ...more }
    t.match(whole(text), want, text)
    t.match(
      read(
        Array.from(Buffer.from(text, 'latin1'), byte => Buffer.of(byte)),
        true,
      ),
      { ...want, keepAlive: text.endsWith('ok\r\n') || keepAlive },
      'byte by byte',
    )
    t.match(read([Buffer.from(text, 'latin1')], true, true), want, 'paused by everything')
  }
})

t.test('no answers', async t => {
  const head = 'HTTP/1.1 200 OK\r\n'
  const chunked = `${head}transfer-encoding: chunked\r\n\r\n`
  const rows: [text: string, error: string | RegExp][] = [
    ['', 'closed'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell', 'closed'],
    [`${chunked}5\r\nhello\r\n`, 'closed'],
    [`${chunked}5\r\nhello\r\n0\r\n`, 'closed'],
    ['HTTP/2 200 OK\r\n\r\n', /status line/],
    ['HTTP/1.1 20 OK\r\n\r\n', /status line/],
    ['HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n', /status line/],
    ['SSH-2.0-OpenSSH_9.6\r\n\r\n', /status line/],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\n', /another protocol/],
    [`${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`, /two lengths/],
    [`${head}content-length: 1\r\ncontent-length: 2\r\n\r\n`, /length that is none/],
    [`${head}content-length: +1\r\n\r\n`, /length that is none/],
    [`${head}content-length: 1,1\r\n\r\n`, /length that is none/],
    [`${head}content-length: 0x1\r\n\r\n`, /length that is none/],
    [`${head}content-length: 1\xa0\r\n\r\n`, /length that is none/],
    [`${head}transfer-encoding: \xa0chunked\r\n\r\n`, /transfer-encoding/],
    [`${head}transfer-encoding: chunked, chunked\r\n\r\n`, /transfer-encoding/],
    [`${head}transfer-encoding: gzip\r\n\r\n`, /transfer-encoding/],
    [`${head}transfer-encoding: gzip, chunked\r\n\r\n`, /transfer-encoding/],
    [`${head}transfer-encoding: , chunked\r\n\r\n`, /transfer-encoding/],
    [`${head}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`, /transfer-encoding/],
    [`HTTP/1.0 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n`, /transfer-encoding/],
    [`${head}content-length: 5, 5\r\n\r\n`, /length that is none/],
    [`${head}content-length: 5\r\ncontent-length: 5\r\n\r\n`, /length that is none/],
    [`${head}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n`, /transfer-encoding/],
    [`${head}transfer-encoding: xchunked\r\n\r\n`, /transfer-encoding/],
    [`${head}content-length : 1\r\n\r\n`, /header/],
    [`${head} folded: 1\r\n\r\n`, /header/],
    [`${head}a: b\r\n c\r\n\r\n`, /header/],
    [`${head}no colon\r\n\r\n`, /header/],
    [`${head}a: b\x00\r\n\r\n`, /header/],
    [`${head}a: b\nc: d\r\n\r\n`, /header/],
    [`${head}a: ${'x'.repeat(MOST)}\r\n\r\n`, /headers without end/],
    [`${head}a: ${'x'.repeat(2 * MOST)}`, /headers without end/],
    [`${chunked}\r\n`, /without size/],
    [`${chunked}5\nhello`, /without size/],
    [`${chunked}-5\r\nhello`, /without size/],
    [`${chunked}0x5\r\nhello`, /without size/],
    [`${chunked}5 5\r\nhello`, /without size/],
    [`${chunked}1${'0'.repeat(12)}\r\n`, /without size/],
    [`${chunked}5;${'x'.repeat(5000)}\r\n`, /without size/],
    [`${chunked}5;a\nb\r\nhello`, /without size/],
    [`${chunked}5\r\nhello!\r\n`, /without end/],
    [`${chunked}5\r\nhello\n`, /without end/],
    [`${chunked}0\r\nbad trailer\r\n\r\n`, /header/],
    [`${chunked}0\r\nx: ${'x'.repeat(2 * MOST)}`, /headers without end/],
  ]
  for (const [text, error] of rows) {
    t.match(whole(text), { error, ended: false }, JSON.stringify(text.slice(0, 90)))
    t.match(
      read(
        Array.from(Buffer.from(text, 'latin1'), byte => Buffer.of(byte)),
        true,
      ),
      { error, ended: false },
    )
  }
})

function answer(random: Random): { bytes: Buffer; body: string } {
  let body = ''
  let text = `HTTP/1.1 ${random.pick([200, 201, 400, 503])} Whatever\r\nx-first: ${'y'.repeat(random.int(0, 30))}\r\n`
  const part = () => 'ab\r\n\r\n0\r\n'.repeat(random.int(0, 40)).slice(0, random.int(1, 300)) || 'x'
  if (random.next() < 0.3) {
    body = part()
    text += `content-length: ${body.length}\r\n\r\n${body}`
  } else {
    text += 'Transfer-Encoding: chunked\r\n\r\n'
    for (let i = random.int(0, 20); i > 0; i--) {
      const data = part()
      body += data
      const size = random.pick([data.length.toString(16), data.length.toString(16).toUpperCase().padStart(5, '0')])
      text += `${size}${random.pick(['', '', ';x', ';a=b'])}\r\n${data}\r\n`
    }
    text += `0\r\n${random.pick(['', '', 'trailer: x\r\n'])}\r\n`
  }
  return { bytes: Buffer.from(text, 'latin1'), body }
}

t.test('the same whatever the pieces and pauses', async t => {
  const random = seeded(t)
  for (let i = 0; i < 3000; i++) {
    const { bytes, body } = answer(random)
    const told = read(cut(random, bytes), false, random.next() < 0.5)
    if (told.body !== body || !told.ended || told.error !== null || !told.keepAlive) {
      t.fail(`${JSON.stringify(told)} of ${JSON.stringify(bytes.toString('latin1'))}`)
      return
    }
  }
  t.pass('3000 answers')
})

t.test('of damaged answers nothing is believed that undici would not believe', async t => {
  const random = seeded(t)
  let bytes = Buffer.alloc(0)
  const origin = `http://127.0.0.1:${await listen(
    t,
    net.createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(bytes))
    }),
  )}`
  let believed = 0
  for (let i = 0; i < 500; i++) {
    bytes = Buffer.from(answer(random).bytes)
    for (let n = random.int(1, 3); n > 0; n--) {
      const at = random.int(0, random.pick([80, bytes.length]) - 1) % bytes.length
      if (random.next() < 0.5) bytes[at] = random.pick([0x0a, 0x0d, 0x30, 0x3a, 0x3b, 0x61, 0x00])
      else bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.int(1, 4))])
    }
    const told = read([bytes], true)
    if (!told.ended || told.error !== null) continue
    believed++
    const client = new Client(origin)
    const heard = await ask(client, origin)
    await client.destroy()
    if (/chunk extensions/.test(heard.error?.message ?? '')) continue // how they are written is all the same to us
    const text = Buffer.from(told.body, 'latin1').toString()
    if (heard.error !== null || heard.text !== text || heard.status !== told.status) {
      t.fail(`${JSON.stringify({ told, heard })} of ${JSON.stringify(bytes.toString('latin1'))}: ${heard.error}`)
      return
    }
  }
  t.ok(believed > 50, `${believed} of 500 were no worse for it`)
})
