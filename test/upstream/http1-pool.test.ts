import http from 'node:http'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildConnector, type Dispatcher } from 'undici'
import { Http1Pool } from '../../lib/upstream/http1-pool.ts'
import { TestClock } from '../support/clock.ts'
import { ask, listen, until } from './support.ts'

const OLDEST_MS = 10_000
const IDLE_MS = 30_000

function pool(t: Test, origin: string, connections: number, clock = new TestClock()): Http1Pool {
  const connect = buildConnector({ timeout: 2000, allowH2: false })
  const bounds = { maxHeaderBytes: 4096, connections, oldestMs: OLDEST_MS, idleMs: IDLE_MS }
  const made = new Http1Pool(origin, { connect, ...bounds, clock })
  t.teardown(() => made.destroy())
  return made
}

/** Answers each request when told to, or at once; `sockets` are those open now. */
async function upstream(t: Test, atOnce: boolean) {
  const owed: http.ServerResponse[] = []
  const sockets = new Set<Socket>()
  let made = 0
  const server = http.createServer((_req, res) => {
    if (atOnce) res.end('ok')
    else owed.push(res)
  })
  server.keepAliveTimeout = 0 // by itself it closes nothing
  server.on('connection', (socket: Socket) => {
    made++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const origin = `http://127.0.0.1:${await listen(t, server)}`
  return { origin, owed, sockets, made: () => made }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

t.test('what was used last serves next, and no more than allowed are opened', async t => {
  const { origin, made, sockets } = await upstream(t, true)
  const all = pool(t, origin, 4)
  const heard = await Promise.all(Array.from({ length: 50 }, () => ask(all, origin)))
  t.ok(heard.every(one => one.text === 'ok'))
  t.equal(made(), 4)
  await until(() => sockets.size === 4)
  const used = new Set<number | undefined>()
  for (const socket of sockets) socket.on('data', () => used.add(socket.remotePort))
  for (let i = 0; i < 10; i++) {
    await turn()
    await ask(all, origin)
  }
  t.equal(used.size, 1)
  t.equal(made(), 4)
})

t.test('a connection that is too old takes no more, in the midst of a stack as well', async t => {
  const { origin, made, sockets } = await upstream(t, true)
  const clock = new TestClock()
  const all = pool(t, origin, 3, clock)
  await Promise.all([ask(all, origin), ask(all, origin), ask(all, origin)])
  await turn()
  clock.advance(OLDEST_MS)
  await ask(all, origin)
  t.equal(made(), 3, 'not yet')
  await turn()
  clock.advance(1)
  t.equal((await ask(all, origin)).text, 'ok')
  t.equal(made(), 4)
  await until(() => sockets.size === 1)
})

t.test('connections that the upstream closes are made anew, as many as allowed', async t => {
  const { origin, made, sockets } = await upstream(t, true)
  const all = pool(t, origin, 3)
  for (let round = 1; round <= 3; round++) {
    const heard = await Promise.all([ask(all, origin), ask(all, origin), ask(all, origin)])
    t.ok(heard.every(one => one.text === 'ok'))
    t.equal(made(), 3 * round)
    await turn()
    for (const socket of sockets) socket.destroy()
    await until(() => sockets.size === 0)
    await turn()
    await turn()
  }
})

t.test('what cannot be sent does not take the connection with it', async t => {
  const { origin } = await upstream(t, true)
  const all = pool(t, origin, 1)
  const [bad, good] = await Promise.all([ask(all, origin, '/v1/x', ['x-a', 'b\r\nc']), ask(all, origin)])
  t.match(bad.error, { name: 'BadRequest' })
  t.equal(good.text, 'ok')
  t.match((await ask(all, origin, 'no path')).error, { name: 'BadRequest' })
  t.equal((await ask(all, origin)).text, 'ok')
})

t.test('who waits while nobody can be reached hears so, and is served when somebody can', async t => {
  const server = http.createServer((_req, res) => res.end('ok'))
  const port = await listen(t, server)
  await new Promise(resolve => server.close(resolve))
  const origin = `http://127.0.0.1:${port}`
  const all = pool(t, origin, 1)
  const heard = await Promise.all(Array.from({ length: 5 }, () => ask(all, origin)))
  t.strictSame(
    heard.map(one => (one.error as { code?: string } | null)?.code),
    Array.from({ length: 5 }, () => 'ECONNREFUSED'),
  )
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  t.equal((await ask(all, origin)).text, 'ok')
  server.close()
  server.closeAllConnections()
})

t.test('one that is cut makes room for who waits', async t => {
  const { origin, owed } = await upstream(t, false)
  const all = pool(t, origin, 1)
  let controller: Dispatcher.DispatchController | undefined
  const cut = new Promise<Error>(resolve => {
    all.dispatch(
      { origin, method: 'POST', path: '/', body: Buffer.from('{}') },
      {
        onRequestStart(given) {
          controller = given
        },
        onResponseStart() {},
        onResponseData() {},
        onResponseEnd() {},
        onResponseError: (_controller, error) => resolve(error),
      },
    )
  })
  const waiting = ask(all, origin)
  await until(() => owed.length === 1)
  controller?.abort(new Error('cut'))
  t.match(await cut, { message: 'cut' })
  await until(() => owed.length === 2)
  owed[1]?.end('ok')
  t.equal((await waiting).text, 'ok')
})

t.test('closed: who is served or waits is served, then nothing is left', async t => {
  const { origin, owed, sockets } = await upstream(t, false)
  const all = pool(t, origin, 1)
  const asked = [ask(all, origin), ask(all, origin)]
  await until(() => owed.length === 1)
  await all.close()
  owed[0]?.end('one')
  await until(() => owed.length === 2)
  owed[1]?.end('two')
  t.strictSame(
    (await Promise.all(asked)).map(one => one.text),
    ['one', 'two'],
  )
  await until(() => sockets.size === 0)
})

t.test('destroyed: who is served or waits hears an error, and nothing is left', async t => {
  const { origin, owed, sockets } = await upstream(t, false)
  const all = pool(t, origin, 1)
  const asked = [ask(all, origin), ask(all, origin)]
  await until(() => owed.length === 1)
  await all.destroy()
  for (const { error } of await Promise.all(asked)) t.match(error, { name: 'OtherSideClosed' })
  await until(() => sockets.size === 0)
})
