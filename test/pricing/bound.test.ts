/** What a request can have caused, and what is left of a report that has more. */
import t from 'tap'
import {
  type AnswerBounds,
  bounded,
  type Cause,
  mostInputCaused,
  mostOutputCaused,
  mostPassesCaused,
  mostPicturesCaused,
  mostSearchesCaused,
} from '../../lib/pricing/bound.ts'
import type { BilledAnswer, Tariff } from '../../lib/pricing/tariff.ts'
import { type Prompt, textOnly } from '../../lib/protocols/requests/facts.ts'
import {
  INPUT_CLASSES,
  inputOf,
  NO_TIERS,
  OUTPUT_CLASSES,
  outputOf,
  type TokenClass,
  UNSAID,
  type Usage,
} from '../../lib/protocols/words/usage.ts'
import type { Price } from '../../lib/terms/records.ts'
import { type Random, seeded } from '../support/random.ts'
import { priceOfClass, slowCharge, slowCost } from './oracle.ts'
import { randomPrice, randomUsage, upTo } from './random-prices.ts'
import { MILLION, model, tariff, used } from './support.ts'

const prompt = (change: Partial<Prompt>): Prompt => ({ ...textOnly(0), ...change })
const cause = (change: Partial<Cause> = {}): Cause => ({
  prompt: textOnly(0),
  n: 1,
  searches: { uses: 0, unlimited: 0 },
  drawingTools: 0,
  maxToolCalls: null,
  ...change,
})
const MODEL = model(null, {
  context: 100_000,
  overheadInput: 10,
  pictureInputMax: 500,
  mediaInput: 100,
  maxSearches: 4,
})

t.test('input: a token a byte, what an upstream adds, and the context for what has no size here', async t => {
  const rows: [string, Partial<Prompt>, number, number, number][] = [
    ['nothing', {}, 0, 0, 10],
    ['text', { textBytes: 60 }, 0, 0, 70],
    ['tokens in the place of text', { textBytes: 60, tokens: 30 }, 0, 0, 100],
    ['pictures, inside and by URL', { textBytes: 60, pictures: 2, remotePictures: 1 }, 0, 0, 1570],
    ['text beyond the context', { textBytes: 200_000 }, 0, 0, 100_000],
    ['a document', { textBytes: 60, documents: 1 }, 0, 0, 100_000],
    ['a sound', { sounds: 1 }, 0, 0, 100_000],
    ['an earlier answer', { remoteDocuments: 1 }, 0, 0, 100_000],
    ['three tools', { toolUses: 3 }, 0, 0, 400_000],
    ['a tool without limit', { unlimitedTools: 1 }, 0, 0, 500_000],
    ['fewer uses than calls that were seen', { toolUses: 3 }, 9, 0, 1_000_000],
    ['calls that nobody asked for', {}, 1, 0, 200_000],
    ['what the passes before have written', { textBytes: 60 }, 0, 1000, 1070],
    ['as much as was estimated', { textBytes: 4_000_000 }, 0, 0, 1_100_000],
  ]
  for (const [name, change, calls, written, want] of rows)
    t.equal(mostInputCaused(MODEL, prompt(change), calls, written), want, name)
  const searching = { ...MODEL, searches: 'always' } as const
  t.equal(mostInputCaused(searching, prompt({ textBytes: 60 }), 0, 0), 500_000, 'a model that searches unasked')
  const most = mostInputCaused(model(null, { context: 1e9 }), prompt({ toolUses: 1e9 }), 0, 0)
  t.equal(most, Number.MAX_SAFE_INTEGER, 'a whole number, whatever is asked for')
})

t.test('output: the maximum for each answer, thoughts beside it, drawings', async t => {
  const limited = model(null, { maxOutput: 64_000, maxSearches: 4 })
  const unknown = model(null)
  const rows: [string, typeof limited, Partial<Cause>, number | null, boolean, number][] = [
    ['named', limited, {}, 8, false, 8],
    ['named, above what the model has', limited, {}, 100_000, false, 100_000],
    ['named, three answers', limited, { n: 3 }, 8, false, 24],
    ['none named', limited, {}, null, false, 64_000],
    ['none named, of an unknown model', unknown, {}, null, false, 128_000],
    ['named, and not to be read', limited, {}, 1e9, false, 64_000],
    ['nothing is written', limited, {}, 0, false, 0],
    ['thoughts beside', limited, {}, 8, true, 64_008],
    ['thoughts beside, two answers', unknown, { n: 2 }, 8, true, 256_016],
    ['tools that draw', limited, { drawingTools: 1 }, 8, false, 256_008],
    ['tools that draw, used twice at most', limited, { drawingTools: 1, maxToolCalls: 2 }, 8, false, 128_008],
    ['a whole number, whatever is asked for', limited, { n: 1e8 }, 9e8, false, Number.MAX_SAFE_INTEGER],
  ]
  for (const [name, of, change, maximum, beside, want] of rows)
    t.equal(mostOutputCaused(of, cause(change), maximum, true, beside), want, name)
})

t.test('a maximum that nobody reads raises the bound, and does not lower it', async t => {
  const limited = model(null, { maxOutput: 64_000 })
  t.equal(mostOutputCaused(limited, cause(), 8, false, false), 64_000)
  t.equal(mostOutputCaused(limited, cause(), 90_000, false, false), 90_000)
  t.equal(mostOutputCaused(limited, cause(), 1e9, false, false), 64_000, 'one that cannot be read')
})

t.test('fees and passes', async t => {
  const searches = (uses: number, unlimited: number) => mostSearchesCaused(cause({ searches: { uses, unlimited } }))
  t.equal(searches(3, 0), 3, 'searches, limited')
  t.equal(searches(3, 1), 1000, 'searches, of which one tool has no limit')
  t.equal(searches(0, 0), 1000, 'searches that the request does not speak of')
  t.equal(mostPicturesCaused(cause({ n: 4 }), 'images'), 4, 'pictures that were asked for')
  t.equal(mostPicturesCaused(cause({ n: 4 }), 'chat'), 100, 'pictures in an answer of text')
  t.equal(mostPassesCaused(cause(), 0), 16, 'passes')
  t.equal(mostPassesCaused(cause({ prompt: prompt({ toolUses: 10 }) }), 0), 21, 'passes of a request with ten uses')
  t.equal(mostPassesCaused(cause(), 12), 25, 'passes of an answer that shows twelve calls')
})

const PRICE: Price = { input: 10, cache_read: 1, cache_write_5m: 20, cache_write_1h: 20, output: 30, output_audio: 90 }
const limits = (change: Partial<AnswerBounds<Tariff>> = {}): AnswerBounds<Tariff> => ({
  whole: { input: 100, output: 50 },
  ofPart: () => ({ input: 100, output: 50 }),
  counted: 0,
  images: 100,
  searches: 100,
  seconds: 100,
  ...change,
})

t.test(
  'what is above is taken off the dearest class first, and the very same answer stays where nothing is',
  async t => {
    const of = tariff(PRICE)
    const left = (usage: Partial<Usage>, change: Partial<AnswerBounds<Tariff>> = {}) =>
      bounded({ usage: used(usage) }, limits(change), of).usage
    const within: BilledAnswer<Tariff> = { usage: used({ input: 100, output: 50, searches: 100 }) }
    t.equal(bounded(within, limits(), of), within, 'nothing is above')
    const rows: [string, Partial<Usage>, Partial<AnswerBounds<Tariff>>, Partial<Usage>][] = [
      ['one class', { input: 900_000_000 }, {}, { input: 100 }],
      [
        'the dearest first',
        { input: 60, cache_read: 30, cache_write_5m: 20 },
        {},
        { input: 60, cache_read: 30, cache_write_5m: 10 },
      ],
      ['then the next', { input: 90, cache_read: 50, cache_write_5m: 20 }, {}, { input: 50, cache_read: 50 }],
      [
        'equal prices in the order of the keys',
        { cache_write_5m: 80, cache_write_1h: 80 },
        {},
        { cache_write_5m: 20, cache_write_1h: 80 },
      ],
      ['output', { output: 40, output_audio: 20 }, {}, { output: 40, output_audio: 10 }],
      ['output that was counted', { output: 80 }, { counted: 70 }, { output: 70 }],
      ['less output than was counted', { output: 60 }, { counted: 70 }, { output: 60 }],
      ['searches', { searches: 5000 }, {}, { searches: 100 }],
      [
        'pictures and seconds',
        { images: 101, seconds: 1e9, characters: 7 },
        {},
        { images: 100, seconds: 100, characters: 7 },
      ],
    ]
    for (const [name, usage, change, want] of rows) t.same(left(usage, change), used(want), name)
  },
)

t.test('the list is the one that what remains reaches', async t => {
  const of = tariff({ input: 10, output: 30, over: [{ tokens: 100, input: 100, output: 300 }] })
  const answer = { usage: used({ input: 5000, output: 10 }) }
  t.equal(of.bill(answer).charge, 1, 'the whole report reaches the other list')
  t.same(
    of.bill(bounded(answer, limits(), of)).lines.map(({ list, count }) => [list, count]),
    [
      ['base', 100],
      ['base', 10],
    ],
  )
})

t.test(
  'passes: each within its own bounds, one that is too many is not charged, what was counted always is',
  async t => {
    const of = tariff(PRICE)
    const answer = (...parts: Partial<Usage>[]): BilledAnswer<Tariff> => {
      const usages = parts.map(used)
      const usage = used({ searches: 2 })
      for (const name of [...INPUT_CLASSES, ...OUTPUT_CLASSES]) for (const part of usages) usage[name] += part[name]
      return { usage, parts: usages.map(usage => ({ tariff: of, usage })) }
    }
    const shown = (bounds: Partial<AnswerBounds<Tariff>>, ...parts: Partial<Usage>[]) => {
      const { usage, parts: left = [] } = bounded(answer(...parts), limits(bounds), of)
      t.same([usage.input, usage.output, usage.searches].slice(0, 2), [
        left.reduce((sum, part) => sum + part.usage.input, 0),
        left.reduce((sum, part) => sum + part.usage.output, 0),
      ])
      return left.map(({ usage }) => [usage.input, usage.output])
    }
    const same = answer({ input: 100, output: 50 }, { input: 100, output: 50 })
    t.equal(bounded(same, limits(), of), same, 'nothing is above')
    t.same(shown({}, { input: 300, output: 80 }, { input: 7, output: 8 }), [
      [100, 50],
      [7, 8],
    ])
    const second = { ofPart: (_: unknown, i: number) => (i === 1 ? null : { input: 100, output: 50 }) }
    t.same(shown(second, { input: 30, output: 8 }, { input: 7, output: 8 }), [
      [30, 8],
      [0, 0],
    ])
    const read = { ofPart: (_: unknown, _i: number, written: number) => ({ input: 100 + written, output: 50 }) }
    t.same(shown(read, { input: 300, output: 80 }, { input: 300, output: 8 }), [
      [100, 50],
      [150, 8],
    ])
    t.same(shown({ counted: 110 }, { input: 1, output: 80 }, { input: 1, output: 60 }), [
      [1, 60],
      [1, 50],
    ])
  },
)

const sideOf = (name: TokenClass) => ((OUTPUT_CLASSES as readonly TokenClass[]).includes(name) ? 'output' : 'input')

/** The cheapest tokens stay: the same rule from its other end. */
function cheapest(price: Price, usage: Usage, input: number, output: number): Usage {
  const left = { ...usage, ...Object.fromEntries([...INPUT_CLASSES, ...OUTPUT_CLASSES].map(name => [name, 0])) }
  const prompt = Math.min(input, inputOf(usage))
  const room = { input, output }
  const drawn = price.image !== undefined && usage.images > 0
  const cost = (name: TokenClass) => (drawn && name === 'output_image' ? 0n : priceOfClass(name, price, prompt))
  for (const name of [...INPUT_CLASSES, ...OUTPUT_CLASSES].sort((a, b) => (cost(a) < cost(b) ? -1 : 1))) {
    left[name] = Math.min(usage[name], room[sideOf(name)])
    room[sideOf(name)] -= left[name]
  }
  return left
}

t.test(
  '20,000 reports by chance: never above the bound, never below what was counted, never more than was told',
  async t => {
    const random = seeded(t)
    for (let i = 0; i < 20_000; i++) {
      const price = randomPrice(random)
      const multiplier = random.next() < 0.3 ? MILLION : upTo(random, 1e9)
      const of = tariff(price, {}, multiplier)
      const usage = randomUsage(random)
      const bounds = randomBounds(random)
      const answer: BilledAnswer<Tariff> = { usage }
      const told = of.bill(answer).charge
      const left = bounded(answer, bounds, of)
      const { charge } = of.bill(left)
      const output = Math.max(bounds.whole.output, Math.min(bounds.counted, outputOf(usage)))
      const want = cheapest(price, usage, bounds.whole.input, output)
      for (const name of ['images', 'searches', 'seconds'] as const) want[name] = Math.min(usage[name], bounds[name])
      const slow = slowCharge(slowCost(price, want, { tiers: NO_TIERS, picture: UNSAID }, NOBODY_SAYS), multiplier)
      const context = JSON.stringify({ price, multiplier, usage, bounds, left: left.usage, charge, told })
      // pictures that are not charged by the piece any more cost tokens, which the slow rule leaves out
      if (usage.images > 0 === left.usage.images > 0 && BigInt(charge) !== slow) return t.fail(`${slow} ${context}`)
      if (inputOf(left.usage) > bounds.whole.input || outputOf(left.usage) > output) return t.fail(`above: ${context}`)
      if (outputOf(left.usage) < Math.min(bounds.counted, outputOf(usage))) return t.fail(`below: ${context}`)
      for (const name in usage) {
        const kept = left.usage[name as keyof Usage]
        if (kept < 0 || kept > usage[name as keyof Usage]) return t.fail(`${name}: ${context}`)
      }
      if (left === answer && told !== charge) return t.fail(`the same answer: ${context}`)
    }
    t.pass('20,000 reports')
  },
)

const NOBODY_SAYS = { tiers: NO_TIERS, pictures: [] }

const randomBounds = (random: Random) => ({
  ...limits(),
  whole: { input: upTo(random, 1e9), output: upTo(random, 1e9) },
  counted: random.next() < 0.5 ? 0 : upTo(random, 1e6),
  images: random.int(0, 100),
  searches: random.int(0, 1000),
  seconds: random.int(0, 1000),
})
