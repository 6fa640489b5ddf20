import t from 'tap'
import { idAt, timeOfId } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { REASONS } from '../../lib/operations/usage/words.ts'
import type { UsageRow } from '../../lib/terms/usage-row.ts'
import { fund, newKey, SETUP, settlement, usageRow } from '../support/store.ts'
import { newSeen, type Told, WORK } from '../support/export-work.ts'
import { openOps } from './support.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000
const idOf = (i: number): string => `${idAt(START + i * MINUTE)}n0de01${String(i).padStart(5, '0')}`

const RECORDED: Partial<UsageRow> = {
  via: 'chat',
  disputed: micro(900),
  cost: micro(100),
  held: micro(500),
  hiddenRatio: 1500,
  askedMs: 3,
  attempts: [{ channel: 'one', status: 502, error: 'cut', ms: 9 }],
  upstreamId: 'req_1',
  clientRequestId: '=1+1',
  priceVersion: 4,
  multiplier: 500_000,
  lines: [
    {
      model: 'alpha',
      priceVersion: 4,
      list: 200_000,
      tier: 1_500_000,
      tierName: 'priority',
      class: 'input',
      count: 12,
      price: 18_000_000,
    },
  ],
}

/** Ten requests, a minute apart: of `acme` the even ones, by two keys; of `other` the odd ones. */
async function withUsage(t: Parameters<typeof openOps>[0]) {
  const ops = await openOps(t)
  const { store } = ops
  const acme = await fund(store, 'acme', 1_000_000)
  const other = await fund(store, 'other', 1_000_000)
  const second = await store.keys.create(newKey(acme.account.id, { name: 'second', hash: 'ff'.repeat(32) }), SETUP)
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  for (let i = 0; i < 10; i++) {
    const key = i % 2 === 1 ? other.key : i < 6 ? acme.key : second
    const change: Partial<UsageRow> =
      i === 8 ? { model: 'alpha', protocol: 'messages', firstByteMs: null, status: 502, ...RECORDED } : {}
    await store.books.settle([settlement(usageRow(idOf(i), key, 100 + i, change), 'here', 0)])
  }
  return { ops, keys: { acme: acme.key.id, second: second.id, other: other.key.id } }
}

t.test('a row', async t => {
  const { ops, keys } = await withUsage(t)
  const { json, data } = await ops.admin('GET', `/admin/usage?request_id=${idOf(8)}`)
  t.ok(Math.abs(Date.parse(String(data[0]?.['booked_at'])) - Date.now()) < 60_000)
  delete data[0]?.['booked_at']
  t.same(json, {
    data: [
      {
        request_id: idOf(8),
        at: '2026-01-01T00:08:00.000Z',
        account: 'acme',
        key: keys.second,
        group: 'default',
        protocol: 'messages',
        via: 'chat',
        model: 'alpha',
        channel: 'one',
        status: 502,
        end: 'completed',
        outcome: 'upstream',
        basis: 'reported',
        input: 1,
        cache_read: 2,
        cache_write_5m: 3,
        cache_write_1h: 4,
        output: 5,
        pieces: 6,
        images: 6,
        charge: '0.000108',
        disputed: '0.000900',
        cost: '0.000100',
        margin: '0.000008',
        held: '0.000500',
        hidden_ratio: '1.5',
        asked_ms: 3,
        first_byte_ms: null,
        duration_ms: 34,
        attempts: [{ channel: 'one', status: 502, error: 'cut', ms: 9 }],
        upstream_id: 'req_1',
        answer_id: null,
        client_request_id: '=1+1',
      },
    ],
    next: null,
  })
})

t.test('filters', async t => {
  const { ops, keys } = await withUsage(t)
  const rows: [query: string, found: number[]][] = [
    ['', [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
    ['account=acme', [8, 6, 4, 2, 0]],
    ['account=other', [9, 7, 5, 3, 1]],
    ['account=nobody', []],
    [`key=${keys.second}`, [8, 6]],
    [`key=${keys.other}&account=acme`, []],
    ['key=999', []],
    ['model=alpha', [8]],
    ['model=none', []],
    ['account=&key=&model=alpha&limit=', [8]],
    [`request_id=${idOf(3)}`, [3]],
    [`request_id=${idOf(3)}&account=acme`, []],
    ['from=2026-01-01T00:08:00Z', [9, 8]],
    ['to=2026-01-01T00:02:00Z', [1, 0]],
    ['from=2026-01-01T08:04:00%2B08:00&to=2026-01-01T00:06:00.000Z', [5, 4]],
    [`from=${START + 9 * MINUTE}`, [9]],
    [`to=${START}`, []],
    ['from=2027-01-01', []],
    ['channel=one&protocol=messages', [8]],
    ['group=vip', []],
    ['outcome=upstream', [8]],
    ['outcome=ok&limit=3', [9, 7, 6]],
    ['limit=3', [9, 8, 7]],
    [`after=${idOf(2)}`, [1, 0]],
    [`after=${idOf(7)}&account=acme&limit=2`, [6, 4]],
  ]
  for (const [query, found] of rows) {
    const reply = await ops.admin('GET', `/admin/usage?${query}`)
    t.equal(reply.status, 200, query)
    t.same(
      reply.data.map(row => row['request_id']),
      found.map(idOf),
      query,
    )
  }
})

t.test('pages: everything once, newest first', async t => {
  const { ops } = await withUsage(t)
  for (const limit of [1, 3, 5, 10, 11]) {
    const seen: unknown[] = []
    let after = ''
    for (let pages = 0; ; pages++) {
      t.ok(pages <= 10 / limit + 1)
      const { data, json } = await ops.admin('GET', `/admin/usage?limit=${limit}${after}`)
      seen.push(...data.map(row => row['request_id']))
      t.equal(json['next'], data.length === limit ? seen.at(-1) : null, `limit ${limit}`)
      if (json['next'] === null) break
      after = `&after=${json['next']}`
    }
    t.same(seen, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map(idOf))
  }
})

t.test('bad parameters', async t => {
  const { ops } = await withUsage(t)
  const rows: [query: string, text: RegExp][] = [
    ['limit=0', /limit: expected a whole number from 1 to 1000/],
    ['limit=1001', /limit/],
    ['limit=ten', /limit/],
    ['limit=1.5', /limit/],
    ['key=laptop', /key: expected a whole number/],
    ['key=-1', /key/],
    ['from=yesterday', /from: expected a time/],
    ['to=2026-13-01', /to: expected a time/],
    ['from=1e12', /from: expected a time/],
    ['after=%27%20OR%201', /after: expected a request id/],
    [`request_id=${'x'.repeat(100)}`, /request_id: expected a request id/],
    ['protocol=http', /protocol: expected one of/],
    ['outcome=bad', /outcome: expected one of/],
    ['acount=acme', /acount: unknown field/],
    ['__proto__=1', /__proto__/],
  ]
  for (const [query, text] of rows) {
    const reply = await ops.admin('GET', `/admin/usage?${query}`)
    t.equal(reply.status, 400, query)
    t.match(reply.error.message, text)
  }
})

t.test('totals in the order of a figure: what is not known stands last', async t => {
  const ops = await openOps(t)
  const { key } = await fund(ops.store, 'acme', 1_000_000)
  await ops.store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const sold: [model: string, charge: number, cost: number | null, status: number, times: number][] = [
    ['fair', 500, 100, 200, 2],
    ['lossy', 100, 300, 502, 3],
    ['unknown', 250, null, 200, 1],
    ['worst', 20, 350, 200, 1],
  ]
  let made = 0
  for (const [model, charge, cost, status, times] of sold)
    for (let i = 0; i < times; i++)
      await ops.store.books.settle([
        settlement(usageRow(idOf(made++), key, charge, { model, cost: cost as UsageRow['cost'], status }), 'here', 0),
      ])
  for (const [sort, wanted] of [
    ['margin', 'lossy worst fair unknown'],
    ['-margin', 'fair worst lossy unknown'],
    ['cost', 'fair worst lossy unknown'],
    ['-cost', 'lossy worst fair unknown'],
    ['charge', 'worst unknown lossy fair'],
    ['-charge', 'fair lossy unknown worst'],
    ['requests', 'unknown worst fair lossy'],
    ['-errors', 'lossy fair unknown worst'],
  ] as const) {
    const { data } = await ops.admin('GET', `/admin/usage/summary?by=model&sort=${sort}`)
    t.equal(data.map(({ model }) => model).join(' '), wanted, sort)
  }
})

t.test('totals', async t => {
  const { ops, keys } = await withUsage(t)
  const summary = async (query: string) => (await ops.admin('GET', `/admin/usage/summary?${query}`)).data
  t.same(await summary('by=hour,account&zone=Asia/Shanghai&model=alpha'), [
    {
      hour: '2026-01-01T08:00:00+08:00',
      account: 'acme',
      requests: 1,
      errors: 1,
      input: 1,
      cache_read: 2,
      cache_write_5m: 3,
      cache_write_1h: 4,
      output: 5,
      input_audio: 0,
      input_image: 0,
      cache_read_audio: 0,
      cache_read_image: 0,
      output_audio: 0,
      output_image: 0,
      pieces: 6,
      images: 6,
      searches: 0,
      seconds: 0,
      characters: 0,
      tool_calls: 0,
      charge: '0.000108',
      cost: '0.000100',
      margin: '0.000008',
      cost_known_share: 1,
    },
  ])
  t.match(await summary(''), [{ day: '2026-01-01', requests: 10, errors: 1, charge: '0.001045' }])
  t.match(await summary(`by=key&account=acme`), [
    { key: keys.acme, requests: 3 },
    { key: keys.second, requests: 2 },
  ])
  t.same(await summary('account=nobody'), [])
  for (const [query, text] of [
    ['by=request', /by: expected some of day, hour/],
    ['by=day,hour', /by: expected/],
    ['sort=channel', /sort: expected/],
    ['sort=--margin', /sort: expected/],
    ['zone=Asia/Kolkata', /zone: expected a zone with whole hours/],
    ['zone=../etc', /zone: expected/],
    ['limit=3', /limit: unknown field/],
  ] as const) {
    const reply = await ops.admin('GET', `/admin/usage/summary?${query}`)
    t.equal(reply.status, 400, query)
    t.match(reply.error.message, text)
  }
})

t.test('exports', async t => {
  const { ops } = await withUsage(t)
  const csv = await ops.admin('GET', '/admin/usage.csv?account=acme')
  t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8')
  const [head = '', newest = '', ...rest] = csv.text.trimEnd().split('\n')
  const row = Object.fromEntries(head.split(',').map((name, i) => [name, newest.split(',')[i]]))
  t.match(row, {
    request_id: idOf(8),
    charge: '0.000108',
    margin: '0.000008',
    client_request_id: "'=1+1",
    answer_id: '',
  })
  t.equal(rest.length, 5)
  t.equal(rest.at(-1), '# rows: 5')
  const jsonl = await ops.admin('GET', '/admin/usage.jsonl?outcome=upstream')
  const lines = jsonl.text.trimEnd().split('\n')
  t.match(
    lines.map(line => JSON.parse(line)),
    [{ request_id: idOf(8), lines: [{ class: 'input' }] }, { count: 1 }],
  )
  t.equal((await ops.admin('GET', '/admin/usage.csv?account=nobody')).text.split('\n').length, 3, 'a head and an end')
  t.match(await ops.admin('GET', '/admin/usage.csv?limit=1'), { status: 400 })
  t.match(await ops.admin('HEAD', '/admin/usage.csv'), { status: 200, text: '' })
})

t.test('an export that the store breaks off has no end', async t => {
  const ops = await openOps(t, store => {
    const make = store.export.bind(store)
    store.export = () => make(WORK, { seen: newSeen(), texts: 3, characters: 10, atEnd: 'fails' } satisfies Told)
    return store
  })
  await t.rejects(ops.admin('GET', '/admin/usage.jsonl'))
  t.match(ops.logged.join(), /an ops request failed/)
})

t.test('one request', async t => {
  const { ops, keys } = await withUsage(t)
  t.match((await ops.admin('GET', `/admin/requests/${idOf(8)}`)).json, {
    request_id: idOf(8),
    multiplier: 0.5,
    price_version: 4,
    lines: [
      {
        model: 'alpha',
        price_version: 4,
        list: 200_000,
        tier: '1.5',
        tier_name: 'priority',
        class: 'input',
        count: 12,
        price: '18.000000',
      },
    ],
  })
  t.match((await ops.admin('GET', `/admin/requests/${idOf(1)}`)).json, { lines: [], multiplier: null, cost: null })
  const refusal = { accountId: 1, keyId: keys.acme, model: 'm', reason: 'quota', status: 403, address: '::1' }
  await ops.store.refusals.record([{ ...refusal, requestId: idOf(77), atMs: START }])
  t.same((await ops.admin('GET', `/admin/requests/${idOf(77)}`)).json, {
    refused: {
      request_id: idOf(77),
      at: '2026-01-01T00:00:00.000Z',
      account: 'acme',
      key: keys.acme,
      model: 'm',
      reason: 'quota',
      status: 403,
      address: '::1',
      why: REASONS.quota.why.en,
      todo: REASONS.quota.todo.en,
    },
  })
  const unknown = await ops.admin('GET', `/admin/requests/${idOf(78)}`)
  t.match([unknown.status, unknown.error.message], [404, /it would have come at .*, in an hour of which no refusal is/])
  const top = { rows: [], floor: 0 }
  const by = { account: top, key: top, address: top }
  const traffic = { requests: 30, refused: { rate: 12, key: 3 }, senders: top, by }
  await ops.store.traffic.put({ hour: Math.floor(timeOfId(idOf(78)) / 3_600_000), traffic }, 'here')
  t.match(
    (await ops.admin('GET', `/admin/requests/${idOf(78)}`)).error.message,
    /was refused and is not kept: of a key and reason ten a minute are, .* In that hour 15 were refused: rate 12, key 3 /,
  )
  t.match((await ops.admin('GET', '/admin/requests/none')).error.message, /^there is no request none \(/)
  t.match(await ops.admin('GET', '/admin/requests/%27%20OR%201'), { status: 400 })
  await ops.store.usage.prune(START + 3 * MINUTE, 100)
  t.match(await ops.admin('GET', `/admin/requests/${idOf(2)}`), {
    status: 410,
    json: { pruned: { day: '2026-01-01', requests: 10, charge: '0.001045' } },
  })
})
