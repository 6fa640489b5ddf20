/** Callers who read nothing of what they asked for, on many connections: their answers were kept for them, as many as they asked for. */
// The bug behind these rows: answers that nobody reads.
import http from 'node:http'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { Shares, UNREAD_BYTES } from '../../lib/api/bounds.ts'
import { operation } from '../../lib/api/operation.ts'
import { identity, type Served, serveApi } from './support/api.ts'
import { until } from '../support/wait.ts'

/** What a connection takes by itself is far less. */
const LONG = 'x'.repeat(4 * UNREAD_BYTES.ofOne)

const row = (id: string, call: `GET /${string}` | `POST /${string}`, text: () => string) =>
  operation<object, unknown, unknown, unknown>({
    id,
    call,
    summary: 'A list.',
    who: 'user',
    effect: call.startsWith('GET') ? 'read' : 'write',
    scope: 'read',
    answer: { status: 200, body: z.unknown() },
    run: async () => ({ text: text() }),
  })

async function serve(t: Test): Promise<Served & { unread: (user: string) => Promise<http.ClientRequest> }> {
  const served = await serveApi(t, [
    row('list.long', 'GET /long', () => LONG),
    row('list.short', 'GET /short', () => 'short'),
    row('change', 'POST /change', () => 'done'),
  ])
  for (let id = 1; id <= 10; id++) served.callers.sessions.set(`u${id}`, identity({ sessionId: id }, { id }))
  const unread = (user: string) =>
    new Promise<http.ClientRequest>((resolve, reject) => {
      const { port } = served
      const path = '/console/api/long'
      const headers = { cookie: `session=${user}` }
      const req = http.get({ port, host: '127.0.0.1', path, headers, agent: false }, res => {
        res.on('error', () => {})
        if (res.statusCode === 200) resolve(req)
        else reject(new Error(`status ${res.statusCode}`))
      })
      req.on('error', reject)
      t.teardown(async () => void req.destroy())
    })
  return { ...served, unread }
}

t.test('a user has one answer of any length, and no further one until it is read or left', async t => {
  const s = await serve(t)
  const ask = (user: string, path: string, method = 'GET') =>
    s.ask(method, `/console/api${path}`, { cookie: `session=${user}`, 'sec-fetch-site': 'same-origin' })
  const first = await s.unread('u1')
  t.match(await ask('u1', '/long'), { status: 429, error: { code: 'busy' } })
  t.match(await ask('u1', '/short'), { status: 429, error: { code: 'busy' } })
  t.equal((await ask('u1', '/change', 'POST')).status, 200, 'what was done is told')
  t.equal((await ask('u2', '/short')).status, 200, 'others have their own')
  first.destroy()
  await until('it is given back', async () => (await ask('u1', '/short')).status === 200)
  for (let i = 0; i < 3; i++) t.equal((await ask('u1', '/long')).status, 200, 'who reads them has any number')
})

t.test('all users together have so much', async t => {
  const s = await serve(t)
  const fit = Math.floor(UNREAD_BYTES.ofAll / LONG.length)
  const open: http.ClientRequest[] = []
  for (let i = 1; i <= fit / 2; i++) open.push(await s.unread(`u${i}`))
  await t.rejects(
    (async () => {
      for (let i = open.length + 1; i < 10; i++) open.push(await s.unread(`u${i}`))
    })(),
    { message: 'status 429' },
  )
  t.ok(open.length < fit, 'one has at most half of what the others leave')
  const short = await s.ask('GET', '/console/api/short', { cookie: 'session=u10' })
  t.equal(short.status, 200, 'so that something is left for who has nothing')
})

t.test('who has nothing still gets an answer, however many have all that one may have', async t => {
  const shares = new Shares(UNREAD_BYTES)
  let had = 0
  for (let i = 0; i < 16; i++) {
    for (let bytes = UNREAD_BYTES.ofOne; bytes > 1024; bytes /= 2) {
      try {
        shares.take(`u${i}`, bytes)
        had += bytes
        break
      } catch {
        // less of it may fit
      }
    }
  }
  t.ok(had > UNREAD_BYTES.ofAll * 0.9, `they have ${had} bytes`)
  t.ok(had < UNREAD_BYTES.ofAll)
  t.throws(() => shares.take('late', UNREAD_BYTES.ofOne), { code: 'busy' })
  t.doesNotThrow(() => shares.take('late', 64 * 1024))
})

t.test('the only one there is may have an answer as large as all', async t => {
  t.doesNotThrow(() => new Shares(UNREAD_BYTES).take('u1', UNREAD_BYTES.ofAll))
  t.throws(() => new Shares(UNREAD_BYTES).take('u1', UNREAD_BYTES.ofAll + 1), { code: 'busy' })
})

t.test('an empty answer takes nothing, and giving it back ends no bound', async t => {
  const shares = new Shares(UNREAD_BYTES)
  const empty = shares.take('u1', 0)
  shares.take('u1', 10)()
  empty()
  shares.take('u1', UNREAD_BYTES.ofOne)
  t.throws(() => shares.take('u1', 1), { code: 'busy' })
})
