/** The console's API as a real process serves it, and what a drain knows of it. */
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import type { Console } from '../../lib/console/console.ts'
import type { Services } from '../../lib/exchange/record/services.ts'
import { consoleVisits } from '../../lib/process/gateway.ts'
import { liveIn } from '../console/support/live.ts'
import { startGateway } from '../support/gateway.ts'

t.test('in a worker, beside the API of models and apart from it', async t => {
  const gateway = await startGateway({ config: { workers: 2 } })
  t.teardown(() => gateway.stop())
  const document = await fetch(`${gateway.main}/console/openapi.json`)
  t.equal(document.status, 200)
  t.match(await document.json(), { openapi: '3.1.0' })
  t.equal((await fetch(`${gateway.direct}/console/openapi.json`)).status, 404, 'only on the main address')
  t.match(await (await fetch(`${gateway.main}/console/api/nothing`)).json(), { error: { code: 'no_such_call' } })

  const preflight = await fetch(`${gateway.main}/console/api/nothing`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
  })
  t.equal(preflight.status, 404)
  t.equal(preflight.headers.get('access-control-allow-origin'), null, 'no other site may read what the console answers')

  const answer = await absolute(gateway.main, '/console/openapi.json')
  t.match(answer, /^HTTP\/1.1 404 /, 'a proxy names the console by its path')

  const owner = await liveIn(t, gateway, 'rich', 'owner')
  for (const headers of [{ cookie: owner.cookie }, { authorization: owner.authorization }])
    t.match(
      await (await fetch(`${gateway.main}/console/api/accounts/${owner.account}/balance`, { headers })).json(),
      { balance: '1000.000000', held: '0.000000' },
      'held money is summed over all workers by the primary',
    )

  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text()
  t.match(metrics, 'gateway_console_requests_total{operation="document.read",status="200"} 1\n')
  t.match(metrics, 'gateway_console_requests_total{operation="none",status="404"} 2\n')
  t.notMatch(metrics, /gateway_requests_total\{[^}]*status="200"/, 'they are no requests for models')
})

/** Asks with the whole address in the request line, as a proxy is asked. */
function absolute(main: string, path: string): Promise<string> {
  const { hostname, port } = new URL(main)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET http://console.example${path} HTTP/1.1\r\nhost: console.example\r\nconnection: close\r\n\r\n`),
    )
    socket.on('data', data => (text += data)).on('end', () => resolve(text))
    socket.on('error', reject)
  })
}

t.test('a drain waits for calls of the console, and their answers close the connection', async t => {
  const services = { openCount: 0, draining: false } as Services
  const visits = consoleVisits(
    services,
    { serve: (req: IncomingMessage) => req.url === '/console/api' } as unknown as Console,
    req => req.url === '/pay/alipay',
  )
  const visit = (url: string) => {
    const res = Object.assign(new EventEmitter(), { shouldKeepAlive: true })
    const taken = visits({ url } as IncomingMessage, res as unknown as ServerResponse)
    return { taken, res }
  }
  const first = visit('/console/api')
  t.match(first, { taken: true, res: { shouldKeepAlive: true } })
  t.equal(services.openCount, 1)
  t.equal(visit('/v1/models').taken, false)
  const callback = visit('/pay/alipay')
  t.equal(callback.taken, true)
  t.equal(services.openCount, 2)
  callback.res.emit('close')
  t.equal(services.openCount, 1, 'requests for models count by themselves')
  services.draining = true
  const second = visit('/console/api')
  t.equal(second.res.shouldKeepAlive, false)
  first.res.emit('close')
  second.res.emit('close')
  t.equal(services.openCount, 0)
})
