import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { startMariadb } from '../support/mariadb.ts'
import { fillAndKill, LIMIT } from './open-requests.ts'

const limits = { concurrency: LIMIT }

t.test('limits.concurrency over two workers, which are killed', async t => {
  const gateway = await startGateway({ config: { workers: 2, limits } })
  t.teardown(() => gateway.stop())
  await fillAndKill(t, [gateway])
})

t.test('limits.concurrency over two gateways on one MariaDB, of two workers each, which are killed', async t => {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  const config = { store: server.url, workers: 2, limits }
  const gateways = [await startGateway({ config }), await startGateway({ config })]
  t.teardown(async () => void (await Promise.all(gateways.map(gateway => gateway.stop()))))
  await fillAndKill(t, gateways)
})
