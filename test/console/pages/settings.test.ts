/**
 * A switch of the language asked for the page's data before it had set the cookie by which the server chooses the language of its
 * errors: now and then an English page said in Chinese that something does not exist.
 */
import { effect } from '@preact/signals'
import t from 'tap'
import { chooseLanguage } from '../../../web/base/settings.ts'
import { language } from '../../../web/base/words.ts'

t.test('what follows a change of the language finds its cookie', async t => {
  const document = { cookie: 'language=zh', documentElement: { lang: 'zh-CN' } }
  Object.assign(globalThis, { document, location: { protocol: 'http:' } })
  t.teardown(() => {
    for (const name of ['document', 'location']) Reflect.deleteProperty(globalThis, name)
  })
  const seen: [language: string, cookie: string | undefined, lang: string][] = []
  effect(() => void seen.push([language.value, document.cookie.split(';')[0], document.documentElement.lang]))
  seen.length = 0
  const other = language.peek() === 'en' ? 'zh' : 'en'
  chooseLanguage(other)
  t.same(seen, [[other, `language=${other}`, other === 'zh' ? 'zh-CN' : 'en']])
})
