import t from 'tap'
import { chance } from '../../tools/simulator/handler.ts'
import { type Block, countTokens, PromptCache } from '../../tools/simulator/prompt-cache.ts'
import { TestClock } from '../support/clock.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 2 ** 32)

t.test(`classes are disjoint and add up, and what was written is read (SEED=${SEED})`, async t => {
  const random = chance(SEED)
  const cache = new PromptCache(new TestClock())
  const keeps = [null, null, '5m', '1h'] as const
  for (let round = 0; round < 300; round++) {
    const blocks: Block[] = Array.from({ length: Math.floor(random() * 8) }, () => ({
      text: 'ab'.repeat(Math.floor(random() * 50)) + Math.floor(random() * 3),
      keep: keeps[Math.floor(random() * 4)] as Block['keep'],
    }))
    const first = cache.asked('m', blocks)
    const second = cache.asked('m', blocks)
    const written = first.cache_write_5m + first.cache_write_1h
    const sum = first.input + first.cache_read + written
    const marked = countTokens(blocks.slice(0, blocks.findLastIndex(b => b.keep !== null) + 1))
    const expected = {
      input: first.input,
      cache_read: first.cache_read + written,
      cache_write_5m: 0,
      cache_write_1h: 0,
    }
    if (sum !== countTokens(blocks)) t.equal(sum, countTokens(blocks), JSON.stringify(blocks))
    if (first.cache_read + written !== marked) t.equal(first.cache_read + written, marked, JSON.stringify(blocks))
    t.strictSame(second, expected)
  }
})
