/** How much money is left at an upstream (balance of a provider, budget of a channel set by hand), and the alarm. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { BALANCE_CALLS } from '../../lib/protocols/words/balances.ts'
import { BalanceRounds, upstreamBalances } from '../../lib/operations/catalogue/balances.ts'
import type { BalanceSeen } from '../../lib/terms/channel-seen.ts'
import type { Channel } from '../../lib/terms/records.ts'
import { Metrics } from '../../lib/terms/metrics.ts'
import { TestClock } from '../support/clock.ts'
import { channel, fund, memoryStore, SETUP, settlement, usageRow } from '../support/store.ts'

const DAY_MS = 86_400_000

t.test('docs/upstreams.md has the calls of the code', t => {
  const page = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([\w-]+)` \| `GET (\S+)` \|/gm)].map(([, kind, at]) => [kind, at])
  t.strictSame(
    rows,
    Object.entries(BALANCE_CALLS)
      .map(([kind, call]) => [kind, call.path])
      .sort(),
  )
  t.end()
})

t.test('what providers answer, as their pages document it, and what is none of that', t => {
  const cn = 'api.example.cn'
  const rows: [kind: keyof typeof BALANCE_CALLS, host: string, answer: unknown, told: unknown][] = [
    [
      'deepseek',
      'api.deepseek.com',
      { is_available: true, balance_infos: [{ currency: 'CNY', total_balance: '110.00', granted_balance: '10.00' }] },
      { amount: 110_000_000, currency: 'CNY' },
    ],
    [
      'deepseek',
      'api.deepseek.com',
      {
        balance_infos: [
          { currency: 'CNY', total_balance: '0.00' },
          { currency: 'USD', total_balance: '7.5' },
        ],
      },
      { amount: 7_500_000, currency: 'USD' },
    ],
    ['deepseek', cn, { balance_infos: [{ currency: 'CNY', total_balance: '0' }] }, { amount: 0, currency: 'CNY' }],
    ['deepseek', cn, { balance_infos: [] }, null],
    ['deepseek', cn, { balance_infos: [{ currency: 'CNY', total_balance: 'much' }] }, null],
    ['deepseek', cn, { balance_infos: [{ currency: { a: 1 }, total_balance: '1' }] }, null],
    [
      'moonshot',
      'api.moonshot.cn',
      {
        code: 0,
        data: { available_balance: 49.58894, voucher_balance: 46.58893, cash_balance: 3.00001 },
        status: true,
      },
      { amount: 49_588_940, currency: 'CNY' },
    ],
    ['moonshot', 'api.moonshot.ai', { data: { available_balance: -1.5 } }, { amount: -1_500_000, currency: 'USD' }],
    ['moonshot', cn, { data: { available_balance: null } }, null],
    [
      'siliconflow',
      'api.siliconflow.cn',
      { code: 20000, status: true, data: { balance: '0.88', chargeBalance: '88.00', totalBalance: '88.88' } },
      { amount: 88_880_000, currency: 'CNY' },
    ],
    ['siliconflow', 'api.siliconflow.com', { data: { totalBalance: '1' } }, { amount: 1_000_000, currency: 'USD' }],
    ['siliconflow', cn, { code: 20000 }, null],
    [
      'openrouter',
      'openrouter.ai',
      { data: { total_credits: 100.5, total_usage: 25.75 } },
      { amount: 74_750_000, currency: 'USD' },
    ],
    ['openrouter', 'openrouter.ai', { data: { total_credits: 100.5 } }, null],
    ['openrouter', 'openrouter.ai', { data: { total_credits: 1e300, total_usage: 0 } }, null],
    ...Object.keys(BALANCE_CALLS).flatMap(kind =>
      [null, [], 'x', 7, {}, { data: null }].map((answer): [keyof typeof BALANCE_CALLS, string, unknown, null] => [
        kind as never,
        cn,
        answer,
        null,
      ]),
    ),
  ]
  for (const [kind, host, answer, told] of rows)
    t.strictSame(BALANCE_CALLS[kind].read(answer, host), told, `${kind} ${JSON.stringify(answer)}`)
  t.end()
})

async function scene(
  t: Test,
  channels: readonly Channel[],
  says: (channel: string, key: number) => BalanceSeen | null,
) {
  const store = await memoryStore()
  t.teardown(() => store.close())
  for (const one of channels) await store.catalogue.putChannel(one, SETUP)
  const asked: string[] = []
  const logged: object[] = []
  const log = { warn: (fields: object, text: string) => logged.push({ ...fields, text }), error: t.fail } as never
  const clock = new TestClock()
  const rounds = new BalanceRounds({
    store,
    clock,
    log,
    channels: {
      async balance({ channel, key }) {
        asked.push(`${channel} ${key}`)
        return says(channel, key)
      },
    },
  })
  const metrics = new Metrics()
  metrics.observe({ balances: () => rounds.states })
  const shown = async () => upstreamBalances({ store }, (await store.catalogue.read()).channels)
  const samples = async () =>
    (await metrics.snapshot())
      .filter(({ name }) => name.startsWith('gateway_channel_balance'))
      .flatMap(({ name, values }) => values.map(({ labels, value }) => [name, labels, value]))
  return { store, rounds, asked, logged, shown, samples, clock }
}

const KEYS = (...keys: string[]) => keys.map(key => ({ key, maxConcurrency: 0 }))

t.test('an upstream whose kind has a call is asked, once in ten minutes over all gateways', async t => {
  const deep = channel({
    name: 'deep',
    kind: 'deepseek',
    keys: KEYS('a', 'b'),
    budget: { amount: null, fromMs: null, warnBelow: 5_000_000 },
  })
  const others = [
    channel({ name: 'plain' }),
    channel({ name: 'off', kind: 'deepseek', status: 'disabled' }),
    channel({ name: 'by hand', kind: 'moonshot', budget: { amount: micro(1), fromMs: null, warnBelow: null } }),
    channel({ name: 'unwatched', kind: 'moonshot' }),
  ]
  const s = await scene(t, [deep, ...others], (name, key) =>
    name === 'deep' ? { amount: key === 1 ? 9_000_000 : 7_000_000, currency: 'CNY' } : { reason: 'it answers 403' },
  )
  t.match((await s.shown()).get('deep'), { state: 'unknown', amount: null, reason: 'it was not asked yet', at: null })
  t.equal((await s.shown()).get('plain'), undefined)
  await s.rounds.run()
  t.strictSame(s.asked, ['deep 1', 'deep 2', 'unwatched 1'])
  t.match((await s.shown()).get('deep'), {
    source: 'upstream',
    state: 'ok',
    amount: '7.000000',
    currency: 'CNY',
    warn_below: 5,
    reason: null,
    at: String,
  })
  t.match((await s.shown()).get('unwatched'), { state: 'unknown', amount: null, reason: 'it answers 403' })
  t.strictSame(s.logged, [], 'nobody wants to hear of a balance without warn_below')
  await s.rounds.run()
  t.equal(s.asked.length, 3, 'nobody asks again within ten minutes')

  await s.store.balances.put('deep', [
    { amount: 9_000_000, currency: 'CNY' },
    { amount: 4_500_000, currency: 'CNY' },
  ])
  await s.rounds.run()
  await s.rounds.run()
  t.match(s.logged, [{ channel: 'deep', balance: '4.500000', text: 'the money at an upstream runs out' }], 'once')
  t.strictSame(await s.samples(), [
    ['gateway_channel_balance', { channel: 'by hand', currency: 'CNY' }, 1],
    ['gateway_channel_balance', { channel: 'deep', currency: 'CNY' }, 4_500_000],
    ['gateway_channel_balance_state', { channel: 'deep' }, 1],
  ])

  await s.store.balances.put('deep', [{ amount: 9_000_000, currency: 'CNY' }, { reason: 'ECONNREFUSED' }])
  await s.rounds.run()
  t.match((await s.shown()).get('deep'), { state: 'unknown', amount: '9.000000', reason: 'key 2: ECONNREFUSED' })
  t.match(s.logged[1], {
    channel: 'deep',
    reason: 'key 2: ECONNREFUSED',
    text: 'the money at an upstream is not known',
  })
})

t.test('a budget by hand: what the channel has cost since is taken off, and an unknown cost is not 0', async t => {
  const nowMs = Date.now()
  const hour = Math.floor(nowMs / 3_600_000) * 3_600_000
  const budget = { amount: micro(10_000_000), fromMs: hour - 10 * DAY_MS, warnBelow: 4_000_000 }
  const s = await scene(t, [channel({ name: 'c', budget })], () => null)
  const { key } = await fund(s.store, 'acme', 50_000_000)
  await s.store.holders.register({ id: 'here', host: 'h', beat: 0 })
  let n = 0
  const spend = async (atMs: number, cost: number | null, charge = 1000) => {
    const id = `${idAt(atMs)}n0de${String(++n).padStart(7, '0')}`
    const row = usageRow(id, key, charge, { channel: 'c', cost: cost === null ? null : micro(cost) })
    await s.store.books.settle([settlement(row, 'here', 0)])
  }
  const left = async () => (await s.shown()).get('c')
  t.match(await left(), { source: 'budget', state: 'ok', amount: '10.000000', spent: '0.000000', uncosted: '0.000000' })
  await spend(nowMs - 20 * DAY_MS, 3_000_000)
  t.match(await left(), { amount: '10.000000' }, 'before the money was counted')
  await spend(nowMs - 2 * DAY_MS, 2_500_000)
  await spend(nowMs, 1_000_000)
  t.match(await left(), { state: 'ok', amount: '6.500000', spent: '3.500000', reason: null })
  await spend(nowMs, null, 250_000)
  t.match(await left(), {
    state: 'unknown',
    amount: '6.500000',
    uncosted: '0.250000',
    reason: 'at most: of requests for 0.250000 CNY the cost is not known',
  })
  await spend(nowMs, 3_000_000)
  t.match(await left(), { state: 'low', amount: '3.500000' }, 'even what is left at most is too little')
  await spend(nowMs, 9_000_000)
  t.match(await left(), { state: 'low', amount: '-5.500000' }, 'more was spent than was there')
  await s.rounds.run()
  t.strictSame(s.asked, [], 'nobody is asked')
  t.match(s.logged, [{ channel: 'c', balance: '-5.500000', text: 'the money at an upstream runs out' }])
})
