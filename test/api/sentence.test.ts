/** What people are told by the API is a sentence, in both languages, whoever wrote it. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { API_ERRORS, ApiError, type ApiErrorCode, refusalOf, asSentence } from '../../lib/api/errors.ts'
import { REASONS } from '../../lib/operations/usage/words.ts'
import { LANGUAGES } from '../../lib/base/people.ts'

const LIB = path.resolve(import.meta.dirname, '../../lib')
const HAN = /\p{Script=Han}/u
const ENGLISH = /^[\p{Lu}\d].*[.!?]$/su
const CHINESE = /[。！？…]$/u

t.test('phrases become sentences', async t => {
  for (const [phrase, sentence] of [
    ['there is no such key', 'There is no such key.'],
    ['too many tries: try again in 4 seconds', 'Too many tries: try again in 4 seconds.'],
    ['zone: expected a zone with whole hours', 'Field zone: expected a zone with whole hours.'],
    [
      'allow_ips.2: expected an address; name: unknown field',
      'Field allow_ips.2: expected an address; name: unknown field.',
    ],
    ['The gateway failed', 'The gateway failed.'],
    ['Are you there?', 'Are you there?'],
    ['A whole sentence.', 'A whole sentence.'],
    ['没有这个密钥', '没有这个密钥。'],
    ['zone: 应为整小时时区', 'zone: 应为整小时时区。'],
    ['已是句子。', '已是句子。'],
  ] as const)
    t.equal(asSentence(phrase), sentence)
})

t.test('every error of the table, and every reason of a refusal', async t => {
  for (const code of Object.keys(API_ERRORS) as ApiErrorCode[])
    for (const language of LANGUAGES) {
      const { message } = refusalOf(new ApiError(code, ['64 KiB', 'https://x.example']), language, '64 KiB').told
      t.match(message, language === 'en' ? ENGLISH : CHINESE, `${code} ${language}`)
      t.equal(HAN.test(message), language === 'zh', `${code} ${language}`)
    }
  for (const [name, { why, todo }] of Object.entries(REASONS))
    for (const text of [why, todo]) {
      t.match(text.en, ENGLISH, name)
      t.match(text.zh, CHINESE, name)
    }
})

/** Pairs of texts in a file that refuses calls: Chinese first, or English first. */
const ZH_EN = /(?:both\(\s*|zh: )(['`])(?<zh>(?:(?!\1).)*)\1,\s*(?:en: )?(['`])(?<en>(?:(?!\3).)*)\3/gs
const EN_ZH = /(?:fault\(\s*'\w+',\s*|en: )(['`])(?<en>(?:(?!\1).)*)\1,\s*(?:zh: )?(['`])(?<zh>(?:(?!\3).)*)\3/gs

t.test('what operations say, as far as it is written down', async t => {
  let count = 0
  for (const file of globSync('{operations,pay}/**/*.ts', { cwd: LIB })) {
    const source = readFileSync(path.join(LIB, file), 'utf8')
    if (!source.includes('new OperationError(') || file === 'operations/read.ts') continue // its texts follow the name of a field
    for (const { groups } of [...source.matchAll(ZH_EN), ...source.matchAll(EN_ZH)]) {
      const { zh = '', en = '' } = groups as { zh?: string; en?: string }
      if (zh === '' && en === '') continue
      count++
      t.match(asSentence(zh), CHINESE, `${file}: ${zh}`)
      // a name that is filled in may begin a sentence
      t.match(asSentence(en.replace(/^\$\{\w+\}/, 'X')), ENGLISH, `${file}: ${en}`)
      t.notMatch(en, HAN, `${file}: ${en}`)
    }
  }
  t.ok(count > 50, `${count} pairs were found`)
})
