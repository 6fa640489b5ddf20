/**
 * A batch of settlements was cut into statements by the number of its rows, however long they were. A few hundred rows with long
 * receipts were more than a server with a small `max_allowed_packet` takes at once, so that none of them was booked.
 */
// The bug behind these rows: a batch larger than a packet.
import mysql from 'mysql2/promise'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { openStore } from '../../lib/store/store.ts'
import type { Line } from '../../lib/terms/usage-row.ts'
import { startMariadb } from '../support/mariadb.ts'
import { fund, settlement, usageRow } from '../support/store.ts'

const PACKET = 1024 * 1024
const ROWS = 256
const LINES = 200

t.test('rows with long receipts', async t => {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  const connection = await mysql.createConnection(server.url)
  await connection.query(`SET GLOBAL max_allowed_packet = ${PACKET}`)
  await connection.end()
  const store = openStore(server.url, { secret: 'x' })
  t.teardown(() => store.close())
  await store.migrate()
  const { key } = await fund(store, 'demo', 1_000_000)
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const lines = Array.from(
    { length: LINES },
    (_, i): Line => ({
      model: `模型${i}`.repeat(20),
      priceVersion: i,
      list: 'base',
      tier: 1_000_000,
      tierName: null,
      class: 'input',
      count: i,
      price: 1,
    }),
  )
  const rows = Array.from({ length: ROWS }, (_, i) =>
    usageRow(`${idAt(1e12 + i)}n0de0100000`, key, 1, { lines: i % 2 === 0 ? lines : [] }),
  )
  const settled = await store.books.settle(
    rows.map(row => settlement(row, 'h', 0)),
    false,
  )
  t.match(settled, { applied: ROWS })
  const booked = await store.usage.page({ limit: ROWS })
  t.strictSame(
    booked.map(row => row.requestId),
    rows.map(row => row.requestId).reverse(),
  )
  t.strictSame(booked.at(-1)?.lines, lines)
  t.match(await store.audit(), { ok: true, charges: ROWS })
})
