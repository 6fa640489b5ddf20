/** JSON text in a literal, and back: nothing is decoded that would not fit into a Latin-1 view again. */
import t from 'tap'
import { quote, unquote } from '../../../lib/translate/json/literal.ts'
import { seeded } from '../../support/random.ts'

const ROWS: [inside: string, source: string][] = [
  ['', ''],
  ['{}', '{}'],
  ['{\\"a\\":1.0}', '{"a":1.0}'],
  ['\\n\\t\\r\\b\\f\\/', '\n\t\r\b\f/'],
  ['\\\\n', '\\n'],
  ['\\u0022\\u005C\\u0041', '"\\A'],
  ['\\u007f', '\x7f'],
  ['\\u0080\\u00e9\\u00FF', '\\u0080\\u00e9\\u00FF'],
  ['\\ud83d\\uDE00\\ud83d', '\\ud83d\\uDE00\\ud83d'],
  ['\\\\u00e9', '\\u00e9'],
  ['\\\\\\u00e9\\n\\u0041', '\\\\u00e9\nA'],
  ['\xc3\xa9', '\xc3\xa9'],
]

t.test('what stands in a literal', async t => {
  for (const [inside, source] of ROWS) t.equal(unquote(`"${inside}"`), source, inside)
})

t.test('any of it together, and quoted again', async t => {
  const random = seeded(t)
  for (let run = 0; run < 2000; run++) {
    const rows = Array.from({ length: random.int(0, 12) }, () => random.pick(ROWS))
    const source = rows.map(row => row[1]).join('')
    if (unquote(`"${rows.map(([inside]) => inside).join('')}"`) !== source || JSON.parse(quote(source)) !== source)
      t.fail(JSON.stringify(rows))
  }
})
