/** An end of which one step fails: the rest of it is done all the same, so that the journal is given back and the store is closed. */
import { Writable } from 'node:stream'
import t from 'tap'
import { createLogger } from '../../lib/base/log.ts'
import { loadConfig } from '../../lib/config/config.ts'
import { Gateway } from '../../lib/process/gateway.ts'
import { Metrics } from '../../lib/terms/metrics.ts'
import { memoryStore } from '../support/store.ts'

t.test('ledger and store are stopped although a step of the shutdown before them fails', async t => {
  const folder = t.testdir({ 'gateway.yaml': JSON.stringify({ admin_token: 'admin-token-for-tests' }) })
  const config = { ...loadConfig(`${folder}/gateway.yaml`, {}), journal: `${folder}/journal` }
  const log = createLogger('fatal', new Writable({ write: (_chunk, _encoding, done) => done() }))
  const gateway = await Gateway.start(config, log, new Metrics(), await memoryStore())
  const { refusals } = gateway.services
  const stop = refusals.stop.bind(refusals)
  refusals.stop = async () => {
    await stop()
    throw new Error('a fault')
  }
  await t.rejects(gateway.drain(0), { message: 'a fault' })
  // whoever opens the same journal now finds it free
  const next = await Gateway.start(config, log, new Metrics(), await memoryStore())
  await next.drain(0)
  await t.rejects(gateway.store.changes.seq(), 'the store is closed')
})
