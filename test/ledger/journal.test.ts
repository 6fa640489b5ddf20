import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import t from 'tap'
import { Journal } from '../../lib/ledger/journal.ts'
import { TestClock } from '../support/clock.ts'
import { recordOf } from '../support/journal.ts'
import { fund, memoryStore, settlement, usageRow } from '../support/store.ts'
import { until } from '../support/wait.ts'

t.test('a folder is synced once for each file that is made in it', async t => {
  const store = await memoryStore()
  const { key } = await fund(store, 'a', 1)
  const folder = t.testdir()
  const synced: string[] = []
  const { fsync } = fs
  fs.fsync = ((fd: number, done: (error: Error | null) => void) => {
    synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`))
    fsync(fd, done)
  }) as typeof fs.fsync
  syncBuiltinESMExports()
  t.teardown(() => {
    fs.fsync = fsync
    syncBuiltinESMExports()
    return store.close()
  })
  const log = { info() {}, warn() {}, error: (data: object, text: string) => t.fail(text, data) }
  const options = { folder, holder: 'p', store: await store.id(), limitBytes: 1 << 30, clock: new TestClock(), log }
  const journal = new Journal(options)
  const own = path.join(folder, 'p')
  await until('both are synced', () => synced.length >= 2)
  t.strictSame(synced.splice(0).sort(), [folder, own], 'the first file, and the folder of the journal itself')
  const long = settlement(usageRow('r', key, 1, { model: 'm'.repeat(1024 * 1024) }), 'p', 1)
  for (let i = 0; i < 9; i++) journal.append(recordOf([long], journal.store), 1)
  await until('the folder is synced', () => synced.length >= 1)
  t.strictSame(synced, [own], 'the second file, and not each record')
  t.equal(fs.readdirSync(own).filter(name => name.endsWith('.log')).length, 2)
  journal.close(true)
})
