/** SQLite in a thread: what the thread leaves when it dies, and what it has promised when the power fails. */
// The bug behind these rows: a database whose thread dies.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { CommitUncertain } from '../../lib/store/base/driver.ts'
import { openSqlite } from '../../lib/store/engines/sqlite.ts'
import { SqliteConnection, type StartThread, type WorkerRequest } from '../../lib/store/engines/sqlite-thread.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { house, reserve, row } from '../ledger/house.ts'
import { changed } from '../support/store.ts'
import { until } from '../support/wait.ts'

/** A thread that answers when it is told to. */
class FakeThread {
  readonly asked: WorkerRequest[] = []
  readonly #hears = new Map<string, ((value?: unknown) => void)[]>()
  on(event: string, fn: (value?: unknown) => void): this {
    this.#hears.set(event, [...(this.#hears.get(event) ?? []), fn])
    return this
  }
  once = this.on
  emit(event: string, value?: unknown): void {
    for (const fn of this.#hears.get(event) ?? []) fn(value)
  }
  postMessage(request: WorkerRequest): void {
    this.asked.push(request)
  }
  ref(): void {}
  unref(): void {}
  async terminate(): Promise<number> {
    return 1
  }
}

function faked() {
  const threads: FakeThread[] = []
  const start = (() => {
    const thread = new FakeThread()
    threads.push(thread)
    return thread
  }) as unknown as StartThread
  return { threads, connection: new SqliteConnection('nowhere', () => {}, start) }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

t.test('the end of a thread is not taken for the end of the one that came after it', async t => {
  const { threads, connection } = faked()
  const first = connection.query('a', 'SELECT 1', [])
  await turn()
  threads[0]!.emit('error', new Error('out of memory'))
  await t.rejects(first, StoreUnavailable)
  const second = connection.query('b', 'SELECT 2', [])
  await turn()
  threads[0]!.emit('exit', 1)
  threads[0]!.emit('message', { rows: [{ of: 'the first' }] })
  threads[1]!.emit('message', { rows: [{ of: 'the second' }] })
  t.same(await second, [{ of: 'the second' }])
  void connection.query('c', 'SELECT 3', [])
  await turn()
  t.equal(threads.length, 2)
})

t.test('what is left of a transaction is not done on another thread, outside of it', async t => {
  const { threads, connection } = faked()
  let go = () => {}
  const between = new Promise<void>(resolve => (go = resolve))
  const transaction = connection.transaction('BEGIN', 'a', async tx => {
    await between
    return tx.run('UPDATE all', [])
  })
  await turn()
  threads[0]!.emit('message', { rows: [] })
  await turn()
  threads[0]!.emit('exit', 1)
  go()
  await t.rejects(transaction, StoreUnavailable)
  t.same(
    threads.flatMap(thread => thread.asked),
    [{ kind: 'exec', sql: 'BEGIN' }],
  )
})

t.test('a thread that ends at a commit: it happened or it did not', async t => {
  const { threads, connection } = faked()
  const transaction = connection.transaction('BEGIN', 'a', async () => {})
  await turn()
  threads[0]!.emit('message', { rows: [] })
  await turn()
  t.same(threads[0]!.asked.at(-1), { kind: 'exec', sql: 'COMMIT' })
  threads[0]!.emit('exit', 1)
  await t.rejects(transaction, CommitUncertain)
  const run = connection.run('b', 'UPDATE one', [])
  await turn()
  threads[1]!.emit('exit', 1)
  await t.rejects(run, CommitUncertain)
  const work = connection.beside('c', new URL('file:///work.ts'), [1])
  await turn()
  t.same(threads[2]!.asked, [{ kind: 'beside', op: 'c', work: 'file:///work.ts', args: [1] }])
  threads[2]!.emit('exit', 1)
  await t.rejects(work, CommitUncertain)
})

t.test('work beside the engine: its errors arrive as what they are, and its statements are counted', async t => {
  const counted: [string, boolean][] = []
  const file = path.join(t.testdir(), 'a.db')
  const connection = new SqliteConnection(file, (...statement) => counted.push(statement))
  const beside = (body: string) =>
    connection.beside('a', new URL(`data:text/javascript,export const beside = async (driver, n) => { ${body} }`), [7])
  await connection.script(['CREATE TABLE t (a INTEGER PRIMARY KEY)'])
  const insert = "await driver.transaction('b', tx => tx.run('INSERT INTO t VALUES (?)', [n]))"
  t.equal(await beside(`${insert}; return n + 1`), 8)
  await t.rejects(beside(insert), { name: 'Error', message: /UNIQUE/ })
  await t.rejects(beside('throw new Error(n)'), { name: 'Error', message: '7' })
  t.same(counted, [
    ['a', true],
    ['a', true],
  ])
  const other = new DatabaseSync(file, { timeout: 0 })
  other.exec('BEGIN IMMEDIATE')
  t.same(await connection.query('c', 'SELECT a FROM t', []), [{ a: 7 }])
  other.exec('ROLLBACK')
  other.close()
  await connection.close()
})

t.test('a thread that dies in a transaction leaves nothing locked', async t => {
  const file = path.join(t.testdir(), 'a.db')
  const threads: Worker[] = []
  const start: StartThread = path => {
    const url = new URL('../../lib/store/engines/sqlite-worker.ts', import.meta.url)
    threads.push(new Worker(url, { workerData: { path } }))
    return threads.at(-1)!
  }
  const connection = new SqliteConnection(file, () => {}, start)
  await connection.script(['CREATE TABLE t (a)'])
  const dying = connection.transaction('BEGIN IMMEDIATE', 'a', async tx => {
    await tx.run('INSERT INTO t VALUES (1)', [])
    threads[0]!.emit('error', new Error('out of memory'))
    return tx.run('INSERT INTO t VALUES (2)', [])
  })
  await t.rejects(dying, StoreUnavailable)
  await connection.transaction('BEGIN IMMEDIATE', 'a', tx => tx.run('INSERT INTO t VALUES (3)', []))
  const other = new DatabaseSync(file, { timeout: 0 })
  other.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (4); COMMIT')
  t.same(
    other
      .prepare('SELECT a FROM t')
      .all()
      .map(({ a }) => a),
    [3, 4],
  )
  other.close()
  await connection.close()
})

t.test('a commit is on the disk before it is answered, on the connection that writes', async t => {
  const driver = openSqlite(`sqlite:${path.join(t.testdir(), 'a.db')}`, () => {})
  const [setting] = await driver.query('pragma', 'PRAGMA synchronous', [])
  t.equal(setting?.['synchronous'], 2, 'FULL')
  const inside = await driver.transaction('pragma', tx => tx.query('PRAGMA synchronous', []))
  t.same(inside, [setting])
  await driver.close()
})

t.test('the journal keeps a settlement until its commit is answered', async t => {
  const { store, key, clock, folder, open, spent } = await house(t)
  let answer = () => {}
  const answered = new Promise<void>(resolve => (answer = resolve))
  const slow = changed(store, {
    books: {
      async settle(batch, again) {
        const settled = await store.books.settle(batch, again)
        await answered
        return settled
      },
    },
  })
  const ledger = await open({ store: slow })
  ledger.settle(await reserve(ledger, key, 10), row(key, 10))
  ledger.write()
  clock.advance(1_000)
  await until('in the books', async () => (await spent()) === 10)
  const own = path.join(folder, ledger.holder)
  const bytes = () =>
    readdirSync(own).reduce((sum, name) => sum + (name.endsWith('.log') ? statSync(path.join(own, name)).size : 0), 0)
  t.ok(bytes() > 0)
  t.equal(ledger.journalEntries, 1)
  answer()
  await until('done with', () => ledger.journalEntries === 0)
  await ledger.stop()
  t.notOk(existsSync(own))
})

/** The threads of this process that are called `store`, and the priority of each. */
function storeThreads(): Map<number, number> {
  const priorities = new Map<number, number>()
  for (const id of readdirSync('/proc/self/task'))
    try {
      if (readFileSync(`/proc/self/task/${id}/comm`, 'utf8') === 'store\n')
        priorities.set(Number(id), os.getPriority(Number(id)))
    } catch {
      // it has ended meanwhile
    }
  return priorities
}

t.test(
  'latency: the thread of the store gives way to the event loop, whose priority stays as it was',
  { skip: process.platform !== 'linux' && 'only there a priority is that of a thread' },
  async t => {
    const before = storeThreads()
    const own = os.getPriority(process.pid)
    const connection = new SqliteConnection(path.join(t.testdir(), 'gateway.db'), () => {})
    await connection.query('a', 'SELECT 1', [])
    const begun = [...storeThreads()].filter(([id]) => !before.has(id))
    t.ok(
      begun.some(([, priority]) => priority === Math.min(os.constants.priority.PRIORITY_LOW, own + 5)),
      `${own}, and ${begun.map(([, priority]) => priority)}`,
    )
    t.equal(os.getPriority(process.pid), own)
    await connection.close()
  },
)
