/** What people are told that a model costs, against what answers are charged. */
import t from 'tap'
import type { OfferedList } from '../../lib/pricing/tariff.ts'
import type { Fee, TokenClass } from '../../lib/protocols/words/usage.ts'
import type { Price } from '../../lib/terms/records.ts'
import { type Random, seeded } from '../support/random.ts'
import { randomPrice, upTo } from './random-prices.ts'
import { cny, MILLION, tariff, used } from './support.ts'

const PICO = 1_000_000_000_000n
const MICRO = 1_000_000n

/** The charge, in micro-CNY rounded up once, of so many tokens and pieces at the prices that people are told. */
function told(list: OfferedList, counts: Partial<Record<TokenClass | Fee, number>>): bigint {
  let pico = 0n // per million
  for (const [name, count] of Object.entries(counts) as [TokenClass | Fee, number][]) {
    const price = list.prices.find(([one]) => one === name)?.[1] ?? 0n
    const isPiece = ['web_search', 'request', 'second'].includes(name)
    pico += BigInt(count) * price * (isPiece ? MICRO : 1n)
  }
  return (pico + PICO - 1n) / PICO
}

const listFor = (lists: readonly OfferedList[], prompt: number): OfferedList =>
  lists.findLast(({ over }) => over === null || prompt > over) as OfferedList

const INPUTS = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'input_audio', 'cache_read_image'] as const

function one(random: Random): string | null {
  const { image: _, search_unit: __, ...price } = randomPrice(random)
  const priced = tariff({ request: 1, ...price }, {}, random.next() < 0.3 ? MILLION : upTo(random, 1e9))
  const { lists } = priced.offered()
  const shown = new Set(lists[0]?.prices.map(([name]) => name))
  const some = (names: readonly TokenClass[]) =>
    Object.fromEntries(names.filter(name => shown.has(name)).map(name => [name, upTo(random, 1e6)]))
  const counts = { ...some(INPUTS), ...some(['output', 'output_audio']) } as Partial<Record<TokenClass, number>>
  const prompt = INPUTS.reduce((sum, name) => sum + (counts[name] ?? 0), 0)
  const usage = used({ ...counts, searches: random.int(0, 3), seconds: random.int(0, 9) })
  const { charge } = priced.bill({ usage })
  const want = told(listFor(lists, prompt), {
    ...counts,
    web_search: usage.searches,
    second: usage.seconds,
    request: 1,
  })
  return BigInt(charge) === want ? null : JSON.stringify({ price, counts, charge, want: `${want}` })
}

t.test('5,000 charges are the sums of counts times the prices that people are told', async t => {
  const random = seeded(t)
  for (let i = 0; i < 5000; i++) {
    const wrong = one(random)
    if (wrong !== null) return t.fail(wrong)
  }
  t.pass('5,000 charges')
})

t.test('which prices people are told', async t => {
  const usual = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output']
  const rows: [name: string, price: Price, multiplier: number, names: string[], images: Record<string, number>][] = [
    ['text', { input: cny(2), output: cny(8) }, MILLION, usual, {}],
    ['embeddings', { input: cny(2) }, MILLION, ['input'], {}],
    ['pictures', { image: cny(0.28) }, 2 * MILLION, [], { default: 0.56 }],
    [
      'sizes',
      { image: { sizes: { default: cny(0.1), '1024x1536/High': cny(1.6) } } },
      MILLION,
      [],
      { default: 0.1, '1024x1536/high': 1.6 },
    ],
    ['a fee beside tokens', { input: cny(2), output: cny(8), request: cny(0.05) }, MILLION, [...usual, 'request'], {}],
    [
      'sound',
      { input: 1, output: 1, input_audio: 2, over: [{ tokens: 9, input: 1, output: 1, output_audio: 3 }] },
      MILLION,
      ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'input_audio', 'output', 'output_audio'],
      {},
    ],
    [
      'pictures charged by the piece',
      { input: 1, output: 1, output_image: 5, image: cny(1) },
      MILLION,
      usual,
      { default: 1 },
    ],
  ]
  for (const [name, price, multiplier, names, images] of rows) {
    const [base] = tariff(price, {}, multiplier).offered().lists
    t.same(base?.prices.map(([one]) => one).sort(), names.sort(), name)
    t.same(Object.fromEntries(base!.images.map(([kind, pico]) => [kind, Number(pico) / 1e12])), images, name)
  }
})

t.test('lists by rising threshold, tiers, and how searches count', async t => {
  const over = [200_000, 500_000].map(tokens => ({ tokens, input: tokens, output: 1 }))
  const price: Price = {
    input: 7,
    output: 1,
    web_search: 5,
    search_unit: 'prompt',
    over,
    tiers: { Priority: 2_000_000 },
  }
  const { lists, tiers, searchesOnce } = tariff(price, {}, 500_000).offered()
  t.same(
    lists.map(({ over, prices }) => [over, prices.find(([name]) => name === 'input')?.[1]]),
    [
      [null, 3_500_000n],
      [200_000, 100_000_000_000n],
      [500_000, 250_000_000_000n],
    ],
  )
  t.same([tiers, searchesOnce], [[['priority', 2_000_000]], true])
})
