/**
 * Texts in both languages. A file that shows text has a table of pairs, Chinese first:
 *
 *     const w = words({
 *       title: ['密钥', 'Keys'],
 *       found: [(count: number) => `${count} 个密钥`, (count: number) => `${count} keys`],
 *     })
 *     w.title()  w.found(3)
 *
 * A missing language is a compile error. A pair is a whole sentence, because sentences that are put together from pieces
 * are right in one language only.
 */
import { signal } from '@preact/signals'
import type { Language } from '../../lib/base/people.ts'

/** The language of the page. What reads it while it renders is rendered again when the reader switches. */
export const language = signal<Language>('zh')

type Text = readonly [zh: string, en: string]
type Sentence = readonly [zh: (...given: never[]) => string, en: (...given: never[]) => string]

type Said<P> = P extends readonly [(...given: infer G) => string, (...given: infer H) => string]
  ? G extends H
    ? (...given: G) => string
    : never
  : () => string

export function words<const T extends Record<string, Text | Sentence>>(pairs: T): { [K in keyof T]: Said<T[K]> } {
  const said: Record<string, (...given: never[]) => string> = {}
  for (const [name, pair] of Object.entries(pairs)) {
    said[name] = (...given) => {
      const text = pair[language.value === 'zh' ? 0 : 1]
      return typeof text === 'string' ? text : text(...given)
    }
  }
  return said as { [K in keyof T]: Said<T[K]> }
}

/** A text that comes with both languages, such as a name in the table of clients. */
export const inLanguage = (text: Record<Language, string>): string => text[language.value]

/** Names one after the other. */
export const listed = (names: readonly string[]): string => names.join(language.value === 'zh' ? '、' : ', ')

/** What browsers and `Intl` call the language. */
export const locale = (): string => (language.value === 'zh' ? 'zh-CN' : 'en')
