/** The Chinese texts of pages, letters and calls: punctuation beside Chinese characters is full-width. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

/** The texts of the API of models are those of its specification, byte for byte. */
const SPECIFIED = ['lib/base/errors.ts', 'lib/exchange/relay/response.ts']
const TEXT = /'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g
const HALF = /\p{Script=Han}[,:;?!()]|[,:;?!()]\p{Script=Han}/u
/** Begins of references, which stand as they are written into the books. */
const CODE = /\b[a-z]+:(?=、|或|开头)|或(?=[a-z]+:)/g

const halfWidth = (source: string): string[] =>
  [...source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').matchAll(TEXT)]
    .map(([text]) => text.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '').replaceAll(CODE, ''))
    .filter(text => HALF.test(text))

t.test('punctuation of Chinese texts is full-width, so that lines break and read as they should', async t => {
  t.same(halfWidth("both('请稍后,再试', '')"), ["'请稍后,再试'"], 'it would be found')
  const files = globSync(['web/**/*.ts', 'lib/**/*.ts']).filter(file => !SPECIFIED.includes(file))
  t.ok(files.length > 100)
  for (const file of files) t.same(halfWidth(readFileSync(file, 'utf8')), [], file)
})
