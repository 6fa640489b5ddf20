import t from 'tap'
import { ID_LENGTH, idAt, idMaker, processName, timeOfId } from '../../lib/base/ids.ts'

t.test('ids sort by time, tell it, and never repeat', async t => {
  let now = 1_790_000_000_000
  const next = idMaker(() => now)
  const ids = []
  for (let i = 0; i < 1000; i++) {
    ids.push(next())
    if (i % 7 === 0) now++
  }
  t.equal(new Set(ids).size, ids.length)
  t.same([...ids].sort(), ids)
  t.ok(ids.every(id => id.length === ID_LENGTH && /^[0-9a-z]+$/.test(id)))
  t.equal(timeOfId(ids[0] as string), 1_790_000_000_000)
})

t.test('a clock that steps back does not make ids go back', async t => {
  let now = 1_790_000_000_000
  const next = idMaker(() => now)
  const before = next()
  now -= 3_600_000
  t.ok(next() > before)
})

t.test('rows of a time range are those between two ids', async t => {
  let now = 5_000
  const next = idMaker(() => now)
  const early = next()
  now = 6_000
  const late = next()
  t.ok(idAt(5_000) <= early && early < idAt(6_000) && idAt(6_000) <= late)
  t.equal(idAt(-1), idAt(0))
})

t.test('process names differ', async t => {
  t.not(processName(), processName())
})
