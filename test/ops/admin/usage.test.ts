import t from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import type { UsageRow } from '../../../lib/terms/records.ts'
import { fund, newKey, settlement, usageRow } from '../../support/store.ts'
import { openOps } from '../support.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000
const idOf = (i: number): string => `${idAt(START + i * MINUTE)}node01${String(i).padStart(5, '0')}`

/** Ten requests, a minute apart: of `acme` the even ones, by two keys; of `other` the odd ones. */
async function withUsage(t: Parameters<typeof openOps>[0]) {
  const ops = await openOps(t)
  const { store } = ops
  const acme = await fund(store, 'acme', 1_000_000)
  const other = await fund(store, 'other', 1_000_000)
  const second = await store.createKey(newKey(acme.account.id, { name: 'second', hash: 'ff'.repeat(32) }))
  await store.register({ id: 'here', host: 'h', beat: 0 })
  for (let i = 0; i < 10; i++) {
    const key = i % 2 === 1 ? other.key : i < 6 ? acme.key : second
    const change: Partial<UsageRow> =
      i === 8 ? { model: 'alpha', protocol: 'messages', firstByteMs: null, status: 502 } : {}
    await store.settle([settlement(usageRow(idOf(i), key, 100 + i, change), 'here', 0)])
  }
  return { ops, keys: { acme: acme.key.id, second: second.id, other: other.key.id } }
}

t.test('a row', async t => {
  const { ops, keys } = await withUsage(t)
  const { json } = await ops.admin('GET', `/admin/usage?request_id=${idOf(8)}`)
  t.same(json, {
    data: [
      {
        request_id: idOf(8),
        at: '2026-01-01T00:08:00.000Z',
        account: 'acme',
        key: keys.second,
        group: 'default',
        protocol: 'messages',
        model: 'alpha',
        channel: 'one',
        status: 502,
        end: 'completed',
        basis: 'reported',
        input: 1,
        cache_read: 2,
        cache_write_5m: 3,
        cache_write_1h: 4,
        output: 5,
        images: 6,
        charge: '0.000108',
        first_byte_ms: null,
        duration_ms: 34,
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
    ['acount=acme', /acount: unknown field/],
    ['__proto__=1', /__proto__/],
  ]
  for (const [query, text] of rows) {
    const reply = await ops.admin('GET', `/admin/usage?${query}`)
    t.equal(reply.status, 400, query)
    t.match(reply.error.message, text)
  }
})
