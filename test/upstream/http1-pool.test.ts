import http from 'node:http'
import net, { type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Dispatcher } from 'undici'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { direct } from '../../lib/upstream/dial.ts'
import { Http1Pool } from '../../lib/upstream/http1-pool.ts'
import { TestClock } from '../support/clock.ts'
import { ask, listen, until } from './support.ts'

const OLDEST_MS = 10_000
const IDLE_MS = 30_000

function pool(t: Test, origin: string, connections: number, clock: Clock = new TestClock()): Http1Pool {
  const dial = direct({ timeoutMs: 2000 })
  const bounds = { maxHeaderBytes: 4096, connections, oldestMs: OLDEST_MS, idleMs: IDLE_MS }
  const made = new Http1Pool(origin, { dial, ...bounds, clock })
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

t.test('an upstream that closes after each answer without saying so loses no request', async t => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const server = net.createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(answer))
  })
  const origin = `http://127.0.0.1:${await listen(t, server)}`
  const all = pool(t, origin, 1, systemClock)
  const inLine = await Promise.all(Array.from({ length: 40 }, () => ask(all, origin)))
  t.strictSame(
    inLine.filter(one => one.text !== 'ok').map(one => one.error),
    [],
    'who waits in line',
  )
  for (let i = 0; i < 40; i++) t.equal((await ask(all, origin)).text, 'ok', 'at once after the end of another')
})

t.test(
  'a request on a connection that has been idle for a turn is written at the end of its own turn, on one that was just used a turn later',
  async t => {
    const { origin } = await upstream(t, true)
    const due: (() => void)[] = []
    const all = pool(t, origin, 1, { ...systemClock, soon: fn => void due.push(fn) })
    /** Ends a turn of the pool's loop: what is planned meanwhile belongs to the next. */
    const end = () => {
      for (const fn of due.splice(0)) fn()
    }
    const asked = () => {
      let isOver = false
      void ask(all, origin).then(() => (isOver = true))
      return () => isOver
    }
    const first = asked()
    end()
    await until(first)
    const atOnce = asked()
    end()
    await turn()
    t.equal(due.length, 2, 'it waits for another turn, beside the look at what was used')
    end()
    await until(atOnce)
    end()
    end()
    const later = asked()
    end()
    t.equal(due.length, 0, 'it is written')
    await until(later)
  },
)

t.test('an answer that is held back is told whole, although its connection has closed meanwhile', async t => {
  const heads = {
    'to the end': 'HTTP/1.1 200 OK\r\n\r\n',
    'with a length': 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n',
    'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n',
  }
  for (const [name, head] of Object.entries(heads))
    for (const where of ['head', 'data', 'soon after data']) {
      const text = `${head}0123456789${name === 'in chunks' ? '\r\n0\r\n\r\n' : ''}`
      const server = net.createServer(socket => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end(text))
      })
      const origin = `http://127.0.0.1:${await listen(t, server)}`
      const all = pool(t, origin, 1, systemClock)
      let heard = ''
      const error = await new Promise<Error | null>(resolve => {
        const hold = (controller: Dispatcher.DispatchController) => {
          controller.pause()
          setTimeout(() => controller.resume(), 30)
        }
        all.dispatch(
          { origin, method: 'POST', path: '/', body: Buffer.from('{}') },
          {
            onRequestStart() {},
            onResponseStart: controller => void (where === 'head' && hold(controller)),
            onResponseData(controller, chunk) {
              heard += chunk
              if (where === 'data') hold(controller)
              else if (where !== 'head') queueMicrotask(() => hold(controller))
            },
            onResponseEnd: () => resolve(null),
            onResponseError: (_controller, failure) => resolve(failure),
          },
        )
      })
      t.equal(error, null, `${name}, held back at ${where}: ${error?.message}`)
      t.equal(heard, '0123456789')
    }
})

t.test('a connection that is idle for too long is closed, and nothing wakes the process before', async t => {
  const server = http.createServer((req, res) => {
    if (req.url === '/short') res.setHeader('keep-alive', 'timeout=7')
    res.end('ok')
  })
  server.keepAliveTimeout = 0
  let open = 0
  server.on('connection', socket => {
    open++
    socket.on('close', () => open--)
  })
  const origin = `http://127.0.0.1:${await listen(t, server)}`
  let woken = 0
  class Watched extends TestClock {
    override after(ms: number, fn: () => void): () => void {
      return super.after(ms, () => {
        woken++
        fn()
      })
    }
  }
  const clock = new Watched()
  const all = pool(t, origin, 3, clock)
  await Promise.all([ask(all, origin), ask(all, origin), ask(all, origin, '/short')])
  t.equal(open, 3)
  clock.advance(4_999)
  t.equal(woken, 0)
  clock.advance(1)
  await until(() => open === 2)
  clock.advance(IDLE_MS - 5_001)
  t.equal(woken, 1, 'for the one that its upstream would have closed two seconds later')
  t.equal(open, 2)
  clock.advance(1)
  await until(() => open === 0)
  t.equal(woken, 2)
  t.equal(clock.timers, 0)
})

t.test('while somebody waits an old connection is not used again either', async t => {
  const { origin, made } = await upstream(t, true)
  const clock = new TestClock()
  const all = pool(t, origin, 1, clock)
  const asked = Array.from({ length: 5 }, () => ask(all, origin).then(() => clock.advance(OLDEST_MS + 1)))
  await Promise.all(asked)
  t.equal(made(), 3, 'each carried the one that was next in line when the time had not come')
})

t.test('who gave up while waiting costs no connection', async t => {
  const { origin, owed, made } = await upstream(t, false)
  const all = pool(t, origin, 1)
  const first = ask(all, origin)
  await until(() => owed.length === 1)
  const gone: Promise<Error>[] = Array.from(
    { length: 5 },
    () =>
      new Promise(resolve => {
        all.dispatch(
          { origin, method: 'POST', path: '/', body: Buffer.from('{}') },
          {
            onRequestStart: controller => controller.abort(new Error('given up')),
            onResponseStart() {},
            onResponseData() {},
            onResponseEnd() {},
            onResponseError: (_controller, error) => resolve(error),
          },
        )
      }),
  )
  const last = ask(all, origin)
  owed[0]?.end('ok')
  t.equal((await first).text, 'ok')
  for (const error of await Promise.all(gone)) t.match(error, { message: 'given up' })
  await until(() => owed.length === 2)
  owed[1]?.end('ok')
  t.equal((await last).text, 'ok')
  t.equal(made(), 1)
})

t.test('destroyed while requests are on their way and being tried again: all hear an error', async t => {
  const { origin, made } = await upstream(t, true)
  const all = pool(t, origin, 1, systemClock)
  await ask(all, origin)
  await turn()
  const asked = [ask(all, origin), ask(all, origin).then(() => ask(all, origin))]
  await all.destroy()
  for (const { error } of await Promise.all(asked)) t.match(error, { name: 'OtherSideClosed' })
  t.equal(made(), 1)
})
