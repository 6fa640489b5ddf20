/** A reload may bring newer code, and a step back older code: journals say which version wrote them. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Ledger } from '../../lib/ledger/ledger.ts'
import { encode, RECORD_VERSION } from '../../lib/ledger/records.ts'
import { accountPurse } from '../../lib/store/store.ts'
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
  await store.register({ id: 'p', host: 'h', beat: 0 })
  await store.lease(accountPurse(account.id), 'p', micro(100), micro(100), false)
  mkdirSync(path.join(folder, 'p'))
  writeFileSync(path.join(folder, 'p', '00000001.log'), lines(await store.id()))
  const said: string[] = []
  const say = (data: object, message: string) => void said.push(`${message} ${JSON.stringify(data)}`)
  const clock = new TestClock()
  const log = { info: say, warn: say, error: say }
  const ledger = await Ledger.open({ store, clock, log, folder, limitBytes: 1 << 20 })
  const [purse] = await store.purses([accountPurse(account.id)])
  return { store, ledger, clock, folder, said, purse: purse! }
}

t.test('a record from before records had versions counts', async t => {
  const values = [
    'p',
    10,
    0,
    '01m00000000000000000a',
    1,
    1,
    'default',
    'chat',
    'm',
    'one',
    200,
    'completed',
    'reported',
  ]
  const old = line([[...values, 1, 2, 3, 4, 5, 6, 10, 12, 34]])
  const { store, ledger, purse } = await adopt(t, () => old)
  t.match(purse, { spent: 10, leased: 0 })
  t.match(await store.usage({ limit: 9 }), [{ charge: 10, output: 5, images: 6, durationMs: 34, firstByteMs: 12 }])
  await ledger.stop()
})

t.test('a record of a version to come: its journal and its leases stay, and the log names it once', async t => {
  const newer = line([RECORD_VERSION + 1, 'whatever', { it: 'says' }])
  const key = { id: 1, accountId: 1 } as never
  const known = (id: number) => String(encode([settlement(usageRow('01m00000000000000000b', key, 10), 'p', 10)], id))
  const { store, ledger, clock, folder, said, purse } = await adopt(t, id => known(id) + newer)
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
