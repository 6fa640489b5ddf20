/** A MariaDB that answers, but not as it should: what it can do to a gateway under load, one row each. */
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import t, { type Test } from 'tap'
import { startCommitProxy } from '../support/commit-proxy.ts'
import { until } from '../support/wait.ts'
import { startSlowProxy } from './slow-proxy.ts'
import { mariadbStore, onMariadb } from './stores.ts'
import { type FaultyGateway, LATE_KEY, MOST, Scene } from './support.ts'

const CLIENTS = 6
const WARM_MS = 800
/** One that may not write to a read-only server, and for whom no connection is kept free. */
const USER = 'gateway'
/** Lock waits of the gateway's own sessions end after 5 s. */
const LOCKED_MS = 4_000
const SHORT_MS = 3_000
const SLOW_MS = 2_500
const SLOW_FOR_MS = 8_000
const DEADLOCKS = 3
/** It only ends a test that waits in vain. */
const DEADLOCK_MS = 60_000
const FEW = 10

interface Fault {
  name: string
  /** From its begin to its end; whatever it opens is closed again. */
  strike(t: Test): Promise<void>
}

const store = await mariadbStore()
const { server } = store
t.teardown(() => store.stop())
const slow = await startSlowProxy(server.port)
const commits = await startCommitProxy(slow.port)
t.teardown(() => {
  commits.close()
  slow.close()
})
/** Kept open: when there are too many connections, a new one would be one of them. */
const root = await mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' })
t.teardown(() => root.destroy())
const admin = async (sql: string): Promise<unknown> => (await root.query(sql))[0]
await admin(`CREATE USER ${USER}@'127.0.0.1'`)
await admin(`GRANT ALL ON gateway.* TO ${USER}@'127.0.0.1'`)

const numberOf = async (variable: string): Promise<number> => {
  const [row] = (await admin(`SHOW GLOBAL STATUS LIKE '${variable}'`)) as { Value: string }[]
  return Number(row?.Value)
}

const killAll = async (): Promise<void> => {
  for (const { Id, User } of (await admin('SHOW PROCESSLIST')) as { Id: number; User: string }[])
    if (User === USER) await admin(`KILL ${Id}`).catch(() => {})
}

const FAULTS: Fault[] = [
  {
    name: 'answers of COMMITs are lost',
    async strike() {
      for (let i = 0; i < 6; i++) await Promise.race([commits.loseNext('answer'), sleep(2_000)])
    },
  },
  {
    name: 'COMMITs are lost',
    async strike() {
      for (let i = 0; i < 6; i++) await Promise.race([commits.loseNext('commit'), sleep(2_000)])
    },
  },
  {
    name: 'locks are waited for until 1205',
    async strike(t) {
      const before = await numberOf('Innodb_row_lock_time')
      const unlock = await store.lock()
      const waitedMs = async () => (await numberOf('Innodb_row_lock_time')) - before
      await until('a lock wait has ended', async () => (await waitedMs()) >= LOCKED_MS)
      await unlock()
      t.pass('a statement waited for as long as it may')
    },
  },
  { name: 'deadlocks: 1213', strike: deadlocks },
  {
    name: 'the server is read-only',
    async strike() {
      await admin('SET GLOBAL read_only = 1')
      await sleep(SHORT_MS)
      await admin('SET GLOBAL read_only = 0')
    },
  },
  {
    name: 'too many connections',
    async strike(t) {
      const others = await Promise.all(Array.from({ length: FEW }, () => mysql.createConnection(store.url)))
      await admin(`SET GLOBAL max_connections = ${FEW}`)
      await killAll()
      await sleep(SHORT_MS)
      const turnedAway = async () => (await numberOf('Connection_errors_max_connections')) > 0
      await until('the gateway is turned away', turnedAway)
      await admin('SET GLOBAL max_connections = 100')
      for (const other of others) await other.end()
      t.pass('the gateway was turned away')
    },
  },
  {
    name: 'connections are killed',
    async strike() {
      for (let i = 0; i < 5; i++) {
        await killAll()
        await sleep(200)
      }
    },
  },
  {
    name: 'every query is slow',
    async strike() {
      slow.delayMs = SLOW_MS
      await sleep(SLOW_FOR_MS)
      slow.delayMs = 0
    },
  },
]

/** The rival holds the leases; the settler has inserted its rows and waits; then the rival wants those rows. */
async function deadlocks(t: Test): Promise<void> {
  await admin('CREATE TABLE IF NOT EXISTS gateway.ballast (n INT)')
  const rival = await mysql.createConnection(store.url)
  await rival.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
  const before = await numberOf('Innodb_deadlocks')
  let lost = 0
  const gatewayLost = async () => (await numberOf('Innodb_deadlocks')) - before - lost
  for (const until = Date.now() + DEADLOCK_MS; (await gatewayLost()) < DEADLOCKS && Date.now() < until; ) {
    await rival.beginTransaction()
    // the transaction that has written less is the victim
    await rival.query(`INSERT INTO ballast SELECT seq FROM seq_1_to_5000`)
    await rival.query('SELECT purse_id FROM leases FOR UPDATE')
    await sleep(1_000)
    await rival.query('SELECT request_id FROM usage_log FOR UPDATE').catch(() => lost++)
    await rival.rollback()
    await sleep(100)
  }
  await rival.end()
  t.ok((await gatewayLost()) >= DEADLOCKS, 'the gateway was the victim')
}

async function struck(t: Test, scene: Scene, { strike }: Fault): Promise<void> {
  const gateway = scene.gateways[0] as FaultyGateway
  await scene.peak(gateway)
  const stop = scene.clients.load(gateway.main, CLIENTS, { most: MOST, pauseMs: 30 })
  await sleep(WARM_MS)
  const late = sleep(WARM_MS).then(() => scene.clients.ask(gateway.main, { key: LATE_KEY }))
  await strike(t)
  const seen = await stop()
  const statuses = [...new Set(seen.map(({ status }) => status))]
  t.strictSame(statuses, [200], `all ${seen.length} were served from memory`)
  t.ok([200, 503].includes((await late).status), 'who has no lease is served or told to come again')
  await scene.checkBooks(t, gateway)
}

t.test('a MariaDB in trouble', async t => {
  const url = (port: number) => `mysql://${USER}@127.0.0.1:${port}/gateway`
  const scene = await Scene.open(t, { store: onMariadb(server), storeUrl: url(commits.port) })
  await scene.gateway()
  for (const fault of FAULTS) await t.test(fault.name, t => struck(t, scene, fault))
  await t.test('the end', t => scene.checkEnd(t))
})
