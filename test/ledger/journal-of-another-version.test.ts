/** Another version of the program may have left its journal: its records say so, and nobody takes them for others. */
// The bug behind these rows: a journal of another version.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Ledger } from '../../lib/ledger/ledger.ts'
import { RECORD_MARK } from '../../lib/store/books/settlement.ts'
import { recordOf } from '../support/journal.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { TestClock } from '../support/clock.ts'
import { fund, memoryStore, settlement, usageRow } from '../support/store.ts'

const line = (record: unknown): string => {
  const text = JSON.stringify(record)
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
}

/** What an adopting ledger makes of a dead process's journal of these lines. */
async function adopt(t: Test, lines: (store: number) => string) {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const { account } = await fund(store, 'a', 1_000)
  const folder = t.testdir()
  await store.holders.register({ id: 'p', host: 'h', beat: 0 })
  await store.books.lease(accountPurse(account.id), 'p', micro(100), micro(100), false)
  mkdirSync(path.join(folder, 'p'))
  writeFileSync(path.join(folder, 'p', '00000001.log'), lines(await store.id()))
  const said: string[] = []
  const say = (data: object, message: string) => void said.push(`${message} ${JSON.stringify(data)}`)
  const clock = new TestClock()
  const log = { info: say, warn: say, error: say }
  const ledger = await Ledger.open({ store, clock, log, folder, limitBytes: 1 << 20 })
  const [purse] = await store.books.purses([accountPurse(account.id)])
  return { store, ledger, clock, folder, said, purse: purse! }
}

const foreign = line([RECORD_MARK + 1, 'whatever', { it: 'says' }])

for (const [what, record] of [
  ['with another mark', foreign],
  ['without a mark', line([['p', 10, 0, '01m00000000000000000a']])],
] as const)
  t.test(`a journal ${what} is refused at start and left as it is`, async t => {
    const store = await memoryStore()
    t.teardown(() => store.close())
    const folder = t.testdir({ p: { '00000001.log': record } })
    const clock = new TestClock()
    const log = { info: () => {}, warn: () => {}, error: () => {} }
    const opened = Ledger.open({ store, clock, log, folder, limitBytes: 1 << 20 })
    await t.rejects(opened, /^journal: .*\/p was written by another version .* Nothing was changed in it/)
    t.strictSame(readdirSync(folder), ['p'])
    t.equal(readFileSync(path.join(folder, 'p', '00000001.log'), 'utf8'), record)
    t.strictSame(await store.holders.list(), [])
  })

t.test('a foreign record behind one of ours: its journal and its leases stay, and the log names it once', async t => {
  const key = { id: 1, accountId: 1 } as never
  const known = (id: number) => String(recordOf([settlement(usageRow('01m00000000000000000b', key, 10), 'p', 10)], id))
  const { store, ledger, clock, folder, said, purse } = await adopt(t, id => known(id) + foreign)
  t.equal(purse.leased + purse.spent, 100, 'none of it looks free')
  for (let i = 0; i < 3; i++) {
    clock.advance(5_000)
    await store.ping()
    await new Promise(resolve => setImmediate(resolve))
  }
  await ledger.stop()
  t.same(readdirSync(folder), ['p'])
  t.ok(existsSync(path.join(folder, 'p', '00000001.log')))
  t.equal(said.length, 1)
  t.match(said[0], /left as it is .*\/p".*version/)
})
