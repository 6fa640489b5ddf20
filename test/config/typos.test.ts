import t from 'tap'
import { editDistance } from '../../lib/config/yaml.ts'

t.test('edit distance', async t => {
  for (const [a, b, distance] of [
    ['', '', 0],
    ['idle', 'idle', 0],
    ['ilde', 'idle', 1],
    ['prise', 'price', 1],
    ['timeout', 'timeouts', 1],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
  ] as const) {
    t.equal(editDistance(a, b), distance, `${a} ${b}`)
    t.equal(editDistance(b, a), distance, `${b} ${a}`)
  }
})
