import t from 'tap'
import { RateState, RateWindow } from '../../lib/access/window.ts'
import { seeded } from '../support/random.ts'

const MINUTE = 60_000
const NOW = 1_790_000_000_000

t.test('a request counts until its sixtieth has wholly left the window', async t => {
  for (const minutes of [1, 2, 60]) {
    const partMs = minutes * 1000
    const window = new RateWindow(minutes)
    const start = Math.ceil(NOW / partMs) * partMs
    window.add(window.partAt(start), 1)
    t.equal(window.used(start), 1)
    t.equal(window.used(start + minutes * MINUTE), 1, 'one at the end of the part would still be in the window')
    t.equal(window.freeInMs(start, 1), minutes * MINUTE + partMs)
    t.equal(window.used(start + minutes * MINUTE + partMs - 1), 1)
    t.equal(window.used(start + minutes * MINUTE + partMs), 0)
  }
})

t.test('how long until one is free', async t => {
  const window = new RateWindow(1)
  const now = 1_790_000_000_000
  const part = window.partAt(now)
  window.add(part - 30, 2)
  window.add(part - 10, 1)
  window.add(part, 3)
  const rows: [limit: number, inMs: number][] = [
    [7, 0],
    [6, 31_000],
    [5, 31_000],
    [4, 51_000],
    [3, 61_000],
    [1, 61_000],
    [0, MINUTE],
  ]
  for (const [limit, inMs] of rows) t.equal(window.freeInMs(now, limit), inMs, `limit ${limit}`)
})

t.test('no more is taken away than is there', async t => {
  const window = new RateWindow(1)
  window.add(5, 2)
  window.add(5, -3)
  window.add(6, -1)
  window.add(7, 1)
  t.equal(window.used(7000), 1)
})

t.test('what is written is read, each window by itself', async t => {
  const random = seeded(t).next
  for (let i = 0; i < 300; i++) {
    const state = new RateState('')
    const lengths = [1, 5, 60, 43_200].filter(() => random() < 0.6)
    for (const minutes of lengths) {
      const window = state.of(minutes)
      for (let k = 0; k < 20; k++) {
        window.add(window.partAt(NOW) + 10 - Math.floor(random() * 70), 1 + Math.floor(random() ** 4 * 1e6))
      }
    }
    const text = state.toText(NOW, 'm')
    const again = new RateState(text)
    t.equal(again.toText(NOW, 'm'), text)
    t.equal(again.writtenMs, NOW)
    for (const minutes of lengths) t.equal(again.of(minutes).used(NOW), state.of(minutes).used(NOW))
  }
})

t.test('it is short', async t => {
  const state = new RateState('')
  const window = state.of(1)
  for (let i = 0; i < 71; i++) window.add(window.partAt(NOW) + 10 - i, 9999)
  t.ok(state.toText(NOW, 'm').length < 400, state.toText(NOW, 'm'))
  t.notMatch(state.toText(NOW + 2 * MINUTE, 'm'), ':', 'and empty when all has left')
})

t.test('what cannot be read is empty', async t => {
  for (const text of [
    '',
    'nonsense',
    'x 1',
    'x 1:',
    'x 1::',
    'x 1:!:1',
    'x 1:zz:!,-',
    'x 0:1:1',
    'x -1:1:1',
    ' : ',
    '界',
  ]) {
    const state = new RateState(text)
    t.equal(state.of(1).used(0), 0, text)
    t.match(state.toText(NOW, 'm'), /^\S+$/)
  }
  t.equal(new RateState('-5 1:1:1').writtenMs, 0)
  t.ok(new RateState(`x 1:zz:${'1,'.repeat(1e5)}`).of(1).used(0) <= 120, 'nor is it long')
})
