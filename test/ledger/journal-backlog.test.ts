/** However much waits, nobody is kept waiting for all of it; and its bound is for all processes of a machine together. */
// The bug behind these rows: a long backlog on the main thread.
import fs, { mkdirSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import t from 'tap'
import { Journal } from '../../lib/ledger/journal.ts'
import { JournalReader } from '../../lib/ledger/records.ts'
import { settlementsOf } from '../../lib/store/books/settlement.ts'
import { recordOf } from '../support/journal.ts'
import { Settler } from '../../lib/ledger/settler.ts'
import { keyPurse } from '../../lib/store/books/purses.ts'
import { away, house, reserve, row } from './house.ts'
import { changed, settlement } from '../support/store.ts'
import { kept } from '../support/kept.ts'
import { until } from '../support/wait.ts'

const MANY = 20_000

t.test('a long journal is read in pieces', async t => {
  const { key, folder } = await house(t)
  mkdirSync(path.join(folder, 'p'))
  const record = recordOf([settlement(row(key, 1), 'p', 1)], 7)
  writeFileSync(path.join(folder, 'p', '00000001.log'), Buffer.concat(Array(MANY).fill(record)))
  const { readSync, readFileSync } = fs
  let most = 0
  fs.readSync = ((...args: Parameters<typeof readSync>) => {
    const bytes = readSync(...args)
    most = Math.max(most, bytes)
    return bytes
  }) as typeof readSync
  fs.readFileSync = (() => t.fail('a whole file at once')) as unknown as typeof readFileSync
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(fs, { readSync, readFileSync })
    syncBuiltinESMExports()
  })
  let records = 0
  let largest = 0
  for (const piece of new JournalReader(path.join(folder, 'p'), 7).pieces()) {
    records += piece.length
    largest = Math.max(largest, piece.length)
  }
  t.equal(records, MANY)
  t.ok(most <= 256 * 1024 && largest < MANY / 10, `${most} bytes, ${largest} records at once`)
})

t.test('a line without end is no record, and what comes behind it is read', async t => {
  const { key, folder } = await house(t)
  mkdirSync(path.join(folder, 'p'))
  const record = recordOf([settlement(row(key, 1), 'p', 1)], 7)
  const bytes = Buffer.concat([Buffer.alloc(17 * 1024 * 1024, 'x'), Buffer.from('\n'), record])
  writeFileSync(path.join(folder, 'p', '00000001.log'), bytes)
  const reader = new JournalReader(path.join(folder, 'p'), 7)
  t.equal([...reader.pieces()].flat().length, 1)
  t.ok(reader.corrupt > 0)
})

t.test('a refusal and a batch cost as much with many waiting as with few', async t => {
  const { key, folder, clock, store } = await house(t)
  let there = false
  let sent = 0
  const flaky = changed(store, {
    books: {
      settle: batch => {
        sent += settlementsOf(batch).length
        return there ? Promise.resolve({ applied: 0, repeated: [], clashing: [], unsure: [] }) : away()
      },
    },
  })
  const log = { info() {}, warn() {}, error() {} }
  const journal = new Journal({ folder, holder: 'own', store: 7, limitBytes: 1 << 30, clock, log })
  const settler = new Settler({ store: flaky, journal, clock, log, folder })
  let looks = 0
  const counted = <T extends object>(value: T): T =>
    new Proxy(value, {
      get(target, name) {
        looks++
        return Reflect.get(target, name)
      },
    })
  for (let i = 0; i < MANY; i++) settler.add([settlement(counted(row(key, 2)), 'own', 0)], () => {})
  const added = looks
  t.ok(added <= MANY * 60, `${looks} looks at ${MANY} rows`)
  for (let i = 0; i < 1_000; i++) settler.unsettledOf(keyPurse(key.id))
  t.equal(looks, added, 'nobody goes through them for a sum')
  t.equal(settler.unsettledOf(keyPurse(key.id)), 2 * MANY)
  there = true
  await until('all sent', () => {
    clock.advance(1_000)
    return settler.lagMs === 0
  })
  t.equal(settler.unsettledOf(keyPurse(key.id)), 0)
  t.equal(looks, added, 'nor when their turn comes: they are bytes by then')
  t.ok(sent <= MANY + 2 * 512, 'and sent once, but for the batch that failed')
  await settler.stop(0)
  journal.close(true)
})

t.test('the bound of the journal is for all workers together', async t => {
  const { key, open, store, clock } = await house(t)
  let there = true
  const flaky = changed(store, {
    books: { settle: (batch, again) => (there ? store.books.settle(batch, again) : away()) },
  })
  const ledgers = [await open({ store: flaky, limitBytes: 1_000 }), await open({ store: flaky, limitBytes: 1_000 })]
  const [one, two] = ledgers as [(typeof ledgers)[0], (typeof ledgers)[0]]
  there = false
  for (let i = 0; one.accepting && i < 100; i++) {
    await kept(one.settle(await reserve(one, key, 1), row(key, 1)))
  }
  clock.advance(1_000)
  t.notOk(two.accepting, 'which has nothing itself')
  there = true
  await until('room again', () => {
    clock.advance(1_000)
    return one.accepting && two.accepting
  })
  for (const ledger of ledgers) await ledger.stop()
})
