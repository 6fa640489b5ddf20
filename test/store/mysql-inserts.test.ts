/** Rows reach a table of MySQL as one text in JSON, or, where the engine does not take that, as parameters: the same rows either way. */
import t from 'tap'
import type { Driver, Param } from '../../lib/store/base/driver.ts'
import { openMysql } from '../../lib/store/engines/mysql.ts'
import { startMariadb } from '../support/mariadb.ts'
import { type Random, seeded } from '../support/random.ts'
import { startRewritingProxy } from '../support/rewriting-proxy.ts'

const server = await startMariadb()
t.teardown(() => server.stop())
const url = await server.database('inserts')

interface Way {
  name: string
  driver: Driver
  statements: () => number
}

async function open(name: string, from: string, to: string): Promise<Way> {
  const proxy = await startRewritingProxy(server.port, { texts: from === '' ? [] : [[from, to]] })
  let statements = 0
  const driver = openMysql(
    url.replace(/:\d+\//, `:${proxy.port}/`),
    () => statements++,
    warning => t.fail(warning),
  )
  t.teardown(async () => {
    await driver.close()
    proxy.close()
  })
  const columns = 'seq BIGINT AUTO_INCREMENT PRIMARY KEY, number BIGINT, name VARCHAR(64), doc MEDIUMTEXT, fixed BIGINT'
  await driver.script([`CREATE TABLE ${name} (${columns}, UNIQUE KEY (number)) COLLATE utf8mb4_bin`])
  return { name, driver, statements: () => statements }
}

const ways = [
  await open('as_json', '', ''),
  await open('without_json', 'JSON_TABLE', 'NONE'),
  await open('with_another_null', "MEDIUMTEXT PATH '$[1]'", "MEDIUMTEXT PATH '$[0]'"),
]

const insert = (way: Way, rows: readonly Param[][], end = '') =>
  way.driver.transaction('test', tx =>
    tx.insert({ into: `INSERT INTO ${way.name} (number, name, doc, fixed)`, row: '(?, ?, ?, 7)', end }, rows),
  )
const rowsIn = ({ name, driver }: Way) =>
  driver.query('test', `SELECT CAST(number AS CHAR) AS number, name, doc, fixed FROM ${name} ORDER BY seq`, [])

/** Pieces of text that JSON, UTF-8 or SQL writes in a way of their own. */
const PIECES = [
  'a',
  'Z9',
  '"',
  '\\',
  "'",
  '?',
  '\n',
  '\u0000',
  '\u2028',
  'é',
  '模',
  '😀',
  '\ud800',
  '\udfff',
  '\\ud800',
  'null',
]
const textOf = (random: Random, most: number) =>
  Array.from({ length: random.int(0, most) }, () => random.pick(PIECES)).join('')
const orNull = (random: Random, value: Param): Param => (random.int(0, 4) === 0 ? null : value)

t.test('random rows', async t => {
  const random = seeded(t)
  let number = 0
  for (let batch = 0; batch < 20; batch++) {
    const rows = Array.from({ length: random.int(1, 40) }, () => [
      random.pick([1, -1]) * (random.int(0, 9) === 0 ? Number.MAX_SAFE_INTEGER - number++ : number++),
      orNull(random, textOf(random, 8)),
      orNull(random, textOf(random, random.int(0, 20) === 0 ? 5_000 : 50)),
    ])
    for (const way of ways) await insert(way, rows)
  }
  const [expected, ...others] = await Promise.all(ways.map(rowsIn))
  t.equal(
    expected!.every(({ fixed }) => Number(fixed) === 7),
    true,
  )
  for (const rows of others) t.strictSame(rows, expected)
})

t.test('what is inserted and how many statements it takes', async t => {
  const most = Number.MAX_SAFE_INTEGER
  const rows = [
    [most, 'null', '{"a":"\\"\\\\"}'],
    [-most, '', null],
    [null, null, '\ud800'],
    ...Array.from({ length: 1_100 }, (_, i) => [i + 1, 'x', 'y']),
  ]
  for (const way of ways) {
    await way.driver.script([`TRUNCATE TABLE ${way.name}`])
    const before = way.statements()
    await insert(way, rows)
    t.equal(way.statements() - before, way === ways[0] ? 1 : 2, way.name)
    const [first, second, third] = await rowsIn(way)
    t.match(first, { number: String(most), name: 'null', doc: '{"a":"\\"\\\\"}' })
    t.match(second, { number: String(-most), name: '', doc: null })
    t.match(third, { number: null, name: null, doc: '\ufffd' })
  }
})

t.test('an upsert adds to what is there', async t => {
  for (const way of ways) {
    await way.driver.script([`TRUNCATE TABLE ${way.name}`])
    const end = way.driver.dialect.raise(['number'], ['fixed'])
    await insert(way, [[1, 'first', null]], end)
    await insert(
      way,
      [
        [1, 'second', null],
        [2, 'third', null],
      ],
      end,
    )
    t.match(await rowsIn(way), [
      { name: 'first', fixed: 14 },
      { name: 'third', fixed: 7 },
    ])
  }
})

t.test('what a column does not take is refused, and not cut', async t => {
  for (const way of ways) {
    const before = await rowsIn(way)
    await t.rejects(insert(way, [[100, 'x'.repeat(65), null]]), /too long/i, way.name)
    await t.rejects(insert(way, [[2 ** 53, 'x', null]]), /no safe integer/, way.name)
    t.strictSame(await rowsIn(way), before)
  }
})

t.test('rows that are more than a packet go in several', async t => {
  for (const way of ways) {
    await way.driver.script([`TRUNCATE TABLE ${way.name}`])
    const before = way.statements()
    await insert(
      way,
      Array.from({ length: 20 }, (_, i) => [i, 'x', '"'.repeat(100_000)]),
    )
    t.ok(way.statements() - before > 2, way.name)
    t.equal((await rowsIn(way)).length, 20)
  }
})
