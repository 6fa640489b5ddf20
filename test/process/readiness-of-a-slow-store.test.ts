/** `/readyz` said 503 while the store was away, which took every gateway that still served out of its balancer. */
// The bug behind these rows: not ready although it serves.
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KEY, stallAfter, startGateway } from '../support/gateway.ts'
import { startMariadb } from '../support/mariadb.ts'

/** They only end a test that waits in vain. */
const TRIES = 1000

const server = await startMariadb()
t.teardown(() => server.stop())

for (const workers of [1, 2])
  t.test(`workers: ${workers}`, async t => {
    const gateway = await startGateway({ config: { workers, store: await server.database(`ready${workers}`) } })
    t.teardown(() => gateway.stop())
    const ready = async () => {
      const answer = await fetch(`${gateway.ops}/readyz`)
      return { status: answer.status, ...((await answer.json()) as { store: string; reason?: string }) }
    }
    const becomes = async (status: number, store: string) => {
      let now = await ready()
      for (let tries = 0; tries < TRIES && (now.status !== status || now.store !== store); tries++) {
        await sleep(50)
        now = await ready()
      }
      return now
    }
    const ask = async () => {
      const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }),
      })
      await answer.text()
      return answer.status
    }
    /** One worker says that it is ready, and another one, which may be asked, may not have noticed yet that the store is back. */
    const served = async () => {
      let status = await ask()
      for (let tries = 0; tries < TRIES && status === 503; tries++) {
        await sleep(50)
        status = await ask()
      }
      return status
    }
    t.match(await ready(), { status: 200, ready: true, store: 'ok' })
    await server.halt()
    t.match(
      await becomes(503, 'away'),
      { status: 503, reason: 'the store is away and nothing is leased' },
      'nothing could be served',
    )
    await server.start()
    t.match(await becomes(200, 'ok'), { status: 200 })
    t.equal(await served(), 200)
    await server.halt()
    t.match(await becomes(200, 'away'), { status: 200, ready: true }, 'what is leased can be spent')
    await server.start()
    t.match(await becomes(200, 'ok'), { status: 200 })

    // an open answer keeps it draining
    const { hostname, port } = new URL(gateway.main)
    const client = net.connect(Number(port), hostname)
    t.teardown(() => client.destroy())
    const body = JSON.stringify({
      model: 'beta-4.7',
      stream: true,
      messages: [{ role: 'user', content: `[[sim tokens=100 ${stallAfter(4)}]]` }],
    })
    client.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await new Promise(resolve => client.once('data', resolve))
    gateway.child.kill('SIGTERM')
    t.match(await becomes(503, 'ok'), { status: 503, reason: 'draining' })
    let code = ''
    // one that comes while the sockets are being closed is reset by the kernel, or closed by a worker that had not heard yet
    for (let tries = 0; tries < 100 && code !== 'ECONNREFUSED'; tries++) {
      const late = net.connect(Number(port), hostname).resume()
      code = 'CLOSED'
      late.on('error', (error: NodeJS.ErrnoException) => (code = error.code ?? ''))
      await once(late, 'close').catch(() => {})
      t.match(code, /^(ECONN(REFUSED|RESET)|CLOSED)$/, 'nobody is let in')
    }
    t.equal(code, 'ECONNREFUSED', 'new connections are refused from the signal on')
  })
