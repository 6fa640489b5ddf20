/** The thread that makes exports: when it works, when it stops, and what whoever reads is told. */
import { existsSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ExportJobs, inPieces, Pace, PIECE_BYTES } from '../../lib/store/export-worker.ts'
import { openStore } from '../../lib/store/store.ts'
import { openSqlite } from '../../lib/store/engines/sqlite.ts'
import type { Pieces } from '../../lib/store/export-thread.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'
import { newSeen, SEEN, type Told, WORK } from '../support/export-work.ts'
import { until } from '../support/wait.ts'

function open(t: Test) {
  const store = openStore('sqlite::memory:', { secret: 'x' })
  t.teardown(() => store.close())
  const begin = (told: Partial<Told>) => {
    const seen = newSeen()
    const pieces = store.export(WORK, { seen, texts: 1, characters: 10, ...told } satisfies Told)
    return { pieces, made: () => Atomics.load(seen, SEEN.made), ended: () => Atomics.load(seen, SEEN.ended) === 1 }
  }
  return { store, begin }
}

const textOf = async (pieces: Pieces) => Buffer.concat(await Array.fromAsync(pieces)).toString()

t.test('the whole text in its order, in pieces of a bounded size', async t => {
  const { begin } = open(t)
  const { pieces, ended } = begin({ texts: 4, characters: PIECE_BYTES * 2 + 7 })
  const sizes: number[] = []
  let text = ''
  for await (const piece of pieces) {
    sizes.push(piece.length)
    text += Buffer.from(piece).toString()
  }
  t.equal(text, ['0', '1', '2', '3'].map(digit => digit.repeat(PIECE_BYTES * 2 + 7)).join(''))
  t.strictSame(
    sizes,
    [0, 1, 2, 3].flatMap(() => [PIECE_BYTES, PIECE_BYTES, 7]),
  )
  t.ok(ended())
  await pieces.ended
  t.match(await pieces.next(), { done: true })
})

t.test('nothing is made that is not asked for', async t => {
  const { begin } = open(t)
  const { pieces, made } = begin({ texts: 1_000, characters: PIECE_BYTES })
  t.equal(made(), 0, 'not before the first piece')
  for (let n = 1; n <= 3; n++) {
    await pieces.next()
    // another export passes through the thread meanwhile, which would make more if it might
    await textOf(begin({ texts: 20 }).pieces)
    t.equal(made(), n)
  }
  await pieces.return()
})

t.test('one that is ended makes nothing more', async t => {
  const { begin } = open(t)
  const taken = begin({ texts: 1_000, characters: PIECE_BYTES })
  await taken.pieces.next()
  t.match(await taken.pieces.return(), { done: true })
  await taken.pieces.ended
  await until('it is told', taken.ended)
  t.equal(taken.made(), 1)

  const searching = begin({ texts: 0, atEnd: 'finds nothing for ever' })
  const next = searching.pieces.next()
  await until('it searches', () => searching.made() > 3)
  await searching.pieces.return()
  t.match(await next, { done: true }, 'whoever awaits a piece waits no longer')
  await until('it is told', searching.ended)

  const never = begin({})
  await never.pieces.return()
  await never.pieces.ended
  t.match(await never.pieces.next(), { done: true })
  t.equal(never.made(), 0)
})

t.test('one that fails says so, and never ends as if it were whole', async t => {
  const { begin } = open(t)
  await t.rejects(textOf(begin({ atEnd: 'fails' }).pieces), { message: 'out of order' })
  await t.rejects(textOf(begin({ atEnd: 'fails for a while' }).pieces), new StoreUnavailable('away'))
  const missing = open(t).store.export(new URL('no-such-file.ts', WORK), {})
  await t.rejects(missing.next(), /no-such-file/)
  await missing.ended
})

t.test('a thread that ends takes its exports with it, and the next one has another', async t => {
  const { begin } = open(t)
  const beside = begin({ texts: 5 })
  await beside.pieces.next()
  await t.rejects(textOf(begin({ atEnd: 'ends the thread' }).pieces), StoreUnavailable)
  await beside.pieces.ended
  await t.rejects(beside.pieces.next(), StoreUnavailable, 'also one of which no piece was awaited')
  t.equal(await textOf(begin({ texts: 2, characters: 1 }).pieces), '01')
})

t.test('a store that is closed breaks exports off', async t => {
  const { store, begin } = open(t)
  const [waits, idle] = [begin({ texts: 0, atEnd: 'finds nothing for ever' }), begin({ texts: 5 })]
  await idle.pieces.next()
  const next = waits.pieces.next()
  next.catch(() => {}) // is heard below
  await store.close()
  await t.rejects(next, new StoreUnavailable('the store is closed'))
  await t.rejects(idle.pieces.next(), new StoreUnavailable('the store is closed'))
})

t.test('several at once, each to its end', async t => {
  const { begin } = open(t)
  const all = [1, 2, 3, 4, 5, 6].map(texts => textOf(begin({ texts, characters: PIECE_BYTES + 1 }).pieces))
  t.strictSame(
    (await Promise.all(all)).map(text => text.length),
    [1, 2, 3, 4, 5, 6].map(texts => texts * (PIECE_BYTES + 1)),
  )
})

t.test('others go first', async t => {
  if (!existsSync('/proc/thread-self')) return t.comment('this system has no priorities of threads')
  const { begin } = open(t)
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority
  const priority = Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW)
  t.equal(await textOf(begin({ priority: true }).pieces), String(priority))
})

t.test('what is made in a second is bounded', async t => {
  const clock = new TestClock()
  const pace = new Pace(1_000, clock)
  const taken: number[] = []
  const take = (bytes: number) => pace.turn(bytes).then(() => taken.push(clock.monotonic()))
  const first = [take(500), take(1_500), take(100), take(1)]
  const pass = async (ms: number) => {
    for (let n = 0; n < ms; n += 100) {
      await turn()
      clock.advance(100)
    }
  }
  await pass(10_000)
  await Promise.all(first)
  t.strictSame(taken, [0, 500, 2_000, 2_100], 'each when those before it have had their time')
  taken.length = 0
  const later = [take(1_000), take(1)]
  await pass(2_000)
  await Promise.all(later)
  t.strictSame(taken, [10_000, 11_000], 'what was not used is not saved up')
})

t.test('exports wait for the time of the bytes before theirs, and what is waited for does not', async t => {
  const clock = new TestClock()
  const answers: number[] = []
  const { address } = openSqlite('sqlite::memory:', () => {})
  const jobs = new ExportJobs({ address, zone: 'UTC', bytesPerS: 1 }, clock)
  const ask = async (id: number, begins: { work: string; order: Told; paced: boolean } | null = null) => {
    const { piece } = await jobs.answer({ kind: 'more', id, begins })
    answers.push(piece === null ? -id : id)
  }
  const begin = (id: number, paced: boolean) =>
    ask(id, { work: WORK.href, order: { seen: newSeen(), texts: 3, characters: 10 }, paced })
  await begin(1, true)
  const second = ask(1)
  await begin(2, false)
  for (let n = 0; n < 3; n++) await ask(2)
  t.strictSame(answers, [1, 2, 2, 2, -2], 'the second piece of the export has to wait')
  clock.advance(10_000)
  await second
  t.equal(answers.at(-1), 1, 'the export goes on')
})

t.test('texts become bytes of their own', async t => {
  async function* texts() {
    yield* ['', 'ä中😀', '', 'x'.repeat(PIECE_BYTES), '中'.repeat(PIECE_BYTES)]
  }
  const pieces = await Array.fromAsync(inPieces(texts(), () => true))
  t.equal(Buffer.concat(pieces).toString(), (await Array.fromAsync(texts())).join(''))
  t.ok(pieces.every(({ byteOffset, byteLength, buffer }) => byteOffset === 0 && buffer.byteLength === byteLength))
  t.ok(pieces.every(({ length }) => length > 0 && length <= PIECE_BYTES))
  t.strictSame(await Array.fromAsync(inPieces(texts(), () => false)), [])
})
