import t from 'tap'
import { add, formatMicro, micro, parseMicro, parseMillionths, subtract } from '../../lib/base/money.ts'

t.test('amounts are read exactly', async t => {
  const rows: [unknown, number | null][] = [
    ['5', 5_000_000],
    ['5.000000', 5_000_000],
    [5, 5_000_000],
    [0.05, 50_000],
    ['0.000001', 1],
    [0.000001, 1],
    ['-5', -5_000_000],
    ['-0', 0],
    ['1.0000001', null],
    [0.0000001, null],
    ['1e3', null],
    ['', null],
    [' 5', null],
    ['5.', null],
    ['.5', null],
    ['abc', null],
    ['1234567890', null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [null, null],
    [{}, null],
  ]
  for (const [text, want] of rows) t.equal(parseMillionths(text), want, JSON.stringify(text))
})

t.test('amounts are printed with six places', async t => {
  const rows: [number, string][] = [
    [0, '0.000000'],
    [1, '0.000001'],
    [360, '0.000360'],
    [1_120_000, '1.120000'],
    [-600_200, '-0.600200'],
    [-1, '-0.000001'],
    [99_999_999_640, '99999.999640'],
  ]
  for (const [value, want] of rows) {
    t.equal(formatMicro(micro(value)), want)
    t.equal(formatMicro(BigInt(value)), want)
    t.equal(parseMicro(want), value, 'and read back')
  }
})

t.test('what is not a whole safe number is no amount', async t => {
  for (const value of [0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])
    t.throws(() => micro(value), { name: 'InvariantError' })
  t.throws(() => add(micro(Number.MAX_SAFE_INTEGER), micro(1)))
  t.equal(subtract(micro(1), micro(3)), -2)
})
