import t from 'tap'
import { readinessOf } from '../../lib/process/gateway.ts'
import { StoreHealth } from '../../lib/store/health.ts'
import { TestClock } from '../support/clock.ts'

const PINGS = {
  ok: () => Promise.resolve(),
  away: () => Promise.reject(new Error('away')),
  silent: () => new Promise<never>(() => {}),
}

t.test('ready is who can serve a new request, be it from memory', async t => {
  const rows: [store: keyof typeof PINGS, accepting: boolean, hasLeases: boolean, draining: boolean, answer: object][] =
    [
      ['ok', true, false, false, { ready: true, store: 'ok' }],
      ['ok', true, true, true, { ready: false, store: 'ok', reason: 'draining' }],
      ['ok', false, true, false, { ready: false, store: 'ok', reason: 'the ledger takes no new requests' }],
      ['away', true, true, false, { ready: true, store: 'away' }],
      ['away', true, false, false, { ready: false, store: 'away', reason: 'the store is away and nothing is leased' }],
      ['away', false, true, false, { ready: false, store: 'away', reason: 'the ledger takes no new requests' }],
      ['silent', true, true, false, { ready: true, store: 'away' }],
    ]
  for (const [store, accepting, hasLeases, draining, answer] of rows) {
    const clock = new TestClock()
    const health = new StoreHealth({ store: { ping: PINGS[store] }, clock })
    const parts = { ledger: { accepting, hasLeases, health } }
    const asked = readinessOf(parts, () => draining)
    if (store === 'silent') clock.advance(1000)
    t.same(await asked, answer, `${store} ${accepting} ${hasLeases} ${draining}`)
  }
})
