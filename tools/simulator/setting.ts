/** The options with which a simulator was started, and the books into which all its requests are entered. */
import type { Clock } from '../../lib/base/clock.ts'
import type { Books } from './books.ts'

export interface Setting {
  origin: string
  latencyMs: number
  tokensPerSecond: number
  errorRate: number
  seed: number
  key: string | null
  clock: Clock
  books: Books
}
