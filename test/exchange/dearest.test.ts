/**
 * Whatever a request says, in whatever spelling, its hold covers the dearest answer that it allows: no account gets below
 * zero, by more than one step where holds grow, and no answer with content is free. `REQUESTS=20000` for a longer run.
 */
import t, { type Test } from 'tap'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { type Random, seeded } from '../support/random.ts'
import { chargeOfLines } from '../support/receipt.ts'
import { TALKING } from '../support/talking.ts'
import { type Dearest, dearest, SETTINGS } from './support/bodies.ts'
import { HEADERS, NOTHING_LEFT, type Options, open, PATHS, type Scene } from './support/gateway.ts'
import type { Call } from './support/upstream.ts'

/** Of one account, whose money lasts about so long. */
const REQUESTS = 400
const ROUNDS = Math.ceil(Number(process.env['REQUESTS'] ?? REQUESTS) / REQUESTS)
const AT_ONCE = 8
/** Of those that are estimated first: what another answer teaches in between would change what is held. */
const ESTIMATED_AT_ONCE = 1
/** CNY per million tokens. */
const PRICE = { input: 10, output: 50, cache_read: 1, cache_write_5m: 12.5, cache_write_1h: 20, image: 0.02 }
/** Nothing where nothing may be written. */
const textOf = ({ output }: Dearest): string => (output < 10 ? '' : 'Once upon a time there was a gateway. ')

const event = (data: object & { type?: string }): string =>
  `${data.type === undefined ? '' : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`

/** Of a price that has everything. */
const THRESHOLD = 1500
const RICH = {
  ...PRICE,
  output_audio: 70,
  output_image: 60,
  web_search: 0.05,
  request: 0.004,
  over: [{ tokens: THRESHOLD, input: 23, output: 90, cache_write_5m: 31, output_audio: 95 }],
  tiers: { priority: 2.5, flex: 0.5, fast: 3, 'geo:us': 1.1 },
  image: { default: 0.02, '1024x1024': 0.05, '1024x1536/low': 0.01, '1024x1536/high': 0.3 },
}
/** The same where pictures are charged as their tokens. */
const { image: _, ...RICH_TOKENS } = RICH
/** The largest factor of all tiers together. */
const MOST_TIER = 2.5 * 3 * 1.1

/** Tokens that may be reported for a body: those of its text, and what else it may cause. */
const inputOf = ({ text, input, prompt }: Dearest, isRich: boolean) => {
  const media = text.match(/(QUJD){20,}/g)?.reduce((sum, one) => sum + one.length, 0) ?? 0
  const usual = Math.floor((text.length - media) / 4) + input
  // text may have so many tokens that the list for large prompts prices it
  return isRich && prompt > THRESHOLD ? Math.max(usual, THRESHOLD + 1) : usual
}

/** The dearest usage, as its protocol reports it. `isRich`: output is sound or pictures where it may be, and tools have searched. */
function usageOf(d: Dearest, isRich: boolean): object {
  const input = inputOf(d, isRich)
  const output = d.output * d.n
  const kind = isRich && d.sound ? 'audio' : isRich && d.pictures ? 'image' : 'text'
  if (d.protocol === 'generate')
    return {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
      candidatesTokensDetails: [{ modality: kind.toUpperCase(), tokenCount: output }],
      ...(d.tiers.service === null ? {} : { serviceTier: d.tiers.service }),
    }
  if (d.protocol === 'chat')
    return {
      prompt_tokens: input,
      completion_tokens: output,
      prompt_tokens_details: { cache_write_tokens: input },
      completion_tokens_details: { [`${kind}_tokens`]: output },
      num_search_queries: isRich ? d.searches : 0,
    }
  if (d.protocol === 'responses')
    return {
      input_tokens: input,
      output_tokens: output,
      input_tokens_details: { cache_write_tokens: input },
      output_tokens_details: { [`${kind}_tokens`]: output },
    }
  const { service, speed, geo } = d.tiers
  const more = {
    ...(isRich ? { server_tool_use: { web_search_requests: d.searches } } : {}),
    ...(service === null ? {} : { service_tier: service }),
    ...(speed === null ? {} : { speed }),
    ...(geo === null ? {} : { inference_geo: geo }),
  }
  if (d.cacheTtl === null) return { input_tokens: input, output_tokens: output, ...more }
  return {
    input_tokens: 0,
    output_tokens: output,
    cache_creation_input_tokens: input,
    cache_creation: { [`ephemeral_${d.cacheTtl}_input_tokens`]: input },
    ...more,
  }
}

/** What stands beside the usage. */
const beside = ({ tiers, searches }: Dearest): object => ({
  ...(tiers.service === null ? {} : { service_tier: tiers.service }),
  tool_usage: { web_search: { num_requests: searches } },
})

/** The dearest picture that the request allows. */
const kindOf = ({ picture: { size, quality } }: Dearest) => ({
  size: size ?? '1024x1536',
  quality: quality ?? 'high',
})

/** As many searches as there may be, each as its protocol shows it in an answer. */
const searches = <T>({ searches }: Dearest, each: (id: string) => T): T[] =>
  Array.from({ length: searches }, (_, i) => each(`s${i}`))
const searchBlock = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: {} })
const searchItem = (id: string) => ({ type: 'web_search_call', id, action: { type: 'search', query: id } })

function answer(d: Dearest, usage: object | undefined, isRich: boolean): object {
  const more = usage === undefined ? {} : { usage, ...(isRich ? beside(d) : {}) }
  switch (d.protocol) {
    case 'messages':
      return { type: 'message', content: [...searches(d, searchBlock), { type: 'text', text: textOf(d) }], ...more }
    case 'chat':
      return { choices: [{ message: { content: textOf(d) } }], ...more }
    case 'responses':
      return {
        object: 'response',
        output: [...searches(d, searchItem), { content: [{ type: 'output_text', text: textOf(d) }] }],
        ...more,
      }
    case 'generate':
      return {
        candidates: [
          {
            content: { parts: [{ text: textOf(d) }] },
            groundingMetadata: { webSearchQueries: searches(d, id => id) },
            finishReason: 'STOP',
          },
        ],
        ...(usage === undefined ? {} : { usageMetadata: usage }),
      }
    case 'images':
      return { created: 1, data: Array.from({ length: Math.min(10, d.n) }, () => ({ b64_json: 'AAAA' })), ...kindOf(d) }
  }
}

function events(d: Dearest, usage: object | undefined, isRich: boolean): string[] {
  const more = usage === undefined ? {} : { usage, ...(isRich ? beside(d) : {}) }
  if (d.protocol === 'messages')
    return [
      event({ type: 'message_start', message: { id: 'm', usage: { input_tokens: 0, output_tokens: 1 } } } as object),
      ...searches(d, searchBlock).map((content_block, index) =>
        event({ type: 'content_block_start', index, content_block } as object),
      ),
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: textOf(d) } } as object),
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...more } as object),
      event({ type: 'message_stop' }),
    ]
  if (d.protocol === 'responses')
    return [
      event({ type: 'response.created', response: { id: 'r' } } as object),
      ...searches(d, searchItem).map((item, output_index) =>
        event({ type: 'response.output_item.done', output_index, item } as object),
      ),
      event({ type: 'response.output_text.delta', delta: textOf(d) } as object),
      event({ type: 'response.completed', response: { id: 'r', ...more } } as object),
    ]
  return [
    event({ id: 'c', choices: [{ index: 0, delta: { content: textOf(d) } }] } as object),
    event({ id: 'c', choices: [], ...more } as object),
    'data: [DONE]\n\n',
  ]
}

/** Whole, or broken off, or without usage. */
function speak(random: Random, call: Call, d: Dearest, isRich: boolean): void {
  const usage = d.output < 10 || random.next() < 0.8 ? usageOf(d, isRich) : undefined
  if (!d.streams) {
    call.whole(200, answer(d, usage, isRich))
    return
  }
  const all = events(d, usage, isRich)
  call.stream()
  const cut = random.next() < 0.15
  for (const one of cut ? all.slice(0, -1) : all) call.chunk(one)
  if (cut) call.halfClose()
  else call.end()
}

/** What is told of a request without sending it, in micro-CNY; null = it would be refused. */
async function estimated(s: Scene, { protocol, text }: Dearest): Promise<{ held: number; bound: number } | null> {
  const body = `{"path":"${PATHS[protocol]}","body":${text}}`
  const asking = s.ask({ path: '/v1/estimate', headers: HEADERS, body })
  await asking.end()
  const { held, bound, refusal } = JSON.parse(asking.text) as { held: number; bound: number; refusal: object | null }
  const micros = (amount: number) => Math.round(amount * 1_000_000)
  return asking.status === 200 && refusal === null ? { held: micros(held), bound: micros(bound) } : null
}

/** `over`: what a charge may be above its hold, in micro-CNY. `estimates`: each request is estimated before it is sent. */
async function run(
  t: Test,
  random: Random,
  {
    price = PRICE,
    over = 0,
    isRich = false,
    estimates = false,
    ...options
  }: Options & { price?: object; over?: number; isRich?: boolean; estimates?: boolean },
) {
  const s = await open(t, { ...options, model: { price, ...SETTINGS } })
  const bodies = new Map<string, Dearest>()
  s.at('a').script = call =>
    speak(random, call, bodies.get(/"user":"(\w+)"/.exec(call.body)?.[1] ?? '') as Dearest, isRich)
  const { ledger } = s.services
  const settle = ledger.settle.bind(ledger)
  let settled = 0
  const became = new Map<string, { held: number; charge: number }>()
  let compared = 0
  ledger.settle = (hold, row) => {
    settled++
    became.set(row.requestId, { held: hold.amount, charge: row.charge })
    if (chargeOfLines(row) !== BigInt(row.charge)) t.fail(`not what its lines come to: ${JSON.stringify(row)}`)
    if (row.charge > hold.amount + over) t.fail(`held ${hold.amount}, charged ${row.charge}: ${JSON.stringify(row)}`)
    return settle(hold, row)
  }
  const statuses = new Map<number, number>()
  let next = 0
  const client = async () => {
    while (next < REQUESTS) {
      const id = `r${next++}`
      const d = dearest(random, random.pick(TALKING), id, isRich)
      bodies.set(id, d)
      const told = estimates ? await estimated(s, d) : null
      const asking = s.ask({ path: PATHS[d.protocol], headers: HEADERS, body: d.text })
      await asking.end()
      const { held, charge } = became.get(asking.answer.headers.get('x-request-id') ?? '') ?? { held: 0, charge: 0 }
      if (told !== null && held > 0) {
        compared++
        if (held !== told.held || charge > told.bound)
          t.fail(`estimated ${JSON.stringify(told)}, held ${held}, charged ${charge}: ${d.text.slice(0, 500)}`)
      }
      statuses.set(asking.status, (statuses.get(asking.status) ?? 0) + 1)
      bodies.delete(id)
    }
  }
  await Promise.all(Array.from({ length: estimates ? ESTIMATED_AT_ONCE : AT_ONCE }, client))
  const { rows, ok, left, failures } = await s.books()
  t.match({ ok, left, failures }, { ok: true, left: NOTHING_LEFT, failures: [] })
  t.ok(rows.every(row => row.status !== 200 || row.charge > 0))
  const seen = [...statuses.keys()]
  t.ok(
    seen.every(status => [200, 400, 403, 429].includes(status)),
    seen.join(),
  )
  t.ok(
    [200, 400].every(status => seen.includes(status)) &&
      (estimates || seen.some(status => status === 403 || status === 429)),
    'of each some',
  )
  t.ok(!estimates || compared > REQUESTS / 4, `${compared} estimates were compared`)
  t.comment(JSON.stringify([...statuses]))
  t.ok(settled > REQUESTS / 40)
  const [purse] = await s.store.books.purses([accountPurse(1)])
  return (purse?.credit ?? 0) - (purse?.spent ?? 0)
}

t.test('no answer costs more than was held for it, and none with content is free', async t => {
  const random = seeded(t)
  for (let round = 0; round < ROUNDS; round++) t.ok((await run(t, random, {})) >= 0)
})

t.test('where holds grow, by no more than a step', async t => {
  const step = 200
  const price = { ...PRICE, output: 500 }
  const over = step * price.output
  const random = seeded(t)
  for (let round = 0; round < ROUNDS; round++) {
    const left = await run(t, random, { price, over, config: { hold: { output_tokens: step } } })
    t.ok(left >= -over, `${left}`)
  }
})

t.test(
  'nor at a price that has everything: lists for large prompts, tiers, searches, sound, kinds of pictures',
  async t => {
    const random = seeded(t)
    for (let round = 0; round < ROUNDS; round++)
      for (const price of [RICH, RICH_TOKENS]) t.ok((await run(t, random, { price, isRich: true })) >= 0)
  },
)

t.test('nor there where holds grow, by more than a step', async t => {
  const step = 200
  const over = step * RICH.over[0]!.output_audio * MOST_TIER
  const config = { hold: { output_tokens: step } }
  const random = seeded(t)
  for (let round = 0; round < ROUNDS; round++)
    for (const price of [RICH, RICH_TOKENS])
      t.ok((await run(t, random, { price, isRich: true, over, config })) >= -over)
})

/** In micro-CNY: where money runs out, what is held depends on what else is open at that moment. */
const ENOUGH = 1_000_000_000_000

t.test('an estimate says what is held then, and no charge is above its bound', async t => {
  const random = seeded(t)
  for (let round = 0; round < ROUNDS; round++)
    for (const price of [RICH, RICH_TOKENS])
      await run(t, random, { price, isRich: true, estimates: true, credit: ENOUGH })
})
