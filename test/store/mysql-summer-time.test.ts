/**
 * The time of the store was made of the engine's local time. In a zone with summer time, the store's clock was an hour ahead for the
 * last hour of the summer, and then said the same hour again: leases, rates, quotes and the ends of orders go by it.
 */
// The bug behind these rows: an hour that comes twice.
import t from 'tap'
import { startMariadb } from '../support/mariadb.ts'
import { openDriver } from '../support/store.ts'

const LAST_HOUR = Date.parse('2026-10-25T00:30:00Z')
const HOUR_MS = 3_600_000

t.test('the clock of a MariaDB in Berlin goes on in the night in which summer time ends', async t => {
  const before = process.env['TZ']
  process.env['TZ'] = 'Europe/Berlin'
  const server = await startMariadb().finally(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  t.teardown(() => server.stop())
  const driver = openDriver(server.url)
  t.teardown(() => driver.close())
  const [row] = await driver.transaction('zone', tx => tx.query('SELECT @@session.time_zone AS zone', []))
  t.match(row, { zone: '+00:00' })
  for (const at of [0, 1, 2].map(hours => LAST_HOUR + hours * HOUR_MS)) {
    const [now] = await driver.transaction('time', async tx => {
      await tx.run(`SET timestamp = ${at / 1_000}`, [])
      return tx.query(`SELECT ${driver.dialect.nowMs} AS ms`, [])
    })
    t.equal(Number(now!['ms']), at, new Date(at).toISOString())
  }
})
