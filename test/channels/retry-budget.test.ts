import t from 'tap'
import { RetryBudget } from '../../lib/channels/retry-budget.ts'
import { TestClock } from '../support/clock.ts'

function setUp(share: number, floorPerS: number) {
  const clock = new TestClock()
  clock.advance(12_345)
  const budget = new RetryBudget({ share, floorPerS, windowS: 10, clock })
  const retries = (most: number, account = 1) => {
    let count = 0
    for (; count < most && budget.allows(account); count++) budget.retry(account)
    return count
  }
  const requests = (count: number, account = 1) => {
    for (let i = 0; i < count; i++) budget.request(account, clock.monotonic())
  }
  return { clock, retries, requests }
}

t.test('a share of the requests, with a floor', async t => {
  const rows: [share: number, floorPerS: number, requests: number, retries: number][] = [
    [0.2, 10, 0, 100],
    [0.2, 10, 400, 100],
    [0.2, 10, 1000, 200],
    [0.2, 0, 1000, 200],
    [0.2, 0, 4, 0],
    [0.2, 0, 5, 1],
    [0, 0, 1000, 0],
    [0, 10, 1000, 100],
    [1, 0, 7, 7],
  ]
  for (const [share, floor, requests, want] of rows) {
    const budget = setUp(share, floor)
    budget.requests(requests)
    t.equal(budget.retries(10_000), want, `${requests} requests, ${share} of them, ${floor} a second`)
  }
})

t.test('over the last ten seconds, not since ever', async t => {
  const { clock, retries, requests } = setUp(0.5, 0)
  requests(10)
  t.equal(retries(100), 5)
  clock.advance(5000)
  requests(10)
  t.equal(retries(100), 5)
  clock.advance(5000)
  t.equal(retries(100), 0, 'the first ten have gone, and so have their retries')
  requests(10)
  t.equal(retries(100), 5)
  clock.advance(60_000)
  t.equal(retries(100), 0)
  requests(2)
  t.equal(retries(100), 1)
})

t.test('where others ask too, one account has at most half of them', async t => {
  const { clock, retries, requests } = setUp(0.2, 10)
  requests(10, 1)
  t.equal(retries(1000, 1), 100, 'nobody else is there')
  clock.advance(60_000)
  requests(1000, 1)
  requests(1, 2)
  t.equal(retries(1000, 1), 100)
  t.equal(retries(1000, 2), 100)
  clock.advance(60_000)
  const few = setUp(0.2, 0)
  few.requests(4, 1)
  few.requests(1, 2)
  t.equal(few.retries(10, 2), 1, 'half of one is one')
})
