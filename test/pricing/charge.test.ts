/** Charges of every kind against the slow oracle, and receipts that recompute them. */
import t from 'tap'
import { amountOf, factorOf } from '../../lib/pricing/bill.ts'
import { Tariff } from '../../lib/pricing/tariff.ts'
import { TOKEN_CLASSES, type Usage } from '../../lib/protocols/words/usage.ts'
import type { Line } from '../../lib/terms/usage-row.ts'
import { type Random, seeded } from '../support/random.ts'
import { factor, priceOfClass, promptOf, slowCharge, slowCost } from './oracle.ts'
import { randomPicture, randomPrice, randomTiers, randomUsage, upTo } from './random-prices.ts'
import { MILLION, tariff } from './support.ts'

const multiplierOf = (random: Random) => (random.next() < 0.3 ? MILLION : upTo(random, 1e9))
/** As the journal and the store give a row back. */
const stored = (lines: readonly Line[]): Line[] => JSON.parse(JSON.stringify(lines)) as Line[]

t.test('20,000 charges are what the rules say, and their receipts recompute them', async t => {
  const random = seeded(t)
  for (let i = 0; i < 20_000; i++) {
    const price = randomPrice(random)
    const multiplier = multiplierOf(random)
    const usage = randomUsage(random)
    const asked = { tiers: randomTiers(random), picture: randomPicture(random) }
    const told = {
      tiers: randomTiers(random),
      pictures: Array.from({ length: random.int(0, 2) }, () => ({ count: random.int(0, 5), ...randomPicture(random) })),
    }
    const { charge, lines } = tariff(price, {}, multiplier).bill({
      usage,
      tiers: { asked: asked.tiers, reported: told.tiers },
      pictures: { asked: asked.picture, reported: told.pictures },
    })
    const want = slowCharge(slowCost(price, usage, asked, told), multiplier)
    if (BigInt(charge) !== want)
      return t.fail(JSON.stringify({ price, multiplier, usage, asked, told, charge, want: `${want}` }))
    if (amountOf(stored(lines), factorOf(multiplier)) !== charge)
      return t.fail(`receipt: ${JSON.stringify({ price, lines })}`)
    const counted = TOKEN_CLASSES.every(name => countOf(lines, name) === usage[name])
    if (!counted) return t.fail(`the lines tell other tokens than the usage: ${JSON.stringify({ usage, lines })}`)
  }
  t.pass('20,000 charges')
})

function countOf(lines: readonly Line[], name: string): number {
  return lines.reduce((sum, line) => sum + (line.class === name ? line.count : 0), 0)
}

t.test(
  '5,000 answers of several models: each part at its own price and list, or at the dearest that it could be',
  async t => {
    const random = seeded(t)
    const noWords = { service: null, speed: null, geo: null }
    for (let i = 0; i < 5000; i++) {
      const prices = Array.from({ length: 3 }, () => {
        const { image: _, ...price } = randomPrice(random)
        return { request: 1, ...price }
      })
      const multiplier = multiplierOf(random)
      const tariffs = prices.map(price => tariff(price, {}, multiplier)) as [Tariff, Tariff, Tariff]
      const asked = { tiers: randomTiers(random), picture: { size: null, quality: null } }
      const told = { tiers: random.pick([noWords, randomTiers(random)]), pictures: [] }
      const parts = Array.from({ length: random.int(2, 4) }, () => {
        const usage = { ...randomUsage(random), images: 0, searches: 0, seconds: 0, characters: 0 }
        const of = random.pick([[0], [1], [2], [0, 1], [0, 1, 2]])
        return { of, usage, tariff: Tariff.dearest(of.map(j => tariffs[j]) as [Tariff]) }
      })
      const usage = { ...parts[0]!.usage, searches: random.int(0, 5) }
      let sum = 0n
      for (const part of parts)
        for (const name of TOKEN_CLASSES) {
          const each = part.of.map(j => costOfClass(prices[j]!, name, part.usage, asked, told))
          sum += each.reduce((a, b) => (a > b ? a : b))
        }
      const largest = Math.max(...parts.map(part => promptOf(part.usage)))
      sum += feesAt(prices[0]!, usage, largest, asked, told)
      const got = tariffs[0].bill({ usage, parts, tiers: { asked: asked.tiers, reported: told.tiers } })
      if (BigInt(got.charge) !== slowCharge(sum, multiplier))
        return t.fail(JSON.stringify({ prices, multiplier, parts, got }))
      if (amountOf(stored(got.lines), factorOf(multiplier)) !== got.charge) return t.fail('receipt')
    }
    t.pass('5,000 answers')
  },
)

type Rules = Parameters<typeof slowCost>

const costOfClass = (
  price: Rules[0],
  name: (typeof TOKEN_CLASSES)[number],
  usage: Usage,
  asked: Rules[2],
  told: Rules[3],
) => BigInt(usage[name]) * priceOfClass(name, price, promptOf(usage)) * factor(price, asked.tiers, told.tiers)

/** The fees alone, of a request with such a prompt. */
function feesAt(price: Rules[0], usage: Usage, prompt: number, asked: Rules[2], told: Rules[3]): bigint {
  const bare = { ...usage }
  for (const name of TOKEN_CLASSES) bare[name] = 0
  bare.input = prompt
  return slowCost(price, bare, asked, told) - costOfClass(price, 'input', bare, asked, told)
}
