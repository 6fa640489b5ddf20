import t from 'tap'
import { ObjectCheck } from '../../lib/translate/json/check.ts'
import { quote } from '../../lib/translate/json/literal.ts'
import { Tree } from '../../lib/translate/json/tree.ts'
import { type Random, jsonText, key, seeded, text } from '../support/random.ts'
import { pieces } from './support/answers.ts'

const ALPHABET = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '1',
  '"a"',
  '"',
  '\\',
  'null',
  'tru',
  '-',
  '.5',
  'e9',
  ' ',
  '\n',
  '\\u00e9',
  'é',
]

const isJson = (source: string): boolean => {
  try {
    JSON.parse(source)
    return true
  } catch {
    return false
  }
}

const soup = (random: Random): string =>
  (random.next() < 0.5 ? '{' : '') + Array.from({ length: random.int(0, 8) }, () => random.pick(ALPHABET)).join('')

const value = (random: Random, depth = 0): unknown =>
  depth > 3 || random.next() < 0.4
    ? random.pick([null, true, -1.5e9, text(random), ''])
    : random.next() < 0.5
      ? Array.from({ length: random.int(0, 3) }, () => value(random, depth + 1))
      : Object.fromEntries(Array.from({ length: random.int(0, 3) }, () => [key(random), value(random, depth + 1)]))

t.test('the tree takes what the engine takes, and nothing else', async t => {
  const random = seeded(t)
  const tree = new Tree()
  for (let run = 0; run < 20_000; run++) {
    const source = random.next() < 0.3 ? jsonText(random, value(random)) : soup(random)
    if (tree.read(Buffer.from(source).toString('latin1')) !== isJson(source))
      t.fail(`run ${run}: ${JSON.stringify(source)}`)
  }
  t.pass('no difference')
})

t.test('arguments are whole when the engine takes them as an object, however they are cut', async t => {
  const random = seeded(t)
  for (let run = 0; run < 5000; run++) {
    const source = random.next() < 0.5 ? `{"a":${jsonText(random, value(random))}}` : soup(random)
    const isObject = isJson(source) && source.trim().startsWith('{')
    const check = new ObjectCheck()
    for (const piece of pieces(random, quote(Buffer.from(source).toString('latin1')))) check.feed(piece)
    if (check.whole !== isObject) t.fail(`run ${run}: ${JSON.stringify(source)}`)
    if (isObject && check.bad) t.fail(`run ${run}: ${source}`)
  }
  t.pass('no difference')
})

t.test('arguments that can become an object are not bad yet', async t => {
  const source = '{"a":[true,-1.5e+9,{"b":null,"c":"\\u00e9\\""}],"d":false}'
  for (let length = 0; length <= source.length; length++) {
    const check = new ObjectCheck()
    check.feed(quote(source.slice(0, length)))
    t.notOk(check.bad, source.slice(0, length))
    t.equal(check.whole, length === source.length)
  }
})
