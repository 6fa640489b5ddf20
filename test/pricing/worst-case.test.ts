/** What is set aside: never less than what the request can cause, by chance and by the table. */
import t from 'tap'
import { estimatedInput, largestPrompt, mostInput } from '../../lib/pricing/worst-case.ts'
import { type HeldRequest, Tariff } from '../../lib/pricing/tariff.ts'
import { type Prompt, textOnly } from '../../lib/protocols/requests/facts.ts'
import { PROTOCOLS } from '../../lib/protocols/names.ts'
import { noUsage, type TokenClass, type Usage } from '../../lib/protocols/words/usage.ts'
import type { Model, Price } from '../../lib/terms/records.ts'
import { type Random, seeded } from '../support/random.ts'
import { sizesOf } from './oracle.ts'
import { randomPicture, randomPrice, randomTiers, upTo } from './random-prices.ts'
import { cny, MILLION, model, request, tariff } from './support.ts'

function randomPrompt(random: Random): Prompt {
  const prompt = textOnly(upTo(random, 3e6))
  const maybe = (most: number) => (random.next() < 0.8 ? 0 : random.int(1, most))
  prompt.pictures = maybe(3)
  prompt.documents = maybe(2)
  prompt.pages = prompt.documents * random.int(0, 30)
  prompt.sounds = maybe(2)
  prompt.soundS = prompt.sounds * random.int(0, 500)
  prompt.remotePictures = maybe(2)
  prompt.remoteDocuments = maybe(2)
  prompt.toolUses = maybe(5)
  prompt.unlimitedTools = maybe(2)
  return prompt
}

function randomRequest(random: Random): HeldRequest {
  const asked = request({
    prompt: randomPrompt(random),
    maxOutput: random.pick([null, 0, random.int(1, 100_000)]),
    leastOutput: random.pick([0, 0, random.int(1, 10_000)]),
    besideOutput: random.pick([0, 0, random.int(1, 10_000)]),
    n: random.pick([1, 1, random.int(2, 5)]),
    drawingTools: random.pick([0, 0, 0, 1, 2]),
    maxToolCalls: random.pick([null, random.int(1, 5)]),
    searches: { uses: random.pick([0, random.int(1, 5)]), unlimited: random.pick([0, 0, 1, 2]) },
    advisors: random.next() < 0.8 ? [] : [{ uses: random.pick([null, 2]), maximum: random.pick([null, 1000]) }],
    cacheTtl: random.pick([null, '5m', '1h'] as const),
    protocol: random.pick(PROTOCOLS),
    seconds: random.pick([0, random.int(1, 100)]),
    characters: random.pick([0, random.int(1, 10_000)]),
  })
  if (random.next() < 0.5) asked.tiers = randomTiers(random)
  if (random.next() < 0.5) asked.picture = randomPicture(random)
  if (random.next() < 0.3) asked.answersSound = false
  if (random.next() < 0.3) asked.answersPictures = false
  return asked
}

/** Classes of input that the request can cause, as the rules name them. */
function inputClasses({ prompt, protocol, cacheTtl, drawingTools }: HeldRequest): TokenClass[] {
  const classes: TokenClass[] = ['input', 'cache_read']
  if (protocol !== 'messages' || cacheTtl !== null) classes.push('cache_write_5m')
  if (cacheTtl === '1h') classes.push('cache_write_1h')
  const { sounds, documents, remoteDocuments, pictures, remotePictures, toolUses, unlimitedTools } = prompt
  if (sounds + documents + remoteDocuments > 0) classes.push('input_audio', 'cache_read_audio')
  if (pictures + documents + remotePictures + remoteDocuments + toolUses + unlimitedTools + drawingTools > 0)
    classes.push('input_image', 'cache_read_image')
  return classes
}

function spread(random: Random, usage: Usage, tokens: number, classes: readonly TokenClass[]): void {
  for (let left = tokens; left > 0; ) {
    const some = random.next() < 0.5 ? left : random.int(1, left)
    usage[random.pick(classes)] += some
    left -= some
  }
}

/** Mostly all that is allowed, else some of it. */
const some = (random: Random, most: number): number => (random.next() < 0.6 ? most : random.int(0, most))

/** The worst and less of what an answer to the request can be. */
function randomAnswer(random: Random, asked: HeldRequest, price: Price, of: Model) {
  const usage = noUsage()
  const { prompt } = asked
  const estimate = mostInput(of, prompt)
  const reached = (price.over ?? []).filter(({ tokens }) => tokens < largestPrompt(of, prompt))
  const input = random.pick([some(random, estimate), ...reached.map(({ tokens }) => Math.max(tokens + 1, estimate))])
  spread(random, usage, input, inputClasses(asked))
  const ceiling = (tokens: number) => Math.min(tokens, of.maxOutput ?? tokens)
  const { defaultOutput, maxSearches } = of
  const most = asked.maxOutput ?? Math.max(defaultOutput, asked.leastOutput ?? 0)
  const each = ceiling(most) + ceiling(asked.besideOutput)
  const advice = asked.advisors.map(
    ({ uses, maximum }) => (uses ?? maxSearches) * ceiling(maximum ?? of.maxOutput ?? most),
  )
  let output = some(random, each * asked.n + advice.reduce((a, b) => a + b, 0))
  const drawings = asked.drawingTools === 0 ? 0 : (asked.maxToolCalls ?? asked.drawingTools * maxSearches)
  if (price.image === undefined) output += some(random, drawings) * defaultOutput
  else if (asked.protocol === 'images') usage.images = some(random, asked.n) + some(random, drawings)
  else {
    const drawn = asked.answersPictures === false ? 0 : some(random, Math.floor(output / 1000))
    output -= drawn * 1000
    usage.images = drawn + some(random, drawings)
  }
  const outputs: TokenClass[] = ['output']
  if (asked.answersSound !== false) outputs.push('output_audio')
  if (asked.answersPictures !== false) outputs.push('output_image')
  spread(random, usage, output, outputs)
  const { uses, unlimited } = asked.searches
  usage.searches = some(random, uses + unlimited * maxSearches)
  usage.seconds = some(random, asked.seconds ?? 0)
  usage.characters = asked.characters ?? 0
  return usage
}

const NO_TIERS = { service: null, speed: null, geo: null }
const NO_PICTURE = { size: null, quality: null }

/** Nothing, what was asked for, or what costs no more. */
function randomReport(random: Random, asked: ReturnType<typeof randomTiers>, { tiers = {} }: Price) {
  const cheap = Object.keys(tiers).filter(name => (tiers[name] as number) <= MILLION && !name.startsWith('geo'))
  return {
    service: random.pick([null, 'auto', asked.service, ...cheap, 'unheard']),
    speed: random.pick([null, asked.speed, 'standard']),
    geo: random.pick([null, asked.geo, 'global']),
  }
}

/** The kinds of pictures that an answer may report: as they were asked for, or as listed where it was left open. */
function randomPictures(random: Random, asked: ReturnType<typeof randomPicture>, price: Price, count: number) {
  if (price.image === undefined || random.next() < 0.4) return []
  const free = (word: string | null) => word === null || word === 'auto'
  const [size = null, quality = null] = random.pick(Object.keys(sizesOf(price.image))).split('/')
  const ofSize = free(asked.size) ? (size === 'default' ? '9x9' : size) : asked.size
  const ofQuality = free(asked.quality) ? random.pick([quality, 'high', 'low', 'medium']) : asked.quality
  // a size and a quality that nothing is listed for cost the dearest of all, which nobody asked for
  return [{ count, size: ofSize, quality: ofQuality }]
}

t.test('10,000 answers cost no more than was held', async t => {
  const random = seeded(t)
  let judged = 0
  while (judged < 10_000) {
    const price = randomPrice(random, 1e9)
    const of = model(price, { maxOutput: random.pick([null, 50_000]), inputFactor: random.pick([MILLION, 3_000_000]) })
    const compiled = tariff(price, of, upTo(random, 1e7))
    const asked = randomRequest(random)
    const [tiers, picture] = [asked.tiers ?? NO_TIERS, asked.picture ?? NO_PICTURE]
    if (compiled.refusedTier(tiers) !== null || compiled.refusedPicture(picture) !== null) continue
    judged++
    const usage = randomAnswer(random, asked, price, of)
    const answer = {
      usage,
      tiers: { asked: tiers, reported: randomReport(random, tiers, price) },
      pictures: { asked: picture, reported: randomPictures(random, picture, price, usage.images) },
    }
    const { charge, lines, unmatchedPicture } = compiled.bill(answer)
    const held = compiled.estimate(asked)
    if (charge > held && !unmatchedPicture)
      return t.fail(JSON.stringify({ price, asked, answer, charge, held, lines, multiplier: compiled.multiplier }))
    const part = compiled.answerHold(asked)
    if (part.held > held) return t.fail('the part for the answer is more than all')
  }
  t.pass('10,000 answers')
})

t.test('5,000 answers in passes, by one of two models, cost no more than was held for both', async t => {
  const random = seeded(t)
  for (let i = 0; i < 5000; i++) {
    const prices = [randomPrice(random, 1e9), randomPrice(random, 1e9)] as const
    const multiplier = upTo(random, 1e7)
    const both = prices.map(price => tariff(price, {}, multiplier)) as [Tariff, Tariff]
    const of = model(prices[0])
    const { tiers: _, picture: __, ...asked } = randomRequest(random)
    // whether pictures are pieces or tokens is a matter of the asked model
    const { image } = prices[0]
    const whole = randomAnswer(random, asked, image === undefined ? {} : { image }, of)
    const first = noUsage()
    const rest = { ...whole }
    for (const name in whole) {
      first[name as TokenClass] = random.int(0, whole[name as TokenClass])
      rest[name as TokenClass] -= first[name as TokenClass]
    }
    const parts = [first, rest].map(usage => ({ usage, tariff: random.pick([...both, Tariff.dearest(both)]) }))
    const { charge } = both[0].bill({ usage: whole, parts })
    const held = Tariff.dearest(both).estimate(asked)
    if (charge > held)
      return t.fail(JSON.stringify({ prices, asked, parts: parts.map(part => part.usage), charge, held }))
  }
  t.pass('5,000 answers')
})

t.test('an answer that grows: what it costs so far is covered by the part that was held for it', async t => {
  const random = seeded(t)
  for (let i = 0; i < 3000; i++) {
    const asked = randomRequest(random)
    const compiled = tariff(randomPrice(random, 1e9), {}, upTo(random, 1e7))
    const hold = compiled.answerHold(asked)
    const { tokens, images, searches, seconds } = hold.most
    if (hold.cost(hold.most) - hold.held > 1) return t.fail('the most is held but for its rounding')
    const less = { tokens: random.int(0, tokens), images: random.int(0, images), searches, seconds, fees: 0 }
    if (hold.cost(less) > hold.cost(hold.most)) return t.fail('less costs more')
    if (hold.cost({ tokens: 0, images: 0, searches: 0, seconds: 0, fees: 0 }) !== 0)
      return t.fail('nothing costs something')
  }
  t.pass('3,000 answers')
})

t.test('holds, by the table', async t => {
  const text = (tokens: number) => ({ prompt: textOnly(tokens * 4) })
  const one = { inputFactor: MILLION }
  const plain = { input: cny(2), output: cny(8) }
  const long = { ...plain, over: [{ tokens: 200_000, input: cny(4), output: cny(12) }] }
  const sizes = { default: cny(1), '1k': cny(2), '1k/high': cny(5), '2k/high': cny(9) }
  const images = (change: Partial<HeldRequest>) => ({ protocol: 'images' as const, ...change })
  const rows: [string, Price, Partial<HeldRequest>, number][] = [
    ['a threshold that bytes / 2 do not exceed', long, text(100_000), 0.2],
    ['bytes / 2 exceed it: one token more than the threshold, at its list', long, text(100_001), 0.800004],
    ['more estimated tokens than the threshold', long, text(300_000), 1.2],
    ['output at the list that can be reached', long, { ...text(100_001), maxOutput: 1_000_000 }, 12.800004],
    ['a document by URL may reach it', long, { prompt: { ...textOnly(4), remoteDocuments: 1 } }, 0.800004],
    [
      'the tier that is asked for',
      { ...plain, tiers: { priority: cny(2.5) } },
      { ...text(1e6), tiers: { ...NO_TIERS, service: 'priority' } },
      5,
    ],
    [
      'a discount is held without',
      { ...plain, tiers: { flex: cny(0.5) } },
      { ...text(1e6), tiers: { ...NO_TIERS, service: 'flex' } },
      2,
    ],
    ['auto', { ...plain, tiers: { priority: cny(2) } }, { ...text(1e6), tiers: { ...NO_TIERS, service: 'auto' } }, 2],
    [
      'speed and place',
      { ...plain, tiers: { fast: cny(6), 'geo:us': cny(1.1) } },
      { ...text(1e6), tiers: { service: null, speed: 'fast', geo: 'us' } },
      13.2,
    ],
    [
      'searches as the request limits them',
      { ...plain, web_search: cny(0.07) },
      { searches: { uses: 3, unlimited: 0 } },
      0.21,
    ],
    ['else as the model does', { ...plain, web_search: cny(0.07) }, { searches: { uses: 0, unlimited: 1 } }, 0.7],
    [
      'once a prompt',
      { ...plain, web_search: cny(0.07), search_unit: 'prompt' },
      { searches: { uses: 3, unlimited: 1 } },
      0.07,
    ],
    ['a picture of the size and quality', { image: sizes }, images({ picture: { size: '1k', quality: 'high' } }), 5],
    ['of the size', { image: sizes }, images({ picture: { size: '1K', quality: 'low' } }), 2],
    ['the dearest of the size', { image: sizes }, images({ picture: { size: '1k', quality: 'auto' } }), 5],
    ['the dearest of all', { image: sizes }, images({ picture: { size: 'auto', quality: null } }), 9],
    ['not said', { image: { sizes } }, images({ n: 2 }), 18],
    ['another size', { image: sizes }, images({ picture: { size: '4k', quality: 'high' } }), 1],
    ['seconds and characters', { second: cny(0.01), character: cny(100) }, { seconds: 30, characters: 50_000 }, 5.3],
    [
      'sound in the body',
      { ...plain, input_audio: cny(10) },
      { prompt: { ...textOnly(0), sounds: 1, soundS: 1000 } },
      0.32,
    ],
    ['no sound in the body', { ...plain, input_audio: cny(10) }, text(1e6), 2],
    ['sound may be answered', { ...plain, output_audio: cny(20) }, { maxOutput: 1e6 }, 20],
    ['or may not', { ...plain, output_audio: cny(20) }, { maxOutput: 1e6, answersSound: false }, 8],
    ['a request', { ...plain, request: cny(0.1) }, {}, 0.1],
  ]
  for (const [name, price, asked, want] of rows)
    t.equal(tariff(price, one).estimate(request({ besideOutput: 0, ...asked })), cny(want), name)
  t.equal(estimatedInput(model({ input: 1 }, one), textOnly(4000)), 1000)
})
