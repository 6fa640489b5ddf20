/** Guesses which known name somebody meant who wrote a name that is nearly right ("did you mean …?"). */

/** The most single edits between a name and its misspelling. */
const FARTHEST_TYPO = 2

/** Returns ` (did you mean X?)` with a leading space, or an empty text when no known name is near. */
export function didYouMean(found: unknown, known: Iterable<string>): string {
  const written = String(found)
  let best = ''
  let least = FARTHEST_TYPO + 1
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= least) continue
    const distance = editDistance(written, name)
    // two names of one or two letters are always within two edits, so a guess must have a letter in common
    if (distance < least && distance < Math.min(written.length, name.length)) [best, least] = [name, distance]
  }
  return best === '' ? '' : ` (did you mean ${best}?)`
}

/** What somebody should have written who did not write one of the known names. */
export const oneOfThese = (written: unknown, known: readonly string[]): string =>
  `one of ${known.join(', ')}${didYouMean(written, known)}`

/**
 * Damerau-Levenshtein distance: the fewest insertions, deletions, replacements and swaps of neighbours from `a` to `b`.
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length]!
}
