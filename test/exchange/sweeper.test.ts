import t from 'tap'
import { Sweeper } from '../../lib/exchange/record/sweeper.ts'
import type { Swept } from '../../lib/exchange/record/exchange.ts'
import { TestClock } from '../support/clock.ts'

class Entry implements Swept {
  previous: Swept | null = null
  next: Swept | null = null
  checks: number[] = []
  onCheck: () => void = () => {}

  check(now: number): void {
    this.checks.push(now)
    this.onCheck()
  }

  stop(): void {}
}

t.test('each entry is asked at every tick, and may leave while it is asked', async t => {
  const clock = new TestClock()
  const sweeper = new Sweeper(clock)
  sweeper.setShortest([800, 0])
  const [a, b, c] = [new Entry(), new Entry(), new Entry()]
  for (const entry of [a, b, c]) sweeper.add(entry)
  b.onCheck = () => sweeper.remove(b)
  clock.advance(300)
  t.same(a.checks, [100, 200, 300])
  t.same(b.checks, [100])
  t.same(c.checks, [100, 200, 300])
  t.equal(sweeper.size, 2)
})

t.test('without entries nothing ticks; removing twice is nothing', async t => {
  const clock = new TestClock()
  const sweeper = new Sweeper(clock)
  const [a, b] = [new Entry(), new Entry()]
  sweeper.add(a)
  sweeper.add(b)
  sweeper.remove(a)
  sweeper.remove(a)
  sweeper.remove(b)
  t.equal(sweeper.size, 0)
  clock.advance(10_000)
  t.same([a.checks, b.checks], [[], []])
  sweeper.add(a)
  clock.advance(1000)
  t.equal(a.checks.length, 1)
})

t.test('the tick follows the shortest time-out, within bounds', async t => {
  for (const [timeouts, ticks] of [
    [[100], 80],
    [[50], 100],
    [[8000], 1],
    [[0], 1],
  ] as [number[], number][]) {
    const clock = new TestClock()
    const sweeper = new Sweeper(clock)
    sweeper.setShortest(timeouts)
    const entry = new Entry()
    sweeper.add(entry)
    clock.advance(1000)
    t.equal(entry.checks.length, ticks, `${timeouts}`)
  }
})
