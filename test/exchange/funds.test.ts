/** A key asks what it has spent and may still spend, in the forms that chat applications read. */
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { accountPurse, keyPurse } from '../../lib/store/books/purses.ts'
import { SETUP } from '../support/store.ts'
import { KEY, type Options, OTHER_KEY, open, POOR_KEY, type Scene } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

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
