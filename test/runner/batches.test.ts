/** Which test files run in one process: each in one, and the last processes are small. */
import t from 'tap'
import { batches, ENDINGS, filesOf } from './batches.ts'

const JOBS = 4
const WAITS = /^test\/((faults|cli|ledger|process|sdk|console\/pages|pay)\/|store\/(mysql|sqlite)\.test)/
const all = filesOf('test', ENDINGS.short)

t.test('every file runs once, and the same files give the same processes', async t => {
  const made = batches(all, JOBS)
  t.same(made.flat().sort(), [...all].sort())
  t.same(batches(all, JOBS), made)
  t.same(batches([], JOBS), [])
  t.same(batches(['test/base/money.test.ts'], JOBS), [['test/base/money.test.ts']])
})

t.test('files that wait and files that compute begin in turns, and the last processes have few files', async t => {
  const made = batches(all, JOBS)
  const waits = ([file]: string[]) => WAITS.test(file as string)
  t.same(made.slice(0, 6).map(waits), [true, true, false, true, true, false])
  for (const last of made.slice(-JOBS)) t.ok(last.length <= 12, `${last.length} files`)
  for (const files of made) t.equal(new Set(files.map(file => waits([file]))).size, 1, 'of one kind')
})
