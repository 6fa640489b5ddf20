import t from 'tap'
import { median, quantile } from '../../bench/report/statistics.ts'

t.test('a quantile is a value that was seen, by nearest rank', async t => {
  const thousand = Array.from({ length: 1000 }, (_, i) => i + 1)
  t.equal(quantile(thousand, 0.5), 500)
  t.equal(quantile(thousand, 0.99), 990)
  t.equal(quantile(thousand, 0.999), 999)
  t.equal(quantile(thousand, 1), 1000)
  t.equal(quantile(thousand, 0), 1)
  t.equal(quantile([7], 0.999), 7)
  t.equal(quantile(Float64Array.of(1, 2), 0.5), 1)
})

t.test('a median does not care for order, and leaves its argument as it is', async t => {
  const numbers = [9, 1, 100]
  t.equal(median(numbers), 9)
  t.same(numbers, [9, 1, 100])
  t.equal(median([4, 1, 3, 2]), 2.5)
})
