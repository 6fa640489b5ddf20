/** What the store cannot book, or what is not for it: named, kept for people, and in nobody's way. */
// The bug behind these rows: charges that went astray.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { idMaker } from '../../lib/base/ids.ts'
import { countDeadLetters } from '../../lib/ledger/dead-letters.ts'
import { recordOf } from '../support/journal.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { type Batch, settlementsOf } from '../../lib/store/books/settlement.ts'
import { house, reserve, row } from './house.ts'
import { changed, settlement, usageRow } from '../support/store.ts'
import { kept } from '../support/kept.ts'
import { until } from '../support/wait.ts'

const lines = (file: string) => readFileSync(file, 'utf8').trim().split('\n')

t.test('a journal that is for another store: charged to nobody here, left as it is, and named', async t => {
  const { folder, key, open, clock, store, said, spent } = await house(t)
  mkdirSync(path.join(folder, 'p'))
  const bytes = recordOf([settlement(row(key, 40), 'p', 40)], (await store.id()) + 1)
  writeFileSync(path.join(folder, 'p', '00000001.log'), bytes)
  const ledger = await open()
  for (let i = 0; i < 3; i++) {
    clock.advance(5_000)
    await store.ping()
    await new Promise(resolve => setImmediate(resolve))
  }
  await ledger.stop()
  t.equal(await spent(), 0)
  t.same(readFileSync(path.join(folder, 'p', '00000001.log')), bytes)
  t.match(said, [/left as it is .*for the store/])
  t.equal(said.length, 1, 'once')
})

t.test('a record that the store refuses: the others count, the leases return, and it is kept', async t => {
  const { folder, key, open, clock, store, said, spent, leased, dead } = await house(t)
  const made = Array.from({ length: 9 }, (_, i) => settlement(row(key, 1 + i), 'p', 1 + i))
  const poison = made[4]!.row.requestId
  const picky = changed(store, {
    books: {
      settle: (batch, again) =>
        settlementsOf(batch).some(one => one.row.requestId === poison)
          ? Promise.reject(new Error('no such column'))
          : store.books.settle(batch, again),
    },
  })
  await dead('p', made)
  const ledger = await open({ store: picky })
  t.equal(await spent(), 40, 'at once')
  t.ok(existsSync(path.join(folder, 'p')), 'the store may take it yet')
  await until('given up', () => {
    clock.advance(5_000)
    return !existsSync(path.join(folder, 'p'))
  })
  t.equal(await leased(), 0)
  t.match(
    lines(path.join(folder, 'p.aside')).map(line => JSON.parse(line)),
    [{ reason: 'refused', row: made[4]!.row }],
  )
  t.same(countDeadLetters(folder), { settlements: 1, unreadable: 0 })
  t.match(
    said.find(line => line.includes('refuses a settlement')),
    /refuses a settlement.*p\.aside/,
  )
  await ledger.stop()
})

t.test('a store that refuses every record of a journal is at fault itself: nothing is set aside', async t => {
  const { folder, key, open, clock, store, spent, dead } = await house(t)
  let broken = true
  const moody = changed(store, {
    books: {
      settle: (batch, again) =>
        broken ? Promise.reject(new Error('no such table')) : store.books.settle(batch, again),
    },
  })
  await dead(
    'p',
    [1, 2].map(charge => settlement(row(key, charge), 'p', charge)),
  )
  const ledger = await open({ store: moody })
  for (let i = 0; i < 10; i++) {
    clock.advance(5_000)
    await new Promise(resolve => setImmediate(resolve))
  }
  t.same(countDeadLetters(folder), { settlements: 0, unreadable: 0 })
  broken = false
  await until('applied', async () => {
    clock.advance(5_000)
    return (await spent()) === 3
  })
  await ledger.stop()
})

t.test('request ids: when a moment has no number left they go on with the next', async t => {
  const next = idMaker(() => 1_000, 3)
  const ids = Array.from({ length: 10 }, next)
  t.equal(new Set(ids).size, 10)
  t.same([...ids].sort(), ids)
})

t.test('two answers with one request id: the second is not free for that, whatever was sent when', async t => {
  const { folder, key, open, clock, store, said, spent } = await house(t)
  let lost: (batch: Batch) => boolean = () => false
  const losing = changed(store, {
    books: {
      async settle(batch, again) {
        const settled = await store.books.settle(batch, again)
        if (lost(batch)) throw new Error('the answer was lost')
        return settled
      },
    },
  })
  const ledger = await open({ store: losing })
  const charge = async (made: ReturnType<typeof row>) => {
    await kept(ledger.settle(await reserve(ledger, key, made.charge), made))
    await ledger.flush()
  }
  const first = row(key, 10)
  await charge(first)
  await charge({ ...first })
  t.match(said, [/id of another request/], 'even when nothing else tells them apart')
  await charge(usageRow(first.requestId, key, 20))
  t.equal(said.length, 2)

  said.length = 0
  const other = row(key, 30)
  lost = batch => settlementsOf(batch).some(one => one.row.requestId === other.requestId)
  ledger.settle(await reserve(ledger, key, 30), other)
  ledger.write()
  clock.advance(1_000)
  await until('sent', async () => (await spent()) === 40)
  lost = () => false
  await until('sent again', () => {
    clock.advance(1_000)
    return ledger.journalEntries === 0
  })
  t.same(
    said.filter(line => line.includes('set aside')),
    [],
    'sent again is no alarm',
  )
  t.equal(await spent(), 40)
  t.equal(countDeadLetters(folder).settlements, 2)
  t.same(
    readdirSync(folder).filter(name => name.endsWith('.aside')),
    [`${ledger.holder}.aside`],
  )
  await ledger.stop()
  t.equal((await store.books.purses([accountPurse(key.accountId)]))[0]!.leased, 0)
})
