/** The rules of prices by the table: parents, large prompts, tiers, pictures, fees, passes, cost. */
import t from 'tap'
import { Cost } from '../../lib/pricing/bill.ts'
import { Tariff } from '../../lib/pricing/tariff.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import type { Price } from '../../lib/terms/records.ts'
import { cny, tariff, used } from './support.ts'

const MILLION_TOKENS = 1e6
const TEXT = { input: cny(2), output: cny(8) }
const NONE = { service: null, speed: null, geo: null }

/** The charge of a million tokens of each class is its price. */
const rate = (price: Price, name: keyof Usage): number =>
  tariff(price).bill({ usage: used({ [name]: MILLION_TOKENS }) }).charge / 1e6

t.test('a class without a price takes its parent’s', async t => {
  const rows: [Price, keyof Usage, number][] = [
    [TEXT, 'input_audio', 2],
    [TEXT, 'input_image', 2],
    [TEXT, 'cache_read', 2],
    [TEXT, 'cache_read_audio', 2],
    [TEXT, 'cache_write_5m', 2],
    [TEXT, 'cache_write_1h', 2],
    [TEXT, 'output_audio', 8],
    [TEXT, 'output_image', 8],
    [{ ...TEXT, cache_write_5m: cny(3) }, 'cache_write_1h', 3],
    [{ ...TEXT, input_audio: cny(7) }, 'cache_read_audio', 7],
    [{ ...TEXT, input_audio: cny(7), cache_read: cny(1) }, 'cache_read_audio', 1],
    [{ ...TEXT, input_image: cny(6) }, 'cache_read_image', 6],
    [{ ...TEXT, input_image: cny(6), cache_read: cny(1) }, 'cache_read_image', 1],
    [{ ...TEXT, input_audio: cny(7), cache_read_audio: 0 }, 'cache_read_audio', 0],
    [{ ...TEXT, output_audio: cny(16) }, 'output_audio', 16],
    [{ ...TEXT, output_audio: cny(16) }, 'output_image', 8],
  ]
  for (const [price, name, want] of rows) t.equal(rate(price, name), want, `${JSON.stringify(price)} ${name}`)
})

t.test('a large prompt is priced by the largest entry that it exceeds', async t => {
  const price: Price = {
    ...TEXT,
    cache_read: cny(0.2),
    cache_write_1h: cny(50),
    web_search: cny(0.1),
    request: cny(0.5),
    over: [
      { tokens: 1000, input: cny(4), output: cny(12), request: cny(0.7) },
      { tokens: 5000, input: cny(6), output: cny(18), cache_read: cny(0.6) },
    ],
  }
  const rows: [string, Partial<Usage>, number][] = [
    ['as many as the threshold', { input: 1000 }, 0.502],
    ['one more', { input: 1001 }, 0.704004],
    ['every class of input counts', { input: 1, cache_read: 500, cache_write_5m: 500, output: 10 }, 0.704124],
    ['output does not', { input: 1000, output: 5000 }, 0.542],
    ['a class that the entry does not name: its parent’s in the entry', { cache_read: 2000 }, 0.708],
    ['or its own of the base list, where that is more', { cache_write_1h: 2000 }, 0.8],
    ['the next entry; a fee that it does not name stays', { input: 5001, searches: 2 }, 0.730006],
    ['and a class that it names', { cache_read: 10_000 }, 0.506],
  ]
  for (const [name, usage, want] of rows) t.equal(tariff(price).bill({ usage: used(usage) }).charge, cny(want), name)
  const { lines } = tariff(price).bill({ usage: used({ input: 5001, searches: 2 }) })
  t.same(
    lines.map(line => [line.class, line.list, line.count, line.price, line.priceVersion, line.model]),
    [
      ['input', 5000, 5001, cny(6), 7, 'm'],
      ['web_search', 5000, 2, cny(0.1), 7, 'm'],
      ['request', 5000, 1, cny(0.5), 7, 'm'],
    ],
  )
})

t.test('each pass has the list of its own prompt', async t => {
  const asked = tariff({ ...TEXT, request: cny(1), over: [{ tokens: 100, input: cny(20), output: cny(80) }] })
  const pass = (input: number) => ({ tariff: asked, usage: used({ input }) })
  t.equal(asked.bill({ usage: used({ input: 160 }), parts: [pass(80), pass(80)] }).charge, 160 * 2 + cny(1))
  t.equal(asked.bill({ usage: used({ input: 181 }), parts: [pass(80), pass(101)] }).charge, 80 * 2 + 101 * 20 + cny(1))
})

t.test('tiers', async t => {
  const price = {
    ...TEXT,
    request: cny(1),
    tiers: { Priority: cny(2), flex: cny(0.5), fast: cny(6), 'geo:us': cny(1.1) },
  }
  const rows: [asked: object, reported: object, factor: number, name: string | null, unlisted: string | null][] = [
    [{}, {}, 1, null, null],
    [{ service: 'priority' }, { service: 'priority' }, 2, 'priority', null],
    [{ service: 'PRIORITY' }, {}, 2, 'priority', null],
    [{ service: 'priority' }, { service: 'default' }, 1, 'default', null],
    [{ service: 'priority' }, { service: 'auto' }, 2, 'priority', null],
    [{ service: 'auto' }, { service: 'flex' }, 0.5, 'flex', null],
    [{ service: 'flex' }, {}, 1, 'flex', null],
    [{ service: 'auto' }, {}, 1, null, null],
    [{}, { service: 'scale' }, 1, 'scale', 'scale'],
    [{ speed: 'fast' }, {}, 6, 'fast', null],
    [{ speed: 'fast' }, { speed: 'standard' }, 1, null, null],
    [{ geo: 'us' }, { geo: 'us' }, 1.1, 'geo:us', null],
    [{}, { geo: 'not_available' }, 1, null, null],
    [{ service: 'priority', speed: 'fast', geo: 'us' }, {}, 13.2, 'priority+fast+geo:us', null],
  ]
  for (const [asked, reported, factor, name, unlisted] of rows) {
    const tiers = { asked: { ...NONE, ...asked }, reported: { ...NONE, ...reported } }
    const { charge, lines, unlistedTier } = tariff(price).bill({ usage: used({ input: MILLION_TOKENS }), tiers })
    const label = JSON.stringify([asked, reported])
    t.equal(charge, cny(2 * factor) + cny(1), label)
    t.same([lines[0]?.tier, lines[0]?.tierName, unlistedTier], [cny(factor), name, unlisted], label)
    t.same([lines[1]?.tier, lines[1]?.tierName], [cny(1), null], 'fees have no tier')
  }
})

t.test('a tier that could cost more and is not listed is refused', async t => {
  const listed = { ...TEXT, tiers: { priority: cny(2), 'geo:us': cny(1.1) } }
  const rows: [Price, object, string | null][] = [
    [TEXT, {}, null],
    ...['auto', 'default', 'standard', 'standard_only', 'flex', ''].map((service): [Price, object, null] => [
      TEXT,
      { service },
      null,
    ]),
    [TEXT, { service: 'priority' }, 'service_tier'],
    [listed, { service: 'priority' }, null],
    [listed, { service: 'batch' }, 'service_tier'],
    [listed, { speed: 'fast' }, 'speed'],
    [listed, { speed: 'standard' }, null],
    [listed, { geo: 'us' }, null],
    [listed, { geo: 'global' }, null],
    [listed, { geo: 'eu' }, 'inference_geo'],
    [listed, { service: 'geo:us' }, null],
  ]
  for (const [price, asked, want] of rows)
    t.equal(tariff(price).refusedTier({ ...NONE, ...asked }), want, JSON.stringify([price, asked]))
})

t.test('pictures', async t => {
  const price: Price = { ...TEXT, image: { '1k': cny(2), '1k/high': cny(5), '2k/low': cny(1), '2k/high': cny(9) } }
  const kind = (size: string | null = null, quality: string | null = null) => ({ size, quality })
  const rows: [string, asked: ReturnType<typeof kind>, reported: ReturnType<typeof kind>[], number, boolean][] = [
    ['as it was asked for', kind('1k', 'high'), [], 5, false],
    ['the size alone', kind('1k', 'low'), [], 2, false],
    ['as reported', kind('1k', 'high'), [kind('2k', 'low')], 1, false],
    ['the size as reported, the quality as asked for', kind('1k', 'high'), [kind('2K')], 9, false],
    ['what is reported as auto is not reported', kind('1k', 'high'), [kind('auto', 'auto')], 5, false],
    ['nobody says anything: the dearest', kind(), [], 9, false],
    ['auto: the dearest', kind('auto', 'low'), [], 9, false],
    ['a size without a quality: the dearest of that size', kind('1k', 'auto'), [], 5, false],
    ['a reported kind that matches nothing: the dearest, and it is told', kind('1k'), [kind('8k', 'low')], 9, true],
  ]
  for (const [name, asked, kinds, want, unmatched] of rows) {
    const reported = kinds.map(one => ({ ...one, count: 1 }))
    const bill = tariff(price).bill({ usage: used({ images: 1 }), pictures: { asked, reported } })
    t.same([bill.charge, bill.unmatchedPicture], [cny(want), unmatched], name)
  }
  const mixed = tariff(price).bill({
    usage: used({ images: 4 }),
    pictures: { asked: kind('1k', 'high'), reported: [{ ...kind('2k', 'low'), count: 2 }] },
  })
  t.same(
    mixed.lines.map(line => [line.class, line.count, line.price]),
    [
      ['image', 2, cny(1)],
      ['image', 2, cny(5)],
    ],
    'pictures of which nothing is reported are as they were asked for',
  )
  t.equal(tariff(price).refusedPicture(kind('8k', 'low')), 'size')
  t.equal(tariff(price).refusedPicture(kind('2k', 'medium')), 'quality')
  t.equal(tariff(price).refusedPicture(kind('2k', 'auto')), null)
  t.equal(tariff(price).refusedPicture(kind('auto', 'medium')), null)
  t.equal(tariff({ ...TEXT, image: { default: 1, '1k': 2 } }).refusedPicture(kind('8k', 'low')), null)
  t.equal(tariff({ ...TEXT, image: 5 }).refusedPicture(kind('8k', 'low')), null)
  t.equal(tariff(TEXT).refusedPicture(kind('8k', 'low')), null, 'pictures cost tokens')
})

t.test('tokens of pictures are charged where no picture is', async t => {
  const price = { ...TEXT, output_image: cny(30), image: cny(1) }
  const usage = { output: MILLION_TOKENS, output_image: MILLION_TOKENS }
  t.equal(tariff(price).bill({ usage: used({ ...usage, images: 1 }) }).charge, cny(9))
  t.equal(
    tariff(price).bill({ usage: used(usage) }).charge,
    cny(38),
    'partial pictures cost the tokens reported for them',
  )
  t.equal(tariff({ ...TEXT, output_image: cny(30) }).bill({ usage: used({ ...usage, images: 1 }) }).charge, cny(38))
})

t.test('a large prompt may have other prices of pictures', async t => {
  const image = { default: cny(1), '1k': cny(2) }
  const over = (image: NonNullable<Price['image']>) => [{ tokens: 10, ...TEXT, image }]
  const charge = (price: Price, size: string) =>
    tariff(price).bill({
      usage: used({ images: 1, cache_read: 11 }),
      pictures: { asked: { size, quality: 'low' }, reported: [] },
    }).charge - 22
  t.equal(charge({ ...TEXT, image, over: over(cny(7)) }, '1k'), cny(7), 'one price replaces all')
  t.equal(charge({ ...TEXT, image, over: over({ default: cny(7) }) }, '1k'), cny(2), 'a size that is not named stays')
  t.equal(charge({ ...TEXT, image, over: over({ sizes: { '1k': cny(7) } }) }, '1k'), cny(7))
})

t.test('searches, seconds, characters', async t => {
  const price: Price = { web_search: cny(0.07), second: cny(0.01), character: cny(100) }
  const rows: [Price, Partial<Usage>, number][] = [
    [price, { searches: 3 }, 0.21],
    [{ ...price, search_unit: 'query' }, { searches: 3 }, 0.21],
    [{ ...price, search_unit: 'prompt' }, { searches: 3 }, 0.07],
    [{ ...price, search_unit: 'prompt' }, {}, 0],
    [price, { seconds: 90 }, 0.9],
    [price, { characters: 1234 }, 0.1234],
    [{ character: 1 }, { characters: 1 }, 0.000001],
  ]
  for (const [one, usage, want] of rows)
    t.equal(tariff(one).bill({ usage: used(usage) }).charge, cny(want), JSON.stringify([one, usage]))
})

t.test('passes on other models, and fees', async t => {
  const asked = tariff({ ...TEXT, request: cny(1), web_search: cny(0.5) })
  const other = tariff({ input: cny(4), output: cny(6), request: cny(3) }, { name: 'other' })
  const usage = used({ input: MILLION_TOKENS })
  const both = Tariff.dearest([asked, other])
  const bill = (...parts: Tariff[]) =>
    asked.bill({ usage: used({ searches: 1 }), parts: parts.map(one => ({ tariff: one, usage })) })
  t.equal(bill(other).charge, cny(7), 'an answer of another model alone: its tokens, its fees')
  t.equal(bill(asked, other).charge, cny(2 + 4 + 1.5), 'several: tokens at each one’s price, fees at the asked one’s')
  t.equal(bill(both, both).charge, cny(4 + 4 + 1.5), 'class by class the dearer')
  const output = asked.bill({ usage, parts: [{ tariff: both, usage: used({ output: MILLION_TOKENS }) }] })
  t.equal(output.charge, cny(8 + 3))
  t.same(
    output.lines.map(line => [line.class, line.model]),
    [
      ['output', 'm'],
      ['request', 'other'],
    ],
    'each line names the model whose price it is',
  )
})

t.test('what the upstream takes', async t => {
  const asked = tariff({ ...TEXT, tiers: { priority: cny(2) } }, {}, cny(3))
  const answer = { usage: used({ input: 1001 }), tiers: { asked: { ...NONE, service: 'priority' }, reported: NONE } }
  const { lines, charge } = asked.bill(answer)
  const costAt = (cost: number | Record<string, Price>) => new Cost(cost).of(lines, answer, asked)
  t.equal(charge, 1001 * 2 * 2 * 3)
  t.equal(
    costAt(cny(0.62)),
    Math.ceil(1001 * 2 * 2 * 0.62),
    'a factor: with the tier, without the multiplier, rounded up',
  )
  t.equal(costAt({ m: { input: cny(1) } }), 1001, 'prices of its own, with tiers of their own')
  t.equal(costAt({ m: { input: cny(1), tiers: { priority: cny(3) } } }), 3003)
  t.equal(costAt({ m: { input: cny(1), over: [{ tokens: 1000, input: cny(5) }] } }), 5005)
  t.equal(costAt({ n: { input: cny(1) } }), null, 'a model that it does not name')
})
