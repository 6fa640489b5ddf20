import t from 'tap'
import { Concurrency } from '../../lib/access/open-requests.ts'

t.test('as many as the limit, per account; a place left is free again', async t => {
  const open = new Concurrency()
  t.same(
    [1, 1, 1, 2].map(account => open.enter(account, 2)),
    [true, true, false, true],
  )
  open.leave(1)
  t.equal(open.enter(1, 2), true)
  t.equal(open.enter(1, 2), false)
})

t.test('0 is no limit, and those who came without one count when it comes', async t => {
  const open = new Concurrency()
  for (let i = 0; i < 1000; i++) t.equal(open.enter(1, 0), true)
  t.equal(open.enter(1, 1000), false)
  open.leave(1)
  t.equal(open.enter(1, 1000), true)
})

t.test('leaving without having entered is a bug of ours', async t => {
  const open = new Concurrency()
  t.throws(() => open.leave(1), { name: 'InvariantError' })
  open.enter(1, 1)
  open.leave(1)
  t.throws(() => open.leave(1), { name: 'InvariantError' })
})
