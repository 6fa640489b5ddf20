/** The example on the page of a model is what a request with the same counts is charged. */
import t from 'tap'
import { exampleOf } from '../../../web/pages/models/example.ts'

const priceOf = (prices: Record<string, string>, images: Record<string, string> = {}) => ({
  lists: [{ over: null, prices, images }],
  tiers: {},
  search_unit: 'query' as const,
})

t.test('sums are exact and rounded up once', async t => {
  const rows: [prices: Record<string, string>, images: Record<string, string>, total: string | null][] = [
    [{ input: '35', cache_read: '3.5', output: '175' }, {}, '0.273000'],
    [{ input: '35', output: '175' }, {}, '0.245000'],
    [{ input: '0.0001', output: '0' }, {}, '0.000001'],
    [{ input: '0.000000000001', output: '0' }, {}, '0.000001'],
    [{ input: '0', output: '0' }, {}, '0.000000'],
    [{ input: '0.0005', output: '0' }, {}, '0.000001'],
    [{ input: '0.000501', output: '0' }, {}, '0.000002'],
    [{ input: '1234567', output: '0' }, {}, '2469.134000'],
    [{}, { default: '0.28' }, '0.280000'],
    [{}, { default: '0.0000001' }, '0.000001'],
    [{}, { '1024x1024': '1' }, null],
    [{ request: '1' }, {}, null],
  ]
  for (const [prices, images, total] of rows)
    t.equal(exampleOf(priceOf(prices, images))?.total ?? null, total, JSON.stringify([prices, images]))
})
