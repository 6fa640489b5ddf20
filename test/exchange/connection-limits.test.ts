/** A client that opens as many connections as there are files stops neither the store, the journal nor other clients. */
// The bug behind these rows: connections without end.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import t from 'tap'
import { boundConnections, Connections, mostConnections } from '../../lib/exchange/listener/connections.ts'
import { open } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'
import { until } from '../support/wait.ts'

t.test('clients have a part of the files of the process', async t => {
  const limits = (files: string) =>
    `Max cpu time   unlimited   unlimited\nMax open files            ${files}  4096  files\n`
  t.equal(mostConnections(limits('1064')), 500)
  t.equal(mostConnections(limits('10')), 1)
  t.equal(mostConnections(limits('unlimited')), Number.POSITIVE_INFINITY)
  t.equal(mostConnections(''), Number.POSITIVE_INFINITY)
})

t.test('the oldest that are silent make room', async t => {
  const all = new Connections(4)
  const asked = new WeakSet<net.Socket>()
  const server = http.createServer((req, res) => {
    asked.add(req.socket)
    res.end('hello')
  })
  let told = 0
  boundConnections(
    server,
    socket => asked.has(socket),
    () => told++,
    all,
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  const say = async () => {
    const [res] = (await once(http.get({ port, agent }), 'response')) as [http.IncomingMessage]
    res.resume()
    await once(res, 'end')
    return res.statusCode
  }
  t.equal(await say(), 200)
  const silent: net.Socket[] = []
  for (let i = 0; i < 20; i++) {
    const socket = net.connect(port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    silent.push(socket)
  }
  const gone = () => silent.filter(socket => socket.destroyed).length
  await until('as many are left as there may be', () => all.open === 4 && gone() === 17)
  t.same(
    silent.map(socket => socket.destroyed),
    silent.map((_, i) => i < 17),
  )
  t.equal(await say(), 200, 'who had asked is there still')
  t.equal((await fetch(`http://127.0.0.1:${port}`)).status, 200, 'and who comes now is served')
  t.same(all.refused, { limit: 18, system: 0, pipelined: 0 })
  t.equal(told, 18)
  for (const socket of silent) socket.destroy()
  await until('only those are left that have asked', () => all.open <= 2)
  t.ok(all.silent.size <= 2)
})

t.test('where all have asked, those that are idle go', async t => {
  const all = new Connections(3)
  const server = http.createServer((_, res) => res.end('hello'))
  boundConnections(
    server,
    () => true,
    () => {},
    all,
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  for (let i = 0; i < 10; i++) {
    const agent = new http.Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const answered = await once(http.get({ port, agent }), 'response').then(
      ([res]) => res.resume().statusCode,
      () => 'cut',
    )
    if (answered === 'cut') t.ok(i > 0)
  }
  await until('there are no more than may be', () => all.open <= 3)
})

t.test('a connection that the system could not accept ends nothing', async t => {
  const s = await open(t)
  for (const server of s.servers) server.emit('error', Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS' }))
  t.equal(s.logged.filter(line => line['msg'] === 'a connection was not accepted').length, s.servers.length)
  const client = s.ask(document())
  answers(100, 10)(await s.at('a').call())
  t.equal(await client.end(), 'whole')
})

t.test('no socket for an upstream is no fault of the upstream', async t => {
  const s = await open(t)
  const { of } = s.services.pools
  s.services.pools.of = () => ({
    dispatch: () => {
      throw Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' })
    },
    close: async () => {},
    destroy: async () => {},
  })
  for (let i = 0; i < 20; i++) {
    const client = s.ask(document())
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 502)
  }
  s.services.pools.of = of
  t.equal(s.state('a'), 'closed')
})
