/** Space-Saving: counts of the most frequent of more names than are kept, with a bound on their error. */
import t from 'tap'
import { mergedTop, TopCounts, type TopTable } from '../../lib/base/top-counts.ts'

function counted(most: number, names: Iterable<string>): TopTable {
  const counts = new TopCounts(most)
  for (const name of names) counts.add(name)
  return counts.table()
}

t.test('as many names as are kept: counts are exact, and nothing may be missing', t => {
  t.strictSame(counted(3, ['a', 'b', 'a', 'c', 'a', 'b']), {
    rows: [
      ['a', 3, 0],
      ['b', 2, 0],
      ['c', 1, 0],
    ],
    floor: 1,
  })
  t.strictSame(counted(3, ['a']), { rows: [['a', 1, 0]], floor: 0 })
  t.end()
})

t.test('a new name takes the place of the smallest, whose count is its error', t => {
  t.strictSame(counted(2, ['a', 'a', 'b', 'c']), {
    rows: [
      ['a', 2, 0],
      ['c', 2, 1],
    ],
    floor: 2,
  })
  t.end()
})

t.test('any stream: no true count is outside of its bounds, also when sketches are added up', t => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`SEED=${seed}`)
  let state = seed
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 2 ** 31
  }
  for (let round = 0; round < 40; round++) {
    const streams = Array.from({ length: 1 + (round % 4) }, () =>
      Array.from({ length: 400 }, () => `n${Math.floor(60 * random() ** 3)}`),
    )
    const truth = new Map<string, number>()
    for (const name of streams.flat()) truth.set(name, (truth.get(name) ?? 0) + 1)
    const { rows, floor } = mergedTop(streams.map(names => counted(12, names)))
    const named = new Set(rows.map(([name]) => name))
    for (const [name, count, error] of rows) {
      const exact = truth.get(name) as number
      if (!(exact <= count && count - error <= exact)) t.fail(`${name}: ${exact} is not in ${count - error}..${count}`)
    }
    for (const [name, count] of truth)
      if (!named.has(name) && count > floor) t.fail(`${name}: ${count} is missing, and the floor is ${floor}`)
  }
  t.pass('all are')
  t.end()
})
