/** What accounts with next to no money try: to get output or tools unpaid, or others refused. */
import t from 'tap'
import { HEADERS, keyOf, MODEL, OTHER_KEY, open, type Scene } from '../exchange/support/gateway.ts'
import { answers, document, SPEECH, says } from '../exchange/support/speech.ts'
import type { Call } from '../exchange/support/upstream.ts'
import { until } from '../support/wait.ts'
import { cheat, PRICES } from './table.ts'

/** Micro-CNY a token. */
const IN = 2
const OUT = 8
const CEILING = 64_000
const ALL = { max_output: CEILING }

/** Answers whole with so many tokens of output, whatever was asked, and adds up what that is worth. */
function writing(output: number, read: (call: Call) => number = () => output) {
  const billed = { worth: 0, calls: 0 }
  const script = (call: Call) => {
    const tokens = read(call)
    billed.worth += 100 * IN + tokens * OUT
    billed.calls++
    answers(100, tokens)(call)
  }
  return { billed, script }
}

const member = (call: Call, name: string): unknown => (JSON.parse(call.body) as Record<string, unknown>)[name]
/** Tokens that an upstream writes which reads this maximum alone. */
const upTo =
  (name: string) =>
  (call: Call): number =>
    (member(call, name) as number | undefined) ?? CEILING

/** Asks one after the other, and returns the statuses. */
async function ask(s: Scene, times: number, more: object): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) {
    const client = s.ask({ ...document(), body: { model: MODEL, ...more } })
    await client.end()
    statuses.push(client.status)
    await s.services.ledger.flush()
  }
  return statuses
}

/** All at once. */
async function askTogether(s: Scene, times: number, more: object): Promise<number[]> {
  const clients = Array.from({ length: times }, () => s.ask({ ...document(), body: { model: MODEL, ...more } }))
  await Promise.all(clients.map(client => client.end()))
  return clients.map(({ status }) => status)
}

for (const spelling of ['max_completion_tokens', 'max_output_tokens', 'maxOutputTokens'])
  cheat(t, {
    name: `a maximum of one token as ${spelling}, which the upstream does not read`,
    credit: 50_000,
    options: { model: ALL },
    async tries(s) {
      const { billed, script } = writing(CEILING, upTo('max_tokens'))
      s.at('a').script = script
      await ask(s, 60, { [spelling]: 1 })
      return billed.worth
    },
  })

cheat(t, {
  name: 'no maximum named, thirty requests at once',
  credit: 5_000_000,
  options: { model: ALL },
  async tries(s) {
    const { billed, script } = writing(CEILING)
    s.at('a').script = script
    await askTogether(s, 30, {})
    await askTogether(s, 30, {})
    return billed.worth
  },
  unpaid: { most: (CEILING * OUT * 4) / 5, why: 'one request may be held at less than its worst case' },
})

cheat(t, {
  name: 'no maximum named, one after the other until nothing is left',
  credit: 700_000,
  options: { model: ALL },
  async tries(s, t) {
    const { billed, script } = writing(CEILING)
    s.at('a').script = script
    const statuses = await ask(s, 40, {})
    t.ok(statuses.includes(403), 'it ends with a refusal for money')
    return billed.worth
  },
  unpaid: { most: (CEILING * OUT * 4) / 5, why: 'one request may be held at less than its worst case' },
})

cheat(t, {
  name: 'an overcharge: an upstream reports 900,000,000 input tokens for a short prompt',
  credit: 99_980_000,
  async tries(s, t) {
    s.at('a').script = answers(900_000_000, 10)
    await ask(s, 1, { max_tokens: 100 })
    const { rows } = await s.books()
    const [row] = rows
    t.ok((row?.charge ?? 0) > 0 && (row?.charge ?? 0) < 100_000, `charged ${row?.charge}`)
    t.equal(row?.input, 900_000_000, 'the row keeps what was reported')
    return row?.charge ?? 0
  },
})

cheat(t, {
  name: 'an overcharge: a stream of an upstream that reports more with each event',
  credit: 99_980_000,
  async tries(s, t) {
    const client = s.ask(SPEECH.chat.ask)
    const call = await s.at('a').call()
    call.stream()
    call.chunk(SPEECH.chat.first)
    for (let i = 1; i <= 8; i++)
      call.chunk(
        `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10 ** i, completion_tokens: 10 ** i } })}\n\n`,
      )
    call.chunk('data: [DONE]\n\n')
    call.end()
    await client.end()
    const { rows } = await s.books()
    t.ok((rows[0]?.charge ?? 0) < 1_100_000, `charged ${rows[0]?.charge}`)
    return rows[0]?.charge ?? 0
  },
})

cheat(t, {
  name: 'an account below zero goes on being served from its lease',
  credit: 1_000_000,
  options: { model: ALL },
  async tries(s, t) {
    // the report is above the hold, and within what the request can cause: there is a picture in it
    let worth = 0
    s.at('a').script = call => {
      const input = call.body.includes('data:image') ? 600_000 : 100
      worth += input * IN + 10 * OUT
      answers(input, 10)(call)
    }
    const url = `data:image/png;base64,${'QUJD'.repeat(50)}`
    const content = Array.from({ length: 40 }, () => ({ type: 'image_url', image_url: { url } }))
    await ask(s, 1, { max_tokens: 100, messages: [{ role: 'user', content }] })
    const statuses = await askTogether(s, 200, { max_tokens: 10 })
    t.same(new Set(statuses), new Set([403]))
    return worth
  },
  unpaid: { most: 600_000 * IN - 1_000_000 + 10 * OUT, why: 'pictures may be more tokens than is held for them' },
})

cheat(t, {
  name: 'whole answers of a thinking model left just before their usage, after streams were left',
  credit: 300_000_000,
  options: { model: { ...ALL, thinking: 'effort' } },
  async tries(s) {
    const stream = { ...SPEECH.chat.ask, body: { ...(SPEECH.chat.ask.body as object), max_tokens: 2_000 } }
    const streams = Array.from({ length: 40 }, () => s.ask(stream))
    await until('the streams are asked or refused', () => s.at('a').calls.length + refused(streams) >= 40)
    for (const call of s.at('a').calls) {
      call.stream()
      call.chunk(SPEECH.chat.first)
    }
    await until('they are answered', () => streams.every(client => client.status !== 0))
    for (const client of streams) client.leave()
    await s.settled()
    const before = s.at('a').calls.length
    let worth = before * (100 * IN + 10 * OUT)
    const thinkers = Array.from({ length: 20 }, () => s.ask(document({ max_tokens: 32_000, reasoning_effort: 'high' })))
    await until('each is asked or refused', () => s.at('a').calls.length - before + refused(thinkers) >= 20)
    const asked = s.at('a').calls.slice(before)
    for (const client of thinkers) client.leave()
    await s.settled()
    s.clock.advance(150)
    for (const call of asked) {
      worth += 100 * IN + 30_000 * OUT
      answers(100, 30_000)(call)
    }
    for (const call of s.at('a').calls.slice(0, before)) {
      call.chunk(SPEECH.chat.rest)
      call.end()
    }
    return worth
  },
})

const refused = (clients: readonly { status: number }[]): number =>
  clients.filter(({ status }) => status === 429 || status === 403).length

for (const [what, price, body] of [
  ['request', { request: 0.5 }, {}],
  ['image', { image: 0.28 }, {}],
] as const)
  cheat(t, {
    name: `a price by ${what}: asked and left, and the answer comes after the drain`,
    credit: 10_000_000,
    options: { prices: { [MODEL]: price } },
    async tries(s) {
      const path = what === 'image' ? '/v1/images/generations' : '/v1/chat/completions'
      const client = s.ask({ path, headers: HEADERS, body: { model: MODEL, prompt: 'a cat', messages: [], ...body } })
      const call = await s.at('a').call()
      client.leave()
      await s.settled()
      s.clock.advance(36_000)
      if (what === 'image') call.whole(200, { data: [{ b64_json: 'AAAA' }] })
      else call.whole(200, { choices: [{ message: { content: 'hello' } }] })
      return what === 'image' ? 280_000 : 500_000
    },
  })

for (const [path, tool] of [
  ['/v1/responses', { type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } }],
  ['/v1/responses', { type: 'shell', environment: { type: 'container_auto', memory_limit: '64g' } }],
  ['/v1/messages', { type: 'code_execution_20250825', name: 'code_execution' }],
  [`/v1beta/models/${MODEL}:generateContent`, { googleMaps: {} }],
] as const)
  cheat(t, {
    name: `a server tool without a price on ${path}: ${JSON.stringify(tool)}`,
    credit: 10_000_000,
    async tries(s, t) {
      const client = s.ask({
        path,
        headers: HEADERS,
        body: { model: MODEL, max_tokens: 100, messages: [], input: 'x', contents: [], tools: [tool] },
      })
      await client.end()
      t.equal(client.status, 400)
      return s.at('a').calls.length * 3_400_000
    },
  })

t.test('cheat: one 429 with retry-after, caused by an account with next to no money, refuses nobody else', async t => {
  const s = await open(t, { prices: PRICES, credit: 10_000, channels: { a: {}, b: {}, c: {} } })
  for (const name of ['a', 'b', 'c']) s.at(name).script = says(429, { 'retry-after': '3600' })
  const cheating = s.ask(document())
  await cheating.end()
  t.equal(cheating.status, 429)
  t.ok(Number(cheating.answer.headers.get('retry-after')) <= 60)
  for (const name of ['a', 'b', 'c']) s.at(name).script = answers(100, 10)
  s.clock.advance(2_001)
  const victim = s.ask({ ...document(), headers: { authorization: `Bearer ${OTHER_KEY}` } })
  await victim.end()
  t.equal(victim.status, 200)
})

t.test('cheat: ten accounts take turns with 429s, and a customer without any is still let through', async t => {
  const s = await open(t, { prices: PRICES, credit: 10_000, channels: { a: {} } })
  s.at('a').script = call =>
    (call.body.includes('too long') ? says(429, { 'retry-after': '600' }) : answers(100, 10))(call)
  for (let i = 0; i < 5; i++) {
    const cheating = s.ask(document({ user: 'too long' }))
    await cheating.end()
    s.clock.advance(1_000)
  }
  s.clock.advance(2_001)
  const victim = s.ask({ ...document(), headers: { authorization: `Bearer ${OTHER_KEY}` } })
  await victim.end()
  t.equal(victim.status, 200)
})

t.test(
  'cheat: names of gateways in the header of loops, which the next gateway refuses, close no channel to others',
  async t => {
    const accounts = Object.fromEntries(['c0', 'c1', 'c2', 'c3', 'c4'].map(name => [name, 0.01]))
    const s = await open(t, { prices: PRICES, accounts, channels: { a: {}, b: {} } })
    // what this software does when it is the upstream: it refuses the eighth name
    for (const name of ['a', 'b'])
      s.at(name).script = call =>
        (/^x-gateway-hops: (?:[0-9a-f]{16}, ){7}/im.test(call.head) ? says(508) : answers(100, 10))(call)
    const hops = Array.from({ length: 7 }, (_, i) => String(i).repeat(16)).join(',')
    for (let i = 0; i < 40; i++) {
      const headers = { authorization: `Bearer ${keyOf(`c${i % 5}`)}`, 'x-gateway-hops': hops }
      const cheating = s.ask({ ...document({ max_tokens: 10 }), headers })
      await cheating.end()
      t.not(cheating.status, 200)
    }
    t.same([s.state('a'), s.state('b')], ['closed', 'closed'])
    const victim = s.ask({ ...document(), headers: { authorization: `Bearer ${OTHER_KEY}` } })
    await victim.end()
    t.equal(victim.status, 200)
  },
)

const WRITTEN = 'hello'
/** An answer of each protocol with so much reported. */
function reports(path: string, input: number, output: number): object {
  if (path.endsWith('/messages'))
    return { content: [{ type: 'text', text: WRITTEN }], usage: { input_tokens: input, output_tokens: output } }
  if (path.endsWith('/responses'))
    return {
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text: WRITTEN }] }],
      usage: { input_tokens: input, output_tokens: output },
    }
  if (path.endsWith('/embeddings')) return { data: [{ embedding: [1] }], usage: { prompt_tokens: input } }
  return {
    choices: [{ message: { content: WRITTEN } }],
    usage: { prompt_tokens: input, completion_tokens: output },
  }
}

const CHAT = '/v1/chat/completions'
const URL_OF_A_PICTURE = 'https://pictures.test/a.png'
const hundred = <T>(what: T): T[] => Array.from({ length: 100 }, () => what)
const said = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const picture = { type: 'image_url', image_url: { url: URL_OF_A_PICTURE } }

/** What the gateway does not look at, and the upstream does: the report is charged all the same, or the request refused. */
for (const [what, path, body, input, output] of [
  ['a maximum in extra_body', CHAT, { max_tokens: 1, extra_body: { max_tokens: 60_000 } }, 100, 60_000],
  ['answers in extra_body', CHAT, { max_tokens: 100, extra_body: { n: 50 } }, 100, 5_000],
  [
    'thoughts in extra_body',
    CHAT,
    { max_tokens: 10, extra_body: { enable_thinking: true, thinking_budget: 30_000 } },
    100,
    30_010,
  ],
  ['pictures in extra_body', CHAT, { max_tokens: 10, extra_body: said(...hundred(picture)) }, 150_000, 10],
  ['another model in extra_body', CHAT, { max_tokens: 10, extra_body: { model: 'dear' } }, 100, 60_000],
  ['no usage by extra_body', CHAT, { max_tokens: 10, extra_body: { stream_options: {} } }, 100, 60_000],
  ['a dear tier in extra_body', CHAT, { max_tokens: 10, extra_body: { service_tier: 'priority' } }, 200, 20],
  [
    'a maximum in extra_body of messages',
    '/v1/messages',
    { max_tokens: 1, extra_body: { max_tokens: 60_000 } },
    100,
    60_000,
  ],
  [
    'a maximum in extra_body of responses',
    '/v1/responses',
    { max_output_tokens: 1, extra_body: { max_output_tokens: 60_000 } },
    100,
    60_000,
  ],
  [
    'a conversation of somebody else in extra_body',
    '/v1/responses',
    { max_output_tokens: 1, extra_body: { previous_response_id: 'resp_1' } },
    150_000,
    1,
  ],
  [
    'a prediction that does not come',
    CHAT,
    { max_tokens: 10, prediction: { type: 'content', content: 'x y '.repeat(20_000) } },
    20_000,
    20_010,
  ],
  ['a maximum of 0 on messages, which is none to the upstream', '/v1/messages', { max_tokens: 0 }, 100, 8_000],
  ['a maximum of 0, and 1 in another name', '/v1/messages', { max_tokens: 0, max_completion_tokens: 1 }, 100, 8_000],
  [
    'pictures in parts of another provider',
    CHAT,
    { max_tokens: 10, ...said(...hundred({ type: 'image', image: URL_OF_A_PICTURE })) },
    150_000,
    10,
  ],
  [
    'a document in the words of messages',
    CHAT,
    { max_tokens: 10, ...said({ type: 'document', source: { type: 'url', url: 'https://pictures.test/a.pdf' } }) },
    150_000,
    10,
  ],
  [
    'a film in a part that nobody knows',
    CHAT,
    { max_tokens: 10, ...said({ type: 'input_film', input_film: { url: 'https://pictures.test/a.mp4' } }) },
    150_000,
    10,
  ],
  [
    'pictures in the words of chat on messages',
    '/v1/messages',
    { max_tokens: 10, ...said(...hundred(picture)) },
    150_000,
    10,
  ],
  [
    'a stored file in a part of another provider',
    CHAT,
    { max_tokens: 10, ...said({ type: 'document', source: { type: 'file', file_id: 'file_1' } }) },
    150_000_000,
    10,
  ],
  [
    'a stored file in the words of chat on messages',
    '/v1/messages',
    { max_tokens: 10, ...said({ type: 'file', file: { file_id: 'file_1' } }) },
    150_000_000,
    10,
  ],
  ['pictures to embed in extra_body', '/v1/embeddings', { extra_body: { input: hundred(picture) } }, 150_000, 0],
  ['pictures to embed as messages', '/v1/embeddings', said(...hundred(picture)), 150_000, 0],
  ['pictures to embed as parts', '/v1/embeddings', { input: [{ content: hundred(picture) }] }, 150_000, 0],
] as const)
  cheat(t, {
    name: `what stands where few look: ${what}`,
    credit: 900_000_000,
    options: { model: { ...ALL, context: 1_000_000 } },
    async tries(s) {
      s.at('a').script = call => call.whole(200, reports(path, input, output))
      const client = s.ask({ path, headers: HEADERS, body: { model: MODEL, messages: [], input: 'x', ...body } })
      await client.end()
      return s.at('a').calls.length * (input * IN + output * OUT)
    },
  })

t.test(
  'cheat: requests at which upstreams fail, from five accounts, and a customer who is answered is let through',
  async t => {
    const accounts = Object.fromEntries(['c0', 'c1', 'c2', 'c3', 'c4'].map(name => [name, 0.01]))
    const s = await open(t, { prices: PRICES, accounts, channels: { a: {}, b: {} } })
    for (const name of ['a', 'b'])
      s.at(name).script = call => (call.body.includes('poison') ? says(500) : answers(100, 10))(call)
    const statuses: number[] = []
    for (let i = 0; i < 60; i++) {
      const headers = { authorization: `Bearer ${keyOf(`c${i % 5}`)}` }
      await s.ask({ ...document({ max_tokens: 10, user: 'poison' }), headers }).end()
      if (i % 20 !== 19) continue
      const victim = s.ask({ ...document(), headers: { authorization: `Bearer ${OTHER_KEY}` } })
      await victim.end()
      statuses.push(victim.status)
      s.clock.advance(1_000)
    }
    t.same(statuses, [200, 200, 200])
  },
)

cheat(t, {
  name: 'speech as samples of which there are few in a second, where seconds are priced',
  credit: 900_000_000,
  options: { prices: { [MODEL]: { second: 1 } } },
  async tries(s) {
    s.at('a').script = call => call.whole(200, 'x'.repeat(9 * 16_000), { 'content-type': 'audio/pcm' })
    const client = s.ask({
      path: '/v1/audio/speech',
      headers: HEADERS,
      body: { model: MODEL, input: 'a few words', voice: 'v', response_format: 'pcm', sample_rate: 8000 },
    })
    await client.end()
    return s.at('a').calls.length * 9_000_000
  },
})

t.test('cheat: requests that an upstream answers 403, from two accounts, do not close it to others', async t => {
  const accounts = Object.fromEntries(['c0', 'c1'].map(name => [name, 0.01]))
  const s = await open(t, { prices: PRICES, accounts, channels: { a: {} } })
  s.at('a').script = call => (call.body.includes('forbidden') ? says(403) : answers(100, 10))(call)
  const tries = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const headers = { authorization: `Bearer ${keyOf(`c${i % 2}`)}` }
      await s.ask({ ...document({ max_tokens: 10, user: 'forbidden' }), headers }).end()
    }
  }
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) {
    await tries(10)
    const victim = s.ask({ ...document(), headers: { authorization: `Bearer ${OTHER_KEY}` } })
    await victim.end()
    statuses.push(victim.status)
    s.clock.advance(1_000)
  }
  t.same(statuses, [200, 200, 200])
})
