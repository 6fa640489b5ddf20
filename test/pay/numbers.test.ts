import t from 'tap'
import { type Micro, micro } from '../../lib/base/money.ts'
import {
  askedFor,
  fenOf,
  isOrderId,
  isWholeFen,
  newOrderId,
  newRefundId,
  worth,
  yuanOf,
} from '../../lib/pay/exceptions.ts'
import { seeded } from '../support/random.ts'

const cny = (fen: number): Micro => micro(fen * 10_000)

t.test('numbers of orders fit every provider, and nobody can guess one', async t => {
  const ids = Array.from({ length: 1_000 }, () => newOrderId(1_900_000_000_000))
  t.equal(new Set(ids).size, ids.length)
  t.ok(ids.every(isOrderId))
  t.ok(newOrderId(1) < newOrderId(2_000), 'later ones sort behind earlier ones')
  t.match(newRefundId(1), /^R[0-9A-Z]{26}$/)
  for (const text of ['', 'T', `t${ids[0]?.slice(1)}`, `${ids[0]}0`, `T${'I'.repeat(26)}`])
    t.equal(isOrderId(text), false)
})

t.test('yuan are read digit by digit', async t => {
  const rows: [text: unknown, fen: number | null][] = [
    ['5', 500],
    ['5.0', 500],
    ['5.01', 501],
    ['0.29', 29],
    ['1.1', 110],
    ['100000000.00', 10_000_000_000],
    ['5.001', null],
    ['-5', null],
    ['5,00', null],
    ['5e2', null],
    ['', null],
    ['.5', null],
    [' 5', null],
    [5, null],
    [null, null],
  ]
  for (const [text, fen] of rows) t.equal(fenOf(text), fen, String(text))
  for (const fen of [0, 1, 29, 100, 501, 10_000_000_000]) t.equal(fenOf(yuanOf(fen)), fen)
})

t.test('another currency is asked for rounded up, and worth its rate rounded down', async t => {
  const rows: [fen: number, rate: number | null, asked: number][] = [
    [500, null, 500],
    [500, 7_000_000, 72], // 5 / 7 = 0.714…
    [700, 7_000_000, 100],
    [701, 7_000_000, 101],
    [500, 920_000, 544],
  ]
  for (const [fen, rate, asked] of rows) t.equal(askedFor(cny(fen), rate), asked, `${fen} fen at ${rate}`)
  const random = seeded(t)
  for (let i = 0; i < 500; i++) {
    const [amount, rate] = [cny(random.int(500, 10_000_000)), random.int(1, 20_000_000)]
    const asked = askedFor(amount, rate)
    t.ok(worth(asked, rate) >= amount && worth(asked - 1, rate) < amount, `${amount} at ${rate}`)
  }
})

t.test('an amount of an order is whole fen', async t => {
  for (const [amount, whole] of [
    [50_000, true],
    [10_000, true],
    [9_999, false],
    [1, false],
  ] as const)
    t.equal(isWholeFen(micro(amount)), whole)
})
