/** Every filter of usage means the same rows on the list, in the totals and in the exports. */
import t from 'tap'
import { attemptId, idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import type { exportFilter } from '../../lib/operations/usage/filters.ts'
import { PROTOCOLS } from '../../lib/protocols/names.ts'
import { ENDS } from '../../lib/terms/usage-row.ts'
import { seeded } from '../support/random.ts'
import { fund, settlement, usageRow } from '../support/store.ts'
import { openOps } from './support.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const HOUR = 3_600_000
const HOURS = 50
const ROWS = 150
const TRIES = 120

type Row = Record<string, string | number>
const millionths = (rows: readonly Row[], name: string) =>
  rows.reduce((sum, row) => sum + Math.round(Number(row[name] ?? 0) * 1e6), 0)
const count = (rows: readonly Row[], of: (row: Row) => number) => rows.reduce((sum, row) => sum + of(row), 0)

t.test('filters', async t => {
  const random = seeded(t)
  const ops = await openOps(t)
  const { store } = ops
  const keys = [(await fund(store, 'acme', 1e6)).key, (await fund(store, 'other', 1e6)).key]
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const ids: string[] = []
  for (let i = 0; i < ROWS; i++) {
    const own = `${idAt(START + random.int(0, HOURS * HOUR - 1))}n0de01${String(i).padStart(5, '0')}`
    const isAttempt = random.int(0, 6) === 0
    const row = usageRow(isAttempt ? attemptId(own, 1) : own, random.pick(keys), isAttempt ? 0 : random.int(1, 999), {
      cost: random.pick([null, micro(random.int(1, 99))]),
      model: random.pick(['alpha', 'beta']),
      group: random.pick(['default', 'vip']),
      channel: random.pick(['one', 'two']),
      protocol: random.pick(PROTOCOLS.slice(0, 3)),
      status: random.pick([200, 400, 502]),
      end: random.pick(ENDS),
    })
    ids.push(row.requestId)
    await store.books.settle([settlement(row, 'here', 0)], false)
  }
  const values: Record<keyof typeof exportFilter.shape, () => string | number> = {
    account: () => random.pick(['acme', 'other', 'nobody']),
    key: () => random.pick([...keys.map(key => key.id), 99]),
    model: () => random.pick(['alpha', 'beta', 'gamma']),
    group: () => random.pick(['default', 'vip']),
    channel: () => random.pick(['one', 'two']),
    protocol: () => random.pick(PROTOCOLS.slice(0, 3)),
    outcome: () => random.pick(['ok', 'client', 'upstream', 'attempt']),
    attempts: () => random.pick(['with', 'without']),
    request_id: () => random.pick([...ids.slice(0, 9), idAt(START)]),
    // totals are of whole hours
    from: () => START + random.int(0, HOURS) * HOUR,
    to: () => START + random.int(0, HOURS) * HOUR,
  }
  const names = Object.keys(values) as (keyof typeof values)[]
  for (let i = 0; i < TRIES; i++) {
    const some = names.filter((_, place) => i % names.length === place || random.int(0, 5) === 0)
    const query = new URLSearchParams(some.map(name => [name, String(values[name]())])).toString()
    const rows = (await ops.admin('GET', `/admin/usage?limit=1000&${query}`)).data as Row[]
    const exported = (await ops.admin('GET', `/admin/usage.jsonl?${query}`)).text.trimEnd().split('\n')
    const of = (row: { [name: string]: unknown }) => row['request_id']
    t.same(
      exported.slice(0, -1).map(line => of(JSON.parse(line))),
      rows.map(of),
      query,
    )
    const by = random.pick(['model', 'channel,key', 'day', 'hour'])
    const zone = random.pick(['', 'UTC', 'Europe/Berlin'])

    const totals = (await ops.admin('GET', `/admin/usage/summary?by=${by}&zone=${zone}&${query}`)).data as Row[]
    for (const name of ['charge', 'cost'])
      t.equal(millionths(totals, name), millionths(rows, name), `${name}: ${query}`)
    t.equal(
      count(totals, row => row['requests'] as number),
      count(rows, row => (row['outcome'] === 'attempt' ? 0 : 1)),
      `requests: ${query}`,
    )
  }
})
