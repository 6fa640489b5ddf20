/**
 * A real gateway shows the receipt of every request: its lines recompute its charge to the micro-unit, whatever the answer
 * consisted of. A refused request shows why it was refused.
 */
import t from 'tap'
import { KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { until } from '../support/wait.ts'
import { Upstream } from './support/upstream.ts'

type Json = Record<string, unknown>
interface Line {
  model: string
  class: string
  price_row: string | null
  count: number
  price: string
  tier: string
  list: string | number
  tier_name: string | null
  price_version: number
}
interface Receipt extends Json {
  charge: string
  held: string
  cost: string
  multiplier: number
  lines: Line[]
}

/** A decimal with up to six places as a whole number of millionths. */
const millionths = (decimal: string | number): bigint => {
  const [whole = '0', places = ''] = String(decimal).split('.')
  return BigInt(whole) * 1_000_000n + BigInt(places.padEnd(6, '0'))
}

const PIECES = ['image', 'web_search', 'request', 'second']

/** By the formula of the docs, in whole numbers of any size, rounded up once; in micro-CNY. */
function recomputed(lines: readonly Line[], factor: string | number): bigint {
  let sum = 0n
  for (const line of lines) {
    const perPiece = PIECES.includes(line.class) ? 1_000_000n : 1n
    sum += BigInt(line.count) * millionths(line.price) * millionths(line.tier) * perPiece
  }
  const divisor = 10n ** 18n
  return (sum * millionths(factor) + divisor - 1n) / divisor
}

const TEXT = {
  input: 3.333333,
  output: 15.1,
  cache_read: 0.3,
  input_audio: 40,
  cache_read_audio: 2.5,
  web_search: 0.07,
}
const PRICES: Record<string, Json> = {
  plain: TEXT,
  large: { ...TEXT, over: [{ tokens: 1000, input: 6.666667, output: 22.5 }] },
  tiered: { ...TEXT, tiers: { priority: 1.75, flex: 0.5 } },
  drawn: { image: { default: 0.3, '1024x1536': 0.4, '1024x1536/high': 1.6 } },
}
const MULTIPLIER = 0.73
const COST = 0.62

const catalog = (upstream: string): Json => ({
  groups: [{ name: 'default', multiplier: MULTIPLIER, rate: { requests: 0, minutes: 1 } }],
  models: Object.entries(PRICES).map(([name, price]) => ({ name, price })),
  channels: [
    {
      name: 'one',
      base_url: upstream,
      protocols: ['messages', 'chat', 'responses', 'images'],
      key: 'up-0123456789',
      groups: ['default'],
      models: Object.keys(PRICES),
      cost: COST,
    },
  ],
  accounts: [{ name: 'rich', groups: ['default'], balance: 1000 }],
  keys: [{ account: 'rich', name: 'k', secret: KEY, group: 'default', models: Object.keys(PRICES) }],
})

const message = (usage: Json) => ({ id: 'm1', type: 'message', content: [{ type: 'text', text: 'Hello.' }], usage })
const search = (id: string) => ({ type: 'web_search_call', id, action: { type: 'search', query: 'q' } })

interface Case {
  path: string
  body: Json
  answer: Json
  /** `class count @ price`, with the list and the tier where they are not the usual ones. */
  lines: string[]
}

const CASES: Record<string, Case> = {
  plain: {
    path: '/v1/messages',
    body: { model: 'plain', max_tokens: 100, messages: [] },
    answer: message({ input_tokens: 101, cache_read_input_tokens: 7, output_tokens: 13 }),
    lines: ['input 101 @ 3.333333', 'cache_read 7 @ 0.300000', 'output 13 @ 15.100000'],
  },
  'a prompt above a threshold': {
    path: '/v1/messages',
    body: { model: 'large', max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(4000) }] },
    answer: message({ input_tokens: 900, cache_read_input_tokens: 101, output_tokens: 13 }),
    lines: ['input 900 @ 6.666667 1000', 'cache_read 101 @ 6.666667 1000', 'output 13 @ 22.500000 1000'],
  },
  'a tier that is reported': {
    path: '/v1/chat/completions',
    body: { model: 'tiered', service_tier: 'priority', messages: [] },
    answer: {
      service_tier: 'flex',
      choices: [{ message: { content: 'Hello.' } }],
      usage: { prompt_tokens: 11, completion_tokens: 3 },
    },
    lines: ['input 11 @ 3.333333 base 0.5 flex', 'output 3 @ 15.100000 base 0.5 flex'],
  },
  'a tier that nobody reports': {
    path: '/v1/chat/completions',
    body: { model: 'tiered', service_tier: 'priority', messages: [] },
    answer: { choices: [{ message: { content: 'Hello.' } }], usage: { prompt_tokens: 11, completion_tokens: 3 } },
    lines: ['input 11 @ 3.333333 base 1.75 priority', 'output 3 @ 15.100000 base 1.75 priority'],
  },
  'pictures by size and quality': {
    path: '/v1/images/generations',
    body: { model: 'drawn', prompt: 'a cat', n: 2, size: '1024x1536', quality: 'high' },
    answer: { created: 1, size: '1024x1536', quality: 'high', data: [{ b64_json: 'QUJD' }, { b64_json: 'QUJD' }] },
    lines: ['image 2 @ 1.600000 of 1024x1536/high'],
  },
  searches: {
    path: '/v1/responses',
    body: { model: 'plain', input: 'q', tools: [{ type: 'web_search' }] },
    answer: {
      id: 'r1',
      object: 'response',
      output: [search('a'), search('b'), { content: [{ type: 'output_text', text: 'Hello.' }] }],
      usage: { input_tokens: 20, output_tokens: 4 },
    },
    lines: ['input 20 @ 3.333333', 'output 4 @ 15.100000', 'web_search 2 @ 0.070000'],
  },
  'cached sound': {
    path: '/v1/chat/completions',
    body: { model: 'plain', messages: [] },
    answer: {
      choices: [{ message: { content: 'Hello.' } }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 3,
        prompt_tokens_details: {
          audio_tokens: 60,
          cached_tokens: 50,
          cached_tokens_details: { audio_tokens: 40 },
        },
      },
    },
    lines: [
      'input 30 @ 3.333333',
      'input_audio 20 @ 40.000000',
      'cache_read 10 @ 0.300000',
      'cache_read_audio 40 @ 2.500000',
      'output 3 @ 15.100000',
    ],
  },
}

const written = (line: Line): string => {
  const { list, tier, tier_name: name } = line
  const special = tier === '1' ? (list === 'base' ? '' : ` ${list}`) : ` ${list} ${tier} ${name}`
  const row = line.price_row === null ? '' : ` of ${line.price_row}`
  return `${line.class} ${line.count} @ ${line.price}${special}${row}`
}

t.test('receipts', async t => {
  const upstream = await Upstream.open()
  t.teardown(() => upstream.close())
  const gateway = await openGateway({ catalog: () => catalog(upstream.url) })
  t.teardown(() => gateway.stop())
  const ask = (path: string, body: Json) =>
    fetch(gateway.main + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${KEY}`,
        'x-api-key': KEY,
        'content-type': 'application/json',
        'x-client-request-id': 'client-7',
      },
      body: JSON.stringify(body),
    })
  const shown = async (response: Response): Promise<Json> => {
    const id = response.headers.get('x-request-id') as string
    await response.text()
    let found: Json | null = null
    await until(`the gateway knows ${id}`, async () => {
      found = await gateway.admin('GET', `/admin/requests/${id}`).catch(() => null)
      return found !== null
    })
    return found as unknown as Json
  }

  for (const [name, { path, body, answer, lines }] of Object.entries(CASES)) {
    upstream.script = call => call.whole(200, answer, { 'x-request-id': 'up-answer-1' })
    const receipt = (await shown(await ask(path, body))) as Receipt
    t.strictSame(receipt.lines.map(written), lines, name)
    t.equal(millionths(receipt.charge), recomputed(receipt.lines, receipt.multiplier), `${name}: the charge`)
    t.ok(millionths(receipt.charge) > 0n)
    t.equal(millionths(receipt.cost), recomputed(receipt.lines, COST), `${name}: the cost`)
    t.ok(millionths(receipt.held) >= millionths(receipt.charge), `${name}: held ${receipt.held}`)
    t.match(receipt, {
      multiplier: MULTIPLIER,
      basis: 'reported',
      upstream_id: 'up-answer-1',
      client_request_id: 'client-7',
      attempts: [{ channel: 'one', status: 200, error: null }],
      lines: receipt.lines.map(() => ({ price_version: Number })),
    })
  }

  upstream.script = call => call.whole(500, { error: 'no' })
  const failed = await shown(await ask('/v1/messages', { model: 'plain', max_tokens: 9, messages: [] }))
  t.match(failed, { charge: '0.000000', cost: '0.000000', basis: 'none', lines: [] })
  t.match(failed, { attempts: [{ channel: 'one', status: 500, error: 'status' }], upstream_id: null })

  const refusals: [path: string, body: Json, status: number, reason: string][] = [
    ['/v1/messages', { model: 'unheard', messages: [] }, 403, 'model_restricted'],
    ['/v1/chat/completions', { model: 'plain', service_tier: 'priority', messages: [] }, 400, 'field'],
    ['/v1/messages', { model: 'plain', max_tokens: 1e9, messages: [] }, 403, 'estimate'],
  ]
  for (const [path, body, status, reason] of refusals) {
    const { refused } = (await shown(await ask(path, body))) as { refused: Json }
    t.match(refused, { account: 'rich', model: body['model'], reason, status, address: '127.0.0.1' }, reason)
  }
})
