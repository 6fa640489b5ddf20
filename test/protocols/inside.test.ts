/** The ends of long strings, beside what a loop over single characters finds, and what the engine takes for JSON. */
import t from 'tap'
import { endInBytes, endOfLong, ESCAPING, mayStandInside } from '../../lib/protocols/json/inside.ts'
import { type Random, seeded } from '../support/random.ts'

const WORDS = [
  'plain words of a text ',
  '\\"',
  '\\\\',
  '\\n',
  '\\/',
  '\\u12aF',
  '\\b\\f\\r\\t',
  'u',
  'é',
  '\xff',
  '\x7f',
  'a',
  '0',
]
const WRONG = ['\\', '\\u12', '\\u00zz', '\\x', '\n', '\x1f', '\0', '"']

function byLoop(text: string, from: number, isStrict: boolean): number {
  for (let at = from; at < text.length; at++) {
    const c = text[at] as string
    if (c === '"') return at + 1
    if (isStrict && c < ' ') return -1
    if (c !== '\\') continue
    if (isStrict && !/^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(at, at + 6))) return -1
    if (++at === text.length) return ESCAPING
  }
  return -1
}

/** By the bytes, nothing is checked. */
const search = (text: string, from: number, isStrict: boolean): number =>
  isStrict ? endOfLong(text, from) : endInBytes(Buffer.from(text, 'latin1'), from)

function textOf(random: Random, words: number): string {
  const isRight = random.next() < 0.7
  const all = isRight ? WORDS : [...WORDS, ...WRONG]
  const inside = Array.from({ length: words }, () => random.pick(all)).join('')
  const wrong = isRight && random.next() < 0.2 ? random.pick(WRONG) : ''
  const at = random.int(0, inside.length)
  return `${inside.slice(0, at)}${wrong}${inside.slice(at)}${random.next() < 0.9 ? '"' : ''}${random.pick(WRONG)}`
}

t.test('random strings, of which some are longer than several windows', async t => {
  const random = seeded(t)
  for (let run = 0; run < 30_000; run++) {
    const text = textOf(random, random.int(0, run % 100 === 0 ? 20_000 : 80))
    for (const isStrict of [true, false])
      if (search(text, 0, isStrict) !== byLoop(text, 0, isStrict))
        t.fail(`run ${run}, strict ${isStrict}: ${JSON.stringify(text.slice(0, 500))}`)
  }
  t.pass('no difference')
})

t.test('random pieces, of which a string may consist or not', async t => {
  const random = seeded(t)
  for (let run = 0; run < 10_000; run++) {
    const text = textOf(random, random.int(0, run % 100 === 0 ? 20_000 : 80)).slice(0, random.pick([-2, -1, 1e9]))
    const pieces: Buffer[] = []
    for (let at = 0; at < text.length; ) {
      const end = at + random.int(1, random.pick([3, 100, 100_000]))
      pieces.push(Buffer.from(text.slice(at, end), 'latin1'))
      at = end
    }
    if (mayStandInside(pieces) !== (byLoop(`${text}"`, 0, true) === text.length + 1))
      t.fail(`run ${run}: ${JSON.stringify(text.slice(0, 500))}`)
  }
  t.pass('no difference')
})

t.test('each byte, alone and behind a backslash, at each place of a block and at the ends of windows', async t => {
  const places = [...Array(34).keys(), 250, 251, 252, 253, 254, 255, 256, 1279, 1280, 1281, 5375, 5376, 38_143, 38_144]
  let differ = 0
  for (let byte = 0; byte < 256; byte++)
    for (const place of places)
      for (const before of ['', '\\', '\\\\', '\\\\\\', '\\u', '\\u1a', '\\u00a']) {
        const text = `${'x'.repeat(place)}${before}${String.fromCharCode(byte)}ef0 and more"`
        if (endOfLong(text, 0) !== byLoop(text, 0, true)) differ++
        if (search(text, 0, false) !== byLoop(text, 0, false)) differ++
      }
  t.equal(differ, 0)
})

t.test('what is found is what the engine takes for a string', async t => {
  const random = seeded(t)
  for (let run = 0; run < 5000; run++) {
    const text = textOf(random, random.int(20, 200))
    const end = endOfLong(text, 0)
    const literal = `"${text.slice(0, end < 0 ? text.length : end)}`
    t.equal(isJson(literal), end >= 0, literal)
  }
})

t.test('series of backslashes of every length, across blocks and windows', async t => {
  for (const before of [0, 1, 13, 14, 15, 16, 62, 63, 64, 240, 254, 255, 256, 33_000, 33_023, 33_024])
    for (let run = 0; run < 70; run++) {
      const text = `${'x'.repeat(before)}${'\\'.repeat(run)}"n"`
      const end = before + run + (run % 2 === 0 ? 1 : 3)
      t.equal(endOfLong(text, 0), end)
      t.equal(search(text, 0, false), end)
    }
})

t.test('a search begins where it is told, and ends with the text', async t => {
  t.equal(endOfLong('"abc"', 1), 5)
  t.equal(endOfLong('abc', 0), -1)
  t.equal(endOfLong('', 0), -1)
  t.equal(search('x'.repeat(1_000_000), 0, false), -1)
  t.equal(search('"abc"', 1, false), 5)
  t.equal(search('', 0, false), -1)
  t.equal(endOfLong(`${'x'.repeat(1_000_000)}\\"\\\\"`, 999_990), 1_000_005)
})

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'string'
  } catch {
    return false
  }
}
