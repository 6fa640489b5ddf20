import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import t, { type Test } from 'tap'
import { HOUR_MS } from '../../lib/base/clock.ts'
import { Journal, Lock, type Segment } from '../../lib/ledger/journal.ts'
import { TestClock } from '../support/clock.ts'
import { recordOf } from '../support/journal.ts'
import { fund, memoryStore, settlement, usageRow } from '../support/store.ts'
import { until } from '../support/wait.ts'

/** A turn of the loop and of the threads behind it. */
const pass = () => new Promise(resolve => fs.stat('.', () => setImmediate(resolve)))

const LIMIT = 1 << 30

/** Replaces calls of node:fs until the test has ended. */
function replaced(t: Test, calls: Partial<typeof fs>): void {
  const real = { ...fs }
  Object.assign(fs, calls)
  syncBuiltinESMExports()
  t.teardown(() => {
    for (const name of Object.keys(calls)) Object.assign(fs, { [name]: real[name as keyof typeof fs] })
    syncBuiltinESMExports()
  })
}

async function opened(t: Test, limitBytes = LIMIT) {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const { key } = await fund(store, 'a', 1)
  const folder = t.testdir()
  const clock = new TestClock()
  const errors: string[] = []
  const log = { info() {}, warn() {}, error: (_: object, text: string) => void errors.push(text) }
  const journal = new Journal({ folder, holder: 'p', store: await store.id(), limitBytes, clock, log })
  t.teardown(() => journal.close(true))
  const own = path.join(folder, 'p')
  const long = recordOf([settlement(usageRow('r', key, 1, { model: 'm'.repeat(1024 * 1024) }), 'p', 1)], journal.store)
  const append = () => journal.append(long, 1) as Segment
  const files = () => fs.readdirSync(own).filter(name => name.endsWith('.log'))
  return { journal, folder, own, clock, errors, append, files }
}

t.test('a full segment is followed by another, and deleted once the store has all its settlements', async t => {
  const { journal, append, files, errors } = await opened(t)
  const [one, two] = [append(), append()]
  let later = one
  await until('the next file is there', () => (later = append()) !== one)
  t.equal(two, one, 'a record goes on in the full segment until there is another')
  t.strictSame(files(), ['00000001.log', '00000002.log'])
  const { pending } = one
  journal.applied(one, pending - 1)
  await pass()
  t.strictSame(files(), ['00000001.log', '00000002.log'], 'one settlement of it is not in the store yet')
  journal.applied(one, 1)
  await until('it is deleted', () => files().length === 1)
  t.strictSame(files(), ['00000002.log'])
  t.equal(journal.entries, later.pending)
  t.strictSame(errors, [])
})

t.test('what the store has had for an hour is deleted, however little it is', async t => {
  const { journal, own, clock, files, errors } = await opened(t)
  clock.advance(HOUR_MS)
  await pass()
  t.strictSame(files(), ['00000001.log'], 'a segment without records stays')
  const { key } = await fund(await memoryStore(), 'a', 1)
  const short = recordOf([settlement(usageRow('r', key, 1), 'p', 1)], journal.store)
  const one = journal.append(short, 1) as Segment
  journal.applied(one, 1)
  clock.advance(HOUR_MS)
  await until('it is deleted', () => !files().includes('00000001.log'))
  t.equal(fs.statSync(path.join(own, '00000002.log')).size, 0)
  const two = journal.append(short, 1) as Segment
  clock.advance(HOUR_MS)
  await until('another follows', () => files().includes('00000003.log'))
  t.strictSame(files(), ['00000002.log', '00000003.log'], 'what the store has not stays')
  journal.applied(two, 1)
  await until('that is deleted, too', () => files().length === 1)
  t.strictSame(errors, [])
})

t.test('files are made, deleted and synced in no call that the main thread waits for', async t => {
  const { journal, append, files } = await opened(t)
  const called: string[] = []
  const noted = (name: string) => ({ [name]: () => void called.push(name) })
  const names = ['openSync', 'closeSync', 'unlinkSync', 'ftruncateSync', 'fsyncSync', 'fdatasyncSync', 'rmSync']
  const before = append()
  replaced(t, Object.assign({}, ...names.map(noted)))
  append()
  await until('the next file is there', () => append() !== before)
  journal.applied(before, before.pending)
  await until('the first is deleted', () => files().length === 1)
  t.strictSame(called, [])
})

t.test(
  'while no file can be made (EMFILE) the full segment takes the records, requests are admitted up to the bound, and it is tried again',
  async t => {
    const { journal, clock, append, files, errors } = await opened(t)
    const refuse = ((...args: Parameters<typeof fs.open>) => {
      const done = args.at(-1) as (error: Error) => void
      setImmediate(() => done(Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })))
    }) as typeof fs.open
    const { open } = fs
    replaced(t, { open: refuse })
    const one = append()
    append()
    await until('it was refused', () => errors.length === 1)
    t.match(errors, [/no further file of the journal can be made: records go on to the full one/])
    t.ok(journal.accepts(0), 'what is written is kept')
    t.equal(append(), one)
    t.ok(journal.accepts(LIMIT - one.bytes - 1))
    t.notOk(journal.accepts(LIMIT - one.bytes), 'the bound in bytes holds')
    for (let second = 0; second < 59; second++) {
      clock.advance(1_000)
      await pass()
      await pass()
    }
    t.equal(errors.length, 1, 'it is told once a minute')
    t.strictSame(files(), ['00000001.log'])
    journal.applied(one, one.pending)
    Object.assign(fs, { open })
    syncBuiltinESMExports()
    await until('the next file is there', () => {
      clock.advance(1_000)
      return files().length === 1 && !files().includes('00000001.log')
    })
    t.ok(journal.accepts(0))
  },
)

t.test('the file that follows after an hour is tried again each second, too', async t => {
  const { journal, clock, files, errors } = await opened(t)
  const { key } = await fund(await memoryStore(), 'a', 1)
  const one = journal.append(recordOf([settlement(usageRow('r', key, 1), 'p', 1)], journal.store), 1) as Segment
  const { open } = fs
  const refuse = ((...args: Parameters<typeof fs.open>) => {
    const done = args.at(-1) as (error: Error) => void
    setImmediate(() => done(Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })))
  }) as typeof fs.open
  replaced(t, { open: refuse })
  clock.advance(HOUR_MS)
  await until('it was refused', () => errors.length === 1)
  Object.assign(fs, { open })
  syncBuiltinESMExports()
  clock.advance(1_000)
  await until('the next file is there', () => files().length === 2)
  journal.applied(one, 1)
  await until('the first is deleted', () => files().length === 1)
})

t.test('a folder that cannot be opened to be synced refuses nobody, and is tried again', async t => {
  const synced: string[] = []
  const { fsync, open } = fs
  const noted = (fd: number, done: (error: Error | null) => void) => {
    synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`))
    fsync(fd, done)
  }
  let full = true
  const refuse = ((file: string, flags: string, done: (error: Error | null, fd: number) => void) =>
    full && flags === 'r'
      ? setImmediate(() => done(Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }), -1))
      : open(file, flags, done)) as typeof fs.open
  replaced(t, { fsync: noted as typeof fs.fsync, open: refuse })
  const { journal, clock, folder, own, errors } = await opened(t)
  await until('both were refused', () => errors.length === 1)
  await pass()
  t.match(errors, [/a folder of the journal cannot be synced/])
  t.ok(journal.accepts(0))
  full = false
  clock.advance(1_000)
  await until('both are synced', () => synced.length >= 2)
  t.strictSame(synced.sort(), [folder, own])
})

t.test('a journal whose folder is gone takes no new requests: nobody would find what it has', async t => {
  const { journal, own, append, errors } = await opened(t)
  fs.renameSync(own, `${own}-elsewhere`)
  t.teardown(() => fs.rmSync(`${own}-elsewhere`, { recursive: true }))
  append()
  append()
  await until('it is told', () => errors.length > 0)
  t.match(errors[0], /the journal cannot be written/)
  t.notOk(journal.accepts(0))
})

t.test('nothing is called kept in a folder that is gone, until it is made again and locked', async t => {
  const { journal, own, clock, append, files, errors } = await opened(t)
  fs.rmSync(own, { recursive: true })
  const one = append()
  append()
  await until('it is told', () => errors.length > 0)
  t.equal(append(), null, 'a write to the open file would succeed')
  t.notOk(journal.accepts(0), 'whatever is appended')
  fs.mkdirSync(own)
  const other = Lock.take(own) as Lock
  clock.advance(1_001)
  t.notOk(journal.accepts(0), 'another process takes the folder for that of a dead one')
  t.equal(append(), null)
  other.release()
  clock.advance(1_001)
  t.ok(journal.accepts(0))
  t.equal(Lock.take(own), null, 'it is locked')
  const next = append()
  t.not(next, one)
  t.equal(fs.statSync(next.file).size, next.bytes)
  t.same(files(), [path.basename(next.file)])
  journal.applied(one, one.pending)
  for (let second = 0; second < 5; second++) {
    clock.advance(1_000)
    await pass()
  }
  t.ok(journal.accepts(0))
  t.equal(errors.length, 1)
})

for (const ends of [false, true])
  t.test(
    `a file that was being made is deleted when ${ends ? 'the journal has ended' : 'another came before it'}`,
    async t => {
      const { journal, own, append, files } = await opened(t)
      const late: (() => void)[] = []
      const { open, writeSync, ftruncateSync } = fs
      const instead = ((file: string, flags: string, done: (error: Error | null, fd: number) => void) =>
        open(file, flags, (error, fd) => {
          if (flags === 'a') late.push(() => done(error, fd))
          else done(error, fd)
        })) as typeof fs.open
      replaced(t, { open: instead })
      append()
      append()
      await until('it is made, and nobody has been told', () => late.length === 1)
      if (ends) journal.close(false)
      else {
        // the disk takes half a record and cannot take it back
        const refuse = () => {
          throw new Error('ENOSPC')
        }
        let calls = 0
        const half = ((fd: number, bytes: Buffer, from: number) =>
          calls++ === 0 ? writeSync(fd, bytes, from, 10) : refuse()) as unknown as typeof writeSync
        Object.assign(fs, { writeSync: half, ftruncateSync: refuse })
        syncBuiltinESMExports()
        t.equal(append(), null)
        Object.assign(fs, { writeSync, ftruncateSync })
        syncBuiltinESMExports()
        const next = append()
        t.equal(next.file, path.join(own, '00000003.log'))
      }
      late[0]?.()
      const left = ends ? ['00000001.log'] : ['00000001.log', '00000003.log']
      await until('it is deleted', () => files().length === left.length)
      t.strictSame(files(), left)
      if (!ends) t.equal(append().file, path.join(own, '00000003.log'))
    },
  )

t.test('a file that cannot be made once the journal has ended is no failure', async t => {
  const { journal, clock, append, errors } = await opened(t)
  const late: (() => void)[] = []
  const refuse = ((file: string, flags: string, done: (error: Error | null, fd: number) => void) => {
    const error = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT', path: file })
    if (flags === 'a') late.push(() => done(error, -1))
    else done(null, fs.openSync(file, flags))
  }) as typeof fs.open
  replaced(t, { open: refuse })
  append()
  append()
  t.equal(late.length, 1, 'the next file is being made')
  journal.close(true)
  late[0]?.()
  clock.advance(10_000)
  t.equal(late.length, 1, 'it is not tried again')
  t.strictSame(errors, [])
})

t.test('a folder is synced once for each file that is made in it', async t => {
  const synced: string[] = []
  const { fsync } = fs
  const noted = (fd: number, done: (error: Error | null) => void) => {
    const file = fs.readlinkSync(`/proc/self/fd/${fd}`)
    // what the test before has begun may end now
    if (file.startsWith(t.testdirName)) synced.push(file)
    fsync(fd, done)
  }
  replaced(t, { fsync: noted as typeof fs.fsync })
  const { folder, own, append, files } = await opened(t)
  await until('both are synced', () => synced.length >= 2)
  t.strictSame(synced.splice(0).sort(), [folder, own], 'the first file, and the folder of the journal itself')
  for (let i = 0; i < 9; i++) append()
  await until('the folder is synced', () => synced.length >= 1)
  t.strictSame(synced, [own], 'the second file, and not each record')
  t.equal(files().length, 2)
})
