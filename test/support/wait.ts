/** Waits until a condition is true, so that no test sleeps for a guessed time. */
/** Far longer than anything takes: it only ends a test that waits in vain, and a busy machine is no failure. */
const MOST_MS = 60_000

export const turn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 1))

export async function until(what: string, holds: () => unknown): Promise<void> {
  for (const end = performance.now() + MOST_MS; !(await holds()); await turn())
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`)
}
