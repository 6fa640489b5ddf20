import t from 'tap'
import type { Clock } from '../../../lib/base/clock.ts'
import { LoopLag } from '../../../lib/exchange/listener/server.ts'
import { TestClock } from '../../support/clock.ts'

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
  t.equal(lag.ms, 0)
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

t.test('nothing is measured while nobody asks', async t => {
  const clock = new TestClock()
  const lag = new LoopLag(clock)
  clock.advance(10_000)
  t.equal(clock.timers, 0, 'no timer before the first question')
  t.equal(lag.ms, 0)
  clock.advance(1000)
  t.equal(clock.timers, 1, 'measured after it')
  clock.advance(5000)
  t.equal(clock.timers, 0, 'and no more some seconds later')
})
