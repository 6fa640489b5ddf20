import t from 'tap'
import { JsonBytes } from '../../lib/base/json-bytes.ts'
import { type Random, seeded } from '../support/random.ts'

const written = (json: JsonBytes): string => json.bytes.toString('utf8', 0, json.length)
const NUMBERS = [0, -0, 9, 10, 99, 100, 1e9 - 1, 1e9, 2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1]
const ODD = [-1, 0.5, 1.5, -(2 ** 31), 1e21, 5e-324, Number.MAX_VALUE, Number.NaN, Number.POSITIVE_INFINITY]
const UNITS = [
  'a',
  '"',
  '\\',
  '\0',
  '\n',
  '\u007f',
  '~',
  ' ',
  '\u001f',
  'é',
  '模',
  '\u2028',
  '\ud800',
  '\udc00',
  '\ud83d\ude00',
]

const someText = (random: Random): string =>
  Array.from({ length: random.pick([0, 1, 3, 40, 300]) }, () => (random.next() < 0.9 ? 'b' : random.pick(UNITS))).join(
    '',
  )

t.test('a value is written as JSON.stringify writes it', async t => {
  const values = [...NUMBERS, ...ODD, null, '', ...UNITS, 'a text']
  const bytes = values.map(value => {
    const json = new JsonBytes(1)
    json.value(value)
    return written(json)
  })
  t.strictSame(
    bytes,
    values.map(value => JSON.stringify(value)),
  )
})

t.test('whatever is written, the bytes are those of JSON.stringify', async t => {
  const random = seeded(t)
  const json = new JsonBytes(1)
  for (let i = 0; i < 300; i++) {
    json.length = 0
    const values = Array.from({ length: random.int(1, 60) }, () =>
      random.pick([null, random.pick(NUMBERS), random.pick(ODD), random.int(0, 2 ** 40), someText(random)]),
    )
    json.raw('[')
    for (const value of values) json.item(value)
    json.value(values.length)
    json.raw(']')
    t.equal(written(json), JSON.stringify([...values, values.length]))
  }
})

t.test(
  'a list is written as JSON.stringify writes it, and a value that is missing against its type is null',
  async t => {
    for (const list of [[], [1], [1, null, 'a"b', Number.NaN], [undefined as never, 2]]) {
      const json = new JsonBytes(1)
      json.list(list)
      t.equal(written(json), JSON.stringify(list))
    }
  },
)

t.test('a text that is written as it is has the bytes of its UTF-8', async t => {
  const random = seeded(t)
  const json = new JsonBytes(1)
  for (let i = 0; i < 300; i++) {
    json.length = 0
    const texts = Array.from({ length: random.int(0, 20) }, () => someText(random))
    for (const text of texts) json.raw(text)
    t.strictSame(json.bytes.subarray(0, json.length), Buffer.concat(texts.map(text => Buffer.from(text))))
  }
})

t.test('what was written becomes a text, whatever it is', async t => {
  const random = seeded(t)
  for (let i = 0; i < 300; i++) {
    const json = new JsonBytes(random.int(1, 50))
    const [before, inside] = [someText(random), someText(random)]
    json.item(before)
    const from = json.length
    json.value(inside)
    json.quoteFrom(from)
    t.equal(written(json), `${JSON.stringify(before)},${JSON.stringify(JSON.stringify(inside))}`)
  }
})

t.test('bytes of a buffer that had no more room stay as they were', async t => {
  const json = new JsonBytes(1)
  json.value('first')
  const { bytes, length } = json
  json.value('x'.repeat(10_000))
  t.not(json.bytes, bytes)
  t.equal(bytes.toString('utf8', 0, length), '"first"')
})
