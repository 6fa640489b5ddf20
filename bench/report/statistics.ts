/** Plain sorted arrays: exact, and small enough for what a bench collects. */

/** The value that the share `q` of all lie at or below (nearest rank). `sorted` ascending and not empty. */
export const quantile = (sorted: ArrayLike<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] as number

/** With an even count the mean of the middle two. Not empty. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[half] as number)
    : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2
}
