/** Reports by chance to requests by chance, by what an oracle says of both: what is charged, what is disputed, and never less than was counted. */
import t from 'tap'
import { noUsage, type Usage } from '../../lib/protocols/words/usage.ts'
import type { Price } from '../../lib/terms/records.ts'
import { priceOfClass, slowCharge, slowCost } from '../pricing/oracle.ts'
import { type Random, seeded } from '../support/random.ts'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS } from './support/gateway.ts'

const REQUESTS = 300
const OF_A_PRICE = 30
const CONTEXT = 300_000
const OVERHEAD = 500
const CEILING = 20_000
const MAX_SEARCHES = 3

const INPUT = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const
const NOTHING_ASKED = { tiers: { service: null, speed: null, geo: null }, picture: { size: null, quality: null } }
const NOTHING_TOLD = { tiers: NOTHING_ASKED.tiers, pictures: [] }

/** Small as often as large. */
const size = (random: Random, most: number): number => Math.floor(Math.exp(random.next() * Math.log(most + 1))) - 1

function priceBy(random: Random): Record<string, unknown> {
  const some = (most: number) => random.int(0, most * 1000) / 1000
  return {
    input: some(20),
    output: some(90),
    cache_read: some(5),
    cache_write_5m: some(30),
    cache_write_1h: some(50),
    web_search: some(1),
    ...(random.next() < 0.5 ? {} : { over: [{ tokens: random.int(100, 50_000), input: some(40), output: some(90) }] }),
  }
}

/** In micro-CNY. */
const micros = (price: Record<string, unknown>): Price =>
  JSON.parse(
    JSON.stringify(price, (key, value: unknown) =>
      typeof value === 'number' && key !== 'tokens' ? Math.round(value * 1e6) : value,
    ),
  ) as Price

interface Asked {
  body: Record<string, unknown>
  /** The most output that is charged, before anything was counted. */
  output: number
  uses: number
  searches: number
}

function request(random: Random, protocol: 'chat' | 'messages'): Asked {
  const maximum = random.next() < 0.2 ? null : 1 + size(random, 30_000)
  const n = protocol === 'chat' ? random.pick([1, 1, 2, 3]) : 1
  const uses = protocol === 'messages' && random.next() < 0.4 ? random.int(1, 5) : 0
  const isLimited = random.next() < 0.5
  const limit = isLimited ? { max_uses: uses } : {}
  const tools = [{ type: 'web_search_20250305', name: 'web_search', ...limit }]
  const body = {
    model: MODEL,
    messages: [{ role: 'user', content: 'x'.repeat(size(random, 20_000)) }],
    ...(maximum === null ? {} : { max_tokens: maximum }),
    ...(n === 1 ? {} : { n }),
    ...(uses === 0 ? {} : { tools }),
  }
  const allowed = uses === 0 ? 0 : isLimited ? uses : MAX_SEARCHES
  return { body, output: (maximum ?? CEILING) * n, uses: allowed, searches: isLimited && uses > 0 ? uses : 1000 }
}

function reportBy(random: Random, protocol: 'chat' | 'messages'): Usage {
  // on chat the prompt is a sum, and a number above 10^9 is none
  const most = random.pick([100, 10_000, 1e6, 4e8])
  const usage = { ...noUsage(), input: 1 + size(random, most), output: 1 + size(random, most) }
  if (random.next() < 0.5) usage.cache_read = size(random, most)
  if (protocol === 'messages' && random.next() < 0.5) {
    usage.cache_write_5m = size(random, most)
    usage.cache_write_1h = size(random, most)
  }
  if (random.next() < 0.3) usage.searches = size(random, 5000)
  return usage
}

function told(protocol: 'chat' | 'messages', usage: Usage, content: string): object {
  if (protocol === 'chat')
    return {
      choices: [{ message: { content } }],
      usage: {
        prompt_tokens: usage.input + usage.cache_read,
        completion_tokens: usage.output,
        prompt_tokens_details: { cached_tokens: usage.cache_read },
        num_search_queries: usage.searches,
      },
    }
  return {
    content: [{ type: 'text', text: content }],
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_read_input_tokens: usage.cache_read,
      cache_creation_input_tokens: usage.cache_write_5m + usage.cache_write_1h,
      cache_creation: {
        ephemeral_5m_input_tokens: usage.cache_write_5m,
        ephemeral_1h_input_tokens: usage.cache_write_1h,
      },
      server_tool_use: { web_search_requests: usage.searches },
    },
  }
}

t.test(`${REQUESTS} of them`, async t => {
  const random = seeded(t)
  const limits = { context: CONTEXT, overhead_input: OVERHEAD, max_output: CEILING, max_searches: MAX_SEARCHES }
  let disputed = 0
  let s = await open(t)
  let price: Price = {}
  for (let i = 0; i < REQUESTS; i++) {
    if (i % OF_A_PRICE === 0) {
      const said = priceBy(random)
      price = micros(said)
      s = await open(t, { prices: { [MODEL]: said }, model: limits, credit: 1_000_000_000_000 })
    }
    const protocol = random.pick(['chat', 'messages'] as const)
    const asked = request(random, protocol)
    const report = reportBy(random, protocol)
    const content = 'word '.repeat(size(random, 20_000))
    s.at('a').script = call => call.whole(200, told(protocol, report, content))
    const body = JSON.stringify(asked.body)
    const client = s.ask({ path: PATHS[protocol], headers: HEADERS, body })
    await client.end()
    const { rows, ok, left } = await s.books()
    const row = rows.at(-1)!
    const context = JSON.stringify({ protocol, price, asked: { ...asked, body: body.slice(0, 80) }, report, row })
    if (client.status !== 200 || !ok || left.held !== NOTHING_LEFT.held) return t.fail(`${client.text} ${context}`)
    if (row.charge < 0 || row.disputed < 0) return t.fail(`negative: ${context}`)

    const whole = slowCharge(slowCost(price, report, NOTHING_ASKED, NOTHING_TOLD, false), 1_000_000)
    if (BigInt(row.charge + row.disputed) !== whole) return t.fail(`not the whole report, ${whole}: ${context}`)
    if (row.output !== report.output || row.cache_read !== report.cache_read) return t.fail(`the row: ${context}`)

    // 4.4 bytes are a token
    const counted = Math.floor(content.length / 4.4)
    const input = asked.uses > 0 ? (1 + asked.uses) * CONTEXT : Math.min(CONTEXT, body.length + OVERHEAD)
    const output = Math.max(asked.output, counted + 1)
    const lines = (...classes: string[]) =>
      row.lines.reduce((sum, line) => sum + (classes.includes(line.class) ? line.count : 0), 0)
    // where more of it comes to less, at the prices of large prompts, all of it is charged
    if (row.disputed > 0) {
      if (lines(...INPUT) > input) return t.fail(`input above ${input}: ${context}`)
      if (lines('output') > output) return t.fail(`output above ${output}: ${context}`)
      if (lines('web_search') > asked.searches) return t.fail(`searches above ${asked.searches}: ${context}`)
    }
    if (lines('output') < Math.min(report.output, counted)) return t.fail(`less than was counted: ${context}`)
    const dearest = (prompt: number) =>
      INPUT.map(one => priceOfClass(one, price, prompt)).reduce((a, b) => (a > b ? a : b))
    const most = (prompt: number) =>
      BigInt(input) * dearest(prompt) + BigInt(output) * priceOfClass('output', price, prompt)
    const pico = [0, input].map(most).reduce((a, b) => (a > b ? a : b))
    const fees = BigInt(asked.searches) * BigInt(price.web_search ?? 0) * 1_000_000n
    if (BigInt(row.charge) > (pico + fees) / 1_000_000n + 1n) return t.fail(`above the charge of the bound: ${context}`)
    if (row.disputed > 0) disputed++
  }
  t.ok(disputed > REQUESTS / 5 && disputed < REQUESTS, `${disputed} of them disputed`)
})
