/** Who stops a gateway in the middle of an audit of large books must not wait for it: meanwhile it would take new requests. */
// The bug behind these rows: an end that waits for an audit.
import t from 'tap'
import { Housekeeping } from '../../lib/process/housekeeping.ts'
import type { Store } from '../../lib/store/store.ts'
import type { Logger } from '../../lib/base/log.ts'
import { TestClock } from '../support/clock.ts'
import { turn } from '../support/wait.ts'

t.test('an audit under way holds up no end, and is no failure when its store is closed', async t => {
  const clock = new TestClock()
  const logged: string[] = []
  const log = { error: (_: object, text: string) => logged.push(text) } as unknown as Logger
  let cutOff = (_: Error): void => {}
  const audit = () => new Promise((_, reject) => (cutOff = reject))
  const keeper = new Housekeeping({
    store: { audit } as unknown as Store,
    clock,
    log,
    retentionMs: () => 0,
    addressesMs: () => 0,
    setAside: () => ({ settlements: 0, unreadable: 0, journals: 0 }),
    pay: { byHand: 0 },
  })
  keeper.start()
  clock.advance(60_000)
  const stopped = await Promise.race([Promise.resolve(keeper.stop()).then(() => true), turn().then(() => false)])
  t.equal(stopped, true)
  cutOff(new Error('the connection was closed'))
  await turn()
  t.same(logged, [])
})
