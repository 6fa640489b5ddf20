/** What a start leaves in memory is given back once, when nobody notices that the process stops for it. */
// words that people search for: idle memory, RSS, garbage collection, gc pause, heap after start
import t from 'tap'
import { collectGarbage, collectWhenQuiet } from '../../lib/process/leftovers.ts'
import { TestClock } from '../support/clock.ts'

t.test('what nothing refers to is gone, and V8 is left without the function that collects', t => {
  const kept = { text: 'kept' }
  const refs = [new WeakRef(kept), new WeakRef({ text: 'dropped' })]
  setImmediate(() => {
    collectGarbage()
    t.same(
      refs.map(ref => ref.deref()?.text),
      ['kept', undefined],
    )
    t.equal((globalThis as { gc?: unknown }).gc, undefined)
    t.equal(kept.text, 'kept')
    t.end()
  })
})

t.test('it is collected once, in the first quiet time', t => {
  const clock = new TestClock()
  let open = 0
  let share = 0
  let collected = 0
  const worked = () => ({ idle: 0, active: 0, utilization: share })
  collectWhenQuiet({ clock, openCount: () => open, worked, collect: () => collected++ })
  const rows: [string, open: number, share: number, collected: number][] = [
    ['a request is open', 1, 0, 0],
    ['none is open, but many have been answered', 0, 0.3, 0],
    ['both', 2, 0.9, 0],
    ['quiet', 0, 0.01, 1],
    ['quiet for longer', 0, 0, 1],
  ]
  for (const [name, openNow, shareNow, expected] of rows) {
    open = openNow
    share = shareNow
    clock.advance(500)
    t.equal(collected, expected, name)
  }
  t.equal(clock.timers, 0)
  t.end()
})
