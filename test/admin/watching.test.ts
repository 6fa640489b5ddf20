/** Refusals as they are listed and counted, and who sends more than usual. */
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import type { Traffic } from '../../lib/terms/traffic.ts'
import { fund, settlement, usageRow } from '../support/store.ts'
import { openOps } from './support.ts'

const HOUR_MS = 3_600_000
const NO_TOP = { rows: [], floor: 0 }

const counted = (change: Partial<Omit<Traffic, 'by'>> & { by?: Partial<Traffic['by']> }): Traffic => ({
  requests: 0,
  refused: {},
  senders: NO_TOP,
  ...change,
  by: { account: NO_TOP, key: NO_TOP, address: NO_TOP, ...change.by },
})

/** Two processes that have counted in this hour, one of them in the hour before, and three hours of yesterday. */
async function withTraffic(t: Parameters<typeof openOps>[0]) {
  const ops = await openOps(t)
  const { store, clock } = ops
  const acme = await fund(store, '新客户', 1_000_000)
  const other = await fund(store, 'other', 1_000_000)
  const nowMs = clock.now()
  const hour = Math.floor(nowMs / HOUR_MS)
  const [a, b] = [acme.account.id, other.account.id]
  const put = (ago: number, holder: string, traffic: Traffic) =>
    store.traffic.put({ hour: hour - ago, traffic }, holder)
  await put(
    0,
    'one',
    counted({
      requests: 100,
      refused: { rate: 40, key: 9 },
      senders: {
        rows: [
          ['203.0.113.7', 60, 0],
          ['198.51.100.1', 40, 0],
        ],
        floor: 0,
      },
      by: {
        account: { rows: [[`${a} rate`, 40, 0]], floor: 0 },
        key: { rows: [[`${acme.key.id} rate`, 40, 0]], floor: 0 },
        address: {
          rows: [
            ['203.0.113.7 rate', 40, 0],
            ['2001:db8:1:2::/64 key', 9, 4],
          ],
          floor: 4,
        },
      },
    }),
  )
  await put(
    0,
    'two',
    counted({
      requests: 50,
      refused: { rate: 2, quota: 5 },
      by: {
        account: {
          rows: [
            [`${b} quota`, 5, 1],
            [`${a} rate`, 2, 0],
          ],
          floor: 1,
        },
      },
    }),
  )
  for (const ago of [24, 25, 26])
    await put(
      ago,
      'one',
      counted({
        requests: 6,
        refused: { rate: 6 },
        by: { account: { rows: [[`${a} rate`, 6, 0]], floor: 0 } },
        senders: { rows: [['203.0.113.7', 6, 0]], floor: 0 },
      }),
    )
  return { ops, nowMs, hour, a, b, acme, other }
}

t.test('refusals are counted: totals by reason are exact, of the others the error is told', async t => {
  const { ops, acme, nowMs } = await withTraffic(t)
  const counts = async (query: string) => (await ops.admin('GET', `/admin/refusals/counts?${query}`)).json
  const day = { requests: 150 + 6, refused: 56 + 6, unnamed_most: 0 }
  t.match(await counts(''), {
    ...day,
    data: [
      { reason: 'rate', count: 48, error: 0 },
      { reason: 'key', count: 9, error: 0 },
      { reason: 'quota', count: 5, error: 0 },
    ],
  })
  t.match(await counts('by=account'), {
    ...day,
    unnamed_most: 1,
    data: [
      { account: '新客户', reason: 'rate', count: 48, error: 0 },
      { account: 'other', reason: 'quota', count: 5, error: 1 },
    ],
  })
  t.match(await counts('by=key&limit=1'), { data: [{ key: acme.key.id, reason: 'rate', count: 40, error: 0 }] })
  t.match((await counts(`account=${encodeURIComponent('新客户')}`))['data'], [{ reason: 'rate', count: 48 }])
  t.match((await counts('address=2001:db8:1:2::/64'))['data'], [
    { address: '2001:db8:1:2::/64', reason: 'key', count: 9, error: 4 },
  ])
  t.match((await counts('by=address&reason=key'))['data'], [{ address: '2001:db8:1:2::/64' }])
  const yesterday = `from=${nowMs - 27 * HOUR_MS}&to=${nowMs - 24 * HOUR_MS}`
  t.match(await counts(yesterday), { requests: 18, refused: 18, data: [{ reason: 'rate', count: 18 }] })
  for (const [query, says] of [
    ['by=model', /by: expected/],
    ['account=nobody', /there is no account nobody/],
    ['reason=cheek', /reason: expected/],
    ['address=%3Cb%3E', /address: expected/],
  ] as const)
    t.match((await ops.admin('GET', `/admin/refusals/counts?${query}`)).error.message, says)
})

t.test('refusals that are kept are listed over all accounts, by account, key, reason and address', async t => {
  const { ops, nowMs, a, b, acme, other } = await withTraffic(t)
  const made = [
    { accountId: a, keyId: acme.key.id, reason: 'rate', address: '203.0.113.7' },
    { accountId: b, keyId: other.key.id, reason: 'quota', address: '203.0.113.8' },
    { accountId: a, keyId: acme.key.id, reason: 'quota', address: '203.0.113.8' },
  ].map((one, i) => ({ ...one, requestId: `${idAt(nowMs + i)}n0de0100000`, atMs: nowMs + i, model: 'm', status: 403 }))
  await ops.store.refusals.record(made)
  const listed = async (query: string) =>
    (await ops.admin('GET', `/admin/refusals?${query}`)).data.map(row =>
      made.findIndex(one => one.requestId === row['request_id']),
    )
  for (const [query, expected] of [
    ['', [2, 1, 0]],
    ['account=other', [1]],
    [`key=${acme.key.id}`, [2, 0]],
    ['reason=quota', [2, 1]],
    ['address=203.0.113.8&reason=quota', [2, 1]],
    [`from=${nowMs + 1}&to=${nowMs + 2}`, [1]],
    ['model=n', []],
  ] as const)
    t.strictSame(await listed(query), expected, query)
  const { json } = await ops.admin('GET', '/admin/refusals?limit=2')
  t.strictSame(await listed(`after=${json['next']}`), [0], 'the next page')
  t.match(json, {
    data: [{ account: '新客户', key: acme.key.id, reason: 'quota', why: /used up/ }, { account: 'other' }],
  })
  t.match(await ops.admin('GET', '/admin/refusals?account=nobody'), { status: 404 })
})

t.test('who sends more than usual comes first: accounts, keys and addresses, each against its own past', async t => {
  const { ops, nowMs, hour, a, acme, other } = await withTraffic(t)
  const { store } = ops
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const sent = (key: typeof acme.key, ago: number, n: number) =>
    Array.from({ length: n }, (_, i) =>
      settlement(
        usageRow(
          `${idAt(nowMs - ago * HOUR_MS)}node${ago % 10}${a}${String(i).padStart(5, '0')}`.slice(0, 21),
          key,
          1_000,
        ),
        'here',
        0,
      ),
    )
  await store.books.settle([...sent(acme.key, 0, 30), ...sent(acme.key, 48, 12)])
  await store.books.settle(
    sent(other.key, 1, 3).map(one => ({
      ...one,
      row: { ...one.row, requestId: `${one.row.requestId.slice(0, 19)}z${one.row.requestId.at(-1)}` },
    })),
  )
  const minutes = (nowMs - (hour - 1) * HOUR_MS) / 60_000
  const rounded = (n: number) => Math.round(n * 100) / 100
  const senders = async (by: string) => (await ops.admin('GET', `/admin/senders?by=${by}`)).data
  const [first, second] = await senders('account')
  t.match(first, {
    account: '新客户',
    requests: rounded(30 / minutes),
    requests_usual: rounded(12 / 1440),
    refused: rounded(42 / minutes),
    refused_usual: 0.1,
  })
  t.ok((first?.['times'] as number) > 1)
  t.match(second, { account: 'other', requests_usual: null, times: null })
  t.match(await senders('key'), [{ key: acme.key.id, requests: rounded(30 / minutes) }, { key: other.key.id }])
  t.match(await senders('address'), [
    { address: '203.0.113.7', requests_usual: 0.1, charge: '0.000000' },
    { address: '198.51.100.1', requests_usual: null },
  ])
  t.match(await ops.admin('GET', '/admin/senders?by=model'), { status: 400 })
})

const CHANNEL = {
  base_url: 'http://127.0.0.1:9',
  protocols: ['chat', 'speech'],
  keys: [{ key: 'k' }, { key: 'l' }],
  groups: ['default'],
  models: ['m', 'n'],
}
const REST = { state: 'open', why: 'auth', restMs: 9_000, open: 2 } as const
const SEEN = {
  ...REST,
  keys: [REST, { ...REST, state: 'closed', why: null, restMs: 0 }],
  lately: { auth: 3 },
  failures: [
    {
      atMs: 1_790_000_000_000,
      requestId: null,
      class: 'auth',
      status: 401,
      error: null,
      reason: null,
      upstreamId: 'req_1',
      key: 2,
      model: 'm',
      tookMs: 7,
    },
  ],
} as const

t.test('how a channel fares: its state and last failures, and how it answered lately', async t => {
  const ops = await openOps(t)
  const { store, clock, fleet } = ops
  await fund(store, 'acme', 1_000_000).then(async ({ key }) => {
    await store.holders.register({ id: 'here', host: 'h', beat: 0 })
    const rows = [50, 150, 250].map((firstByteMs, i) =>
      usageRow(`${idAt(clock.now())}node00${String(i).padStart(5, '0')}`, key, 1, { channel: 'c', firstByteMs }),
    )
    await store.books.settle(rows.map(row => settlement(row, 'here', 0)))
  })
  await ops.admin('PUT', '/admin/groups/default', {})
  await ops.admin('PUT', '/admin/channels/c', CHANNEL)
  t.match((await ops.admin('GET', '/admin/channels/c')).json, {
    name: 'c',
    health: null,
    traffic: { requests: 3, errors: 0 },
  })
  fleet.seen = SEEN as never
  const { json } = await ops.admin('GET', '/admin/channels/c')
  t.match(json, {
    health: {
      state: 'open',
      why: 'auth',
      rest_ms: 9_000,
      keys: [{ state: 'open' }, { state: 'closed' }],
      lately: { auth: 3 },
      failures: [{ at: '2026-09-21T14:13:20.000Z', class: 'auth', status: 401, upstream_id: 'req_1', key: 2, ms: 7 }],
    },
    traffic: { first_byte_p50_up_to_ms: Number, first_byte_p99_up_to_ms: Number },
  })
  t.match(await ops.admin('PUT', '/admin/channels/c', json), { status: 200 }, 'as it was read it can be written')
  t.equal(json['balance'], null, 'its kind has no call that tells what is left')
  const budget = { amount: 5, warn_below: '4.999999' }
  await ops.admin('PUT', '/admin/channels/c', { ...CHANNEL, cost: 1, budget })
  const left = {
    budget: { amount: 5, warn_below: 4.999999 },
    balance: { source: 'budget', state: 'unknown', amount: '5.000000', uncosted: '0.000003' },
  }
  t.match((await ops.admin('GET', '/admin/channels/c')).json, left)
  const all = (await ops.admin('GET', '/admin/channels')).data
  t.match(all, [{ ...left, health: { state: 'open', why: 'auth', lately: { auth: 3 } } }])
  const [newest] = SEEN.failures
  fleet.seen = { ...SEEN, failures: [newest, { ...newest, upstreamId: 'req_0' }] } as never
  const listed = (await ops.admin('GET', '/admin/channels')).data as { health: { failures: object[] } }[]
  t.match(listed[0]?.health.failures, [{ upstream_id: 'req_1' }])
  t.equal(listed[0]?.health.failures.length, 1, 'the last one only')
  t.match(await ops.admin('PUT', '/admin/channels/c', all[0]), { status: 200 }, 'as it was listed it can be written')
  t.match(await ops.admin('GET', '/admin/channels/gone'), { status: 404 })
})

t.test('a channel rests, is woken and tried out, each model on each protocol', async t => {
  const ops = await openOps(t)
  const { fleet } = ops
  await ops.admin('PUT', '/admin/groups/default', {})
  await ops.admin('PUT', '/admin/channels/c', CHANNEL)
  t.match(await ops.admin('POST', '/admin/channels/c/rest', {}), {
    status: 409,
    error: { message: /no serving process/ },
  })
  fleet.seen = SEEN as never
  t.match((await ops.admin('POST', '/admin/channels/c/rest', { for: '2h' })).json, { state: 'open', rest_ms: 9_000 })
  t.match((await ops.admin('POST', '/admin/channels/c/rest', {})).status, 200)
  t.match((await ops.admin('POST', '/admin/channels/c/wake', {})).json, { why: 'auth' })
  t.strictSame(fleet.orders.slice(1), [
    { what: 'rest', channel: 'c', forMs: 7_200_000 },
    { what: 'rest', channel: 'c', forMs: 600_000 },
    { what: 'wake', channel: 'c' },
  ])
  const tested = async (sent: object) => ops.admin('POST', '/admin/channels/c/test', sent)
  t.match(
    (await tested({})).data,
    ['m', 'n'].flatMap(model =>
      ['chat', 'speech'].map(protocol => ({ model, protocol, ok: null, reason: /^not tried/ })),
    ),
  )
  fleet.tried = {
    status: 503,
    firstByteMs: 4,
    tookMs: 9,
    upstreamId: 'r',
    failure: { class: '5xx', error: null, reason: 'full' },
  }
  t.match((await tested({ model: 'n', protocol: 'chat', key: 2 })).data, [
    {
      model: 'n',
      protocol: 'chat',
      ok: false,
      class: '5xx',
      status: 503,
      first_byte_ms: 4,
      ms: 9,
      reason: 'full',
      upstream_id: 'r',
    },
  ])
  fleet.tried = { ...fleet.tried, status: 200, failure: null }
  t.match((await tested({ model: 'n', protocol: 'chat' })).data, [{ ok: true, class: null, reason: null }])
  t.strictSame(fleet.trials.at(-1), { channel: 'c', model: 'n', protocol: 'chat', key: 1 })
  for (const [sent, says] of [
    [{ model: 'o' }, /does not serve o/],
    [{ protocol: 'messages' }, /does not speak messages/],
    [{ key: 3 }, /has 2 keys/],
  ] as const)
    t.match(await tested(sent), { status: 404, error: { message: says } })
  for (const call of ['rest', 'wake', 'test'])
    t.match(await ops.admin('POST', `/admin/channels/gone/${call}`, {}), { status: 404 })
  t.match(await ops.admin('POST', '/admin/channels/c/rest', { for: '2d' }), { status: 400 })
})
