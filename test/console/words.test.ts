/** The texts of pages, letters and calls: punctuation and blanks beside Chinese characters, and one word for one thing. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

/** The texts of the API of models are those of its specification, byte for byte. */
const SPECIFIED = ['lib/base/errors.ts', 'lib/exchange/relay/response.ts']
const TEXT = /'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g
const HALF = /\p{Script=Han}[,:;?!()]|[,:;?!()]\p{Script=Han}/u
/** Begins of references, which stand as they are written into the books. */
const CODE = /\b[a-z]+:(?=、|或|开头)|或(?=[a-z]+:)/g

/** Texts without their comments. `value`: what stands for a value that is put in. */
const textsOf = (source: string, value: string): string[] =>
  [...source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').matchAll(TEXT)].map(([text]) =>
    text.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, value).replaceAll(CODE, ''),
  )

const halfWidth = (source: string): string[] => textsOf(source, '').filter(text => HALF.test(text))

t.test('punctuation of Chinese texts is full-width, so that lines break and read as they should', async t => {
  t.same(halfWidth("both('请稍后,再试', '')"), ["'请稍后,再试'"], 'it would be found')
  const files = globSync(['web/**/*.ts', 'lib/**/*.ts']).filter(file => !SPECIFIED.includes(file))
  t.ok(files.length > 100)
  for (const file of files) t.same(halfWidth(readFileSync(file, 'utf8')), [], file)
})

/** A word of Latin letters or a number beside Chinese characters without a blank. A value that is put in may be a Chinese word or a date. */
const CLOSE = /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u
/** What people read in pages, and of what becomes of their requests. Refusals of fields name them as they are written. */
const READ = [...globSync('web/**/*.ts'), 'lib/operations/usage/words.ts', 'lib/operations/usage/columns.ts']
/** The functions that shorten numbers, and the forms of dates. */
const CLOSE_UNITS = ['web/base/money.ts', 'web/base/time.ts']

t.test('Latin words and numbers stand apart from Chinese characters', t => {
  const close = (source: string) => textsOf(source, '').filter(text => CLOSE.test(text))
  t.same(close("w('最多4张', '')"), ["'最多4张'"], 'it would be found')
  for (const file of READ.filter(file => !CLOSE_UNITS.includes(file)))
    t.same(close(readFileSync(file, 'utf8')), [], file)
  t.end()
})

/** Each way to say something else for which there is a word already, and that word. */
const OTHER_WORDS: readonly [other: RegExp, word: string][] = [
  [/管理员/, '运营方, or 运营人员 of a person'],
  [/administrator/i, 'operator'],
  [/你/, '您'],
  [/会话/, '登录'],
  [/词元/, 'token'],
  [/\bsessions?\b/i, 'sign-in'],
  [/\$\{\w+\}前/, 'a blank before 前'],
  [/`\$\{\w+\}:\$\{/, '：'],
]

t.test('one thing has one word', t => {
  const literals = (file: string) =>
    [
      ...readFileSync(file, 'utf8')
        .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
        .matchAll(TEXT),
    ].map(([text]) => text)
  // a text for people has Chinese characters, a blank or a capital; others are names in code
  const texts = READ.flatMap(literals).filter(text => /\p{Script=Han}| |^.[A-Z]/u.test(text))
  t.ok(texts.length > 1_000, 'the texts were found')
  for (const [other, word] of OTHER_WORDS)
    t.same(
      texts.filter(text => other.test(text)),
      [],
      `${other} is said ${word}`,
    )
  t.end()
})
