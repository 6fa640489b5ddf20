/** As chain.test.ts, with so many exchanges that every pair of protocol, end, tool and cache comes many times. */
import t from 'tap'
import { seeded } from '../support/random.ts'
import { compareChain } from './exchanges.ts'

t.test('a chain of two gateways: 2,000 exchanges with tools and caches, failed, left and cut ones', t =>
  compareChain(t, seeded(t), 2_000),
)
