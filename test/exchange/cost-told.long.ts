/** The random exchanges of `cost-told.test.ts`, 10,000 of them. */
import t from 'tap'
import { randomCosts } from './support/random-costs.ts'

t.test('head, stream, row, receipt and generation say the same', { timeout: 600_000 }, t => randomCosts(t, 10_000))
