import t from 'tap'
import type { Clock } from '../../../lib/base/clock.ts'
import { LoopLag } from '../../../lib/exchange/listener/server.ts'

t.test('lag is how late the sample comes, and fades', async t => {
  let now = 0
  let sample = () => {}
  const clock: Clock = {
    now: () => 0,
    monotonic: () => now,
    soon: fn => fn(),
    after: (_ms, fn) => {
      sample = fn
      return () => {}
    },
  }
  const lag = new LoopLag(clock)
  lag.start()
  const rows: [passedMs: number, want: number][] = [
    [50, 0],
    [250, 200],
    [50, 160],
    [51, 128],
    [550, 500],
  ]
  for (const [passed, want] of rows) {
    now += passed
    sample()
    t.equal(Math.round(lag.ms), want)
  }
})
