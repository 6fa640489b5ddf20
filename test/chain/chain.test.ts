/** A gateway behind a gateway: what the inner one charges is what the outer one says it costs. */
import t from 'tap'
import { seeded } from '../support/random.ts'
import { compareChain } from './exchanges.ts'

t.test('a chain of two gateways: the inner charge is the cost of the outer, for every protocol', t =>
  compareChain(t, seeded(t), 160),
)
