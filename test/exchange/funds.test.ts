/** A key asks what it has spent and may still spend, in the forms that chat applications read. */
import t, { type Test } from 'tap'
import { timeOfId } from '../../lib/base/ids.ts'
import { PUBLISHED } from '../../lib/exchange/paths.ts'
import { PROTOCOLS } from '../../lib/protocols/names.ts'
import { micro } from '../../lib/base/money.ts'
import { accountPurse, keyPurse } from '../../lib/store/books/purses.ts'
import { SETUP } from '../support/store.ts'
import {
  HEADERS,
  KEY,
  keyOf,
  MODEL,
  NOTHING_LEFT,
  type Options,
  OTHER_KEY,
  open,
  POOR_KEY,
  type Scene,
} from './support/gateway.ts'
import { until } from '../support/wait.ts'
import { answers, document } from './support/speech.ts'
import { asks, FOUR } from './support/four.ts'

const SUBSCRIPTION = '/v1/dashboard/billing/subscription'
const USAGE = '/v1/dashboard/billing/usage?start_date=2026-01-01&end_date=2026-02-01'
const TOKEN = '/api/usage/token'

type Json = Record<string, never> & Record<string, number>

async function get(s: Scene, path: string, key: string | null = KEY) {
  const headers = key === null ? {} : { authorization: `Bearer ${key}` }
  const answer = await fetch(s.urls.direct + path, { headers })
  return { status: answer.status, json: (await answer.json()) as Json & { data: Json }, headers: answer.headers }
}

/** What applications show: the limit, what is used, and the difference. */
async function balance(s: Scene, key = KEY): Promise<[limit: number, used: number, left: number]> {
  const limit = (await get(s, SUBSCRIPTION, key)).json['hard_limit_usd']!
  const used = (await get(s, USAGE, key)).json['total_usage']! / 100
  return [limit, used, Math.round((limit - used) * 1e6) / 1e6]
}

/** One request that is charged: 1 token of input at 2 and 1 of output at 8, CNY per million. */
async function spend(s: Scene): Promise<void> {
  s.at('a').script = answers(1, 1)
  const client = s.ask(document())
  await client.end()
  t.equal(client.status, 200)
  await s.books()
}
const CHARGE = 0.00001

const scene = (t: Test, options: Options = {}) => open(t, options)

t.test('what is left of an account', async t => {
  const s = await scene(t)
  t.strictSame(await balance(s), [100, 0, 100])
  await spend(s)
  t.strictSame(await balance(s), [100, CHARGE, 100 - CHARGE])
  t.strictSame(await balance(s, OTHER_KEY), [100, 0, 100], 'of another account nothing is said')
  t.strictSame(await balance(s, POOR_KEY), [0, 0, 0])
  const { json, headers } = await get(s, SUBSCRIPTION)
  t.strictSame(json, {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: 100,
    hard_limit_usd: 100,
    system_hard_limit_usd: 100,
    access_until: 0,
  })
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  t.strictSame((await get(s, USAGE)).json, { object: 'list', total_usage: CHARGE * 100 })
  for (const path of ['/dashboard/billing/subscription', '/api/usage/token/']) t.equal((await get(s, path)).status, 200)

  const one = (await s.store.accounts.byName('one'))!
  await s.store.holders.register({ id: 'elsewhere', host: 'there', beat: 0 })
  await s.store.books.lease(accountPurse(one.id), 'elsewhere', micro(9), micro(9), false)
  await s.store.holders.reportHeld('elsewhere', new Map([[accountPurse(one.id), micro(7)]]))
  t.strictSame(await balance(s), [99.999993, CHARGE, 99.999983], 'what open requests hold elsewhere is not available')
  const entry = { kind: 'adjustment', amount: micro(-200_000_000), reference: 'x', actor: '', note: 'lost' } as const
  await s.store.entries.add(one.id, entry, SETUP, true)
  t.equal((await balance(s))[2], -100.000017, 'below zero')
})

t.test('of who leaves while the store is asked nothing is counted, however large the answer would be', async t => {
  const models = Array.from({ length: 300 }, (_, i) => `${'m'.repeat(100)}${i}`)
  const s = await scene(t, { key: { models } })
  const { books } = s.store
  const purses = books.purses.bind(books)
  const whole = await get(s, TOKEN)
  t.equal(whole.status, 200)
  t.ok(JSON.stringify(whole.json).length > 16 * 1024, 'large enough to count')
  await until('what the first answer took is given back', () => s.services.buffered.bytes === 0)
  let answer = () => {}
  const asked = new Promise<void>(resolve => {
    books.purses = async ids => {
      resolve()
      await new Promise<void>(go => (answer = go))
      return purses(ids)
    }
  })
  const leaver = new AbortController()
  const headers = { authorization: `Bearer ${KEY}` }
  const gone = fetch(s.urls.direct + TOKEN, { headers, signal: leaver.signal })
  await asked
  leaver.abort()
  await t.rejects(gone)
  await until('it has left', () => s.services.openCount === 0)
  answer()
  await s.settled()
  t.equal(s.services.buffered.bytes, 0)
})

t.test('a cap and a budget bound it', async t => {
  const s = await scene(t, { key: { cap: 3, expires_at: '2030-01-01T00:00:00Z', models: ['m'] } })
  await spend(s)
  t.strictSame(await balance(s), [3, CHARGE, 3 - CHARGE])
  t.strictSame((await get(s, TOKEN)).json, {
    code: true,
    message: 'ok',
    data: {
      object: 'token_usage',
      name: 'k',
      total_granted: 1_500_000,
      total_used: 5,
      total_available: 1_499_995,
      unlimited_quota: false,
      model_limits: { m: true },
      model_limits_enabled: true,
      expires_at: Date.UTC(2030, 0, 1) / 1000,
    },
  } as never)
  const key = (await s.store.keys.list())[0]!
  const set = (amount: number, every: 'day' | null) => ({
    limit: { amount: micro(amount), every, before: null },
    atMs: 0,
  })
  await s.store.keys.update(key.id, { cap: set(2_000_000, 'day') }, SETUP)
  await s.follow()
  t.strictSame(await balance(s), [2 + CHARGE, CHARGE, 2], 'a cap that renews counts what its period has spent')
  await s.store.accounts.update(key.accountId, { budget: set(1_000_000, 'day') }, SETUP)
  await s.follow()
  t.equal((await balance(s))[2], 1)
})

t.test('a key whose cap is used up is told so, and a stranger nothing', async t => {
  const s = await scene(t, { key: { cap: CHARGE } })
  await s.store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const key = (await s.store.keys.list())[0]!
  await s.store.books.lease(keyPurse(key.id), 'h', micro(10), micro(10), false)
  await s.store.holders.reportHeld('h', new Map([[keyPurse(key.id), micro(10)]]))
  t.strictSame(await balance(s), [0, 0, 0])
  for (const path of [SUBSCRIPTION, USAGE, TOKEN]) {
    t.match(await get(s, path, null), { status: 401, json: { error: { type: 'gateway_api_error' } } }, path)
    t.match(await get(s, path, 'sk-nobody-knows-this'), { status: 401 }, path)
  }
})

t.test('in USD where the config has a rate', async t => {
  const s = await scene(t, { config: { billing: { usd_rate: '7.2' } } })
  await spend(s)
  t.strictSame(await balance(s), [13.888888, 0.000001, 13.888887], 'fractions of a millionth are cut off')
  t.match((await get(s, TOKEN)).json.data, { total_granted: 6_944_444, total_available: 6_944_443 })
})

t.test('inside the limit of what is free', async t => {
  const s = await scene(t, { rate: 1, config: { limits: { count: { requests: 2, minutes: 5 } } } })
  t.equal((await get(s, SUBSCRIPTION)).status, 200)
  t.equal((await get(s, USAGE)).status, 200)
  t.equal((await get(s, TOKEN)).status, 429)
})

// --- in the words of OpenRouter

t.test('credits: of the account, of the cap of a key that has one, and of nobody else', async t => {
  const s = await scene(t, { keys: [{ name: 'capped', secret: 'sk-scenario-capped-0123', cap: 3 }] })
  await spend(s)
  const of = async (key: string | null) => (await get(s, '/v1/credits', key)).json.data
  t.strictSame(await of(KEY), { total_credits: 100, total_usage: CHARGE, currency: 'CNY' } as never)
  t.strictSame(await of('sk-scenario-capped-0123'), { total_credits: 3, total_usage: 0, currency: 'CNY' } as never)
  t.strictSame(await of(OTHER_KEY), { total_credits: 100, total_usage: 0, currency: 'CNY' } as never)
  t.equal((await get(s, '/v1/credits', null)).status, 401)
})

t.test('a key: its cap, what it has spent this day, week and month, and every member of its type', async t => {
  const s = await scene(t, {
    rate: 30,
    key: { cap: { amount: 3, every: 'week' }, expires_at: '2030-01-01T00:00:00Z' },
  })
  await spend(s)
  for (const path of ['/v1/key', '/v1/auth/key']) {
    const { json } = await get(s, path)
    t.match(json.data, {
      label: 'k',
      limit: 3,
      limit_remaining: 3 - CHARGE,
      limit_reset: 'weekly',
      usage: CHARGE,
      usage_daily: CHARGE,
      usage_weekly: CHARGE,
      usage_monthly: CHARGE,
      is_free_tier: false,
      expires_at: '2030-01-01T00:00:00.000Z',
      rate_limit: { requests: 30, interval: '1m', note: String },
      currency: 'CNY',
    } as never)
  }
  t.match((await get(s, '/v1/key', OTHER_KEY)).json.data, {
    limit: null,
    limit_remaining: null,
    limit_reset: null,
    usage: 0,
    usage_monthly: 0,
    expires_at: null,
  } as never)
})

t.test('days, weeks and months of a key begin in the zone of the config', async t => {
  const s = await scene(t, { config: { zone: 'Asia/Shanghai' } })
  const spends = async (at: string) => {
    s.clock.advance(Date.parse(at) - s.clock.now())
    await spend(s)
    const { usage_daily, usage_weekly, usage_monthly, usage } = (await get(s, '/v1/key')).json.data
    return [usage_daily, usage_weekly, usage_monthly, usage].map(sum => Math.round(Number(sum) / CHARGE))
  }
  t.same(await spends('2026-10-31T15:30:00Z'), [1, 1, 1, 1], 'Saturday, 31 October')
  t.same(await spends('2026-10-31T16:30:00Z'), [1, 2, 1, 2], 'Sunday, 1 November: a new day and month')
  t.same(await spends('2026-11-01T15:30:00Z'), [2, 3, 2, 3], 'the same Sunday')
  t.same(await spends('2026-11-01T16:30:00Z'), [1, 1, 3, 4], 'Monday, 2 November: a new week')
})

t.test('a generation: by our id and by that of the answer, for the key that made it', async t => {
  const s = await scene(t, { keys: [{ name: 'beside', secret: 'sk-scenario-beside-0123' }] })
  s.at('a').script = call =>
    call.whole(200, {
      id: 'chatcmpl-7',
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 10 },
    })
  const client = s.ask(document())
  await client.end()
  const id = client.answer.headers.get('x-request-id') as string
  t.equal((await get(s, `/v1/generation?id=${id}x`)).status, 404)
  await s.books()
  const { json } = await get(s, `/v1/generation?id=${id}`)
  t.match(json.data, {
    id,
    upstream_id: 'chatcmpl-7',
    total_cost: 0.00028,
    usage: 0.00028,
    tokens_prompt: 100,
    tokens_completion: 10,
    native_tokens_prompt: 100,
    native_tokens_cached: 0,
    api_type: 'completions',
    provider_name: 'gateway',
    cancelled: false,
    is_byok: false,
    currency: 'CNY',
  } as never)
  const [row] = (await s.books()).rows
  t.equal(json.data['created_at'], new Date(timeOfId(row!.requestId)).toISOString())
  t.notMatch(JSON.stringify(json), /"channel"|up-a|127\.0\.0\.1/)
  t.equal((await get(s, '/v1/generation?id=chatcmpl-7')).json.data['id'], id)
  for (const key of [OTHER_KEY, 'sk-scenario-beside-0123']) {
    const other = await get(s, `/v1/generation?id=${id}`, key)
    t.match(other, { status: 404, json: { error: { message: /尚未结算/ } } }, 'another key, also of the same account')
    t.equal(other.headers.get('retry-after'), '1')
  }
  for (const bad of ['', '?id=', `?id=${'x'.repeat(600)}`]) t.equal((await get(s, `/v1/generation${bad}`)).status, 400)
})

t.test('an estimate: what is held, the most that it costs, and why it would be refused', async t => {
  const s = await scene(t, { models: ['dear'], key: { models: [MODEL, 'free'] } })
  const estimate = async (body: unknown, key = KEY) => {
    const answer = await fetch(`${s.urls.direct}/v1/estimate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: answer.status, json: (await answer.json()) as Json }
  }
  for (const protocol of FOUR) {
    const { path, body } = asks(protocol, MODEL)
    const { status, json } = await estimate({ path, body })
    t.match({ status, json }, { status: 200, json: { model: MODEL, multiplier: 1, refusal: null } as never }, protocol)
    t.ok(
      json['held']! > 0 && json['bound']! >= 100 * 8e-6 && json['price_version']! > 0,
      `${protocol} ${JSON.stringify(json)}`,
    )
  }
  const { path, body } = asks('chat', MODEL)
  t.match(await estimate({ path, body: { ...(body as object), model: 'dear' } }), {
    status: 200,
    json: { held: null, bound: null, price_version: null, refusal: { status: 403, message: /dear/ } } as never,
  })
  t.match(await estimate({ path, body }, POOR_KEY), { status: 200, json: { refusal: { status: 403 } } as never })
  for (const bad of [
    '',
    '[]',
    '"x"',
    { path },
    { path, body: 1 },
    { path: 7, body },
    { path: '/v1/estimate', body },
    { path: '/v1/models', body },
    { path: '/v1/audio/transcriptions', body },
    { path: 'https://elsewhere/v1/chat/completions', body },
    `{"path":"${path}","path":"${path}","body":${JSON.stringify(body)}}`,
    `{"path":"${path}","body":{},"body":${JSON.stringify(body)}}`,
    `{"path":"${path}","body":${JSON.stringify(body)}`,
  ])
    t.equal((await estimate(bad)).status, 400, JSON.stringify(bad))
  const spaced = JSON.stringify({ body, path }, null, 3).replace('/v1', '\\/v1')
  t.match(
    await estimate(spaced),
    { status: 200, json: { refusal: null } as never },
    'in another order, with spaces and escapes',
  )
  t.equal((await estimate({ path, body: { ...(body as object), pad: 'x'.repeat(1_100_000) } })).status, 413)
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, rows: [] })
  t.equal(books.rows.length, 0, 'nothing was asked and nothing is charged')
  t.equal(s.services.buffered.bytes, 0)
  t.strictSame(s.asked(), { a: 0 })
})

t.test('an estimate of every path that takes JSON is what its request holds, natively and by translation', async t => {
  const price = { input: 2, output: 8, image: 0.5, request: 0.01, second: 0.1, character: 3 }
  const s = await open(t, {
    prices: { [MODEL]: price, translated: price },
    channels: {
      a: { protocols: [...PROTOCOLS] },
      b: { protocols: ['messages'], models: ['translated'], translate: true },
    },
  })
  const said = {
    messages: [{ role: 'user', content: 'Hi' }],
    input: 'Hi',
    prompt: ['Hi', 'there'],
    query: 'Hi',
    documents: ['a', 'b'],
  }
  const native = { contents: [{ parts: [{ text: 'Hi' }] }], content: { parts: [{ text: 'Hi' }] }, requests: [] }
  const paths = PUBLISHED.filter(({ method, endpoint }) => method === 'POST' && endpoint.action === 'relay')
  const taken: string[] = []
  for (const { path: pattern, endpoint } of paths)
    for (const [model, upstream] of [
      [MODEL, 'a'],
      ['translated', 'b'],
    ] as const) {
      const path = pattern.replace('{model}', model)
      const body = pattern.includes('{model}')
        ? native
        : {
            model,
            voice: 'alloy',
            max_tokens: 50,
            ...said,
            ...(path.startsWith('/v1/responses') ? { prompt: null } : {}),
          }
      const ask = (at: string, what: object) => s.ask({ path: at, headers: HEADERS, body: what })
      const estimate = ask('/v1/estimate', { path, body })
      await estimate.end()
      const told = JSON.parse(estimate.text) as Json & { refusal: { status: number } | null }
      const nth = s.at(upstream).calls.length
      const client = ask(path, body)
      const answered = client.end()
      await until('it is asked or refused', () => client.status > 0 || s.at(upstream).calls.length > nth)
      const held = s.services.ledger.heldTotal
      s.at(upstream).calls[nth]?.whole(400, {})
      await answered
      if (estimate.status === 400) t.match(endpoint.form ?? '', /^(?:images|transcriptions)$/, `${path} takes forms`)
      else if (told.refusal !== null) t.equal(client.status, told.refusal.status, `${path} ${told.refusal.status}`)
      else {
        t.equal(Math.round(told['held']! * 1e6), held, `${path} by ${upstream}`)
        t.ok(told['bound']! > 0, path)
        taken.push(`${endpoint.form} ${upstream}`)
      }
    }
  for (const form of new Set(paths.map(({ endpoint }) => endpoint.form)))
    if (form !== 'transcriptions') t.ok(taken.includes(`${form} a`), `${form}`)
  for (const form of FOUR) t.ok(taken.includes(`${form} b`), `${form} by translation`)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('an estimate of a large body is read in slices, between which all others are served', async t => {
  const s = await scene(t)
  const { path, body } = asks('chat', MODEL)
  let turns = 0
  const { soon } = s.clock
  s.clock.soon = fn => {
    turns++
    soon.call(s.clock, fn)
  }
  const turnsOf = async (members: number): Promise<number> => {
    turns = 0
    const more = Object.fromEntries(Array.from({ length: members }, (_, i) => [`m${i}`, 1]))
    const client = s.ask({
      path: '/v1/estimate',
      headers: HEADERS,
      body: { path, body: { ...(body as object), ...more } },
    })
    await client.end()
    t.equal(client.status, 200)
    return turns
  }
  const few = await turnsOf(1)
  t.equal((await turnsOf(60_000)) - few, 4, 'two for each of two readings of some 600 KB')
  const left = s.ask({
    path: '/v1/estimate',
    headers: HEADERS,
    body: { path, body: { ...(body as object), pad: 'x'.repeat(900_000) } },
  })
  s.clock.soon = fn => {
    left.leave()
    setTimeout(() => soon.call(s.clock, fn), 20)
  }
  await until('nobody is told, and nothing is left open', () => left.closed && s.services.openCount === 0)
  s.clock.soon = soon
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  t.equal(s.services.buffered.bytes, 0)
})

t.test('estimates, generations and credits are inside the limit of what is free', async t => {
  const s = await scene(t, { config: { limits: { count: { requests: 2, minutes: 5 } } } })
  t.equal((await get(s, '/v1/credits')).status, 200)
  t.equal((await get(s, '/v1/generation?id=x')).status, 404)
  const { path, body } = asks('chat', MODEL)
  const client = s.ask({ path: '/v1/estimate', headers: HEADERS, body: { path, body } })
  await client.end()
  t.equal(client.status, 429)
})

t.test('questions that wait for the store are bounded: of an account, of those asked at once, and of all', async t => {
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`n${i}`, 1]))
  const s = await scene(t, { accounts: many })
  const { usage } = s.store
  const answers: ((rows: []) => void)[] = []
  const hold = { on: true }
  usage.requestsOfId = () => (hold.on ? new Promise(resolve => answers.push(resolve)) : Promise.resolve([]))
  const ask = (key?: string) => get(s, '/v1/generation?id=x', key)
  const letGo = () => {
    hold.on = false
    for (const answer of answers.splice(0)) answer([])
  }
  const counts = (all: { status: number }[]) =>
    [404, 429, 503].map(status => all.filter(one => one.status === status).length)

  const asked = Array.from({ length: 70 }, () => ask())
  await until('six are too many', async () => (await s.metric('gateway_refusals_total')) === 6)
  t.equal(answers.length, 16, 'as many are asked as may be')
  const other = ask(OTHER_KEY)
  await s.settled()
  t.equal(answers.length, 16, 'the others wait in line')
  letGo()
  t.same(counts(await Promise.all(asked)), [64, 6, 0])
  t.equal((await other).status, 404, 'another account has its turn')
  t.equal((await get(s, '/v1/credits')).status, 200, 'and the places are free again')

  hold.on = true
  const crowd = Object.keys(many).flatMap(name => Array.from({ length: 64 }, () => ask(keyOf(name))))
  await until('the line is full', () => s.services.openCount === 16 + 1000)
  const before = answers.length
  t.equal((await ask()).status, 503, 'nobody else finds a place')
  s.clock.advance(1_100) // the store is silent for too long
  t.same(counts(await Promise.all(crowd)), [0, 0, crowd.length], 'and nobody waits longer than the store may take')
  letGo()
  await s.settled()
  t.equal(before, 16)
  await until('those whose turn came too late are not asked', () => s.services.openCount === 0 && answers.length === 0)
})

t.test('polls of an answer that is not settled yet are no refusals', async t => {
  const s = await scene(t)
  const kept: (string | undefined)[] = []
  const ids: string[] = []
  for (const [id, status] of [
    ['x', 404],
    ['x', 404],
    ['', 400],
  ] as const) {
    const answer = await get(s, `/v1/generation?id=${id}`)
    t.equal(answer.status, status)
    ids.push(answer.headers.get('x-request-id') as string)
  }
  await s.services.refusals.stop()
  for (const id of ids) kept.push((await s.store.refusals.byRequest(id))?.reason)
  t.same(kept, [undefined, undefined, 'field'])
  t.equal(await s.metric('gateway_refusals_total', { reason: 'generation_unknown' }), undefined)
  t.equal(await s.metric('gateway_refusals_total', { reason: 'field' }), 1)
  t.same(
    s.logged.filter(line => line['path'] === '/v1/generation').map(line => line['refusal']),
    [null, null, 'field'],
  )
})

t.test('a list of models follows its world, though its entries are kept', async t => {
  const s = await scene(t)
  const shown = async () => {
    const { json } = await get(s, '/v1/models')
    const one = await get(s, `/v1/models/${MODEL}`)
    const [entry] = json['data'] as never as Json[]
    t.match(one.json, entry, 'the same alone')
    return entry!['protocols'] as never as string[]
  }
  const before = await shown()
  t.ok(before.includes('images'))
  t.same(await shown(), before)
  await s.changeChannel('a', { protocols: ['chat'] })
  t.notOk((await shown()).includes('images'))
})
