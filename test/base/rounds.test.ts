import t from 'tap'
import { Rounds } from '../../lib/base/rounds.ts'
import { TestClock } from '../support/clock.ts'

t.test('each round begins a while after the last has ended, and none after the stop', async t => {
  const clock = new TestClock()
  const ends: (() => void)[] = []
  const rounds = new Rounds(clock, 100, () => new Promise(resolve => ends.push(resolve)))
  rounds.start()
  clock.advance(99)
  t.equal(ends.length, 0)
  clock.advance(1)
  t.equal(ends.length, 1)
  clock.advance(1000)
  t.equal(ends.length, 1, 'while it lasts no other begins')
  ends[0]?.()
  await new Promise(setImmediate)
  clock.advance(100)
  t.equal(ends.length, 2)
  let stopped = false
  const stop = rounds.stop().then(() => (stopped = true))
  await new Promise(setImmediate)
  t.notOk(stopped, 'the round under way ends first')
  ends[1]?.()
  await stop
  clock.advance(1000)
  t.equal(ends.length, 2)
})

t.test('the pace may change from round to round', async t => {
  const clock = new TestClock()
  let everyMs = 100
  let count = 0
  const rounds = new Rounds(
    clock,
    () => everyMs,
    async () => void count++,
  )
  rounds.start()
  everyMs = 500
  clock.advance(100)
  await new Promise(setImmediate)
  clock.advance(499)
  t.equal(count, 1)
  clock.advance(1)
  t.equal(count, 2)
  await rounds.stop()
})
