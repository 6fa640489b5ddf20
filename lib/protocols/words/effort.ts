/** How hard a request asks the model to think, as far as its words are known: what is asked decides how much is thought unseen. */

/**
 * `off`: nothing is said. `none`: the model shall not think. `on`: it shall, and nobody says how hard. `other`: a word that is
 * not known. A later one says more than an earlier one.
 */
export const ASKED_EFFORTS = ['off', 'none', 'on', 'other', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type AskedEffort = (typeof ASKED_EFFORTS)[number]

const KNOWN: ReadonlyMap<string, AskedEffort> = new Map([
  ...ASKED_EFFORTS.filter(word => word !== 'off').map(word => [word, word] as const),
  ['disabled', 'none'] as const,
  ['enabled', 'on'] as const,
  ['adaptive', 'on'] as const,
  ['auto', 'on'] as const,
])

/** `word`: null = it could not be read. */
export const effortOf = (word: string | null): AskedEffort => KNOWN.get(word?.toLowerCase() ?? '') ?? 'other'

/** Whichever says more. */
export const moreEffort = (a: AskedEffort, b: AskedEffort): AskedEffort =>
  ASKED_EFFORTS.indexOf(a) >= ASKED_EFFORTS.indexOf(b) ? a : b

export const asksToThink = (effort: AskedEffort): boolean => effort !== 'off' && effort !== 'none'
