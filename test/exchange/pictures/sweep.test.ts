/** The folder of kept pictures: what a sweep deletes and leaves, and how many bytes there is room for. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { NoRoom } from '../../../lib/exchange/pictures/draft.ts'
import { fileOf, newName } from '../../../lib/exchange/pictures/folder.ts'
import { Pictures } from '../../../lib/exchange/pictures/pictures.ts'
import { PictureSweep } from '../../../lib/exchange/pictures/sweep.ts'
import type { ImageLinks } from '../../../lib/config/config.ts'
import { createLogger } from '../../../lib/base/log.ts'
import { Metrics } from '../../../lib/terms/metrics.ts'
import { TestClock } from '../../support/clock.ts'

const HOUR_MS = 3_600_000
const KiB = 1024

function open(t: Test) {
  const folder = mkdtempSync(path.join(tmpdir(), 'sweep-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const clock = new TestClock()
  const logged: { msg: string }[] = []
  const log = createLogger('info', { write: (line: string) => logged.push(JSON.parse(line)) })
  const metrics = new Metrics()
  const settings: ImageLinks = { folder, keepMs: 24 * HOUR_MS, sizeBytes: 100 * KiB }
  let now: ImageLinks | null = settings
  const sweep = new PictureSweep({ clock, log, metrics, settings: () => now })
  return {
    clock,
    folder,
    settings,
    logged,
    sweep,
    /** Bytes of the size of one block, as they were kept so long ago. */
    put(agoMs: number, bytes = 4 * KiB): string {
      const name = newName(clock.now() - agoMs, bytes)
      writeFileSync(fileOf(folder, name), Buffer.alloc(bytes))
      return name
    },
    has: (name: string) => existsSync(fileOf(folder, name)),
    reload(next: ImageLinks | null) {
      now = next
    },
    async metric(name: string, labels: object = {}) {
      const values = (await metrics.snapshot()).find(one => one.name === name)?.values ?? []
      return values.find(value => JSON.stringify(value.labels) === JSON.stringify(labels))?.value
    },
  }
}

t.test('what is over goes, and nothing else', async t => {
  const s = open(t)
  const names = [0, 23 * HOUR_MS, 24 * HOUR_MS - 1].map(ago => s.put(ago))
  const over = [24 * HOUR_MS, 1000 * HOUR_MS].map(ago => s.put(ago))
  const foreign = [
    'notes.txt',
    'x.picture',
    `${'a'.repeat(31)}.part`,
    `${names[0]}.png`,
    'd41d8cd98f00b204e9800998ecf8427e',
  ]
  for (const file of foreign) {
    writeFileSync(path.join(s.folder, file), 'x')
    utimesSync(path.join(s.folder, file), 1, 1)
  }
  mkdirSync(path.join(s.folder, 'a folder'))
  const parts = ['a', 'b'].map(letter => path.join(s.folder, `${letter.repeat(32)}.part`))
  for (const part of parts) writeFileSync(part, 'x')
  utimesSync(parts[0] as string, 1, 1)
  await s.sweep.run()
  for (const name of names) t.ok(s.has(name))
  for (const name of over) t.notOk(s.has(name))
  for (const file of foreign) t.ok(existsSync(path.join(s.folder, file)), file)
  t.same(parts.map(existsSync), [false, true], 'what nobody writes any more')
  t.equal(await s.metric('gateway_pictures_deleted_total', { cause: 'keep' }), 2)
  t.equal(await s.metric('gateway_pictures_bytes'), 4 * 4 * KiB)
  t.same(s.logged, [])
})

t.test('the oldest go until a tenth is free, and the log says so', async t => {
  const s = open(t)
  const names = Array.from({ length: 30 }, (_, i) => s.put(i * 1000)) // the newest first
  await s.sweep.run()
  t.same(
    names.map(s.has),
    names.map((_, i) => i < 22),
    '22 blocks are 88 of 100 KiB',
  )
  t.equal(await s.metric('gateway_pictures_deleted_total', { cause: 'size' }), 8)
  t.match(s.logged, [{ pictures: 8, msg: /before their time/ }])
  await s.sweep.run()
  t.equal(readdirSync(s.folder).length, 22)
})

t.test('a reload is in force at the next sweep', async t => {
  const s = open(t)
  const names = Array.from({ length: 10 }, (_, i) => s.put(i * HOUR_MS + 1))
  s.reload(null)
  await s.sweep.run()
  t.equal(readdirSync(s.folder).length, 10, 'nothing is kept any more, and what there is stays')
  s.reload({ ...s.settings, keepMs: 4 * HOUR_MS })
  await s.sweep.run()
  t.same(
    names.map(s.has),
    names.map((_, i) => i < 4),
  )
  s.reload({ ...s.settings, sizeBytes: 10 * KiB })
  await s.sweep.run()
  t.same(
    names.map(s.has),
    names.map((_, i) => i < 2),
  )
})

t.test('a folder that is not there, or is none', async t => {
  const s = open(t)
  s.reload({ ...s.settings, folder: path.join(s.folder, 'none') })
  await s.sweep.run()
  t.same(s.logged, [])
  writeFileSync(path.join(s.folder, 'file'), '')
  s.reload({ ...s.settings, folder: path.join(s.folder, 'file') })
  await s.sweep.run()
  await s.sweep.run()
  t.match(s.logged, [{ msg: 'kept pictures cannot be swept' }])
  t.equal(s.logged.length, 1, 'said once')
})

t.test('two sweeps of one folder at once do no harm', async t => {
  const s = open(t)
  for (let i = 0; i < 30; i++) s.put(i * 1000)
  const other = new PictureSweep({
    clock: s.clock,
    log: createLogger('silent'),
    metrics: new Metrics(),
    settings: () => s.settings,
  })
  await Promise.all([s.sweep.run(), other.run()])
  t.equal(readdirSync(s.folder).length, 22)
  t.match(
    s.logged.filter(({ msg }) => /cannot/.test(msg)),
    [],
  )
})

t.test('room: what lies there counts, also what others have written, and comes back when it is given up', async t => {
  const s = open(t)
  const mine = new Pictures(s.clock, s.settings)
  const others = new Pictures(s.clock, s.settings)
  const write = async (pictures: Pictures, bytes: number) => {
    const draft = pictures.draft(s.settings)
    await draft.write(Buffer.alloc(bytes))
    return draft
  }
  const first = await write(mine, 60 * KiB)
  await t.rejects(write(mine, 41 * KiB), NoRoom)
  const name = await first.keep()
  t.ok(s.has(name))
  await t.rejects(write(others, 41 * KiB), NoRoom, 'another process sees it')
  const second = await write(others, 40 * KiB)
  s.clock.advance(1000)
  await t.rejects(write(mine, 1), NoRoom, 'and this one sees what that one writes')
  await second.discard()
  s.clock.advance(1000)
  await (await write(mine, 40 * KiB)).keep()
  t.equal(readdirSync(s.folder).length, 2)
})

t.test('very small pictures count as blocks of the disk', async t => {
  const s = open(t)
  const pictures = new Pictures(s.clock, s.settings)
  for (let i = 0; i < 25; i++) {
    const draft = pictures.draft(s.settings)
    await draft.write(Buffer.of(1))
    await draft.write(Buffer.of(2))
    await draft.keep()
  }
  await t.rejects(pictures.draft(s.settings).write(Buffer.of(1)), NoRoom)
})

t.test('names cannot be guessed, and say when and how much', async t => {
  const names = new Set(Array.from({ length: 1000 }, () => newName(1_790_000_000_000, 1_500_000)))
  t.equal(names.size, 1000)
  const parts = [...names].map(name => name.split(/-(?=.{32}$)/))
  t.equal(new Set(parts.map(([said]) => said)).size, 1)
  for (const [, chance] of parts) t.match(chance, /^[\w-]{32}$/) // 192 bits
})
