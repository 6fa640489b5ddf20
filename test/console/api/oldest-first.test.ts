/** Requests, refusals and orders, oldest first as well as newest first: page by page, as files, and from places that nobody gave. */
import t from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import { LOOSE, newOrder } from '../../support/orders.ts'
import { SETUP, settlement, usageRow } from '../../support/store.ts'
import { type Json, openConsole } from '../support/console.ts'

const ROWS = 7

async function open() {
  const house = await openConsole(t)
  const { store, clock } = house
  const account = await house.account('acme')
  const owner = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  await owner.call('keys.create', { account, body: { name: 'k', group: 'default' } })
  const key = (await store.keys.byName(account.id, 'k'))!
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  // two of them in each millisecond
  const times = Array.from({ length: ROWS }, (_, i) => clock.now() + Math.floor(i / 2))
  const ids = (node: string) => times.map((ms, i) => `${idAt(ms)}${node}${String(i).padStart(5, '0')}`)
  const requests = ids('n0de00')
  for (const id of requests) await store.books.settle([settlement(usageRow(id, key, 1), 'h', 0)])
  const refusals = ids('n0de99')
  await store.refusals.record(
    refusals.map((requestId, i) => ({
      ...{ requestId, atMs: times[i]!, accountId: account.id, keyId: key.id, model: 'm' },
      ...{ reason: 'quota', status: 403, address: '192.0.2.7' },
    })),
  )
  for (let i = 0; i < ROWS; i++) await store.pay.makeOrder(newOrder(account.id), LOOSE, SETUP)
  const orders = (await store.pay.orders({ limit: 99 })).map(({ id }) => id).reverse()
  return { account, owner, ids: { requests, refusals, orders } }
}

const ground = open()

const LISTS = [
  { list: 'requests', up: 'time', id: 'request_id', files: ['requests.csv'] },
  { list: 'refusals', up: 'time', id: 'request_id', files: [] },
  { list: 'orders', up: 'created', id: 'id', files: ['orders.csv'] },
] as const

t.test('each list both ways, in pages and as files', async t => {
  const { account, owner, ids } = await ground
  for (const { list, up, id, files } of LISTS)
    for (const sort of [up, `-${up}`, undefined]) {
      const expected = sort === up ? ids[list] : ids[list].toReversed()
      const chosen = sort === undefined ? {} : { sort }
      const found: unknown[] = []
      // orders have no limit of a page; those of a page of 50 are tried by the store's own test
      const limit: { limit?: string } = list === 'orders' ? {} : { limit: '3' }
      for (let after: string | null = ''; after !== null; ) {
        const query: Record<string, string> = { ...limit, ...chosen, ...(after === '' ? {} : { after }) }
        const { json, text } = await owner.call(`${list}.list`, { account, query })
        if (json['next'] === undefined || found.length > ROWS) throw new Error(text)
        found.push(...(json['data'] as Json[]).map(row => row[id]))
        after = json['next'] as string | null
      }
      t.same(found, expected, `${list} by ${sort}`)
      for (const file of files) {
        const { text } = await owner.call(file, { account, query: { heads: 'machine', ...chosen } })
        const places = expected.map(one => text.indexOf(one))
        t.notOk(places.includes(-1), `${file} has all`)
        t.same(
          places,
          places.toSorted((a, b) => a - b),
          `${file} by ${sort}`,
        )
      }
    }
})

t.test('a page of orders goes on behind a place, whichever way', async t => {
  const { account, owner, ids } = await ground
  const all = (await owner.call('orders.list', { account })).json['data'] as { id: string; created_at: string }[]
  const middle = all[3]!
  const after = `${Date.parse(middle.created_at)}.${middle.id}`
  for (const sort of ['created', '-created']) {
    const { json } = await owner.call('orders.list', { account, query: { sort, after } })
    const wanted = sort === 'created' ? ids.orders : ids.orders.toReversed()
    t.same(
      (json['data'] as Json[]).map(row => row['id']),
      wanted.slice(wanted.indexOf(middle.id) + 1),
      sort,
    )
  }
})

t.test('an order or a place that no list gives is refused, and a place of somebody else is one in time', async t => {
  const { account, owner, ids } = await ground
  const request = ids.requests[2]!
  const forged: Record<string, readonly string[]> = {
    requests: ['x', '0', 'iiiiiiiiii', 'zzzzzzzzzzz', `${request}0`, `${request}.x`, `${request}.1.1`, "1' OR '1'='1"],
    orders: ['x', '1', `1.${ids.orders[0]}x`, `x.${ids.orders[0]}`, `1e3.${ids.orders[0]}`, '1.T', request],
  }
  for (const { list, up } of LISTS) {
    for (const after of forged[list] ?? forged['requests'] ?? [])
      for (const sort of [up, `-${up}`]) {
        const { status, code } = await owner.call(`${list}.list`, { account, query: { sort, after } })
        t.same([status, code], [400, 'invalid'], `${list} behind ${after}`)
      }
    for (const sort of ['amount', 'charge', `${up},id`, `--${up}`, 'DESC']) {
      const { status } = await owner.call(`${list}.list`, { account, query: { sort } })
      t.equal(status, 400, `${list} by ${sort}`)
    }
  }
  for (const file of ['requests.csv', 'requests.jsonl', 'orders.csv'])
    t.equal((await owner.call(file, { account, query: { sort: 'amount' } })).status, 400, file)
  // the id of no request that is there, between the third and the fourth
  const unknown = `${ids.requests[3]!.slice(0, 10)}zzzzzzzzzzz`
  for (const [sort, wanted] of [
    ['time', ids.requests.slice(2)],
    ['-time', ids.requests.slice(0, 2).reverse()],
  ] as const) {
    const { json } = await owner.call('requests.list', { account, query: { sort, after: unknown } })
    t.same(
      (json['data'] as Json[]).map(row => row['request_id']),
      wanted,
      'an unknown id stands before its millisecond',
    )
  }
})
