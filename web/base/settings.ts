/**
 * What a reader chooses for all pages: language, theme, and the zone of times. Language and theme are cookies,
 * because the server writes them into the document: a page that learns its theme from a script would first be shown in the
 * wrong one. They are kept with the user too, and a browser in which nobody has chosen yet takes them from there. The zone is
 * a cookie of this browser alone.
 */
import { signal } from '@preact/signals'
import type { Language } from '../../lib/base/people.ts'
import type { Theme } from '../shared/given.ts'
import { keepCookie, site } from './site.ts'
import { TIMES, type Times, times } from './time.ts'
import { language } from './words.ts'

export const theme = signal<Theme>('system')

/** The cookie comes first: what the page asks anew because of the change is answered in the language of the cookie. */
export function chooseLanguage(chosen: Language): void {
  keepCookie('language', chosen)
  document.documentElement.lang = chosen === 'zh' ? 'zh-CN' : 'en'
  language.value = chosen
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  if (chosen === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = chosen
  keepCookie('theme', chosen)
}

export function chooseTimes(chosen: Times): void {
  times.value = chosen
  keepCookie('times', chosen)
}

/** Only when the page is drawn: the server, which has drawn some, knows nothing of it. */
export function followTimes(): void {
  times.value = TIMES.find(which => document.cookie.split('; ').includes(`times=${which}`)) ?? 'books'
}

/** What the user has chosen in another browser counts as long as nobody has chosen in this one. */
export function adopt(user: { language: Language | null; theme: Theme | null }): void {
  if (user.language !== null && !isKept('language') && site.value.languages.includes(user.language))
    chooseLanguage(user.language)
  if (user.theme !== null && !isKept('theme')) chooseTheme(user.theme)
}

const isKept = (name: string): boolean => document.cookie.split('; ').some(one => one.startsWith(`${name}=`))
