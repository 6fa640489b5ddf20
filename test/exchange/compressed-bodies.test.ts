/** Request bodies with a content-encoding: zstd, gzip, deflate and br, in any order and cut anywhere; decompression bombs; what is refused. */
import { randomBytes } from 'node:crypto'
import net from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import * as zlib from 'node:zlib'
import t from 'tap'
import { codingsOf, decodedBody } from '../../lib/exchange/stages/decoded-body.ts'
import { Inflating } from '../../lib/access/open-requests.ts'
import { TestClock } from '../support/clock.ts'
import { seeded } from '../support/random.ts'
import { until } from '../support/wait.ts'
import { KEY, keyOf, MODEL, NOTHING_LEFT, open, POOR_KEY, type Scene } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

const MiB = 2 ** 20
const CHAT = '/v1/chat/completions'

/** What takes long by default is made at a lower level, which decodes no other way; `x-gzip` is made at the default one. */
const QUICK = { level: 1 }
const ENCODE: Record<string, (bytes: Uint8Array) => Buffer> = {
  zstd: bytes => zlib.zstdCompressSync(bytes),
  gzip: bytes => zlib.gzipSync(bytes, QUICK),
  'x-gzip': bytes => zlib.gzipSync(bytes),
  deflate: bytes => zlib.deflateSync(bytes, QUICK),
  'deflate without a head': bytes => zlib.deflateRawSync(bytes, QUICK),
  br: bytes => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  identity: bytes => Buffer.from(bytes),
}
const DECODE: Record<string, (bytes: Uint8Array) => Buffer> = {
  zstd: bytes => zlib.zstdDecompressSync(bytes),
  gzip: bytes => zlib.gunzipSync(bytes),
  br: bytes => zlib.brotliDecompressSync(bytes),
}
const headerOf = (name: string) => name.split(' ')[0]!

function encoded(plain: Buffer, names: readonly string[]): Buffer {
  let bytes = plain
  for (const name of names) bytes = ENCODE[name]!(bytes)
  return bytes
}

/** The text, or the name of the error. */
async function decoded(pieces: readonly Buffer[], header: string, most = 64 * MiB): Promise<string> {
  const found: Buffer[] = []
  const sent = Readable.from(pieces.filter(piece => piece.length > 0)) as IncomingMessage
  try {
    for await (const piece of decodedBody(sent, codingsOf(header)!, most, () => true)) found.push(piece)
  } catch (error) {
    return (error as Error).name
  }
  return Buffer.concat(found).toString('latin1')
}

const TEXT = 'a body that is compressed: '.repeat(30)

t.test('every coding, cut at every place, and in single bytes', async t => {
  for (const name of Object.keys(ENCODE)) {
    const whole = encoded(Buffer.from(TEXT), [name])
    for (let cut = 0; cut <= whole.length; cut++) {
      const text = await decoded([whole.subarray(0, cut), whole.subarray(cut)], headerOf(name))
      if (text !== TEXT) t.fail(`${name} cut at ${cut}: ${text}`)
      if (name === 'identity' || cut === whole.length || cut === 0) continue
      const part = await decoded([whole.subarray(0, cut)], headerOf(name))
      if (part !== 'BrokenCoding') t.fail(`${name} that ends at ${cut}: ${part}`)
    }
    t.equal(
      await decoded(
        [...whole].map(byte => Buffer.from([byte])),
        headerOf(name),
      ),
      TEXT,
      name,
    )
  }
})

t.test('every order of two codings, in pieces of any size, and never in pieces that take long to read', async t => {
  const names = Object.keys(ENCODE)
  const plain = Buffer.from(TEXT.repeat(10))
  for (const first of names)
    for (const second of names) {
      const bytes = encoded(plain, [first, second])
      const header = `${headerOf(first)}, ${headerOf(second)}`
      for (const size of [13, bytes.length]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, i * size + size),
        )
        if ((await decoded(pieces, header)) !== plain.toString('latin1')) t.fail(`${header} in pieces of ${size}`)
      }
    }
  for (const name of Object.keys(DECODE)) {
    const sent = Readable.from([encoded(Buffer.alloc(2 * MiB, TEXT), [name])]) as IncomingMessage
    let longest = 0
    const pieces = decodedBody(sent, codingsOf(`${name}, identity`)!, 64 * MiB, () => true)
    try {
      for await (const { length } of pieces) longest = Math.max(longest, length)
    } catch {
      // by its ratio
    }
    t.ok(longest > 0 && longest <= 64 * 1024, `${name}: ${longest} bytes`)
  }
})

t.test('a form, too, is read and sent upstream as it was before its codings', async t => {
  const s = await open(t, { prices: { [MODEL]: { input: 2, output: 8, image: 0.5, second: 0.000001 } } })
  s.at('a').script = call => call.whole(200, { text: 'hello', usage: { type: 'duration', seconds: 1 } })
  const field = (name: string, value: string, more = '') =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const plain = Buffer.from(
    `${field('model', MODEL)}${field('file', 'x'.repeat(100_000), '; filename="a.mp3"')}--b--\r\n`,
  )
  for (const names of [['gzip'], ['zstd'], ['br', 'deflate']]) {
    const type = { 'content-type': 'multipart/form-data; boundary=b' }
    const answer = await send(s, '/v1/audio/transcriptions', names.join(', '), encoded(plain, names), type)
    t.equal(answer.status, 200, `${names}: ${await answer.text()}`)
    t.equal(s.at('a').calls.at(-1)!.body, plain.toString(), 'byte for byte')
  }
  const poor = { 'content-type': 'multipart/form-data; boundary=b', authorization: `Bearer ${POOR_KEY}` }
  const noise = randomBytes(1_100_000).toString('latin1').replaceAll('--b', '---')
  const large = Buffer.from(`${field('model', MODEL)}${field('file', noise, '; filename="a.mp3"')}--b--\r\n`, 'latin1')
  const refused = await send(s, '/v1/audio/transcriptions', 'gzip', encoded(large, ['gzip']), poor)
  t.equal(refused.status, 403, await refused.text())
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  t.equal(s.services.buffered.bytes, 0)
})

t.test('what stands behind the end: members and frames are joined, anything else is refused', async t => {
  for (const name of ['zstd', 'gzip', 'deflate', 'br']) {
    const one = encoded(Buffer.from(TEXT), [name])
    const joined = name === 'zstd' || name === 'gzip' ? TEXT + TEXT : 'BrokenCoding'
    for (const [what, behind, expected] of [
      ['another one', one, joined],
      ['zeros', Buffer.alloc(3), 'BrokenCoding'],
      ['a line', Buffer.from('\n'), 'BrokenCoding'],
    ] as const) {
      t.equal(await decoded([one, behind], name), expected, `${name}: ${what} in a piece of its own`)
      t.equal(await decoded([Buffer.concat([one, behind])], name), expected, `${name}: ${what} in the same piece`)
    }
  }
})

t.test('random bodies in random codings, whole and broken, as zlib itself reads them', async t => {
  const random = seeded(t)
  for (let round = 0; round < 300; round++) {
    const size = random.pick([0, 1, 100, 70_000, 300_000])
    const plain = Buffer.alloc(size, 65)
    for (let i = 0; i < size; i += 7) plain[i] = random.int(0, 255)
    const names = Array.from({ length: random.pick([1, 2]) }, () =>
      random.pick(['zstd', 'gzip', 'deflate', 'br', 'identity']),
    )
    const bytes = encoded(plain, names)
    const cuts = Array.from({ length: random.int(0, 4) }, () => random.int(0, bytes.length)).sort((a, b) => a - b)
    const pieces = [...cuts, bytes.length].map((to, i) => bytes.subarray(cuts[i - 1] ?? 0, to))
    if ((await decoded(pieces, names.join(', '))) !== plain.toString('latin1')) t.fail(`${names} cut at ${cuts}`)

    const name = random.pick(Object.keys(DECODE))
    const broken = Buffer.from(encoded(plain, [name]))
    broken[random.int(0, broken.length - 1)]! ^= 1 << random.int(0, 7)
    let expected = 'BrokenCoding'
    try {
      expected = DECODE[name]!(broken).toString('latin1')
    } catch {
      // zlib says that it is broken
    }
    const text = await decoded([broken], name)
    // zlib lets zeros and what no member begins with stand behind the end, which is refused here
    if (text !== expected && text !== 'BrokenCoding') t.fail(`${name} with a bit turned: ${text.slice(0, 20)}`)
  }
  t.pass('300 rounds')
})

t.test('decompression bombs cost no more than the limit, of every coding and of two', async t => {
  const plain = Buffer.alloc(100 * MiB)
  for (const names of [
    ['gzip'],
    ['zstd'],
    ['deflate'],
    ['br'],
    ['gzip', 'gzip'],
    ['zstd', 'br'],
    ['identity', 'gzip'],
  ]) {
    const bomb = encoded(plain, names)
    let seen = 0
    const pieces = decodedBody(
      Readable.from([bomb]) as IncomingMessage,
      codingsOf(names.join(','))!,
      64 * MiB,
      () => true,
    )
    const ended = await (async () => {
      for await (const piece of pieces) seen += piece.length
    })().catch((error: Error) => error.name)
    t.equal(ended, 'DecodedTooLarge', `${names}`)
    t.ok(seen <= Math.max(MiB, 200 * bomb.length), `${names}: ${seen} of ${bomb.length}`)
  }
  const members = Buffer.concat(Array<Buffer>(200).fill(encoded(Buffer.alloc(0), ['gzip'])))
  t.equal(await decoded([members], 'gzip', 1000), 'DecodedTooLarge', 'what is sent counts, too')
  t.equal(
    await decoded([encoded(Buffer.alloc(MiB), ['gzip'])], 'gzip').then(text => text.length),
    MiB,
    'one MiB is free of the ratio',
  )
})

const send = (s: Scene, path: string, coding: string, body: Buffer, headers: Record<string, string> = {}) =>
  fetch(s.urls.main + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'content-encoding': coding,
      ...headers,
    },
    body: new Uint8Array(body),
  })

t.test('the upstream gets the plain body, with its length and without a content-encoding', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const { body } = document({ messages: ['é'.repeat(40_000)] })
  const plain = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  for (const names of [...Object.keys(ENCODE).map(name => [name]), ['br', 'gzip'], ['identity', 'zstd']]) {
    const answer = await send(s, CHAT, names.map(headerOf).join(', '), encoded(plain, names))
    t.equal(answer.status, 200, `${names}: ${await answer.text()}`)
    const call = await s.at('a').call()
    t.equal(call.body, plain.toString(), 'byte for byte')
    t.equal(call.header('content-length'), String(plain.length))
    t.equal(call.header('content-encoding'), undefined)
  }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  t.equal(s.services.buffered.bytes, 0)
})

t.test('unknown codings are 415, broken bodies 400, bombs and large bodies 413, of the poor 403', async t => {
  const s = await open(t, { config: { limits: { body: '4MiB' } } })
  s.at('a').script = answers(100, 10)
  const json = (size: number) => Buffer.from(JSON.stringify({ model: 'm', messages: ['x'.repeat(size)] }))
  const noise = Buffer.from(
    JSON.stringify({
      model: 'm',
      x: Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i * 31) >> 3)).toString('base64'),
    }),
  )
  const text = Buffer.from('{}')
  // a frame without its size whose window has 2^24 bytes, and one block that is not compressed
  const wide = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (24 - 10) << 3, (text.length << 3) | 1, 0, 0, ...text])
  const rows: [what: string, coding: string, body: Buffer, status: number, says: RegExp][] = [
    ['unknown', 'compress', json(1), 415, /content-encoding/],
    ['one of two unknown', 'gzip, snappy', json(1), 415, /content-encoding/],
    ['three', 'gzip, gzip, gzip', encoded(json(1), ['gzip', 'gzip', 'gzip']), 415, /content-encoding/],
    ['not what it says', 'gzip', json(1), 400, /请求体字段无效:content-encoding/],
    ['cut short', 'zstd', encoded(json(99), ['zstd']).subarray(0, -1), 400, /content-encoding/],
    ['a window above 8 MiB', 'zstd', wide, 400, /content-encoding/],
    ['nothing', 'br', Buffer.alloc(0), 400, /JSON/],
    ['no JSON inside', 'br', encoded(Buffer.from('text'), ['br']), 400, /JSON/],
    ['a bomb', 'gzip', encoded(json(3 * MiB), ['gzip']), 413, /请求体超过限制:最大4MiB/],
    [
      'decoded above the limit',
      'gzip',
      encoded(Buffer.concat(Array<Buffer>(12).fill(noise)), ['gzip']),
      413,
      /最大4MiB/,
    ],
  ]
  for (const [what, coding, body, status, says] of rows) {
    const answer = await send(s, CHAT, coding, body)
    t.equal(answer.status, status, what)
    t.match(await answer.text(), says, what)
    t.equal(answer.headers.get('x-should-retry'), 'false', what)
    t.equal(answer.headers.get('accept-encoding'), status === 415 ? 'zstd, gzip, deflate, br' : null, what)
  }
  const poor = await send(
    s,
    CHAT,
    'gzip',
    encoded(Buffer.concat([json(0), Buffer.alloc(2 * MiB, ' '), noise]), ['gzip']),
    {
      authorization: `Bearer ${POOR_KEY}`,
    },
  )
  t.equal(poor.status, 403, await poor.text())
  t.equal(s.services.buffered.bytes, 0)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

// --- one client that wants to take the service down: the bugs behind these rows are work and memory that nobody counted

const SKIPPED_FRAME = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0])

t.test('many frames that decode to nothing: a coding has at most 256, also inside another one', async t => {
  const frames = (count: number) => Buffer.concat(Array<Buffer>(count).fill(SKIPPED_FRAME))
  const few = Buffer.concat([frames(200), encoded(Buffer.from(TEXT), ['zstd'])])
  t.equal(await decoded([few], 'zstd'), TEXT)
  const rows: [what: string, body: Buffer, header: string][] = [
    ['64 KiB of frames', frames(8192), 'zstd'],
    ['8 MiB of frames in 785 bytes', encoded(frames(2 ** 20), ['zstd']), 'zstd, zstd'],
    ['frames in gzip', encoded(frames(2 ** 17), ['gzip']), 'zstd, gzip'],
  ]
  for (const [what, body, header] of rows) {
    const before = process.cpuUsage()
    t.equal(await decoded([body], header), 'BrokenCoding', what)
    const { user, system } = process.cpuUsage(before)
    t.ok(user + system < 2_000_000, `${what}: ${(user + system) / 1000} ms of processor time, which were thousands`)
  }
  t.equal(
    await decoded([Buffer.concat(Array<Buffer>(1000).fill(encoded(Buffer.from('a'), ['gzip'])))], 'gzip'),
    'a'.repeat(1000),
  )
})

/** What each coding takes while it is open, beside its window. */
const ENGINE_BYTES = 128 * 1024

t.test('bodies that drip take room from their first byte on, whatever they have decoded to', async t => {
  const s = await open(t, { config: { limits: { buffered: '1MiB', body: '1MiB' } }, accounts: { more: 1, others: 1 } })
  s.at('a').script = answers(1, 1)
  const { host } = new URL(s.urls.main)
  const drip = (key: string) => {
    const socket = net.connect(Number(host.split(':')[1]), '127.0.0.1')
    socket.on('error', () => {})
    t.teardown(() => socket.destroy())
    let text = ''
    socket.on('data', data => (text += data))
    const head = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-encoding: zstd, gzip\r\ncontent-length: 999\r\n\r\n`
    socket.write(head)
    socket.write(encoded(Buffer.from('{'), ['zstd', 'gzip']).subarray(0, 9))
    return { socket, said: () => text.slice(9, 12) }
  }
  const dripping = [KEY, KEY, KEY, keyOf('more'), keyOf('others')].map(drip)
  await until(
    'three have room: half of it, and half of what is left',
    () => s.services.buffered.bytes === 6 * ENGINE_BYTES,
  )
  await until('the others are refused', () => dripping.filter(({ said }) => said() === '503').length === 2)
  for (const { socket } of dripping) socket.destroy()
  await until('all room is given back', () => s.services.buffered.bytes === 0)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('bodies that decode to far more than was sent are read slowly: 16 MiB at once, then 2 a second', async t => {
  const clock = new TestClock()
  const inflating = new Inflating(clock)
  for (let i = 0; i < 17; i++)
    t.equal(
      inflating.take(1, MiB, () => false),
      null,
    )
  let isRead = false
  void inflating.take(1, MiB, () => false)?.then(() => (isRead = true))
  t.equal(
    inflating.take(2, MiB, () => false),
    null,
    'another account',
  )
  for (const ms of [250, 249]) {
    clock.advance(ms)
    await setImmediate()
    t.notOk(isRead)
  }
  clock.advance(1)
  await setImmediate()
  t.ok(isRead)
})

t.test(
  'however many accounts send such bodies, they are read at 8 MiB a second together, and each as fast as the others',
  async t => {
    const clock = new TestClock()
    const inflating = new Inflating(clock)
    const readMiB = new Map<number, number>()
    const read = async (account: number) => {
      for (;;) {
        await inflating.take(account, MiB / 4, () => false)
        readMiB.set(account, (readMiB.get(account) ?? 0) + 1 / 4)
        await setImmediate()
      }
    }
    const pass = async (seconds: number) => {
      for (let i = 0; i < seconds * 4; i++) {
        clock.advance(250)
        for (let turn = 0; turn < 4; turn++) await setImmediate()
      }
    }
    for (let account = 1; account <= 20; account++) void read(account)
    await pass(60)
    const all = () => [...readMiB.values()].reduce((sum, one) => sum + one, 0)
    const before = all()
    t.ok(before <= 8 * 60 + 20 * 16, 'what each had at once, and no more than their share')
    await pass(60)
    const late = [...readMiB.values()]
    t.ok(all() - before <= 8 * 60 * 1.1, `${all() - before} MiB in a minute`)
    t.ok(all() - before >= 8 * 60 * 0.8, `${all() - before} MiB in a minute`)
    t.ok(Math.max(...late) <= 1.5 * Math.min(...late), String(late))
    t.equal(
      inflating.take(99, MiB, () => false),
      null,
      'somebody new waits for nobody',
    )
  },
)

t.test(
  'clients that leave while their bodies wait keep nothing, and nobody of their account waits for them',
  async t => {
    const s = await open(t)
    s.at('a').script = call => call.whole(200, { input_tokens: 42 })
    const account = (await s.store.accounts.byName('poor'))!.id
    void s.services.inflating.take(account, 17 * MiB, () => false)
    const body = encoded(Buffer.from(JSON.stringify({ model: MODEL, messages: ['x'.repeat(900_000)] })), ['zstd'])
    const post = (signal: AbortSignal) =>
      fetch(`${s.urls.main}/v1/responses/input_tokens`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${POOR_KEY}`,
          'content-type': 'application/json',
          'content-encoding': 'zstd',
        },
        body: new Uint8Array(body),
        signal,
      })
    for (let i = 0; i < 40; i++) {
      const leaving = new AbortController()
      const asked = post(leaving.signal).catch(() => {})
      await until('its body waits', () => s.services.buffered.bytes >= ENGINE_BYTES + 64 * 1024)
      leaving.abort()
      await asked
      await until('it has left', () => s.services.openCount === 0)
    }
    t.equal(s.services.buffered.bytes, 0)
    s.clock.advance(500)
    await setImmediate()
    t.equal(
      s.services.inflating.take(account, MiB, () => false),
      null,
      'what they had sent is not counted',
    )
  },
)

t.test('who has read so much waits, with such a body and no other one', async t => {
  const s = await open(t)
  s.at('a').script = call => call.whole(200, { input_tokens: 42 })
  void s.services.inflating.take((await s.store.accounts.byName('poor'))!.id, 17 * MiB, () => false)
  const answered: string[] = []
  const count = async (what: string, text: string, coding: string) => {
    const body = encoded(Buffer.from(JSON.stringify({ model: MODEL, messages: [text] })), [coding])
    const poor = { authorization: `Bearer ${POOR_KEY}` }
    const answer = await send(s, '/v1/responses/input_tokens', coding, body, poor)
    t.equal(answer.status, 200, await answer.text())
    answered.push(what)
  }
  const inflated = count('inflated', 'x'.repeat(900_000), 'zstd')
  await until('it is being read', () => s.services.buffered.bytes > 0)
  await count('small', randomBytes(30_000).toString('base64'), 'zstd')
  await count('usual', randomBytes(300_000).toString('base64'), 'gzip')
  t.same(answered, ['small', 'usual'])
  await until('it is read', () => {
    s.clock.advance(100)
    return answered.length === 3
  })
  await inflated
  t.equal(s.services.buffered.bytes, 0)
})

t.test('the windows of codings take room in limits.buffered while they are open', async t => {
  const plain = Buffer.concat([randomBytes(100_000), Buffer.alloc(12 * MiB, ' ')])
  for (const [name, most] of [
    ['zstd', 8 * MiB],
    ['br', 12 * MiB + 100_000],
    ['gzip', 32 * 1024],
  ] as const) {
    let taken = 0
    const pieces = decodedBody(
      Readable.from([encoded(plain, [name])]) as IncomingMessage,
      codingsOf(name)!,
      64 * MiB,
      bytes => {
        taken += bytes
        return true
      },
    )
    for await (const _ of pieces) t.ok(taken <= ENGINE_BYTES + most)
    t.equal(taken, ENGINE_BYTES + most, name)
  }

  const body = JSON.stringify({ model: 'm', messages: [], pad: 'x'.repeat(300_000) })
  const twice = encoded(Buffer.from(body), ['zstd', 'zstd'])
  for (const [buffered, status] of [
    ['16MiB', 200],
    ['400KiB', 503],
  ] as const) {
    const s = await open(t, { config: { limits: { buffered, body: '400KiB' } } })
    s.at('a').script = answers(1, 1)
    const answer = await fetch(s.urls.main + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-encoding': 'zstd, zstd' },
      body: twice as never,
    })
    t.equal(answer.status, status, buffered)
    if (status === 503) t.ok(answer.headers.has('retry-after'))
    await answer.text()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
    t.equal(s.services.buffered.bytes, 0)
  }
})

t.test('names that every object has are no codings', async t => {
  const s = await open(t)
  for (const name of ['constructor', '__proto__', 'gzip, constructor']) {
    const answer = await fetch(s.urls.main + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-encoding': name },
      body: '{}',
      signal: AbortSignal.timeout(5000),
    })
    t.equal(answer.status, 415, name)
  }
})

t.test(
  'request smuggling by content-encoding and transfer-encoding: one reading of where a body ends, and no second request',
  async t => {
    const s = await open(t)
    s.at('a').script = answers(1, 1)
    const { port } = new URL(s.urls.main)
    const plain = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hi' }] })
    const gzip = encoded(Buffer.from(plain), ['gzip'])
    const chunked = (bytes: Buffer) =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')])
    const hidden = Buffer.from(
      `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-length: 2\r\n\r\n{}`,
    )
    const length = (bytes: Buffer) => `content-length: ${bytes.length}\r\n`
    const rows: [what: string, headers: string, body: Buffer, statuses: number[]][] = [
      ['chunked', 'content-encoding: gzip\r\ntransfer-encoding: chunked\r\n', chunked(gzip), [200]],
      ['chunked in capitals', 'Content-Encoding: GZIP\r\nTransfer-Encoding: Chunked\r\n', chunked(gzip), [200]],
      [
        'two headers are one list',
        `content-encoding: gzip\r\ncontent-encoding: identity\r\n${length(gzip)}`,
        gzip,
        [200],
      ],
      ['three headers', `${'content-encoding: gzip\r\n'.repeat(3)}${length(gzip)}`, gzip, [415]],
      ['a coding of the transfer is none of the body', `transfer-encoding: gzip, chunked\r\n`, chunked(gzip), [400]],
      ['chunked, and not at last', `transfer-encoding: chunked, gzip\r\n`, chunked(gzip), [400]],
      ['chunked twice', `transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n`, chunked(gzip), [400]],
      ['both lengths', `content-encoding: gzip\r\ntransfer-encoding: chunked\r\n${length(gzip)}`, chunked(gzip), [400]],
      ['two lengths', `content-encoding: gzip\r\n${length(gzip)}content-length: 5\r\n`, gzip, [400]],
      ['chunked is no coding of a body', `content-encoding: chunked\r\n${length(gzip)}`, gzip, [415]],
      [
        'a request behind the end of the coding, inside of the length',
        `content-encoding: gzip\r\n${length(Buffer.concat([gzip, hidden]))}`,
        Buffer.concat([gzip, hidden]),
        [400],
      ],
      [
        'a request inside of the coding',
        `content-encoding: gzip\r\n${length(encoded(hidden, ['gzip']))}`,
        encoded(hidden, ['gzip']),
        [400],
      ],
      ['a name with a space', `content-encoding : gzip\r\n${length(gzip)}`, gzip, [400]],
      ['a folded value', `content-encoding:\r\n gzip\r\n${length(gzip)}`, gzip, [400]],
      ['an empty one', `content-encoding:\r\n${length(Buffer.from(plain))}`, Buffer.from(plain), [200]],
    ]
    for (const [what, headers, body, statuses] of rows) {
      const socket = net.connect(Number(port), '127.0.0.1')
      socket.on('error', () => {})
      let text = ''
      let closed = false
      socket.on('data', data => (text += data.toString('latin1')))
      socket.on('close', () => (closed = true))
      const calls = s.at('a').calls.length
      socket.write(
        `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\nconnection: close\r\n${headers}\r\n`,
      )
      socket.write(body)
      await until(`${what}: ${text}`, () => closed)
      t.same(
        [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
        statuses,
        what,
      )
      t.equal(s.at('a').calls.length - calls, statuses[0] === 200 ? 1 : 0, `${what}: asked upstream`)
      if (statuses[0] === 200) t.equal(s.at('a').calls.at(-1)!.body, plain, what)
    }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
    t.equal(s.services.buffered.bytes, 0)
  },
)
