import net from 'node:net'
import t from 'tap'
import { KEY, startGateway } from '../../support/gateway.ts'
import { json, jsonText, type Random, seeded, text } from '../../support/random.ts'

const gateway = await startGateway({ config: { limits: { body: '256KiB' } } })
t.teardown(() => gateway.stop())

const METHODS = ['POST', 'POST', 'POST', 'GET', 'OPTIONS', 'PUT', 'BREW', 'post', '']
const PATHS = [
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/responses',
  '/v1beta/models/gamma-3.8-flash:streamGenerateContent?alt=sse',
  '/v1/models',
  '/',
  '/v1/%zz',
  '/../x',
  '*',
  `/${'a'.repeat(3000)}`,
]
const PATIENCE_MS = 3000

/** A request that is right, wrong, or no request at all. */
function request(r: Random): Buffer {
  const body = r.pick([
    () =>
      JSON.stringify({
        model: 'beta-4.7',
        max_tokens: 5,
        messages: [{ role: 'user', content: text(r) }],
        stream: r.next() < 0.5,
      }),
    () => jsonText(r, json(r)),
    () => '{'.repeat(r.int(1, 5000)),
    () => text(r),
    () => '',
  ])()
  const length = Buffer.byteLength(body)
  const framing = r.pick([
    `content-length: ${length}`,
    `content-length: ${length}`,
    `content-length: ${length}`,
    `content-length: ${Math.max(0, length - 3)}`,
    'content-length: -1',
    'content-length: 99999999999999999999',
    `content-length: ${length}\r\ncontent-length: ${length + 1}`,
    `content-length: ${length}\r\ntransfer-encoding: chunked`,
    'transfer-encoding: chunked',
    'transfer-encoding: bogus',
  ])
  const headers = [
    r.pick(['host: x', 'host: x', '', 'host: a\r\nhost: b']),
    r.pick([
      `authorization: Bearer ${KEY}`,
      `x-api-key: ${KEY}`,
      `x-goog-api-key: ${KEY}`,
      'authorization: Bearer sk-nobody',
      'authorization: \u0001',
    ]),
    framing,
    r.pick([
      '',
      'accept-language: en',
      `x-junk: ${'j'.repeat(r.int(0, 90_000))}`,
      'bad header',
      'expect: 100-continue',
      'expect: wonders',
      'connection: upgrade\r\nupgrade: websocket',
      ': empty',
    ]),
  ].filter(Boolean)
  const chunked = framing.includes('chunked')
    ? `${r.pick([length.toString(16), 'zz', 'ffffffffff'])}\r\n${body}\r\n0\r\n\r\n`
    : body
  const bytes = Buffer.from(
    `${r.pick(METHODS)} ${r.pick(PATHS)} ${r.pick(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9.9', ''])}\r\n${headers.join('\r\n')}\r\n\r\n${chunked}`,
  )
  if (r.next() < 0.2) for (let n = r.int(1, 5); n > 0; n--) bytes[r.int(0, bytes.length - 1)] = r.int(0, 255)
  return r.next() < 0.1 ? bytes.subarray(0, r.int(1, bytes.length)) : bytes
}

/** What comes back until the connection closes, or falls silent after an answer. */
function exchange(bytes: Buffer): Promise<string> {
  return new Promise(resolve => {
    const { port, hostname } = new URL(gateway.main)
    let got = ''
    const socket = net.connect(Number(port), hostname, () => socket.end(bytes))
    socket.on('data', data => {
      got += data
    })
    socket.on('error', () => {})
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(got)
    })
  })
}

t.test('whatever comes, an answer or a closed connection, and the next request is served', async t => {
  const random = seeded(t)
  for (let batch = 0; batch < 10; batch++) {
    const requests = Array.from({ length: 30 }, () => request(random))
    const answers = await Promise.all(requests.map(exchange))
    for (const [i, answer] of answers.entries()) {
      if (answer === '') continue
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? []
      if (status === undefined) t.fail(`no HTTP: ${answer.slice(0, 200)}`)
      const refused = Number(status) >= 400
      const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
      if (refused && !/^\{("type":"error",)?"error":\{"code":"","message":".*request id: \w+/.test(body)) {
        t.fail(`no envelope for ${requests[i]?.toString('latin1').slice(0, 300)}: ${answer.slice(0, 500)}`)
      }
    }
    const good = await fetch(`${gateway.main}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'hi' }] }),
    })
    t.equal(good.status, 200, 'the next one is served')
  }
  t.equal(gateway.child.exitCode, null, 'the process lives')
  const audit = await gateway.admin('GET', '/admin/audit')
  t.match(audit, { ok: true, imbalance: '0.000000' })
})
