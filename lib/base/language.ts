/** Chooses the language for a client: Chinese, unless the client's `accept-language` prefers English. */
import type { Language } from './people.ts'

/** True when English is what the client wants most. `*` states no preference, and `ent` is another language. */
export function prefersEnglish(header: string | undefined): boolean {
  if (header === undefined || !/en/i.test(header)) return false
  let best = ''
  let bestQ = 0
  for (const part of header.split(',')) {
    const [tag = '', ...parameters] = part.split(';')
    const q = parameters.map(p => /^\s*q=([\d.]+)\s*$/i.exec(p)?.[1]).find(v => v !== undefined)
    const weight = q === undefined ? 1 : Number(q)
    if (weight > bestQ) {
      best = tag.trim()
      bestQ = weight
    }
  }
  return /^en(-|$)/i.test(best)
}

/** Among those that a site has, the first of which is for everybody else. `chosen`: by a cookie. */
export function languageFor(
  languages: readonly Language[],
  chosen: string | null | undefined,
  header: string | undefined,
): Language {
  const asked = prefersEnglish(header) ? 'en' : /\bzh\b/i.test(header ?? '') ? 'zh' : undefined
  return languages.find(one => one === chosen) ?? languages.find(one => one === asked) ?? (languages[0] as Language)
}
