import t from 'tap'
import { slice } from '../../../lib/store/books/books.ts'

t.test('a slice of what is free', async t => {
  for (const [free, need, want, partial, granted] of [
    [1_000_000, 10, 500, false, 500],
    [1_000, 10, 500, false, 10 + Math.floor(990 / 8)],
    [160, 10, 500, false, 10 + Math.floor(150 / 8)],
    [159, 10, 500, false, 10],
    [10, 10, 500, false, 10],
    [9, 10, 500, false, 0],
    [9, 10, 500, true, 9],
    [-3, 10, 500, true, 0],
    [-3, 0, 500, false, 0],
    [0, 0, 500, false, 0],
    [80, 0, 500, false, 10],
  ] as const) {
    t.equal(slice(free, need, want, partial), granted, `free ${free}, need ${need}, want ${want}, partial ${partial}`)
  }
})
