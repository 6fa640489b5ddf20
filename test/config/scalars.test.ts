import t from 'tap'
import type { z } from 'zod'
import { NAME_LENGTH } from '../../lib/store/base/tables.ts'
import * as kind from '../../lib/config/scalars.ts'

const DAY_MS = 86_400_000

/** Accepted values with what they become, and refused ones. */
const tables: Record<string, { schema: z.ZodType; good: [unknown, unknown][]; bad: unknown[] }> = {
  duration: {
    schema: kind.duration(),
    good: [
      ['250ms', 250],
      ['5s', 5000],
      ['2m', 120_000],
      ['1.5s', 1500],
      ['0s', 0],
      ['24h', DAY_MS],
      ['1d', DAY_MS],
    ],
    bad: ['5', 5, '', 's', '5 s', '-1s', '1e3s', '25h', '2d', '1w', '5S', null, undefined, []],
  },
  'duration with bounds': {
    schema: kind.duration({ least: 1, most: 30 * DAY_MS }),
    good: [
      ['1ms', 1],
      ['30d', 30 * DAY_MS],
    ],
    bad: ['0s', '31d'],
  },
  size: {
    schema: kind.size(1, 2 ** 30, ''),
    good: [
      ['64KiB', 65_536],
      ['8MiB', 8_388_608],
      ['1GiB', 2 ** 30],
      ['10B', 10],
      [4096, 4096],
      ['4096', 4096],
    ],
    bad: ['12 bananas', '1KB', '1.5MiB', '2GiB', 0, '0', -1, 1.5, '', null, true],
  },
  percent: {
    schema: kind.percent,
    good: [
      ['20%', 0.2],
      ['0%', 0],
      ['100%', 1],
      ['12.5%', 0.125],
    ],
    bad: ['20', 0.2, '101%', '-1%', '%', ''],
  },
  whole: {
    schema: kind.whole(1, 100),
    good: [
      [1, 1],
      ['100', 100],
    ],
    bad: [0, 101, 1.5, '1.5', '', ' 1', '0x10', true, null, Number.NaN],
  },
  price: {
    schema: kind.millionths({ zh: '价格', en: 'a price' }),
    good: [
      [21, 21_000_000],
      ['2.1', 2_100_000],
      [0.28, 280_000],
      ['0.000001', 1],
      [0, 0],
    ],
    bad: [-1, '-0.1', '0.0000001', 1e-7, '1e3', 'free', '', null, 1e10],
  },
  cny: {
    schema: kind.cny,
    good: [
      [100, 100_000_000],
      ['0.5', 500_000],
    ],
    bad: [-1, '1,5', null],
  },
  name: {
    schema: kind.name,
    good: [
      ['demo', 'demo'],
      ['名前 x', '名前 x'],
      [47, '47'],
      ['x'.repeat(190), 'x'.repeat(190)],
    ],
    bad: ['', ' a', 'a ', 'a\nb', 'a\u0000', 'x'.repeat(191), null, true],
  },
  flag: {
    schema: kind.flag,
    good: [
      [true, true],
      ['false', false],
    ],
    bad: ['yes', 1, ''],
  },
  'one of': { schema: kind.oneOf('a', 'b'), good: [['b', 'b']], bad: ['c', '', 1] },
  secret: { schema: kind.secret('a secret', /^sk-[!-~]+$/), good: [['sk-x', 'sk-x']], bad: ['sk-', 'sk-a b', 'x', 1] },
  text: { schema: kind.plainText('a file'), good: [['a', 'a']], bad: ['', 1] },
  time: {
    schema: kind.time,
    good: [
      ['2030-01-31T00:00:00Z', 1_896_048_000_000],
      ['2030-01-31', 1_896_048_000_000],
      ['2030-01-31T02:00+02:00', 1_896_048_000_000],
    ],
    bad: [
      '2030-13-01T00:00:00Z',
      '2030-02-30T00:00:00Z',
      '2030-02-31',
      '2030-01-31T00:00:00',
      'tomorrow',
      1_896_048_000_000,
      '',
    ],
  },
}

for (const [name, { schema, good, bad }] of Object.entries(tables)) {
  t.test(name, async t => {
    for (const [value, expected] of good) t.same(schema.safeParse(value).data, expected, JSON.stringify(value))
    for (const value of bad) t.equal(schema.safeParse(value).success, false, `${JSON.stringify(value)} is refused`)
  })
}

t.equal(kind.LONGEST_NAME, NAME_LENGTH, 'the store takes every name that the files may hold')
