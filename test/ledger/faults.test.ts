import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { type Micro, micro } from '../../lib/base/money.ts'
import { newJournal } from '../../lib/ledger/journal.ts'
import { Hold, Ledger } from '../../lib/ledger/ledger.ts'
import { openStore } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { type Settlement, settlementsOf } from '../../lib/store/books/settlement.ts'
import { TestClock } from '../support/clock.ts'
import { readJournal } from '../support/journal.ts'
import { kept } from '../support/kept.ts'
import { fund, settlement, usageRow, changed } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { away, house, reserve, row } from './house.ts'
import { Disk } from './simulation/disk.ts'

const SECOND = 1_000
const HOUR = 3_600_000
t.test('torn last record: wherever it was cut, the whole ones before it are read, and nothing else', async t => {
  const { folder, key, dead, store } = await house(t)
  const storeId = await store.id()
  await dead(
    'p',
    [1, 2, 3].map(charge => settlement(row(key, charge), 'p', charge)),
  )
  const file = path.join(folder, 'p', '00000001.log')
  const bytes = readFileSync(file)
  const whole = bytes.lastIndexOf('\n', bytes.length - 2) + 1
  for (let end = whole; end < bytes.length; end++) {
    writeFileSync(file, bytes.subarray(0, end))
    const { settlements, torn, corrupt } = readJournal(path.join(folder, 'p'), storeId)
    if (settlements.length !== 2 || torn !== end > whole || corrupt > 0) t.fail(`cut at ${end}`)
  }
  t.ok(bytes.length - whole > 100)
})

t.test('journal replayed twice: charged once', async t => {
  const { folder, key, dead, open, spent, leased, store, said } = await house(t)
  await dead(
    'p',
    [10, 20].map(charge => settlement(row(key, charge), 'p', charge)),
  )
  cpSync(path.join(folder, 'p'), path.join(folder, 'q'), { recursive: true })
  const ledger = await open()
  t.match(said, [/"holder":"p","records":2,"applied":2/, /"holder":"q","records":2,"applied":0/])
  t.equal(await spent(), 30)
  t.equal(await leased(), 0)
  await ledger.stop()
  t.ok((await store.audit()).ok)
})

t.test('a record in the middle cannot be read: the others count, the file is kept, once', async t => {
  const { folder, key, dead, open, spent, clock, said } = await house(t)
  await dead(
    'p',
    [1, 2, 4].map(charge => settlement(row(key, charge), 'p', charge)),
  )
  const file = path.join(folder, 'p', '00000001.log')
  const lines = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [lines[0], `${lines[1]}x`, lines[2], ''].join('\n'))
  const ledger = await open()
  t.equal(await spent(), 5)
  t.match(said, [/cannot be read/])
  clock.advance(20 * SECOND)
  await ledger.stop()
  t.same(readdirSync(folder).filter(name => name.includes('corrupt')).length, 1)
  t.equal(said.length, 1)
})

t.test(
  'two gateways with one journal folder: a lock of the kernel tells them apart, and dies with its process',
  async t => {
    const folder = t.testdir({ journal: {} })
    const url = `sqlite:${path.join(folder, 'store.db')}`
    const store = openStore(url, { secret: 'a test secret' })
    t.teardown(() => store.close())
    await store.migrate()
    const { key } = await fund(store, 'a', 1_000)
    const journal = path.join(folder, 'journal')
    const start = (holder: string): ChildProcess => {
      const args = [path.join(import.meta.dirname, 'process.ts'), url, journal, holder, String(key.id)]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      t.teardown(() => child.kill('SIGKILL'))
      return child
    }
    const says = async (child: ChildProcess): Promise<string> => String((await once(child.stdout!, 'data'))[0]).trim()

    const first = start('p')
    t.equal(await says(first), 'charged')
    t.equal(await says(start('p')), 'JournalTaken', 'the same folder')
    t.equal(await says(start('q')), 'charged', 'a folder of its own next to it')

    const clock = new TestClock()
    const log = { info() {}, warn() {}, error() {} }
    const alive = await Ledger.open({ store, clock, log, folder: journal, limitBytes: 1 << 20 })
    const spent = async () => (await store.books.purses([accountPurse(key.accountId)]))[0]!.spent
    clock.advance(20 * SECOND)
    t.equal(await spent(), 0, 'journals of living processes are left alone')
    first.kill('SIGKILL')
    await once(first, 'exit')
    clock.advance(5 * SECOND)
    await until('the journal of the dead one is applied by the living', async () => (await spent()) === 10)
    await until('and removed', () => !existsSync(path.join(journal, 'p')))
    t.ok(existsSync(path.join(journal, 'q')))
    await alive.stop()
  },
)

t.test('a new journal whose name is taken gets another one', async t => {
  const { folder, clock } = await house(t)
  const options = { folder, store: 1, limitBytes: 1, clock, log: { info() {}, warn() {}, error() {} } }
  const one = newJournal({ ...options, holder: 'p' })
  t.throws(() => newJournal({ ...options, holder: 'p' }), { name: 'JournalTaken' })
  const two = newJournal(options)
  t.not(two.folder, one.folder)
  one.close(true)
  two.close(true)
  t.same(readdirSync(folder), [])
})

t.test('disk full, as the kernel says it: the charge goes to the store, and new requests are refused', async t => {
  const { folder, key, open, spent } = await house(t)
  mkdirSync(path.join(folder, 'p'))
  symlinkSync('/dev/full', path.join(folder, 'p', '00000001.log'))
  const ledger = await open({ holder: 'p' })
  const hold = await reserve(ledger, key, 10)
  t.ok(ledger.accepting)
  await kept(ledger.settle(hold, row(key, 10)))
  t.notOk(ledger.accepting)
  t.equal(await spent(), 10, 'not before the store has it')
  await ledger.stop()
})

t.test('disk full and store away: nothing is dropped, and all is well once there is space', async t => {
  const disk = new Disk()
  t.teardown(() => disk.close())
  const { key, store, clock, spent } = await house(t)
  let there = true
  const flaky = changed(store, { books: { settle: batch => (there ? store.books.settle(batch) : away()) } })
  const folder = disk.host('here')
  const log = { info() {}, warn() {}, error() {} }
  const ledger = await Ledger.open({ store: flaky, clock, log, folder, limitBytes: 1 << 20, holder: 'p' })
  const own = path.join(folder, 'p')
  const holds = await Promise.all([10, 20, 30].map(amount => reserve(ledger, key, amount)))
  there = false
  await kept(ledger.settle(holds[0]!, row(key, 10)))
  for (const room of [0, 100]) disk.room.set(own, room) // the last record is cut after 100 bytes
  let count = 0
  for (const [i, charge] of [20, 30].entries()) {
    ledger.settle(holds[i + 1]!, row(key, charge)).whenKept(() => count++)
    ledger.write()
  }
  t.notOk(ledger.accepting)
  clock.advance(2 * SECOND)
  t.notOk(ledger.accepting, 'as long as there is no room')
  disk.room.delete(own)
  clock.advance(2 * SECOND)
  t.ok(ledger.accepting)
  await until('kept in the journal', () => {
    clock.advance(SECOND)
    return count === 2
  })
  t.match(readJournal(own, await store.id()), { settlements: { length: 3 }, corrupt: 0, torn: false })
  there = true
  clock.advance(10 * SECOND)
  await until('in the store', async () => (await spent()) === 60)
  await ledger.stop()
  t.same(fs.readdirSync(folder), [])
})

t.test(
  'the store is away at the end: stopping does not wait for ever, and the next start closes the books',
  async t => {
    const { folder, key, clock, store, open, spent, leased } = await house(t)
    let there = true
    const call =
      <A extends unknown[], R>(fn: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        there ? fn(...args) : away()
    const flaky = changed(store, {
      books: { settle: call((...args) => store.books.settle(...args)) },
      holders: { bury: call((...args) => store.holders.bury(...args)) },
    })
    const ledger = await open({ store: flaky })
    ledger.settle(await reserve(ledger, key, 10), row(key, 10))
    there = false
    let stopped = false
    const stopping = ledger.stop().then(() => (stopped = true))
    await until('stops', () => {
      clock.advance(SECOND)
      return stopped
    })
    await stopping
    t.ok(existsSync(path.join(folder, ledger.holder)))
    t.equal(await spent(), 0)
    const next = await open()
    t.equal(await spent(), 10)
    t.equal(await leased(), 0)
    await next.stop()
    t.same(readdirSync(folder), [])
  },
)

t.test('a settlement that the store cannot take keeps no other one waiting', async t => {
  const { key, clock, store, open, spent, said } = await house(t)
  let poison = ''
  const picky = changed(store, {
    books: {
      settle: batch =>
        settlementsOf(batch).some(one => one.row.requestId === poison)
          ? Promise.reject(new Error('no such column'))
          : store.books.settle(batch),
    },
  })
  const ledger = await open({ store: picky })
  for (let charge = 1; charge <= 7; charge++) {
    const made = row(key, charge)
    if (charge === 3) poison = made.requestId
    await kept(ledger.settle(await reserve(ledger, key, charge), made))
  }
  clock.advance(SECOND)
  await until('the others', async () => (await spent()) === 25)
  t.equal(ledger.journalEntries, 1)
  t.match(said[0], /settling failed/)
  poison = ''
  await until('and this one when it can', async () => {
    clock.advance(SECOND)
    return (await spent()) === 28
  })
  await ledger.stop()
})

t.test(
  'the wall clock steps an hour either way: no lease ends, nobody is taken for dead, every charge counts',
  async t => {
    const { key, clock, store, open, spent, leased } = await house(t)
    const one = await open()
    const two = await open()
    for (const step of [HOUR, -HOUR, -HOUR, HOUR]) {
      const hold = await reserve(one, key, 10)
      clock.step(step)
      for (let passed = 0; passed < 150; passed += 10) {
        clock.advance(10 * SECOND)
        await store.ping()
        await new Promise(resolve => setImmediate(resolve))
      }
      t.ok(one.accepting && two.accepting)
      t.equal((await store.holders.list()).length, 2)
      one.settle(hold, row(key, 10))
    }
    await one.stop()
    await two.stop()
    t.same([await spent(), await leased()], [40, 0])
  },
)

t.test('the store was away for long: nobody takes the others for dead', async t => {
  const { clock, store, open } = await house(t)
  let there = true
  const flaky = changed(store, {
    holders: {
      beat: id => (there ? store.holders.beat(id) : away()),
      list: () => (there ? store.holders.list() : away()),
    },
  })
  const ledgers = [await open({ store: flaky }), await open({ store: flaky }), await open({ store: flaky })]
  const names = ledgers.map(ledger => ledger.holder)
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 10) {
      clock.advance(10 * SECOND)
      await store.ping()
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  await pass(60)
  there = false
  await pass(300)
  t.ok(
    ledgers.every(ledger => !ledger.accepting),
    'fenced',
  )
  there = true
  await pass(200)
  t.same(
    ledgers.map(ledger => ledger.holder),
    names,
  )
  t.ok(ledgers.every(ledger => ledger.accepting))
  for (const ledger of ledgers) await ledger.stop()
})

t.test('two that each have half want most of it: one gets it, because neither keeps a part while it waits', async t => {
  const { key, clock, store, open } = await house(t)
  const ledgers = [await open(), await open()]
  const halves = []
  for (const ledger of ledgers) halves.push(await reserve(ledger, key, 500))
  for (const [i, ledger] of ledgers.entries()) ledger.void(halves[i]!)
  const answers: boolean[] = []
  for (const ledger of ledgers)
    void Promise.resolve(ledger.reserve({ id: key.accountId, budget: null }, key, micro(600))).then(a =>
      answers.push(a instanceof Hold),
    )
  let seen = 0
  await until('both are answered', async () => {
    clock.advance(20)
    for (const change of (await store.changes.since(seen)) ?? []) {
      seen = change.seq
      for (const ledger of ledgers) ledger.onChange(change)
    }
    return answers.length === 2
  })
  t.same(answers.sort(), [false, true])
  for (const ledger of ledgers) await ledger.stop()
})

t.test('a silent process whose journal is here: its charges first, then its leases', async t => {
  const { folder, key, clock, store, open, dead } = await house(t)
  const order: string[] = []
  const watched = changed(store, {
    books: {
      settle(batch) {
        order.push('settle')
        return store.books.settle(batch)
      },
    },
    holders: {
      bury(id) {
        order.push(`bury ${id}`)
        return store.holders.bury(id)
      },
    },
  })
  let broken = true
  const moody = changed(watched, { books: { settle: batch => (broken ? away() : watched.books.settle(batch)) } })
  const ledger = await open({ store: moody })
  await dead('p', [settlement(row(key, 40), 'p', 40)])
  for (let passed = 0; passed < 200; passed += 5) {
    clock.advance(5 * SECOND)
    await store.ping()
    await new Promise(resolve => setImmediate(resolve))
  }
  t.same(order, [], 'silent for long, but what it charged is not in the books')
  broken = false
  await until('adopted', () => {
    clock.advance(5 * SECOND)
    return !existsSync(path.join(folder, 'p'))
  })
  t.same(order.slice(0, 2), ['settle', 'bury p'])
  await ledger.stop()
})

t.test(
  'a journal from before the pruned usage rows: what is not in the books is set aside, what is younger counts',
  async t => {
    const { folder, key, dead, open, spent, said, store } = await house(t)
    const at = (ms: number, charge: number): Settlement =>
      settlement(usageRow(`${idAt(ms)}00000000000`, key, charge), 'p', charge)
    const day = 24 * HOUR
    await store.books.settle([at(5 * day, 1), at(10 * day, 2), at(11 * day, 4)])
    await store.usage.prune(10 * day, 100)
    await dead('p', [at(5 * day, 1), at(10 * day, 2), at(12 * day, 8)])
    const ledger = await open()
    t.equal(await spent(), 15)
    t.match(said, [/older than the usage rows/, /applied the journal/])
    const aside = readFileSync(path.join(folder, 'p.aside'), 'utf8').trim().split('\n')
    t.equal(aside.length, 1)
    t.match(JSON.parse(aside[0]!), { row: { charge: 1 as Micro } })
    await ledger.stop()
    t.ok((await store.audit()).ok)
  },
)
