/** `Expect: 100-continue`: the 100 never stands inside of an answer, and nobody is asked for a body that is not wanted. */
// The bug behind these rows: a client that waits for 100.
import net from 'node:net'
import t, { type Test } from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open, POOR_KEY } from './support/gateway.ts'
import { answers } from './support/speech.ts'
import { until } from '../support/wait.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const BODY = JSON.stringify({ model: MODEL, max_tokens: 10 })

interface Wants {
  key?: string
  expect?: boolean
  length?: number
}

const head = ({ key = KEY, expect = false, length = BODY.length }: Wants = {}) =>
  `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${key}\r\n${expect ? 'expect: 100-continue\r\n' : ''}` +
  `content-length: ${length}\r\n\r\n`

async function connected(t: Test) {
  const s = await open(t)
  const socket = net.connect(Number(new URL(s.urls.main).port), '127.0.0.1')
  t.teardown(async () => void socket.destroy())
  let heard = ''
  let ended = false
  socket.on('data', data => (heard += data))
  socket.on('end', () => (ended = true))
  return { s, socket, heard: () => heard, ended: () => ended }
}

/** Statuses in order, by what the heads say of lengths. */
function read(heard: string): number[] {
  const statuses: number[] = []
  for (let at = 0; at < heard.length; ) {
    const end = heard.indexOf('\r\n\r\n', at)
    const status = /^HTTP\/1\.1 (\d+)/.exec(heard.slice(at))?.[1]
    if (status === undefined || end < 0) throw new Error(`no answer begins here: ${heard.slice(at, at + 60)}`)
    statuses.push(Number(status))
    at = end + 4 + Number(/^content-length: (\d+)/im.exec(heard.slice(at, end))?.[1] ?? 0)
  }
  return statuses
}

t.test('behind an answer under way, nothing of it gets into that answer or its own', async t => {
  for (const [what, wants, body, statuses] of [
    ['a whole answer', {}, BODY, [200, 200]],
    ['a refusal of its key', { key: 'sk-nobody-has-it' }, BODY, [200, 401]],
    ['a body that is no JSON', {}, 'x'.repeat(BODY.length), [200, 400]],
    ['a body that is too large', { length: 2 ** 40 }, '', [200, 413]],
  ] as const) {
    const { s, socket, heard } = await connected(t)
    socket.write(head() + BODY)
    const first = await s.at('a').call()
    s.at('a').script = answers(2, 2)
    socket.write(head({ ...wants, expect: true }) + body)
    for (let i = 0; i < 3; i++) await s.settled()
    t.equal(heard(), '', what)
    answers(1, 1)(first)
    await until('both answers', () => heard().split('HTTP/1.1 ').length === 3 && s.services.openCount === 0)
    await s.settled()
    t.same(read(heard()), statuses, what)
    t.notMatch(heard(), '100 Continue')
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test('a client that waits is asked when it is its turn', async t => {
  const { s, socket, heard } = await connected(t)
  socket.write(head() + BODY + head({ expect: true }))
  const first = await s.at('a').call()
  await s.settled()
  t.equal(heard(), '')
  answers(1, 1)(first)
  await until('it is asked', () => heard().endsWith(CONTINUE))
  t.same(read(heard()), [200, 100])
  s.at('a').script = answers(2, 2)
  socket.write(BODY)
  await until('its answer', () => heard().split('HTTP/1.1 ').length === 4 && s.services.openCount === 0)
  t.same(read(heard()), [200, 100, 200])
  socket.write(head({ expect: true }))
  await until('the next one is asked at once', () => heard().endsWith(CONTINUE))
  socket.write(BODY)
  await until('its answer', () => heard().split('HTTP/1.1 ').length === 6)
  t.same(read(heard()), [200, 100, 200, 100, 200])
})

t.test('who is refused is not asked for the body, and the connection ends', async t => {
  for (const [key, status] of [
    ['sk-nobody-has-it', 401],
    [POOR_KEY, 403],
  ] as const) {
    const { socket, heard, ended } = await connected(t)
    socket.write(head({ expect: true, key, length: 2 ** 21 }))
    await until('the connection ends', ended)
    t.same(read(heard()), [status])
    t.match(heard(), /^connection: close\r$/im)
  }
})
