/** Chooses the language of an error for a client: Chinese, unless the client's `accept-language` prefers English. */

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
