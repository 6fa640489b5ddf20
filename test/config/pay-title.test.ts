/** The title that payers read at the provider: the operator's, within the rules of every provider. */
import t from 'tap'
import { stringify } from 'yaml'
import { ConfigError, parseConfig } from '../../lib/config/config.ts'
import { titleOf } from '../../lib/config/pay-schema.ts'

const titleIn = (title: unknown, main = 'https://api.example.com'): string => {
  try {
    return parseConfig(stringify({ pay: { title }, public: { main } }), 'gateway.yaml', {}).pay.title
  } catch (error) {
    return error instanceof ConfigError ? error.message : String(error)
  }
}

t.test('titles that every provider takes', async t => {
  for (const title of [
    'API 充值',
    'Ünïcode (Ltd.) credit, 2030',
    '模型接口充值，一号店',
    'क्रेडिट',
    'a',
    '充'.repeat(42),
  ])
    t.equal(titleIn(title), title)
})

t.test('titles that some provider refuses are an error at start, which names what is wrong', async t => {
  const rows: [title: unknown, text: RegExp][] = [
    ['API 充值 / API credit', /pay.title: expected 1 to 127 bytes .* and “\/” is none/],
    ['R&D', /“&” is none/],
    ['a=b', /“=” is none/],
    ['50% off', /“%” is none/],
    ["it's", /“'” is none/],
    ['a+b', /“\+” is none/],
    ['<b>', /“<” is none/],
    ['充值🎉', /“🎉” is none/],
    ['1\uFE0F\u20E3', /U\+FE0F is none/],
    ['𠮷野家', /“𠮷” is none/],
    ['a\nb', /U\+A is none/],
    ['a\u0000b', /U\+0 is none/],
    ['a\u202Eb', /U\+202E is none/],
    ['\uD800', /U\+(D800|FFFD) is none|“�” is none/],
    ['', /pay.title: expected 1 to 127 bytes/],
    [' a', /pay.title/],
    ['a ', /pay.title/],
    ['充'.repeat(43), /1 to 127 bytes/],
    ['a'.repeat(128), /1 to 127 bytes/],
    [7, /pay.title/],
    [['a'], /pay.title/],
  ]
  for (const [title, text] of rows) t.match(titleIn(title), text, JSON.stringify(title))
})

t.test('the title of an operator who has none names the host by which payers know the shop', async t => {
  t.equal(titleIn(undefined), 'API 充值 api.example.com')
  t.equal(titleIn(undefined, 'https://xn--fiq228c.example/base'), 'API 充值 xn--fiq228c.example')
  t.equal(titleOf(undefined), 'API 充值')
  t.equal(titleOf('https://[::1]:3000'), 'API 充值 1')
  const long = titleOf(`https://${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example`)
  t.equal(Buffer.byteLength(long), 127)
  t.equal(titleIn(long), long, 'every default is a title itself')
})
