/** What gateways learn of models, and the right to an uncovered request: one store, several gateways. */
import type { Test } from 'tap'
import type { Store } from '../../lib/store/store.ts'
import type { ModelSeries } from '../../lib/store/shared-state.ts'

interface Pair {
  one: Store
  two: Store
}
type Check = (name: string, fn: (t: Test, pair: Pair) => Promise<void>) => void

const row = (change: Partial<ModelSeries> = {}): ModelSeries => ({
  model: 'm',
  series: 'open',
  figure: null,
  thinks: false,
  ...change,
})

export function statsSuite(check: Check): void {
  check('what is known of models: kept, and changed by one process at a time', async (t, { one, two }) => {
    t.same(await one.modelStats.all(), [])
    t.same(await one.modelStats.samples('m', 'open'), { version: 0, samples: '' })
    t.equal(await one.modelStats.swap(row(), 0, 'a'), true)
    t.equal(await two.modelStats.swap(row(), 0, 'b'), false, 'another was first')
    t.same(await two.modelStats.samples('m', 'open'), { version: 1, samples: 'a' })
    t.equal(await two.modelStats.swap(row({ figure: 7, thinks: true }), 1, 'a b'), true)
    t.equal(await one.modelStats.swap(row(), 1, 'c'), false)
    t.equal(await one.modelStats.swap(row({ series: 'high', figure: 20_000 }), 0, 'x'), true)
    t.same(await one.modelStats.samples('m', 'open'), { version: 2, samples: 'a b' })
    t.same(
      (await one.modelStats.all()).sort((a, b) => (a.series < b.series ? -1 : 1)),
      [row({ series: 'high', figure: 20_000 }), row({ figure: 7, thinks: true })],
    )
  })

  check('the right to an uncovered request: one an account, over all gateways', async (t, { one, two }) => {
    const LONG = 3_600_000
    t.equal(await one.uncovered.take(1, 'a', LONG), true)
    t.equal(await two.uncovered.take(1, 'b', LONG), false)
    t.equal(await one.uncovered.take(1, 'c', LONG), false)
    t.equal(await two.uncovered.take(2, 'b', LONG), true, 'another account has its own')
    await two.uncovered.giveBack(1, 'b')
    t.equal(await two.uncovered.take(1, 'b', LONG), false, 'nobody gives what is not his')
    await one.uncovered.giveBack(1, 'a')
    await one.uncovered.keep(['a'], LONG)
    t.equal(await two.uncovered.take(1, 'd', 0), true, 'it was given back')
    t.equal(await one.uncovered.take(1, 'e', 0), true, 'that of a dead process has ended')
    await one.uncovered.keep(['e', 'f'], LONG)
    t.equal(await two.uncovered.take(1, 'g', LONG), false, 'it was prolonged')
    const taken = await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 ? one : two).uncovered.take(3, `t${i}`, LONG)),
    )
    t.equal(taken.filter(Boolean).length, 1, 'of many at once one has it')
  })
}
