/** Quantiles and medians from sorted arrays: exact, and small enough for the values of a bench. */

/** The value at or below which the share `q` of all values lies (nearest rank). `sorted` is ascending and not empty. */
export const quantile = (sorted: ArrayLike<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] as number

/** The median; of an even count the mean of the middle two. `numbers` is not empty. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[half] as number)
    : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2
}
