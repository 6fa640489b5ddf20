/** Proxies that behave and such that do not, as the relay's handlers see them. */
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import t from 'tap'
import { answerer, ask, certificate, listen, pools, proxies, until, way } from './support.ts'

/** After this a proxy that says nothing is given up; the others fail by what they do, whenever that is. */
const SOON_MS = 200

/** More than the systems' buffers on the way take, which grow to tens of megabytes. */
const ENDLESS = 1024 ** 3
/** More than what is on the way inside of a process that takes no more. */
const FEW = 8 * 1024 ** 2

t.test('a proxy that refuses the credentials: an error, not an answer', async t => {
  const plain = `http://127.0.0.1:${await listen(t, http.createServer(answerer()))}`
  const refusing = http.createServer((_req, res) => res.writeHead(407).end('who are you?'))
  const proxy = `http://user:hunter2@127.0.0.1:${await listen(t, refusing)}`
  const events: string[] = []
  const all = pools(t)
  await new Promise<void>(resolve => {
    const after = () => setTimeout(resolve, 50)
    all.of(way(plain, { proxy })).dispatch(
      { origin: plain, method: 'POST', path: '/', headers: [], body: Buffer.from('{}') },
      {
        onRequestStart() {},
        onResponseStart: (_c, status) => void events.push(`head ${status}`),
        onResponseData: () => void events.push('data'),
        onResponseEnd: () => {
          events.push('end')
          after()
        },
        onResponseError: (_c, error) => {
          events.push('error')
          t.match(error.message, /407/)
          t.notMatch(`${error.stack} ${JSON.stringify(error)}`, /hunter2/)
          after()
        },
      },
    )
  })
  // undici hands on the rest of the refusal, which an attempt that has failed does not look at
  t.equal(events[0], 'error')
  t.notOk(events.some(event => event.startsWith('head')))
})

t.test('an answer is paused, resumed and aborted as without a proxy', async t => {
  const own = certificate(t)
  let size = ENDLESS
  let sent = 0
  let closed = 0
  const pour = (_req: unknown, res: http.ServerResponse) => {
    sent = 0
    size = ENDLESS
    res.on('close', () => closed++)
    const more = () => {
      while (sent < size) {
        sent += 65536
        if (!res.write(Buffer.alloc(65536))) return void res.once('drain', more)
      }
      res.end()
    }
    more()
  }
  const plain = `http://127.0.0.1:${await listen(t, http.createServer(pour))}`
  const tls = `https://127.0.0.1:${await listen(t, https.createServer(own, pour))}`
  for (const [name, proxy] of Object.entries(await proxies(t, own)))
    for (const origin of [plain, tls])
      for (const abort of [false, true]) {
        const what = `${name} to ${origin}, ${abort ? 'aborted' : 'resumed'}`
        const all = pools(t)
        closed = 0
        let got = 0
        let stopped = 0
        let control: { pause(): void; resume(): void; abort(reason: Error): void } | undefined
        const ended = new Promise<string>(resolve =>
          all.of(way(origin, { proxy, ca: own.cert })).dispatch(
            { origin, method: 'POST', path: '/', headers: [], body: Buffer.from('{}') },
            {
              onRequestStart() {},
              onResponseStart: controller => {
                control = controller
                controller.pause()
              },
              onResponseData: (_controller, chunk) => void (got += chunk.length),
              onResponseEnd: () => resolve('end'),
              onResponseError: (_controller, error) => resolve(error.message),
            },
          ),
        )
        await until(() => control !== undefined && sent > 0)
        let before = -1 // until the buffers on the way are full
        await until(() => {
          const same = before === sent
          before = sent
          return same
        }, 100)
        stopped = sent
        t.ok(stopped < size && got < FEW, `${what}: held back at ${stopped}, ${got} got`)
        if (abort) control?.abort(new Error('enough'))
        else {
          size = sent
          control?.resume()
        }
        t.equal(await ended, abort ? 'enough' : 'end', what)
        await until(() => closed === 1)
        if (!abort) t.equal(got, size, what)
        await all.destroy()
      }
})

t.test('a proxy that is silent, hangs up or talks nonsense is an error soon', async t => {
  const own = certificate(t)
  const behave: Record<string, (socket: net.Socket) => void> = {
    silent: () => {},
    'hangs up': socket => socket.destroy(),
    'hangs up when asked': socket => void socket.once('data', () => socket.end()),
    nonsense: socket => void socket.write('220 mail.example ESMTP\r\n'),
    'half an answer': socket => void socket.once('data', () => socket.end(Buffer.from([5]))),
  }
  for (const [name, behaviour] of Object.entries(behave)) {
    let open = 0
    const server = net.createServer(socket => {
      open++
      socket.on('close', () => open--).on('error', () => {})
      socket.resume()
      behaviour(socket)
    })
    const port = await listen(t, server)
    for (const scheme of ['http', 'https', 'socks5']) {
      const connection = way('https://upstream.example', {
        proxy: `${scheme}://u:hunter2@127.0.0.1:${port}`,
        ca: own.cert,
      })
      const all = pools(t, undefined, SOON_MS)
      const heard = await ask(all.of(connection), connection.origin)
      t.ok(heard.error, `${scheme} ${name}: ${heard.error?.message}`)
      t.notMatch(`${heard.error?.stack} ${JSON.stringify(heard.error)}`, /hunter2/)
      await all.destroy()
      await until(() => open === 0)
    }
  }
})
