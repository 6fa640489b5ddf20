import t from 'tap'
import { compileTariff, type HeldRequest } from '../../lib/pricing/tariff.ts'
import { textOnly } from '../../lib/protocols/requests/facts.ts'
import { noUsage, type Usage } from '../../lib/protocols/words/usage.ts'
import type { Model, Price } from '../../lib/terms/records.ts'
import { cny, group, MILLION, model, request, tariff } from './support.ts'

const ALPHA = {
  input: cny(21),
  output: cny(105),
  cache_read: cny(2.1),
  cache_write_5m: cny(26.25),
  cache_write_1h: cny(42),
}

t.test('a model without any price is not priced; a price of 0 is one', async t => {
  t.equal(compileTariff(model(null), group()), null)
  t.equal(compileTariff(model({}), group()), null)
  t.equal(compileTariff(model({ input: 1, per_page: 1 } as Price), group()), null, 'a part that nobody here knows')
  t.equal(compileTariff(model({ format: 2 }), group()), null, 'a price of a later version of this program')
  t.equal(tariff({ input: 0 }).bill({ usage: { ...noUsage(), input: 1e9 } }).charge, 0)
})

t.test('charges: every class at its own price, defaults, pieces, multiplier, one rounding up', async t => {
  const rows: [string, Price, number, Partial<Usage>, number][] = [
    ['fresh input', ALPHA, 1, { input: 1000 }, 21_000],
    ['output', ALPHA, 1, { output: 1000 }, 105_000],
    ['cache read', ALPHA, 1, { cache_read: 1000 }, 2100],
    ['cache write, five minutes', ALPHA, 1, { cache_write_5m: 1000 }, 26_250],
    ['cache write, an hour', ALPHA, 1, { cache_write_1h: 1000 }, 42_000],
    ['cache read costs as input when unset', { input: cny(3) }, 1, { cache_read: 1000 }, 3000],
    ['five minutes cost as input when unset', { input: cny(3) }, 1, { cache_write_5m: 1000 }, 3000],
    ['an hour costs as five minutes', { input: cny(3), cache_write_5m: cny(4) }, 1, { cache_write_1h: 1000 }, 4000],
    ['an hour costs as input when neither is set', { input: cny(3) }, 1, { cache_write_1h: 1000 }, 3000],
    ['a class of price 0 is free', { input: cny(3), cache_read: 0 }, 1, { cache_read: 1e9 }, 0],
    ['no output price, no charge', { input: cny(3) }, 1, { output: 1000 }, 0],
    ['images', { image: cny(0.28) }, 1, { images: 4 }, 1_120_000],
    ['a request, once', { request: cny(0.05) }, 1, {}, 50_000],
    ['a request beside tokens', { request: cny(0.05), input: cny(3) }, 1, { input: 1000 }, 53_000],
    ['a fraction rounds up', { input: 1 }, 1, { input: 1 }, 1],
    ['fractions are summed first', { input: 500_000, output: 500_000 }, 1, { input: 1, output: 1 }, 1],
    ['and one more is one more', { input: 500_000, output: 500_001 }, 1, { input: 1, output: 1 }, 2],
    ['half price', ALPHA, 0.5, { input: 1000 }, 10_500],
    ['a multiplier of many places', { request: 1 }, 1.000001, {}, 2],
    ['the multiplier before the rounding', { input: cny(1) }, 0.000001, { input: 1_000_000 }, 1],
    ['free of charge', ALPHA, 0, { input: 1e9, output: 1e9 }, 0],
    ['an absurd price does not break the books', { output: 1e15 }, 1000, { output: 1e9 }, 500_000_000_000_000],
  ]
  for (const [name, price, multiplier, usage, want] of rows) {
    t.equal(tariff(price, {}, cny(multiplier)).bill({ usage: { ...noUsage(), ...usage } }).charge, want, name)
  }
})

t.test('usage that is no count is a bug of ours, whatever the other classes hide', async t => {
  for (const input of [-5, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(
      () => tariff(ALPHA).bill({ usage: { ...noUsage(), input, output: 1000 } }).charge,
      { name: 'InvariantError' },
      `${input}`,
    )
  }
})

t.test('estimates: the dearest that a request can cause', async t => {
  const million = { prompt: textOnly(4_000_000) } // with a factor of 1: a million tokens, so the price itself is the answer
  const one = { inputFactor: MILLION }
  const odd = { input: cny(3), cache_read: cny(5) }
  const rows: [string, Price, Partial<Model>, Partial<HeldRequest>, number][] = [
    ['messages: input', ALPHA, one, { ...million, protocol: 'messages' }, 21],
    ['messages: asked to cache', ALPHA, one, { ...million, protocol: 'messages', cacheTtl: '5m' }, 26.25],
    ['messages: for an hour', ALPHA, one, { ...million, protocol: 'messages', cacheTtl: '1h' }, 42],
    ['chat caches unasked', ALPHA, one, { ...million, protocol: 'chat' }, 26.25],
    ['so does responses', ALPHA, one, { ...million, protocol: 'responses' }, 26.25],
    ['so does generate', ALPHA, one, { ...million, protocol: 'generate' }, 26.25],
    ['no write price, no dearer', { input: cny(3) }, one, million, 3],
    ['a read that is dearer than input', odd, one, { ...million, protocol: 'messages' }, 5],
    ['input factor', { input: cny(3) }, {}, million, 3.3],
    ['output as asked', { output: cny(8) }, {}, { maxOutput: 1_000_000 }, 8],
    ['output by default', { output: cny(8) }, {}, { maxOutput: null }, 0.032768],
    ['none asked, none held', { output: cny(8) }, {}, { maxOutput: 0 }, 0],
    ['at most what the model can', { output: cny(8) }, { maxOutput: 1000 }, { maxOutput: 1_000_000 }, 0.008],
    ['the default too', { output: cny(8) }, { maxOutput: 1000 }, { maxOutput: null }, 0.008],
    ['for each answer', { output: cny(8) }, {}, { maxOutput: 50_000, n: 10 }, 4],
    ['held at first', { output: cny(8) }, {}, { maxOutput: 50_000, n: 10, outputCap: 2000 }, 0.016],
    ['a cap above the maximum', { output: cny(8) }, {}, { maxOutput: 1000, outputCap: 2000 }, 0.008],
    ['images by the piece', { image: cny(0.28) }, {}, { protocol: 'images', n: 4 }, 1.12],
    ['elsewhere n is not about images', { image: cny(0.28) }, {}, { protocol: 'chat', n: 4 }, 0],
    ['a request', { request: cny(0.05) }, {}, {}, 0.05],
    ['never more than the ledger can hold', { output: cny(8) }, {}, { maxOutput: 1e9, n: 1e6 }, 500_000_000],
  ]
  for (const [name, price, change, asked, want] of rows) {
    t.equal(tariff(price, change).estimate(request(asked)), cny(want), name)
  }
})

t.test('a small body adds a little to its output', async t => {
  const need = tariff({ input: cny(2), output: cny(8) }).estimate(
    request({ prompt: textOnly(120), maxOutput: 1_000_000 }),
  )
  t.ok(need >= cny(8) && need < cny(8.1), `${need}`)
})

t.test('input is estimated from bytes, rounded up and bounded', async t => {
  const rows: [number, number, number][] = [
    [0, 1_100_000, 0],
    [1, 1_100_000, 1],
    [4, MILLION, 1],
    [5, MILLION, 2],
    [4000, 1_300_000, 1300],
    [64 * 2 ** 20, 1_100_000, 18_454_938],
    [64 * 2 ** 20, 1e15, 1e9],
  ]
  for (const [bytes, inputFactor, want] of rows) {
    t.equal(tariff({ input: 1 }, { inputFactor }).estimatedInput(textOnly(bytes)), want, `${bytes} × ${inputFactor}`)
  }
})
