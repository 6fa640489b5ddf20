/**
 * An engine that speaks MySQL's protocol and keeps no row locks was trusted: twenty of forty requests passed where ten
 * could be paid. Each promise is broken here: by a real server behind a proxy that says other statements than it was
 * told, or, where no server can be made to, by one of two sessions that differ from those of a sound engine.
 */
// The bug behind these rows: an engine that breaks its promises.
import t, { type Test } from 'tap'
import { DuplicateKey, type Param } from '../../lib/store/base/driver.ts'
import { RunAgain } from '../../lib/store/engines/mysql-errors.ts'
import { proveEngine } from '../../lib/store/engines/mysql-proof.ts'
import type { ProofSession } from '../../lib/store/engines/mysql-proof.ts'
import { openStore } from '../../lib/store/store.ts'
import { startMariadb } from '../support/mariadb.ts'
import { type Rewriting, startRewritingProxy } from '../support/rewriting-proxy.ts'

const server = await startMariadb()
t.teardown(() => server.stop())

const FOUND_ROWS = 2
const READ_COMMITTED = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'

/** What the store says of the engine behind the proxy; null: it is content. */
async function verdict(t: Test, rewriting: Rewriting, name: string): Promise<string | null> {
  const url = await server.database(name)
  const proxy = await startRewritingProxy(server.port, rewriting)
  const store = openStore(url.replace(/:\d+\//, `:${proxy.port}/`), { secret: 'x' })
  t.teardown(async () => {
    await store.close()
    proxy.close()
  })
  return await store.migrate().then(
    () => null,
    (error: Error) => error.message,
  )
}

const LIES: Record<string, [rewriting: Rewriting, says: RegExp]> = {
  'tables without transactions': [
    { texts: [['ENGINE = InnoDB', 'ENGINE = MyISAM']] },
    /not committed must be neither seen.*another connection read it.*the tables know no transactions/,
  ],
  'READ UNCOMMITTED': [
    { texts: [[READ_COMMITTED, 'SET LOCAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED']] },
    /not committed must be neither seen.*another connection read it.*isolation level is not READ COMMITTED/,
  ],
  'REPEATABLE READ': [
    { texts: [[READ_COMMITTED, 'SET LOCAL TRANSACTION ISOLATION LEVEL REPEATABLE READ']] },
    /must read what others have committed meanwhile \(READ COMMITTED\), but it read 1 and not 2/,
  ],
  'snapshots of no level': [
    { texts: [['SET TRANSACTION ISOLATION LEVEL REPEATABLE READ', 'DO 0']] },
    /a snapshot must read the books of one moment \(REPEATABLE READ\), but it read 3 and not 2/,
  ],
  'each statement a transaction of its own': [
    { texts: [['START TRANSACTION', 'DO 0']] },
    /not committed must be neither seen.*another connection read it/,
  ],
  'ROLLBACK that commits': [
    { texts: [['ROLLBACK', 'COMMIT']] },
    /rolled back must leave nothing, but its row holds 7 and not 1/,
  ],
  'COMMIT that rolls back': [
    { texts: [['\x03COMMIT', '\x03DO 0']] },
    /a committed row must be there for everybody, but another connection does not see it/,
  ],
  'changed rows are counted, not those that match': [
    { withoutFlags: FOUND_ROWS },
    /a row that matches, also when it keeps its value, must count as 1, but it counted as 0/,
  ],
}

t.test('a real server, as it is', async t => {
  t.equal(await verdict(t, {}, 'sound'), null)
  const left = (await server.admin("SELECT name FROM sound.meta WHERE name LIKE 'proof%'")) as unknown[]
  t.strictSame(left, [], 'the proof leaves nothing behind')
})

for (const [name, [rewriting, says]] of Object.entries(LIES)) {
  t.test(`a real server with ${name}`, async t => {
    const said = String(await verdict(t, rewriting, `lie${Object.keys(LIES).indexOf(name)}`))
    t.match(said, /^store: the books cannot be kept on this engine: /)
    t.match(said, says)
  })
}

t.test('the schema may be left to somebody else: a start proves the engine all the same', async t => {
  const url = await server.database('unmigrated')
  const store = openStore(url, { secret: 'x' })
  await store.migrate()
  await store.close()
  const proxy = await startRewritingProxy(server.port, { texts: [['ROLLBACK', 'COMMIT']] })
  const lying = openStore(url.replace(/:\d+\//, `:${proxy.port}/`), { secret: 'x' })
  t.teardown(async () => {
    await lying.close()
    proxy.close()
  })
  await t.rejects(lying.prove(), /rolled back must leave nothing/)
})

t.test('eight gateways at once, and one that was killed in the middle before', async t => {
  const url = await server.database('crowd')
  const stores = Array.from({ length: 8 }, () => openStore(url, { secret: 'x' }))
  t.teardown(() => Promise.all(stores.map(store => store.close())))
  await stores[0]?.migrate()
  await server.admin("INSERT INTO crowd.meta (name, value) VALUES ('proof.0000000a1.x', 0)")
  await Promise.all(stores.map(store => store.prove()))
  t.strictSame(await server.admin("SELECT name FROM crowd.meta WHERE name LIKE 'proof%'"), [])
})

/**
 * An engine in memory that takes no locks: a transaction reads what was committed before its statement, and writes when
 * it commits. `refuses`: a commit after another's change of the same row is refused, as optimistic engines do.
 */
function lockless(refuses: boolean): () => ProofSession {
  const rows = new Map<string, { value: number; version: number }>()
  return () => {
    let writes: Map<string, { value: number | null; version: number }> | null = null
    let level: 'snapshot' | undefined
    let seen = new Map(rows)
    const at = (name: string) => {
      const write = writes?.get(name)
      if (write !== undefined) return write.value === null ? undefined : { value: write.value }
      return (writes !== null && level === 'snapshot' ? seen : rows).get(name)
    }
    const put = (name: string, value: number | null) => {
      writes?.set(name, { value, version: rows.get(name)?.version ?? 0 })
    }
    return {
      async begin(asked) {
        writes = new Map()
        level = asked
        seen = new Map(rows)
      },
      async commit() {
        const own = writes ?? []
        writes = null
        for (const [name, { version }] of own)
          if (refuses && (rows.get(name)?.version ?? 0) !== version) throw new RunAgain('conflict')
        for (const [name, { value }] of own) {
          if (value === null) rows.delete(name)
          else rows.set(name, { value, version: (rows.get(name)?.version ?? 0) + 1 })
        }
      },
      async rollback() {
        writes = null
      },
      async query(_sql, [name]) {
        const row = at(name as string)
        return row === undefined ? [] : [{ value: row.value }]
      },
      async run(sql, params) {
        return { changes: apply(sql, params), insertId: 0 }
      },
    }
    function apply(sql: string, params: readonly Param[]): number {
      const names = params.filter(param => typeof param === 'string')
      if (sql.startsWith('INSERT')) {
        if (at(names[0] as string) !== undefined) throw new DuplicateKey('there')
        put(names[0] as string, 0)
        return 1
      }
      const matching = [...new Set(names)].filter(name => at(name) !== undefined)
      if (sql.startsWith('DELETE')) {
        for (const name of matching) put(name, null)
        return matching.length
      }
      const [first, , condition] = params
      if (condition !== undefined && at(names[0] as string)?.value !== condition) return 0
      for (const name of matching) put(name, typeof first === 'number' ? first : 0)
      return matching.length
    }
  }
}

t.test('no locks, and both changes are kept', async t => {
  const session = lockless(false)
  await t.rejects(
    proveEngine(session(), session()),
    /a row changed in an open transaction must keep the same change on another connection waiting, or have it refused, but both went through/,
  )
})

t.test('no locks, but the later commit is refused: its transaction runs again', async t => {
  const session = lockless(true)
  await t.resolves(proveEngine(session(), session()))
})

t.test('the second change waits, and then does not see the first', async t => {
  const session = lockless(false)
  const [one, two] = [session(), session()]
  const late: ProofSession = {
    ...two,
    async run(sql, params) {
      const result = await two.run(sql, params)
      if (sql.includes('AND value')) await new Promise(resolve => setTimeout(resolve, 60))
      return result
    },
  }
  await t.rejects(proveEngine(one, late), /a conditional change must see what the change before it left/)
})

t.test('a key that two may insert', async t => {
  const session = lockless(true)
  const [one, two] = [session(), session()]
  const blind = (inner: ProofSession): ProofSession => ({
    ...inner,
    run: async (sql, params) =>
      await inner.run(sql, params).catch(error => {
        if (error instanceof DuplicateKey) return { changes: 1, insertId: 0 }
        throw error
      }),
    commit: () => inner.commit().catch(() => {}),
  })
  await t.rejects(proveEngine(one, blind(two)), /both went through|two transactions inserted the same one/)
})
