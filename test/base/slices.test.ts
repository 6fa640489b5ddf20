/** Work on large bodies is done a slice at a time, in order, and not after nobody waits for it any more. */
import t from 'tap'
import { inSlices, LargeBodies } from '../../lib/base/slices.ts'

const MOST_AT_ONCE = 320 * 1024

t.test('all bytes come once and in order, a few at a time', async t => {
  const body = Buffer.from(Array.from({ length: 1_500_000 }, (_, i) => i % 251))
  for (const cuts of [[], [1, 2, 3], [70_000, 70_001, 900_000]]) {
    const parts = [...cuts, body.length].map((end, i) => body.subarray(i === 0 ? 0 : cuts[i - 1], end))
    const pieces: Buffer[] = []
    let turns = 0
    let most = 0
    let now = 0
    const soon = (fn: () => void): void => {
      turns++
      now = 0
      queueMicrotask(fn)
    }
    const take = (piece: Buffer): void => {
      pieces.push(piece)
      now += piece.length
      most = Math.max(most, now)
    }
    t.equal(await inSlices({ soon }, parts, take), true)
    t.ok(Buffer.concat(pieces).equals(body))
    t.ok(most <= MOST_AT_ONCE, `${most} bytes at once`)
    t.ok(turns >= Math.floor(body.length / MOST_AT_ONCE), `${turns} turns`)
  }
})

t.test('what nobody waits for any more is not done', async t => {
  let pieces = 0
  let turns = 0
  const soon = (fn: () => void): void => {
    turns++
    queueMicrotask(fn)
  }
  const isWhole = await inSlices(
    { soon },
    [Buffer.alloc(5_000_000)],
    () => pieces++,
    () => turns > 1,
  )
  t.same([isWhole, turns], [false, 2])
  t.ok(pieces < 12)
})

t.test('large bodies that are whole in one turn go on one by one, and not in that turn', async t => {
  let due: (() => void)[] = []
  const bodies = new LargeBodies({ soon: fn => void due.push(fn) })
  const gone: string[] = []
  const whole = (name: string) => bodies.whole(() => gone.push(name))
  const turn = (): string[] => {
    const now = due
    due = []
    for (const fn of now) fn()
    return gone.splice(0)
  }
  for (const name of ['a', 'b', 'c']) whole(name)
  t.strictSame(turn(), [], 'the end of the turn that has read them')
  t.strictSame(turn(), ['a'])
  whole('d')
  t.strictSame(turn(), ['b'])
  t.strictSame([turn(), turn(), turn()], [['c'], ['d'], []])
  t.equal(due.length, 0)
  whole('e')
  t.strictSame([turn(), turn()], [[], ['e']], 'the next one')
})
