import t from 'tap'
import { SlidingCount } from '../../lib/base/sliding-count.ts'
import { seeded } from '../support/random.ts'

t.test('counts the tenth of the window that runs, and the nine before', async t => {
  const random = seeded(t).next
  for (let round = 0; round < 50; round++) {
    const count = new SlidingCount(10_000)
    let times: number[] = []
    let now = Math.floor(random() * 1e9)
    for (let i = 0; i < 300; i++) {
      now += Math.floor(random() ** 6 * 15_000)
      if (random() < 0.02) {
        count.clear()
        times = []
      }
      if (random() < 0.7) {
        count.add(now)
        times.push(now)
      }
      const want = times.filter(time => Math.floor(time / 1000) > Math.floor(now / 1000) - 10).length
      if (count.sum(now) !== want) t.fail(`round ${round}: ${count.sum(now)}, not ${want}`)
    }
  }
  t.pass('50 rounds')
})
