/**
 * The four questions of an operator, with a stopwatch: on a store of a million rows (ROWS says how many) each is answered within seconds,
 * by the admin API as a command makes its calls.
 */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { openStore } from '../../lib/store/store.ts'
import type { Key } from '../../lib/terms/records.ts'
import type { Traffic } from '../../lib/terms/traffic.ts'
import { callNamed, withCalls } from '../../lib/cli/calls.ts'
import { channel } from '../channels/support.ts'
import { seeded } from '../support/random.ts'
import { fund, SETUP, settlement, usageRow } from '../support/store.ts'

const ROWS = Number(process.env['ROWS'] ?? 1_000_000)
const ACCOUNTS = 200
const BATCH = 2_000
const HOUR_MS = 3_600_000
const DAYS = 30
const MOST_S = 10

const CALLS: [question: string, call: string, path: Record<string, string>, query: Record<string, unknown>][] = [
  ['why was this customer refused: counts', 'refusals.counts', {}, { by: 'account' }],
  [
    'why was this customer refused: a week by address',
    'refusals.counts',
    {},
    { by: 'address', from: String(Date.now() - 7 * 24 * HOUR_MS) },
  ],
  ['why was this customer refused: the list', 'refusals.list', {}, { account: 'a7' }],
  [
    'why was this customer refused: an id that is not kept',
    'requests.show',
    { id: `${idAt(Date.now() - HOUR_MS)}node0000000` },
    {},
  ],
  ['which channel fails', 'channels.show', { name: 'c1' }, {}],
  ['which channel fails: all', 'usage.summary', {}, { by: 'channel' }],
  ['am I making money: by channel and model', 'usage.summary', {}, { by: 'channel,model' }],
  ['am I making money: by account', 'usage.summary', {}, { by: 'account' }],
  ['is somebody abusing me: accounts', 'senders.list', {}, { by: 'account' }],
  ['is somebody abusing me: keys', 'senders.list', {}, { by: 'key' }],
  ['is somebody abusing me: addresses', 'senders.list', {}, { by: 'address' }],
  ['the books', 'audit.run', {}, {}],
]

t.test(`each of the four questions on ${ROWS} rows within ${MOST_S} s`, { timeout: 1_800_000 }, async t => {
  const random = seeded(t)
  const folder = t.testdir({ 'c.yaml': '' })
  const config = { store: `sqlite:${folder}/books.db`, journal: `${folder}/j`, admin_token: 'a-long-token-for-this' }
  const store = openStore(config.store, { secret: config.admin_token })
  await store.migrate()
  const keys: Key[] = []
  for (let i = 0; i < ACCOUNTS; i++) keys.push((await fund(store, `a${i}`, 1_000_000_000)).key)
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const nowMs = Date.now()
  const began = performance.now()
  for (let n = 0; n < ROWS; n += BATCH) {
    const atMs = nowMs - DAYS * 24 * HOUR_MS + ((n + BATCH) / ROWS) * DAYS * 24 * HOUR_MS
    const batch = Array.from({ length: Math.min(BATCH, ROWS - n) }, (_, i) => {
      const change = {
        channel: random.pick(['c1', 'c2', 'c3']),
        model: random.pick(['m', 'n', 'o']),
        firstByteMs: random.int(20, 9_000),
        cost: random.pick([null, micro(7)]),
        status: random.pick([200, 200, 200, 502]),
      }
      return settlement(
        usageRow(
          `${idAt(atMs)}node00${String(n + i)
            .padStart(7, '0')
            .slice(-5)}`,
          random.pick(keys),
          10,
          change,
        ),
        'here',
        0,
      )
    })
    await store.books.settle(batch)
  }
  const names = (of: string) => Array.from({ length: 128 }, (_, i) => [`${of}${i} rate`, 1_000 - i, i] as const)
  const traffic: Traffic = {
    requests: 9_999,
    refused: { rate: 999, key: 77 },
    senders: { rows: names('203.0.113.'), floor: 9 },
    by: {
      account: { rows: names(''), floor: 9 },
      key: { rows: names(''), floor: 9 },
      address: { rows: names('203.0.113.'), floor: 9 },
    },
  }
  for (let hour = 0; hour < 7 * 24; hour++)
    for (const holder of ['one', 'two'])
      await store.traffic.put({ hour: Math.floor(nowMs / HOUR_MS) - hour, traffic }, holder)
  await store.catalogue.putChannel(channel('c1'), SETUP)
  await store.close()
  t.comment(`filled in ${Math.round((performance.now() - began) / 1000)} s`)
  writeFileSync(`${folder}/c.yaml`, JSON.stringify(config))
  await withCalls({ config: `${folder}/c.yaml` }, async make => {
    for (const [question, call, path, query] of CALLS) {
      const start = performance.now()
      await make(callNamed(call), { path, query, body: {} }).catch(error =>
        t.match(error.message, /there is no request/),
      )
      const s = (performance.now() - start) / 1000
      t.ok(s < MOST_S, `${question}: ${s.toFixed(2)} s`)
    }
  })
})
